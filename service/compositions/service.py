"""Inference of a chain's rating from the ratings of its links, and the request for a job that measures the chain."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.canonical import described_digest
from assay.composition.compatibility import MAX_LINKS, Incompatible
from assay.composition.document import MEASURED, check_chain, composition_document
from assay.composition.prediction.measured_service import read_evidence
from assay.composition.wording import note
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.experiment import generator
from assay.model import Kind, Observation
from service.compositions.schemas import ComposedLink, CompositionRequest
from service.container import Service
from service.http.json import located
from service.http.openapi.common_schemas import instant
from service.jobs.ledger import pages
from service.targets.service import CHAIN, with_links
from store.archive import places
from store.core.columns import read_clock
from store.core.database import Connection
from store.jobs import observations
from store.ratings import compositions
from store.ratings.compositions import NewComposition
from store.ratings.ratings import StoredRating, find_all
from store.targets import targets
from store.targets.targets import StoredTarget

SEED = 0
"""Seed of the random draws for a composition, fixed so that the same ratings give the same composition."""

MAX_OBSERVATIONS = 20_000
"""Maximum number of recorded replies for which a chain is predicted sentence by sentence."""

MAX_CHARACTERS = 10_000_000
"""Maximum number of characters in the recorded replies for which a chain is predicted sentence by sentence."""

DEFAULT_MIDDLE_LANGUAGE = "es"  # of a translator whose rating names no language

OPENNESS = ("private", "unlisted", "public")
"""Visibilities of ratings and compositions, from the fewest to the most readers."""

HREF = "/v1/jobs"
HOME = "en"
"""Code of the language in which methods write their texts (English)."""

LONGEST_NAME = 200


@dataclass(frozen=True)
class ChosenRating:
    """The rating of a link (service) of a chain, and the saved target if the request names a target for this link."""

    rating: StoredRating
    target: StoredTarget | None


async def compose(service: Service, tenant: str, request: CompositionRequest) -> NewComposition:
    """Infer the rating of a chain.

    Raise `Problem` or `SpecificationError` that points at the invalid link. The message does not say whether a rating
    is missing or may not be read by the caller.
    """
    links, now = await service.database.read(_choose_ratings, tenant, request)
    _check_visibility(request, links)
    ratings = [link.rating.rating for link in links]
    with located("chain"):
        check_chain(ratings)
    async with service.evidence_slots:  # 20,000 observations take seconds of processor time
        link_observations = await _read_observations(service, links)
        compose_ratings = partial(composition_document, table=request.table, observations=link_observations)
        document = await asyncio.to_thread(compose_ratings, ratings, generator(SEED))
    document["notes"] += _notes_on_links(links, now)
    document["chain"] = [_describe_link(number, link, now) for number, link in enumerate(links, start=1)]
    document["verification"] = await verification(service, tenant, links)
    return NewComposition(tenant, request.visibility, request.model_dump(), document)


def _choose_ratings(c: Connection, tenant: str, request: CompositionRequest) -> tuple[list[ChosenRating], int]:
    """Read the ratings of all links, in four queries; return them and the time now (milliseconds since 1970)."""
    ratings = find_all(c, [link.rating for link in request.chain if link.rating is not None], tenant)
    targets_by_id = targets.find_by_ids(c, tenant, [link.target for link in request.chain if link.target is not None])
    attribute = request.attribute or next((rating.attribute for rating in ratings.values()), None)
    if targets_by_id and attribute is None:
        raise SpecificationError("name the attribute whose ratings are to be used", "attribute")
    digests = {target_id: described_digest(vars(target)) for target_id, target in targets_by_id.items()}
    newest_ratings = compositions.latest_of_targets(
        c, tenant, digests, targets_by_id.values(), attribute=attribute, method=request.method
    )
    links = [
        _chosen_rating(index, link, ratings, targets_by_id, newest_ratings) for index, link in enumerate(request.chain)
    ]
    with located("chain"):
        for index, link in enumerate(links):
            if request.attribute is not None and link.rating.attribute != request.attribute:
                reason = f"link {index + 1} was rated for {link.rating.attribute}, not for {request.attribute}"
                raise Incompatible(index, reason)
    return links, read_clock(c)


def _chosen_rating(
    index: int,
    link: ComposedLink,
    ratings: Mapping[str, StoredRating],
    targets_by_id: Mapping[str, StoredTarget],
    newest_ratings: Mapping[str, StoredRating],
) -> ChosenRating:
    """Return the rating that a link names or, if it names a target, the target's newest rating (by target id)."""
    if link.rating is not None:
        rating = ratings.get(link.rating)
        if rating is None:
            raise SpecificationError(f"no rating has the id {link.rating!r}", f"chain.{index}.rating")
        if rating.withdrawn_at is not None:
            reason = f"the rating of link {index + 1} was withdrawn; name another"
            raise SpecificationError(reason, f"chain.{index}.rating")
        return ChosenRating(rating, target=None)
    target = targets_by_id.get(str(link.target))
    if target is None:
        raise SpecificationError(f"no target has the id {link.target!r}", f"chain.{index}.target")
    if target.id not in newest_ratings:
        reason = f"the target of link {index + 1} has no such rating that you can read; request one with POST /v1/jobs"
        raise SpecificationError(reason, f"chain.{index}.target")
    return ChosenRating(newest_ratings[target.id], target)


