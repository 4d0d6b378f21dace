"""Every kind of failed call, over real sockets, and the reuse of connections."""

import asyncio
import gzip
import logging
import re
import socket
import struct
import time
import traceback

import pytest

from workers.egress import CODES, HEADER_CAP, RETRIABLE_STATUSES, CallFailed, Egress

SECRET = "sk-do-not-show-1234"


def call(wire, answer, *, path="/translate?key=" + SECRET, timeout_s=5.0, calls=1, after=lambda heard: True, **send):
    """Make some calls to one service; return the last outcome and the service."""

    async def go():
        async with wire.listening(answer, after=after) as service, Egress(wire.loopback, response_cap=10_000) as egress:
            for _ in range(calls):
                outcome = await attempt(egress, service.url + path, timeout_s, send)
            return outcome, service

    return asyncio.run(go())


async def attempt(egress, url, timeout_s, send):
    headers = {"Authorization": f"Bearer {SECRET}", **send.pop("headers", {})}
    try:
        return await egress.send("POST", url, headers=headers, content=SECRET.encode(), timeout_s=timeout_s, **send)
    except CallFailed as failed:
        for shown in (str(failed), repr(failed), "".join(traceback.format_exception(failed))):
            assert SECRET not in shown
        return failed


async def slow(heard, writer):
    await asyncio.sleep(30)


def said(data: bytes, then=None):
    """Return a response that writes some bytes, then runs `then` if it is given, and closes the connection."""

    async def write(heard, writer):
        writer.write(data)
        await writer.drain()
        if then is not None:
            await then(writer)
        writer.close()

    return write


async def drip(writer):
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def pour(writer):
    while True:
        writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
        await writer.drain()


def test_status_text_and_headers_of_a_complete_response_are_returned(wire):
    response, service = call(wire, lambda heard: wire.raw("¡Hola!".encode(), x_kind="greeting"))
    assert (response.status, response.text, response.headers["X-Kind"]) == (200, "¡Hola!", "greeting")
    (heard,) = service.heard
    assert (heard.method, heard.path, heard.body) == ("POST", "/translate", SECRET.encode())
    assert heard.headers["host"] == f"127.0.0.1:{service.port}"
    assert heard.headers["accept-encoding"] == "identity"
    assert re.fullmatch(r"Python/[\d.]+ aiohttp/[\d.]+", heard.headers["user-agent"])
    assert heard.headers["accept"] == "*/*"
    assert "cookie" not in heard.headers


@pytest.mark.parametrize(
    "wire_bytes",
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nHola,\r\n8;x=1\r\n mundo!!\r\n0\r\nX-Trailer: 1\r\n\r\n"
        ),
        b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHola, mundo!!",
        b"HTTP/1.0 200 OK\r\n\r\nHola, mundo!!",
        b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nHola, mundo!!",
    ],
    ids=["chunked", "length", "until-close", "after-an-informational-one"],
)
def test_bodies_of_every_framing_are_read_completely(wire, wire_bytes):
    response, _ = call(wire, lambda heard: said(wire_bytes))
    assert response.body == b"Hola, mundo!!"


