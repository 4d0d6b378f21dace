"""``/v1/methodology``: versions of the methodology, and a rating's letters by other versions."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from assay.canonical import digest_of
from assay.errors import UnknownName
from assay.rating.methodology import Methodology
from assay.rating.rerating import check_knows, rules_of
from service.container import Service, ServiceDependency
from service.http.authentication import Writer
from service.http.json import StrictRoute, json_response, tagged
from service.http.openapi.responses import ETAG, TAGGED, returns
from service.http.problems import Problem, not_found
from service.http.rows import in_path
from service.jobs.routes import JOB_PLACED, Placing
from service.jobs.service import maintenance_order
from service.methodology.schemas import (
    LetterByVersion,
    LetterList,
    MethodologyLine,
    MethodologyList,
    MethodologyView,
    RerateRequest,
)
from service.ratings.routes import FoundRating
from service.ratings.service import PUBLIC_CACHE
from store.core.columns import iso
from store.ratings import ratings, rerated
from store.ratings.ratings import StoredRating

router = APIRouter(prefix="/v1/methodology", tags=["methodology"], route_class=StrictRoute)
of_ratings = APIRouter(prefix="/v1/ratings", tags=["ratings"], route_class=StrictRoute)

OwnRating = Annotated[StoredRating, in_path("rating", ratings.find, Writer)]

RERATING_DEADLINE_S = 600

Version = Annotated[str, Path(description="A version such as `1.3.0`, or `current`.", examples=["current"])]


@router.get("", response_model=MethodologyList, responses=TAGGED)
async def list_methodologies(service: ServiceDependency) -> Response:
    """List every version of the methodology, newest first, with what changed."""
    methodologies = service.methodologies
    items = [MethodologyLine.of(methodology) for methodology in reversed(methodologies.versions)]
    next_version = methodologies.next and methodologies.next.version
    listing = MethodologyList(current=methodologies.current.version, next=next_version, items=items)
    return json_response(listing, headers={"Cache-Control": PUBLIC_CACHE})


@router.get("/{version}.md", response_class=Response, responses=returns(ETAG, "text/markdown"))
async def get_methodology_text(version: Version, service: ServiceDependency) -> Response:
    """Download the frozen document of a version, byte for byte: ratings made under it name its SHA-256 digest."""
    methodology = _find_methodology(service, version)
    headers = _cache_headers(methodology)
    return Response(methodology.text.encode("utf-8"), headers=headers, media_type="text/markdown; charset=utf-8")


@router.get("/{version}", response_model=MethodologyView, responses=TAGGED)
async def get_methodology(version: Version, service: ServiceDependency) -> Response:
    """Read a version: its document, its digest, its changes, and the methods that it rates."""
    methodology = _find_methodology(service, version)
    headers = _cache_headers(methodology) | {"Content-Location": f"{router.prefix}/{methodology.version}"}
    return json_response(MethodologyView.of(methodology), headers=headers)


@of_ratings.get("/{rating_id}/methodologies", response_model=LetterList, responses=TAGGED)
async def list_letters_by_methodology(rating: FoundRating, service: ServiceDependency) -> Response:
    """List a rating's letters by version of the methodology: the original first, then the re-ratings."""
    reratings = await service.database.read(rerated.of_rating, rating.id)
    original = LetterByVersion.of(rating, original=True, computed_at=iso(rating.created_at))
    by_other_rules = [row for row in reratings if row.methodology_version != rating.methodology_version]
    rerated_letters = [LetterByVersion.of(row, original=False, computed_at=row.created_at) for row in by_other_rules]
    listing = LetterList(rating=rating.id, items=[original, *rerated_letters])
    return tagged(listing, f'"{digest_of(listing.model_dump()).removeprefix("sha256:")[:16]}"')


@of_ratings.post("/{rating_id}/rerate", **JOB_PLACED)
async def rerate_rating(
    placing: Placing, rating: OwnRating, body: RerateRequest, service: ServiceDependency, caller: Writer
) -> Response:
    """Re-rate the recorded evidence of your rating by another version of the methodology, without calling the target.

    The re-rating is a job. The rating stays as it is; the new letter is listed at `/methodologies`, and in
    `next_methodology` if the version is the next one.
    """
    if rating.tenant != caller.tenant:
        raise not_found("rating", rating.id)
    methodology = service.methodologies.named(body.version)
    check_knows(methodology, rating.method)
    rules_of(rating.rating)  # raises its error here and not in the job
    concerns = {"rating": rating.id, "version": methodology.version}
    target = {**rating.target, "base_url": rating.target_url}
    return await placing.answer(maintenance_order(service, caller, "rerate", concerns, target, RERATING_DEADLINE_S))


def _find_methodology(service: Service, version: str) -> Methodology:
    try:
        return service.methodologies.named(version)
    except UnknownName as error:
        raise Problem("not-found", str(error)) from None


def _cache_headers(methodology: Methodology) -> dict[str, str]:
    """Return the cache headers of a version: its text never changes, but its status does."""
    version_tag = f'"{methodology.version}-{methodology.digest.removeprefix("sha256:")[:16]}-{methodology.status}"'
    return {"ETag": version_tag, "Cache-Control": PUBLIC_CACHE}
