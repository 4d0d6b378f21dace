"""Ledger of observations (probes with replies), from which crashed runs resume and ratings are verified."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, func, or_, select

from assay.document import JsonObject
from assay.model import Observation
from store.archive.places import unless_archived
from store.core.columns import read_clock
from store.core.engines import chunks, replacing_insert
from store.core.rows import Rows, limit_rows
from store.jobs.job import Job, update_job
from store.jobs.leases import Claim, hold
from store.jobs.tables import jobs, observations


@dataclass(frozen=True)
class LedgerEntry:
    """An observation to record.

    `attempts` is the number of calls made for it, including retries; 0 if the reply to an earlier question was
    copied. `elapsed_ms` is the time from the first call to the reply.
    """

    observation: Observation
    attempts: int
    elapsed_ms: int


@dataclass(frozen=True, kw_only=True)
class StoredObservation(LedgerEntry):
    """A recorded observation.

    `seq` is its number within the job, from 1; numbers of deleted failures are missing. `recorded_at` is in
    milliseconds since 1970.
    """

    seq: int
    recorded_at: int


@dataclass(frozen=True)
class CounterIncrements:
    """Numbers to add to a job's counters: new rows, distinct probes, failed probes."""

    new: int
    probes: int
    failed: int


def recall(c: Connection, job_id: str, units: Sequence[str]) -> dict[str, Observation]:
    """Read a job's observations of the probes with these ids (`Probe.unit`); unrecorded probes are left out."""
    return {row["unit"]: observation_in(row) for row in _rows_with(c, job_id, "unit", units)}


ROWS_AT_A_TIME = 250
"""Number of observations that a search reads at a time."""


@unless_archived
def page(
    c: Connection, job_id: str, after: int, limit: int, conditions: Sequence[ColumnElement[bool]] = ()
) -> Rows[StoredObservation]:
    """List a job's observations numbered above `after` (0: from the start), in order. Large rows shorten the page."""
    rows = c.execute(
        select(observations)
        .where(observations.c.job_id == job_id, observations.c.seq > after, *conditions)
        .order_by(observations.c.seq)
        .limit(limit)
    ).mappings()
    return limit_rows(rows, _stored_observation)


@unless_archived
def find_by_numbers(c: Connection, job_id: str, numbers: Sequence[int]) -> list[StoredObservation]:
    """Read a job's observations with these numbers, in no order; those that were deleted are left out."""
    return [_stored_observation(row) for row in _rows_with(c, job_id, "seq", numbers)]


def newest(c: Connection, job_id: str, limit: int) -> list[StoredObservation]:
    """List the last `limit` observations of a job, the newest first."""
    query = select(observations).where(observations.c.job_id == job_id).order_by(observations.c.seq.desc())
    return [_stored_observation(row) for row in c.execute(query.limit(limit)).mappings()]


def asked_by_part(c: Connection, job_id: str) -> Counter[str]:
    """Count a job's questions, except copies, by the first segment of the probe's id, such as a language."""
    conditions = observations.c.job_id == job_id, observations.c.copied.is_(False)
    units = c.execute(select(observations.c.unit).where(*conditions)).scalars()
    return Counter(unit.partition("/")[0] for unit in units)


@dataclass(frozen=True)
class ObservationFilter:
    """Filters of observations; ``None`` means any.

    `part` is the beginning of a probe's id, in whole segments: ``es`` or ``es/U``. `answer` is a whole answer, or its
    label or choice. `failure` is the code of a failure, ``any`` or ``none``. `q` is searched for in questions and
    answers. Texts are compared without regard to case.
    """

    part: str | None = None
    answer: str | None = None
    failure: str | None = None
    q: str | None = None

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        """SQL conditions for `part` and `failure`; `fits` checks `answer` and `q`, which the database cannot."""
        clauses: list[ColumnElement[bool]] = []
        if self.part is not None:
            unit = observations.c.unit  # the id of a probe: segments joined by /
            clauses.append(or_(unit == self.part, unit.startswith(f"{self.part}/", autoescape=True)))
        if self.failure is not None:
            failure = observations.c.failure
            condition_by_code = {"any": failure.is_not(None), "none": failure.is_(None)}
            clauses.append(condition_by_code.get(self.failure, failure == self.failure))
        return clauses

    def fits(self, observation: Observation) -> bool:
        """Return whether an observation matches `answer` and `q`."""
        value = observation.reply.value
        if self.answer is not None:
            answers = [value, value.get("label"), value.get("choice")] if isinstance(value, Mapping) else [value]
            if self.answer.casefold() not in [str(answer).casefold() for answer in answers if answer is not None]:
                return False
        if self.q is None:
            return True
        return any(self.q.casefold() in text.casefold() for text in _texts_in([observation.as_json()["ask"], value]))


