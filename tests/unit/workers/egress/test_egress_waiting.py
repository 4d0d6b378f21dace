"""Parsing of ``Retry-After`` and related headers."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from workers.egress import RETRY_AFTER_CAP_S, parse_retry_after, should_retry

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sunday, 01-Mar-26 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:30 -0000"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 13:00:30 +0100"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"retry-after-ms": "soon", "Retry-After": "9"}, 9.0),
        ({"Retry-After": "999999999"}, 999999999.0),
    ],
)
def test_retry_after_in_seconds_milliseconds_and_as_a_date_is_parsed(said, seconds):
    assert parse_retry_after(httpx.Headers(said), NOW) == seconds


@pytest.mark.parametrize(
    "said", ["", "soon", "-5", "nan", "inf", "1e9", "٧", "9" * 400, "Sun, 99 Mar 2026 12:00:30 GMT", "0x10", "5, 6"]
)
def test_invalid_retry_after_is_ignored(said):
    headers = {"retry-after": said}
    assert parse_retry_after(headers, NOW) is None


def test_missing_retry_after_is_none():
    assert parse_retry_after({}, NOW) is None
    assert should_retry({}) is None


def test_retry_after_cap_is_five_minutes():
    assert RETRY_AFTER_CAP_S == 300


@pytest.mark.parametrize(("said", "meant"), [("true", True), ("FALSE", False), ("maybe", None)])
def test_x_should_retry_is_parsed(said, meant):
    assert should_retry({"x-should-retry": said}) is meant


# Row 83 of docs/reliability.md: at c37b512 a clock behind and a read-only file system were not tested.
def test_a_retry_after_date_is_compared_with_the_date_header_of_the_sender():
    # earlier, a machine whose clock was a day behind waited a day and ten seconds, or for the longest permitted pause
    headers = {"date": "Thu, 01 Jan 2026 00:00:00 GMT", "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT"}
    assert parse_retry_after(headers, NOW - timedelta(days=400)) == 10
