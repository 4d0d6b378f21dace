"""`assay rerate`: rate recorded evidence by another version of the methodology."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from assay.document import RatingDocument
from assay.errors import RecordError, SpecificationError, UnknownName
from assay.evidence.export import read_export, read_observation
from assay.methods import rating_of
from assay.rating.methodology import Methodologies, Methodology, shipped
from assay.rating.rerating import MethodologyRemoved, rerate
from cli.exits import Exit
from cli.terminal import console, escape
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.ratings import rerated
from store.ratings.experiment_json import parse_method

PAGE = 100

ALL = "all"
"""Name that stands for all versions of the methodology; their letters are shown side by side."""

UNKNOWN_THEN, KEPT, REMOVED = "method unknown then", "stored already", "old rules removed"
"""Table cells: the version does not know the method; the letter is stored; Assay lacks the rating's own rules."""

NEEDED = frozenset({"experiment", "method", "methodology", "seed", "evidence_digest", "target", "visibility", "letter"})
"""Required parts of an exported rating."""


@dataclass(frozen=True)
class RerateResult:
    """A rating (`before`); `after` has its new rating, or the reason why there is none, by methodology version."""

    name: str
    before: RatingDocument
    after: dict[str, RatingDocument | str]


def rerate_database(
    settings: Settings, version: str, names: Sequence[str], methodologies: Methodologies | None = None
) -> int:
    """Rate stored evidence by a version of the methodology (`ALL`: by each) and store the result with each rating.

    `names` are ids of ratings; if empty, all ratings not yet rated by this version, if it knows their method.
    `methodologies` replace the shipped ones. Return 0, or 69 if some rating could not be rated again from its evidence.

    Raise `SpecificationError` if the version or a rating does not exist, or the version does not know its method.
    """
    versions = _choose_versions(version, methodologies)
    migrate.check(settings.resolved_database_url)
    results: dict[str, RerateResult] = {}
    with contextlib.closing(Database(settings.resolved_database_url)) as database:
        for methodology in versions:
            for name in names or _ids_without_version(database, methodology):
                before, after = _rerate_stored(database, name, methodology, skip_unknown=version == ALL)
                results.setdefault(name, RerateResult(name, before, after={})).after[methodology.version] = after
    return _print_results(tuple(results.values()), versions)


def rerate_export(file: Path, version: str, methodologies: Methodologies | None = None) -> int:
    """Rate the evidence of an export by a methodology version, without a database; return as `rerate_database` does.

    Raise `SpecificationError` if the file cannot be read, the version does not exist or does not know the method, or
    the rules that the rating was made under were removed; raise `CertificateError` if the file was altered or cut.
    """
    versions = _choose_versions(version, methodologies)
    try:
        with file.open("rb") as stream:
            export = read_export(stream)
            evidence = [read_observation(line) for line in export.observations()]
    except OSError as error:
        raise SpecificationError(f"{file} cannot be read: {error.strerror}") from None
    document = export.unmasked or export.rating
    if missing_fields := sorted(NEEDED - set(document)):
        raise SpecificationError(f"the rating in {file} lacks {', '.join(missing_fields)}; it cannot be rated again")
    rating = rating_of(document)
    result = RerateResult(str(rating.id), rating, after={})
    for methodology in versions:
        if version == ALL and rating.method not in methodology.methods:
            result.after[methodology.version] = UNKNOWN_THEN  # this version did not have the method
            continue
        try:
            result.after[methodology.version] = rerate(rating, parse_method(rating.experiment), evidence, methodology)
        except RecordError as error:
            result.after[methodology.version] = str(error)
    return _print_results((result,), versions)


def _choose_versions(version: str, methodologies: Methodologies | None) -> tuple[Methodology, ...]:
    available = methodologies or shipped()
    return available.versions if version == ALL else (available.named(version),)


def _ids_without_version(database: Database, methodology: Methodology) -> Iterator[str]:
    """Yield the ids of ratings that have no letter by this version, although it knows their method."""
    last_id = ""
    while True:
        with database.read() as connection:
            page = rerated.lacking(connection, methodology.version, methodology.methods, after=last_id, limit=PAGE)
        if not page:
            return
        yield from page
        last_id = page[-1]


def _rerate_stored(
    database: Database, rating_id: str, methodology: Methodology, *, skip_unknown: bool
) -> tuple[RatingDocument, RatingDocument | str]:
    """Rate a stored rating again and store the result; return the rating, and the result or why there is none.

    If `skip_unknown`, a version that does not know the method is skipped instead of refused.
    """
    with database.read() as connection:
        if (stored_rating := rerated.any_rating(connection, rating_id)) is None:
            raise UnknownName("rating", rating_id, ("see GET /v1/ratings",))
    if skip_unknown and stored_rating.method not in methodology.methods:
        return stored_rating.rating, UNKNOWN_THEN  # this version did not have the method
    try:
        with database.read() as connection:
            evidence = list(rerated.evidence(connection, stored_rating.job_id))
        rerating = rerated.recompute(stored_rating, evidence, methodology)
    except MethodologyRemoved:
        return stored_rating.rating, REMOVED
    except RecordError as error:
        return stored_rating.rating, str(error)
    with database.write() as connection:
        rerated.keep(connection, stored_rating.id, rerating)
    return stored_rating.rating, rerating


def _print_results(results: Sequence[RerateResult], versions: Sequence[Methodology]) -> int:
    """Print a line for each rating, in bold if a letter changed; return 0, or 69 if any could not be rated again."""
    if not results:
        names = " and ".join(methodology.version for methodology in versions)
        console.print(f"Every rating has its letter by methodology {names}, or is by a method it lacks.")
        return 0
    version_columns = [f"by {methodology.version}" for methodology in versions]
    table = Table("rating", "method", "given by", "letter", *version_columns, box=None)
    for result in results:
        original_version = str(result.before.methodology.version)
        by_version = {original_version: result.before, **result.after}  # versions that are not in it: `KEPT`
        letters = [_letter_text(by_version.get(methodology.version, KEPT)) for methodology in versions]
        has_changed = any(letter not in {_letter_text(result.before), KEPT, UNKNOWN_THEN} for letter in letters)
        cells = (result.name, str(result.before.method), original_version, _letter_text(result.before), *letters)
        table.add_row(*map(escape, cells), style="bold" if has_changed else "")
    console.print(table)
    failed_count = sum(
        any(isinstance(document, str) and document != UNKNOWN_THEN for document in result.after.values())
        for result in results
    )
    if failed_count:
        console.print(f"{failed_count} of {len(results)} could not be rated again.")
    return Exit.UNAVAILABLE if failed_count else 0


def _letter_text(result: RatingDocument | str) -> str:
    if isinstance(result, str):
        return result
    letter = result.letter or "none"
    return letter if result.declared else f"inconclusive ({letter})"
