"""Ways around the SSRF guard: redirects, proxies in environment variables, and a connection to another peer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from ipaddress import ip_network

import pytest

from workers.egress import CallFailed, Egress
from workers.egress.transport import dial

OUTSIDE, INSIDE = "127.0.0.2", "127.0.0.3"
ALLOW = (ip_network(f"{OUTSIDE}/32"),)
SECRET = "sk-detour-90ab13cd"


def failure_of(url, **options):
    async def go():
        async with Egress(ALLOW, **options) as egress:
            await egress.send("POST", url, headers={"Authorization": SECRET}, content=b"x", timeout_s=5)

    with pytest.raises(CallFailed) as caught:
        asyncio.run(go())
    assert SECRET not in f"{caught.value!r}"
    return caught.value


# ---------------------------------------------------------------------------- redirects
@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308])
@pytest.mark.parametrize("header", ["location", "refresh", "content-location"])
def test_a_redirect_to_a_private_address_is_not_followed(two_faces, tools, status, header):
    public, private = two_faces(
        lambda heard: tools.raw(b"", f"{status} Elsewhere", **{header: f"http://{INSIDE}:{public.port}/steal"})
    )
    failed = failure_of(public.url)
    assert (failed.code, failed.retriable, failed.status) == ("redirect", False, status)
    assert (len(public.heard), private.connections) == (1, 0)


@pytest.mark.slow
def test_redirected_calls_are_counted_as_failed_and_not_followed(two_faces, tools, open_office):
    office = open_office(f"{OUTSIDE}/32")
    public, private = two_faces(
        tools.translator(lambda heard: tools.raw(b"", "307 Elsewhere", location=f"http://{INSIDE}:{public.port}/"))
    )
    ended = office.run(office.post(public.url))
    failed = [kept.observation for kept in office.ledger(ended) if not kept.observation.reply.ok]
    assert failed
    assert {one.reply.failure.code for one in failed} == {"redirect"}
    assert (ended.status, office.rating(ended)["counts"]["failed"]) == ("succeeded", len(failed))
    assert private.connections == 0


def test_a_service_that_only_redirects_is_not_rated(two_faces, tools, open_office):
    office = open_office(f"{OUTSIDE}/32")
    public, private = two_faces(lambda heard: tools.raw(b"", "302 X", location=f"http://{INSIDE}:{public.port}/"))
    ended = office.run(office.post(public.url))
    assert (ended.status, ended.error["reason"], ended.rating_id) == ("failed", "redirect", None)
    assert private.connections == 0


# ---------------------------------------------------------------------------- proxies
ASK = """
import asyncio, json, sys
from ipaddress import ip_network
from workers.egress import CallFailed, Egress

async def go(url):
    async with Egress((ip_network("127.0.0.2/32"),)) as egress:
        try:
            return (await egress.send("POST", url, content=b"x", timeout_s=5)).text
        except CallFailed as failed:
            return failed.code

print(json.dumps([asyncio.run(go(url)) for url in sys.argv[1:]]))
"""

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY")


@pytest.mark.slow
@pytest.mark.parametrize("no_proxy", [None, "", "*", "127.0.0.2", "example.org"])
def test_proxies_named_in_environment_variables_are_not_called(villain, tools, authority, no_proxy):
    proxy = villain(lambda heard: tools.raw("by proxy"), INSIDE)
    service = villain(lambda heard: tools.raw("directly"), OUTSIDE)
    sealed = villain(lambda heard: tools.raw("directly"), OUTSIDE, tls=authority.server(OUTSIDE))
    address = f"http://user:word@{INSIDE}:{proxy.port}"
    proxies = {spelled: address for name in NAMES for spelled in (name, name.lower())}
    exempt = {} if no_proxy is None else {"NO_PROXY": no_proxy, "no_proxy": no_proxy}
    asked = subprocess.run(
        [sys.executable, "-c", ASK, service.url, sealed.url, f"http://{INSIDE}:1/"],
        env={**os.environ, **proxies, **exempt},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(asked.stdout) == ["directly", "tls", "refused-address"]
    assert proxy.connections == 0


# ---------------------------------------------------------------------------- peers
def test_a_connection_that_reaches_a_private_address_is_closed_before_a_byte_is_sent(two_faces, tools):
    public, private = two_faces(lambda heard: tools.raw("public"))

    # connects to another peer than the requested address, as network address translation may
    async def misled(protocol, address, port, tls, host):
        assert address == OUTSIDE
        return await dial(protocol, INSIDE, port, tls, host)

    failed = failure_of(public.url, dial=misled)
    assert (failed.code, failed.retriable) == ("refused-address", False)
    assert (private.heard, public.connections) == ([], 0)
