"""Names with private addresses: a real DNS server and sockets; 127.0.0.2 is public, 127.0.0.3 private."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from ipaddress import ip_network

import pytest

from workers.egress import CallFailed, Egress

OUTSIDE, INSIDE = "127.0.0.2", "127.0.0.3"
ALLOW = (ip_network(f"{OUTSIDE}/32"),)
NAME, A, AAAA = "service.example.org", 1, 28


def call(server, port, *, times=1, timeout_s=5.0):
    """Call a name by an egress with the test's DNS server; return the outcome of each call."""

    async def go():
        outcomes = []
        async with Egress(ALLOW, resolve=server.resolve) as egress:
            for _ in range(times):
                try:
                    answer = await egress.send("POST", f"http://{NAME}:{port}/", content=b"x", timeout_s=timeout_s)
                    outcomes.append(answer.text)
                except CallFailed as failed:
                    outcomes.append(failed.code)
                    messages.append(str(failed))
            return outcomes

    messages: list[str] = []
    outcomes = asyncio.run(go())
    assert INSIDE not in " ".join(messages)  # the message does not show the private address
    return outcomes


def test_a_host_name_with_a_public_address_is_called(names, two_faces, tools):
    public, private = two_faces(lambda heard: tools.raw("public"))
    server = names({NAME: [[OUTSIDE]]})
    assert call(server, public.port) == ["public"]
    assert server.asked == [(NAME, A), (NAME, AAAA)]
    assert private.connections == 0


def test_after_dns_rebinding_a_reused_connection_still_leads_to_the_checked_address(names, two_faces, tools):
    public, private = two_faces(lambda heard: tools.raw("public"))
    server = names({NAME: [[OUTSIDE], [INSIDE]]})
    assert call(server, public.port, times=5) == ["public"] * 5  # the checked connection is reused
    assert server.asked == [(NAME, A), (NAME, AAAA)]
    assert (public.connections, private.connections) == (1, 0)


def test_dns_rebinding_is_refused_at_the_next_connection(names, two_faces, tools):
    public, private = two_faces(lambda heard: tools.raw("public", connection="close"))
    server = names({NAME: [[OUTSIDE], [INSIDE]]})
    assert call(server, public.port, times=3) == ["public", "refused-address", "refused-address"]
    assert (public.connections, private.connections) == (1, 0)


ANSWERS = {
    "a private one": ([INSIDE], "refused-address"),
    "a private one after a public one": ([OUTSIDE, INSIDE], "refused-address"),
    "a private one before a public one": ([INSIDE, OUTSIDE], "refused-address"),
    "loopback over IPv6 beside a public one": ([OUTSIDE, "::1"], "refused-address"),
    "a public one in disguise": ([f"::ffff:{OUTSIDE}"], "refused-address"),
    "an alias of a private name": (["inside.example.org"], "refused-address"),
    "an alias of an alias of a private name": (["alias.example.org"], "refused-address"),
    "a public one and an alias of a private name": ([OUTSIDE, "inside.example.org"], "refused-address"),
    "a metadata service": (["169.254.169.254"], "refused-address"),
    "nothing": ([], "connect"),
    "an alias of no name": (["nowhere.example.org"], "connect"),
}


@pytest.mark.parametrize(("answer", "code"), ANSWERS.values(), ids=ANSWERS)
def test_a_dns_answer_with_any_private_address_is_refused_before_dialling(names, two_faces, tools, answer, code):
    public, private = two_faces(lambda heard: tools.raw("public"))
    server = names({NAME: [answer], "inside.example.org": [[INSIDE]], "alias.example.org": [["inside.example.org"]]})
    assert call(server, public.port) == [code]
    assert (public.connections, private.connections) == (0, 0)


def test_a_host_name_that_does_not_exist_is_unreachable(names):
    assert call(names({}), 80) == ["connect"]


def test_a_silent_name_server_ends_the_call_at_its_deadline(names):
    server = names({NAME: [None]})
    assert call(server, 80, timeout_s=0.3) == ["timeout"]
    # without a deadline, the resolver of this fixture times out after one second
    assert call(server, 80) == ["connect"]


def test_hanging_dns_look_ups_delay_neither_writes_to_the_ledger_nor_the_end_of_the_job(monkeypatch):
    found = threading.Event()

    def getaddrinfo(*_, **__):
        found.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "no name server answered")

    async def go():
        async with Egress(ALLOW) as egress:
            calls = (egress.send("GET", f"http://{NAME}/", timeout_s=0.2) for _ in range(100))
            failed = await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.to_thread(lambda: None)  # uses the default thread pool, as a write to the ledger does
            return {one.code for one in failed}

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    began = time.monotonic()
    try:
        assert asyncio.run(go()) == {"timeout"}
        assert time.monotonic() - began < 30
    finally:
        found.set()


# ---------------------------------------------------------------------------- whole jobs
@pytest.fixture
def office_outside(open_office):
    """A worker whose operator allows 127.0.0.2."""
    return open_office(f"{OUTSIDE}/32")


def test_a_job_whose_host_name_has_a_public_address_is_rated(names, two_faces, tools, office_outside, monkeypatch):
    public, private = two_faces(tools.translator(tools.translated))
    monkeypatch.setattr(socket, "getaddrinfo", names({NAME: [[OUTSIDE]]}).getaddrinfo)
    ended = office_outside.run(office_outside.post(f"http://{NAME}:{public.port}"))
    assert (ended.status, office_outside.rating(ended)["letter"]) == ("succeeded", "DSBS")
    assert private.connections == 0


@pytest.mark.parametrize("answer", [[INSIDE], [OUTSIDE, INSIDE], ["::1", OUTSIDE]])
def test_a_job_whose_host_name_has_a_private_address_fails_without_a_connection(
    names, two_faces, tools, office_outside, monkeypatch, answer
):
    public, private = two_faces(tools.translator(tools.translated))
    monkeypatch.setattr(socket, "getaddrinfo", names({NAME: [answer]}).getaddrinfo)
    ended = office_outside.run(office_outside.post(f"http://{NAME}:{public.port}", secret="sk-inside-77d1"))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_refused", "refused-address")
    assert "sk-inside-77d1" not in str(ended.error)
    assert INSIDE not in str(ended.error)
    assert (public.connections, private.connections, ended.rating_id) == (0, 0, None)


def test_a_job_whose_host_name_is_rebound_to_a_private_address_fails_after_its_earlier_replies(
    names, two_faces, tools, office_outside, monkeypatch
):
    public, private = two_faces(lambda heard: tools.said(_closing(tools, heard)))
    server = names({NAME: [[OUTSIDE]] * 40 + [[INSIDE]]})
    monkeypatch.setattr(socket, "getaddrinfo", server.getaddrinfo)
    ended = office_outside.run(office_outside.post(f"http://{NAME}:{public.port}"))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_refused", "refused-address")
    assert 0 < ended.asked <= 40
    assert private.connections == 0


def _closing(tools, heard) -> bytes:
    answer = tools.translator(tools.translated)(heard)
    return answer.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
