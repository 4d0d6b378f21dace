"""Interval of a schedule, in words and as a cron expression."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
"""Days of the week; the index of a day is its number in a cron expression."""

LAST_DAY = 28
"""Last day of the month that every month has."""

DAY_S, HOUR_S = 86_400, 3_600

_CRON = re.compile(r"(?P<minute>\d+) (?P<hour>\d+) (?P<day>\*|\d+) \* (?P<weekday>\*|[0-6])")


def cron_of(form: Mapping[str, str]) -> str:
    """Return the cron expression of a form: `every` day, week or month, at an `hour` (UTC)."""
    day = form["day"] if form["every"] == "month" else "*"
    weekday = form["weekday"] if form["every"] == "week" else "*"
    return f"0 {form['hour']} {day} * {weekday}"


def in_words(schedule: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the interval of a schedule in words, as a text to translate and its values.

    A cron expression that the form cannot make is shown as it is.
    """
    if schedule["interval_s"] is not None:
        return _interval(schedule["interval_s"])
    match = _CRON.fullmatch(schedule["cron"])
    if match is None or (match["day"] != "*" and match["weekday"] != "*"):
        return "cron %(cron)s (UTC)", {"cron": schedule["cron"]}
    at = {"time": f"{int(match['hour']):02}:{int(match['minute']):02}"}
    if match["weekday"] != "*":
        return f"every {WEEKDAYS[int(match['weekday'])]} at %(time)s UTC", at
    if match["day"] == "*":
        return "every day at %(time)s UTC", at
    return "on day %(day)s of every month at %(time)s UTC", {"day": match["day"], **at}


def _interval(seconds: int) -> tuple[str, dict[str, Any]]:
    sizes = ((DAY_S, "every %(count)s days"), (HOUR_S, "every %(count)s hours"), (60, "every %(count)s minutes"))
    fitting = ((text, {"count": seconds // size}) for size, text in sizes if seconds % size == 0)
    return next(fitting, ("every %(count)s seconds", {"count": seconds}))
