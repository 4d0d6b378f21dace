"""Certificates: a rating's statements with their signatures, made when first asked for and kept as they are."""

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
    """What was signed of a rating.

    Attributes
    ----------
    rating_id, key_id : str
        The rating; the key that signed, retired since or not.
    envelopes : dict
        A DSSE envelope by the type of its statement's predicate; only what was declared has a test result.
    created_at : int
        When it was signed, in milliseconds since 1970.
    """

    rating_id: str
    key_id: str
    envelopes: dict[str, dict[str, Any]]
    created_at: int

    @property
    def statement(self) -> dict[str, Any]:
        """The envelope of the full statement."""
        return self.envelopes[RATING]


def find(c: Connection, rating_id: str) -> Certificate | None:
    """Read a rating's certificate: the first that was made, whatever keys there have been since."""
    query = select(certificates).where(certificates.c.rating_id == rating_id)
    query = query.order_by(certificates.c.created_at, certificates.c.key_id).limit(1)
    row = c.execute(query).mappings().one_or_none()
    return None if row is None else Certificate(row["rating_id"], row["key_id"], row["envelope"], row["created_at"])


def issue(c: Connection, vault: Vault, rating: StoredRating) -> Certificate:
    """Give a rating's certificate; sign it where that was not done before.

    Parameters
    ----------
    c : Connection
        A transaction.
    vault : Vault
        Opens the signing key.
    rating : StoredRating
        What is signed: the sealed part of its document.

    Raises
    ------
    SecretLost, SecretMoved
        If the signing key cannot be opened (see `store.security.signing.current`).
    """
    # whoever asks at the same moment waits here, so that one rating never has two certificates
    c.execute(select(ratings.c.id).where(ratings.c.id == rating.id).with_for_update())
    if (known := find(c, rating.id)) is not None:
        return known
    key = signing.current(c, vault)
    stated = {RATING: rating_statement(rating.document), TEST_RESULT: result_statement(rating.document)}
    envelopes = {
        kind: envelope(PAYLOAD_TYPE, canonical_json(one), {key.id: key.sign})
        for kind, one in stated.items()
        if one is not None
    }
    made = Certificate(rating.id, key.id, envelopes, read_clock(c))
    row = {"rating_id": made.rating_id, "key_id": made.key_id, "envelope": envelopes, "created_at": made.created_at}
    c.execute(insert(certificates).values(row))
    return made
