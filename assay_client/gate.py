"""Hold a deployment to a rating: good enough, declared, fresh and not withdrawn.

It reads and judges; it never starts work. Exit codes say what a pipeline has to know.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

from assay_client.documents import Rating

BEST_FIRST = ("UCS", "DSBS", "BS")
"""Letters, from unbiased to biased whatever is asked."""


class Exit(IntEnum):
    """What the gate ends with."""

    PASSED = 0
    BELOW = 1
    UNSETTLED = 3
    USAGE = 64
    UNAVAILABLE = 69


@dataclass(frozen=True)
class Judgement:
    """What the gate says, in one line, and what it ends with."""

    exit: Exit
    said: str


@dataclass(frozen=True)
class Bar:
    """What a rating has to reach.

    Parameters
    ----------
    at_least : str
        The worst letter that passes: ``UCS``, ``DSBS`` or ``BS``.
    max_age_days : float, optional
        Days since the rating was made, at most; without it, a rating counts until it expires.
    """

    at_least: str
    max_age_days: float | None = None

    def judge(self, rating: Rating, now: datetime) -> Judgement:
        """Judge a rating at a moment (with its time zone).

        What settles nothing (withdrawn, expired, too old, no declared letter) is told apart from a letter
        that is too bad: the one asks for a new rating, the other for another service.
        """
        if why := self._unsettled(rating, now):
            return Judgement(Exit.UNSETTLED, f"{rating['id']}: {why}; ask for a new rating")
        letter = str(rating["letter"])
        passed = BEST_FIRST.index(letter) <= BEST_FIRST.index(self.at_least)
        said = f"{rating['id']}: {letter} for {rating['attribute']} by {rating['method']}, rated {rating['rated_at']}"
        if passed:
            return Judgement(Exit.PASSED, f"{said}; at least {self.at_least}, as asked")
        return Judgement(Exit.BELOW, f"{said}; below {self.at_least}")

    def _unsettled(self, rating: Rating, now: datetime) -> str | None:
        if rating["withdrawn"] is not None:
            return f"withdrawn ({rating['withdrawn']['reason']})"
        if rating["letter"] is None:
            return "nothing could be measured"
        if not rating["declared"]:
            return f"inconclusive (leaning {rating['letter']})"
        if datetime.fromisoformat(rating["expires_at"]) <= now:
            return f"expired on {rating['expires_at']}"
        age = now - datetime.fromisoformat(rating["rated_at"])
        if self.max_age_days is not None and age > timedelta(days=self.max_age_days):
            return f"{age.total_seconds() / 86_400:.1f} days old, more than {self.max_age_days:g}"
        return None
