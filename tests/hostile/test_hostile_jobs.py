"""Whole jobs with hostile services: failures are named and counted, and do not affect the rating."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest

from assay.experiment import Session, generator
from assay.methods import RoundTrip
from assay.model import Kind
from store.jobs.jobs import LedgerEntry
from workers.calls.driver import Driver
from workers.calls.limits import Budget, Patience
from workers.egress import RETRY_AFTER_CAP_S, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.registry import connect

SECRET = "sk-jobs-0a1b2c3d4e"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def ills(tools):
    """Return each kind of faulty answer, with the code of its failure."""

    def body(text: str | bytes):
        return lambda heard: tools.raw(text, content_type="application/json")

    def status(code: str, **headers: str):
        return lambda heard: tools.raw("no", code, **headers)

    return {
        "drips its head": (lambda heard: tools.endless(OK + b"X-A: ", b"a", 0.05), "timeout"),
        "drips its body": (lambda heard: tools.endless(OK + b"Content-Length: 999\r\n\r\n", b" ", 0.05), "timeout"),
        "says nothing": (lambda heard: tools.silence(), "timeout"),
        "never ends": (lambda heard: tools.endless(CHUNKED, b"10000\r\n" + b" " * 0x10000 + b"\r\n"), "too-large"),
        "never ends its head": (lambda heard: tools.endless(OK, b"X-A: a\r\n" * 100), "too-large"),
        "sends five megabytes": (body('{"translatedText": "' + "x" * 5_000_000 + '"}'), "too-large"),
        "compresses": (lambda heard: tools.raw(gzip.compress(b"{}"), content_encoding="gzip"), "encoded-body"),
        "hangs up": (lambda heard: tools.said(b""), "truncated"),
        "hangs up in its head": (lambda heard: tools.said(OK), "truncated"),
        "hangs up in its body": (lambda heard: tools.said(OK + b"Content-Length: 99\r\n\r\n{"), "truncated"),
        "gives two lengths": (
            lambda heard: tools.said(CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 4\r\n\r\n"), b"0\r\n\r\n"),
            "garbage",
        ),
        "speaks no HTTP": (lambda heard: tools.said(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "garbage"),
        "shows a page": (body("<html>Sign in</html>"), "garbage"),
        "says NaN": (body('{"translatedText": "Ella vino.", "score": NaN}'), "bad-json"),
        "says 1e999": (body('{"translatedText": "Ella vino.", "score": 1e999}'), "bad-json"),
        "says a huge integer": (body('{"translatedText": "Ella vino.", "id": ' + "9" * 5000 + "}"), "bad-json"),
        "nests": (body("[" * 100_000 + "]" * 100_000), "bad-json"),
        "says null": (body('{"translatedText": null}'), "wrong-shape"),
        "says a list": (body('{"translatedText": [1]}'), "wrong-shape"),
        "says an error with 200": (body('{"error": "overloaded"}'), "wrong-shape"),
        "says two texts": (body('{"translatedText": ["Ella vino.", "Él vino."]}'), "wrong-count"),
        "redirects": (status("302 Found", location="http://169.254.169.254/"), "redirect"),
        "fails": (status("500 No"), "http-500"),
        "knows no such text": (status("404 No"), "http-404"),
        "gives a part": (status("206 Partial"), "truncated"),
    }


@pytest.fixture(params=ills(None))
def ill(request, tools):
    """Each kind of faulty answer: its script and its code."""
    return ills(tools)[request.param]


@pytest.mark.slow
def test_occasional_failures_are_counted_by_code_and_do_not_affect_the_rating(villain, tools, office, ill):
    script, code = ill
    service = villain(tools.translator(script))
    ended = office.run(office.post(service.url, timeout_s=0.3 if code == "timeout" else 10))
    assert ended.status == "succeeded", ended.error
    rating, ledger = office.rating(ended), [kept.observation for kept in office.ledger(ended)]
    failed = [one for one in ledger if not one.reply.ok]
    struck = [one for one in ledger if tools.now_and_then(one.probe.ask.text)]
    assert failed
    # each failed reply belongs to the question that was attacked
    assert {one.probe.unit for one in failed} == {one.probe.unit for one in struck}
    assert {one.reply.failure.code for one in failed} == {code}
    assert all(one.reply.value is None for one in failed)
    assert rating["letter"] == "DSBS", rating["reasons"]  # the letter is based on the usable answers only
    assert rating["counts"]["failed"] == len(failed)
    assert rating["counts"]["asked"] == len(ledger)
    assert office.counted("assay_target_calls_total", target=service.url[7:], outcome=code) > 0


FINAL = {
    "never ends": "target_refused",
    "compresses": "target_refused",
    "says null": "target_unfit",  # an answer is no refusal
    "redirects": "target_refused",
}


@pytest.mark.parametrize("name", FINAL)
def test_a_service_that_always_fails_is_not_rated_and_the_job_names_the_reason(villain, tools, office, name):
    script, code = ills(tools)[name]
    service = villain(tools.translator(script, lambda text: True))
    ended = office.run(office.post(service.url, secret=SECRET))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", FINAL[name], code)
    assert (ended.rating_id, office.ledger(ended)) == (None, [])
    assert SECRET not in str(ended.error)


# ---------------------------------------------------------------------------- Retry-After
class Memory:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.answers: list[LedgerEntry] = []

    def record(self, answers: Sequence[LedgerEntry], *, calls: int, expected: int) -> None:
        self.answers += answers


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
WAITS = {
    "seconds": ({"retry_after": "7"}, (7, 7)),
    "a fraction": ({"retry_after": "0.5"}, (0.5, 0.5)),
    "a date": ({"retry_after": "Sun, 01 Mar 2026 12:00:30 GMT"}, (30, 30)),
    "a date in the past": ({"retry_after": "Sun, 01 Mar 2020 12:00:30 GMT"}, (0, 0)),
    "milliseconds": ({"retry_after_ms": "1500", "retry_after": "9"}, (1.5, 1.5)),
    "a day": ({"retry_after": "86400"}, (RETRY_AFTER_CAP_S, RETRY_AFTER_CAP_S)),
    "a huge number": ({"retry_after": "9" * 15}, (RETRY_AFTER_CAP_S, RETRY_AFTER_CAP_S)),
    "a date in 9999": ({"retry_after": "Fri, 31 Dec 9999 23:59:59 GMT"}, (RETRY_AFTER_CAP_S, RETRY_AFTER_CAP_S)),
    "a number of 400 digits": ({"retry_after": "9" * 400}, (0, 1)),
    "garbage": ({"retry_after": "soon"}, (0, 1)),
    "a negative number": ({"retry_after": "-5"}, (0, 1)),
    "NaN": ({"retry_after": "nan"}, (0, 1)),
    "nothing": ({}, (0, 1)),
}


def drive(service, *, attempts=6):
    """Run a whole experiment; return its finding, the pauses, and the recorded answers."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def go():
        limits, ledger = Limits(concurrency=1, timeout_s=10), Memory()
        target = Target("T", Kind.TRANSLATOR, "libretranslate", service.url, {"batch_maximum": 1}, SECRET, limits)
        method = RoundTrip("gender")
        async with Egress((ip_network("127.0.0.0/8"),), now=lambda: NOW) as egress:
            driver = Driver(
                connect(target, egress), limits, Budget(1000), ledger, "job_1", generator(1),
                patience=Patience(attempts, backoff_s=0.5), sleep=sleep,
            )  # fmt: skip
            finding = await driver.run(Session(method.design(generator(7))))
            return finding, pauses, ledger.answers

    return asyncio.run(go())