def test_body_without_a_length_is_incomplete_when_its_connection_breaks(wire):
    async def reset(heard, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nhalf")
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    failed, _ = call(wire, lambda heard: reset)
    assert failed.code == "truncated"


@pytest.mark.parametrize(
    "framing", ["Content-Length: 4\r\n\r\nHola", "Transfer-Encoding: chunked\r\n\r\n4\r\nHola\r\n0\r\n\r\n"]
)
def test_response_sent_byte_by_byte_is_read_and_its_connection_reused(wire, framing):
    async def dribble(heard, writer):
        for byte in f"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n{framing}".encode():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    response, service = call(wire, lambda heard: dribble, calls=3)
    assert response.body == b"Hola"
    assert [heard.connection for heard in service.heard] == [1, 1, 1]


def test_request_of_several_megabytes_is_sent_completely(wire):
    async def go():
        async with (
            wire.listening(lambda heard: wire.raw(str(len(heard.body)))) as service,
            Egress(wire.loopback) as egress,
        ):
            return await egress.send("POST", service.url, content=b"x" * 5_000_000, timeout_s=20)

    assert asyncio.run(go()).text == "5000000"


HOSTILE = {
    "no answer at all": (said(b""), "truncated"),
    "closed within the head": (said(b"HTTP/1.1 200 OK\r\nContent-"), "truncated"),
    "closed within the body": (said(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), "truncated"),
    "closed within a chunk": (said(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf"), "truncated"),
    "not HTTP": (said(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "garbage"),
    "binary": (said(bytes(range(256))), "garbage"),
    "bad chunk": (said(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "garbage"),
    "two lengths": (said(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "garbage"),
    "a switch of protocols": (said(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), "garbage"),
    "endless head": (said(b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * (2 * HEADER_CAP)), "too-large"),
    "endless body": (said(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", pour), "too-large"),
    "announced too large": (said(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"), "too-large"),
    "gzip": (
        said(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"0" * 10_000_000)),
        "encoded-body",
    ),
    "gzip in chunks": (
        said(b"HTTP/1.1 200 OK\r\ncontent-encoding: GZIP\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "encoded-body",
    ),
    "a redirect": (said(b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"), "redirect"),
}


@pytest.mark.parametrize(("answer", "code"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_fails_the_call_with_a_known_code(wire, answer, code):
    failed, _ = call(wire, lambda heard: answer)
    assert isinstance(failed, CallFailed)
    assert (failed.code, failed.retriable) == (code, CODES[code].retriable)


SLOW = {
    "never answers": slow,
    "drips its head": said(b"HTTP/1.1 200 OK\r\nX-Drip: ", drip),
    "drips its body": said(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", drip),
    "sends early hints for ever": said(b"HTTP/1.1 103 Early Hints\r\nX-Drip: ", drip),
}


@pytest.mark.parametrize("answer", SLOW.values(), ids=SLOW)
def test_the_deadline_covers_the_whole_call(wire, answer):
    began = time.monotonic()
    failed, _ = call(wire, lambda heard: answer, timeout_s=0.2)
    assert (failed.code, failed.retriable) == ("timeout", True)
    assert time.monotonic() - began < 2


def test_a_redirect_is_not_followed(wire):
    failed, service = call(
        wire, lambda heard: wire.raw(status="307 Temporary Redirect", location="/elsewhere"), path="/here"
    )
    assert (failed.code, failed.status, len(service.heard)) == ("redirect", 307, 1)


@pytest.mark.parametrize(
    "status", [400, 401, 402, 403, 404, 408, 413, 422, 425, 429, 456, 500, 501, 502, 503, 504, 599]
)
def test_an_http_error_status_becomes_a_failure_with_a_code(wire, status):
    failed, _ = call(wire, lambda heard: wire.raw(SECRET, f"{status} Status"))
    code = {401: "auth", 403: "auth", 402: "quota", 456: "quota"}.get(status, f"http-{status}")
    assert (failed.code, failed.status, failed.retriable) == (code, status, status in RETRIABLE_STATUSES)


def test_429_for_a_quota_is_permanent_and_other_429_are_retriable(wire):
    quota, _ = call(wire, lambda heard: wire.as_json({"error": {"code": "insufficient_quota"}}, "429 Too Many"))
    rate, _ = call(wire, lambda heard: wire.as_json({"error": {"code": "rate_limit"}}, "429 Too Many", retry_after="7"))
    assert (quota.code, quota.retriable) == ("quota", False)
    assert (rate.code, rate.retriable, rate.retry_after_s) == ("http-429", True, 7.0)


@pytest.mark.parametrize(("status", "word", "retriable"), [("500", "false", False), ("400", "true", True)])
def test_header_x_should_retry_overrides_the_default_of_the_status(wire, status, word, retriable):
    failed, _ = call(wire, lambda heard: wire.raw(status=f"{status} X", x_should_retry=word))
    assert failed.retriable is retriable


def test_caller_can_choose_the_retriable_statuses(wire):
    failed, _ = call(wire, lambda heard: wire.raw(status="418 Teapot"), retriable=frozenset({418}))
    assert failed.retriable


JSON = {
    "a page": (b"<!doctype html><title>Welcome</title>", "text/html", "garbage"),
    "half a value": (b'{"translatedText": "Ho', "application/json", "bad-json"),
    "nothing": (b"", "application/json", "bad-json"),
    "not a number": (b'{"score": NaN}', "application/json", "bad-json"),
    "infinity": (b'{"score": -Infinity}', "application/json", "bad-json"),
    "too deep": (b"[" * 9_000, "application/json", "bad-json"),
    "not text": (b"\xff\xfe\x00", "application/json", "bad-json"),
}


@pytest.mark.parametrize(("body", "kind", "code"), JSON.values(), ids=JSON)
def test_invalid_json_and_web_pages_have_different_codes(wire, body, kind, code):
    response, _ = call(wire, lambda heard: wire.raw(body, content_type=kind))
    with pytest.raises(CallFailed) as caught:
        response.json()
    assert caught.value.code == code


@pytest.mark.parametrize("header", ["two\r\nX-Injected: 1", "nul\x00", "snow ☃"])
def test_header_with_a_line_break_is_not_sent(wire, header):
    failed, service = call(wire, lambda heard: wire.raw(), headers={"X-Key": SECRET + header})
    assert (failed.code, service.heard) == ("unsupported", [])


def test_a_port_without_a_listener_is_a_failure_to_connect(wire):
    async def go():
        async with wire.listening(lambda heard: wire.raw()) as service:
            pass
        async with Egress(wire.loopback) as egress:
            return await attempt(egress, service.url, 5, {})

    failed = asyncio.run(go())
    assert (failed.code, failed.retriable) == ("connect", True)


def test_the_second_ip_address_of_a_host_is_tried_if_the_first_does_not_answer(wire):
    async def go():
        async def resolve(host, port):
            return ["127.0.0.77", "127.0.0.1"]

        here = wire.listening(lambda heard: wire.raw("here"))
        async with here as service, Egress(wire.loopback, resolve=resolve) as egress:
            return await egress.send("GET", f"http://service.example.org:{service.port}/", timeout_s=5)

    assert asyncio.run(go()).text == "here"


# ---------------------------------------------------------------------------- kept connections
def test_connection_is_reused_for_the_next_call(wire):
    _, service = call(wire, lambda heard: wire.raw("x"), calls=5)
    assert [heard.connection for heard in service.heard] == [1, 1, 1, 1, 1]


def test_connection_is_not_reused_after_connection_close(wire):
    _, service = call(wire, lambda heard: wire.raw("x", connection="close"), calls=3)
    assert [heard.connection for heard in service.heard] == [1, 2, 3]


def test_stale_connection_is_replaced_without_a_failure(wire):
    def hang_up(heard):
        return heard.connection > 1

    # the first connection answers once and closes; the second call must still succeed
    response, service = call(wire, lambda heard: wire.raw("x"), calls=2, after=hang_up)
    assert response.body == b"x"
    assert [heard.connection for heard in service.heard] == [1, 2]


def test_a_connection_closed_on_arrival_of_the_second_request_is_replaced_once(wire):
    answers = iter([wire.raw("x"), said(b""), wire.raw("x")])
    response, service = call(wire, lambda heard: next(answers), calls=2)
    assert response.body == b"x"
    assert [heard.connection for heard in service.heard] == [1, 1, 2]


def test_a_new_connection_closed_without_an_answer_is_not_tried_twice(wire):
    failed, service = call(wire, lambda heard: said(b""))
    assert (failed.code, len(service.heard)) == ("truncated", 1)


def test_unsolicited_bytes_never_become_the_next_response(wire):
    def answer(heard):
        return wire.raw("mine") + (wire.raw("planted") if heard.connection == 1 else b"")

    response, service = call(wire, answer, calls=2)
    assert response.body == b"mine"
    assert [heard.connection for heard in service.heard] == [1, 2]


def test_response_of_a_timed_out_call_never_reaches_the_next_call(wire):
    async def late(heard, writer):
        await asyncio.sleep(0.3)
        writer.write(wire.raw("late"))
        await writer.drain()

    async def go():
        answers = iter([late])
        answering = wire.listening(lambda heard: next(answers, wire.raw("prompt")))
        async with answering as service, Egress(wire.loopback) as egress:
            first = await attempt(egress, service.url, 0.1, {})
            second = await attempt(egress, service.url, 5, {})
            await asyncio.sleep(0.4)
            third = await attempt(egress, service.url, 5, {})
            return first.code, second.text, third.text

    assert asyncio.run(go()) == ("timeout", "prompt", "prompt")


def test_concurrent_calls_get_their_own_responses(wire):
    async def go():
        async def echo(heard, writer):
            await asyncio.sleep(0.001 * (len(heard.body) % 3))
            writer.write(wire.raw(heard.body))
            await writer.drain()

        async with wire.listening(lambda heard: echo) as service, Egress(wire.loopback) as egress:

            async def one(place):
                sent = f"text {place}".encode() * (place % 7 + 1)
                return sent, (await egress.send("POST", service.url, content=sent, timeout_s=10)).body

            return await asyncio.gather(*(one(place) for place in range(300)))

    assert all(sent == got for sent, got in asyncio.run(go()))


def test_proxy_variables_of_the_environment_are_ignored(wire, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    response, service = call(wire, lambda heard: wire.raw("direct"))
    assert (response.text, service.heard[0].target[:1]) == ("direct", "/")


def test_no_secret_is_logged(wire, caplog):
    with caplog.at_level(logging.DEBUG):
        call(wire, lambda heard: wire.raw(status="500 X"))
        call(wire, lambda heard: said(b"\x00"))
    assert SECRET not in caplog.text
