"""Table of the bytes that tenants have stored."""

from sqlalchemy import BigInteger, Column, Integer

from store.core.columns import AnyText, define_table

stored_bytes = define_table(
    "stored_bytes",  # bytes that tenants have stored (`store.quota.quota`)
    Column("tenant", AnyText, primary_key=True),
    Column("kind", AnyText, primary_key=True),
    Column("shard", Integer, primary_key=True, autoincrement=False),
    Column("bytes", BigInteger, nullable=False),
)