def _check_visibility(request: CompositionRequest, links: Sequence[ChosenRating]) -> None:
    """Refuse a composition that is more visible than one of its ratings, for instance public if that is private."""
    for number, link in enumerate(links, start=1):
        if OPENNESS.index(request.visibility) > OPENNESS.index(link.rating.visibility):
            visibility = f"the rating of link {number} is {link.rating.visibility}"
            raise SpecificationError(
                f"{visibility}; a composition cannot be more visible than its ratings", "visibility"
            )


async def _read_observations(service: Service, links: Sequence[ChosenRating]) -> list[list[Observation]]:
    """Return the observations of each link; ``[]`` if some are archived, they are too many, or a link has no matrix."""
    ratings = [link.rating.rating for link in links]
    question_count = sum(rating.calls or 0 for rating in ratings)
    if question_count > MAX_OBSERVATIONS or not all(map(read_evidence, ratings)):  # one has no counts
        return []
    if [link for link in links if await service.database.read(places.find, link.rating.job_id)]:  # archived
        return []
    # by job, because several links can have the same rating
    observations_by_job: dict[str, list[Observation]] = {link.rating.job_id: [] for link in links}
    characters = 0
    for job_id, job_observations in observations_by_job.items():
        async for rows in pages(service.database, observations.page, job_id):
            job_observations += [row.observation for row in rows]
            characters += sum(len(str(row.observation.reply.value)) for row in rows)
            if characters > MAX_CHARACTERS:
                return []
    return [observations_by_job[link.rating.job_id] for link in links]


def _describe_link(number: int, link: ChosenRating, now: int) -> JsonObject:
    rating = link.rating
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
        "target": {name: rating.target.get(name) for name in ("name", "kind", "protocol", "url", "digest")},
        "target_id": None if link.target is None else link.target.id,
    }


def _notes_on_links(links: Sequence[ChosenRating], now: int) -> list[dict[str, str]]:
    numbered_links = list(enumerate(links, start=1))
    notes = [note("link-expired", link=number) for number, link in numbered_links if link.rating.expires_at <= now]
    return notes + [
        note("target-changed", link=number)
        for number, link in numbered_links
        if link.target is not None and described_digest(vars(link.target)) != link.rating.target.get("digest")
    ]


async def verification(service: Service, tenant: str, links: Sequence[ChosenRating]) -> JsonObject:
    """Return the API request that measures a chain: ``method``, ``href``, ``body``, and whether it is ``ready``.

    If it cannot be sent yet, ``why`` has the reason. `links` has the rating of each service, from first to last.
    """
    ratings = [link.rating for link in links]
    saved_ids = {
        link.rating.target_id
        for link in links
        if link.target is None and link.rating.tenant == tenant and link.rating.target_id is not None
    }
    saved_targets = await service.database.read(targets.find_by_ids, tenant, saved_ids)
    link_settings: list[JsonObject] = []
    for index, link in enumerate(links):
        rating = link.rating
        is_owner, is_last = rating.tenant == tenant, index == len(links) - 1
        saved_target = link.target or (saved_targets.get(rating.target_id or "") if is_owner else None)
        # the last service has no path, because it answers in the language of the question
        path = [] if is_last else [HOME, _middle_language(ratings, index), HOME]  # translated there and back
        link_settings += _link_settings(rating, saved_target, path, is_owner=is_owner)
    name = " * ".join(str(rating.target["name"]) for rating in ratings)
    target_document = {
        "name": name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…",
        "kind": Kind(ratings[-1].target["kind"]).value,
        "protocol": CHAIN,
        "settings": {"links": link_settings},
    }
    body = {"target": target_document, "experiment": _common_experiment(ratings)}
    reason = await _unusable_reason(service, tenant, body)
    return {"method": "POST", "href": HREF, "ready": reason is None, "why": reason, "body": body}


