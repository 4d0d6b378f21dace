"""Delivery attempts to real receivers: success, stored outcome, and next step."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from assay.experiment import generator
from store.core.settings import Settings
from store.webhooks.deliveries import Outcome
from workers.egress import GuardedTransport
from workers.webhooks.delivery_attempt import (
    JITTER,
    RESPONSE_CAP,
    SCHEDULE_S,
    AttemptResult,
    call,
    decide_next,
    open_transport,
)

BODY = b'{"type":"ping"}'


def attempt(wire, answer, *, timeout_s=5.0, path="/hook?token=t", url=None):
    async def go():
        async with wire.listening(answer) as service:
            transport = open_transport(Settings(egress_allow="127.0.0.0/8"))
            try:
                address = service.url + path if url is None else url
                return await call(transport, address, {"webhook-id": "dlv_1"}, BODY, timeout_s), service
            finally:
                await transport.aclose()

    return asyncio.run(go())


async def slow(heard, writer):
    await asyncio.sleep(30)


async def endless(heard, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
        await writer.drain()


def test_receiver_gets_the_body_and_the_headers(wire):
    answered, service = attempt(wire, lambda heard: wire.raw("thanks"))
    (heard,) = service.heard
    assert (heard.method, heard.target, heard.body) == ("POST", "/hook?token=t", BODY)
    assert heard.headers["webhook-id"] == "dlv_1"
    assert heard.headers["user-agent"].startswith("assay/")
    outcome = answered.outcome
    assert (outcome.status, outcome.failure, outcome.response) == (200, None, "thanks")


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "202 Accepted", "204 No Content", "299 Fine"])
def test_a_webhook_response_with_any_2xx_status_is_a_success(wire, status):
    assert attempt(wire, lambda heard: wire.raw(status=status))[0].outcome.failure is None


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 429, 500, 502, 503, 504])
def test_a_webhook_response_with_a_status_outside_2xx_is_a_failure(wire, status):
    outcome = attempt(wire, lambda heard: wire.raw("why", f"{status} X"))[0].outcome
    assert (outcome.status, str(status) in outcome.failure) == (status, True)


def test_a_redirect_in_response_to_a_webhook_is_a_failure_and_is_not_followed(wire):
    answered, service = attempt(wire, lambda heard: wire.raw(status="307 Elsewhere", location="/other"))
    assert answered.outcome.failure.startswith("redirect: ")
    assert [one.path for one in service.heard] == ["/hook"]


def test_a_webhook_receiver_that_does_not_answer_in_time_is_a_failure(wire):
    outcome = attempt(wire, lambda heard: slow, timeout_s=0.2)[0].outcome
    assert (outcome.status, outcome.failure) == (None, "timeout: no whole answer within 0.2 s")


def test_long_response_is_truncated_and_still_a_success(wire):
    outcome = attempt(wire, lambda heard: wire.raw("x" * 100_000))[0].outcome
    assert (outcome.failure, outcome.response) == (None, "x" * RESPONSE_CAP)


def test_endless_response_is_truncated(wire):
    outcome = attempt(wire, lambda heard: endless)[0].outcome
    assert (outcome.failure, len(outcome.response)) == (None, RESPONSE_CAP)


def test_beginning_of_a_long_failed_response_is_stored(wire):
    outcome = attempt(wire, lambda heard: wire.raw("Traceback " + "x" * 9000, "500 Oh"))[0].outcome
    assert outcome.status == 500
    assert outcome.response.startswith("Traceback x")


def test_compressed_response_is_not_decompressed(wire):
    packed = gzip.compress(b"0" * 10_000_000)
    outcome = attempt(wire, lambda heard: wire.raw(packed, content_encoding="gzip"))[0].outcome
    assert (outcome.status, outcome.failure, outcome.response) == (200, None, None)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", b"hello\r\n\r\n"])
def test_invalid_response_is_a_failure(wire, answer):
    async def say(heard, writer):
        writer.write(answer)
        writer.close()

    outcome = attempt(wire, lambda heard: say)[0].outcome
    assert outcome.status is None
    assert outcome.failure


def test_unreachable_receiver_is_a_failure(wire):
    outcome = attempt(wire, lambda heard: b"", url="http://127.0.0.1:1/")[0].outcome
    assert outcome.failure.startswith("connect: ")


# ---------------------------------------------------------------------------- the guard
@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (["10.0.0.7"], "refused-address"),
        (["93.184.216.34", "10.0.0.7"], "refused-address"),
        (["169.254.169.254"], "refused-address"),
        (["::1"], "refused-address"),
        ([], "connect"),
    ],
)
def test_a_host_name_with_an_internal_address_is_refused_before_connecting(answers, code):
    dialled = []

    async def resolve(host, port):
        return answers

    async def dial(protocol, address, port, tls, host):
        dialled.append(address)
        raise OSError("a recording dialer reaches nobody")

    async def go():
        transport = GuardedTransport((), response_cap=RESPONSE_CAP, refuses_long=False, resolve=resolve, dial=dial)
        async with aclosing(transport):
            return await call(transport, "http://hooks.example.org/", {}, BODY)

    outcome = asyncio.run(go()).outcome
    assert (outcome.failure.partition(":")[0], dialled) == (code, [])
    assert all(one not in outcome.failure for one in answers), "the network inside is not told"


def test_a_host_name_whose_address_became_internal_is_refused(wire):
    """The address of an endpoint is checked again at every call."""
    faces = [["93.184.216.34"], ["10.0.0.7"]]
    dialled = []

    async def resolve(host, port):
        return faces.pop(0)

    async def dial(protocol, address, port, tls, host):
        dialled.append(address)
        raise OSError("a recording dialer reaches nobody")

    async def go():
        transport = GuardedTransport((), response_cap=RESPONSE_CAP, refuses_long=False, resolve=resolve, dial=dial)
        async with aclosing(transport):
            return [await call(transport, "http://hooks.example.org/", {}, BODY) for _ in range(2)]

    first, second = asyncio.run(go())
    assert first.outcome.failure.startswith("connect")
    assert second.outcome.failure.startswith("refused-address")
    assert dialled == ["93.184.216.34"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://[::1]:9/", "http://localhost:9/", "gopher://x/"])
def test_internal_addresses_are_refused_unless_the_operator_allows_them(url):
    async def go():
        transport = open_transport(Settings(egress_allow=""))
        try:
            return await call(transport, url, {}, BODY)
        finally:
            await transport.aclose()

    assert asyncio.run(go()).outcome.failure.startswith("refused-address: ")


# ---------------------------------------------------------------------------- next steps
def failed(status=500, retry_after_s=None):
    return AttemptResult(Outcome(1, status, "why", None), retry_after_s)


class Highest(np.random.Generator):
    """Generator that always returns the maximum."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def uniform(self, low, high):
        return high


