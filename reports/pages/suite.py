"""Page of a suite, many ratings of one service: a matrix of letters by method, attribute and language."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.document import NO_COMPONENT, NO_SERVICE, ComponentDocument, Json, ServiceDocument, Shares, read_json
from assay.explain import chance, listed
from reports import tables
from reports.pages.page import Cell, Grid, Page, Section, plain_cells
from reports.plain import visible
from reports.reading import verdict_of

STATUSES = {
    "queued": "waiting",
    "running": "being measured",
    "succeeded": "not measured",
    "failed": "failed",
    "cancelled": "cancelled",
    "omitted": "not possible",
}
"""Text of a cell without a letter, by the status of its job."""

NOT_ASKED = "not asked"


@dataclass(frozen=True)
class CellDocument(ComponentDocument):
    """A cell of a suite's matrix in its JSON: the letter, or the reason why there is none."""

    column: str | None = None
    status: str | None = None
    reason: str | None = None
    href: str | None = None
    withdrawn: bool = False
    expired: bool = False


@dataclass(frozen=True)
class RowDocument:
    """A row of a suite's matrix in its JSON, for one method and attribute; a cell is ``None`` if nothing was asked."""

    method: str | None = None
    attribute: str | None = None
    cells: tuple[CellDocument | None, ...] = ()


@dataclass(frozen=True)
class SuiteDocument:
    """A suite (`GET /v1/suites/{id}`)."""

    target: ServiceDocument = NO_SERVICE
    worst: ComponentDocument = NO_COMPONENT
    created_at: str | None = None
    columns: tuple[str | None, ...] = ()
    rows: tuple[RowDocument, ...] = ()
    progress: Shares = field(default_factory=dict)


def suite_page(document: Json) -> Page:
    """Make the page of a suite from its document (`GET /v1/suites/{id}`)."""
    suite = read_json(SuiteDocument, document, visible)
    verdict, requested_on = verdict_of(suite.worst), (suite.created_at or "")[:10]
    return Page(
        title=suite.target.name or suite.target.url or "unnamed service",
        verdict=verdict,
        headline=f"Worst letter: {verdict.headline}" if verdict.letter else "No letter yet",
        subject=f"Profile of one service, requested on {requested_on}" if requested_on else "Profile of one service",
        sections=tuple(_sections(suite)),
    )


def _sections(suite: SuiteDocument) -> Iterator[Section]:
    columns = ["letter" if column is None else column for column in suite.columns]  # ``None``: no languages
    grid = Grid(("Method", "Attribute", *columns), tuple(_matrix_row(row, len(columns)) for row in suite.rows))
    yield Section("Letters", tuple(_summary_sentences(suite)), grid if suite.rows else None)
    reason_rows = tuple(
        plain_cells(row.method or "", row.attribute or "", cell.column or "", cell.reason)
        for row in suite.rows
        for cell in row.cells
        if cell is not None and cell.letter is None and cell.reason is not None
    )
    if reason_rows:
        yield Section("Cells without a letter", (), Grid(("Method", "Attribute", "Column", "Why"), reason_rows))


def _summary_sentences(suite: SuiteDocument) -> Iterator[str]:
    counts = {key: int(suite.progress.get(key, 0)) for key in ("cells", "queued", "running", "succeeded")}
    open_count = counts["queued"] + counts["running"]
    progress = f"{counts['succeeded']} of {counts['cells']} cells are measured"
    yield f"{progress}; {open_count} are still open." if open_count else f"{progress}."
    shares = verdict_of(suite.worst).probabilities
    if shares is not None:
        chances = [f"{letter} {chance(share)}" for letter, share in shares.items()]
        yield f"Probability of each letter being the worst of all cells: {listed(chances)}."
    yield "A letter with a dashed outline is not declared: the evidence leans to it only."


def _matrix_row(row: RowDocument, width: int) -> tuple[Cell, ...]:
    cells = [*map(_letter_cell, row.cells), *[Cell(NOT_ASKED)] * width]  # an incomplete row is filled up
    return (*plain_cells(row.method or "", row.attribute or ""), *cells[:width])


def _letter_cell(cell: CellDocument | None) -> Cell:
    if cell is None:
        return Cell(NOT_ASKED)
    verdict = verdict_of(cell)
    states = [name for name, holds in (("withdrawn", cell.withdrawn), ("expired", cell.expired)) if holds]
    if verdict.letter is None:
        return Cell(", ".join([STATUSES.get(cell.status or "", "not measured"), *states]), href=cell.href)
    share = None if verdict.probabilities is None else verdict.probabilities[verdict.letter]
    probability = [] if share is None else [chance(share)]
    return Cell(", ".join([tables.short(verdict), *probability, *states]), verdict, cell.href)
