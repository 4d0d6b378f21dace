"""Tables of suites and schedules."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, Float, ForeignKey, Index, Integer, Table

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, metadata

suites = Table(
    "suites",
    metadata,
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("target_url", AnyText),
    *required(Json, "target", "request"),
    Column("callback_url", AnyText),
    Column("visibility", AnyText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("target", "request", "callback_url")},
)

suite_cells = Table(
    "suite_cells",
    metadata,
    Column("suite_id", AnyText, ForeignKey("suites.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    *required(AnyText, "method", "attribute"),
    Column("label", AnyText, nullable=False),  # a language, a specification, …; empty for the method's default
    Column("job_id", AnyText, nullable=False),
    Index(None, "job_id"),
)

schedules = Table(
    "schedules",
    metadata,
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name"),
    Column("request", Json, nullable=False),
    Column("cron", AnyText),
    Column("interval_s", BigInteger),
    Column("state", AnyText, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("last_at", BigInteger),
    *optional(AnyText, "last_job_id", "last_failure", "key_id"),
    Column("version", Integer, nullable=False),
    *required(BigInteger, "created_at", "updated_at"),
    Column("removed_at", BigInteger),
    CheckConstraint("(cron IS NULL) <> (interval_s IS NULL)", name="one_rhythm"),
    CheckConstraint("state IN ('active', 'paused')", name="state_is_known"),
    Index(None, "state", "next_at"),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("name", "request")},
)

sentinel_runs = Table(
    "sentinel_runs",  # outcomes of the cases that a watch asked again; rows are never changed
    metadata,
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    *required(AnyText, "schedule_id", "rating_id"),
    Column("number", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    *required(Json, "outcomes", "reference"),
    Column("log_e", Float, nullable=False),
    Column("ran_at", BigInteger, nullable=False),
    Index(None, "schedule_id", "rating_id", "number", unique=True),
)
