"""``/v1/ratings``: finished ratings, their publication and withdrawal. Reading never starts work."""

import asyncio
import base64
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

import assay
from assay.canonical import digest_of
from assay.catalog import attributes
from assay.document import Json, JsonObject, RatingDocument
from assay.errors import known_names
from assay.methods.association.comparison import comparison_document
from assay.rating.difference import difference
from reports.formats.html import thumbnails_wanted
from reports.regulators import AUDIT_FILES, AuditFile
from service.container import Service, ServiceDependency
from service.http.authentication import DOWNLOAD, PublicReader, Reader, Writer
from service.http.conditional import entity_tag, not_modified
from service.http.idempotency import Repeat, Repeatable, answer_once
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.common_schemas import QueryModel
from service.http.openapi.responses import ETAG, RATED, TAGGED, fails, returns
from service.http.problems import Problem, base_url, existing, not_found
from service.http.rows import Lists, Page, PageQuery, in_path, lists_of
from service.jobs.ledger import ledger_csv, ledger_parquet, paced
from service.jobs.schemas import ObservationView
from service.ratings.components import RatingDifferenceView
from service.ratings.schemas import (
    ComparisonQuery,
    ComparisonView,
    DifferenceQuery,
    ModelName,
    RatingList,
    RatingQuery,
    RatingSummary,
    RatingView,
    RecountQuery,
    RecountView,
    VisibilityRequest,
    WithdrawalRequest,
)
from service.ratings.service import (
    Annotations,
    audit_report,
    caching,
    date_headers,
    dated,
    headers_of,
    read_annotations,
    recount_file,
    report,
    sentence_table,
    thumbnails_of,
    with_short_experiment,
)
from store.core.database import Connection
from store.corpora import images
from store.jobs import observations
from store.ratings import ratings, registry
from store.ratings.ratings import StoredRating
from store.ratings.services import similar_names
from store.ratings.standing import names_of, standings

router = APIRouter(prefix="/v1/ratings", tags=["ratings"], route_class=StrictRoute)

TAGGED_AND_RATED = returns(ETAG | RATED)


def download(media_type: str, headers: Json | None = None) -> JsonObject:
    """Return FastAPI's arguments for a route that answers with a file about a rating."""
    responses = returns({**(headers or {}), **RATED}, media_type)
    return {"response_class": Response, "dependencies": DOWNLOAD, "responses": responses}


@router.get("", response_model=RatingList)
async def list_ratings(
    lists: Lists, service: ServiceDependency, caller: PublicReader, query: Annotated[RatingQuery, Query()]
) -> Response:
    """List your ratings and all public ratings, newest first: their main fields, or more (`fields=full`)."""
    database = service.database_for(lists.request)
    if query.fields == "summary":
        summary_page = await lists.read(query, "ratings", ratings.summaries, caller.tenant, database=database)
        standing = await database.read(standings, summary_page.rows)
        letter_reasons = await database.read(ratings.sentences, [row.id for row in summary_page.rows])
        views = [RatingSummary.of(row, standing[row.id], letter_reasons.get(row.id)) for row in summary_page.rows]
        similar = []
        if query.q and not views and query.cursor is None:  # no rating matches
            similar = await database.read(similar_names, caller.tenant, query.q, mine=query.mine, kind=query.kind)
        return lists.response(query, "ratings", summary_page, views, similar=similar)
    page = await lists.read(query, "ratings", ratings.page, caller.tenant, database=database)
    notes = await database.read(read_annotations, page.rows, service.methodologies.next)
    documents = [notes[rating.id].added_to(rating.seen_by(caller.tenant).shown) for rating in page.rows]
    return lists.response(query, "ratings", page, list(map(with_short_experiment, documents)))


class LatestQuery(QueryModel):
    """Query parameters of a look-up by address: the address, and filters of its ratings."""

    target_url: Annotated[str, Field(min_length=1, max_length=2048, description="The target's address.")]
    whose: Annotated[
        Literal["address", "mine"],
        Field(description="`address`: the rating that stands for the address. `mine`: your own newest rating of it."),
    ] = "address"
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None
    model: ModelName = None


@router.get("/latest", response_model=RatingView, responses=TAGGED_AND_RATED | fails(404, 409))
async def latest_rating(
    request: Request, service: ServiceDependency, caller: PublicReader, query: Annotated[LatestQuery, Query()]
) -> Response:
    """Read the rating of an address, expired or not. 404 if there is none, 409 if several ratings match.

    It is the newest rating that the proved owner of the host requested; without one, the newest of the agency's
    operator; else the newest of other tenants with a protocol's default description.
    """
    matches = await service.database_for(request).read(ratings.latest, caller.tenant, **query.model_dump())
    if not matches:
        relation = "stands for this address" if query.whose == "address" else "of this address is yours"
        errors = [{"parameter": "target_url", "detail": f"no rating that you can read {relation}"}]
        if query.attribute is not None and query.attribute not in attributes():  # it may be a tenant's own attribute
            detail = f"the catalog has no attribute {query.attribute!r}{known_names(query.attribute, attributes())}"
            errors.append({"parameter": "attribute", "detail": detail})
        raise Problem("no-rating", errors=errors)
    if len(matches) > 1:
        raise Problem("ambiguous-rating", candidates=[_candidate(rating, matches) for rating in matches])
    return await _rating_response(request, service, matches[0].seen_by(caller.tenant))


