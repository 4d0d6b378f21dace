"""Parts of a component's document that several methods have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.document import NO_EFFECT, ComponentDocument, EffectDocument, Shares


@dataclass(frozen=True)
class Coverage:
    """Words of a list, and how many of them could be used."""

    words: int | None = None
    found: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sides:
    """Names of the two sides of cues, groups or labels."""

    first: str | None = None
    second: str | None = None


# ---------------------------------------------------------------------------- profiles
@dataclass(frozen=True)
class Profiles:
    """Profiles that were asked about, and those with an answer for every value."""

    asked: int | None = None
    whole: int | None = None


@dataclass(frozen=True)
class ProfilesLook:
    """A look (interim analysis) of all components together: the likeliest letter of each."""

    profiles: int | None = None
    letters: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ProfilesComponent(ComponentDocument):
    """A component of a method that asks about profiles: sentences or records in several versions."""

    values: tuple[str, ...] = ()
    profiles: Profiles = Profiles()
    clusters: Shares = field(default_factory=dict)
    scale: float | None = None
    looks: tuple[ProfilesLook, ...] = ()


# ---------------------------------------------------------------------------- words
@dataclass(frozen=True)
class WordsComponent(ComponentDocument):
    """A component of a method that asks about lists of words."""

    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    sides: Sides = Sides()


# ---------------------------------------------------------------------------- terms
@dataclass(frozen=True)
class TermsLook:
    """A look (interim analysis) at pairs of sentences or at images."""

    per_term: float | None = None
    pairs: float | None = None
    images: float | None = None
    letter: str | None = None


@dataclass(frozen=True)
class Scores:
    """P4's score and other scores of a list of terms."""

    list: str | None = None
    over_terms: float | None = None
    over_pairs: float | None = None
    over_images: float | None = None
    posterior: EffectDocument = NO_EFFECT
    pooled: EffectDocument = NO_EFFECT
    terms: float | None = None
    pairs: float | None = None
    images: float | None = None
    ties: float | None = None


@dataclass(frozen=True)
class TermScore:
    """Score of a term."""

    term: str | None = None
    list: str | None = None
    score: float | None = None
    posterior: EffectDocument = NO_EFFECT
    pairs: float | None = None
    images: float | None = None
    ties: float | None = None


@dataclass(frozen=True)
class CaseDocument:
    """A pair of sentences or an image, and the side of its answer."""

    term: str | None = None
    list: str | None = None
    towards: float | None = None
    first: str | None = None
    second: str | None = None
    prefers: str | None = None
    image: str | None = None
    first_score: float | None = None
    names: str | None = None
    says: str | None = None


@dataclass(frozen=True)
class Source:
    """Counts of an author's sentences or images, with the reasons of those that could not be used."""

    wanted: float | None = None
    asked: float | None = None
    written: float | None = None
    drawn: float | None = None
    refused: Shares = field(default_factory=dict)
    failed: Shares = field(default_factory=dict)


NO_SOURCE = Source()
"""Counts of no author."""


@dataclass(frozen=True)
class ModelScores:
    """P4's score over all specifications."""

    by_bias: Shares = field(default_factory=dict)
    over_terms: float | None = None
    posterior: EffectDocument = NO_EFFECT


@dataclass(frozen=True)
class TermsComponent(WordsComponent):
    """A component of a method that scores stereotypes by terms; `model` is a part of the aggregation."""

    looks: tuple[TermsLook, ...] = ()
    refused: Shares = field(default_factory=dict)
    lists: Mapping[str, Scores] = field(default_factory=dict)
    score: Scores | None = None
    terms: tuple[TermScore, ...] = ()
    model: ModelScores = ModelScores()
