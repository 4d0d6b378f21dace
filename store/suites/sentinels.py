"""Watches: schedules that ask a few cases of a rating again, to notice that its service changed.

The outcomes of each run are kept, and tested together (`assay.rating.sentinels`). The transaction that stores the run
of an alarm marks the rating, writes the notice and adds the job of the new rating, so that each happens once. If that
job makes no rating, the next run of the watch adds another one, until there is a new rating to watch.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from assay.canonical import described_digest
from assay.document import JsonObject
from assay.rating.sentinels import ALPHA, HORIZON, SentinelRun, evidence_of_change
from assay.references import HeldBack
from store.core.columns import iso, random_nonce, random_seed, read_clock
from store.core.engines import lock_transaction
from store.core.errors import WatchUnfit
from store.core.rows import equal
from store.jobs import jobs, runs
from store.jobs.job import UNFINISHED, NewJob, Status, request_digest
from store.jobs.jobs import Claim, Job
from store.jobs.tables import jobs as job_rows
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, parse_method
from store.ratings.ratings import StoredRating
from store.ratings.tables import service_changes
from store.suites.tables import sentinel_runs
from store.targets.targets import TargetChanged, TargetRemoved, describe_now
from store.webhooks.outbox import add_notice

CHANGED = "service.changed"

NO_JOB_ID = ""
"""Text in place of the id of a re-rating's job, if that job could not be added."""

UNFIT = (TargetRemoved, TargetChanged, WatchUnfit)
"""Errors which mean that the request of a rating cannot be repeated as a new job."""


class Watch(NamedTuple):
    """The `experiment` of a job of kind ``watch``: ids of its schedule and of the rating; number of cases to ask."""

    schedule: str
    rating: str
    cases: int


class Change(NamedTuple):
    """A change of the service that a watch noticed; the service is rated again, but there is no new rating yet."""

    since: int
    job_id: str
    """Id of the job, a run of a watch, that noticed the change."""
    rerating_job_id: str
    failure: str | None
    """Reason why the re-rating ended without a rating; ``None`` while it is under way."""


class NoticedChange(NamedTuple):
    """A change of a service that a watch noticed, and the job of the new rating."""

    rating_id: str
    """Id of the rating from before the change."""
    since: int
    rerating_job_id: str
    rerating_status: Status | None
    """Status of the job of the new rating; ``None`` if that job could not be added."""


def newest_changes(c: Connection, schedule_ids: Sequence[str]) -> dict[str, NoticedChange]:
    """Read the newest change that each watch noticed, by the watch's id."""
    if not schedule_ids:
        return {}
    change, run = service_changes.c, sentinel_runs.c
    columns = (run.schedule_id, change.rating_id, change.since, change.rerating_job_id, job_rows.c.status)
    changes_with_runs = service_changes.join(sentinel_runs, run.job_id == change.job_id)
    query = select(*columns).select_from(changes_with_runs.outerjoin(job_rows, job_rows.c.id == change.rerating_job_id))
    query = query.where(run.schedule_id.in_(schedule_ids)).order_by(change.noticed_at)  # newer ones replace older ones
    return {schedule_id: NoticedChange(*row) for schedule_id, *row in c.execute(query)}


def watched_rating(c: Connection, rating_id: str, tenant: str) -> StoredRating:
    """Return the rating that is watched: the named one or, after changes, the newest re-rating.

    Raise `WatchUnfit` if the tenant has no such rating, it was withdrawn, or a re-rating has not ended with a rating.
    """
    rating, change = _latest_rating(c, rating_id, tenant)
    if change is not None:
        reason = change.failure or f"the new rating (job {change.rerating_job_id}) is not there yet"
        raise WatchUnfit(f"the service changed, and {reason}")
    return rating


def _latest_rating(c: Connection, rating_id: str, tenant: str) -> tuple[StoredRating, Change | None]:
    """Return the newest re-rating of a rating (or itself), and the change that is not rated again yet (or ``None``)."""
    rating = ratings.find(c, rating_id, tenant)
    if rating is None or rating.tenant != tenant:
        raise WatchUnfit(f"you have no rating {rating_id}")
    columns = (service_changes.c[name] for name in ("since", "job_id", "rerating_job_id"))
    row = c.execute(select(*columns).where(service_changes.c.rating_id == rating.id)).one_or_none()
    rerating = None if row is None else jobs.find(c, row.rerating_job_id, tenant)
    if rerating is not None and rerating.rating_id is not None:
        return _latest_rating(c, rerating.rating_id, tenant)
    change = None if row is None else Change(row.since, row.job_id, row.rerating_job_id, _failure_of(rerating))
    # a withdrawn rating may wait for the re-rating under way, but is neither watched nor rated again
    if rating.withdrawn_at is not None and (change is None or change.failure is not None):
        raise WatchUnfit(f"the rating {rating.id} was withdrawn")
    return rating, change


