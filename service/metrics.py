"""What is counted, for Prometheus."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from store.jobs.backlog import Backlog

STATUSES = ("queued", "running", "succeeded", "failed", "cancelled")


GAUGES = {
    "oldest_due_job_seconds": "How long the oldest job that is due has waited to be taken.",
    "oldest_running_job_seconds": "How long ago the oldest running job was first taken.",
    "expired_leases": "Running jobs whose worker has fallen silent.",
    "webhook_backlog": "Notices that wait to be delivered.",
    "webhook_oldest_seconds": "How long the oldest of them has been due.",
}
"""What is read from the database for each scrape; the names are those of `store.jobs.backlog.Backlog`."""


class Meter:
    """The service's counters, in a registry of their own so that two services can share a process."""

    def __init__(self, more: Sequence[CollectorRegistry] = ()) -> None:
        self.registry, self._more = CollectorRegistry(), tuple(more)
        self._requests = Counter(
            "assay_http_requests_total", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._latency = Histogram(
            "assay_http_request_seconds", "Time to the last byte.", ("method", "route"), registry=self.registry
        )
        self._jobs = Gauge(
            "assay_jobs",
            "Unfinished jobs, and those made within a day that have ended.",
            ("status",),
            registry=self.registry,
        )
        self._gauges = {name: Gauge(f"assay_{name}", text, registry=self.registry) for name, text in GAUGES.items()}
        self.doorbell_failures = Counter(
            "assay_doorbell_failures_total",
            "Wake-up calls to a worker that failed or were dropped; the reconciler makes up for them.",
            registry=self.registry,
        )
        self.rate_storage_failures = Counter(
            "assay_rate_storage_failures_total",
            "Rate limits that were counted in this process because their storage was out of reach.",
            registry=self.registry,
        )

        self._statuses = Counter(
            "assay_status_cache_total",
            "Statuses asked for, by whether one was at hand.",
            ("outcome",),
            registry=self.registry,
        )

    def status_asked(self, outcome: str) -> None:
        """Count a question for a job's status: a ``hit`` or a ``miss`` of the cache."""
        self._statuses.labels(outcome).inc()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the template of its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def exposition(self, backlog: Backlog) -> bytes:
        """Write everything in Prometheus's text format, with what was read from the database just now."""
        for status in STATUSES:
            self._jobs.labels(status).set(backlog.jobs.get(status, 0))
        for name, gauge in self._gauges.items():
            gauge.set(getattr(backlog, name) or 0)
        return b"".join(generate_latest(registry) for registry in (self.registry, *self._more))
