"""Answers that violate HTTP: each becomes a typed failure within its deadline.

Common violations (closed early, two lengths, redirects …) are in the unit tests of egress; crafted answers are here.
"""

from __future__ import annotations

import asyncio
import time
from ipaddress import ip_network

import pytest

from workers.egress import CODES, HEADER_CAP, CallFailed, Egress

LOOPBACK = (ip_network("127.0.0.0/8"),)
CAP = 64 * 1024
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SECRET = "sk-wire-c0ffee42"


def call(service, *, times=1, timeout_s=10.0):
    """Call a service; return the outcome of each call, a body or a failure."""

    async def go():
        outcomes = []
        async with Egress(LOOPBACK, response_cap=CAP) as egress:
            for _ in range(times):
                try:
                    headers = {"Authorization": SECRET}
                    answer = await egress.send("POST", service.url, headers=headers, content=b"x", timeout_s=timeout_s)
                    outcomes.append(answer.body)
                except CallFailed as failed:
                    outcomes.append(failed)
            return outcomes

    outcomes = asyncio.run(go())
    assert SECRET not in repr(outcomes)
    return outcomes


MALFORMED = {
    "a negative length": OK + b"Content-Length: -1\r\n\r\nx",
    "a signed length": OK + b"Content-Length: +1\r\n\r\nx",
    "a length in words": OK + b"Content-Length: one\r\n\r\nx",
    "a length in hexadecimal": OK + b"Content-Length: 0x1\r\n\r\nx",
    "a length with a fraction": OK + b"Content-Length: 1.0\r\n\r\nx",
    "a length in wide digits": OK + "Content-Length: １\r\n\r\nx".encode(),
    "a length of 5,000 digits": OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nx",
    "an empty length": OK + b"Content-Length: \r\n\r\nx",
    "two lengths in one line": OK + b"Content-Length: 1, 2\r\n\r\nxy",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
    "a length and chunks": OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "chunks and a length": OK + b"Transfer-Encoding: chunked\r\ncontent-length: 99\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "compressed chunks": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks within chunks": OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunks declared twice": OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks spelt oddly": OK + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"-1\r\nx\r\n0\r\n\r\n",
    "a chunk of 21 digits": CHUNKED + b"f" * 21 + b"\r\nx",
    "a chunk without its end": CHUNKED + b"1\r\nxyz\r\n0\r\n\r\n",
    "a chunk counted in wide digits": CHUNKED + "１\r\nx\r\n0\r\n\r\n".encode(),
    "a trailer that is no header": CHUNKED + b"1\r\nx\r\n0\r\nno header\r\n\r\n",
    "HTTP/0.9": b"Hola, mundo!\r\n\r\n",
    "HTTP/2 frames": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64" + b"\r\n\r\n",
    "another protocol's version": b"HTCPCP/1.0 200 OK\r\n\r\nx",
    "a version without numbers": b"HTTP/x.y 200 OK\r\n\r\nx",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\nx",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n\r\nx",
    "a status in words": b"HTTP/1.1 OK\r\n\r\nx",
    "status 000": b"HTTP/1.1 000 Nothing\r\nContent-Length: 1\r\n\r\nx",
    "status 099": b"HTTP/1.1 099 Less\r\nContent-Length: 1\r\n\r\nx",
    "a switch of protocols": b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00",
    "a NUL in a header": OK + b"X-A: a\x00b\r\nContent-Length: 1\r\n\r\nx",
    "a NUL in a header's name": OK + b"X\x00A: a\r\nContent-Length: 1\r\n\r\nx",
    "a blank before the colon": OK + b"X-A : a\r\nContent-Length: 1\r\n\r\nx",
    "a header without a colon": OK + b"X-A\r\nContent-Length: 1\r\n\r\nx",
    "a header without a name": OK + b": a\r\nContent-Length: 1\r\n\r\nx",
    "a header that begins folded": OK + b" X-A: a\r\nContent-Length: 1\r\n\r\nx",
    "a request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "blank lines first": b"\r\n\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx",
    "TLS": b"\x15\x03\x03\x00\x02\x02\x28" + b"\r\n\r\n",
}


