"""Page of the inferred rating of a chain of services: its letter, its links and the explanation."""

from __future__ import annotations

from collections.abc import Iterator

from assay.explain import chance, listed
from assay.model import Letter
from assay.reports import parts, tables
from assay.reports.in_words import letter_of
from assay.reports.pages.view import Cell, Grid, Page, Section, plain_cells
from assay.reports.parts import Part
from assay.reports.reading import read_verdict
from assay.reports.view import ARROW, Verdict

TABLES = {"published": "Srivastava & Rossi (2018), Table 2", "revised": "the same table with one cell corrected"}
"""The composition tables, by their names."""


def composition_page(document: Part) -> Page:
    """Make the page of a composition from its document (`GET /v1/compositions/{id}`)."""
    letter = letter_of(document)
    chain = parts.objects(document, "chain")
    names = [parts.text(parts.mapping(link, "target"), "name") or "unnamed service" for link in chain]
    verdict = Verdict(letter, letter is not None, None)
    return Page(
        title=ARROW.join(names) or "Chain of services",
        verdict=verdict,
        headline=f"Inferred: {verdict.headline}" if letter else "Must be measured: no letter follows from the links",
        subject=f"Chain of {len(chain)} services, inferred for {parts.text(document, 'attribute') or 'an attribute'} "
        "from their ratings without calling them",
        sections=tuple(_sections(document, chain)),
    )


def _sections(document: Part, chain: list[Part]) -> Iterator[Section]:
    yield Section("Links", (), Grid(("Place", "Service", "Letter", "Method", "Rated"), tuple(map(_link, chain))))
    said = (*parts.texts(document, "explanation"), parts.text(document, "not_predicted") or "")
    yield Section("Why", tuple(filter(None, said)))
    rows = tuple(_table(name, parts.mapping(parts.mapping(document, "tables"), name)) for name in TABLES)
    yield Section("Possible letters by table", (), Grid(("Table", "Possible", "Worst", "Probabilities"), rows))
    predicted = parts.mapping(document, "predicted")
    if letter_of(predicted) is not None:
        verdict = read_verdict(predicted)
        said = (f"{verdict.headline}. {_shares(parts.mapping(predicted, 'probabilities'))}",)
        yield Section("Prediction from the measured matrices", said)
    notes = tuple(text for one in parts.objects(document, "notes") if (text := parts.text(one, "text")))
    if notes:
        yield Section("Notes", notes)


def _link(link: Part) -> tuple[Cell, ...]:
    rating, target = parts.mapping(link, "rating"), parts.mapping(link, "target")
    verdict = read_verdict(rating)
    state = " (expired)" if rating.get("expired") is True else ""
    return (
        *plain_cells(str(parts.count(link, "place") or ""), parts.text(target, "name") or "unnamed service"),
        Cell(tables.short(verdict) + state, verdict, parts.text(rating, "href")),
        *plain_cells(parts.text(rating, "method") or "", (parts.text(rating, "rated_at") or "")[:10]),
    )


def _table(name: str, part: Part) -> tuple[Cell, ...]:
    possible = listed(list(parts.texts(part, "possible"))) or "not known"
    worst = parts.text(part, "worst") or "not known"
    return plain_cells(TABLES[name], possible, worst, _shares(parts.mapping(part, "probabilities")))


def _shares(part: Part) -> str:
    titles = {**{letter.value: letter.value for letter in Letter}, "must_be_measured": "must be measured"}
    shares = parts.numbers(part)
    return listed([f"{titles[key]} {chance(shares[key])}" for key in titles if key in shares]) or "no probabilities"