def _failure_of(rerating: Job | None) -> str | None:
    """Return a clause that says why a re-rating ended without a new rating; ``None`` if it has not ended."""
    if rerating is None:
        return "its new rating could not be started"
    if rerating.status in UNFINISHED:
        return None
    reason = (rerating.error or {}).get("detail")
    return f"its new rating (job {rerating.id}) {'was cancelled' if reason is None else f'failed: {reason}'}"


def add_run(c: Connection, watch: Watch, tenant: str, key_id: str | None) -> Job:
    """Add the job of one run of a watch; after a change whose re-rating failed, that is another re-rating.

    In this case, a further notice about the change names the new job, and why the previous one failed; its `log_e` is
    the logarithm of the evidence. Raises as `watch_job`.
    """
    rating, change = _latest_rating(c, watch.rating, tenant)
    if change is not None and change.failure is not None:
        lock_transaction(c, f"watch:{rating.id}")
        rating, change = _latest_rating(c, rating.id, tenant)  # another watch may have added the job meanwhile
    if change is None or change.failure is None:
        return jobs.add(c, watch_job(c, watch, tenant, key_id))
    rerating = jobs.add(c, repeat_job(c, rating, key_id))
    of_rating = service_changes.c.rating_id == rating.id
    c.execute(update(service_changes).where(of_rating).values(rerating_job_id=rerating.id))
    log_e = c.execute(select(sentinel_runs.c.log_e).where(sentinel_runs.c.job_id == change.job_id)).scalar_one_or_none()
    _announce_change(c, rerating.id, rating, watch.schedule, log_e, change._replace(rerating_job_id=rerating.id))
    return rerating


