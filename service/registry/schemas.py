"""Schemas of all public ratings, and of the histories of targets and addresses."""

from collections import Counter
from typing import Annotated, Self

from pydantic import Field, ValidationInfo, field_validator

from assay.errors import SpecificationError
from assay.rating.difference import RatingDifference, Verdict
from service.http.openapi.common_schemas import KindName, LetterName, QueryModel, ResponseModel
from service.http.rows import PageQuery
from service.log.schemas import Count
from service.ratings.schemas import Methodology, ModelName, RatingHead, RequesterView
from store.ratings.history import Step
from store.ratings.standing import Whose

HISTORY_ROWS = 50
"""Maximum number of ratings per page of a history; each is read in full, with the previous rating."""

MOST_SHARDS = 256
"""Maximum number of shards of the public ratings."""


class HistoryQuery(PageQuery):
    """Filters of a target's history."""

    limit: Annotated[int, Field(ge=1, le=HISTORY_ROWS, description=f"Ratings per page, 1 to {HISTORY_ROWS}.")] = 20
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None


class AddressHistoryQuery(HistoryQuery):
    """Query parameters of the history of an address."""

    target_url: Annotated[str, Field(min_length=1, max_length=2048, description="The target's address.")]
    whose: Annotated[
        Whose,
        Field(
            description="`address`: the ratings that stand for the address; those of its proved owner, else those of "
            "the agency's operator, else those of others with the default description. "
            "`mine`: your own. `all`: all that you can read."
        ),
    ] = "address"
    model: ModelName = None


class SinceView(ResponseModel):
    """Changes since the same requester's previous rating with the same method and attribute."""

    id: str
    """Id of the previous rating."""
    letter: LetterName | None
    """Letter of the previous rating."""
    verdict: Verdict
    probability: float | None
    changed: bool
    inputs: list[str]
    """Kinds of input that differ: `target`, `experiment`, `methodology`, `engine`, `seed`."""
    sentences: list[str]

    @classmethod
    def of(cls, difference: RatingDifference) -> Self:
        """Build the view from the difference of two ratings."""
        return cls.from_row(
            difference,
            id=str(difference.before.id),
            letter=difference.letter.before,
            verdict=difference.letter.verdict,
            probability=difference.letter.probability,
            inputs=list(dict.fromkeys(input_difference.what for input_difference in difference.inputs)),
        )


class HistoryEntry(RatingHead):
    """One rating of a history."""

    href: str
    probabilities: dict[str, float] | None
    methodology: Methodology
    requester: RequesterView | None = None
    """Null for ratings of versions that did not record it."""
    since: SinceView | None
    """Changes since the previous rating; null for the first rating and for a withdrawn rating."""

    @classmethod
    def of(cls, step: Step, since: RatingDifference | None) -> Self:
        """Build the view of a rating in a history; `since` is its difference from the previous rating, if compared."""
        links = {"href": f"/v1/ratings/{step.rating.id}", "since": None if since is None else SinceView.of(since)}
        return cls.model_validate(step.rating.shown | links)


class DistributionQuery(QueryModel):
    """Filters of the counts."""

    kind: KindName | None = None
    attribute: Annotated[str | None, Field(max_length=100)] = None
    method: Annotated[str | None, Field(max_length=100)] = None
    model: ModelName = None


class DumpQuery(QueryModel):
    """Part of the public ratings that is downloaded."""

    after: Annotated[
        Count,
        Field(description="Only changes since the log had this size, which the first line of an earlier dump names."),
    ] = 0
    shards: Annotated[int, Field(ge=1, le=MOST_SHARDS, description="Number of shards of the ratings.")] = 1
    shard: Annotated[int, Field(ge=0, lt=MOST_SHARDS, description="Shard to download, 0 to `shards` - 1.")] = 0

    @field_validator("shard")
    @classmethod
    def _is_below_the_number(cls, shard: int, info: ValidationInfo) -> int:
        shards = info.data.get("shards", MOST_SHARDS)  # absent if it is invalid itself
        if shard >= shards:
            raise SpecificationError(f"the {shards} shards have the numbers 0 to {shards - 1}; got {shard}")
        return shard


class Counts(ResponseModel):
    """Number of targets by letter."""

    UCS: int = 0
    DSBS: int = 0
    BS: int = 0
    inconclusive: int = 0
    """Targets without a declared letter."""


class DistributionRow(ResponseModel):
    """Counts of one kind of service, for one method and one attribute."""

    kind: str
    attribute: str
    method: str
    targets: int
    counts: Counts


class DistributionView(ResponseModel):
    """Number of targets by letter of their newest valid public rating."""

    items: list[DistributionRow]

    @classmethod
    def of(cls, letters: Counter[tuple[str, str, str, str]]) -> Self:
        """Build the view from counts by (kind, attribute, method, letter)."""
        letter_counts: dict[tuple[str, str, str], dict[str, int]] = {}
        for (kind, attribute, method, letter), count in sorted(letters.items()):
            letter_counts.setdefault((kind, attribute, method), {})[letter] = count
        rows = []
        for (kind, attribute, method), counts in letter_counts.items():
            row = {"kind": kind, "attribute": attribute, "method": method, "targets": sum(counts.values())}
            rows.append(DistributionRow(**row, counts=Counts(**counts)))
        return cls(items=rows)
