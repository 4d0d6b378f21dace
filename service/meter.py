"""What is counted, for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

STATUSES = ("queued", "running", "succeeded", "failed", "cancelled")


class Meter:
    """The service's counters, in a registry of their own so that two services can share a process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "assay_http_requests_total", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._latency = Histogram(
            "assay_http_request_seconds", "Time to the last byte.", ("method", "route"), registry=self.registry
        )
        self._jobs = Gauge("assay_jobs", "Jobs in the database.", ("status",), registry=self.registry)
        self._oldest = Gauge(
            "assay_oldest_due_job_seconds", "How long the oldest due job has waited.", registry=self.registry
        )
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

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request; `route` is the template of its path."""
        self._requests.labels(method, route, str(status)).inc()
        self._latency.labels(method, route).observe(seconds)

    def exposition(self, jobs: Mapping[str, int], oldest_due_age_s: float | None) -> bytes:
        """Write everything in Prometheus's text format, with the job counts read just now."""
        for status in STATUSES:
            self._jobs.labels(status).set(jobs.get(status, 0))
        self._oldest.set(oldest_due_age_s or 0.0)
        return generate_latest(self.registry)
