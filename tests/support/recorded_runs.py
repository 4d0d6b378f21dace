"""A rating with its whole evidence, made once without a server, and copies of it in a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import insert, select, text, update

from assay.canonical import target_digest
from assay.document import RatingDocument, ServiceDocument, read_json
from assay.experiment import Session, generator
from assay.explain import Vocabulary
from assay.methods import RoundTrip
from assay.model import Observation, Probe, Reply
from assay.rating.decision import rate
from assay.rating.document import rating_document
from store.core.columns import new_id
from store.core.database import Connection
from store.jobs import jobs
from store.jobs.jobs import LedgerEntry
from store.jobs.tables import jobs as job_rows
from store.ratings import certificates, ratings
from store.ratings.experiment_json import dump_method
from store.ratings.ratings import NewRating
from store.security.signing import SigningKey
from tests.support.jobs import new_job

SEED = 7
TARGET = {"name": "He", "kind": "translator", "protocol": "libretranslate", "url": "http://he", "settings": {}}


@dataclass(frozen=True)
class RecordedRun:
    """The document of a rating, and its observations in the order of the evidence."""

    document: RatingDocument
    record: Sequence[Observation]

    def rating(self) -> NewRating:
        """Return the rating to be stored."""
        return NewRating("default", None, self.document, "sha256:1", 86_400, "default")


def recorded_run(method: RoundTrip) -> RecordedRun:
    """Rate a simulated translator that turns every person into a man on the way back."""
    session, record = Session(method.design(generator(SEED))), list[Observation]()
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, _translate(probe))
        session.advance()
    document = rating_document(
        rate(session.finding),
        vocabulary=Vocabulary.of(method),
        experiment=dump_method(method),
        target=read_json(ServiceDocument, TARGET | {"digest": target_digest(TARGET)}),
        seed=SEED,
        calls=session.asked,
        failed_calls=session.failed,
        evidence_digest=session.evidence.head(),
        visibility="public",
    )
    return RecordedRun(document, record)


def store_run(c: Connection, run: RecordedRun, at_ms: int) -> tuple[str, str]:
    """Store a rated job that was requested and finished at a time; return the ids of the job and the rating."""
    experiment = dict(run.document.experiment or {})
    job = jobs.add(c, new_job(target={"name": "He", "base_url": "http://he"}, experiment=experiment))
    claim = jobs.claim(c, job.id, "hand", 30)
    assert claim is not None
    entries = [LedgerEntry(observation, 1, 5) for observation in reversed(run.record)]
    jobs.record(c, claim, entries, calls=len(entries), expected=len(entries), stage="asking")
    rating_id = jobs.finish(c, claim, run.rating())
    c.execute(update(job_rows).where(job_rows.c.id == job.id).values(created_at=at_ms, finished_at=at_ms))
    return job.id, rating_id


def store_copies(c: Connection, run: RecordedRun, job_id: str, count: int, key: SigningKey) -> None:
    """Copy a stored job with its observations `count` times, each with a signed rating of its own."""
    row = dict(c.execute(select(job_rows).where(job_rows.c.id == job_id)).mappings().one())
    names = "unit, seq, ask, reply, failure, copied, attempts, elapsed_ms, fence, recorded_at"
    copy = text(
        f"INSERT INTO observations (job_id, {names}) SELECT :new, {names} FROM observations WHERE job_id = :old"
    )
    for _ in range(count):
        copied = new_id("job")
        rating = ratings.add(c, run.rating(), copied)
        c.execute(insert(job_rows).values(row | {"id": copied, "rating_id": rating.id}))
        c.execute(copy, {"new": copied, "old": job_id})
        certificates.keep(c, rating.id, key.id, certificates.envelopes_of(key, rating))


def _translate(probe: Probe) -> Reply:
    words = getattr(probe.ask, "text", "").split(" ")
    if getattr(probe.ask, "source", "") == "en":
        return Reply(" ".join(f"x{word}" for word in words))
    men = {"she": "he", "She": "He", "her": "his", "Her": "His", "herself": "himself"}
    return Reply(" ".join(men.get(word.removeprefix("x"), word.removeprefix("x")) for word in words))
