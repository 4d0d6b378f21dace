"""Re-ratings: results of other methodology versions on the evidence of existing ratings."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection, and_, select

from assay.document import JsonObject, RatingDocument, as_json
from assay.methods import rating_of
from assay.model import Observation
from assay.rating.methodology import Methodology
from assay.rating.rerating import rerate
from store.archive import places
from store.core.columns import read_clock
from store.core.engines import upsert
from store.core.rows import all_rows, one_row
from store.jobs import observations
from store.ratings.experiment_json import parse_method
from store.ratings.ratings import StoredRating
from store.ratings.tables import ratings, rerated

ROWS_A_READ = 500


@dataclass(frozen=True)
class Rerated:
    """A rating under another methodology version, with its full document; `created_at` is in ms since 1970."""

    rating_id: str
    methodology_version: str
    letter: str | None
    declared: bool
    document: JsonObject
    created_at: int

    @cached_property
    def rating(self) -> RatingDocument:
        """`document`, parsed as a `RatingDocument` with components of the classes of its method."""
        return rating_of(self.document)


def recompute(rating: StoredRating, record: Iterable[Observation], methodology: Methodology) -> RatingDocument:
    """Compute a rating from recorded evidence under another methodology version, in its public form.

    Takes seconds of CPU time. Raise `SpecificationError` if the version does not support the method, or the rules that
    the rating was made under were removed; `RecordError` if the evidence is incomplete or differs from what was sealed.
    """
    unmasked_rating = rating.seen_by(rating.tenant).rating  # with the counts that only its owner sees
    method = parse_method(unmasked_rating.experiment)
    rerated_rating = rerate(unmasked_rating, method, record, methodology)
    return method.masked(rerated_rating) or rerated_rating  # `masked` returns None if there is nothing to mask


def evidence(c: Connection, job_id: str) -> Iterator[Observation]:
    """Iterate over all observations of a job: those in its archive file, or `ROWS_A_READ` rows read at a time."""
    if (archived_job := places.find(c, job_id)) is not None:
        yield from map(observations.observation_in, archived_job.rows())
        return
    last_seq = 0
    while rows := observations.page(c, job_id, last_seq, ROWS_A_READ):
        yield from (row.observation for row in rows)
        last_seq = rows[-1].seq


def keep(c: Connection, rating_id: str, rating: RatingDocument) -> Rerated:
    """Store a re-rating; replace an earlier re-rating under the same version."""
    rerating = Rerated(
        rating_id=rating_id,
        methodology_version=str(rating.methodology.version),
        letter=rating.letter,
        declared=rating.declared,
        document=as_json(rating),
        created_at=read_clock(c),
    )
    upsert(c, rerated, vars(rerating))
    return rerating


def any_rating(c: Connection, rating_id: str) -> StoredRating | None:
    """Read a rating of any tenant, or return ``None``; for the operator's command line only."""
    return one_row(c, select(ratings).where(ratings.c.id == rating_id), StoredRating)


def of_rating(c: Connection, rating_id: str) -> list[Rerated]:
    """List the re-ratings of a rating, oldest first."""
    query = select(rerated).where(rerated.c.rating_id == rating_id)
    return all_rows(c, query.order_by(rerated.c.created_at, rerated.c.methodology_version), Rerated)


def letters(c: Connection, rating_ids: Collection[str], version: str) -> dict[str, str | None]:
    """Read letters of several ratings re-rated under a methodology version, by rating id; others are left out."""
    query = select(rerated.c.rating_id, rerated.c.letter).where(rerated.c.methodology_version == version)
    query = query.where(rerated.c.rating_id.in_(rating_ids))
    return {row.rating_id: row.letter for row in c.execute(query)}


def lacking(c: Connection, version: str, methods: Collection[str], *, after: str = "", limit: int) -> list[str]:
    """List ids of all tenants' ratings that have neither been rated nor re-rated under a methodology version.

    Only ratings by `methods` are listed. `after` is the last id of the previous page; ids sort by age.
    """
    query = (
        select(ratings.c.id)
        .outerjoin(rerated, and_(rerated.c.rating_id == ratings.c.id, rerated.c.methodology_version == version))
        .where(ratings.c.id > after, ratings.c.methodology_version != version, rerated.c.rating_id.is_(None))
        .where(ratings.c.method.in_(sorted(methods)))
        .order_by(ratings.c.id)
        .limit(limit)
    )
    return list(c.execute(query).scalars())
