"""Recurrence of a schedule: a cron expression or a fixed interval, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from cronsim import CronSim, CronSimError

from assay.errors import OutOfBounds, SpecificationError

FIELDS = 5
"""Minute, hour, day of the month, month, day of the week. Seconds are not supported."""

MINUTES_A_DAY = 24 * 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Recurrence:
    """A cron expression or an interval in seconds. Call `check` before using it."""

    cron: str | None = None
    interval_s: int | None = None

    @property
    def shortest_s(self) -> int:
        """Minimum time between two runs, in seconds.

        For a cron expression: the minimum between its times of day, and from the last time of a day to the
        first of the next day. Days that the expression skips can only make the time longer.
        """
        if self.interval_s is not None:
            return self.interval_s
        parsed = _parse(str(self.cron), EPOCH)
        times = sorted(hour * 60 + minute for hour in parsed.hours for minute in parsed.minutes)
        gaps = [later - earlier for earlier, later in pairwise(times)]
        return 60 * min([*gaps, times[0] + MINUTES_A_DAY - times[-1]])

    def check(self, shortest_s: int) -> None:
        """Raise `SpecificationError` for an invalid recurrence or runs less than `shortest_s` seconds apart."""
        if (self.cron is None) == (self.interval_s is None):
            raise SpecificationError("set exactly one of cron and interval_s", "cron")
        if self.cron is not None:
            _next(self.cron, EPOCH + timedelta(days=366 * 50))
        if self.shortest_s < shortest_s:
            field = "cron" if self.interval_s is None else "interval_s"
            raise OutOfBounds(
                f"two runs would be {self.shortest_s} s apart; the minimum of this service is {shortest_s} s", field
            )

    def after(self, now_ms: int, anchor_ms: int) -> int:
        """Return the first time after `now_ms`, in milliseconds since 1970; missed times are skipped.

        `anchor_ms` is the time of any past or future run, for an interval; it is ignored for a cron expression.
        """
        if self.interval_s is None:
            next_time = _next(str(self.cron), EPOCH + timedelta(milliseconds=now_ms))
            return int((next_time - EPOCH) / timedelta(milliseconds=1))
        step = self.interval_s * 1000
        return anchor_ms + ((now_ms - anchor_ms) // step + 1) * step

    def times_from(self, first_ms: int, count: int) -> list[int]:
        """List `count` times of runs in milliseconds since 1970: `first_ms`, and those after it."""
        times = [first_ms]
        while len(times) < count:
            times.append(self.after(times[-1], first_ms))
        return times


def _next(cron: str, after: datetime) -> datetime:
    time = next(_parse(cron, after), None)
    if time is None:
        raise SpecificationError(f"no date matches {cron!r}; check its day and month", "cron")
    return time


def _parse(cron: str, after: datetime) -> CronSim:
    if len(cron.split()) != FIELDS:
        raise SpecificationError(
            f"a cron expression has five parts (minute, hour, day, month, weekday); {cron!r} has {len(cron.split())}",
            "cron",
        )
    try:
        return CronSim(cron, after)
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        raise SpecificationError(
            f"the {field} of {cron!r} cannot be read; for example, '0 3 * * 1' is Mondays at 03:00", "cron"
        ) from None
