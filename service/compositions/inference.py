"""Inference of a chain's rating from the ratings of its links."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.canonical import described_digest
from assay.composition.compatibility import Incompatible
from assay.composition.document import MEASURED, check_chain, composition_document
from assay.composition.notes import note
from assay.composition.prediction import read_evidence
from assay.errors import SpecificationError
from assay.experiment import generator
from assay.model import Observation
from service.compositions.schemas import ComposedLink, CompositionRequest
from service.compositions.verification import verification
from service.dependencies import Service
from service.http.json import pointer_to
from service.http.openapi.common_schemas import instant
from service.http.problems import Problem
from service.jobs.observation_stream import pages
from store.core import clock
from store.jobs import observations
from store.ratings import compositions
from store.ratings.compositions import NewComposition
from store.ratings.ratings import StoredRating
from store.targets.targets import StoredTarget

SEED = 0
"""Seed of a prediction's draws: the same ratings give the same composition."""

MAX_OBSERVATIONS = 20_000
"""Maximum number of recorded replies for a prediction sentence by sentence."""

MAX_CHARACTERS = 10_000_000
"""Maximum number of characters in these replies."""

OPENNESS = ("private", "unlisted", "public")
"""Visibilities, from the fewest to the most readers."""


@dataclass(frozen=True)
class Chosen:
    """The rating of a link, and the saved target that the request names."""

    rating: StoredRating
    target: StoredTarget | None


async def compose(service: Service, tenant: str, request: CompositionRequest) -> NewComposition:
    """Infer the rating of a chain.

    Raises
    ------
    Problem
        ``bad-specification``, pointing at the invalid link. A missing rating and a rating that the caller must
        not read give the same problem.
    """
    chosen, now = await service.database.read(_choose, tenant, request)
    _check_visibility(request, chosen)
    links = [link.rating.rating for link in chosen]
    try:
        check_chain(links)
    except Incompatible as broken:
        raise _refused(str(broken), "chain", broken.place, code=broken.code) from None
    recorded = await _recorded(service, chosen)
    document = await asyncio.to_thread(
        composition_document, links, generator(SEED), table=request.table, observations=recorded
    )
    document["notes"] += _notes(chosen, now)
    document["chain"] = [_link(number, link, now) for number, link in enumerate(chosen, start=1)]
    document["verification"] = await verification(service, tenant, [(link.rating, link.target) for link in chosen])
    return NewComposition(tenant, request.visibility, request.model_dump(), document)


# ---------------------------------------------------------------------------- ratings of the links
def _choose(c: Any, tenant: str, request: CompositionRequest) -> tuple[list[Chosen], int]:
    """Read the ratings of all links, in four queries."""
    rated = compositions.readable(c, [link.rating for link in request.chain if link.rating is not None], tenant)
    saved = compositions.targets_named(c, tenant, [link.target for link in request.chain if link.target is not None])
    attribute = request.attribute or next((rating.attribute for rating in rated.values()), None)
    if saved and attribute is None:
        raise _refused("name the attribute of the targets' ratings", "attribute")
    newest = compositions.latest_of_targets(
        c,
        tenant,
        {name: described_digest(vars(row)) for name, row in saved.items()},
        saved.values(),
        attribute=attribute,
        method=request.method,
    )
    chosen = [_chosen(index, link, rated, saved, newest) for index, link in enumerate(request.chain)]
    for index, link in enumerate(chosen):
        if request.attribute is not None and link.rating.attribute != request.attribute:
            reason = f"link {index + 1} was rated for {link.rating.attribute}, not for {request.attribute}"
            raise _refused(reason, "chain", index, code=Incompatible.code)
    return chosen, clock.read_clock(c)


def _chosen(
    index: int,
    link: ComposedLink,
    rated: Mapping[str, StoredRating],
    saved: Mapping[str, StoredTarget],
    newest: Mapping[str, StoredRating],
) -> Chosen:
    if link.rating is not None:
        rating = rated.get(link.rating)
        if rating is None:
            raise _refused(f"no rating has the id {link.rating!r}", "chain", index, "rating")
        if rating.withdrawn_at is not None:
            raise _refused(f"the rating of link {index + 1} was withdrawn; name another", "chain", index, "rating")
        return Chosen(rating, None)
    target = saved.get(str(link.target))
    if target is None:
        raise _refused(f"no target has the id {link.target!r}", "chain", index, "target")
    if target.id not in newest:
        reason = f"the target of link {index + 1} has no such rating that you can read; request one with POST /v1/jobs"
        raise _refused(reason, "chain", index, "target")
    return Chosen(newest[target.id], target)


def _check_visibility(request: CompositionRequest, chosen: Sequence[Chosen]) -> None:
    """Refuse a composition that has more readers than one of its ratings."""
    for number, link in enumerate(chosen, start=1):
        if OPENNESS.index(request.visibility) > OPENNESS.index(link.rating.visibility):
            reason = (
                f"the rating of link {number} is {link.rating.visibility}; its composition cannot have more readers"
            )
            raise _refused(reason, "visibility")


def _refused(detail: str, *path: str | int, code: str = SpecificationError.code) -> Problem:
    error = {"pointer": pointer_to(*path), "detail": detail, "code": code}
    return Problem("bad-specification", detail, errors=[error])


# ---------------------------------------------------------------------------- recorded replies
async def _recorded(service: Service, chosen: Sequence[Chosen]) -> list[list[Observation]]:
    """Read the replies of the ratings if a prediction can use them sentence by sentence; otherwise none."""
    links = [link.rating.rating for link in chosen]
    calls = sum(link.calls or 0 for link in links)
    if calls > MAX_OBSERVATIONS or not all(map(read_evidence, links)):
        return []
    recorded: dict[str, list[Observation]] = {link.rating.job_id: [] for link in chosen}
    characters = 0
    for job_id, replies in recorded.items():
        async for rows in pages(service.database, observations.page, job_id):
            replies += [row.observation for row in rows]
            characters += sum(len(str(row.observation.reply.value)) for row in rows)
            if characters > MAX_CHARACTERS:
                return []
    return [recorded[link.rating.job_id] for link in chosen]


# ---------------------------------------------------------------------------- views
def _link(number: int, link: Chosen, now: int) -> dict[str, Any]:
    rating = link.rating
    target_fields = ("name", "kind", "protocol", "url", "digest")
    return {
        "place": number,
        "rating": {
            "id": rating.id,
            "href": f"/v1/ratings/{rating.id}",
            "method": rating.method,
            "letter": rating.letter,
            "declared": rating.declared,
            "probabilities": rating.rating.probabilities or None,
            "requester": rating.requested,
            "provenance": MEASURED,
            "rated_at": instant(rating.created_at),
            "expires_at": instant(rating.expires_at),
            "expired": rating.expires_at <= now,
        },
        "target": {name: rating.target.get(name) for name in target_fields},
        "target_id": None if link.target is None else link.target.id,
    }


def _notes(chosen: Sequence[Chosen], now: int) -> list[dict[str, str]]:
    notes = [
        note("link-expired", link=number) for number, link in enumerate(chosen, 1) if link.rating.expires_at <= now
    ]
    return notes + [
        note("target-changed", link=number)
        for number, link in enumerate(chosen, start=1)
        if link.target is not None and described_digest(vars(link.target)) != link.rating.target.get("digest")
    ]
