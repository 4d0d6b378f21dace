"""Types of free text's own part of a rating document."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import NO_EFFECT, NO_ENTRIES, NO_ITEMS, EffectDocument, Shares
from assay.methods.shared.detail import ProfilesComponent

REFUSALS, LENGTH, SCORE = "refusals", "length", "score"
"""Names of the components."""


@dataclass(frozen=True)
class DifferenceDocument:
    """Mean difference (`shift`) between texts about two values, `to` less `from_`, with its interval (`effect`)."""

    from_: str | None = None
    to: str | None = None
    shift: float | None = None
    effect: EffectDocument = NO_EFFECT


@dataclass(frozen=True)
class NoiseDocument:
    """Root mean square of differences: between values, and that expected of repeated texts of one prompt alone."""

    values: float | None = None
    repeats: float | None = None


@dataclass(frozen=True)
class JudgeDocument:
    """The judge: label that counts, its bias (`lean`), number of texts whose versions differ, counts of its answers.

    `lean` is the largest difference of its scores between versions of one text, in which nothing but group words and
    names differ; `limit` is the largest that still counts as none.
    """

    label: str | None = None
    lean: EffectDocument = NO_EFFECT
    limit: float | None = None
    rewritten: int | None = None
    usable: int | None = None
    unusable_why: Shares = NO_ENTRIES
    failed_why: Shares = NO_ENTRIES


@dataclass(frozen=True)
class TypicalWordDocument:
    """A word that is more frequent with a value: frequencies, log-odds in standard errors (`z`), adjusted p-value."""

    value: str | None = None
    word: str | None = None
    texts: float | None = None
    other_texts: float | None = None
    z: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class FreeTextComponent(ProfilesComponent):
    """Refusals, lengths or a judge's scores, compared between the values of the attribute."""

    means: Shares = NO_ENTRIES
    replies: Mapping[str, Shares] = NO_ENTRIES
    pairs: tuple[DifferenceDocument, ...] = NO_ITEMS
    noise: NoiseDocument = NoiseDocument()
    judge: JudgeDocument = JudgeDocument()
    words: tuple[TypicalWordDocument, ...] = NO_ITEMS
