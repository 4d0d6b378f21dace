"""`assay rerate`: rate recorded evidence by another version of the methodology."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.errors import RecordError, SpecificationError, UnknownName
from assay.evidence.export import read_export
from assay.model import Observation
from assay.rating.methodology import Methodologies, Methodology, shipped
from assay.rating.rerating import rerate
from cli.exits import Exit
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.ratings import rerated
from store.ratings.experiment_json import parse_method

console = Console(highlight=False)

PAGE = 100

NEEDED = frozenset({"experiment", "method", "methodology", "seed", "evidence_digest", "target", "visibility", "letter"})
"""Required parts of an exported rating."""


@dataclass(frozen=True)
class Done:
    """One rating before and after, or the reason why there is no new letter."""

    name: str
    before: Mapping[str, Any]
    after: Mapping[str, Any] | None
    why: str = ""


def rerate_database(
    settings: Settings, version: str, named: Sequence[str], methodologies: Methodologies | None = None
) -> int:
    """Rate stored evidence by a version of the methodology and store the result with each rating.

    Parameters
    ----------
    named : sequence of str
        Ids of ratings; none: everyone's that lack it and were made by a method that it knows.
    methodologies : Methodologies, optional
        The versions, in place of those that are shipped.

    Returns
    -------
    int
        0, or 69 if the evidence of some rating did not allow it.

    Raises
    ------
    SpecificationError
        If there is no such version or rating, or the version does not know a named rating's method.
    """
    methodology = (methodologies or shipped()).named(version)
    migrate.check(settings.resolved_database_url)
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        ids = iter(named) if named else _lacking(database, methodology)
        done = [_rerate_kept(database, each, methodology) for each in ids]
    return _tell(done, methodology)


def rerate_export(file: Path, version: str, methodologies: Methodologies | None = None) -> int:
    """Rate the evidence of an export by a version, with no database; returns as `rerate_database`.

    Raise `SpecificationError` if the file cannot be read or the version does not exist or know the method,
    `CertificateError` if the file was altered or cut.
    """
    methodology = (methodologies or shipped()).named(version)
    try:
        with file.open("rb") as lines:
            export = read_export(lines)
            record = [Observation.from_json(one) for one in export.observations()]
    except OSError as wrong:
        raise SpecificationError(f"{file} cannot be read: {wrong.strerror}") from None
    document = export.rating
    if lacking := sorted(NEEDED - set(document)):
        raise SpecificationError(f"the rating in {file} lacks {', '.join(lacking)}; it cannot be rated again")
    try:
        after = rerate(document, parse_method(document["experiment"]), record, methodology)
    except RecordError as wrong:
        return _tell([Done(str(document.get("id")), document, None, str(wrong))], methodology)
    return _tell([Done(str(document.get("id")), document, after)], methodology)


def _lacking(database: Database, methodology: Methodology) -> Iterator[str]:
    after = ""
    while True:
        with database.read() as connection:
            page = rerated.lacking(connection, methodology.version, methodology.methods, after=after, limit=PAGE)
        if not page:
            return
        yield from page
        after = page[-1]


def _rerate_kept(database: Database, rating_id: str, methodology: Methodology) -> Done:
    with database.read() as connection:
        rating = rerated.any_rating(connection, rating_id)
        if rating is None:
            raise UnknownName("rating", rating_id, ("see GET /v1/ratings",))
        record = list(rerated.evidence(connection, rating.job_id))
    try:
        document = rerated.recompute(rating, record, methodology)
    except RecordError as wrong:
        return Done(rating.id, rating.document, None, str(wrong))
    with database.write() as connection:
        rerated.keep(connection, rating.id, document)
    return Done(rating.id, rating.document, document)


def _tell(done: Sequence[Done], methodology: Methodology) -> int:
    """Print a line for each rating, with changed letters highlighted."""
    if not done:
        console.print(f"Every rating has its letter by methodology {methodology.version}, or is by a method it lacks.")
        return 0
    table = Table("rating", "method", "given by", "letter", f"by {methodology.version}", box=None)
    for one in done:
        after = escape(one.why) if one.after is None else _letter(one.after)
        changed = one.after is None or _letter(one.after) != _letter(one.before)
        given = str(one.before["methodology"]["version"])
        row = (one.name, str(one.before["method"]), given, _letter(one.before), after)
        table.add_row(*row, style="bold" if changed else "")
    console.print(table)
    failed = sum(one.after is None for one in done)
    if failed:
        console.print(f"{failed} of {len(done)} could not be rated again.")
    return Exit.UNAVAILABLE if failed else 0


def _letter(document: Mapping[str, Any]) -> str:
    letter = document["letter"] or "none"
    return letter if document["declared"] else f"inconclusive ({letter})"
