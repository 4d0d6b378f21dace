"""One job from claim to rating. Read this first, then `assay/experiment.py`.

The database is the truth: the job is claimed under a fence, every answer is recorded under it, and
whoever comes after a crash replays the record and asks only what is missing. However this function
leaves, the row says what happened; a task queue only rings the bell.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from opentelemetry import trace
from structlog.contextvars import bound_contextvars

from assay.canonical import target_digest
from assay.errors import AssayError
from assay.experiment import Experiment, Session, generator
from assay.methods import AnyMethod
from assay.model import AUTHORED, Ask, Kind, Observation, Reason
from assay.rating.decision import METHODOLOGY_VERSION, rate
from assay.rating.document import rating_document
from store.core.database import Database
from store.jobs import jobs, observations
from store.jobs.jobs import Claim, Job, LedgerEntry
from store.ratings import compositions
from store.ratings.experiment_json import dump_method, parse_method
from store.ratings.ratings import NewRating
from store.targets import targets
from store.targets.targets import StoredTarget
from workers.calls.driver import Answered, Called, Driver, TargetResting, TargetUnavailable
from workers.calls.retry import Breaker, Budget, Patience
from workers.calls.shared_rate_limits import lane_of
from workers.calls.target_slots import Lane
from workers.egress import Egress
from workers.engine.failure_handling import end_badly
from workers.engine.first_imports import import_first
from workers.engine.heartbeat import Heart
from workers.engine.worker_context import Workplace, place_of, seconds_left, waited_s
from workers.generation import authored, writing
from workers.maintenance.domain_challenge import look_for_token
from workers.maintenance.rerate import rerate_evidence
from workers.targets import address_of, connect, keep_to_links
from workers.targets.adapter import Adapter, Limits, Target
from workers.targets.chain.chain import CHAIN
from workers.targets.chain.roles import AUTHOR, Roles, hosts_of
from workers.targets.checks.capability import Calls, Capability, one_by_one
from workers.targets.checks.image_classifier import ImageExamination, looks_for
from workers.targets.checks.language_model import ModelExamination
from workers.targets.checks.predictor import PredictorExamination
from workers.targets.checks.samples import samples_for
from workers.targets.checks.translator import TranslatorExamination
from workers.targets.protocols.openai.images import SKETCH, OpenAIImages
from workers.tenant_uploads import Library

log = structlog.get_logger()
tracer = trace.get_tracer("assay.workers")

USUAL_PAIRS = (("en", "es"), ("es", "en"))
"""Languages that a translator is tried with where no experiment names any."""


class TargetMoved(AssayError):
    """A saved target was given another address or protocol while a job that is to call it waited."""

    code = "target-moved"

    def __init__(self, name: str, target_id: str) -> None:
        super().__init__(
            f"the target {name} ({target_id}) was changed after this was asked for, and leads elsewhere now; ask anew"
        )
        self.target_id = target_id


def run_job(job_id: str, workplace: Workplace, owner: str) -> None:
    """Carry one job as far as it will go, and leave its row in a true state.

    Parameters
    ----------
    job_id : str
        The job to claim; nothing happens if it is not due or another worker has it.
    workplace : Workplace
        What the worker has at hand.
    owner : str
        Name of this worker, for the lease.
    """
    if workplace.leaving.is_set():
        return
    import_first()
    with workplace.database.write() as connection:
        claim = jobs.claim(connection, job_id, owner, workplace.settings.lease_s)
    if claim is None:
        return
    workplace.meter.claimed(waited_s(claim))
    facts: dict[str, str | int] = {"job": job_id, "attempt": claim.job.attempt, "fence": claim.fence}
    with bound_contextvars(**facts), tracer.start_as_current_span("job", attributes=facts) as span:
        how = _run_claimed(workplace, claim)
        span.set_attribute("left", how)
    workplace.meter.left(how)


def _run_claimed(workplace: Workplace, claim: Claim) -> str:
    """Do the work and say how the job was left."""
    settings, database = workplace.settings, workplace.database
    log.info("job claimed", kind=claim.job.kind, owner=claim.owner)
    try:
        with Heart(
            database,
            claim,
            lease_s=settings.lease_s,
            every_s=settings.heartbeat_s,
            leaving=workplace.leaving,
            on_missed=workplace.meter.heartbeats_missed.inc,
        ) as heart:
            asyncio.run(_carry_out(workplace, claim, heart))
    except Exception as error:  # noqa: BLE001 - every way to end badly is told apart in one place
        return end_badly(workplace, claim, error)
    log.info("job finished")
    return "succeeded"


async def _carry_out(workplace: Workplace, claim: Claim, heart: Heart) -> None:
    """Do the work, until it is done, the deadline passes or the heart says stop."""
    work = asyncio.ensure_future(_WORK[claim.job.kind](workplace, claim))
    heart.on_stop(asyncio.get_running_loop(), work.cancel)
    try:
        async with asyncio.timeout(seconds_left(claim)):
            await work
    except asyncio.CancelledError:
        heart.raise_why()
        raise


async def _rate(workplace: Workplace, claim: Claim) -> None:
    """The pipe: specification → experiment → answers → finding → rating → one transaction."""
    job = claim.job
    method = parse_method(job.experiment or {})
    wanted = Wanted(
        lambda: method.design(generator(job.seed)),
        _first_questions(method, job.seed),
        method.language_pairs() or USUAL_PAIRS,
        max(job.expected, method.expected_probes()),
    )
    session, adapter = await _ask(workplace, claim, wanted)
    finding = session.finding
    assert finding is not None  # noqa: S101  the driver ends with one
    if not adapter.reproducible:
        scraped = Reason("scraped-not-reproducible", {"protocol": adapter.protocol})
        finding = replace(finding, reasons=(*finding.reasons, scraped))
    author = job.author if session.authored else None  # one whose work was kept already was not asked
    document = rating_document(
        rate(finding),
        experiment=dump_method(method),
        target=describe(job.target),
        seed=job.seed,
        calls=session.asked,
        failed_calls=session.failed,
        evidence_digest=session.evidence.head(),
        visibility=job.visibility,
        author=None if author is None else describe(author),
        hosts=hosts_of(job.target, author),
    )
    await asyncio.to_thread(_finish, workplace, claim, method, document)


async def _write(workplace: Workplace, claim: Claim) -> None:
    """The same pipe for sentences that a corpus lacks: its target is the author, and nothing is rated."""
    job = claim.job
    task = await asyncio.to_thread(writing.task_of, workplace.database, job)
    first = task.first_questions(job.seed)
    session, _ = await _ask(workplace, claim, Wanted(lambda: task.experiment(job.seed), first, (), job.expected))
    await asyncio.to_thread(writing.finish, workplace.database, claim, task, session.finding)


@dataclass(frozen=True)
class Wanted:
    """What a job asks.

    Attributes
    ----------
    begin : callable
        Makes the experiment, not yet started.
    first : sequence of Ask
        What it asks first, by which services are examined.
    pairs : sequence of (str, str)
        Languages it asks a translator for.
    expected : int
        Questions a clear case takes.
    """

    begin: Callable[[], Experiment]
    first: Sequence[Ask]
    pairs: Sequence[tuple[str, str]]
    expected: int


async def _ask(workplace: Workplace, claim: Claim, wanted: Wanted) -> tuple[Session, Adapter]:
    """Examine the services and ask until the experiment has ended; what was recorded is not asked again."""
    job, settings = claim.job, workplace.settings
    target, author = _target(workplace, claim), _author(workplace, job)
    written = [ask for ask in wanted.first if isinstance(ask, AUTHORED)]
    jitter = generator(job.attempt)
    async with _egress(workplace, job) as egress, workplace.traffic() as traffic:
        lane = Lane(lane_of(job.tenant, address_of(target)), job.id, target.limits, jitter, traffic)
        await _let_rest(lane, settings.breaker_delay_s)
        way = None
        if author is not None:  # under a name of its own: the two may be of one address
            who = f"{job.id}:{AUTHOR}"
            way = Lane(lane_of(job.tenant, address_of(author)), who, author.limits, jitter, traffic)
            if written:
                await _let_rest(way, settings.breaker_delay_s)
        adapter = connect(target, egress)
        _stage(workplace, claim, "probing")
        asker = adapter
        if author is None and written and job.observed:
            asker = one_by_one(adapter)  # it has written for this job before; to see it again would be paid for again
        elif wanted.first:  # choices already made ask nothing
            asked = [ask for ask in wanted.first if author is None or not isinstance(ask, AUTHORED)]
            asker = (await _examine(adapter, target, lane, wanted.pairs, asked)).adapter
        if author is not None and way is not None:
            writer = connect(author, egress)
            if written and not job.observed:
                await _examine(writer, author, way, (), written)
            asker = Roles(asker, writer)
        _stage(workplace, claim, "asking")
        recorded = partial(_recall, workplace.database, job.id) if job.observed else None
        session = Session(wanted.begin(), recorded)
        driver = Driver(
            asker,
            target.limits,
            Budget(job.max_calls, job.calls),
            StoreLedger(workplace, claim),
            job.id,
            jitter,
            patience=Patience(settings.call_attempts, settings.backoff_s, settings.backoff_cap_s),
            expected=wanted.expected,
            flush_replies=settings.ledger_replies,
            flush_s=settings.ledger_s,
            breaker=Breaker(settings.breaker_failures, settings.breaker_window),
            lane=lane,
            on_call=partial(workplace.meter.called, place_of(target), target.protocol),
            author=None if author is None or way is None else _called(workplace, author, way),
        )
        try:
            await driver.run(session)
        except TargetUnavailable as lost:
            await (lost.lane or lane).rest(settings.breaker_delay_s)  # so that no other job asks in vain
            raise
        finally:
            workplace.meter.computed(driver.thinking_s)
    return session, adapter


async def _let_rest(lane: Lane, delay_s: float) -> None:
    """Postpone the job where another found the service failing; not all that wait come back at once."""
    if (rest_s := await lane.rests()) > 0:
        raise TargetResting(rest_s + float(lane.rng.uniform(0, delay_s / 10)))


def _called(workplace: Workplace, author: Target, way: Lane) -> Called:
    """Count what an author loses and how it is called apart from the rated service."""
    settings = workplace.settings
    on_call = partial(workplace.meter.called, place_of(author), author.protocol)
    return Called(way, Breaker(settings.breaker_failures, settings.breaker_window), on_call)


async def _probe(workplace: Workplace, claim: Claim) -> None:
    """Try a target without rating it, and keep what was found as the job's result."""
    job = claim.job
    target = _target(workplace, claim)
    async with _egress(workplace, job) as egress, workplace.traffic() as traffic:
        lane = Lane(
            lane_of(job.tenant, address_of(target)),
            job.id,
            target.limits,
            generator(job.attempt),
            traffic,
        )
        asked = [SKETCH] if target.protocol == OpenAIImages.protocol else []
        capability = await _examine(connect(target, egress), target, lane, USUAL_PAIRS, asked)
    with workplace.database.write() as connection:
        jobs.finish_probe(connection, claim, capability.as_json())


