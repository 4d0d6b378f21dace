"""Cache and freshness headers of every representation of a rating."""

from __future__ import annotations

from store.core.clock import iso
from store.ratings.ratings import StoredRating

FRESH_S, STALE_S = 300, 86_400
"""Seconds for which a copy is fresh, and for which it may be used during revalidation."""


def caching(*, private: bool) -> str:
    """Return the ``Cache-Control`` of a rating; a private one is read again before a copy is used."""
    return "private, no-cache" if private else f"public, max-age={FRESH_S}, stale-while-revalidate={STALE_S}"


def dated(rating: StoredRating) -> dict[str, str]:
    """Return the headers with a rating's date, expiry and methodology."""
    return {
        "X-Assay-Rated-At": iso(rating.created_at),
        "X-Assay-Expires-At": iso(rating.expires_at),
        "X-Assay-Methodology": rating.methodology_version,
    }


def headers_of(rating: StoredRating, version: str) -> dict[str, str]:
    """Return the headers of a cacheable representation of a rating; each representation has another `version`."""
    return {
        "ETag": f'"{rating.id}-{version}"',
        "Cache-Control": caching(private=rating.visibility == "private"),
        "Vary": "Authorization",
        **dated(rating),
    }
