"""Tables of suites and schedules."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Float, ForeignKey, Index, Integer

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, define_table

suites = define_table(
    "suites",
    Column("id", AnyText, primary_key=True),
    Column("tenant", AnyText, nullable=False),
    Column("target_url", AnyText),
    *required(Json, "target", "request"),
    Column("callback_url", AnyText),
    *required(visibility=AnyText, created_at=BigInteger),
    Column("ended_at", BigInteger),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("target", "request", "callback_url")},
)

suite_cells = define_table(
    "suite_cells",
    Column("suite_id", AnyText, ForeignKey("suites.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    *required(AnyText, "method", "attribute"),
    Column("label", AnyText, nullable=False),  # a language, a specification, …; empty for the method's default
    Column("job_id", AnyText, nullable=False),
    Index(None, "job_id"),
)

schedules = define_table(
    "schedules",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "name", request=Json),
    *optional(cron=AnyText, interval_s=BigInteger),
    *required(state=AnyText, next_at=BigInteger),
    Column("last_at", BigInteger),
    *optional(AnyText, "last_job_id", "last_failure", "key_id"),
    *required(version=Integer, created_at=BigInteger, updated_at=BigInteger),
    Column("removed_at", BigInteger),
    CheckConstraint("(cron IS NULL) <> (interval_s IS NULL)", name="one_rhythm"),
    CheckConstraint("state IN ('active', 'paused')", name="state_is_known"),
    Index(None, "state", "next_at"),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("name", "request")},
)

sentinel_runs = define_table(
    "sentinel_runs",  # outcomes of the cases that a watch asked again; rows are never changed
    Column("job_id", AnyText, ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    *required(AnyText, "schedule_id", "rating_id", number=Integer, seed=BigInteger),
    *required(Json, "outcomes", "reference", log_e=Float, ran_at=BigInteger),
    Index(None, "schedule_id", "rating_id", "number", unique=True),
)
