"""Certificates: signed statements about a rating, issued at the first request and never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from assay.canonical import canonical_json
from assay.evidence.dsse import envelope
from assay.evidence.statement import PAYLOAD_TYPE, RATING, TEST_RESULT, rating_statement, result_statement
from store.core.agency_schema import certificates
from store.core.clock import read_clock
from store.core.schema import ratings
from store.ratings.ratings import StoredRating
from store.security import signing
from store.security.secrets import Vault


@dataclass(frozen=True)
class Certificate:
    """The signed statements about a rating; the signing key may be retired now.

    `envelopes` has DSSE envelopes by predicate type; only a declared letter has a test result. `created_at` is the time
    of signing, in milliseconds since 1970.
    """

    rating_id: str
    key_id: str
    envelopes: dict[str, dict[str, Any]]
    created_at: int

    @property
    def statement(self) -> dict[str, Any]:
        """The envelope of the complete statement."""
        return self.envelopes[RATING]


def find(c: Connection, rating_id: str) -> Certificate | None:
    """Read a rating's certificate (the first one, even if keys were rotated since)."""
    query = select(certificates).where(certificates.c.rating_id == rating_id)
    query = query.order_by(certificates.c.created_at, certificates.c.key_id).limit(1)
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else Certificate(row["rating_id"], row["key_id"], row["envelope"], row["created_at"])


def issue(c: Connection, vault: Vault, rating: StoredRating) -> Certificate:
    """Return a rating's certificate; sign it at the first request.

    Raises
    ------
    SecretLost, SecretMoved
        If the signing key cannot be decrypted (see `store.security.signing.current`).
    """
    # concurrent requests wait for this lock, so that a rating never has two certificates
    c.execute(select(ratings.c.id).where(ratings.c.id == rating.id).with_for_update())
    if (existing := find(c, rating.id)) is not None:
        return existing
    key = signing.current(c, vault)
    statements = {RATING: rating_statement(rating.document), TEST_RESULT: result_statement(rating.document)}
    envelopes = {
        kind: envelope(PAYLOAD_TYPE, canonical_json(one), {key.id: key.sign})
        for kind, one in statements.items()
        if one is not None
    }
    now = read_clock(c)
    row = {"rating_id": rating.id, "key_id": key.id, "envelope": envelopes, "created_at": now}
    c.execute(insert(certificates).values(row))
    return Certificate(rating.id, key.id, envelopes, now)
