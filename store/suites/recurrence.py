"""When something is due again: at the times of a cron expression, or at even distances. All in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from cronsim import CronSim, CronSimError

from assay.errors import OutOfBounds, SpecificationError

FIELDS = 5
"""Minute, hour, day of the month, month, day of the week. Seconds are not offered."""

MINUTES_A_DAY = 24 * 60
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Rhythm:
    """A cron expression or a distance in seconds, one of the two. It is good only once it has been checked."""

    cron: str | None = None
    interval_s: int | None = None

    @property
    def shortest_s(self) -> int:
        """Shortest time between two runs that it allows, in seconds.

        Of a cron expression the times of the day count, and the last of one day to the first of the
        next; that it may skip the next day makes it longer, never shorter.
        """
        if self.interval_s is not None:
            return self.interval_s
        times = _times_of_day(str(self.cron))
        gaps = [later - earlier for earlier, later in pairwise(times)]
        return 60 * min([*gaps, times[0] + MINUTES_A_DAY - times[-1]])

    def check(self, shortest_s: int) -> None:
        """Refuse what is no rhythm, and runs that would follow each other sooner than the operator allows.

        Parameters
        ----------
        shortest_s : int
            Shortest time between two runs, in seconds.

        Raises
        ------
        SpecificationError
            Naming the field, what was seen and what would do.
        """
        if (self.cron is None) == (self.interval_s is None):
            raise SpecificationError("give one of cron and interval_s: a schedule has one rhythm", "cron")
        if self.cron is not None:
            _next(self.cron, EPOCH + timedelta(days=366 * 50))
        if self.shortest_s < shortest_s:
            field = "cron" if self.interval_s is None else "interval_s"
            raise OutOfBounds(
                f"two runs would be {self.shortest_s} s apart; this service allows no less than {shortest_s} s", field
            )

    def after(self, now_ms: int, anchor_ms: int) -> int:
        """Find the first time after `now_ms`; times that were missed are left out.

        Parameters
        ----------
        now_ms : int
            Milliseconds since 1970.
        anchor_ms : int
            One of an interval's times, in the past or to come; a cron expression needs none.
        """
        if self.interval_s is None:
            next_time = _next(str(self.cron), EPOCH + timedelta(milliseconds=now_ms))
            return int((next_time - EPOCH) / timedelta(milliseconds=1))
        step = self.interval_s * 1000
        return anchor_ms + ((now_ms - anchor_ms) // step + 1) * step


def _next(cron: str, after: datetime) -> datetime:
    found = next(_read(cron, after), None)
    if found is None:
        raise SpecificationError(f"{cron!r} never comes: no date has all its parts", "cron")
    return found


def _times_of_day(cron: str) -> list[int]:
    """List the minutes of the day at which an expression may be due."""
    read = _read(cron, EPOCH)
    return sorted(hour * 60 + minute for hour in read.hours for minute in read.minutes)


def _read(cron: str, after: datetime) -> CronSim:
    if len(cron.split()) != FIELDS:
        raise SpecificationError(
            f"a cron expression has five parts (minute, hour, day, month, weekday); {cron!r} has {len(cron.split())}",
            "cron",
        )
    try:
        return CronSim(cron, after)
    except CronSimError as error:
        why = str(error).removeprefix("Bad ")
        raise SpecificationError(
            f"the {why} of {cron!r} cannot be read; '0 3 * * 1' is Mondays at 03:00", "cron"
        ) from None
