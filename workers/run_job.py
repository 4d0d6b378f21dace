"""One job from claim to rating. Read this first, then `assay/experiment.py`.

The database holds the state of every job; a task queue only announces jobs. Each claim of a job has a number, its
fence, under which every answer is recorded. After a crash another worker claims the job, replays the recorded answers
and sends only the missing questions.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from opentelemetry import trace
from structlog.contextvars import bound_contextvars

from assay.document import NO_SERVICE, RatingDocument, as_json
from assay.experiment import Experiment, Session, generator
from assay.explain import Vocabulary
from assay.methods import AnyMethod
from assay.model import AUTHORED, JUDGES, asks_of_second
from assay.rating.decision import rate
from assay.rating.document import commitment_document, rating_document
from reports.because import because
from reports.methods import report_of
from store.jobs import jobs
from store.jobs.fair_order import Share
from store.jobs.jobs import Claim
from store.ratings.experiment_json import dump_method, parse_method
from store.ratings.ratings import NewRating
from workers.calls.driver import Driver, JobLedger, TargetUnavailable
from workers.calls.limits import Budget, Patience
from workers.engine.failure_handling import end_badly
from workers.engine.heartbeat import ALARM_S, OVERDUE_S, Heartbeat, process_alarm
from workers.engine.worker_context import WorkerContext, seconds_left, waited_s
from workers.generation import authored, corpus_sentences
from workers.job_targets import (
    USUAL_PAIRS,
    JobService,
    announced,
    describe,
    description_of,
    examine,
    hosts_of,
    open_services,
    public_form,
    with_circumstances,
)
from workers.maintenance.unrated_jobs import look_for_token, probe_service, rerate_evidence
from workers.sentinels import TaskOf, watch_task_of

log = structlog.get_logger()
tracer = trace.get_tracer("assay.workers")


def run_job(job_id: str, context: WorkerContext, owner: str) -> None:
    """Claim a job, run it to its end, and store its state; return at once if no job can start.

    `job_id` is the job that a message announced; the fair order may claim another (`store.jobs.leases.claim_next`).
    `owner` names the worker. The fence is the number of the claim: each claim of a job has a higher one.
    """
    if context.leaving.is_set():
        return
    with context.database.write() as connection:
        settings = context.settings
        claim = jobs.claim_next(connection, job_id, owner, settings.lease_s, settings.attempt_cap, Share.of(settings))
    if claim is None:
        return
    context.meter.claims.inc()
    context.meter.dispatch_s.observe(waited_s(claim))
    job_facts: dict[str, str | int] = {"job": claim.job.id, "attempt": claim.job.attempt, "fence": claim.fence}
    with bound_contextvars(**job_facts), tracer.start_as_current_span("job", attributes=job_facts) as span:
        end_state = _run_claimed(context, claim)
        span.set_attribute("left", end_state)
    context.meter.ends.labels(end_state).inc()


def _run_claimed(context: WorkerContext, claim: Claim) -> str:
    """Run a claimed job under its lease, and return its end state, such as ``succeeded`` or ``lease-lost``."""
    settings = context.settings
    log.info("job claimed", kind=claim.job.kind, owner=claim.owner)
    heartbeat = Heartbeat(
        context.database,
        claim,
        lease_s=settings.lease_s,
        every_s=settings.heartbeat_s,
        leaving=context.leaving,
        ends_in_s=seconds_left(claim) + OVERDUE_S,
        on_missed=context.meter.heartbeats_missed.inc,
    )
    try:
        # after the deadline, the heartbeat interrupts a job that did not end; later still, the alarm ends the process
        with process_alarm(seconds_left(claim) + ALARM_S), heartbeat:
            asyncio.run(_run_until_stopped(context, claim, heartbeat))
    except Exception as error:  # noqa: BLE001 - `failure_handling` distinguishes all failures
        return end_badly(context, claim, error)
    log.info("job finished")
    return "succeeded"


async def _run_until_stopped(context: WorkerContext, claim: Claim, heartbeat: Heartbeat) -> None:
    """Do the work of a job until it is done, its deadline passes, or its heartbeat stops it."""
    work = asyncio.ensure_future(_WORK_OF_KIND[claim.job.kind](context, claim))
    heartbeat.on_stop(asyncio.get_running_loop(), work.cancel)
    try:
        async with asyncio.timeout(seconds_left(claim)):
            await work
    except asyncio.CancelledError:
        heartbeat.raise_if_stopped()
        raise


async def _rate_service(context: WorkerContext, claim: Claim) -> None:
    """Rate a service: build and run the experiment, rate its finding, and store the rating in one transaction."""
    job = claim.job
    method = parse_method(job.experiment or {})
    question_count = max(job.expected, method.expected_probes())  # an earlier attempt may have found that it takes more
    pairs = method.language_pairs() or USUAL_PAIRS
    session, service = await _run_experiment(
        context, claim, lambda: method.design(generator(job.seed)), pairs, expected=question_count
    )
    assert session.finding is not None  # noqa: S101  the driver always ends with a finding
    finding = with_circumstances(session.finding, service, method)
    # the second service (author or judge) is named only if it was asked; stored texts and images need no calls
    ask_types = () if job.author is None else asks_of_second(job.author["kind"])
    second_target = job.author if any(session.sent[ask_type] for ask_type in ask_types) else None
    second_document = NO_SERVICE if second_target is None else describe(second_target)
    is_judge = second_document.kind in JUDGES
    experiment = dump_method(method)
    document = rating_document(
        rate(finding),
        vocabulary=Vocabulary.of(method),
        experiment=experiment,
        target=describe(job.target),
        seed=job.seed,
        calls=session.asked,
        failed_calls=session.failed,
        evidence_digest=session.evidence.head(),
        visibility=job.visibility,
        author=NO_SERVICE if is_judge else second_document,
        hosts=hosts_of(job.target, second_target),
        audit="announced" if await asyncio.to_thread(announced, context, job) else "unannounced",
        commitment=commitment_document(job.commitment, experiment, job.seed, job.nonce),
    )
    document = replace(document, judge=second_document if is_judge else NO_SERVICE)  # `rating_document` takes no judge
    await asyncio.to_thread(_store_rating, context, claim, method, document)


async def _run_task(task_of: TaskOf, context: WorkerContext, claim: Claim) -> None:
    """Run the job of a kind that makes no rating: to write a corpus's sentences, or to ask a rating's cases again."""
    seed = claim.job.seed
    task = await asyncio.to_thread(task_of, context.database, claim.job)
    session, _ = await _run_experiment(
        context, claim, lambda: task.experiment(seed), task.pairs, expected=claim.job.expected
    )
    await asyncio.to_thread(task.finish, context.database, claim, session.finding)


_WORK_OF_KIND: Mapping[str, Callable[[WorkerContext, Claim], Coroutine[Any, Any, None]]] = {
    "rating": _rate_service,
    "writing": partial(_run_task, corpus_sentences.task_of),
    "watch": partial(_run_task, watch_task_of),
    "probe": probe_service,
    "rerate": rerate_evidence,
    "challenge": look_for_token,
}
"""Functions that run a job, by the job's kind."""


