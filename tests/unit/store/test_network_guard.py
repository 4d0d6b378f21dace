"""Tests of the network guard in `tests/conftest.py`, which blocks connections to other machines."""

import asyncio
import contextlib
import socket
import threading

import pytest


@pytest.fixture
def outside(outside_attempts):
    """Recorded attempts to connect; cleared afterwards, because the test makes them on purpose."""
    yield outside_attempts
    outside_attempts.clear()


def refused(work):
    with pytest.raises(BaseException, match="tests reach nothing but this machine"):
        work()


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "0.0.0.0", "169.254.169.254"])
def test_tests_cannot_connect_to_another_machine(outside, address):
    with socket.socket() as one:
        refused(lambda: one.connect((address, 80)))
        refused(lambda: one.connect_ex((address, 80)))
    assert len(outside) == 2


def test_tests_cannot_connect_to_another_machine_over_ipv6(outside):
    with socket.socket(socket.AF_INET6) as one:
        refused(lambda: one.connect(("2001:db8::1", 80)))
        refused(lambda: one.connect(("::ffff:192.0.2.1", 80)))


def test_tests_cannot_send_a_udp_datagram_to_another_machine(outside):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        refused(lambda: one.sendto(b"?", ("192.0.2.1", 53)))
        refused(lambda: one.sendto(b"?", 0, ("192.0.2.1", 53)))
        refused(lambda: one.sendmsg([b"?"], [], 0, ("192.0.2.1", 53)))


def test_tests_cannot_resolve_dns_names_but_can_resolve_ip_addresses(outside):
    refused(lambda: socket.getaddrinfo("example.org", 80))
    refused(lambda: socket.gethostbyname("example.org"))
    assert outside == ["socket.getaddrinfo('example.org')", "socket.gethostbyname('example.org')"]
    assert socket.getaddrinfo("192.0.2.1", 80)
    assert socket.getaddrinfo("localhost", 80)
    assert socket.getaddrinfo(b"127.0.0.1", 80)


def test_tests_cannot_connect_to_another_machine_from_an_event_loop(outside):
    async def call():
        with socket.socket() as one:
            one.setblocking(False)
            await asyncio.get_running_loop().sock_connect(one, ("192.0.2.1", 80))

    refused(lambda: asyncio.run(call()))
    refused(lambda: asyncio.run(asyncio.wait_for(asyncio.open_connection("example.org", 80), 5)))


def test_a_refused_connection_of_a_test_is_recorded_even_if_its_error_is_suppressed(outside):
    def connect_ignoring_errors():
        with socket.socket() as one, contextlib.suppress(BaseException):
            one.connect(("192.0.2.1", 80))

    thread = threading.Thread(target=connect_ignoring_errors)
    thread.start()
    thread.join()
    assert outside == ["socket.connect(('192.0.2.1', 80))"]


def test_tests_can_connect_to_loopback_addresses(short_dir):
    for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, str(short_dir / "s"))):
        with socket.socket(family) as server, socket.socket(family) as client:
            server.bind(address)
            server.listen()
            client.connect(server.getsockname())

    async def serve_and_call():
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            _, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
            writer.close()
            await writer.wait_closed()

    asyncio.run(serve_and_call())