FoundRating = Annotated[StoredRating, in_path("rating", ratings.find, PublicReader)]
"""The caller's own rating, or a public or unlisted one."""


@router.get("/{rating_id}", response_model=RatingView, responses=TAGGED_AND_RATED)
async def get_rating(
    request: Request, rating: FoundRating, service: ServiceDependency, caller: PublicReader
) -> Response:
    """Read a rating. It never changes, apart from its annotations (`next_methodology`, `standing`, `reply`).

    Of recorded decisions, you read the whole of your own rating, and others the form without small counts of people.
    """
    return await _rating_response(request, service, rating.seen_by(caller.tenant))


class ReportQuery(QueryModel):
    """Query parameters of an HTML report."""

    summary: Annotated[bool, Field(description="One page for print: without tables and single parts.")] = False


@router.get("/{rating_id}/report.html", **download("text/html", ETAG))
async def get_report_html(
    request: Request,
    rating: FoundRating,
    service: ServiceDependency,
    caller: PublicReader,
    query: Annotated[ReportQuery, Query()],
) -> Response:
    """Download a rating as an HTML report: one file without scripts or external resources.

    For an image classifier, it shows thumbnails of the images that you may see.
    """
    rating = rating.seen_by(caller.tenant)
    if query.summary:
        return await _report_response(request, service, rating, "summary")
    digests = thumbnails_wanted(rating.document)
    thumbnails = await service.database.read(images.thumbnails, digests, caller.tenant) if digests else None
    return await _report_response(request, service, rating, "html", thumbnails)


@router.get("/{rating_id}/report.md", **download("text/markdown", ETAG))
async def get_report_markdown(
    request: Request, rating: FoundRating, service: ServiceDependency, caller: PublicReader
) -> Response:
    """Download a rating as a Markdown report."""
    return await _report_response(request, service, rating.seen_by(caller.tenant), "markdown")


class ObservationQuery(PageQuery):
    """Filters of a rating's observations."""

    part: Annotated[
        str | None,
        Field(min_length=1, max_length=500, description="Beginning of the unit in whole segments: `es`, or `es/U`."),
    ] = None
    answer: Annotated[
        str | None, Field(min_length=1, max_length=500, description="A whole answer, or its label or choice.")
    ] = None
    failure: Annotated[
        str | None, Field(min_length=1, max_length=100, description="Code of a failure, `any` or `none`.")
    ] = None
    q: Annotated[
        str | None, Field(min_length=1, max_length=200, description="Part of a question or answer, case ignored.")
    ] = None


@router.get(
    "/{rating_id}/observations",
    **lists_of(ObservationView, "One page of observations, in the order of recording."),
    dependencies=DOWNLOAD,
    responses=returns(RATED),
)
async def list_evidence(
    lists: Lists,
    rating: FoundRating,
    service: ServiceDependency,
    caller: PublicReader,
    query: Annotated[ObservationQuery, Query()],
) -> Response:
    """List the questions of a rating with their replies, in the order of recording.

    A search for `answer` or `q` reads 5,000 rows at most, so a page can have fewer rows than `limit` although
    `next_cursor` continues it.
    """
    list_name = f"observations of {rating.id}"
    after, _ = query.cursor_key(list_name, end=2**31) or (0, "")  # the key of an observation is (its number, "")
    criteria = observations.ObservationFilter(**query.filters())
    rows, last_seq = await service.database.read(observations.search, rating.job_id, criteria, after, query.limit)
    views = ObservationView.of_rows(rows, await thumbnails_of(service, rating.id, caller.tenant, rows))
    next_key = None if last_seq is None else (last_seq, "")
    return dated(lists.response(query, list_name, Page(rows, next_key), views), rating)


Digest = Annotated[str, Path(description="Digest of a picture that was shown: `sha256:` and 64 digits of base 16.")]


