"""Comparison of two ratings, in a thread, so that it does not delay other requests."""

from __future__ import annotations

import asyncio
from typing import Any

from assay.rating.comparison import NotComparable, comparison_document
from service.http.problems import Problem
from store.ratings.ratings import StoredRating


async def compared(before: StoredRating, after: StoredRating) -> dict[str, Any]:
    """Compare two ratings; the computation takes about 30 ms.

    Raises
    ------
    Problem
        ``bad-specification``, if the two ratings cannot be compared.
    """
    try:
        return await asyncio.to_thread(comparison_document, before.document, after.document)
    except NotComparable as error:
        place = {"parameter": "with", "detail": str(error), "code": error.code}
        raise Problem("bad-specification", str(error), errors=[place]) from None
