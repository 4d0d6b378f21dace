"""Schemas of specifications: named word lists in versions."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field

from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.specification import Specification
from assay.catalog.stereotypes import StereotypeWords, VisualWords
from assay.document import JsonObject
from assay.errors import SpecificationError
from service.http.openapi.common_schemas import Instant, RequestModel, ResponseModel
from service.http.rows import PageQuery
from store.corpora.specifications import StoredSpecification

SpecificationKind = Literal["choices", "association", "stereotype", "visual"]


def check_language(tag: str) -> str:
    """Validate a language tag and normalise it as BCP 47 recommends (``en-us`` becomes ``en-US``)."""
    from langcodes import standardize_tag, tag_is_valid  # imported here: its tables would add 0.1 s to each start

    if not tag_is_valid(tag):
        raise SpecificationError(f"{tag!r} is not a language tag (BCP 47); write one such as en, es or pt-BR")
    return standardize_tag(tag)


class _SpecificationRequest(RequestModel):
    """Fields of every kind of specification."""

    name: Annotated[
        str, Field(min_length=1, max_length=100, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", examples=["my-occupations"])
    ]
    """Name in requests: lower case letters, digits and single hyphens."""
    title: Annotated[str, Field(min_length=1, max_length=200)]
    """Title for people."""
    language: Annotated[str, Field(min_length=2, max_length=35, examples=["en"]), AfterValidator(check_language)]
    """Language of the words (BCP 47)."""
    citation: Annotated[str, Field(min_length=1, max_length=2000)]
    """Source of the words."""


class ChoicesRequest(_SpecificationRequest):
    """Words for a forced choice: pairs of cues, concepts and controls."""

    kind: Literal["choices"]
    words: ChoiceWords


class AssociationRequest(_SpecificationRequest):
    """Words for an association: groups, their stereotypes and controls."""

    kind: Literal["association"]
    words: AssociationWords


class StereotypeRequest(_SpecificationRequest):
    """Words for a stereotype score: two groups, their stereotypes, and neutral words."""

    kind: Literal["stereotype"]
    words: StereotypeWords


class VisualRequest(_SpecificationRequest):
    """Words for a visual stereotype: two labels, the picture terms that go with each, and neutral terms."""

    kind: Literal["visual"]
    words: VisualWords


SpecificationRequest = Annotated[
    ChoicesRequest | AssociationRequest | StereotypeRequest | VisualRequest, Field(discriminator="kind")
]


def as_specification(request: SpecificationRequest) -> Specification:
    """Build a specification from a request."""
    return Specification(request.name, request.title, request.kind, request.language, request.citation, request.words)


class SpecificationQuery(PageQuery):
    """Filters of the list of specifications."""

    kind: Annotated[SpecificationKind | None, Field(description="Kind of method that they are for.")] = None


class SpecificationLine(ResponseModel):
    """The newest version of a specification, in a list."""

    name: str
    version: int
    latest: int
    """Number of the newest version."""
    title: str
    kind: SpecificationKind
    language: str
    citation: str
    digest: str
    """Digest of everything except the version numbers; ratings name it."""
    shipped: bool
    """Whether the specification is part of Assay and cannot be changed."""
    created_at: Instant | None
    """Null for a shipped specification."""
    href: str

    @classmethod
    def of(cls, row: StoredSpecification) -> Self:
        """Build the view of a specification."""
        created_at = None if row.shipped else row.created_at
        return cls.from_row(row, created_at=created_at, href=f"/v1/specifications/{row.name}/versions/{row.version}")


class SpecificationView(SpecificationLine):
    """A specification with its words."""

    words: JsonObject
