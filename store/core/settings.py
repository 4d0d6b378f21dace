"""What the operator decides. The only module that reads the environment: ``ASSAY_*``.

Everything has a default that suits the embedded service on one machine.
"""

from __future__ import annotations

from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

Network = IPv4Network | IPv6Network
SHORTEST_SECRET_KEY = 16


class Settings(BaseSettings):
    """The operator's decisions, read from ``ASSAY_<NAME>`` when made.

    Raises
    ------
    pydantic.ValidationError
        Naming the variables that make no sense, without repeating their values.
    """

    model_config = SettingsConfigDict(env_prefix="ASSAY_", extra="ignore", frozen=True, hide_input_in_errors=True)

    # Where things are kept
    data_dir: Path = Field(Path.home() / ".assay", description="Directory of the embedded database and secret key")
    database_url: str | None = Field(None, description="postgresql://… or sqlite:////path; unset: assay.db in data_dir")
    broker_url: str | None = Field(None, description="Celery broker, redis://…; unset: a worker in this process")

    # Secrets
    secret_key: SecretStr | None = Field(None, description="Seals targets' secrets; unset: a key file in data_dir")
    secret_key_older: SecretStr = Field(
        SecretStr(""), description="Comma-separated keys that are being rotated out; they open, and seal nothing new"
    )

    # The HTTP service
    host: str = Field("127.0.0.1", description="Address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 lets the system choose")
    public_url: str | None = Field(None, description="How the world reaches the service; unset: as each request did")
    auth: Literal["auto", "keys", "none"] = Field(
        "auto", description="Whether API keys are required; auto: unless embedded and listening on loopback only"
    )
    max_body_bytes: int = Field(1 << 20, gt=0, description="Largest request body")
    max_upload_bytes: int = Field(64 << 20, gt=0, description="Largest file that may be uploaded")
    idempotency_h: int = Field(24, gt=0, description="Hours for which an Idempotency-Key is remembered")
    job_rate: str = Field("1200/minute", description="New jobs each key (without keys: tenant) may ask for over a time")
    status_cache_s: float = Field(
        0.25, ge=0, le=5, description="How old a job's status may be when it is read; 0 reads the database each time"
    )
    badge_cache_s: float = Field(
        0.5, ge=0, le=1, description="How old a badge's rating may be when it is shown; 0 reads the database each time"
    )
    max_active_jobs: int = Field(500, gt=0, description="Jobs a tenant may have queued and running")
    longest_deadline_s: int = Field(86_400, gt=0, description="Longest time a job may be given")
    rating_valid_days: int = Field(90, gt=0, description="Days after which a rating expires")
    expiring_days: float = Field(7, gt=0, description="Days before a rating expires at which that is announced")
    cooldown_s: float = Field(0, ge=0, description="Rest of a target after a job, before a tenant may ask for new work")
    shortest_schedule_s: int = Field(3600, ge=1, description="Shortest time between two runs of a schedule")

    # Calls to targets
    egress_allow: str = Field("", description="Comma-separated CIDRs that may be called beside public addresses")
    allow_scraping: bool = Field(
        False, description="Whether targets may use deep-translator, whose addresses no guard of ours checks"
    )
    response_cap_bytes: int = Field(1 << 20, gt=0, description="Largest response of a target; the rest is refused")
    call_attempts: int = Field(6, ge=1, le=10, description="Calls made for one question before it counts as failed")
    backoff_s: float = Field(0.5, gt=0, description="Upper end of the first random pause between attempts; it doubles")
    backoff_cap_s: float = Field(60, gt=0, description="Longest pause between attempts, also where a target asks more")
    breaker_failures: int = Field(20, gt=0, description="Failures in a row after which a job waits for its target")
    breaker_window: int = Field(50, gt=0, description="Latest calls of which more than half may not fail")
    breaker_delay_s: float = Field(60, gt=0, description="How long a job waits for its target before it tries again")

    # Webhooks
    webhook_poll_s: float = Field(1.0, gt=0, le=60, description="How often notices to be delivered are looked for")

    # The job engine
    worker_concurrency: int = Field(4, gt=0, description="Jobs a worker runs at a time")
    lease_s: float = Field(30, gt=0, description="Silence after which a worker's job may be claimed by another")
    heartbeat_s: float = Field(3, gt=0, description="How often a worker extends its lease and looks for cancellation")
    reconcile_s: float = Field(5, gt=0, description="How often due jobs are looked for")
    redispatch_s: float = Field(15, gt=0, description="After how long a job that no worker took is announced again")
    watchdog_s: float = Field(
        15, gt=0, description="Age of an announced job at which an idle worker suspects itself deaf; twice: exit 75"
    )
    attempt_cap: int = Field(5, gt=0, description="Attempts in a row that recorded nothing new before a job is failed")
    ledger_replies: int = Field(20, gt=0, description="Replies after which they are committed")
    ledger_s: float = Field(1.0, gt=0, description="Longest time a reply waits to be committed")

    # The database connections of each process
    pool_size: int = Field(10, gt=0, description="Connections kept open")
    pool_overflow: int = Field(10, ge=0, description="Connections opened beyond that under load")
    pool_timeout_s: float = Field(2, gt=0, description="How long a request waits for a connection before a 503")

    # What is told to operators
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severity that is logged")
    metrics_host: str = Field("127.0.0.1", description="Address at which a worker shows its metrics")
    metrics_port: int | None = Field(None, ge=0, le=65535, description="Port of a worker's metrics; unset: none")
    otel_endpoint: str | None = Field(
        None, description="Where traces are sent, OTLP over HTTP, e.g. http://collector:4318; unset: none are made"
    )
    log_json: bool = Field(False, description="Log one JSON object a line instead of text")

    @field_validator("egress_allow")
    @classmethod
    def _are_networks(cls, value: str) -> str:
        _networks(value)
        return value

    @field_validator(
        "secret_key", "database_url", "broker_url", "public_url", "metrics_port", "otel_endpoint", mode="before"
    )
    @classmethod
    def _empty_is_absent(cls, value: Any) -> Any:
        return value or None

    @field_validator("log_level", mode="before")
    @classmethod
    def _any_case(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("secret_key")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value) < SHORTEST_SECRET_KEY:
            raise ValueError(
                f"a secret key of {len(value)} characters can be guessed; make one of at least "
                f"{SHORTEST_SECRET_KEY}, for example with `openssl rand -hex 32`"
            )
        return value

    @model_validator(mode="after")
    def _several_heartbeats_a_lease(self) -> Settings:
        if self.heartbeat_s * 2 > self.lease_s:
            raise ValueError(
                f"a lease of {self.lease_s} s with a heartbeat every {self.heartbeat_s} s ends at the first delay; "
                "let heartbeat_s be at most half of lease_s"
            )
        return self

    @property
    def resolved_database_url(self) -> str:
        """The database to connect to: the one that is named, or else a file in the data directory."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser().absolute() / 'assay.db'}"

    @cached_property
    def redis_url(self) -> str | None:
        """The broker, if it is a Redis: what several processes count together is counted there."""
        redis = self.broker_url is not None and self.broker_url.startswith(("redis://", "rediss://"))
        return self.broker_url if redis else None

    @cached_property
    def egress_networks(self) -> tuple[Network, ...]:
        """`egress_allow`, read."""
        return _networks(self.egress_allow)

    @property
    def older_secret_keys(self) -> tuple[str, ...]:
        """`secret_key_older`, read."""
        return _parts(self.secret_key_older.get_secret_value())

    @cached_property
    def keys_required(self) -> bool:
        """Whether callers must show an API key."""
        if self.auth == "auto":
            return self.broker_url is not None or not _is_loopback(self.host)
        return self.auth == "keys"


def _parts(written: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in written.split(",") if part.strip())


def _networks(written: str) -> tuple[Network, ...]:
    return tuple(ip_network(part, strict=False) for part in _parts(written))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
