"""What others show of ratings, as it goes out: rendered from what was read half a second ago at the most.

A badge is on pages that are opened a thousand times a second. It is read and drawn once for all of them;
so are the few others. Nothing here ever starts work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter

from assay.reports import Embed, Shown
from assay.reports.embeds.public_view import face
from service.http.swr_cache import Moments
from service.ratings.freshness import caching
from store.ratings.published import DatedRating

OLDEST_S = 1.0
"""Age above which a reading is not given any more: so soon a rating that was withdrawn says so."""

POLICY = "default-src 'none'"
"""An embed loads nothing and runs nothing."""


@dataclass(frozen=True)
class Exhibit:
    """A form of a rating as it is sent.

    Attributes
    ----------
    body : bytes
        What is sent.
    headers : dict
        With the entity tag, and how fresh the rating is.
    """

    body: bytes
    headers: dict[str, str]

    @property
    def etag(self) -> str:
        """Names these bytes: it follows the age in a badge, which changes without the rating."""
        return self.headers["ETag"]


Key = tuple[str | None, ...]
"""What is asked for: the kind of question, and its words; the caller too where it matters who asks."""

MOST_READ, MOST_DRAWN = 512, 18
"""Readings kept, and drawings of each: its forms, under two addresses of the service."""


class _Reading:
    """What was read once, without its measurements, and everything that was drawn from it since."""

    def __init__(self, seen: DatedRating) -> None:
        rating = seen.rating and replace(seen.rating, document=face(seen.rating.document))
        self._seen = DatedRating(rating, seen.at)
        self._drawn: dict[tuple[str, str], Exhibit] = {}

    def drawn(self, form: Embed, base_url: str) -> Exhibit:
        known = self._drawn.get((form.file, base_url))
        if known is None:
            known = exhibit(self._seen, form, base_url)
            if len(self._drawn) < MOST_DRAWN:
                self._drawn[form.file, base_url] = known
        return known


class Showcase:
    """Draws ratings, and keeps what was read and drawn for a moment.

    Parameters
    ----------
    keep_s : float
        How old a reading may be before the database is asked again; 0 asks each time.
    registry : CollectorRegistry
        Shows how often the database was asked.
    """

    def __init__(self, keep_s: float, registry: CollectorRegistry) -> None:
        counted = Counter(
            "assay_embeds_total",
            "Badges and other embeds asked for (hit, miss), and ratings read from the database for them (read).",
            ("outcome",),
            registry=registry,
        )
        self._moments: Moments[Key, _Reading] = Moments(
            keep_s, OLDEST_S, lambda outcome: counted.labels(outcome).inc(), most=MOST_READ
        )

    async def show(self, key: Key, look: Callable[[], Awaitable[DatedRating]], form: Embed, base_url: str) -> Exhibit:
        """Give a form of a rating, or that there is none.

        Parameters
        ----------
        key : tuple of str
            Everything that `look` depends on.
        look : callable
            Reads the rating.
        form : Embed
            What to make of it.
        base_url : str
            How the world reaches the service.
        """

        async def read() -> _Reading:
            return _Reading(await look())

        return (await self._moments.get(key, read)).drawn(form, base_url)


def exhibit(seen: DatedRating, form: Embed, base_url: str) -> Exhibit:
    """Draw what was seen."""
    rating = seen.rating
    now = datetime.fromtimestamp(seen.at / 1000, UTC)
    shown = Shown(None, now, base_url, "public")
    if rating is not None:
        shown = Shown(rating.document, now, base_url, rating.visibility, withdrawn=rating.withdrawn_at is not None)
    body = form.render(shown).encode()
    return Exhibit(body, {"Content-Type": form.media_type, **_caching(body, shown), **_freshness(shown)})


def _caching(body: bytes, shown: Shown) -> dict[str, str]:
    private = shown.visibility == "private"
    return {
        "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "Cache-Control": caching(private=private),
        "Content-Security-Policy": POLICY,
        # a catalog reads what is published from its own pages
        **({"Vary": "Authorization"} if private else {"Access-Control-Allow-Origin": "*"}),
    }


def _freshness(shown: Shown) -> dict[str, str]:
    known = shown.known_facts
    named = {
        "X-Assay-Rated-At": known.get("rated_at"),
        "X-Assay-Expires-At": known.get("expires_at"),
        "X-Assay-Methodology": known.get("methodology"),
    }
    return {name: value for name, value in named.items() if value is not None}
