"""Estimated start of a queued job, from the progress of running jobs and the fair order (`store.jobs.fair_order`)."""

from __future__ import annotations

from collections.abc import Sequence

from store.jobs.fair_order import QueueState, RunningJob, Share


def starts_in_s(tenant: str, own: int, position: int, queue: QueueState, share: Share) -> int | None:
    """Estimate the seconds until a queued job starts; ``None`` while no running job shows how long jobs take.

    `own` is the number of the tenant's jobs before it, `position` its position among all queued jobs (from 1).

    Slots become free when the running jobs end, and each job that starts before this one takes the mean time of the
    running jobs. A tenant with its share of running jobs also waits for the end of one of these.
    """
    lasting_s = [duration for job in queue.running if (duration := _duration_s(job)) is not None]
    mean_s = sum(lasting_s) / len(lasting_s) if lasting_s else None
    running = [job for job in queue.running if job.tenant == tenant]
    by_slots = _wait_s(position - 1, queue.running, max(queue.slots, share.slots), mean_s)
    by_share = _wait_s(own, running, share.limit(queue.slots), mean_s)
    return None if by_slots is None or by_share is None else round(max(by_slots, by_share))


def _wait_s(before: int, running: Sequence[RunningJob], slots: int, mean_s: float | None) -> float | None:
    """Return the seconds until a slot is free for a job with `before` jobs before it."""
    free = slots - len(running)
    if before < free:
        return 0.0
    if mean_s is None:
        return None
    ends_s = sorted(max(0.0, (_duration_s(job) or mean_s) - job.elapsed_s) for job in running)
    ends_s = [mean_s] * max(0, free) + ends_s  # the jobs before this one take the free slots at once
    rounds, number = divmod(before - max(0, free), len(ends_s))
    return rounds * mean_s + sorted(ends_s)[number]


def _duration_s(job: RunningJob) -> float | None:
    """Return the whole duration of a running job, extrapolated from its progress; ``None`` before its first answer."""
    return job.elapsed_s * max(1.0, job.expected / job.asked) if job.asked else None
