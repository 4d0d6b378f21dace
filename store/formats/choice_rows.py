"""Trials of two-alternative forced choice (2AFC) experiments, from CSV or xlsx files.

Columns are ``concept`` and ``level``, then either the choice of one trial (``chose``: first or second; or
``chose_second``: 0 or 1) or counts (``chose_second`` of ``trials``), and optionally ``subject``.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from assay.document import JsonObject
from assay.methods.shared.outcome_tables.decision_table import as_text
from store.formats.columns import NUMBER
from store.formats.refusal import Unreadable, shown
from store.formats.table import TableFile, open_rows

LONGEST_CONCEPT = 100
FARTHEST_LEVEL = 10.0
MOST_TRIALS = 1_000_000

Count = tuple[int, int]
"""Pair: number of trials in which the second cue was chosen, and number of all trials."""

Group = tuple[str | None, str, float]
"""Key of the trials that are counted together: subject (``None`` if none is named), concept and level."""


def inspect(file: BinaryIO, media_type: str) -> JsonObject:
    """Validate a table of trials (which of two cues was chosen, for a concept at a level), and summarise it.

    The result has the numbers of ``rows``, ``trials``, ``concepts``, ``levels`` and ``subjects`` (``None`` without that
    column), and the ``lowest`` and ``highest`` level.

    Raise `Unreadable` if the file is invalid, with the line and the column.
    """
    row_count, groups = _group_choices(file, media_type)
    if not row_count:
        raise Unreadable("the table has columns but no rows")
    levels = {level for _, _, level in groups}
    return {
        "rows": row_count,
        "trials": sum(trials for _, trials in groups.values()),
        "concepts": len({concept for _, concept, _ in groups}),
        "levels": len(levels),
        "lowest": min(levels),
        "highest": max(levels),
        "subjects": len({subject for subject, _, _ in groups} - {None}) or None,
    }


def read_trials(file: BinaryIO, media_type: str) -> list[JsonObject]:
    """Read validated trials, and count how often the second of two cues was chosen.

    Each entry has ``subject`` (if there is that column), ``concept``, ``level``, ``chose_second`` (the count) and
    ``trials``. There is one entry for each subject, concept and level, in the order of the file.
    """
    file.seek(0)
    _, groups = _group_choices(file, media_type)
    return [
        ({} if subject is None else {"subject": subject})
        | {"concept": concept, "level": level, "chose_second": chose_second, "trials": trials}
        for (subject, concept, level), (chose_second, trials) in groups.items()
    ]


def _group_choices(file: BinaryIO, media_type: str) -> tuple[int, dict[Group, Count]]:
    """Return the number of rows and, by subject, concept and level, the sums of the counts of `_parse_rows`."""
    groups: dict[Group, Count] = {}
    row_count = 0
    for group, (chose_second, trials) in _parse_rows(open_rows(file, media_type)):
        row_count += 1
        earlier_chose_second, earlier_trials = groups.get(group, (0, 0))
        groups[group] = (earlier_chose_second + chose_second, earlier_trials + trials)
    return row_count, groups


def _parse_rows(table: TableFile) -> Iterator[tuple[Group, Count]]:
    """Yield each row's group (subject, concept, level) and counts (choices of the second cue, trials), validated."""
    columns = set(table.columns)
    if missing := {"concept", "level"} - columns:
        raise Unreadable(f"the column {min(missing)!r} is missing; found: {', '.join(sorted(columns))}", line=1)
    parse_choice = _CHOICE_PARSERS.get(frozenset(columns & {"chose", "chose_second", "trials"}))
    unknown = columns - {"concept", "level", "chose", "chose_second", "trials", "subject"}
    if parse_choice is None or unknown:
        unknown_column = f"; {min(unknown)!r} is not one of them" if unknown else ""
        needed = "the columns must be concept, level and chose, chose_second, or chose_second and trials; and subject"
        raise Unreadable(needed + unknown_column, line=1)
    for line, cells in table:
        texts = (cell if isinstance(cell, str) else as_text(cell) for cell in cells)
        row = dict(zip(table.columns, texts, strict=True))
        concept, subject = row["concept"].strip(), row.get("subject")
        if not 0 < len(concept) <= LONGEST_CONCEPT:
            raise Unreadable(f"a concept must have 1 to {LONGEST_CONCEPT} characters", line=line, column="concept")
        yield (subject or None, concept, _parse_level(row["level"], line)), parse_choice(row, line)


def _parse_level(cell: str, line: int) -> float:
    """Parse the cell of the column ``level``; raise `Unreadable` beyond ±`FARTHEST_LEVEL`."""
    level = float(cell) if NUMBER.fullmatch(cell) else math.nan
    if not abs(level) <= FARTHEST_LEVEL:  # `not … <=` refuses NaN too
        message = f"{shown(cell)} is not a number from {-FARTHEST_LEVEL:g} to {FARTHEST_LEVEL:g}"
        raise Unreadable(message, line=line, column="level")
    return level


def _parse_named_choice(row: Mapping[str, str], line: int) -> Count:
    if row["chose"] not in {"first", "second"}:
        raise Unreadable(f"{shown(row['chose'])} is neither first nor second", line=line, column="chose")
    return int(row["chose"] == "second"), 1


def _parse_numbered_choice(row: Mapping[str, str], line: int) -> Count:
    if row["chose_second"] not in {"0", "1"}:
        message = f"{shown(row['chose_second'])} is neither 0 nor 1; counts need the column trials"
        raise Unreadable(message, line=line, column="chose_second")
    return int(row["chose_second"]), 1


def _parse_counts(row: Mapping[str, str], line: int) -> Count:
    """Return the counts of a row that stands for several trials: choices of the second cue, and trials."""
    chose_second, trials = (_parse_count(row[name], line, name) for name in ("chose_second", "trials"))
    if trials < 1 or chose_second > trials:
        message = f"{chose_second} of {trials} trials cannot have chosen the second cue"
        raise Unreadable(message, line=line, column="chose_second")
    return chose_second, trials


def _parse_count(cell: str, line: int, column: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) <= 7) or int(cell) > MOST_TRIALS:  # 7 digits are enough
        raise Unreadable(f"{shown(cell)} is not an integer from 0 to {MOST_TRIALS:,}", line=line, column=column)
    return int(cell)


_CHOICE_PARSERS: Mapping[frozenset[str], Callable[[Mapping[str, str], int], Count]] = {
    frozenset({"chose"}): _parse_named_choice,
    frozenset({"chose_second"}): _parse_numbered_choice,
    frozenset({"chose_second", "trials"}): _parse_counts,
}
"""Parsers of a row's choices, by the columns that hold them."""
