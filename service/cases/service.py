"""Cases of a rating: built once from its observations, cached for some minutes, and returned as pages of views."""

import asyncio
from collections.abc import Mapping, Sequence

from assay.model import Look
from reports.cases import UNJUDGED_KINDS, Case, CaseIndex, CaseIndexBuilder, CaseReader
from reports.cases.reading import CaseReading
from reports.reading import deciding_reader
from service.cases.schemas import CaseOrderQuery, CaseQuery, CaseView
from service.container import Service
from service.jobs.ledger import pages
from store.jobs import observations
from store.jobs.observations import ObservationFilter, StoredObservation
from store.ratings.ratings import StoredRating

MOST_SHOWN = 6
"""Maximum number of observations that are read for each case when a list of cases is shown."""

MOST_EXCHANGES = 200
"""Maximum number of observations that are read when a single case is shown."""

SEARCHED_CASES = 100
"""Number of cases whose observations a search reads at a time."""

CASES_A_SEARCH = 2_000
"""Maximum number of cases that one search reads, so that it takes less than a second."""


async def case_index(service: Service, rating: StoredRating) -> CaseIndex:
    """Return all cases (pairs, round trips or words) of a rating, weighed by their part in the deciding effect."""

    async def build_index() -> CaseIndex:
        builder = CaseIndexBuilder(await asyncio.to_thread(deciding_reader, rating.rating))
        async for page in pages(service.database, observations.page, rating.job_id):
            await asyncio.to_thread(builder.add, [(row.seq, row.observation) for row in page])
        return await asyncio.to_thread(builder.finish)

    return await service.case_indexes.get(rating.id, build_index)


def cases_of(index: CaseIndex, query: CaseQuery | CaseOrderQuery) -> Sequence[Case]:
    """Return the cases of the query's `kind` in its `order`; without a `kind`, all that are judged for bias."""
    cases = index.recorded if query.order == "recorded" else index.cases  # by weight
    if query.kind is not None:
        return [case for case in cases if case.kind == query.kind]
    return [case for case in cases if case.kind not in UNJUDGED_KINDS]


def total_of(index: CaseIndex, query: CaseQuery) -> int | None:
    """Return the number of cases of a query; ``None`` for a search, which does not read all cases at once."""
    if query.q is not None or query.question is not None:
        return None
    return len(cases_of(index, query))


async def page_of(
    service: Service, rating: StoredRating, index: CaseIndex, query: CaseQuery, start: int
) -> tuple[list[tuple[Case, list[StoredObservation]]], int | None]:
    """Return cases from index `start`, each with its first observations, and the next index (``None``: no more)."""
    cases = cases_of(index, query)
    if query.question is not None:
        case_id = index.by_question.get(hash(query.question))  # the index has hashes instead of texts
        cases = [] if case_id is None else [index.by_id[case_id]]
    matches: list[tuple[Case, list[StoredObservation]]] = []
    criteria = ObservationFilter(q=query.q)
    # without a search, every case matches, so that one batch fills the page
    batch_size, most_cases = (query.limit, query.limit) if query.q is None else (SEARCHED_CASES, CASES_A_SEARCH)
    end = start + most_cases
    for batch_start in range(start, min(len(cases), end), batch_size):
        batch = cases[batch_start : batch_start + batch_size]
        rows = await rows_of(service, rating, batch, MOST_SHOWN)
        for position, case in enumerate(batch, batch_start):
            if len(matches) == query.limit:  # the next page begins with this case
                return matches, position
            case_rows = [rows[seq] for seq in case.seqs[:MOST_SHOWN] if seq in rows]
            if query.q is None or any(criteria.fits(row.observation) for row in case_rows):
                matches.append((case, case_rows))
    return matches, end if end < len(cases) else None  # the page is full, or the search has read its maximum


async def rows_of(
    service: Service, rating: StoredRating, cases: Sequence[Case], limit: int
) -> Mapping[int, StoredObservation]:
    """Return a mapping from sequence number to observation, with the first `limit` observations of each case."""
    numbers = [seq for case in cases for seq in case.seqs[:limit]]
    return {row.seq: row for row in await service.database.read(observations.find_by_numbers, rating.job_id, numbers)}


def view_of(
    reader: CaseReader, case: Case, rows: Sequence[StoredObservation], thumbnails: Mapping[str, str]
) -> CaseView:
    """Return the view of a case with observations `rows`; `thumbnails` has the addresses of pictures by digest."""
    texts = reader.texts(row.observation for row in rows)
    asks = [row.observation.probe.ask for row in rows]
    picture_digest = next((ask.image for ask in asks if isinstance(ask, Look)), "")  # questions about a picture
    reading = CaseReading(case.kind, case.part, case.step, case.difference, case.side)
    return CaseView.from_row(
        case,
        in_words=None if case.difference is None else reader.in_words(reading),
        texts=texts,
        observations=list(case.seqs),
        thumbnail=thumbnails.get(picture_digest),
    )
