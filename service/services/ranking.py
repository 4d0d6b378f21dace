"""Rankings of services, and the public ratings of one service."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Literal, NamedTuple

from assay.document import NO_EFFECT, HiddenDocument, Json
from assay.model import MODEL_SETTINGS
from assay.rating.document import DecidingEffect
from reports.because import phrase
from reports.methods import installed_reports
from store.ratings.services import NewestRating, ServiceRating

BEST_FIRST = ("UCS", "DSBS", "BS")

Sort = Literal["place", "name", "effect", "questions", "rated_at"]

ROWS_ABOVE = 4
"""Number of rows that a page shows above the service that was searched for."""


class SizeInLimits(NamedTuple):
    """The absolute size of an effect, and the ends of the interval of that size, in units of the effect's limit."""

    estimate: float
    low: float
    high: float


def in_limits(estimate: float, low: float, high: float, limit: float) -> SizeInLimits:
    """Return the absolute size of an effect, and the ends of the interval of that size, in units of its limit."""
    near_end, far_end = sorted((abs(low), abs(high)))
    # an interval with both signs holds the size 0
    return SizeInLimits(abs(estimate) / limit, 0.0 if low <= 0 <= high else near_end / limit, far_end / limit)


class RankedService(NamedTuple):
    """The newest rating of a service; `place` is its rank (``None`` without a declared, valid letter or an effect).

    It has only the values that sort it, because a ranking of a large registry is cached in memory.
    """

    id: str
    folded_name: str
    place: int | None
    letter: str | None
    size: float
    questions: int
    rated_at: int
    expired: bool


class Ranking:
    """Services by declared letter, and within a letter by the deciding effect's size in units of its limit.

    The place (rank) of a service is one more than the number of services that are certainly better: those with a better
    letter, and those with the same letter whose whole interval is below the service's interval. So services whose
    intervals all overlap share a place. Services without a declared, valid letter have no place and come last.

    Parameters
    ----------
    parts : iterable of sequence of NewestRating
        The newest rating of each service, in parts.
    now : int
        Time at which a rating must be valid, in milliseconds since 1970.
    """

    def __init__(self, parts: Iterable[Sequence[NewestRating]], now: int) -> None:
        self._by_sort: dict[Sort, list[RankedService]] = {"place": _by_place(list(chain.from_iterable(parts)), now)}

    def __len__(self) -> int:
        return len(self._by_sort["place"])

    def sorted_by(self, sort: Sort) -> list[RankedService]:
        """Return all services, sorted by place or another column; those without a value of that column come last."""
        if sort not in self._by_sort:
            # "place" is there from the start; equal services stay in the order of their places
            self._by_sort[sort] = sorted(self._by_sort["place"], key=SORT_KEYS[sort])
        return self._by_sort[sort]

    def page(self, sort: Sort, text: str | None, start: int, limit: int) -> tuple[int, list[RankedService]]:
        """Return a page from index `start` on: the index of its first row in the ranking, and at most `limit` rows.

        With a `text`, the page begins a few rows above the first service with this rating id, or else with the text
        in its name; it is empty if there is none.
        """
        rows = self.sorted_by(sort)
        if text is not None:
            folded_text = text.casefold()
            indices_by_id = (index for index, row in enumerate(rows) if row.id == text)
            indices_by_name = (index for index, row in enumerate(rows) if folded_text in row.folded_name)
            no_index = len(rows) + ROWS_ABOVE  # gives a page behind the last row, which is empty
            start = max(0, next(indices_by_id, next(indices_by_name, no_index)) - ROWS_ABOVE)
        return start, rows[start : start + limit]


SORT_KEYS: dict[Sort, Callable[[RankedService], str | float]] = {
    "name": attrgetter("folded_name"),
    "effect": attrgetter("size"),
    "questions": lambda service: -service.questions,
    "rated_at": lambda service: -service.rated_at,
}


