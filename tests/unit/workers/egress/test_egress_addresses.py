"""Addresses that Assay does not call are refused before a socket is opened."""

import asyncio
from ipaddress import ip_address, ip_network

import pytest

from workers.egress import SPECIAL, AddressRefused, CallFailed, Egress, Guard, read_origin, refuse_url, why_denied

INSIDE = (
    # loopback in several notations
    "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://127.255.255.254/", "http://2130706433/",
    "http://0x7f000001/", "http://0x7f.1/", "http://0x7f.0x0.0x0.0x1/", "http://0177.0.0.1/", "http://017700000001/",
    "http://127.0.0.1./", "http://127.0.0.1:80/", "https://127.0.0.1/", "http://0/", "http://0.0.0.0/",
    "http://00000127.0.0.1/", "http://127.0.0.0x1/", "http://1.0x7f/", "http://4294967297/",
    "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/",
    "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:8.8.8.8]/", "http://[0:0:0:0:0:ffff:a00:1]/",
    # full-width digits, other dots and circled letters that some parsers normalise, and percent signs
    "http://１２７.0.0.1/", "http://127。0。0。1/", "http://①27.0.0.1/", "http://ⓛocalhost/", "http://127%2e0.0.1/",
    "http://%31%32%37.0.0.1/", "http://local\u00adhost/", "http://\u202elocalhost/", "http://127.0.0.1%00.example.org/",
    # private, shared and link-local networks, and cloud metadata services
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/",
    "http://100.64.0.1/", "http://169.254.0.1/", "http://169.254.169.254/", "http://2852039166/", "http://0xa9fea9fe/",
    "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://168.63.129.16/", "http://100.100.100.200/",
    "http://192.0.0.192/", "http://169.254.170.2/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/",
    "http://[fec0::1]/", "http://[fe80::a9fe:a9fe]/",
    # networks reserved for special purposes
    "http://192.0.2.1/", "http://198.51.100.7/", "http://203.0.113.9/", "http://198.18.0.1/", "http://224.0.0.1/",
    "http://239.255.255.250/", "http://240.0.0.1/", "http://255.255.255.255/", "http://192.88.99.1/",
    "http://[64:ff9b::7f00:1]/", "http://[64:ff9b:1::1]/", "http://[2002:7f00:1::]/", "http://[2001::1]/",
    "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[ff02::1]/", "http://[100::1]/", "http://[5f00::1]/",
    "http://[4000::1]/", "http://[::2]/",
)  # fmt: skip

MALFORMED = (
    "", "x", "http://", "http:///path", "http:example.org", "//example.org", "ftp://example.org/", "file:///etc/passwd",
    "gopher://example.org/", "javascript:alert(1)", "unix:///run/x.sock", "http+unix://x/", "HTTPX://example.org",
    "http://user@example.org/", "http://user:word@example.org/", "http://@example.org/", "http://example.org@127.0.0.1/",
    "http://example.org\\@127.0.0.1/", "http:\\\\example.org/", "http://example.org\\.127.0.0.1/",
    "http://exam ple.org/", " http://example.org/", "http://example.org/\r\nHost: x", "http://example.org\n/",
    "http://example.org\t/", "http://example.org/\x00", "http://example.org/\x7f", "http://example.org/\x85",
    "http://example.org:0/", "http://example.org:65536/", "http://example.org:99999999999/", "http://example.org:x/",
    "http://example.org:80:80/", "http://[::1/", "http://::1/", "http://[v1.x]/", "http://[]/", "http://example..org/",
    "http://.example.org/", "http://-a.example.org/", "http://example.org../", "http://bücher.example/",
    "http://a,b/", "http://a;b/", "http://a!b/", "http://" + "a" * 64 + ".org/", "http://example.org/" + "a" * 2048,
)  # fmt: skip


