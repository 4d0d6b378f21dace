"""Two ratings compared, away from the requests of everybody else."""

from __future__ import annotations

import asyncio
from typing import Any

from assay.rating.comparison import NotComparable, comparison_document
from service.http.problems import Problem
from store.ratings.ratings import StoredRating


async def compared(before: StoredRating, after: StoredRating) -> dict[str, Any]:
    """Compare two ratings; it takes some 30 ms of computing, in a thread.

    Raises
    ------
    Problem
        ``bad-specification``, if the second is none that the first can be compared with.
    """
    try:
        return await asyncio.to_thread(comparison_document, before.document, after.document)
    except NotComparable as error:
        told = {"parameter": "with", "detail": str(error), "code": error.code}
        raise Problem("bad-specification", str(error), errors=[told]) from None
