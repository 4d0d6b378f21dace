"""Page of the profile of one service: a matrix of letters by method, attribute and language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.explain import chance, listed
from assay.reports import parts, tables
from assay.reports.in_words import letter_of
from assay.reports.pages.view import Cell, Grid, Page, Section, plain_cells
from assay.reports.parts import Part
from assay.reports.plain import visible
from assay.reports.reading import read_verdict

STATUSES = {
    "queued": "waiting",
    "running": "being measured",
    "succeeded": "not measured",
    "failed": "failed",
    "cancelled": "cancelled",
    "omitted": "not possible",
}
"""Text of a cell that has no letter, by the status of its job."""

NOT_ASKED = "not asked"


def suite_page(document: Part) -> Page:
    """Make the page of a suite from its document (`GET /v1/suites/{id}`)."""
    target, worst = parts.mapping(document, "target"), parts.mapping(document, "worst")
    verdict = read_verdict(worst)
    made = (parts.text(document, "created_at") or "")[:10]
    return Page(
        title=parts.text(target, "name") or parts.text(target, "url") or "unnamed service",
        verdict=verdict,
        headline=f"Worst letter: {verdict.headline}" if verdict.letter else "No letter yet",
        subject=f"Profile of one service, requested on {made}" if made else "Profile of one service",
        sections=tuple(_sections(document, worst)),
    )


def _sections(document: Part, worst: Part) -> Iterator[Section]:
    rows = parts.objects(document, "rows")
    written = document.get("columns")
    columns = (
        [visible(str(one)) if one is not None else "letter" for one in written] if isinstance(written, list) else []
    )
    grid = Grid(("Method", "Attribute", *columns), tuple(_row(one, len(columns)) for one in rows))
    yield Section("Letters", tuple(_summary(document, worst)), grid if rows else None)
    without = tuple(_reasons(rows))
    if without:
        yield Section("Cells without a letter", (), Grid(("Method", "Attribute", "Column", "Why"), without))


def _summary(document: Part, worst: Part) -> Iterator[str]:
    progress = parts.mapping(document, "progress")
    counts = {key: parts.count(progress, key) or 0 for key in ("cells", "omitted", "queued", "running", "succeeded")}
    waiting = counts["queued"] + counts["running"]
    yield f"{counts['succeeded']} of {counts['cells']} cells are measured" + (
        f"; {waiting} are still open." if waiting else "."
    )
    shares = read_verdict(worst).probabilities
    if shares is not None:
        said = [f"{letter} {chance(share)}" for letter, share in shares.items()]
        yield f"Probability of each letter being the worst of all cells: {listed(said)}."
    yield "A letter with a dashed outline is not declared: the evidence leans to it only."


def _row(row: Part, width: int) -> tuple[Cell, ...]:
    written = row.get("cells")
    cells = [_cell(one) for one in written] if isinstance(written, list) else []
    cells = [*cells, *[Cell(NOT_ASKED)] * width][:width]
    return (*plain_cells(parts.text(row, "method") or "", parts.text(row, "attribute") or ""), *cells)


def _cell(one: object) -> Cell:
    if not isinstance(one, Mapping):
        return Cell(NOT_ASKED)
    verdict, href = read_verdict(one), parts.text(one, "href")
    states = [name for name in ("withdrawn", "expired") if one.get(name) is True]
    if verdict.letter is None:
        said = STATUSES.get(parts.text(one, "status") or "", "not measured")
        return Cell(", ".join([said, *states]), None, href)
    share = None if verdict.probabilities is None else verdict.probabilities[verdict.letter]
    sure = [] if share is None else [chance(share)]
    return Cell(", ".join([tables.short(verdict), *sure, *states]), verdict, href)


def _reasons(rows: list[Part]) -> Iterator[tuple[Cell, ...]]:
    for row in rows:
        for one in parts.objects(row, "cells"):
            if letter_of(one) is None and (reason := parts.text(one, "reason")) is not None:
                about = (
                    parts.text(each, key) or "" for each, key in ((row, "method"), (row, "attribute"), (one, "column"))
                )
                yield plain_cells(*about, reason)