class RecordingDialler:
    """Dialler that records addresses and connects to nothing."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, int]] = []

    async def __call__(self, protocol, address, port, tls, host):
        self.dialled.append((address, port))
        raise ConnectionRefusedError


def resolver(*answers: str):
    async def resolve(host: str, port: int):
        return list(answers)

    return resolve


PUBLIC = resolver("93.184.216.34")


def send(url: str, *, allow=(), resolve=PUBLIC) -> tuple[CallFailed, list[tuple[str, int]]]:
    dialler = RecordingDialler()

    async def go() -> None:
        async with Egress(allow, resolve=resolve, dial=dialler) as egress:
            await egress.send("POST", url, content=b"x", timeout_s=5)

    with pytest.raises(CallFailed) as caught:
        asyncio.run(go())
    return caught.value, dialler.dialled


@pytest.mark.parametrize("url", INSIDE)
def test_internal_address_is_refused_in_every_notation_when_a_job_is_posted(url):
    with pytest.raises(AddressRefused) as caught:
        refuse_url(url, ())
    assert caught.value.field == "base_url"


@pytest.mark.parametrize("url", INSIDE + MALFORMED)
def test_refused_url_is_neither_resolved_nor_connected(url):
    asked = []

    async def resolve(host, port):
        asked.append(host)
        return ["93.184.216.34"]

    failed, dialled = send(url, resolve=resolve)
    assert (failed.code, failed.retriable, dialled, asked) == ("refused-address", False, [], [])


@pytest.mark.parametrize("url", MALFORMED)
def test_ambiguous_url_is_refused(url):
    with pytest.raises(AddressRefused):
        refuse_url(url, (ip_network("0.0.0.0/0"), ip_network("::/0")))


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://api.example.org/v1", "api.example.org", 443),
        ("http://API.Example.ORG.:8080", "api.example.org", 8080),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example", 80),
        ("http://my_service:5000/a?b=c#d", "my_service", 5000),
        ("HTTP://8.8.8.8", "8.8.8.8", 80),
        ("https://[2606:4700::1111]:8443/", "2606:4700::1111", 8443),
    ],
)
def test_ordinary_url_is_parsed_into_its_host_and_port(url, host, port):
    place = read_origin(url)
    refuse_url(url, ())
    assert (place.host, place.port) == (host, port)


def test_connections_go_to_the_ip_addresses_that_were_checked():
    failed, dialled = send("http://service.example.org:8080/x", resolve=resolver("93.184.216.34", "2606:4700::1111"))
    assert failed.code == "connect"
    assert failed.retriable
    assert dialled == [("93.184.216.34", 8080), ("2606:4700::1111", 8080)]


@pytest.mark.parametrize(
    "answers",
    [
        ("127.0.0.1",),
        ("93.184.216.34", "10.0.0.1"),
        ("93.184.216.34", "::1"),
        ("2606:4700::1111", "::ffff:10.0.0.1"),
        ("169.254.169.254",),
        ("fe80::1%eth0",),
        ("2606:4700::1111%eth0",),
    ],
)
def test_a_host_name_with_one_denied_address_is_refused(answers):
    failed, dialled = send("http://service.example.org/", resolve=resolver(*answers))
    assert (failed.code, dialled) == ("refused-address", [])
    assert not any(answer in str(failed) for answer in answers)  # the message does not reveal internal addresses


@pytest.mark.parametrize("answers", [(), ("not an address",)])
def test_a_host_name_without_an_address_is_not_connected(answers):
    failed, dialled = send("http://service.example.org/", resolve=resolver(*answers))
    assert (failed.code, dialled) == ("connect", [])


def test_an_unresolvable_host_name_is_not_connected():
    async def resolve(host, port):
        raise OSError("no such name")

    failed, dialled = send("http://service.example.org/", resolve=resolve)
    assert (failed.code, dialled) == ("connect", [])


def test_a_host_name_is_resolved_only_once_to_prevent_dns_rebinding():
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])

    async def rebinding(host, port):
        return next(answers)

    failed, dialled = send("http://service.example.org/", resolve=rebinding)
    assert (failed.code, dialled) == ("connect", [("93.184.216.34", 80)])
    assert next(answers) == ["127.0.0.1"]  # the name was resolved only once, so the second answer is unused


def test_networks_that_the_operator_allows_override_the_table_of_denied_networks():
    loopback = (ip_network("127.0.0.0/8"),)
    refuse_url("http://127.0.0.1:5000", loopback)
    _, dialled = send("http://127.0.0.1:5000/", allow=loopback)
    assert dialled == [("127.0.0.1", 5000)]
    with pytest.raises(AddressRefused):
        # loopback is allowed, but not as an IPv4-mapped IPv6 address
        refuse_url("http://[::ffff:127.0.0.1]:5000", loopback)


def test_localhost_is_allowed_by_the_operator_and_never_resolved():
    async def resolve(host, port):
        raise AssertionError("localhost needs no resolver")

    _, dialled = send("http://localhost:5000/", allow=(ip_network("127.0.0.0/8"),), resolve=resolve)
    assert dialled == [("127.0.0.1", 5000)]


def test_non_public_peer_is_refused_after_connecting():
    guard = Guard(())
    place = read_origin("http://service.example.org")
    guard.check_peer(place, "93.184.216.34")
    for peer in ("127.0.0.1", "::ffff:10.0.0.1", None, ""):
        with pytest.raises(CallFailed, match="not public"):
            guard.check_peer(place, peer)


@pytest.mark.parametrize(("network", "what"), SPECIAL)
def test_first_and_last_address_of_every_special_network_are_denied(network, what):
    assert why_denied(network[0], ())
    assert why_denied(network[-1], ())
    assert why_denied(network[0], (network,)) is None


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.0.1", "2606:4700::1111", "2a00::1"])
def test_public_addresses_are_not_denied(address):
    assert why_denied(ip_address(address), ()) is None