def _by_place(rows: Sequence[NewestRating], now: int) -> list[RankedService]:
    """Return services by letter and place (rank), best first; then those without a valid letter, expired ones last."""
    ranking: list[RankedService] = []
    valid_rows = [row for row in rows if _has_valid_letter(row, now)]
    first_place = 1  # of the services with the same letter
    for letter in BEST_FIRST:
        sized_rows = [(row, effect_size(row.key_figures)) for row in valid_rows if row.letter == letter]
        upper_ends = sorted(size.high for _, size in sized_rows if size is not None)  # a better one's is below `low`
        services = []
        for row, size in sized_rows:
            place = None if size is None else first_place + bisect_left(upper_ends, size.low)  # after all better ones
            services.append(_ranked(row, size, place))
        ranking += sorted(services, key=_place_key)
        first_place += len(upper_ends)  # services without an effect have no place and take none
    unplaced = [
        _ranked(row, effect_size(row.key_figures), place=None, expired=row.expires_at <= now)
        for row in rows
        if not _has_valid_letter(row, now)
    ]
    return ranking + sorted(unplaced, key=lambda service: (service.expired, *_place_key(service)))


def _ranked(row: NewestRating, size: SizeInLimits | None, place: int | None, expired: bool = False) -> RankedService:
    """Return a service's entry in a ranking, from its newest rating and the `size` of that rating's deciding effect."""
    sort_size = float("inf") if size is None else size.estimate  # without an effect: last
    questions = (row.key_figures or {}).get("questions") or 0
    folded_name = (row.name or "").casefold()
    return RankedService(row.id, folded_name, place, row.letter, sort_size, questions, row.created_at, expired)


def _has_valid_letter(row: NewestRating, now: int) -> bool:
    return row.declared and row.letter in BEST_FIRST and row.expires_at > now


def _place_key(service: RankedService) -> tuple[float, int, float, int]:
    """Return the sort key of a service: by place, letter, size of the effect, and then the newest rating first."""
    place = float("inf") if service.place is None else service.place
    letter_index = BEST_FIRST.index(service.letter) if service.letter in BEST_FIRST else len(BEST_FIRST)
    return place, letter_index, service.size, -service.rated_at


def effect_size(figures: Json | None) -> SizeInLimits | None:
    """Return the deciding effect's size from a rating's `figures`; ``None`` if not measured, or if its limit is 0."""
    if not figures or figures.get("estimate") is None or not figures.get("limit"):
        return None
    return in_limits(figures["estimate"], *effect_interval(figures), figures["limit"])


def effect_interval(figures: Json) -> tuple[float, float]:
    """Return the interval of the deciding effect in a rating's `figures`; without it, both ends are the estimate."""
    low, high = figures.get("low"), figures.get("high")
    return (figures["estimate"], figures["estimate"]) if low is None or high is None else (low, high)


def effect_name(figures: Json, method: str) -> str:
    """Return a deciding effect as the report of `method` words it; its plain name if no such report is installed."""
    name, hidden_kind = figures["name"], figures["hidden"]  # its kind, if the overall mean can hide the effect
    hidden_document = None if hidden_kind is None else HiddenDocument(hidden_kind, name)
    # the words depend neither on the effect's interval nor on the chance of exceeding the limit
    effect = DecidingEffect(
        name, figures["step"], effect=NO_EFFECT, limit=figures["limit"], chance=0.0, hidden=hidden_document
    )
    report = installed_reports().get(method)
    return str(name) if report is None else phrase(effect, report)


def model_of(row: ServiceRating) -> str | None:
    """Return the model that the target's settings name; ``None`` if they name none."""
    settings = row.target.get("settings") or {}
    return next((str(settings[name]) for name in MODEL_SETTINGS if settings.get(name)), None)


def name_of(row: ServiceRating, *, for_address: bool) -> str:
    """Return the name of a service in page addresses: URL in words and key if `for_address`, else the rating's id."""
    if not for_address or row.address is None or row.service is None:
        return row.id
    words = re.sub(r"[^a-z0-9]+", "-", row.address.lower())[:48].strip("-")
    return f"{words}-{row.service}" if words else row.service