_WORK: Mapping[str, Callable[[Workplace, Claim], Coroutine[Any, Any, None]]] = {
    "rating": _rate,
    "writing": _write,
    "probe": _probe,
    "rerate": rerate_evidence,
    "challenge": look_for_token,
}
"""What is done for each kind of job."""


async def _examine(
    adapter: Adapter, target: Target, lane: Lane, pairs: Sequence[tuple[str, str]], asked: Sequence[Ask] = ()
) -> Capability:
    """Examine the target within its limits, with what an experiment asks first where there is one."""
    async with lane.place() as place:

        async def turn() -> None:
            await place.keep()
            await lane.wait_for_turn()

        if target.kind is Kind.TRANSLATOR:
            return await TranslatorExamination(adapter, pairs, Calls(turn=turn)).run()
        if target.kind is Kind.LANGUAGE_MODEL:
            return await ModelExamination(adapter, asked, Calls(turn=turn)).run()
        if target.kind is Kind.IMAGE_CLASSIFIER:
            return await ImageExamination(adapter, looks_for(target, asked), Calls(turn=turn)).run()
        return await PredictorExamination(adapter, samples_for(target, asked), Calls(turn=turn)).run()


def _egress(workplace: Workplace, job: Job) -> Egress:
    """Open the way out that the operator allows, and what the job's tenant has uploaded."""
    settings = workplace.settings
    return Egress(
        settings.egress_networks,
        response_cap=settings.response_cap_bytes,
        scraping=settings.allow_scraping,
        library=Library(workplace.database, settings.data_dir.expanduser() / "cache" / "embeddings", job.tenant),
    )


