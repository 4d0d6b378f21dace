"""What every process of several must bring."""

from __future__ import annotations

from store.core.settings import Settings


def require_shared_key(settings: Settings) -> None:
    """Refuse to run as one of several processes with a key that only this one would have.

    Raises
    ------
    ValueError
        If there is none.
    """
    if settings.secret_key is None:
        raise ValueError(
            "processes that share a database need one key for stored secrets: set ASSAY_SECRET_KEY to the same value "
            "for all of them, made for example with `openssl rand -hex 32`"
        )
