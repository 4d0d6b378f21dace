"""Audits in the form of one regime (law or standard): a page with tables, sources and missing facts, and a CSV file."""

import csv
import io
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from assay.document import read_json
from assay.methods.outcomes.detail import OutcomesComponent
from reports.methods.outcome_tables import may_mask_highest, of_audits
from reports.pages.page import Grid, Page, Section, plain_cells
from reports.regulators.audit import MASKED, MASKING, Audit, is_masked
from reports.regulators.columns import GROUP, Column

TO_BE_SUPPLIED = "to be supplied by"

SEPARATELY_MASKED = (
    "Small counts are masked in each audit by itself. If two of these files hold the same people, such as those of two "
    "steps of a process, one could betray what the other masks: then do not publish this document."
)

FORMULA_STARTS = {"=", "+", "-", "@", "\t", "\r"}
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?( points)?")


@dataclass(frozen=True)
class Statement:
    """A statement of law, with its source."""

    text: str = ""
    source: str = ""


@dataclass(frozen=True)
class Blank:
    """A required fact that a rating does not have: the fact, who supplies it, and the rule that requires it."""

    what: str = ""
    by: str = ""
    source: str = ""


@dataclass(frozen=True)
class Regime:
    """A law or standard from ``law.toml``; `checked` is the day when its statements were compared with the sources."""

    title: str = ""
    regime: str = ""
    checked: str = ""
    retention: str = ""
    statements: tuple[Statement, ...] = ()
    blanks: tuple[Blank, ...] = ()

    @staticmethod
    @cache
    def named(key: str) -> "Regime":
        """Load the regime with this key from ``law.toml``."""
        law = tomllib.loads(files(__package__).joinpath("law.toml").read_text(encoding="utf-8"))
        return read_json(Regime, law[key])


def regime_page(audits: Sequence[Audit], regime: Regime, columns: Sequence[Column]) -> Page:
    """Return the page of one audit, or of several such as those of a suite, for a regime."""
    first_rating = audits[0].rating
    verdict = first_rating.verdict if len(audits) == 1 else None
    return Page(
        title=regime.title,
        verdict=verdict,
        headline=f"{first_rating.target}: {verdict.headline}" if verdict else f"{len(audits)} audits",
        subject=regime.regime,
        sections=tuple(_sections(audits, regime, columns)),
    )


def _sections(audits: Sequence[Audit], regime: Regime, columns: Sequence[Column]) -> Iterator[Section]:
    if len(audits) > 1:
        rows = [
            plain_cells(audit.rating.target or "", audit.rating.document.attribute or "", audit.rating.verdict.headline)
            for audit in audits
        ]
        warning = (SEPARATELY_MASKED,) if any(audit.has_masked for audit in audits) else ()
        yield Section("Audits of this document", warning, Grid(("Tool or step", "Groups", "Letter"), tuple(rows)))
    for number, audit in enumerate(audits, 1):
        yield from _audit_sections(audit, columns, f"Audit {number}. " if len(audits) > 1 else "")
    blanks = tuple(plain_cells(blank.what, f"{TO_BE_SUPPLIED} {blank.by}", blank.source) for blank in regime.blanks)
    yield Section("Not in this audit", (), Grid(("What", "Value", "Asked for by"), blanks))
    signature = tuple(
        plain_cells(signature_field, f"{TO_BE_SUPPLIED} the person who is responsible")
        for signature_field in ("Name", "Role", "Date", "Signature")
    )
    yield Section("Signature", (), Grid(("What", "Value"), signature))
    yield Section(
        "Rules",
        (
            f"Compared with their sources in {regime.checked}. This is no legal advice.",
            f"Retention: {regime.retention}",
        ),
        Grid(("Statement", "Source"), tuple(plain_cells(rule.text, rule.source) for rule in regime.statements)),
    )


def _audit_sections(audit: Audit, columns: Sequence[Column], title_prefix: str) -> Iterator[Section]:
    """Yield the sections of one audit; their titles begin with `title_prefix`."""
    facts = Grid(("Fact", "Value"), tuple(plain_cells(*fact) for fact in audit.facts))
    yield Section(f"{title_prefix}What was audited", (), facts)
    for table in audit.tables:
        rows = tuple(plain_cells(*(column.text(row) for column in columns)) for row in table.groups)
        grid = Grid(tuple(column.head for column in columns), rows)
        yield Section(f"{title_prefix}By {table.by}", tuple(_table_remarks(table)), grid)
    yield Section(f"{title_prefix}What the letter says", audit.rating.in_words)


def _table_remarks(table: OutcomesComponent) -> Iterator[str]:
    yield f"Favourable outcome: {table.outcome}."
    reference = next((row for row in table.groups if row.group == table.reference), None)
    if reference is not None:
        shown_phrase = " of those shown" if may_mask_highest(table) else ""
        yield f"Ratios and differences are to {reference.group}, the category with the highest rate{shown_phrase}."
    unknown_count = MASKED if is_masked(table.unknown) else f"{table.unknown.people or 0:,}"
    if unknown_count == "0":
        yield "The category of everybody is known."
    else:
        yield f"People whose category is not known: {unknown_count}. They are in no rate."
    if any(row.masked for row in (*table.groups, table.unknown)):
        yield MASKING
    if table.at_median:
        yield f"{table.at_median:,} people have the median score itself; they do not count as above it."
    if table.even_flagged is not None:
        yield (
            "A perfectly even tool with these numbers of people would have a category below four fifths in an "
            f"estimated {of_audits(table.even_flagged)}."
        )


SEPARATOR = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""Pattern of separators of thousands, which the CSV file leaves out."""


def regime_csv(audits: Sequence[Audit], columns: Sequence[Column]) -> str:
    """Return audits' tables as CSV (RFC 4180), with the tool's name if there are several; no cell acts as a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    has_tool_column = len(audits) > 1
    writer.writerow((*(("Tool",) if has_tool_column else ()), "Table", "Outcome", *(column.head for column in columns)))
    for audit in audits:
        tool_cells = (audit.rating.target or "",) if has_tool_column else ()
        for table in audit.tables:
            rows = [*table.groups, *([table.unknown] if table.unknown.people or is_masked(table.unknown) else [])]
            for row in rows:
                cell_texts = [  # numbers without separators of thousands
                    column.text(row) if column is GROUP else SEPARATOR.sub("", column.text(row)) for column in columns
                ]
                writer.writerow(map(_escape_formula, (*tool_cells, table.by or "", table.outcome or "", *cell_texts)))
    return text.getvalue()


def _escape_formula(cell: str) -> str:
    is_formula = cell[:1] in FORMULA_STARTS and NUMBER.fullmatch(cell) is None
    return f"'{cell}" if is_formula else cell
