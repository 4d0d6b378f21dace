"""Settings from environment variables ``ASSAY_*``. No other module reads the environment.

The defaults suit the embedded service on one machine.
"""

from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, Json, SecretStr, StringConstraints, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from assay.evidence.checkpoint import ED25519
from assay.evidence.cosignature import COSIGNATURE, VerifierKey
from store.security.rights import Rule

Network = IPv4Network | IPv6Network
SHORTEST_SECRET_KEY = 16


class Settings(BaseSettings):
    """Settings, read from ``ASSAY_<NAME>`` when the object is created.

    The `pydantic.ValidationError` for an invalid variable names the variable, but not its value.
    """

    model_config = SettingsConfigDict(env_prefix="ASSAY_", extra="ignore", frozen=True, hide_input_in_errors=True)

    # Storage
    data_dir: Path = Field(Path.home() / ".assay", description="Directory of the embedded database and secret key")
    database_url: str | None = Field(None, description="postgresql://… or sqlite:////path; unset: assay.db in data_dir")
    replica_url: Annotated[str, StringConstraints(pattern="^postgres(ql)?://")] | None = Field(
        None, description="Read-only replica of database_url, postgresql://…, for public data; unset: database_url"
    )
    replica_max_lag_s: float = Field(
        30, gt=0, description="Age of a publication above which a replica without it is not read"
    )
    broker_url: str | None = Field(None, description="Celery broker, redis:// or amqp://…; unset: an embedded worker")
    limits_url: Annotated[str, StringConstraints(pattern="^rediss?://")] | None = Field(
        None, description="Redis in which all processes count rates and calls; unset: broker_url if that is Redis"
    )

    # Secrets
    secret_key: SecretStr | None = Field(
        None, description="Encrypts the secrets of targets; unset: a key file in data_dir"
    )
    secret_key_older: SecretStr = Field(SecretStr(""), description="Comma-separated former keys, used only to decrypt")

    # The signing key outside the database, and witnesses of the log
    signing_key_file: Path | None = Field(None, description="Ed25519 signing key, PEM (PKCS#8); unset: in the database")
    signing_command: str | None = Field(
        None, description="Program that signs standard input and prints the signature in base64, for a KMS or PKCS#11"
    )
    signing_public_key_file: Path | None = Field(None, description="Public key of signing_command, PEM")
    witnesses: str = Field("", description="Witnesses of the log: `URL VERIFIER-KEY`, separated by commas")
    witnessed_logs: str = Field("", description="Verifier keys of other logs that this agency cosigns, comma-separated")

    # The HTTP service
    host: str = Field("127.0.0.1", description="Address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 lets the system choose")
    trusted_proxies: str = Field(
        "127.0.0.0/8,::1", description="Comma-separated CIDRs of proxies whose X-Forwarded-For and -Proto are believed"
    )
    public_url: str | None = Field(None, description="Public URL of the service; unset: taken from each request")
    auth: Literal["auto", "keys", "none"] = Field(
        "auto", description="Whether API keys are required; auto: yes, except embedded and on loopback only"
    )
    contact: str | None = Field(
        None, max_length=200, description="Whom to ask for access, on the sign-in page: an e-mail address, or words"
    )
    oidc_issuer: str | None = Field(None, description="OpenID Connect provider of people's accounts; unset: keys only")
    oidc_client_id: str | None = Field(None, description="Client id of this agency at the provider")
    oidc_client_secret: SecretStr | None = Field(None, description="Client secret; unset: a public client (PKCE only)")
    oidc_rules: Annotated[Json[tuple[Rule, ...]], BeforeValidator(lambda value: value or "[]")] = Field(
        (), description="Who may do what: JSON list of claim, value, tenant and scopes; the first that holds counts"
    )
    oidc_scopes: str = Field("openid profile email", description="Scopes that are requested of the provider")
    oidc_name: str = Field("your organisation", min_length=1, description="Name of the provider on the sign-in page")
    max_body_bytes: int = Field(1 << 20, gt=0, description="Largest request body")
    max_upload_bytes: int = Field(64 << 20, gt=0, description="Largest file that may be uploaded")
    storage_quota_bytes: int = Field(10 << 30, gt=0, description="Maximum size of everything that a tenant stores")
    upload_quota_bytes: int = Field(1 << 30, gt=0, description="Maximum size of all uploads of a tenant")
    idempotency_h: int = Field(24, gt=0, description="Hours for which responses to an Idempotency-Key are stored")
    job_rate: str = Field("1200/minute", description="Rate limit of new jobs per tenant")
    upload_rate: str = Field("300/hour", description="Rate limit of uploads and pictures per tenant")
    call_rate: str = Field(
        "60/minute",
        description="Rate limit of probes, pings, redeliveries, challenges and checks of domains per tenant",
    )
    download_rate: str = Field(
        "120/minute", description="Rate limit of reports, exports and comparisons per address of callers without a key"
    )
    write_rate: str = Field("1200/minute", description="Rate limit of other requests that change something, per tenant")
    visit_rate: str = Field("1200/minute", description="Rate limit of public pages per address of a visitor")
    sign_in_rate: str = Field("60/minute", description="Rate limit of attempts to sign in per address of a visitor")
    status_cache_s: float = Field(
        0.25, ge=0, le=5, description="Seconds for which a job's status is cached; 0: no cache"
    )
    badge_cache_s: float = Field(
        0.5, ge=0, le=1, description="Seconds for which a badge's rating is cached; 0: no cache"
    )
    max_active_jobs: int = Field(500, gt=0, description="Maximum queued and running jobs per tenant")
    max_streams: int = Field(
        200, gt=0, description="Maximum open event streams and long waits per tenant in each process; per key, half"
    )
    max_running_jobs: int | None = Field(
        None,
        gt=0,
        description="Maximum running jobs per tenant; unset: three quarters of all workers' slots, without keys all",
    )
    longest_deadline_s: int = Field(86_400, gt=0, description="Maximum deadline of a job")
    rating_valid_days: int = Field(90, gt=0, description="Days after which a rating expires")
    expiring_days: float = Field(7, gt=0, description="Days before expiry at which a rating is announced")
    cooldown_s: float = Field(0, ge=0, description="Cool-down of a target after a job; 0: none")
    shortest_schedule_s: int = Field(3600, ge=1, description="Minimum time between two runs of a schedule")

    held_back: Path | None = Field(
        None, description="TOML file of frames and words that only ratings reveal; public ratings use some of them"
    )

    # Calls to targets
    egress_allow: str = Field("", description="Comma-separated CIDRs allowed besides public addresses")
    user_agent: Annotated[str, StringConstraints(pattern=r"^[!-~]([ -~]*[!-~])?$", max_length=200)] | None = Field(
        None, description="User-Agent that names the agency to rated services; unset: that of the HTTP library"
    )
    host_rate: float = Field(20, gt=0, description="Calls a second to one host by all tenants together")
    host_concurrency: int = Field(16, gt=0, le=256, description="Concurrent calls to one host by all tenants together")
    host_cooldown_s: float = Field(
        600, ge=0, description="Rest of a host between ratings by tenants that neither proved it nor send it a secret"
    )
    host_exempt: str | None = Field(
        None, description="Comma-separated CIDRs of hosts without these limits; unset: those of egress_allow"
    )
    allow_scraping: bool = Field(
        False, description="Whether targets may use deep-translator, whose requests bypass the egress guard"
    )
    response_cap_bytes: int = Field(1 << 20, gt=0, description="Maximum size of a target's response")
    call_attempts: int = Field(6, ge=1, le=10, description="Calls for one probe before it counts as failed")
    backoff_s: float = Field(0.5, gt=0, description="Maximum of the first pause between attempts; doubles each time")
    backoff_cap_s: float = Field(60, gt=0, description="Maximum pause between attempts, even if a target asks for more")
    breaker_failures: int = Field(20, gt=0, description="Consecutive failures after which a job waits for its target")
    breaker_window: int = Field(50, gt=0, description="Number of latest calls; if more than half failed, the job waits")
    breaker_delay_s: float = Field(60, gt=0, description="Seconds that a job waits for its target before it retries")

    # Webhooks
    webhook_poll_s: float = Field(1.0, gt=0, le=60, description="Seconds between polls for due notices")

    # The job engine
    worker_concurrency: int = Field(4, gt=0, description="Jobs that a worker runs concurrently")
    lease_s: float = Field(30, gt=0, description="Seconds without heartbeat after which a job can be claimed")
    heartbeat_s: float = Field(3, gt=0, description="Seconds between heartbeats, which also check for cancellation")
    reconcile_s: float = Field(5, gt=0, description="Seconds between polls for due jobs")
    redispatch_s: float = Field(15, gt=0, description="Seconds after which an unclaimed job is dispatched again")
    watchdog_s: float = Field(
        15, gt=0, description="Age of an unclaimed job at which an idle worker counts a missed message; two: exit 75"
    )
    attempt_cap: int = Field(5, gt=0, description="Consecutive attempts without a new observation before a job fails")
    ledger_replies: int = Field(20, gt=0, description="Number of replies per commit")
    ledger_s: float = Field(1.0, gt=0, description="Maximum seconds before a reply is committed")

    # The database connections of each process
    pool_size: int = Field(20, gt=0, description="Connections kept open")
    pool_overflow: int = Field(0, ge=0, description="Additional connections under load")
    pool_timeout_s: float = Field(2, gt=0, description="Seconds that a request waits for a connection before HTTP 503")

    # Logs, metrics and traces
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(str.lower)] = Field(
        "info", description="Minimum severity of logs"
    )
    metrics_host: str = Field("127.0.0.1", description="Address of a worker's metrics")
    metrics_port: int | None = Field(None, ge=0, le=65535, description="Port of a worker's metrics; unset: none")
    otel_endpoint: str | None = Field(
        None, description="OTLP/HTTP endpoint for traces, e.g. http://collector:4318; unset: no traces"
    )
    log_json: bool = Field(False, description="Log one JSON object per line instead of text")

    @field_validator("egress_allow", "host_exempt", "trusted_proxies")
    @classmethod
    def _check_networks(cls, networks: str | None) -> str | None:
        _parse_networks(networks or "")  # raises an error for an invalid network
        return networks

    @field_validator(
        *("secret_key", "database_url", "replica_url", "broker_url", "limits_url", "public_url", "metrics_port"),
        *("otel_endpoint", "signing_key_file", "signing_command", "signing_public_key_file"),
        *("contact", "oidc_issuer", "oidc_client_id", "oidc_client_secret", "held_back"),
        mode="before",
    )
    @classmethod
    def _empty_is_absent(cls, value: object) -> Any:
        return value or None

    @field_validator("secret_key")
    @classmethod
    def _check_key_length(cls, secret_key: SecretStr | None) -> SecretStr | None:
        if secret_key is not None and len(secret_key) < SHORTEST_SECRET_KEY:
            raise ValueError(
                f"a secret key of {len(secret_key)} characters can be guessed; use one of at least "
                f"{SHORTEST_SECRET_KEY}, for example from `openssl rand -hex 32`"
            )
        return secret_key

    @model_validator(mode="after")
    def _keys_are_complete(self) -> Self:
        _ = self.log_witnesses, self.witnessed_keys  # parsed here, so that an invalid value prevents the start
        if self.signing_key_file is not None and self.signing_command is not None:
            raise ValueError("set signing_key_file or signing_command, not both")
        if (self.signing_command is None) != (self.signing_public_key_file is None):
            raise ValueError("signing_command and signing_public_key_file must be set together, or both left out")
        return self

    @model_validator(mode="after")
    def _sign_in_is_complete(self) -> Self:
        is_set_by_name = {name: bool(getattr(self, name)) for name in ("oidc_issuer", "oidc_client_id", "oidc_rules")}
        if not any(is_set_by_name.values()) and self.oidc_client_secret is None:
            return self
        is_set_by_name["public_url"] = bool(self.public_url)
        missing = [name for name, is_set in is_set_by_name.items() if not is_set]
        if missing:
            raise ValueError(f"sign-in with OpenID Connect also needs {', '.join(missing)}")
        for name in ("oidc_issuer", "public_url"):
            if not _is_encrypted_or_local(getattr(self, name)):
                raise ValueError(f"{name} must begin with https:// (http:// only on this machine), without ? and #")
        if "openid" not in self.oidc_scopes.split():
            raise ValueError("oidc_scopes must contain openid")
        return self

    @model_validator(mode="after")
    def _several_heartbeats_a_lease(self) -> Self:
        if self.heartbeat_s * 2 > self.lease_s:
            raise ValueError(
                f"a heartbeat every {self.heartbeat_s} s is too slow for a lease of {self.lease_s} s; "
                "set heartbeat_s to at most half of lease_s"
            )
        return self

    @property
    def resolved_database_url(self) -> str:
        """The configured database URL, or else that of a SQLite file in the data directory."""
        return self.database_url or f"sqlite:///{self.data_dir.expanduser().absolute() / 'assay.db'}"

    @cached_property
    def redis_url(self) -> str | None:
        """URL of the Redis for shared counts: `limits_url`, or else the broker's if that is Redis, or ``None``."""
        if self.limits_url is not None:
            return self.limits_url
        broker_is_redis = self.broker_url is not None and self.broker_url.startswith(("redis://", "rediss://"))
        return self.broker_url if broker_is_redis else None

    @cached_property
    def egress_networks(self) -> tuple[Network, ...]:
        """Networks to which calls are allowed besides public addresses, from `egress_allow`."""
        return _parse_networks(self.egress_allow)

    @cached_property
    def exempt_networks(self) -> tuple[Network, ...]:
        """Networks of hosts without limits on rate, concurrency and cool-down (see the setting `host_exempt`)."""
        return self.egress_networks if self.host_exempt is None else _parse_networks(self.host_exempt)

    @cached_property
    def proxy_networks(self) -> tuple[Network, ...]:
        """Networks of the proxies whose ``X-Forwarded-…`` headers are believed, from `trusted_proxies`."""
        return _parse_networks(self.trusted_proxies)

    @property
    def log_witnesses(self) -> tuple[tuple[str, VerifierKey], ...]:
        """Witnesses of the agency's log, from `witnesses`: the URL prefix for submissions and the key of each."""
        witnesses = [witness.split() for witness in _comma_separated(self.witnesses)]
        if any(len(words) != 2 or not words[0].startswith(("http://", "https://")) for words in witnesses):
            raise ValueError("each witness needs an address and a verifier key: `https://witness.example NAME+ID+KEY`")
        return tuple((url.rstrip("/"), VerifierKey.read(key, COSIGNATURE)) for url, key in witnesses)

    @property
    def witnessed_keys(self) -> tuple[VerifierKey, ...]:
        """Verifier keys of other logs that this agency cosigns as a witness, from `witnessed_logs`."""
        return tuple(VerifierKey.read(part, ED25519) for part in _comma_separated(self.witnessed_logs))

    @property
    def older_secret_keys(self) -> tuple[str, ...]:
        """Former secret keys, used only to decrypt, from `secret_key_older`."""
        return _comma_separated(self.secret_key_older.get_secret_value())

    @cached_property
    def keys_required(self) -> bool:
        """Whether callers must send an API key."""
        if self.auth == "auto":
            return self.broker_url is not None or not _is_loopback(self.host)
        return self.auth == "keys"


def _comma_separated(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _parse_networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(part, strict=False) for part in _comma_separated(text))


def _is_encrypted_or_local(url: str) -> bool:
    """Whether a URL has no query or fragment, and requests to it are encrypted or stay on this machine."""
    address = urlsplit(url)
    is_safe = address.scheme == "https" or (address.scheme == "http" and _is_loopback(address.hostname or ""))
    return is_safe and bool(address.hostname) and not address.query and not address.fragment


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
