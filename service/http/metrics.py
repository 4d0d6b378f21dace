"""Prometheus metrics of the service."""

from collections.abc import Callable, Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from store.jobs.backlog import Backlog

STATUSES = ("queued", "running", "succeeded", "failed", "cancelled")

GAUGES = {
    "oldest_due_job_seconds": "Seconds for which the oldest job that is due has waited for a worker.",
    "oldest_running_job_seconds": "Seconds since the oldest running job was first claimed by a worker.",
    "expired_leases": "Running jobs whose worker has stopped sending heartbeats.",
    "webhook_backlog": "Notices that wait for delivery.",
    "webhook_oldest_seconds": "Seconds for which the oldest waiting notice has been due.",
}
"""Gauges read from the database at each scrape; the names are the fields of `store.jobs.backlog.Backlog`."""


class Meter:
    """Metrics of one service, in a Prometheus registry of its own, because two services can share a process."""

    def __init__(self, registries: Sequence[CollectorRegistry] = ()) -> None:
        self.registry, self._more_registries = CollectorRegistry(), tuple(registries)
        self._counter = partial(Counter, registry=self.registry)
        self._requests = self._counter("assay_http_requests_total", "Requests answered.", ("method", "route", "status"))
        self._latency = Histogram(
            "assay_http_request_seconds", "Time to the last byte.", ("method", "route"), registry=self.registry
        )
        self._jobs = Gauge(
            "assay_jobs",
            "Unfinished jobs, and finished ones that were created within the last day.",
            ("status",),
            registry=self.registry,
        )
        self._gauges = {name: Gauge(f"assay_{name}", text, registry=self.registry) for name, text in GAUGES.items()}
        self.doorbell_failures = self._counter(
            "assay_doorbell_failures_total",
            "Wake-up calls to a worker that failed or were dropped; the reconciler dispatches their jobs.",
        )
        self.rate_storage_failures = self._counter(
            "assay_rate_storage_failures_total",
            "Rate limits that were counted in this process because their storage was unreachable.",
        )
        self.replica_fallbacks = self._counter(
            "assay_replica_fallbacks_total",
            "Public reads that the primary database served because the replica was not current.",
        )
        self.count_status = self._outcome_counter(
            "assay_status_cache_total",
            "Job statuses: look-ups, by hit or miss of the cache, and reads of the database.",
        )
        self.count_embed = self._outcome_counter(
            "assay_embeds_total",
            "Look-ups of badges and other embeds (hit, miss), and reads of the database for them (read).",
        )

    def _outcome_counter(self, name: str, text: str) -> Callable[[str], None]:
        """Return a function that counts a ``hit``, ``miss`` or ``read`` of a cache; `text` is the metric's help."""
        counter = self._counter(name, text, ("outcome",))
        return lambda outcome: counter.labels(outcome).inc()

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the template of its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def exposition(self, backlog: Backlog) -> bytes:
        """Return all metrics in Prometheus's text format; `backlog` has the current numbers of jobs and notices."""
        for status in STATUSES:
            self._jobs.labels(status).set(backlog.jobs.get(status, 0))
        for name, gauge in self._gauges.items():
            gauge.set(getattr(backlog, name) or 0)
        return b"".join(generate_latest(registry) for registry in (self.registry, *self._more_registries))
