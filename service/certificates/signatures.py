"""Certificates of ratings, and the agency's signing keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from service.dependencies import Service
from service.http.problems import Problem
from store.core.errors import SecretLost, SecretMoved
from store.ratings import certificates
from store.ratings.certificates import Certificate
from store.ratings.ratings import StoredRating
from store.security import signing
from store.security.signing import PublicKey, SigningKey


async def certificate_of(here: Service, rating: StoredRating) -> Certificate:
    """Return a rating's certificate; sign it if no worker has done so.

    Raises
    ------
    SigningUnavailable
        If a key outside the database cannot sign now.
    """
    known = await here.database.read(certificates.find, rating.id)
    if known is not None:
        return known
    key = await signing_key(here)
    envelopes = await asyncio.to_thread(certificates.envelopes_of, key, rating)
    return await here.database.write(certificates.keep, rating.id, key.id, envelopes)


async def signing_key(here: Service) -> SigningKey:
    """Return the current signing key."""
    with _opening_the_key():
        known = await here.database.read(signing.find, here.vault)
        return await here.database.write(signing.current, here.vault) if known is None else known


async def published_keys(here: Service) -> list[PublicKey]:
    """Return all signing keys, retired ones included."""
    return await here.database.read(signing.every)


@contextmanager
def _opening_the_key() -> Iterator[None]:
    """Raise ``signing-key-lost`` if the signing key cannot be decrypted."""
    try:
        yield
    except (SecretLost, SecretMoved):
        raise Problem("signing-key-lost") from None
