"""Tests of recurrences: cron expressions and intervals, in UTC."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import SpecificationError
from store.suites.schedules import Recurrence


def ms(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("cron", "now", "due"),
    [
        ("0 3 * * 1", ms(2026, 1, 1), ms(2026, 1, 5, 3)),  # from a Thursday to the next Monday
        ("0 3 * * 1", ms(2026, 1, 5, 3), ms(2026, 1, 12, 3)),
        (
            "30 2 * * *",
            ms(2026, 3, 29, 2, 29, 59),
            ms(2026, 3, 29, 2, 30),
        ),  # a time that daylight saving skips in Europe
        ("0 0 29 2 *", ms(2026, 1, 1), ms(2028, 2, 29)),
        ("0 0 L * *", ms(2026, 2, 1), ms(2026, 2, 28)),
    ],
)
def test_next_time_of_a_cron_expression_is_in_utc(cron, now, due):
    assert Recurrence(cron).after(now, 0) == due


@given(
    now=st.integers(0, 4_000_000_000_000), anchor=st.integers(0, 4_000_000_000_000), step_s=st.integers(1, 10_000_000)
)
def test_the_next_time_of_an_interval_is_a_whole_number_of_intervals_after_its_start(now, anchor, step_s):
    due = Recurrence(interval_s=step_s).after(now, anchor)
    assert now < due <= now + step_s * 1000
    assert (due - anchor) % (step_s * 1000) == 0


@pytest.mark.parametrize(
    ("cron", "shortest_s"),
    [
        ("* * * * *", 60),
        ("*/15 * * * *", 900),
        ("0 * * * *", 3600),
        ("0 3 * * 1", 86_400),
        ("0 1,23 * * *", 7200),  # across midnight
        ("5,0 4 1 1 *", 300),
    ],
)
def test_minimum_time_between_runs_is_also_measured_across_midnight(cron, shortest_s):
    recurrence = Recurrence(cron)
    assert recurrence.shortest_s == shortest_s
    recurrence.check(shortest_s)
    with pytest.raises(SpecificationError, match=f"{shortest_s} s apart"):
        recurrence.check(shortest_s + 1)


@pytest.mark.parametrize(
    ("recurrence", "field", "message"),
    [
        (Recurrence(), "cron", "exactly one of cron and interval_s"),
        (Recurrence("0 3 * * *", 3600), "cron", "exactly one of cron and interval_s"),
        (Recurrence("0 3 * *"), "cron", "has 4"),
        (Recurrence("0 0 3 * * *"), "cron", "has 6"),
        (Recurrence("@daily is not five"), "cron", "cannot be read|has 4"),
        (Recurrence("0 24 * * *"), "cron", "hour"),
        (Recurrence("0 0 31 4 *"), "cron", "day-of-month"),
        (Recurrence("0 0 * 2 MON#9"), "cron", "day-of-week"),
        (Recurrence(interval_s=10), "interval_s", "10 s apart"),
    ],
)
def test_invalid_recurrence_is_refused_naming_the_invalid_field(recurrence, field, message):
    with pytest.raises(SpecificationError, match=message) as refused:
        recurrence.check(60)
    assert refused.value.field == field


@given(st.text("0123456789*/,-#LW ", max_size=30))
def test_any_text_as_cron_expression_is_accepted_or_raises_specification_error(text):
    with suppress(SpecificationError):
        Recurrence(text).check(60)
