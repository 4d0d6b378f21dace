"""``/v1/ratings/{id}/cases``: the evidence of a rating as pairs, round trips or words, in the order of their weight."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from reports.reading import case_reader
from service.cases.schemas import CaseExchanges, CaseList, CaseOrderQuery, CaseQuery
from service.cases.service import MOST_EXCHANGES, case_index, cases_of, page_of, rows_of, total_of, view_of
from service.container import ServiceDependency
from service.http.authentication import DOWNLOAD, PublicReader
from service.http.json import StrictRoute, json_response
from service.http.openapi.responses import RATED, fails, returns
from service.http.problems import existing
from service.http.rows import Lists, Page
from service.jobs.schemas import ObservationView
from service.ratings.routes import FoundRating
from service.ratings.service import date_headers, dated, thumbnails_of

router = APIRouter(
    prefix="/v1/ratings/{rating_id}/cases", tags=["ratings"], route_class=StrictRoute, dependencies=DOWNLOAD
)

CaseNumber = Annotated[int, Path(ge=1, lt=2**31, description="Number of the case's first observation.")]


@router.get("", response_model=CaseList, responses=returns(RATED))
async def list_cases(
    lists: Lists,
    rating: FoundRating,
    service: ServiceDependency,
    caller: PublicReader,
    query: Annotated[CaseQuery, Query()],
) -> Response:
    """List the cases of a rating: pairs, round trips or words with their differences, the most weighty first.

    A search for `q` reads the first 6 observations of 2,000 cases at most, so a page can have fewer rows than `limit`
    although `next_cursor` continues it. `counts` are those of the whole rating. Recorded decisions have no cases.
    """
    list_name = f"cases of {rating.id}"
    start, _ = query.cursor_key(list_name, end=2**31) or (0, "")  # the key of a case is (its position, "")
    index = await case_index(service, rating)
    matches, next_start = await page_of(service, rating, index, query, start)
    thumbnails = await thumbnails_of(service, rating.id, caller.tenant, [row for _, rows in matches for row in rows])
    reader = case_reader(rating.rating, deciding=None)  # for words only; the index has the weights
    views = [view_of(reader, case, rows, thumbnails) for case, rows in matches]
    page = Page(views, next_key=None if next_start is None else (next_start, ""), total=total_of(index, query))
    facts = {"counts": index.counts, "observations": index.observations, "copied": index.copied}
    return dated(lists.response(query, list_name, page, views, **facts), rating)


@router.get("/{seq}", response_model=CaseExchanges, responses=returns(RATED) | fails(404))
async def get_case(
    seq: CaseNumber,
    rating: FoundRating,
    service: ServiceDependency,
    caller: PublicReader,
    query: Annotated[CaseOrderQuery, Query()],
) -> Response:
    """Read one case with its raw questions and replies, and the ids of the cases before and after it in the list."""
    index = await case_index(service, rating)
    case = existing(index.by_id.get(seq), "case", str(seq))  # its id is the number of its first observation
    rows = sorted((await rows_of(service, rating, [case], MOST_EXCHANGES)).values(), key=lambda row: row.seq)
    thumbnails = await thumbnails_of(service, rating.id, caller.tenant, rows)
    cases = cases_of(index, query)
    position = cases.index(case) if case in cases else None
    # slices of one case, or of none at an end of the list
    case_before = () if position is None else cases[max(0, position - 1) : position]
    case_after = () if position is None else cases[position + 1 : position + 2]
    view = CaseExchanges(
        **view_of(case_reader(rating.rating, deciding=None), case, rows, thumbnails).model_dump(),
        exchanges=ObservationView.of_rows(rows, thumbnails),
        position=None if position is None else position + 1,
        previous=case_before[0].id if case_before else None,
        next=case_after[0].id if case_after else None,
    )
    return json_response(view, headers=date_headers(rating))
