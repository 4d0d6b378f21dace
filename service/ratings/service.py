"""A rating for its readers: annotations, headers, reports, tables, and shortened experiments for lists.

The stored document never changes. Annotations are read when a rating is shown; for a page of ratings, each kind of
annotation takes one query. An experiment can hold megabytes of sentences, pictures or rows, which lists leave out.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from starlette.responses import Response

import assay
from assay.document import Json, RatingDocument
from assay.evidence.verification import Check
from assay.methods import choices
from assay.methods.outcomes.recount import check_recount, experiment_without_counts
from assay.methods.stereotype_score.detail import StereotypeComponent
from assay.model import Look
from assay.rating.methodology import Methodology
from reports.formats import format_named, html
from reports.pages import MEDIA_TYPES, PageFormat, render_page
from reports.reading import read
from reports.regulators import METHOD as AUDITED
from reports.regulators import AuditFile, write_audit
from service.container import Service
from service.http.problems import Problem
from service.jobs.ledger import csv_lines
from service.replies.schemas import ReplyView
from service.uploads.service import decisions_of, find_upload
from store.core.columns import iso
from store.core.database import Connection
from store.corpora import images
from store.jobs.observations import StoredObservation
from store.ratings import replies, rerated
from store.ratings.experiment_json import parse_method
from store.ratings.ratings import StoredRating
from store.ratings.replies import OwnersReply
from store.ratings.standing import Standing, standings

COLUMNS = (
    *("component", "id", "term", "list", "first", "second", "first_score", "second_score", "words"),
    *("prefers", "towards", "source"),
)
"""Columns of `sentence_table`. `towards` is 1 if the stereotype was preferred, 0 if the counterpart, 0.5 for a tie."""


@dataclass(frozen=True)
class Annotations:
    """What is added to a rating when it is shown: its standing, its letter by the next methodology, the owner's reply.

    `standing` says whether the rating stands for its address. `next_letter` is ``None`` if `next_version` gives none.
    """

    standing: Standing
    next_version: str | None = None
    next_letter: str | None = None
    reply: OwnersReply | None = None

    def added_to(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a rating's document with annotations, a summary, the letter's reason and the number of questions."""
        reply = None if self.reply is None else ReplyView.of(self.reply).model_dump()
        preview = {"version": self.next_version, "letter": self.next_letter}
        view = read(document)
        summary = {
            "in_words": " ".join(view.in_words),
            "because": None if view.because is None else asdict(view.because),
            # `calls` is the same number, in ratings without counts
            "questions": (document.get("counts") or {}).get("asked", document.get("calls")),
        }
        if chosen := choices(document.get("experiment") or {}):
            summary["choices"] = chosen
        return {**document, "next_methodology": preview, "standing": vars(self.standing), "reply": reply, **summary}

    @property
    def tag(self) -> str:
        """Suffix of the rating's entity tag, which changes when the annotations change."""
        return "-" + hashlib.sha256(repr(self).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def read_annotations(
    c: Connection, ratings: Sequence[StoredRating], methodology: Methodology | None
) -> dict[str, Annotations]:
    """Return the annotations of several ratings by rating id; `methodology` is the announced next version, if any."""
    if not ratings:
        return {}
    ids = [rating.id for rating in ratings]
    version = None if methodology is None else methodology.version
    letters = {} if version is None else rerated.letters(c, ids, version)
    owners_replies, standing = replies.of_ratings(c, ids), standings(c, ratings)
    return {
        rating_id: Annotations(standing[rating_id], version, letters.get(rating_id), owners_replies.get(rating_id))
        for rating_id in ids
    }


async def thumbnails_of(
    service: Service, rating_id: str, tenant: str, rows: Sequence[StoredObservation]
) -> Mapping[str, str]:
    """Return the thumbnails' addresses, by digest, of those pictures in questions that the tenant may see."""
    digests = {row.observation.probe.ask.image for row in rows if isinstance(row.observation.probe.ask, Look)}
    if not digests:
        return {}
    visible_digests = await service.database.read(images.thumbnails, sorted(digests), tenant)
    return {digest: f"/v1/ratings/{rating_id}/thumbnails/{digest}" for digest in visible_digests}


FRESH_S, STALE_S = 300, 86_400
"""Seconds for which a cached public rating is fresh, and for which it may be used while it is revalidated."""

PUBLIC_CACHE = f"public, max-age={FRESH_S}"
"""``Cache-Control`` of public data about several ratings."""


def caching(*, private: bool) -> str:
    """Return the ``Cache-Control`` of a rating; caches must revalidate a private rating before each use."""
    return "private, no-cache" if private else f"public, max-age={FRESH_S}, stale-while-revalidate={STALE_S}"


def date_headers(rating: StoredRating) -> dict[str, str]:
    """Return the headers with a rating's date, expiry and methodology."""
    return {
        "X-Assay-Rated-At": iso(rating.created_at),
        "X-Assay-Expires-At": iso(rating.expires_at),
        "X-Assay-Methodology": rating.methodology_version,
    }


def dated(response: Response, rating: StoredRating) -> Response:
    """Add `date_headers` to a response, and return it."""
    response.headers.update(date_headers(rating))
    return response


def headers_of(rating: StoredRating, version: str) -> dict[str, str]:
    """Return the headers of one form of a rating, such as a report; `version` tells its entity tag from others'."""
    return {
        "ETag": f'"{rating.id}-{"unmasked-" if rating.is_unmasked else ""}{version}"',
        "Cache-Control": caching(private=rating.is_unmasked or rating.visibility == "private"),
        "Vary": "Authorization",
        **date_headers(rating),
    }


PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""``Content-Security-Policy`` of a report: it is one file, which loads and runs nothing."""


def report(name: str, document: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    """Render a rating document in a format of `reports.formats.FORMATS`, or its one-page ``summary`` in HTML."""
    if name == "summary":
        return _file_response(html.render_summary(document), MEDIA_TYPES["html"], headers)
    report_format = format_named(name)
    return _file_response(report_format.render(document), report_format.media_type, headers)


def page_report(
    page_format: PageFormat, subject: Literal["suite", "composition"], document: Json, etag: str
) -> Response:
    """Render a suite or composition; Assay's version is added to `etag`, as each version may render differently."""
    report_etag = etag.removesuffix('"') + f'-{assay.__version__}"'
    headers = {"ETag": report_etag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    return _file_response(render_page(page_format, subject, document), MEDIA_TYPES[page_format], headers)


def _file_response(text: str, media_type: str, headers: Mapping[str, str]) -> Response:
    # replies of targets can contain lone surrogates, which UTF-8 cannot encode
    content = text.encode("utf-8", "backslashreplace")
    return Response(content, headers={**headers, "Content-Security-Policy": PAGE_POLICY}, media_type=media_type)


def audit_report(file: AuditFile, headers: Mapping[str, str], *ratings: StoredRating) -> Response:
    """Render a file for regulators, as a response with `headers`; raise ``not-found`` for ratings not by `AUDITED`."""
    for rating in ratings:
        if rating.method != AUDITED:
            raise Problem("not-found", f"the rating {rating.id} is by {rating.method}; choose a rating by {AUDITED}")
    return _file_response(write_audit(file.name, *(rating.document for rating in ratings)), file.media_type, headers)


async def recount_file(service: Service, rating: RatingDocument, tenant: str, upload: str) -> list[Check]:
    """Count the people of an uploaded table anew; return the comparisons with a rating's counts, and store nothing."""
    method = parse_method(experiment_without_counts(rating))
    columns = method.references().decisions
    assert columns is not None  # noqa: S101  without its counts, a method names the columns to be counted
    table = await find_upload(service, tenant, upload, "table")
    table_counts = await decisions_of(service, table, columns)
    return await asyncio.to_thread(lambda: [*check_recount(rating, method, table_counts, table.name)])


def sentence_table(rating: StoredRating, headers: Mapping[str, str]) -> Response:
    """Return the table of a rating's sentences (CSV) as a response; raise ``not-found`` if the rating has none."""
    rows = [
        [component.name if name == "component" else getattr(row, name) for name in COLUMNS]
        for component in rating.rating.components
        if isinstance(component, StereotypeComponent)
        for row in component.sentences
    ]
    if not rows:
        raise Problem("not-found", f"the rating {rating.id} compared no sentences; choose a rating by stereotype-score")
    file_headers = {**headers, "Content-Disposition": f'attachment; filename="{rating.id}-sentences.csv"'}
    return Response(csv_lines([COLUMNS, *rows]), headers=file_headers, media_type="text/csv; charset=utf-8")


MAX_LISTED = 100
"""Maximum number of entries of a list or object that stays in a shortened experiment."""

MAX_SUMMARISED = 8
"""Maximum number of entries of a list or object that stays in the experiments of a list of jobs, by default."""


@dataclass(frozen=True)
class ShortExperiment:
    """An experiment without its long parts; `left_out` has the size of each such part by path (``records.rows``)."""

    experiment: dict[str, Any] | None
    left_out: Mapping[str, int]


def shorten(experiment: Mapping[str, Any] | None, max_entries: int = MAX_LISTED) -> ShortExperiment:
    """Leave out all lists and objects with more than `max_entries` entries, at any depth."""
    left_out: dict[str, int] = {}
    return ShortExperiment(_shorten(experiment, (), left_out, max_entries), left_out)


def with_short_experiment(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rating's document with a shortened experiment; unchanged if the experiment is short."""
    short_experiment = shorten(document.get("experiment"))
    if not short_experiment.left_out:
        return dict(document)
    return {**document, "experiment": short_experiment.experiment, "left_out": dict(short_experiment.left_out)}


def _shorten(value: Any, path: tuple[str, ...], left_out: dict[str, int], max_entries: int) -> Any:
    """Leave out long members of objects, noting their sizes in `left_out`; list entries, without names, always stay."""
    if isinstance(value, list):
        return [_shorten(entry, (*path, str(number)), left_out, max_entries) for number, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    short_value = {}
    for name, entry in value.items():
        if isinstance(entry, list | Mapping) and len(entry) > max_entries:
            left_out[".".join((*path, name))] = len(entry)
        else:
            short_value[name] = _shorten(entry, (*path, name), left_out, max_entries)
    return short_value
