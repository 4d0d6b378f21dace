"""Versions of the methodology, and what they say of a rating."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from assay.rating.methodology import Methodology
from service.http.openapi.common_schemas import Asked, Instant, LetterName, Told, instant
from store.ratings.rerated import Rerated


class MethodologyLine(Told):
    """A version in the list."""

    version: str
    digest: str
    """Of its text, in UTF-8; the same stands on ratings made under it."""
    published: Annotated[str, Field(json_schema_extra={"format": "date"})]
    status: Literal["old", "current", "next"]
    """Ratings are made under the current one; `next` is announced, and shown as a preview beside ratings."""
    summary: str
    changes: list[str]
    """What is different from the version before."""
    methods: list[str]
    """What it has letters for."""
    href: str

    @classmethod
    def of(cls, one: Methodology) -> Self:
        """Show a version."""
        return cls(
            version=one.version,
            digest=one.digest,
            published=one.published,
            status=one.status,
            summary=one.summary,
            changes=list(one.changes),
            methods=list(one.methods),
            href=f"/v1/methodology/{one.version}",
        )


class MethodologyView(MethodologyLine):
    """A version with its frozen text."""

    text: str
    """The document, in Markdown, byte for byte."""

    @classmethod
    def of(cls, one: Methodology) -> Self:
        """Show a version in full."""
        return cls(**MethodologyLine.of(one).model_dump(), text=one.text)


class MethodologyList(Told):
    """Every version, newest first."""

    current: str
    next: str | None
    items: list[MethodologyLine]


class RerateRequest(Asked):
    """Ask what another version says of the recorded evidence."""

    version: Annotated[str, Field(min_length=1, max_length=40, examples=["1.0.0"])]
    """A version of `/v1/methodology`, or `current`."""


class LetterByVersion(Told):
    """What a version says of a rating's evidence."""

    version: str
    digest: str
    letter: LetterName | None
    declared: bool
    probabilities: dict[str, float] | None
    given: bool
    """Whether the rating was given under this version; otherwise its evidence was rated again by it."""
    computed_at: Instant

    @classmethod
    def of(cls, one: Rerated) -> Self:
        """Show a re-rating."""
        return cls(
            version=one.methodology_version,
            digest=one.document["methodology"]["digest"],
            letter=one.letter,
            declared=one.declared,
            probabilities=one.document["probabilities"],
            given=False,
            computed_at=instant(one.created_at),
        )


class LetterList(Told):
    """A rating's letters by version of the methodology; the one it was given under first."""

    rating: str
    items: list[LetterByVersion]
