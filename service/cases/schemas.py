"""Cases in the API: what was sent and came back, the difference, and what it weighs."""

from typing import Annotated, Literal

from pydantic import Field

from reports.cases import CaseKind
from service.http.openapi.common_schemas import ListModel, QueryModel, ResponseModel
from service.http.rows import PageQuery
from service.jobs.schemas import ObservationView

Kind = Annotated[
    CaseKind | None,
    Field(description="Kind of case. Left out: all that are judged, so neither canaries nor the author's texts."),
]
Order = Annotated[
    Literal["weight", "recorded"],
    Field(description="`weight`: the largest first. `recorded`: in the order of recording."),
]


class CaseQuery(PageQuery):
    """Filters of a rating's cases."""

    kind: Kind = None
    order: Order = "weight"
    q: Annotated[
        str | None, Field(min_length=1, max_length=200, description="Part of a question or answer, case ignored.")
    ] = None
    question: Annotated[
        str | None,
        Field(min_length=1, max_length=2_000, description="Whole text of a question, or the digest of its picture."),
    ] = None


class CaseOrderQuery(QueryModel):
    """The list in which the previous and the next case are looked up."""

    kind: Kind = None
    order: Order = "weight"


class CaseTextView(ResponseModel):
    """A text of a case."""

    name: str
    """`sent`, `translated` or `back`; of other cases, the value or the number of the question."""
    text: str
    lang: str | None
    answer: str | None
    """The reply, if the text is a question."""
    answer_lang: str | None
    failure: str | None
    """Code of the reason why there is no reply."""


class CaseView(ResponseModel):
    """A case: one pair, one round trip, or one word, with all observations of it."""

    id: int
    """Number of the case's first observation."""
    key: str
    """The common part of its questions' names."""
    kind: CaseKind
    part: str | None
    """Component that the case counts for."""
    step: int | None
    """Step that the case counts for; null if it counts for both, or for none."""
    difference: float | None
    """Size of the difference, in the unit of the answers: share of sentences, score, or number."""
    in_words: str | None
    """The difference in words, in the unit of the answers; null if the case is not compared."""
    side: str | None
    """The value, group or side of the stereotype with the higher score; null if none has."""
    weight: float
    """Part of the effect that decided the letter: the difference over the number of compared cases."""
    texts: list[CaseTextView]
    observations: list[int]
    """Numbers of the case's observations."""
    thumbnail: str | None
    """Address of a thumbnail of the case's picture, if you may see it."""


class CaseList(ListModel[CaseView]):
    """One page of cases, and counts of all cases of the rating."""

    counts: dict[str, int]
    """Number of cases of each kind."""
    observations: int
    """Number of recorded answers."""
    copied: int
    """Number of those that were copied from an identical earlier question."""


class CaseExchanges(CaseView):
    """A case with its raw questions and replies."""

    exchanges: list[ObservationView]
    position: int | None
    """Position in the list, from 1; null if the list does not hold the case."""
    previous: int | None
    next: int | None
    """Ids of the cases before and after it in the list."""
