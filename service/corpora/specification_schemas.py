"""Specifications: named lists of words in versions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from langcodes import standardize_tag, tag_is_valid
from pydantic import AfterValidator, Field

from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.specification import Specification
from assay.catalog.stereotypes import StereotypeWords, VisualWords
from assay.errors import SpecificationError
from service.http.openapi.common_schemas import Asked, Instant, Told, instant
from service.http.pagination import PageQuery
from store.corpora.specifications import StoredSpecification

SpecificationKind = Literal["choices", "association", "stereotype", "visual"]


def check_language(tag: str) -> str:
    """Refuse what is no language, and write the rest as BCP 47 recommends (``en-us`` becomes ``en-US``).

    Raises
    ------
    SpecificationError
        If no language has the tag.
    """
    if not tag_is_valid(tag):
        raise SpecificationError(f"{tag!r} is no language tag of BCP 47; write one such as en, es or pt-BR")
    return standardize_tag(tag)


class _SpecificationRequest(Asked):
    """What specifications of every kind have."""

    name: Annotated[
        str, Field(min_length=1, max_length=100, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", examples=["my-occupations"])
    ]
    """Its name in requests: lower case letters, digits and single hyphens."""
    title: Annotated[str, Field(min_length=1, max_length=200)]
    """Its name for people."""
    language: Annotated[str, Field(min_length=2, max_length=35, examples=["en"]), AfterValidator(check_language)]
    """Language of the words, as BCP 47 has it."""
    citation: Annotated[str, Field(min_length=1, max_length=2000)]
    """Where the words come from."""


class ChoicesRequest(_SpecificationRequest):
    """Words for a forced choice: pairs of cues, concepts and controls."""

    kind: Literal["choices"]
    words: ChoiceWords


class AssociationRequest(_SpecificationRequest):
    """Words for an association: groups, their stereotypes and controls."""

    kind: Literal["association"]
    words: AssociationWords


class StereotypeRequest(_SpecificationRequest):
    """Words for a stereotype score: two groups, what is said of either, and what is said of neither."""

    kind: Literal["stereotype"]
    words: StereotypeWords


class VisualRequest(_SpecificationRequest):
    """Words for a visual stereotype: two labels, and what pictures are of that go with either or with neither."""

    kind: Literal["visual"]
    words: VisualWords


AnyRequest = ChoicesRequest | AssociationRequest | StereotypeRequest | VisualRequest
SpecificationRequest = Annotated[AnyRequest, Field(discriminator="kind")]


def as_specification(asked: AnyRequest) -> Specification:
    """Build what methods use from a request."""
    return Specification(asked.name, asked.title, asked.kind, asked.language, asked.citation, asked.words)


class SpecificationQuery(PageQuery):
    """What the list of specifications is narrowed to."""

    kind: Annotated[SpecificationKind | None, Field(description="Which methods they are for.")] = None


class SpecificationLine(Told):
    """A specification in a list, in its newest version."""

    name: str
    version: int
    latest: int
    """The newest version there is."""
    title: str
    kind: SpecificationKind
    language: str
    citation: str
    digest: str
    """Of everything but the versions; ratings name it."""
    shipped: bool
    """Whether it comes with Assay; such a one cannot be changed."""
    created_at: Instant | None
    """Null for one that is shipped."""
    href: str

    @classmethod
    def of(cls, row: StoredSpecification) -> Self:
        """Show a specification."""
        return cls(**_plain(row))


class SpecificationView(SpecificationLine):
    """A specification with its words."""

    words: dict[str, Any]

    @classmethod
    def of(cls, row: StoredSpecification) -> Self:
        """Show a specification in full."""
        return cls(**_plain(row), words=row.words)


class SpecificationList(Told):
    """One page of specifications: your own, newest first, and then the shipped ones."""

    items: list[SpecificationLine]
    next_cursor: str | None


def _plain(row: StoredSpecification) -> dict[str, Any]:
    names = ("name", "version", "latest", "title", "kind", "language", "citation", "digest", "shipped")
    return {name: getattr(row, name) for name in names} | {
        "created_at": None if row.shipped else instant(row.created_at),
        "href": f"/v1/specifications/{row.name}/versions/{row.version}",
    }