def check_rest(c: Connection, schedule_id: str, tenant: str, last_job_id: str | None, rest_s: int) -> None:
    """Raise `WatchUnfit` while the last run of a watch is under way, and for `rest_s` seconds after a stored run."""
    last_job = None if last_job_id is None else jobs.find(c, last_job_id, tenant)
    if last_job is not None and last_job.kind == "watch" and last_job.status in UNFINISHED:
        raise WatchUnfit(f"the last run (job {last_job.id}) has not ended; wait for it")
    query = select(func.max(sentinel_runs.c.ran_at)).where(sentinel_runs.c.schedule_id == schedule_id)
    ran_at = c.execute(query).scalar_one()
    if ran_at is not None and (wait_s := rest_s - (read_clock(c) - ran_at) // 1000) > 0:
        raise WatchUnfit(f"the last run was less than {rest_s} s ago; wait {wait_s} s, or for the next scheduled run")


def watch_job(c: Connection, watch: Watch, tenant: str, key_id: str | None) -> NewJob:
    """Return the job that asks cases of a watched rating again; raise errors as `watched_rating` and `repeat_job`."""
    rating = watched_rating(c, watch.rating, tenant)
    job = repeat_job(c, rating, key_id)
    experiment = watch._replace(rating=rating.id)._asdict()
    digest = request_digest(tenant, job.target_id, job.target, {"watch": experiment}, job.seed)
    # no nonce: only jobs that measure a rating commit to their experiment and seed
    values: JsonObject = {"experiment": experiment, "request_digest": digest, "nonce": "", "expected": watch.cases}
    return replace(job, kind="watch", visibility="private", **values)


def repeat_job(c: Connection, rating: StoredRating, key_id: str | None) -> NewJob:
    """Return a new job for the request of a rating, with a new seed and without unpublished (held-back) material.

    Raise `WatchUnfit` if that rating's job had an author or judge, or its own secret, or its target changed since;
    other errors as `describe_now`.
    """
    job = jobs.find(c, rating.job_id, rating.tenant)
    if job is None or job.author is not None:
        raise WatchUnfit("a rating with an author or a judge cannot be watched; schedule it to be rated again")
    if job.sealed_secret is not None:
        raise WatchUnfit("the target's secret was sent with the request; save the target and rate it again")
    target = describe_now(c, rating.tenant, job.target_id, job.target)
    if described_digest(target) != described_digest(job.target):
        raise WatchUnfit("the target is described otherwise than when it was rated; rate it again")
    experiment = dump_method(parse_method(job.experiment or {}).with_held_back(HeldBack()))
    seed = random_seed()
    return NewJob(
        **{name: getattr(job, name) for name in ("tenant", "target_id", "max_calls", "expected")},
        kind="rating",
        target=target,
        sealed_secret=None,
        experiment=experiment,
        request_digest=request_digest(rating.tenant, job.target_id, target, experiment, seed),
        seed=seed,
        nonce=random_nonce(),
        visibility=rating.visibility,
        callback_url=None,
        key_id=key_id,
        deadline_s=(job.deadline_at - job.created_at) // 1000,
    )


def runs_of(c: Connection, watch: Watch) -> tuple[list[SentinelRun], list[int]]:
    """Read a watch's runs since its current test began, and their times in ms; a test ends after `HORIZON` runs."""
    run = sentinel_runs.c
    query = select(run.seed, run.outcomes, run.reference, run.ran_at).order_by(run.number)
    rows = c.execute(query.where(run.schedule_id == watch.schedule, run.rating_id == watch.rating)).all()
    current_rows = rows[len(rows) // HORIZON * HORIZON :]  # without those of complete tests
    runs_of_test = [SentinelRun(row.seed, row.outcomes, row.reference) for row in current_rows]
    return runs_of_test, [row.ran_at for row in current_rows]


def finish(c: Connection, claim: Claim, run: SentinelRun) -> None:
    """Store a run, test it with the earlier runs, end its job; if they now show a change, add a job to rate again."""
    job = jobs.hold(c, claim)
    watch, now = Watch(**(claim.job.experiment or {})), read_clock(c)
    lock_transaction(c, f"watch:{watch.rating}")
    earlier_runs, earlier_times = runs_of(c, watch)
    if earlier_runs:  # the first run's cases, and its reference (their outcomes in the rating), count for all runs
        run = replace(run, outcomes={key: run.outcomes.get(key) for key in earlier_runs[0].outcomes}, reference={})
    evidence = evidence_of_change([*earlier_runs, run])
    is_same_watch = equal(sentinel_runs, schedule_id=watch.schedule, rating_id=watch.rating)
    run_number = select(func.count() + 1).where(*is_same_watch)
    row = {"job_id": job.id, "schedule_id": watch.schedule, "rating_id": watch.rating, "ran_at": now, "seed": run.seed}
    row |= {"outcomes": dict(run.outcomes), "reference": dict(run.reference), "log_e": evidence.log_e}
    c.execute(insert(sentinel_runs).values(row | {"number": run_number.scalar_subquery()}))
    since = None if evidence.since is None else [*earlier_times, now][evidence.since]  # time of the run with this index
    rerating_job_id = None if since is None else _note_change(c, job, watch, evidence.log_e, since, now)
    result: JsonObject = {"rating": watch.rating, "run": len(earlier_runs) + 1, "cases": len(run.outcomes)}
    result |= {"lost": list(run.outcomes.values()).count(None), "log_e": evidence.log_e, "alpha": ALPHA}  # None: lost
    result |= {"changed_since": None if since is None else iso(since), "rerating_job": rerating_job_id}
    runs.finish_with(c, claim, "watched", result)


def _note_change(c: Connection, job: Job, watch: Watch, log_e: float, since: int, now: int) -> str | None:
    """Unless done before: record and announce a change (since `since`), add a re-rating, and return its job's id."""
    query = select(service_changes.c.rating_id).where(service_changes.c.rating_id == watch.rating)
    rating = ratings.find(c, watch.rating, job.tenant)
    if c.execute(query).first() is not None or rating is None:
        return None
    change = Change(since, job.id, rerating_job_id=NO_JOB_ID, failure=None)
    try:
        change = change._replace(rerating_job_id=jobs.add(c, repeat_job(c, rating, job.key_id)).id)
    except UNFIT as error:
        change = change._replace(failure=str(error))
    ids = {"job_id": job.id, "rerating_job_id": change.rerating_job_id}
    c.execute(insert(service_changes).values(rating_id=rating.id, since=since, noticed_at=now, **ids))
    _announce_change(c, job.id, rating, watch.schedule, log_e, change)
    return change.rerating_job_id or None


def _announce_change(
    c: Connection, job_id: str, rating: StoredRating, schedule_id: str, log_e: float | None, change: Change
) -> None:
    """Write the notice of a change as a notice about the job `job_id` (a run of the watch, or a later re-rating).

    Its fact ``job_id`` is always the run that noticed the change. `log_e` is the logarithm of the evidence (e-value).
    """
    facts: JsonObject = {"method": rating.method, "attribute": rating.attribute, "log_e": log_e}
    facts |= {"since": iso(change.since), "job_id": change.job_id, "rerating_job_id": change.rerating_job_id or None}
    add_notice(c, job_id, CHANGED, {**rating.notice, **facts, "failure": change.failure, "schedule_id": schedule_id})