def test_the_retry_schedule_is_that_of_standard_webhooks():
    hours = [0, 5 / 3600, 1 / 12, 0.5, 2, 5, 10, 14, 20, 24]
    assert [each / 3600 for each in SCHEDULE_S] == pytest.approx(hours)


def test_delays_between_webhook_attempts_grow_and_end_after_the_last_attempt():
    delays = [decide_next(number, failed(), generator(1)).delay_s for number in range(1, 11)]
    assert delays[-1] is None
    for delay, planned in zip(delays[:-1], SCHEDULE_S[1:], strict=True):
        assert planned <= delay <= planned * (1 + JITTER)


def test_retries_of_several_receivers_are_spread_by_random_delays():
    rng = generator(1)
    delays = {decide_next(2, failed(), rng).delay_s for _ in range(50)}
    assert len(delays) == 50
    assert decide_next(2, failed(), Highest()).delay_s == pytest.approx(300 * (1 + JITTER))


def test_a_successful_webhook_delivery_is_not_attempted_again():
    assert decide_next(1, AttemptResult(Outcome(1, 204, None, "")), generator(1)) is None


def test_a_webhook_delivery_that_is_answered_410_is_not_attempted_again():
    assert decide_next(1, failed(410), generator(1)).gone


@pytest.mark.parametrize("status", [429, 502, 504])
def test_an_overloaded_webhook_receiver_gets_no_deliveries_for_a_minute(status):
    then = decide_next(1, failed(status), generator(1))
    assert (then.delay_s, then.rest_s) == (60, 60)


def test_a_webhook_receiver_that_answers_500_gets_no_pause_before_other_deliveries():
    then = decide_next(1, failed(500), generator(1))
    assert then.rest_s == 0
    assert then.delay_s <= 5 * (1 + JITTER)


@pytest.mark.parametrize(("asked_s", "granted_s"), [(0, 0), (7, 7), (4000, 4000), (10**9, 86_400)])
def test_retry_after_of_a_receiver_is_obeyed_up_to_a_day(asked_s, granted_s):
    then = decide_next(1, failed(503, float(asked_s)), generator(1))
    assert then.rest_s == granted_s
    assert then.delay_s >= max(5, granted_s)


def test_retry_after_is_read_in_seconds_and_as_a_date(wire):
    assert attempt(wire, lambda heard: wire.raw(status="429 X", retry_after="120"))[0].retry_after_s == 120
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    found = attempt(wire, lambda heard: wire.raw(status="429 X", retry_after=date))[0].retry_after_s
    assert found == pytest.approx(600, abs=30)
    assert attempt(wire, lambda heard: wire.raw(status="429 X", retry_after="soon"))[0].retry_after_s is None
