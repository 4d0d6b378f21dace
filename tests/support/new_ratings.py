"""New ratings from a document, as tests write one, and from the facts that its row repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.methods import rating_of
from store.ratings.ratings import NewRating


def new_rating(
    *,
    document: Mapping[str, Any],
    tenant: str,
    target_id: str | None,
    methodology_version: str,
    request_digest: str,
    valid_for_s: int,
    description: Any,
    **facts: Any,
) -> NewRating:
    """Return a new rating; `facts` (such as ``letter`` and ``target``) take precedence over the document's."""
    methodology = {**document.get("methodology", {}), "version": methodology_version}
    rating = rating_of({**document, **facts, "methodology": methodology})
    return NewRating(tenant, target_id, rating, request_digest, valid_for_s, description)
