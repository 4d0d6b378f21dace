"""What the agency has signed, and the keys it signs with."""

from __future__ import annotations

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
    """Read a rating's certificate; the first to ask has it signed.

    Raises
    ------
    Problem
        ``signing-key-lost`` if it must be signed and the key cannot be opened.
    """
    with _opening_the_key():
        known = await here.database.read(certificates.find, rating.id)
        return await here.database.write(certificates.issue, here.vault, rating) if known is None else known


async def signing_key(here: Service) -> SigningKey:
    """Give the key that signs now.

    Raises
    ------
    Problem
        ``signing-key-lost`` if it cannot be opened.
    """
    with _opening_the_key():
        known = await here.database.read(signing.find, here.vault)
        return await here.database.write(signing.current, here.vault) if known is None else known


async def published_keys(here: Service) -> list[PublicKey]:
    """Read every key that ever signed."""
    return await here.database.read(signing.every)


@contextmanager
def _opening_the_key() -> Iterator[None]:
    try:
        yield
    except (SecretLost, SecretMoved):
        raise Problem("signing-key-lost") from None
