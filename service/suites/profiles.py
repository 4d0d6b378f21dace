"""Profile of a suite: a matrix of letters, the worst letter, and the progress."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from assay.document import JsonObject, RatingDocument
from assay.rating.difference import worst_of
from service.suites.schemas import CellView, Progress, RowView, ServiceView, SuiteLine, SuiteView, WorstView
from service.suites.service import SuiteState
from store.suites.suites import Cell, StoredCell, StoredSuite, SuiteProgress, tally

Ratings = Mapping[str, RatingDocument]
"""Ratings by id."""


def suite_line(suite: StoredSuite, counted: SuiteProgress) -> SuiteLine:
    """Build the view of a suite in a list."""
    return SuiteLine.from_row(suite, **_line(suite, counted))


def suite_view(content: SuiteState, now_s: float) -> SuiteView:
    """Build the profile of a suite; `now_s` is in seconds since 1970."""
    suite, cells, ratings = content
    described = suite.request.get("services")
    profile = _matrix(cells, suite.request["omitted"], ratings, now_s)
    services = None
    if described is not None:
        services = _ranked(suite, cells, ratings, now_s)
        profile |= {"columns": [], "rows": []}
    return SuiteView.from_row(
        suite, **_line(suite, tally(cells)), request=suite.request["asked"], services=services, **profile
    )


def _ranked(suite: StoredSuite, cells: Sequence[StoredCell], ratings: Ratings, now_s: float) -> list[ServiceView]:
    """Build the profiles of several services, ranked by their worst letters, the best first."""
    numbered = list(zip(suite.request["service_of"], cells, strict=True))
    profiles = []
    for number, target in enumerate(suite.request["services"]):
        own_cells = [cell for service, cell in numbered if service == number]
        omitted = [omission for omission in suite.request["omitted"] if omission["service"] == number]
        matrix = _matrix(own_cells, omitted, ratings, now_s)
        profiles.append((_badness(matrix["worst"]), target, matrix))
    profiles.sort(key=lambda profile: profile[0])
    ranks = [badness for badness, _, _ in profiles]
    return [
        ServiceView(rank=ranks.index(badness) + 1, target=dict(target), **matrix)
        for badness, target, matrix in profiles
    ]


def _badness(worst: WorstView | None) -> tuple[float, ...]:
    """Return the sort key of a worst letter; services without a letter come last."""
    if worst is None:
        return (math.inf,)
    return ("UCS", "DSBS", "BS").index(worst.letter), worst.probabilities["BS"], worst.probabilities["DSBS"]


def _matrix(
    cells: Sequence[StoredCell], omitted: Sequence[Mapping[str, str]], ratings: Ratings, now_s: float
) -> JsonObject:
    """Build the matrix of one service, with its worst letter."""
    views: dict[Cell, CellView] = {cell.cell: _cell(cell, ratings, now_s) for cell in cells}
    for omission in omitted:
        views[Cell(omission["method"], omission["attribute"], omission["label"])] = _omitted(omission)
    columns = list(dict.fromkeys(cell.label for cell in views))
    rows = dict.fromkeys((cell.method, cell.attribute) for cell in views)
    return {
        "worst": _worst(cells, ratings),
        "columns": [label or None for label in columns],
        "rows": [
            RowView(
                method=method,
                attribute=attribute,
                cells=[views.get(Cell(method, attribute, label)) for label in columns],
            )
            for method, attribute in rows
        ],
    }


def version_of(content: SuiteState, now_s: float) -> str:
    """Return the entity tag of a profile; it changes with every job, and when a rating expires or is withdrawn."""
    _, cells, _ = content
    expired = sum(_expired(cell, now_s) for cell in cells)
    withdrawn = sum(cell.withdrawn_at is not None for cell in cells)
    return f'W/"{sum(cell.version for cell in cells)}-{expired}-{withdrawn}"'


def _line(suite: StoredSuite, counted: SuiteProgress) -> JsonObject:
    path = f"/v1/suites/{suite.id}"
    links = {"self": path}
    if counted.ended_at is None:
        links["cancel"] = f"{path}/cancel"
    return {
        "status": _status(counted),
        "ended_at": counted.ended_at,
        "progress": _progress(suite, counted),
        "links": links,
    }


def _status(counted: SuiteProgress) -> Literal["queued", "running", "ended"]:
    if counted.ended_at is not None:
        return "ended"
    return "queued" if set(counted.by_status) == {"queued"} else "running"


def _progress(suite: StoredSuite, counted: SuiteProgress) -> Progress:
    names = ("queued", "running", "succeeded", "failed", "cancelled")
    return Progress(
        cells=sum(counted.by_status.values()),
        omitted=len(suite.request["omitted"]),
        asked=counted.asked,
        expected=counted.expected,
        **{name: counted.by_status.get(name, 0) for name in names},
    )


def _cell(cell: StoredCell, ratings: Ratings, now_s: float) -> CellView:
    rating = ratings.get(cell.rating_id or "", RatingDocument())
    return CellView.from_row(
        cell,
        column=cell.cell.label or None,
        probabilities=rating.probabilities or None,
        reason=_reason(cell, rating),
        expired=_expired(cell, now_s),
        withdrawn=cell.withdrawn_at is not None,
        href=f"/v1/jobs/{cell.job_id}" if cell.rating_id is None else f"/v1/ratings/{cell.rating_id}",
        job=cell.job_id,
    )


def _reason(cell: StoredCell, rating: RatingDocument) -> str | None:
    """Return the reason why a cell has no letter: the job failed, or nothing could be measured."""
    if cell.error is not None:
        return str(cell.error.get("detail") or cell.error.get("title"))
    unmeasured = cell.rating_id is not None and cell.letter is None
    return rating.reasons[0].text if unmeasured and rating.reasons else None


def _omitted(omission: Mapping[str, str]) -> CellView:
    nothing = dict.fromkeys(("letter", "declared", "probabilities", "rated_at", "expires_at", "href", "job"))
    facts: JsonObject = {"column": omission["label"] or None, "reason": omission["reason"], "status": "omitted"}
    return CellView(**facts, **nothing, expired=False, withdrawn=False)


def _worst(cells: Sequence[StoredCell], ratings: Ratings) -> WorstView | None:
    """Return the worst letter, without withdrawn ratings."""
    rated = [ratings[str(cell.rating_id)] for cell in cells if cell.letter is not None and cell.withdrawn_at is None]
    worst = worst_of(rated, missing=len(cells) - len(rated))
    if worst is None:
        return None
    probabilities = {letter: getattr(worst.probabilities, letter) for letter in ("BS", "DSBS", "UCS")}
    return WorstView(letter=worst.letter.value, declared=worst.declared, probabilities=probabilities)


def _expired(cell: StoredCell, now_s: float) -> bool:
    return cell.expires_at is not None and cell.expires_at <= now_s * 1000