@pytest.mark.parametrize(("headers", "bounds"), WAITS.values(), ids=WAITS)
@pytest.mark.parametrize("status", ["429 Slow", "503 Busy"])
def test_retry_after_is_obeyed_within_limits(villain, tools, headers, bounds, status):
    turns = itertools.count()
    sound = tools.translator(tools.translated)
    service = villain(lambda heard: tools.raw("no", status, **headers) if next(turns) == 3 else sound(heard))
    _, pauses, answers = drive(service)
    assert len(pauses) == 1
    assert bounds[0] <= pauses[0] <= bounds[1]
    assert all(one.observation.reply.ok for one in answers)
    assert max(one.attempts for one in answers) == 2


@pytest.mark.parametrize(
    ("status", "word", "retried"), [("429 X", "false", False), ("503 X", "false", False), ("400 X", "true", True)]
)
def test_header_x_should_retry_of_the_service_is_obeyed(villain, tools, status, word, retried):
    turns = itertools.count()
    sound = tools.translator(tools.translated)
    service = villain(lambda heard: tools.raw("no", status, x_should_retry=word) if next(turns) == 3 else sound(heard))
    _, pauses, answers = drive(service)
    failed = [one.observation.reply.failure.code for one in answers if not one.observation.reply.ok]
    assert (len(pauses), failed) == ((1, []) if retried else (0, [f"http-{status[:3]}"]))


