"""Certificates: signed statements about a rating, made when the rating is finished and never changed.

A finished rating is in `unsigned_ratings` until it is signed. Ratings from before that table are signed when their
certificate is first requested.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from assay.canonical import canonical_json
from assay.document import JsonObject
from assay.evidence.dsse import envelope
from assay.evidence.statement import PAYLOAD_TYPE, RATING, TEST_RESULT, rating_statement, result_statement
from store.core.columns import now_ms, read_clock
from store.core.rows import all_rows
from store.ratings.ratings import StoredRating
from store.ratings.tables import certificates, ratings, unsigned_ratings
from store.security.signing import SigningKey

RETRY_S = 60
"""Seconds after which a failed signature is tried again."""


@dataclass(frozen=True)
class Certificate:
    """The signed statements about a rating; the signing key may be retired by now.

    `envelopes` maps types of statements to signed (DSSE) envelopes; a test result exists only for a declared letter.
    `created_at` is the time of signing, in milliseconds since 1970.
    """

    rating_id: str
    key_id: str
    envelopes: dict[str, JsonObject]
    created_at: int

    @property
    def statement(self) -> JsonObject:
        """The signed envelope of the statement with all facts of the rating."""
        return self.envelopes[RATING]


def find(c: Connection, rating_id: str) -> Certificate | None:
    """Read a rating's certificate (the first, even if keys were rotated since); ``None`` if it is not signed yet."""
    query = select(certificates).where(certificates.c.rating_id == rating_id)
    query = query.order_by(certificates.c.created_at, certificates.c.key_id).limit(1)
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else Certificate(row["rating_id"], row["key_id"], row["envelope"], row["created_at"])


def envelopes_of(key: SigningKey, rating: StoredRating) -> dict[str, JsonObject]:
    """Sign the statements about a rating, by type; call it outside transactions, because signing can take seconds.

    Raise `SigningUnavailable` if a key outside the database cannot sign now.
    """
    statements = {RATING: rating_statement(rating.rating), TEST_RESULT: result_statement(rating.rating)}
    return {
        predicate_type: envelope(PAYLOAD_TYPE, canonical_json(statement), {key.id: key.sign})
        for predicate_type, statement in statements.items()
        if statement is not None  # a rating without a declared letter is no test result
    }


def keep(c: Connection, rating_id: str, key_id: str, envelopes: dict[str, JsonObject]) -> Certificate:
    """Store a rating's certificate, unless the rating has a certificate already; return the stored certificate."""
    # concurrent requests wait for this lock, so that a rating never has two certificates
    c.execute(select(ratings.c.id).where(ratings.c.id == rating_id).with_for_update())
    if (certificate := find(c, rating_id)) is None:
        certificate = Certificate(rating_id, key_id, envelopes, read_clock(c))
        row = {"rating_id": rating_id, "key_id": key_id, "envelope": envelopes, "created_at": certificate.created_at}
        c.execute(insert(certificates).values(row))
    c.execute(delete(unsigned_ratings).where(unsigned_ratings.c.rating_id == rating_id))
    return certificate


def any_unsigned(c: Connection) -> bool:
    """Return whether a rating waits for its signature, and an attempt to sign it is due; take no lock."""
    due_ratings = select(unsigned_ratings.c.rating_id).where(unsigned_ratings.c.next_attempt_at <= now_ms())
    return c.execute(due_ratings.limit(1)).first() is not None


def take_unsigned(c: Connection, limit: int) -> list[StoredRating]:
    """Take up to `limit` ratings whose signature is due; nobody else takes them for `RETRY_S` seconds."""
    due_ratings = select(unsigned_ratings.c.rating_id).where(unsigned_ratings.c.next_attempt_at <= now_ms())
    oldest_due = due_ratings.order_by(unsigned_ratings.c.next_attempt_at).limit(limit)
    ids = c.execute(oldest_due.with_for_update(skip_locked=True)).scalars().all()
    postponement = update(unsigned_ratings).values(next_attempt_at=read_clock(c) + RETRY_S * 1000)
    c.execute(postponement.where(unsigned_ratings.c.rating_id.in_(ids)))
    return all_rows(c, select(ratings).where(ratings.c.id.in_(ids)), StoredRating)
