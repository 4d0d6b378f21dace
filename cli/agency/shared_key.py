"""The key for stored secrets that processes of one agency share."""

from __future__ import annotations

from store.core.settings import Settings


def require_shared_key(settings: Settings) -> None:
    """Raise `ValueError` if no key for stored secrets is configured, because several processes must share one."""
    if settings.secret_key is None:
        raise ValueError(
            "processes that share a database need one key for stored secrets: set ASSAY_SECRET_KEY to the same value "
            "for all of them, made for example with `openssl rand -hex 32`"
        )