def test_a_job_waits_as_long_as_the_retry_after_header_says(villain, tools, office):
    moments: dict[str, list[float]] = {}

    def once_too_many(heard):
        asked = moments.setdefault(heard.texts[0], [])
        asked.append(time.monotonic())
        return tools.raw("no", "429 Slow", retry_after="1") if len(asked) == 1 else tools.translated(heard)

    ended = office.run(office.post(villain(tools.translator(once_too_many)).url))
    assert (ended.status, office.rating(ended)["counts"]["failed"]) == ("succeeded", 0)
    assert moments
    assert all(len(asked) == 2 and asked[1] - asked[0] >= 1 for asked in moments.values())


def test_a_service_that_stops_answering_ends_the_job_and_keeps_its_replies(villain, tools, office):
    turns = itertools.count()
    sound = tools.translator(tools.translated)
    service = villain(lambda heard: sound(heard) if next(turns) < 50 else tools.raw("broken", "500 No"))
    ended = office.run(office.post(service.url, secret=SECRET))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_unavailable", "http-500")
    answered = [kept for kept in office.ledger(ended) if kept.observation.reply.ok]
    assert 0 < len(answered) <= 50
    assert (ended.rating_id, SECRET in str(ended.error)) == (None, False)


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        ("401 No", f'{{"error": "no such key: {SECRET}"}}', "auth"),
        ("403 No", f"{SECRET}", "auth"),
        ("402 Pay", "", "quota"),
        ("456 Quota", "", "quota"),
        ("429 Slow", '{"error": {"code": "insufficient_quota"}}', "quota"),
    ],
)
@pytest.mark.parametrize("sound_ones", [0, 40])
def test_a_refused_key_ends_the_job_at_once_and_is_not_shown(villain, tools, office, status, body, reason, sound_ones):
    turns = itertools.count()
    sound = tools.translator(tools.translated)
    service = villain(lambda heard: sound(heard) if next(turns) < sound_ones else tools.raw(body, status))
    ended = office.run(office.post(service.url, secret=SECRET))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_refused", reason)
    assert len(service.heard) <= sound_ones + 8  # up to 8 calls were in flight when the key was refused
    assert SECRET not in str(ended.error)
    assert bool(office.ledger(ended)) is bool(sound_ones)


# ---------------------------------------------------------------------------- long texts, silently cut
@pytest.mark.parametrize("kept", [100, 600, 1000])
def test_a_service_that_silently_cuts_long_texts_is_detected(villain, tools, office, kept):
    def cut(heard):
        (text,) = heard.texts
        return tools.as_json({"translatedText": text[:kept]})

    service = villain(tools.translator(cut, lambda text: len(text) > kept))
    ended = office.run(office.post(service.url))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_unfit", "truncates")
    assert ended.rating_id is None


def test_a_service_that_drops_the_end_of_a_list_is_detected(villain, tools, office):
    def short(heard):
        return tools.as_json({"translatedText": heard.texts[: max(1, len(heard.texts) - 1)]})

    service = villain(tools.translator(short, lambda text: True))
    ended = office.run(office.post(service.url, settings={}))
    assert (ended.status, ended.rating_id) == ("failed", None)
    assert ended.error["reason"] in {"wrong-count", "truncates"}


# ---------------------------------------------------------------------------- unusual texts
STRANGE = "a\ud800b \0 \u202eElla\u202c \x1b[31m \ufeff 😀"


@pytest.mark.slow
def test_unusual_texts_are_recorded_unchanged_and_do_not_stop_a_job(villain, tools, open_office, database_url):
    office = open_office("127.0.0.0/8", database_url)
    service = villain(tools.translator(lambda heard: tools.as_json({"translatedText": STRANGE})))
    ended = office.run(office.post(service.url))
    assert ended.status == "succeeded", ended.error
    ledger = [kept.observation for kept in office.ledger(ended)]
    struck = [one for one in ledger if tools.now_and_then(one.probe.ask.text)]
    assert struck
    assert all(one.reply.value == STRANGE for one in struck)
    # the unusual text was also sent in the back-translation
    assert any(one.probe.ask.text == STRANGE for one in ledger)


def test_a_service_with_a_custom_interface_that_returns_unusual_texts_is_rated(villain, tools, office):
    def script(heard):
        return tools.as_json({"out": STRANGE})

    settings = {"path": "/do/{source}/{target}", "body": {"q": "{text}"}, "output": "out"}
    ended = office.run(office.post(villain(script).url, protocol="custom", settings=settings))
    assert (ended.status, ended.error) == ("succeeded", None)
