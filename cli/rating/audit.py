"""`assay audit`: rate a service by a file of its recorded decisions, on this machine and without a call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from assay.document import Json, as_json
from assay.errors import SpecificationError
from assay.methods import AnyMethod, rating_of
from assay.methods.outcomes.recount import check_recount, experiment_without_counts
from assay.methods.shared.outcome_tables.decision_table import DecisionTable
from assay.model import Kind
from assay.references import LoadedMaterial, NamedDecisions
from cli.exits import Exit
from cli.rating.compare import read_json
from cli.rating.local_job import notes
from cli.rating.rate import OutputOptions, rate_request
from cli.request.audited import AuditOptions
from cli.request.request import pairs
from cli.request.upload import TABLES
from cli.terminal import escape
from reports.regulators import AUDIT_FILES, write_audit
from store.core.columns import random_seed
from store.core.settings import Settings
from store.formats import CSV
from store.formats.decision_rows import read_decisions
from store.ratings.experiment_json import dump_method, parse_method
from workers.targets.protocols.uploaded import Uploaded

METHOD = "outcomes"

REMEDY = "`assay audit FILE --format json` prints one"

PROGRESS_ROWS = 250_000
"""Number of rows between two lines of progress."""


def method_of_audit(options: AuditOptions) -> AnyMethod:
    """Return the method that the options describe, without the file's data; raise `SpecificationError` if invalid."""
    # options that are no fields of the method, or whose field has another name
    command_options = ("file", "tool", "encoding", "decimal", "sheet", "seed", "others", "intersection", "exclude")
    experiment = {
        field.name: getattr(options, field.name) for field in fields(options) if field.name not in command_options
    }
    list_fields = ("unfavourable", "truth_unfavourable", "step_favourable", "step_unfavourable", "unknown")
    experiment |= {name: experiment[name] or () for name in list_fields}
    experiment |= {
        "method": METHOD,
        "by": _split_names(options.by),
        "strata": _split_names(options.strata),
        "steps": _split_names(options.steps),
        "intersections": [_split_names(columns) for columns in options.intersection or ()],
        "exclusions": [_parse_exclusion(text) for text in options.exclude or ()],
    }
    return parse_method({**experiment, **dict(pairs(options.others, "--set"))})


def read_and_count(path: Path, columns: NamedDecisions, **options: Any) -> dict[str, Any]:
    """Count a file's people by `columns`; errors name the file. `options` are its encoding, decimal sign and sheet."""
    media_type = TABLES.get(path.suffix.lower(), CSV)
    try:
        with path.open("rb") as content:
            return read_decisions(content, media_type, **asdict(columns), **options, on_rows=_report_progress)
    except OSError as error:
        raise SpecificationError(f"{path} cannot be read: {error.strerror}", "file") from None
    except SpecificationError as error:
        raise SpecificationError(f"{path.name}: {error}", "file") from None


def audit_here(options: AuditOptions, settings: Settings, display: OutputOptions) -> Exit:
    """Audit a file: print its columns and values, rate its decisions, print the report, and return the exit code."""
    display.check()
    method = method_of_audit(options)
    columns = method.references().decisions  # the columns by which people are counted
    if columns is None:
        raise SpecificationError(f"{METHOD} has its table already; leave it out", "table")
    format_options = {name: getattr(options, name) for name in ("encoding", "decimal", "sheet")}
    counts = read_and_count(options.file, columns, **format_options)
    table = DecisionTable.read(counts)
    for line in describe_reading(options, table):
        notes.print(line, markup=False, soft_wrap=True)
    request = {
        "target": {
            "name": options.tool or options.file.stem,
            "kind": str(Kind.DECISION_TOOL),
            "protocol": Uploaded.protocol,
            "base_url": "",
            "settings": {"upload": table.digest},
        },
        "author": None,
        "experiment": dump_method(method.with_references(LoadedMaterial(decisions=counts))),
        "seed": random_seed() if options.seed is None else options.seed,
        "max_calls": 1,  # none is made, but a job needs a limit
        "deadline_s": 3600,
        "nonce": "",
    }
    return rate_request(request, settings, display)


def write_audits(ratings: Sequence[Path], report: Path) -> None:
    """Write ratings of recorded decisions as a file for regulators; the end of the name `report` selects its format.

    Raise `SpecificationError` for a file that is not such a rating, `UnknownName` if the end of the name is unknown.
    """
    file_format = next((file.name for file in AUDIT_FILES if report.name.lower().endswith(file.name)), report.name)
    report.write_text(write_audit(file_format, *map(_read_masked_rating, ratings)), encoding="utf-8")
    notes.print(f"report written to {escape(str(report))}", soft_wrap=True)


def _read_masked_rating(file: Path) -> Json:
    """Read a rating of recorded decisions, and return it without small counts of people."""
    document = read_json(file)
    if not isinstance(document, dict) or document.get("method") != METHOD:
        raise SpecificationError(f"{file} is not a rating of recorded decisions; {REMEDY}")
    if document.get("masked"):
        return document
    rating = rating_of(document)
    experiment_without_counts(rating)  # raises for a rating by another method
    method = parse_method(rating.experiment)
    if (table := rating.experiment.get("table")) is None:
        raise SpecificationError(f"{file} has no counts of people, so that small ones cannot be masked; {REMEDY}")
    checks = check_recount(rating, method, table, "its counted file")
    if differences := [check.wrong for check in checks if check.wrong is not None]:
        raise SpecificationError(f"{file} was changed: {'; '.join(differences)}")
    masked_document: Json = as_json(method.masked(rating))
    return masked_document


def describe_reading(options: AuditOptions, table: DecisionTable) -> Iterator[str]:
    """Yield lines with the file's columns, values and counts, so that the user notices a mistake before the result."""
    yield f"{options.file.name}: {table.rows:,} people"
    columns_by_role: Mapping[str, list[str]] = {
        "decision": _split_names(options.decision),
        "by": _split_names(options.by),
        "truth": _split_names(options.truth),
        "strata": _split_names(options.strata),
        "step": _split_names(options.steps),
    }
    for role, columns in columns_by_role.items():
        for column in columns:
            yield f"  {role} {column}: {table.frequent_values(column)}"
    if options.score:
        known_scores = [score for score in table.scores if score is not None]
        missing = sum(count for score, count in zip(table.scores, table.counts, strict=True) if score is None)
        score_range = f"{min(known_scores):g} to {max(known_scores):g}" if known_scores else "no numbers"
        yield f"  score {options.score}: {score_range}" + (f", not given ({missing:,})" if missing else "")
    if options.cluster:
        yield f"  cluster {options.cluster}: {table.clusters:,} clusters"
    if options.favourable:
        yield f"  favourable: {options.favourable}"


def _split_names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _parse_exclusion(text: str) -> dict[str, str]:
    """Read ``race=Other: why`` as an exclusion of a group from comparisons."""
    column, separator, group_and_reason = text.partition("=")
    group, colon, reason = group_and_reason.partition(":")
    if not separator or not colon:
        raise SpecificationError(f"--exclude takes column=group: reason, not {text!r}", "exclude")
    return {"by": column.strip(), "group": group.strip(), "why": reason.strip()}


def _report_progress(rows: int) -> None:
    if rows % PROGRESS_ROWS == 0:
        notes.print(f"{rows:,} rows read", markup=False)
