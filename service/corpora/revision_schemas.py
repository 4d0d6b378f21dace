"""Schemas for the revision of a corpus: coverage of its terms, and changes of several items at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from assay.catalog.stereotypes import LISTS
from assay.errors import SpecificationError
from service.corpora.schemas import MAX_TOGETHER, ItemChange, ItemView
from service.http.openapi.common_schemas import RequestModel, ResponseModel

ItemId = Annotated[str, Field(min_length=1, max_length=64, examples=["itm_01KA8Z6M3YQ8V5T2N7R4W9X0CD"])]


class ItemEdit(ItemChange):
    """Edit of one of several items."""

    id: ItemId
    etag: Annotated[str, Field(max_length=200)] | None = None
    """Apply the edit only if this is still the item's `etag`; otherwise nothing is changed (412)."""


class ItemsChange(RequestModel):
    """Edits and removals of items: all of them, or none if one is refused."""

    edit: Annotated[list[ItemEdit], Field(max_length=MAX_TOGETHER, default_factory=list)]
    """Items to edit."""
    remove: Annotated[list[ItemId], Field(max_length=MAX_TOGETHER, default_factory=list)]
    """Items to remove; those that the corpus does not have are ignored."""

    @model_validator(mode="after")
    def _change_something(self) -> Self:
        if not self.edit and not self.remove:
            raise SpecificationError("the request changes nothing; name items to edit or to remove")
        return self


class ChangedItemsView(ResponseModel):
    """Result of a change of several items."""

    removed: int
    """Number of removed items."""
    version: int
    """The new version of the corpus."""
    items: list[ItemView]
    """The edited items, in the order sent."""


class TermCoverage(ResponseModel):
    """Number of items about a term."""

    term: str | None
    """The attribute term of a sentence, or the term of a picture; null for sentences without such a term."""
    role: Literal["first", "second", "neutral"] | None
    """Side of the term in the specification of the corpus; null without a specification."""
    items: int


class CoverageView(ResponseModel):
    """Number of items of a corpus about each term of its specification, and from each source."""

    items: int
    """Number of items."""
    terms: list[TermCoverage]
    """Every term of the specification, in its order, and then other terms of items."""
    sources: dict[str, int]
    """Number of items by source."""

    @classmethod
    def of(cls, counted: Iterable[tuple[str | None, str, int]], words: Mapping[str, Any] | None) -> Self:
        """Build the view from counts by term and source, and the words of the corpus's specification."""
        by_term: dict[str | None, int] = {}
        sources: dict[str, int] = {}
        for term, source, number in counted:
            by_term[term] = by_term.get(term, 0) + number
            sources[source] = sources.get(source, 0) + number
        roles = {term: role for role, field in LISTS.items() for term in (words or {}).get(field, ())}
        terms = [
            TermCoverage(term=term, role=roles.get(term), items=by_term.get(term, 0)) for term in {**roles, **by_term}
        ]
        return cls(items=sum(sources.values()), terms=terms, sources=sources)
