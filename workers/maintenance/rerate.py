"""Jobs of kind ``rerate``: rate stored evidence under another version of the methodology, without any call."""

from __future__ import annotations

import asyncio

from assay.document import RatingDocument
from assay.errors import UnknownName
from store.jobs import runs
from store.jobs.jobs import Claim
from store.ratings import ratings, rerated
from workers.engine.worker_context import Workplace


async def rerate_evidence(workplace: Workplace, claim: Claim) -> None:
    """Rate the evidence in a thread, so that the lease is renewed meanwhile, and store the result."""
    rating_id, again = await asyncio.to_thread(_recompute, workplace, claim)
    with workplace.database.write() as connection:
        stored = rerated.keep(connection, rating_id, again)
        result = {
            "rating": stored.rating_id,
            "version": stored.methodology_version,
            "letter": stored.letter,
            "declared": stored.declared,
            "probabilities": again.probabilities or None,
        }
        runs.finish_with(connection, claim, "rerated", result)


def _recompute(workplace: Workplace, claim: Claim) -> tuple[str, RatingDocument]:
    request = claim.job.experiment or {}
    methodology = workplace.methodologies.named(str(request.get("version")))
    with workplace.database.read() as connection:
        rating = ratings.find(connection, str(request.get("rating")), claim.job.tenant)
        if rating is None:
            raise UnknownName("rating", str(request.get("rating")), ("see GET /v1/ratings",), "rating")
        record = list(rerated.evidence(connection, rating.job_id))
    return rating.id, rerated.recompute(rating, record, methodology)
