"""Tables of ratings, their certificates, the transparency log, replies and compositions."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    UniqueConstraint,
    false,
    func,
    true,
)

from migrations.columns import optional, required
from store.core.columns import AnyText, Json, Packed, define_table

ratings = define_table(
    "ratings",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "job_id"),
    Column("target_id", AnyText),
    *required(target_url=AnyText, target=Json, method=AnyText, attribute=AnyText),
    Column("letter", AnyText),
    Column("declared", Boolean, nullable=False),
    *required(AnyText, "visibility", "methodology_version", "request_digest"),
    *required(BigInteger, "created_at", "expires_at", document=Packed),
    # the owner's document, where the public one masks counts of people
    Column("unmasked", Packed),
    *optional(withdrawn_at=BigInteger, withdrawn_why=AnyText),
    # forms of target_url in which look-ups compare it; NULL if it is empty
    *optional(AnyText, "host", "address"),
    # facts at the time of the rating; NULL for ratings of earlier versions
    *optional(AnyText, "requester", "description", host_proved=Boolean),
    UniqueConstraint("job_id"),
    Index(None, "created_at", "id"),
    Index(None, "tenant", "created_at", "id"),
    Index(None, "tenant", "target_url", "created_at", "id"),
    Index(None, "target_url", "created_at", "id"),
    # holds everything that a look-up by address compares, so that the documents are not read
    Index(
        "ix_ratings_address",
        *("address", "method", "attribute", "created_at", "id", "tenant", "visibility", "description", "withdrawn_at"),
    ),
    Index(None, "tenant", "request_digest", "created_at"),
)

service_ratings = define_table(
    "service_ratings",  # columns of each rating for rankings of services, which need not read its large document
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    # first digits of the target's digest
    *required(AnyText, "service", "kind", "method", "attribute", "tenant", "visibility"),
    *optional(AnyText, "description", "host", "address"),
    Column("created_at", BigInteger, nullable=False),
    Column("withdrawn_at", BigInteger),
    Column("masked", Boolean, nullable=False),
    # numbers of the document; NULL if they could not be read
    *optional(key_figures=Json, letter=AnyText, name=AnyText, declared=Boolean, expires_at=BigInteger),
    # false if a newer rating takes its place in every count, ranking and search (`store.ratings.standing`)
    Column("current", Boolean, nullable=False, server_default=true()),
    # name and address, in which a search looks
    Column("searched", AnyText),
    Index(None, "service", "created_at"),
)
site = func.coalesce(service_ratings.c.address, service_ratings.c.service)
"""SQL expression: address of a service, or its key if it has none; no service has two addresses."""

for leading_columns in ((), ("kind",), ("kind", "method", "attribute"), ("tenant",)):
    Index(
        "_".join(("ix_service_ratings_current", *leading_columns)),
        *(*(service_ratings.c[name] for name in leading_columns), site, service_ratings.c.rating_id),
        sqlite_where=service_ratings.c.current,
        postgresql_where=service_ratings.c.current,
    )
Index(
    "ix_service_ratings_searched",
    func.name_grams(func.lower(service_ratings.c.searched)),
    postgresql_using="gin",
    postgresql_where=service_ratings.c.current,
).ddl_if(dialect="postgresql")

unsigned_ratings = define_table(
    "unsigned_ratings",  # ratings that a worker has to sign; ratings from before this table are signed on request
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("next_attempt_at", BigInteger, nullable=False),
    Index(None, "next_attempt_at"),
)

certificates = define_table(
    "certificates",
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("key_id", AnyText, ForeignKey("signing_keys.id"), primary_key=True),
    *required(envelope=Packed, created_at=BigInteger),
)

rerated = define_table(
    "rerated",
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("methodology_version", AnyText, primary_key=True),
    Column("letter", AnyText),
    *required(declared=Boolean, document=Packed, created_at=BigInteger),
)

replies = define_table(
    "replies",
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    *required(AnyText, "tenant", "host", "text"),
    Column("link", AnyText),
    Column("created_at", BigInteger, nullable=False),
    Column("objects", Boolean, nullable=False, server_default=false()),
    # the public answer of the requester or the operator to an objection
    *optional(AnyText, "answer", "answered_by", answered_at=BigInteger),
)

compositions = define_table(
    "compositions",
    Column("id", AnyText, primary_key=True),
    *required(AnyText, "tenant", "visibility", request=Json, document=Packed, created_at=BigInteger),
    Index(None, "tenant", "created_at", "id"),
    info={"counted": ("request", "document")},
)

log_entries = define_table(
    "log_entries",
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    *required(AnyText, "rating_id", "event", entry=Json, leaf=LargeBinary, logged_at=BigInteger),
    CheckConstraint("event IN ('published', 'withdrawn')", name="event_is_known"),
    Index(None, "rating_id", "position"),
)

log_nodes = define_table(
    "log_nodes",
    Column("level", Integer, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    # hash of the subtree over the 2^level leaves that start at place * 2^level
    Column("hash", LargeBinary, nullable=False),
)

cosignatures = define_table(
    "cosignatures",  # cosignatures of witnesses for heads of this agency's log
    Column("origin", AnyText, primary_key=True),
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    Column("witness", AnyText, primary_key=True),  # verifier key of the witness
    *required(line=AnyText, created_at=BigInteger),
)

witnessed_logs = define_table(
    "witnessed_logs",  # the latest head of each log that this agency witnesses
    Column("origin", AnyText, primary_key=True),
    *required(size=BigInteger, root=LargeBinary, updated_at=BigInteger),
)

service_changes = define_table(
    "service_changes",  # ratings whose service has changed since
    Column("rating_id", AnyText, ForeignKey("ratings.id"), primary_key=True),
    Column("job_id", AnyText, nullable=False),  # the watch that noticed it
    *required(rerating_job_id=AnyText, since=BigInteger, noticed_at=BigInteger),
)