@router.get(
    "/{rating_id}/thumbnails/{digest}",
    response_class=Response,
    dependencies=[in_path("rating", ratings.find, PublicReader)],
    responses=returns(ETAG, "image/webp"),
)
async def get_thumbnail(digest: Digest, service: ServiceDependency, caller: PublicReader) -> Response:
    """Download a thumbnail of the image in a question, from your own corpora or a shared corpus."""
    thumbnails = await service.database.read(images.thumbnails, [digest], caller.tenant)
    data_url = existing(thumbnails.get(digest), "picture that you may see", digest)
    headers = {"ETag": f'"{digest}"', "Cache-Control": "private, max-age=86400", "Vary": "Authorization"}
    return Response(base64.b64decode(data_url.partition(",")[2]), headers=headers, media_type="image/webp")


@router.get("/{rating_id}/observations.csv", **download("text/csv"))
async def download_evidence_csv(rating: FoundRating, service: ServiceDependency) -> Response:
    """Download the evidence of a rating: every question with its reply."""
    return dated(paced(await ledger_csv(service.database, rating.job_id), service.evidence_slots), rating)


@router.get("/{rating_id}/observations.parquet", **download("application/vnd.apache.parquet"))
async def download_evidence_parquet(rating: FoundRating, service: ServiceDependency) -> Response:
    """Download the evidence of a rating as Parquet, for pandas and similar tools; the agency needs the extra `real`."""
    return dated(paced(await ledger_parquet(service.database, rating.job_id), service.evidence_slots), rating)


@router.get("/{rating_id}/sentences.csv", **download("text/csv"))
async def download_sentences_csv(rating: FoundRating) -> Response:
    """Download a language model's preferences: one row per sentence and its counterpart.

    Only ratings by `stereotype-score` have them. Cells that a spreadsheet would run as a formula begin with `'`.
    """
    return await asyncio.to_thread(sentence_table, rating, date_headers(rating))


def _add_audit_route(file: AuditFile) -> None:
    """Add the route that downloads a file for regulators about a rating of recorded decisions."""

    async def download_audit(rating: FoundRating) -> Response:
        return await asyncio.to_thread(audit_report, file, date_headers(rating), rating)

    router.add_api_route(
        f"/{{rating_id}}/{file.name}",
        download_audit,
        operation_id="download" + "".join(part.capitalize() for part in re.split(r"[.-]", file.name)),
        summary=f"Download {file.name}",
        description=f"{file.title}. Only ratings by `outcomes` have it; small counts are masked, also for the owner.",
        **download(file.media_type.partition(";")[0]),
    )


for _file in AUDIT_FILES:
    _add_audit_route(_file)


@router.get("/{rating_id}/comparison", response_model=ComparisonView, dependencies=DOWNLOAD, responses=TAGGED)
async def compare_ratings(
    rating: FoundRating, service: ServiceDependency, caller: PublicReader, query: Annotated[ComparisonQuery, Query()]
) -> Response:
    """Compare two ratings of the same words, such as before and after debiasing.

    Both must be ratings by `association`; the posterior is drawn again from their distances.
    """
    return await _compare(service, caller.tenant, rating, query.later_id, comparison_document)


async def _compare(
    service: Service,
    tenant: str,
    rating: StoredRating,
    later_id: str,
    compare: Callable[[RatingDocument, RatingDocument], Json],
) -> Response:
    later_rating = existing(await service.database.read(ratings.find, later_id, tenant), "rating", later_id)
    comparison = await asyncio.to_thread(compare, rating.rating, later_rating.rating)  # takes about 30 ms
    headers = {
        "ETag": entity_tag(rating.id, later_rating.id, assay.__version__),
        "Cache-Control": caching(private="private" in {rating.visibility, later_rating.visibility}),
        "Vary": "Authorization",
    }
    return json_response(comparison, headers=headers)


async def _rating_response(request: Request, service: Service, rating: StoredRating) -> Response:
    annotations = await _read_annotations(request, service, rating)
    headers = _rating_headers(rating, annotations) | {"Content-Location": f"{router.prefix}/{rating.id}"}
    return json_response(annotations.added_to(rating.shown), headers=headers)


async def _report_response(
    request: Request,
    service: Service,
    rating: StoredRating,
    report_format: str,
    thumbnails: Mapping[str, str] | None = None,
) -> Response:
    annotations = await _read_annotations(request, service, rating)
    is_expired = service.clock() * 1000 >= rating.expires_at
    # the page of a private rating is /ratings/…, the public page of any other /r/…
    address = f"{base_url(request)}/{'ratings' if rating.visibility == 'private' else 'r'}/{rating.id}"
    headers = _rating_headers(rating, annotations, expired=is_expired)
    document = annotations.added_to(rating.shown) | {"expired": is_expired, "address": address}
    if thumbnails:  # not for shared caches: pictures of a private corpus are shown only to the owner of the corpus
        document |= {"thumbnails": thumbnails}
        suffix = digest_of(sorted(thumbnails))[-12:]
        etag = headers["ETag"].removesuffix('"') + f'-{suffix}"'
        headers |= {"Cache-Control": caching(private=True), "ETag": etag}
    if unchanged := not_modified(request, headers):
        return unchanged
    render = partial(asyncio.to_thread, report, report_format, document, headers)  # a large report takes a second
    page = await service.reports.get((report_format, headers["ETag"], address), render)
    return Response(page.body, headers=page.headers)  # a copy, because each answer gets its own headers


