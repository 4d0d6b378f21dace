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


async def certificate_of(service: Service, rating: StoredRating) -> Certificate:
    """Return a rating's certificate; sign it if no worker has done so.

    Raises
    ------
    SigningUnavailable
        If a key outside the database cannot sign now.
    """
    stored = await service.database.read(certificates.find, rating.id)
    if stored is not None:
        return stored
    key = await signing_key(service)
    envelopes = await asyncio.to_thread(certificates.envelopes_of, key, rating)
    return await service.database.write(certificates.keep, rating.id, key.id, envelopes)


async def signing_key(service: Service) -> SigningKey:
    """Return the current signing key."""
    with _opening_the_key():
        stored = await service.database.read(signing.find, service.vault)
        return await service.database.write(signing.current, service.vault) if stored is None else stored


async def published_keys(service: Service) -> list[PublicKey]:
    """Return all signing keys, retired ones included."""
    return await service.database.read(signing.every)


@contextmanager
def _opening_the_key() -> Iterator[None]:
    """Raise ``signing-key-lost`` if the signing key cannot be decrypted."""
    try:
        yield
    except (SecretLost, SecretMoved):
        raise Problem("signing-key-lost") from None