def _texts_in(document: object) -> Iterator[str]:
    """Yield all texts in a JSON value, without the names of members."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, Mapping):
        yield from _texts_in(list(document.values()))
    elif isinstance(document, list | tuple):
        for entry in document:
            yield from _texts_in(entry)


ROWS_A_SEARCH = 5_000
"""Maximum number of observations that one search reads, so that it takes less than a second."""


def search(
    c: Connection, job_id: str, criteria: ObservationFilter, after: int, limit: int
) -> tuple[list[StoredObservation], int | None]:
    """Return matching observations numbered above `after`, and the `after` of the next search; ``None`` at the end.

    A search that reads `ROWS_A_SEARCH` rows without filling the page ends there, so a page can be short or empty.
    """
    matches: list[StoredObservation] = []
    for _ in range(ROWS_A_SEARCH // ROWS_AT_A_TIME):
        rows = page(c, job_id, after, ROWS_AT_A_TIME, criteria.conditions)
        for row in rows:
            if len(matches) == limit:
                return matches, after
            if criteria.fits(row.observation):
                matches.append(row)
            after = row.seq
        if rows.cut:
            break
        if len(rows) < ROWS_AT_A_TIME:
            return matches, None
    return matches, after


@unless_archived
def count(c: Connection, job_id: str) -> int:
    """Count a job's observations."""
    return c.execute(select(func.count()).where(observations.c.job_id == job_id)).scalar_one()


def forget_failures(c: Connection, claim: Claim, codes: Collection[str]) -> int:
    """Delete failures with these codes, so that their probes (questions) are sent again; return their number.

    Raise `LeaseLost` if the claim is no longer valid.
    """
    job = hold(c, claim)
    has_code = (observations.c.job_id == job.id, observations.c.failure.in_(sorted(codes)))
    copied_flags = list(c.execute(delete(observations).where(*has_code).returning(observations.c.copied)).scalars())
    asked_count = copied_flags.count(False)  # one copied from an equal question was not counted
    if copied_flags:
        counters = {"asked": job.asked - asked_count, "failed_calls": job.failed_calls - asked_count}
        c.execute(update_job(**counters).where(jobs.c.id == job.id))
    return len(copied_flags)


def keep(c: Connection, job: Job, fence: int, entries: Sequence[LedgerEntry]) -> CounterIncrements:
    """Insert or replace observations of a locked job under claim number `fence`; return the changes of its counters."""
    entry_of_unit = {entry.observation.probe.unit: entry for entry in entries}  # a unit is the id of a probe
    stored_rows = {row["unit"]: dict(row) for row in _rows_with(c, job.id, "unit", list(entry_of_unit))}
    now, last_seq = read_clock(c), job.observed
    rows, asked_increment, failed_increment = [], 0, 0
    for unit, entry in entry_of_unit.items():
        row = _row_of_entry(entry) | {"job_id": job.id, "fence": fence, "recorded_at": now}
        stored_row = stored_rows.get(unit)
        row["seq"] = last_seq + 1 if stored_row is None else stored_row["seq"]
        last_seq = max(last_seq, row["seq"])
        rows.append(row)
        asked_increment += _asked_count(row) - _asked_count(stored_row)
        failed_increment += _failed_count(row) - _failed_count(stored_row)
    if rows:
        c.execute(replacing_insert(c, observations, REPLACED_COLUMNS), rows)
    return CounterIncrements(new=last_seq - job.observed, probes=asked_increment, failed=failed_increment)


REPLACED_COLUMNS = ("ask", "reply", "failure", "copied", "attempts", "elapsed_ms", "fence", "recorded_at")
"""Columns that are replaced if an observation of the same probe is recorded again."""


def _rows_with(c: Connection, job_id: str, column: str, values: Sequence[object]) -> Iterator[RowMapping]:
    """Yield the rows of a job whose `column` has one of the `values`."""
    query = select(observations).where(observations.c.job_id == job_id)
    for chunk in chunks(values):
        yield from c.execute(query.where(observations.c[column].in_(chunk))).mappings()


def _asked_count(row: Mapping[str, Any] | None) -> int:
    return int(row is not None and not row["copied"])


def _failed_count(row: Mapping[str, Any] | None) -> int:
    return int(row is not None and not row["copied"] and row["failure"] is not None)


def _row_of_entry(entry: LedgerEntry) -> dict[str, Any]:
    """Return the columns that a ledger entry determines; `observation_in` builds the observation from them."""
    record = entry.observation.as_json()
    failure = record["failure"]
    return {
        "unit": record["unit"],
        "ask": record["ask"],
        "reply": {"value": record["value"], "failure": failure},
        "failure": None if failure is None else failure["code"],
        "copied": record["copied"],
        "attempts": entry.attempts,
        "elapsed_ms": entry.elapsed_ms,
    }


def _stored_observation(row: RowMapping) -> StoredObservation:
    facts = {name: row[name] for name in ("seq", "attempts", "elapsed_ms", "recorded_at")}
    return StoredObservation(observation=observation_in(row), **facts)


def observation_in(row: RowMapping | JsonObject) -> Observation:
    """Return the observation that a row stores; its column ``reply`` has the value of the reply, or the failure."""
    return Observation.from_json({"unit": row["unit"], "ask": row["ask"], "copied": row["copied"], **row["reply"]})
