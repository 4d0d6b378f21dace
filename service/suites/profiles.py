"""Profile of a suite: a matrix of letters, the worst letter, and the progress."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.rating.difference import CONFIDENCE
from assay.rating.profile import RatedCell, worst_of
from service.suites.schemas import CellView, Progress, RowView, ServiceView, SuiteLine, SuiteView, WorstView
from service.suites.submission import Shown
from store.suites.suites import Cell, StoredCell, StoredSuite, SuiteProgress, tally

Documents = Mapping[str, Mapping[str, Any]]
"""Rating documents by id."""


def suite_line(suite: StoredSuite, counted: SuiteProgress) -> SuiteLine:
    """Build the view of a suite in a list."""
    return SuiteLine.from_row(suite, **_line(suite, counted))


def suite_view(shown: Shown, now_s: float) -> SuiteView:
    """Build the profile of a suite; `now_s` is in seconds since 1970."""
    suite, cells, documents = shown
    described = suite.request.get("services")
    whole = _matrix(cells, suite.request["omitted"], documents, now_s)
    services = None
    if described is not None:
        services = _ranked(suite, cells, documents, now_s)
        whole |= {"columns": [], "rows": []}
    return SuiteView.from_row(
        suite, **_line(suite, tally(cells)), request=suite.request["asked"], services=services, **whole
    )


def _ranked(suite: StoredSuite, cells: Sequence[StoredCell], documents: Documents, now_s: float) -> list[ServiceView]:
    """Build the profiles of several services, ranked by their worst letters, the best first."""
    numbered = list(zip(suite.request["service_of"], cells, strict=True))
    found = []
    for number, target in enumerate(suite.request["services"]):
        own = [cell for service, cell in numbered if service == number]
        omitted = [one for one in suite.request["omitted"] if one["service"] == number]
        matrix = _matrix(own, omitted, documents, now_s)
        found.append((_badness(matrix["worst"]), target, matrix))
    found.sort(key=lambda one: one[0])
    ranks = [badness for badness, _, _ in found]
    return [ServiceView(rank=ranks.index(badness) + 1, target=dict(target), **one) for badness, target, one in found]


def _badness(worst: WorstView | None) -> tuple[float, ...]:
    """Return the sort key of a worst letter; services without a letter come last."""
    if worst is None:
        return (math.inf,)
    return ("UCS", "DSBS", "BS").index(worst.letter), worst.probabilities["BS"], worst.probabilities["DSBS"]


def _matrix(
    cells: Sequence[StoredCell], omitted: Sequence[Mapping[str, str]], documents: Documents, now_s: float
) -> dict[str, Any]:
    """Build the matrix of one service, with its worst letter."""
    views: dict[Cell, CellView] = {one.cell: _cell(one, documents, now_s) for one in cells}
    for one in omitted:
        views[Cell(one["method"], one["attribute"], one["label"])] = _omitted(one)
    columns = list(dict.fromkeys(cell.label for cell in views))
    rows = dict.fromkeys((cell.method, cell.attribute) for cell in views)
    return {
        "worst": _worst(cells, documents),
        "columns": [label or None for label in columns],
        "rows": [
            RowView(method=method, attribute=about, cells=[views.get(Cell(method, about, label)) for label in columns])
            for method, about in rows
        ],
    }


def version_of(shown: Shown, now_s: float) -> str:
    """Return the entity tag of a profile; it changes with every job, and when a rating expires or is withdrawn."""
    _, cells, _ = shown
    expired = sum(_expired(one, now_s) for one in cells)
    withdrawn = sum(one.withdrawn_at is not None for one in cells)
    return f'W/"{sum(one.version for one in cells)}-{expired}-{withdrawn}"'


def _line(suite: StoredSuite, counted: SuiteProgress) -> dict[str, Any]:
    here = f"/v1/suites/{suite.id}"
    links = {"self": here}
    if counted.ended_at is None:
        links["cancel"] = f"{here}/cancel"
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


def _cell(one: StoredCell, documents: Documents, now_s: float) -> CellView:
    document = documents.get(one.rating_id or "", {})
    return CellView.from_row(
        one,
        column=one.cell.label or None,
        probabilities=document.get("probabilities"),
        reason=_reason(one, document),
        expired=_expired(one, now_s),
        withdrawn=one.withdrawn_at is not None,
        href=f"/v1/jobs/{one.job_id}" if one.rating_id is None else f"/v1/ratings/{one.rating_id}",
        job=one.job_id,
    )


def _reason(one: StoredCell, document: Mapping[str, Any]) -> str | None:
    """Return the reason why a cell has no letter: the job failed, or nothing could be measured."""
    if one.error is not None:
        return str(one.error.get("detail") or one.error.get("title"))
    reasons = document.get("reasons") or [{"text": None}]
    return reasons[0]["text"] if one.rating_id is not None and one.letter is None else None


def _omitted(one: Mapping[str, str]) -> CellView:
    nothing = dict.fromkeys(("letter", "declared", "probabilities", "rated_at", "expires_at", "href", "job"))
    about: dict[str, Any] = {"column": one["label"] or None, "reason": one["reason"], "status": "omitted"}
    return CellView(**about, **nothing, expired=False, withdrawn=False)


def _worst(cells: Sequence[StoredCell], documents: Documents) -> WorstView | None:
    """Return the worst letter, without withdrawn ratings."""
    valid = [documents[str(one.rating_id)] for one in cells if one.letter is not None and one.withdrawn_at is None]
    rated = [
        RatedCell(
            str(document["letter"]),
            bool(document["declared"]),
            document["probabilities"],
            float(document.get("confidence") or CONFIDENCE),
        )
        for document in valid
    ]
    found = worst_of(rated, missing=len(cells) - len(rated))
    if found is None:
        return None
    probabilities = {letter: getattr(found.probabilities, letter) for letter in ("BS", "DSBS", "UCS")}
    return WorstView(letter=found.letter.value, declared=found.declared, probabilities=probabilities)


def _expired(one: StoredCell, now_s: float) -> bool:
    return one.expires_at is not None and one.expires_at <= now_s * 1000
