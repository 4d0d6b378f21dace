"""Page of a composition, the inferred rating of a chain of services: its letter, its services and the explanation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from assay.document import (
    NO_COMPONENT,
    NO_SERVICE,
    ComponentDocument,
    Json,
    ReasonDocument,
    ServiceDocument,
    Shares,
    read_json,
)
from assay.explain import chance, listed
from assay.model import Letter
from reports import tables
from reports.pages.page import Cell, Grid, Page, Section, plain_cells
from reports.plain import visible
from reports.reading import verdict_of
from reports.view import ARROW, Verdict

TABLES = {"published": "Srivastava & Rossi (2018), Table 2", "revised": "the same table with one cell corrected"}
"""Titles of the published tables by which letters of services are combined, by name of the table."""


@dataclass(frozen=True)
class LinkRating(ComponentDocument):
    """Rating of one service of a chain, in the JSON of a composition."""

    method: str | None = None
    rated_at: str | None = None
    href: str | None = None
    expired: bool = False


@dataclass(frozen=True)
class LinkDocument:
    """One service (link) of a chain, in the JSON of a composition."""

    place: int | None = None
    target: ServiceDocument = NO_SERVICE
    rating: LinkRating = LinkRating()


@dataclass(frozen=True)
class TableDocument:
    """Letters that a published table gives to a chain of services: those possible, the worst, their probabilities."""

    possible: tuple[str, ...] = ()
    worst: str | None = None
    probabilities: Shares = field(default_factory=dict)


@dataclass(frozen=True)
class CompositionDocument:
    """A composition (`GET /v1/compositions/{id}`)."""

    letter: Letter | None = None
    attribute: str | None = None
    chain: tuple[LinkDocument, ...] = ()
    explanation: tuple[str, ...] = ()
    not_predicted: str | None = None
    tables: Mapping[str, TableDocument] = field(default_factory=dict)
    predicted: ComponentDocument = NO_COMPONENT
    notes: tuple[ReasonDocument, ...] = ()


def composition_page(document: Json) -> Page:
    """Make the page of a composition from its document (`GET /v1/compositions/{id}`)."""
    composition = read_json(CompositionDocument, document, visible)
    letter, chain = composition.letter, composition.chain
    verdict = Verdict(letter, declared=letter is not None, probabilities=None)
    return Page(
        title=ARROW.join(link.target.name or "unnamed service" for link in chain) or "Chain of services",
        verdict=verdict,
        headline=f"Inferred: {verdict.headline}" if letter else "Must be measured: no letter follows from the links",
        subject=f"Chain of {len(chain)} services, inferred for {composition.attribute or 'an attribute'} "
        "from their ratings without calling them",
        sections=tuple(_sections(composition)),
    )


def _sections(composition: CompositionDocument) -> Iterator[Section]:
    links = tuple(map(_link_row, composition.chain))
    yield Section("Links", (), Grid(("Place", "Service", "Letter", "Method", "Rated"), links))
    yield Section("Why", tuple(filter(None, (*composition.explanation, composition.not_predicted))))
    rows = tuple(_table_row(name, composition.tables.get(name, TableDocument())) for name in TABLES)
    yield Section("Possible letters by table", (), Grid(("Table", "Possible", "Worst", "Probabilities"), rows))
    predicted_verdict = verdict_of(composition.predicted)
    if predicted_verdict.letter is not None:
        shares = _shares_in_words(composition.predicted.probabilities)
        yield Section("Prediction from the measured matrices", (f"{predicted_verdict.headline}. {shares}",))
    notes = tuple(note.text for note in composition.notes if note.text)
    if notes:
        yield Section("Notes", notes)


def _link_row(link: LinkDocument) -> tuple[Cell, ...]:
    rating, verdict = link.rating, verdict_of(link.rating)
    return (
        *plain_cells(str(link.place or ""), link.target.name or "unnamed service"),
        Cell(tables.short(verdict) + (" (expired)" if rating.expired else ""), verdict, rating.href),
        *plain_cells(rating.method or "", (rating.rated_at or "")[:10]),
    )


def _table_row(name: str, table: TableDocument) -> tuple[Cell, ...]:
    possible = listed(list(table.possible)) or "not known"
    return plain_cells(TABLES[name], possible, table.worst or "not known", _shares_in_words(table.probabilities))


def _shares_in_words(shares: Shares) -> str:
    titles = {**{letter.value: letter.value for letter in Letter}, "must_be_measured": "must be measured"}
    return listed([f"{titles[key]} {chance(shares[key])}" for key in titles if key in shares]) or "no probabilities"
