"""What every form of a rating carries in its headers: which one it is, how old it is, and how long a copy is good."""

from __future__ import annotations

from store.ratings.ratings import StoredRating

FRESH_S, STALE_S = 300, 86_400
"""How long a copy may be shown without asking, and while asking."""


def caching(*, private: bool) -> str:
    """Say who may keep a copy, and for how long (``Cache-Control``)."""
    return f"{'private' if private else 'public'}, max-age={FRESH_S}, stale-while-revalidate={STALE_S}"


def dated(rating: StoredRating) -> dict[str, str]:
    """Say when a rating was given, until when it holds, and by which methodology."""
    return {
        "X-Assay-Rated-At": str(rating.document["rated_at"]),
        "X-Assay-Expires-At": str(rating.document["expires_at"]),
        "X-Assay-Methodology": rating.methodology_version,
    }


def headers_of(rating: StoredRating, version: str) -> dict[str, str]:
    """Write the headers of a form of a rating that can be kept; `version` tells it from its other states and forms."""
    return {
        "ETag": f'"{rating.id}-{version}"',
        "Cache-Control": caching(private=rating.visibility == "private"),
        "Vary": "Authorization",
        **dated(rating),
    }
