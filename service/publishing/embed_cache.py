"""Cache of rendered badges and other embeds.

A badge can be on pages with a thousand views a second; it is read and rendered once for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter

from reports.embeds import Embed, Shown
from reports.embeds.public_view import face
from service.http.swr_cache import SwrCache
from service.ratings.freshness import caching
from store.ratings.published import DatedRating

OLDEST_S = 1.0
"""Age in seconds above which a cached rating is never used, so that a withdrawal shows within this time."""

POLICY = "default-src 'none'"
"""``Content-Security-Policy``: an embed loads and runs nothing."""


@dataclass(frozen=True)
class RenderedEmbed:
    """A rendered embed: its bytes and its headers.

    The entity tag is a digest of the bytes, because the age in a badge changes without the rating.
    """

    body: bytes
    headers: dict[str, str]


Key = tuple[str | None, ...]
"""The kind of look-up and its parameters, and the caller if the result depends on the caller."""

MAX_READ, MAX_RENDERED = 512, 18
"""Maximum number of cached ratings, and of embeds per rating: all formats under two addresses of the service."""


class _CachedRating:
    """A rating without its measurements, and the embeds rendered from it."""

    def __init__(self, dated_rating: DatedRating) -> None:
        rating = dated_rating.rating and replace(dated_rating.rating, document=face(dated_rating.rating.document))
        self._seen = replace(dated_rating, rating=rating)
        self._rendered: dict[tuple[str, str], RenderedEmbed] = {}

    def rendered(self, form: Embed, base_url: str) -> RenderedEmbed:
        embed = self._rendered.get((form.file, base_url))
        if embed is None:
            embed = render(self._seen, form, base_url)
            if len(self._rendered) < MAX_RENDERED:
                self._rendered[form.file, base_url] = embed
        return embed


class EmbedCache:
    """Cache of ratings and their rendered embeds.

    Parameters
    ----------
    keep_s : float
        Age in seconds above which a rating is read from the database again; 0 turns the cache off.
    registry : CollectorRegistry
        Receives the counter of hits, misses and reads.
    """

    def __init__(self, keep_s: float, registry: CollectorRegistry) -> None:
        counted = Counter(
            "assay_embeds_total",
            "Look-ups of badges and other embeds (hit, miss), and reads of the database for them (read).",
            ("outcome",),
            registry=registry,
        )
        self._ratings: SwrCache[Key, _CachedRating] = SwrCache(
            keep_s, OLDEST_S, lambda outcome: counted.labels(outcome).inc(), capacity=MAX_READ
        )

    async def get(
        self, key: Key, read: Callable[[], Awaitable[DatedRating]], form: Embed, base_url: str
    ) -> RenderedEmbed:
        """Return an embed of the rating that `read` returns; ``unrated`` if there is none.

        The `key` holds everything on which `read` depends; `base_url` is the public address of the service.
        """

        async def read_rating() -> _CachedRating:
            return _CachedRating(await read())

        return (await self._ratings.get(key, read_rating)).rendered(form, base_url)


def render(dated_rating: DatedRating, form: Embed, base_url: str) -> RenderedEmbed:
    """Render an embed of a rating."""
    rating = dated_rating.rating
    now = datetime.fromtimestamp(dated_rating.at / 1000, UTC)
    view = Shown(None, now, base_url, "public")
    if rating is not None:
        withdrawn = rating.withdrawn_at is not None
        view = Shown(rating.document, now, base_url, rating.visibility, withdrawn=withdrawn)
        if dated_rating.standing is not None:
            requester, proved = dated_rating.standing.requester, dated_rating.standing.host_proved
            view = replace(view, requester=requester, host_proved=proved, objects=dated_rating.objects)
    body = form.render(view).encode()
    return RenderedEmbed(body, {"Content-Type": form.media_type, **_caching(body, view), **_freshness(view)})


def _caching(body: bytes, view: Shown) -> dict[str, str]:
    private = view.visibility == "private"
    return {
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Cache-Control": caching(private=private),
        "Content-Security-Policy": POLICY,
        # lets scripts on other websites, such as a catalog, read public embeds
        **({"Vary": "Authorization"} if private else {"Access-Control-Allow-Origin": "*"}),
    }


def _freshness(view: Shown) -> dict[str, str]:
    facts = view.known_facts
    headers = {
        "X-Assay-Rated-At": facts.get("rated_at"),
        "X-Assay-Expires-At": facts.get("expires_at"),
        "X-Assay-Methodology": facts.get("methodology"),
    }
    return {name: value for name, value in headers.items() if value is not None}