@pytest.mark.parametrize("wire", MALFORMED.values(), ids=MALFORMED)
def test_an_answer_that_is_not_http_fails_with_the_retriable_code_garbage(villain, tools, wire):
    (failed,) = call(villain(lambda heard: tools.said(wire)))
    assert isinstance(failed, CallFailed), failed
    assert (failed.code, failed.retriable) == ("garbage", True)


TOO_LARGE = {
    "a length over the cap": OK + b"Content-Length: %d\r\n\r\n" % (CAP + 1),
    "a length of twenty digits": OK + b"Content-Length: 99999999999999999999\r\n\r\n",
    "a chunk's size of twenty digits": CHUNKED + b"f" * 20 + b"\r\n",
    "a head over its cap": OK + b"X-A: " + b"a" * (HEADER_CAP + 1) + b"\r\n\r\n",
    "a status line over the cap": b"HTTP/1.1 200 " + b"O" * (HEADER_CAP + 1) + b"\r\n\r\n",
    "many headers": OK + b"".join(b"X-%d: a\r\n" % place for place in range(HEADER_CAP // 8)) + b"\r\n",
    "a byte over the cap until the end": OK + b"\r\n" + b"x" * (CAP + 1),
    "a byte over the cap in chunks": CHUNKED + (b"400\r\n" + b"x" * 1024 + b"\r\n") * 64 + b"1\r\nx\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("wire", TOO_LARGE.values(), ids=TOO_LARGE)
def test_an_answer_above_a_size_limit_is_cut_off(villain, tools, wire):
    (failed,) = call(villain(lambda heard: tools.said(wire)))
    assert isinstance(failed, CallFailed), failed
    assert (failed.code, failed.retriable) == ("too-large", False)


@pytest.mark.parametrize(
    "head", [OK + b"Content-Length: %d\r\n\r\n" % CAP, OK + b"\r\n"], ids=["announced", "until the end"]
)
def test_an_answer_within_the_size_limits_is_read_completely(villain, tools, head):
    assert call(villain(lambda heard: tools.said(head, b"x" * CAP))) == [b"x" * CAP]


ENDLESS = {
    "headers": (OK, b"X-A: a\r\n", "too-large"),
    "one header": (OK + b"X-A: ", b"a" * 1024, "too-large"),
    "one status line": (b"HTTP/1.1 200 ", b"O" * 1024, "too-large"),
    "one chunk's size": (CHUNKED, b"0" * 1024, "too-large"),
    "one chunk's extension": (CHUNKED + b"1;", b"e" * 1024, "too-large"),
    "trailers": (CHUNKED + b"0\r\n", b"X-T: t\r\n" * 100, "too-large"),
    "a body": (OK + b"\r\n", b"x" * 1024, "too-large"),
    "chunks": (CHUNKED, b"400\r\n" + b"x" * 1024 + b"\r\n", "too-large"),
    "one huge chunk": (CHUNKED + b"f" * 20 + b"\r\n", b"x" * 1024, "too-large"),
    "tiny chunks with long extensions": (CHUNKED, b"1;" + b"e" * 30_000 + b"\r\nx\r\n", "too-large"),
    "hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 10, "too-large"),
    "permissions to go on": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10, "too-large"),
}


@pytest.mark.parametrize(("head", "piece", "code"), ENDLESS.values(), ids=ENDLESS)
def test_an_endless_answer_is_cut_off_before_the_deadline(villain, tools, head, piece, code):
    (failed,) = call(villain(lambda heard: tools.endless(head, piece)), timeout_s=50)
    assert isinstance(failed, CallFailed)
    assert (failed.code, failed.retriable) == (code, CODES[code].retriable)


SLOW = {
    "silent": (b"", b""),
    "silent after the status": (OK, b""),
    "silent after the head": (OK + b"Content-Length: 10\r\n\r\n", b""),
    "silent in a chunk": (CHUNKED + b"a\r\nx", b""),
    "dripping its status": (b"HTTP/1.1 200 ", b"O"),
    "dripping one header": (OK + b"X-A: ", b"a"),
    "dripping headers": (OK, b"X-A: a\r\n"),
    "dripping its body": (OK + b"Content-Length: 9999\r\n\r\n", b"x"),
    "dripping chunks": (CHUNKED, b"1\r\nx\r\n"),
    "dripping trailers": (CHUNKED + b"0\r\n", b"X: t\r\n"),
    "dripping hints": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
}


@pytest.mark.parametrize(("head", "piece"), SLOW.values(), ids=SLOW)
def test_a_slow_answer_ends_at_the_calls_deadline(villain, tools, head, piece):
    service = villain(lambda heard: tools.endless(head, piece, 0.05) if piece else tools.silence(head))
    began = time.monotonic()
    (failed,) = call(service, timeout_s=0.4)
    took_s = time.monotonic() - began
    assert (failed.code, failed.retriable) == ("timeout", True)
    assert 0.4 <= took_s < 5


def test_informational_1xx_responses_before_the_answer_are_skipped(villain, tools):
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100
    assert call(villain(lambda heard: hints + tools.raw("Hola")), times=3) == [b"Hola"] * 3


# ---------------------------------------------------------------------------- response smuggling
SMUGGLED = OK + b"Content-Length: 8\r\n\r\nsmuggled"


@pytest.mark.parametrize(
    "extra",
    [SMUGGLED, b"x", b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"\x00" * 10],
    ids=["an answer", "a byte", "a blank line", "a hint", "NULs"],
)
def test_bytes_after_an_answer_are_never_read_as_the_next_answer(villain, tools, extra):
    service = villain(lambda heard: tools.raw(f"answer {heard.connection}") + extra)
    assert call(service, times=3) == [b"answer 1", b"answer 2", b"answer 3"]


def test_an_answer_smuggled_behind_contradictory_length_headers_is_never_read(villain, tools):
    poison = OK + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED
    turns = iter([poison])
    service = villain(lambda heard: next(turns, None) or tools.raw("sound"))
    first, second = call(service, times=2)
    assert (first.code, second) == ("garbage", b"sound")
    assert service.connections == 2


# ---------------------------------------------------------------------------- statuses
STATUSES = {
    "206 Partial": ("truncated", True),
    "300 Choices": ("redirect", False),
    "304 Not Modified": ("redirect", False),
    "400 Bad": ("http-400", False),
    "402 Pay": ("quota", False),
    "407 Proxy": ("http-407", False),
    "408 Late": ("http-408", True),
    "425 Early": ("http-425", True),
    "451 Law": ("http-451", False),
    "456 Quota": ("quota", False),
    "499 Gone": ("http-499", False),
    "501 No": ("http-501", False),
    "505 Version": ("http-505", False),
    "599 What": ("http-599", False),
    "600 What": ("http-600", False),
    "999 Denied": ("http-999", False),
}


@pytest.mark.parametrize(("status", "meant"), STATUSES.items(), ids=STATUSES)
def test_every_status_except_2xx_is_a_failure_with_its_code(villain, tools, status, meant):
    (failed,) = call(villain(lambda heard: tools.raw("" if status.startswith("304") else "Hola", status)))
    assert (failed.code, failed.retriable) == meant


@pytest.mark.parametrize("reason", [b"", b" ", b" \xff\xfe", b" \x01\x1b[31m"])
def test_an_unusual_reason_phrase_of_the_status_line_is_ignored(villain, tools, reason):
    wire = b"HTTP/1.1 200" + reason + b"\r\nContent-Length: 4\r\n\r\nHola"
    assert call(villain(lambda heard: wire)) == [b"Hola"]


@pytest.mark.parametrize("control", [bytes([code]) for code in (*range(1, 9), *range(14, 32), 127)])
def test_control_characters_in_headers_are_not_passed_on(villain, tools, control):
    wire = b"HTTP/1.1 500 " + control + b"\r\nX-A: " + control + b"\r\nRetry-After: 1" + control + b"\r\n"
    (failed,) = call(villain(lambda heard: wire + b"Content-Length: 0\r\n\r\n"))
    assert failed.code in {"http-500", "garbage"}
    assert control.decode() not in str(failed)