def _link_settings(
    rating: StoredRating, saved_target: StoredTarget | None, path: list[str], *, is_owner: bool
) -> list[JsonObject]:
    """Return a service as one link of a chain or, if the service is itself a chain, as all of its links.

    A link has a saved target's id, or describes the service as it was rated. `path` has the last link's languages.
    """
    protocol = saved_target.protocol if saved_target is not None else rating.target["protocol"]
    settings = saved_target.settings if saved_target is not None else rating.target.get("settings") or {}
    if protocol == CHAIN:
        chain_links = [_link_of_chain(link, is_owner=is_owner) for link in settings["links"]]
        return [*chain_links[:-1], _with_path(chain_links[-1], path)]
    if saved_target is not None:
        return [_with_path({"id": saved_target.id}, path)]
    target = rating.target
    description = {
        "name": target["name"],
        "kind": target["kind"],
        "protocol": protocol,
        "base_url": target.get("url") or None,
        "settings": settings,
    }
    return [_with_path(description, path)]


def _link_of_chain(link: Json, *, is_owner: bool) -> JsonObject:
    """Return a rated chain's link, for a new request: with a saved target's id (owners only), or with a description."""
    path = list(link.get("path") or ())
    if link.get("id") and is_owner:
        return _with_path({"id": link["id"]}, path)
    names = ("name", "kind", "protocol", "base_url", "settings")
    return _with_path({name: link[name] for name in names if name in link}, path)


def _with_path(link: Json, path: Sequence[str]) -> JsonObject:
    return {**link, "path": list(path)} if path else dict(link)


def _middle_language(ratings: Sequence[StoredRating], link_index: int) -> str:
    """Return the language to which a translator in a chain translates English texts, to translate them back to English.

    It is a language in which this translator was rated: of several, one that decided its letter. If the last service is
    a translator and all services were rated in the same languages, return ``*`` (the language of each question).
    """
    languages_by_link = [tuple(stored.rating.experiment.get("languages") or ()) for stored in ratings]
    if ratings[-1].target["kind"] == Kind.TRANSLATOR and len(set(languages_by_link)) == 1:
        return "*"
    rating = ratings[link_index].rating
    languages = {component.name: component.language for component in rating.components}
    language = next((languages[name] for name in rating.aggregation.deciding if languages.get(name)), None)
    return str(language or next(iter(languages_by_link[link_index]), DEFAULT_MIDDLE_LANGUAGE))


def _common_experiment(ratings: Sequence[StoredRating]) -> JsonObject:
    """Return the experiment with which to rate a whole chain.

    It is the last service's; if all services were rated by one method, it is the first's with the last's languages.
    """
    first_experiment, last_rating = ratings[0].rating.experiment, ratings[-1]
    experiment = last_rating.rating.experiment or {"method": last_rating.method, "attribute": last_rating.attribute}
    if len({rating.method for rating in ratings}) == 1 and first_experiment:
        last_languages = {"languages": experiment["languages"]} if "languages" in experiment else {}
        experiment = {**first_experiment, **last_languages}
    return {name: value for name, value in experiment.items() if value is not None}


async def _unusable_reason(service: Service, tenant: str, body: Json) -> str | None:
    """Return the reason why a chain cannot be called as one target; ``None`` if it can."""
    # the validator needs every field of a target; a chain has neither an address nor a secret of its own
    target = {"base_url": "", "limits": {}, **body["target"], "secret": None}
    if len(target["settings"]["links"]) > MAX_LINKS:
        return f"the chain has {len(target['settings']['links'])} services; at most {MAX_LINKS} can be called in one"
    try:
        service.target_validator.check(await with_links(service, tenant, target))
    except SpecificationError as error:
        return str(error)
    return None
