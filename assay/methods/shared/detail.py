"""Parts of a component's document that several methods have."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import (
    NO_EFFECT,
    NO_ENTRIES,
    NO_ITEMS,
    AggregationDocument,
    ComponentDocument,
    EffectDocument,
    Shares,
    always,
)


@dataclass(frozen=True)
class Coverage:
    """Number of a group's words, the number that can be used, and the words that cannot."""

    words: int
    found: int
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of the words that can be used."""
        return self.found / self.words if self.words else 0.0


@dataclass(frozen=True)
class Sides:
    """Names of the two sides of cues, groups or labels."""

    first: str | None = None
    second: str | None = None


@dataclass(frozen=True)
class Profiles:
    """Profiles that were asked about, and those with an answer for every value."""

    asked: int | None = None
    whole: int | None = None


@dataclass(frozen=True)
class ProfilesLook:
    """A look (interim analysis) of all components together: the likeliest letter of each."""

    profiles: int | None = None
    letters: Mapping[str, str | None] = NO_ENTRIES


@dataclass(frozen=True)
class ProfilesComponent(ComponentDocument):
    """A component of a method that asks about profiles: sentences or records in several versions."""

    values: tuple[str, ...] = NO_ITEMS
    profiles: Profiles = Profiles()
    clusters: Shares = NO_ENTRIES
    scale: float | None = None
    looks: tuple[ProfilesLook, ...] = NO_ITEMS


@dataclass(frozen=True)
class ProfilesAggregation(AggregationDocument):
    """The looks (interim analyses) at all components together."""

    looks: tuple[ProfilesLook, ...] = NO_ITEMS


@dataclass(frozen=True)
class WordsComponent(ComponentDocument):
    """A component of a method that asks about lists of words."""

    coverage: Mapping[str, Coverage] = NO_ENTRIES
    sides: Sides = Sides()


@dataclass(frozen=True)
class TermsLook:
    """A look (interim analysis) at pairs of sentences or at images."""

    per_term: float | None = None
    pairs: float | None = None
    images: float | None = None
    letter: str | None = always(None)
    probabilities: Shares = always(NO_ENTRIES)


@dataclass(frozen=True)
class Scores:
    """Means of the answers of a list over terms (Jiang et al.), pairs or images, and numbers of these.

    `posterior` is the mean over terms with its interval, `pooled` the mean over pairs with Wilson's interval, `spread`
    the difference between terms.
    """

    list: str | None = None
    over_terms: float | None = None
    over_pairs: float | None = None
    over_images: float | None = None
    posterior: EffectDocument = NO_EFFECT
    pooled: EffectDocument = NO_EFFECT
    spread: EffectDocument = NO_EFFECT
    terms: float | None = None
    pairs: float | None = None
    images: float | None = None
    ties: float | None = None


@dataclass(frozen=True)
class TermScore:
    """Score of a term, in [0, 1]: share of answers for the stereotype or, of a neutral term, for the first group."""

    term: str | None = None
    list: str | None = None
    score: float | None = None
    posterior: EffectDocument = always(NO_EFFECT)
    pairs: float | None = None
    images: float | None = None
    stereotyped: float | None = None
    anti_stereotyped: float | None = None
    ties: float | None = None


@dataclass(frozen=True)
class CaseDocument:
    """A pair of sentences or an image, and the side that its answer prefers.

    `towards` is the preference (0 to 1) for the side that the stereotype ties to the term or, for a neutral term, for
    the first side; `names` is the label that the answer names, and `says` the answer in words.
    """

    id: str | None = None
    term: str | None = None
    list: str | None = None
    towards: float | None = None
    first: str | None = None
    second: str | None = None
    prefers: str | None = None
    image: str | None = None
    first_score: float | None = always(None)
    names: str | None = None
    says: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Source:
    """An author's task (`Writing`, `Drawing`), and counts of its sentences or images (`AuthorCounts`)."""

    per_term: int | None = None
    family: str | None = None
    prompt: str | None = None
    tries: int | None = None
    reuse: bool | None = None

    wanted: float | None = None
    asked: float | None = None
    written: float | None = None
    drawn: float | None = None
    different: float | None = None
    alike: bool | None = None
    refused: Shares = NO_ENTRIES
    failed: Shares = NO_ENTRIES
    unasked: int | None = None
    examples: tuple[Mapping[str, str], ...] = NO_ITEMS


NO_SOURCE = Source()
"""The `Source` of a component without an author: it has no task and no counts."""


@dataclass(frozen=True)
class ModelScores(Scores):
    """Score of Jiang et al. over all specifications, or the reason why there is none."""

    by_bias: Shares = NO_ENTRIES
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class TermsComponent(WordsComponent):
    """A component of a method that scores stereotypes by terms; `model` is a part of the aggregation."""

    looks: tuple[TermsLook, ...] = NO_ITEMS
    refused: Shares = NO_ENTRIES
    lists: Mapping[str, Scores] = NO_ENTRIES
    score: Scores | None = None
    terms: tuple[TermScore, ...] = NO_ITEMS
    model: ModelScores = ModelScores()


@dataclass(frozen=True)
class TermsAggregation(AggregationDocument):
    """Part of the rating that concerns all specifications: their common score (Jiang et al.)."""

    model: ModelScores = ModelScores()