async def _run_experiment(
    context: WorkerContext,
    claim: Claim,
    begin: Callable[[], Experiment],
    pairs: Sequence[tuple[str, str]],
    *,
    expected: int,
) -> tuple[Session, JobService]:
    """Examine the services, and run the experiment to its end; return its session and the rated service.

    Recorded answers are not asked for again. `begin` returns a new experiment, `pairs` are the language pairs of a
    translator, and `expected` is the number of questions that the first interim analysis needs, to show progress.
    """
    job, settings = claim.job, context.settings
    first_questions = [probe.ask for probe in next(begin(), ())]  # the first batch; empty if recorded choices are rated
    ledger = JobLedger(context, claim)
    async with open_services(context, job) as (service, second_service):
        await service.lane.check_cooldown(settings.breaker_delay_s)
        needs_author = any(isinstance(ask, AUTHORED) for ask in first_questions)
        if second_service is not None and (second_service.is_judge or needs_author):
            await second_service.lane.check_cooldown(settings.breaker_delay_s)
        ledger.stage("probing")
        adapter = await examine(service, second_service, first_questions, pairs, resumed=bool(job.observed))
        ledger.stage("asking")
        session = Session(begin(), ledger.recall if job.observed else None)
        driver = Driver(
            adapter,
            service.target.limits,
            Budget(job.max_calls, spent=job.calls),
            ledger,
            secret=context.vault.mark(f"keys {job.id}"),  # an HMAC: from it derive the idempotency keys of the calls
            rng=service.lane.rng,
            patience=Patience(settings.call_attempts, settings.backoff_s, cap_s=settings.backoff_cap_s),
            expected=expected,
            flush_replies=settings.ledger_replies,
            flush_s=settings.ledger_s,
            rated=service,
            second=second_service,  # without one, the rated service writes
            second_ask_types=AUTHORED if second_service is None else asks_of_second(second_service.target.kind),
        )
        try:
            await driver.run(session)
        except TargetUnavailable as unavailable:
            # the pause applies to all jobs of the target, not only to this one
            await (unavailable.lane or service.lane).start_cooldown(settings.breaker_delay_s)
            raise
        finally:
            context.meter.computing_s.observe(driver.thinking_s)
    return session, service


def _store_rating(context: WorkerContext, claim: Claim, method: AnyMethod, document: RatingDocument) -> None:
    """Store the rating, the author's sentences or images, the end of the job and its notices in one transaction."""
    job = claim.job
    authored_groups = authored.collect(context.database, job, method) if job.author is not None else ()
    public_document = public_form(method, document)
    readable_document = public_document or document
    leading_reason = because(readable_document, report_of(as_json(readable_document)))
    rating = NewRating(
        tenant=job.tenant,
        target_id=job.target_id,
        rating=document,
        request_digest=job.request_digest,
        valid_for_s=context.settings.rating_valid_days * 86_400,
        description=description_of(job, method, calls=document.calls or 0),
        public=public_document,
        because=None if leading_reason is None else leading_reason.sentence,
    )
    with context.database.write() as connection:
        jobs.finish(connection, claim, rating)
        if authored_groups:
            authored.keep(connection, job, authored_groups)