def _target(workplace: Workplace, claim: Claim) -> Target:
    """Build the target from the job's own snapshot, opening its secret."""
    job = claim.job
    return keep_to_links(_built(job.target, _secret(workplace, job), _link_secrets(workplace, job)))


def _author(workplace: Workplace, job: Job) -> Target | None:
    """Build the author from the job's own snapshot, where it has one; its secret is its saved target's."""
    if job.author is None:
        return None
    return _built(job.author, _saved_secret(workplace, job, job.author.get("id"), job.author))


def _built(described: Mapping[str, Any], secret: str | None, links: Mapping[str, str] | None = None) -> Target:
    return Target(
        name=described["name"],
        kind=Kind(described["kind"]),
        protocol=described["protocol"],
        base_url=described.get("base_url") or "",
        settings=described.get("settings") or {},
        secret=secret,
        limits=Limits(**(described.get("limits") or {})),
        link_secrets=links or {},
    )


def _secret(workplace: Workplace, job: Job) -> str | None:
    """Open the secret sent with the job, or the one kept with its target."""
    if job.sealed_secret is None:
        return _saved_secret(workplace, job, job.target_id, job.target)
    return workplace.vault.open(job.sealed_secret, tenant=job.tenant, target=job.id, field="secret")


def _saved_secret(workplace: Workplace, job: Job, saved: str | None, called: Mapping[str, Any]) -> str | None:
    """Open the secret of a saved target that a job calls; one that was removed since took its secret with it.

    Raises
    ------
    TargetMoved
        If the target leads elsewhere now: its secret may not be meant for where it was.
    """
    if saved is None:
        return None
    with workplace.database.read() as connection:
        row = targets.find(connection, saved, job.tenant)
    if row is None:
        return None
    if not _leads_there(row, called):
        raise TargetMoved(row.name, row.id)
    if row.sealed_secret is None:
        return None
    return workplace.vault.open(row.sealed_secret, tenant=job.tenant, target=row.id, field="secret")