async def _read_annotations(request: Request, service: Service, rating: StoredRating) -> Annotations:
    return (await service.database_for(request).read(read_annotations, [rating], service.methodologies.next))[rating.id]


def _rating_headers(rating: StoredRating, notes: Annotations, *, expired: bool = False) -> dict[str, str]:
    """Return a rating's headers; the entity tag covers visibility, withdrawal, expiry, `notes` and Assay's version."""
    states = {"withdrawn": rating.withdrawn_at is not None, "expired": expired}
    suffix = "".join(f"-{state}" for state, holds in states.items() if holds)
    return headers_of(rating, f"{rating.visibility}{suffix}{notes.tag}-{assay.__version__}")


def _candidate(rating: StoredRating, matches: Sequence[StoredRating]) -> JsonObject:
    """Return the facts by which a caller chooses a rating; no other match for method and attribute has its `model`."""
    series = [other for other in matches if (other.method, other.attribute) == (rating.method, rating.attribute)]
    counts = Counter(name for other in series for name in set(names_of(other.target)))
    return {
        "method": rating.method,
        "attribute": rating.attribute,
        "model": next((name for name in names_of(rating.target) if counts[name] == 1), None),
        "letter": rating.letter,
        "href": f"{router.prefix}/{rating.id}",
    }


@router.post("/{rating_id}/visibility", response_model=RatingSummary, response_description="The changed rating.")
async def set_visibility(
    rating_id: str, body: VisibilityRequest, service: ServiceDependency, caller: Writer, repeat: Repeat
) -> Response:
    """Change the visibility of your rating.

    Publishing is permanent: the rating is added to the log, and can then be withdrawn but not hidden.
    """
    change = partial(registry.set_visibility, rating_id=rating_id, tenant=caller.tenant, visibility=body.visibility)
    return await _change_rating(service, repeat, rating_id, change)


@router.post("/{rating_id}/withdraw", response_model=RatingSummary, response_description="The changed rating.")
async def withdraw_rating(
    rating_id: str, body: WithdrawalRequest, service: ServiceDependency, caller: Writer, repeat: Repeat
) -> Response:
    """Withdraw your rating. It stays readable at its address, marked with the reason.

    It is left out of lists and of `latest`, and no longer answers new requests.
    """
    change = partial(registry.withdraw, rating_id=rating_id, tenant=caller.tenant, reason=body.reason)
    return await _change_rating(service, repeat, rating_id, change)


@router.get("/{rating_id}/difference", response_model=RatingDifferenceView, dependencies=DOWNLOAD, responses=TAGGED)
async def differ_ratings(
    rating: FoundRating, service: ServiceDependency, caller: PublicReader, query: Annotated[DifferenceQuery, Query()]
) -> Response:
    """Compare this rating with a later one: the changes, and whether the letter changed.

    Different letters count as a change only if both posteriors support it; otherwise they may be noise.
    """
    return await _compare(service, caller.tenant, rating, query.later_id, lambda *both: asdict(difference(*both)))


@router.get("/{rating_id}/recount", response_model=RecountView, dependencies=DOWNLOAD)
async def recount_rating(
    rating: FoundRating, service: ServiceDependency, caller: Reader, query: Annotated[RecountQuery, Query()]
) -> Response:
    """Count your upload of recorded decisions again, and compare the file and every count with this rating.

    Of another tenant's rating, the counts that others can read are compared.
    """
    checks = await recount_file(service, rating.seen_by(caller.tenant).rating, caller.tenant, query.upload)
    view = RecountView(
        rating=rating.id,
        verified=all(check.ok for check in checks),
        checks=[{"name": check.name, "ok": check.ok, "detail": check.wrong or check.found} for check in checks],
    )
    return json_response(view, headers={"Cache-Control": "private, no-cache"})


async def _change_rating(
    service: Service, repeat: Repeatable, rating_id: str, change: Callable[[Connection], StoredRating | None]
) -> Response:
    def change_rating(c: Connection) -> Answer:
        rating = change(c)
        if rating is None:  # the tenant has no such rating; public ratings of other tenants count as missing
            raise not_found("rating", rating_id)
        view = RatingSummary.of(rating, standings(c, [rating])[rating.id])
        return Answer(200, write_json(view), {"Content-Location": f"{router.prefix}/{rating.id}"})

    return await answer_once(service, repeat, change_rating)
