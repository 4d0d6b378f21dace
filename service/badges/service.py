"""Rendering of badges and other embeds."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

from reports.embeds import Embed, PublicView
from service.http.json import Answer
from service.ratings.service import caching
from store.ratings.published import DatedRating

OLDEST_S = 1.0
"""Age in seconds above which a cached rating is never used, so that a badge shows a withdrawal within this time."""

POLICY = "default-src 'none'"
"""``Content-Security-Policy``: an embed loads and runs nothing."""


def render(dated_rating: DatedRating, embed: Embed, base_url: str) -> Answer:
    """Render an embed of a rating; ``unrated`` if there is none.

    The entity tag is a digest of the bytes, because the age in a badge changes without the rating.
    """
    rating = dated_rating.rating
    now = datetime.fromtimestamp(dated_rating.at / 1000, UTC)  # from milliseconds
    view = PublicView(document=None, now=now, base_url=base_url, visibility="public")
    if rating is not None:
        is_withdrawn = rating.withdrawn_at is not None
        view = replace(view, document=rating.document, visibility=rating.visibility, withdrawn=is_withdrawn)
        if (standing := dated_rating.standing) is not None:
            view = replace(view, requester=standing.requester, host_proved=standing.host_proved)
            view = replace(view, objects=dated_rating.objects, changed_since=standing.changed_since)
    body = embed.render(view).encode()
    return Answer(200, body, {"Content-Type": embed.media_type, **_cache_headers(body, view), **_date_headers(view)})


def _cache_headers(body: bytes, view: PublicView) -> dict[str, str]:
    private = view.visibility == "private"
    return {
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Cache-Control": caching(private=private),
        "Content-Security-Policy": POLICY,
        # lets scripts on other websites, such as a catalog, read public embeds
        **({"Vary": "Authorization"} if private else {"Access-Control-Allow-Origin": "*"}),
    }


def _date_headers(view: PublicView) -> dict[str, str]:
    facts = view.known_facts
    headers = {
        "X-Assay-Rated-At": facts.get("rated_at"),
        "X-Assay-Expires-At": facts.get("expires_at"),
        "X-Assay-Methodology": facts.get("methodology"),
    }
    return {name: value for name, value in headers.items() if value is not None}
