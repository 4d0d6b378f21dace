"""The service about itself."""

from __future__ import annotations

from service.http.openapi.common_schemas import Told
from service.ratings.schemas import Methodology


class InfoView(Told):
    """What this service is."""

    name: str
    version: str
    methodology: Methodology
    keys_needed: bool
    """Whether requests need an API key."""
    methods: list[str]
    protocols: list[str]
    report_formats: list[str]
    documentation: str
    openapi: str


class RateView(Told):
    """A limit on new work over time."""

    limit: int
    window_s: int
    remaining: int
    reset_s: int


class ActiveView(Told):
    """A limit on jobs that are queued or running."""

    limit: int
    used: int


class LimitsView(Told):
    """What you may use, and how much of it is left."""

    new_jobs: RateView
    active_jobs: ActiveView
    body_bytes: int
    upload_bytes: int
    page_rows: int
    wait_s: int
    deadline_s: int
    calls_a_job: int


class Health(Told):
    """The service's state."""

    status: str