def _link_secrets(workplace: Workplace, job: Job) -> dict[str, str]:
    """Open the secrets of a chain's saved links; they were never part of the job."""
    if job.target["protocol"] != CHAIN:
        return {}
    links = {link["id"]: link for link in job.target["settings"]["links"] if link.get("id")}
    with workplace.database.read() as connection:
        kept = compositions.targets_named(connection, job.tenant, links)
    return {
        name: workplace.vault.open(row.sealed_secret, tenant=job.tenant, target=name, field="secret")
        for name, row in kept.items()
        if row.sealed_secret is not None and _leads_there(row, links[name])
    }


def _leads_there(row: StoredTarget, link: Mapping[str, Any]) -> bool:
    """Whether what is called is where its target is now: a secret changed since may not be meant for where it was."""
    return (row.protocol, row.base_url) == (link["protocol"], link.get("base_url") or "")


def describe(target: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a target on its rating: what it is and where, with the digest it is known by."""
    descriptor = {
        "name": target["name"],
        "kind": target["kind"],
        "protocol": target["protocol"],
        "url": target.get("base_url"),
        "settings": target.get("settings") or {},
    }
    return {**descriptor, "digest": target_digest(descriptor)}


def _first_questions(method: AnyMethod, seed: int) -> list[Ask]:
    """List what an experiment asks first, also where the job has its answers already."""
    return [probe.ask for probe in next(method.design(generator(seed)), ())]


def _recall(database: Database, job_id: str, units: Sequence[str]) -> dict[str, Observation]:
    with database.read() as connection:
        return observations.recall(connection, job_id, units)


def _stage(workplace: Workplace, claim: Claim, stage: str) -> None:
    with workplace.database.write() as connection:
        jobs.stage(connection, claim, stage)


@dataclass
class StoreLedger:
    """Keeps answers in the database, under the claim's fence."""

    workplace: Workplace
    claim: Claim

    def record(self, answers: Sequence[Answered], *, calls: int, expected: int) -> None:
        """Keep some answers in one transaction and tell how far the job is."""
        entries = [LedgerEntry(each.observation, each.attempts, each.elapsed_ms) for each in answers]
        start = time.perf_counter()
        with self.workplace.database.write() as connection:
            job = jobs.record(connection, self.claim, entries, calls=calls, expected=expected, stage="asking")
        self.workplace.meter.recorded(time.perf_counter() - start)
        self.workplace.on_progress(job.asked, job.expected)


def _finish(workplace: Workplace, claim: Claim, method: AnyMethod, document: dict[str, Any]) -> None:
    """Store the rating, what was written for it, the job's end and its notices together, or none of them."""
    job = claim.job
    made = () if job.author is None else authored.collect(workplace.database, job, method)
    rating = NewRating(
        tenant=job.tenant,
        target_id=job.target_id,
        target=document["target"],
        method=document["method"],
        attribute=document["attribute"],
        letter=document["letter"],
        declared=document["declared"],
        visibility=job.visibility,
        document=document,
        methodology_version=METHODOLOGY_VERSION,
        request_digest=job.request_digest,
        valid_for_s=workplace.settings.rating_valid_days * 86_400,
    )
    with workplace.database.write() as connection:
        jobs.finish(connection, claim, rating, ("job.succeeded",))
        if made:
            authored.keep(connection, job, made)
