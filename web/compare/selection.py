"""Search for ratings, for pages on which the user chooses some of them."""

from __future__ import annotations

import re
from typing import Any

from web.frame import Api, Refused

SHOWN = 30
"""Maximum number of ratings that a search shows."""

_ID = re.compile(r"rat_[0-9A-Za-z]+")


async def search(api: Api, q: str, **filters: str | None) -> list[dict[str, Any]]:
    """Find the newest ratings by the service's name or address, or one rating by its id or a URL with its id."""
    if pasted := _ID.search(q):
        try:
            return [await api.get(f"/v1/ratings/{pasted[0]}")]
        except Refused as refused:
            if refused.status != 404:
                raise
            return []
    ratings: list[dict[str, Any]] = (await api.get("/v1/ratings", q=q.strip(), limit=SHOWN, **filters))["items"]
    return ratings
