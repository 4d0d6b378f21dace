"""Invalid certificates: Assay sends nothing to a server that shows one, and the job names the reason."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from workers.egress import CallFailed, Egress

LOOPBACK = (ip_network("127.0.0.0/8"),)
HOST, SECRET = "service.example.org", "sk-sealed-5b2f0a9e"


@dataclass(frozen=True)
class Fault:
    """Fault of a certificate: wrong names or a wrong signature."""

    names: tuple[str, ...] = (HOST,)
    signed: Mapping[str, Any] = field(default_factory=dict)
    host: str = HOST


FAULTS = {
    "for another host": Fault(("other.example.org",)),
    "for a host below": Fault((f"a.{HOST}",)),
    "for everything at the wrong depth": Fault(("*.org",)),
    "for the address and not the name": Fault(("127.0.0.1",)),
    "for nobody": Fault(()),
    "for a name, at an address": Fault((HOST,), host="127.0.0.1"),
    "for another address": Fault(("127.0.0.9",), host="127.0.0.1"),
    "for an address written as a name": Fault((), host="127.0.0.1"),
    "expired": Fault(signed={"from_days": -9, "until_days": -1}),
    "not yet valid": Fault(signed={"from_days": 1, "until_days": 9}),
    "self-signed": Fault(signed={"self_signed": True}),
    "for clients": Fault(signed={"purpose": ExtendedKeyUsageOID.CLIENT_AUTH}),
    "for signing programs": Fault(signed={"purpose": ExtendedKeyUsageOID.CODE_SIGNING}),
}


async def loopback(host, port):
    return ["127.0.0.1"]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_invalid_certificate_ends_the_call_before_a_byte_is_sent(villain, tools, authority, fault):
    service = villain(lambda heard: tools.raw("never"), tls=authority.server(*fault.names, **fault.signed))

    async def go():
        async with Egress(LOOPBACK, resolve=loopback, make_context=authority.trust) as egress:
            url = f"https://{fault.host}:{service.port}/"
            await egress.send("POST", url, headers={"Authorization": SECRET}, content=b"x", timeout_s=5)

    with pytest.raises(CallFailed) as caught:
        asyncio.run(go())
    assert (caught.value.code, caught.value.retriable, service.heard) == ("tls", False, [])
    assert SECRET not in repr(caught.value)


@pytest.fixture
def named(monkeypatch):
    """Resolve the name to this machine."""

    def getaddrinfo(host, port, *_, **__):
        assert host == HOST
        return [(None, None, None, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_job_with_an_invalid_target_certificate_fails_without_sending_its_key(
    villain, tools, authority, named, monkeypatch, office, fault
):
    monkeypatch.setenv(
        "SSL_CERT_FILE", str(authority.file)
    )  # an operator's authority is trusted, but its invalid certificates are not
    server = authority.server(*fault.names, **fault.signed)
    service = villain(tools.translator(tools.translated), tls=server)
    ended = office.run(office.post(f"https://{fault.host}:{service.port}", secret=SECRET))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_refused", "tls")
    assert "certificate" in ended.error["detail"]
    assert SECRET not in str(ended.error)
    assert (service.heard, ended.rating_id) == ([], None)


def test_a_target_certificate_of_the_operators_authority_is_accepted(
    villain, tools, authority, named, monkeypatch, office
):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    service = villain(tools.translator(tools.translated), tls=authority.server(HOST))
    ended = office.run(office.post(f"https://{HOST}:{service.port}", secret=SECRET))
    assert (ended.status, office.rating(ended)["letter"]) == ("succeeded", "DSBS")


def test_a_certificate_of_an_unknown_authority_is_refused(villain, tools, authority, named, office):
    service = villain(tools.translator(tools.translated), tls=authority.server(HOST))
    ended = office.run(office.post(f"https://{HOST}:{service.port}", secret=SECRET))
    assert (ended.status, ended.error["reason"], service.heard) == ("failed", "tls", [])
