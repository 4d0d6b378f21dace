"""How often a schedule runs, in words and as a cron expression."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""Days of the week; their numbers in a cron expression are their places."""

LAST_DAY = 28
"""Last day of the month that every month has."""

DAY_S, HOUR_S = 86_400, 3_600

_CRON = re.compile(r"(?P<minute>\d+) (?P<hour>\d+) (?P<day>\*|\d+) \* (?P<weekday>\*|[0-6])")


def cron_of(form: Mapping[str, str]) -> str:
    """Return the cron expression of a form: `every` day, week or month, at an `hour` (UTC)."""
    day = form["day"] if form["every"] == "month" else "*"
    weekday = form["weekday"] if form["every"] == "week" else "*"
    return f"0 {form['hour']} {day} * {weekday}"


def in_words(schedule: Mapping[str, Any]) -> str:
    """Say how often a schedule runs; a cron expression that the form cannot make is shown as it is."""
    if schedule["interval_s"] is not None:
        return _interval(schedule["interval_s"])
    found = _CRON.fullmatch(schedule["cron"])
    if found is None or (found["day"] != "*" and found["weekday"] != "*"):
        return f"cron {schedule['cron']} (UTC)"
    at = f"at {int(found['hour']):02}:{int(found['minute']):02} UTC"
    if found["weekday"] != "*":
        return f"every {WEEKDAYS[int(found['weekday'])]} {at}"
    return f"every day {at}" if found["day"] == "*" else f"on day {found['day']} of every month {at}"


def _interval(seconds: int) -> str:
    for size, name in ((DAY_S, "days"), (HOUR_S, "hours"), (60, "minutes")):
        if seconds % size == 0:
            return f"every {seconds // size} {name}"
    return f"every {seconds} seconds"
