"""Schemas of the methodology's versions, and of a rating's letters by version."""

from typing import Annotated, Literal, Self

from pydantic import Field

from assay.rating.methodology import Methodology
from service.http.openapi.common_schemas import Instant, LetterName, RequestModel, ResponseModel
from store.ratings.ratings import StoredRating
from store.ratings.rerated import Rerated


class MethodologyLine(ResponseModel):
    """A version of the methodology in a list."""

    version: str
    digest: str
    """SHA-256 digest of the version's text in UTF-8; ratings made under the version name this digest."""
    published: Annotated[str, Field(json_schema_extra={"format": "date"})]
    status: Literal["old", "current", "next"]
    """Ratings are made under the `current` version; `next` is announced, and shown as a preview with ratings."""
    summary: str
    changes: list[str]
    """Differences from the previous version."""
    methods: list[str]
    """Methods that the version supports."""
    href: str

    @classmethod
    def of(cls, methodology: Methodology) -> Self:
        """Build the view of a version."""
        return cls.from_row(methodology, href=f"/v1/methodology/{methodology.version}")


class MethodologyView(MethodologyLine):
    """A version of the methodology with its frozen text."""

    text: str
    """The document, in Markdown, byte for byte."""


class MethodologyList(ResponseModel):
    """All versions of the methodology, newest first."""

    current: str
    next: str | None
    items: list[MethodologyLine]


class RerateRequest(RequestModel):
    """Request to re-rate recorded evidence by another version."""

    version: Annotated[str, Field(min_length=1, max_length=40, examples=["1.3.0"])]
    """A version of `/v1/methodology`, or `current`."""


class LetterByVersion(ResponseModel):
    """Letter of a rating's evidence by one version of the methodology."""

    version: str
    digest: str
    letter: LetterName | None
    declared: bool
    probabilities: dict[str, float] | None
    given: bool
    """Whether the rating was made under this version; otherwise it is a re-rating."""
    computed_at: Instant

    @classmethod
    def of(cls, row: Rerated | StoredRating, *, original: bool, computed_at: int | str) -> Self:
        """Build the view of a rating's own letter (`original`) or of a re-rating's, with its time of computation."""
        return cls.from_row(
            row,
            version=row.methodology_version,
            digest=row.rating.methodology.digest,
            probabilities=row.rating.probabilities or None,
            given=original,
            computed_at=computed_at,
        )


class LetterList(ResponseModel):
    """A rating's letters by version of the methodology, the original one first."""

    rating: str
    items: list[LetterByVersion]
