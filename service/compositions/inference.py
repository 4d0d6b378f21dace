"""Inference of a chain's rating from the ratings of its links."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.canonical import described_digest
from assay.composition.compatibility import Incompatible
from assay.composition.document import MEASURED, check_chain, composition_document, matrices_of
from assay.composition.notes import note
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


async def compose(here: Service, tenant: str, asked: CompositionRequest) -> NewComposition:
    """Infer the rating of a chain.

    Raises
    ------
    Problem
        ``bad-specification``, pointing at the invalid link. A missing rating and a rating that the caller must
        not read give the same problem.
    """
    chosen, now = await here.database.read(_choose, tenant, asked)
    _check_visibility(asked, chosen)
    documents = [one.rating.document for one in chosen]
    try:
        check_chain(documents)
    except Incompatible as broken:
        raise _refused(str(broken), "chain", broken.place, code=broken.code) from None
    recorded = await _recorded(here, chosen)
    written = await asyncio.to_thread(
        composition_document, documents, generator(SEED), table=asked.table, observations=recorded
    )
    written["notes"] += _notes(chosen, now)
    written["chain"] = [_link(place, one, now) for place, one in enumerate(chosen, start=1)]
    written["verification"] = await verification(here, tenant, [(one.rating, one.target) for one in chosen])
    return NewComposition(tenant, asked.visibility, asked.model_dump(), written)


# ---------------------------------------------------------------------------- ratings of the links
def _choose(c: Any, tenant: str, asked: CompositionRequest) -> tuple[list[Chosen], int]:
    """Read the ratings of all links, in four queries."""
    rated = compositions.readable(c, [one.rating for one in asked.chain if one.rating is not None], tenant)
    saved = compositions.targets_named(c, tenant, [one.target for one in asked.chain if one.target is not None])
    attribute = asked.attribute or next((one.attribute for one in rated.values()), None)
    if saved and attribute is None:
        raise _refused("name the attribute of the targets' ratings", "attribute")
    newest = compositions.latest_of_targets(
        c,
        tenant,
        {name: described_digest(vars(row)) for name, row in saved.items()},
        saved.values(),
        attribute=attribute,
        method=asked.method,
    )
    chosen = [_chosen(place, one, rated, saved, newest) for place, one in enumerate(asked.chain)]
    for place, one in enumerate(chosen):
        if asked.attribute is not None and one.rating.attribute != asked.attribute:
            why = f"link {place + 1} was rated for {one.rating.attribute}, not for {asked.attribute}"
            raise _refused(why, "chain", place, code=Incompatible.code)
    return chosen, clock.read_clock(c)


def _chosen(
    place: int,
    asked: ComposedLink,
    rated: Mapping[str, StoredRating],
    saved: Mapping[str, StoredTarget],
    newest: Mapping[str, StoredRating],
) -> Chosen:
    if asked.rating is not None:
        rating = rated.get(asked.rating)
        if rating is None:
            raise _refused(f"no rating has the id {asked.rating!r}", "chain", place, "rating")
        if rating.withdrawn_at is not None:
            raise _refused(f"the rating of link {place + 1} was withdrawn; name another", "chain", place, "rating")
        return Chosen(rating, None)
    target = saved.get(str(asked.target))
    if target is None:
        raise _refused(f"no target has the id {asked.target!r}", "chain", place, "target")
    if target.id not in newest:
        why = f"the target of link {place + 1} has no such rating that you can read; request one with POST /v1/jobs"
        raise _refused(why, "chain", place, "target")
    return Chosen(newest[target.id], target)


def _check_visibility(asked: CompositionRequest, chosen: Sequence[Chosen]) -> None:
    """Refuse a composition that has more readers than one of its ratings."""
    for place, one in enumerate(chosen, start=1):
        if OPENNESS.index(asked.visibility) > OPENNESS.index(one.rating.visibility):
            why = f"the rating of link {place} is {one.rating.visibility}; its composition cannot have more readers"
            raise _refused(why, "visibility")


def _refused(detail: str, *place: str | int, code: str = SpecificationError.code) -> Problem:
    error = {"pointer": pointer_to(*place), "detail": detail, "code": code}
    return Problem("bad-specification", detail, errors=[error])


# ---------------------------------------------------------------------------- recorded replies
async def _recorded(here: Service, chosen: Sequence[Chosen]) -> list[list[Observation]]:
    """Read the replies of the ratings if a prediction can use them sentence by sentence; otherwise none."""
    documents = [one.rating.document for one in chosen]
    calls = sum(int(each.get("calls", 0)) for each in documents)
    if calls > MAX_OBSERVATIONS or not all(map(matrices_of, documents)):
        return []
    kept: dict[str, list[Observation]] = {one.rating.job_id: [] for one in chosen}
    characters = 0
    for job_id, found in kept.items():
        async for rows in pages(here.database, observations.page, job_id):
            found += [one.observation for one in rows]
            characters += sum(len(str(one.observation.reply.value)) for one in rows)
            if characters > MAX_CHARACTERS:
                return []
    return [kept[one.rating.job_id] for one in chosen]


# ---------------------------------------------------------------------------- views
def _link(place: int, one: Chosen, now: int) -> dict[str, Any]:
    rating = one.rating
    shown = ("name", "kind", "protocol", "url", "digest")
    return {
        "place": place,
        "rating": {
            "id": rating.id,
            "href": f"/v1/ratings/{rating.id}",
            "method": rating.method,
            "letter": rating.letter,
            "declared": rating.declared,
            "probabilities": rating.document.get("probabilities"),
            "requester": rating.requested,
            "provenance": MEASURED,
            "rated_at": instant(rating.created_at),
            "expires_at": instant(rating.expires_at),
            "expired": rating.expires_at <= now,
        },
        "target": {name: rating.target.get(name) for name in shown},
        "target_id": None if one.target is None else one.target.id,
    }


def _notes(chosen: Sequence[Chosen], now: int) -> list[dict[str, str]]:
    notes = [note("link-expired", link=place) for place, one in enumerate(chosen, 1) if one.rating.expires_at <= now]
    return notes + [
        note("target-changed", link=place)
        for place, one in enumerate(chosen, start=1)
        if one.target is not None and described_digest(vars(one.target)) != one.rating.target.get("digest")
    ]
