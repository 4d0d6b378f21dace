"""Types of stimulus sampling's own part of a rating document."""

from __future__ import annotations

from dataclasses import dataclass

from assay.document import NO_EFFECT, EffectDocument
from assay.methods.shared.detail import ProfilesComponent


@dataclass(frozen=True)
class ValueDocument:
    """Share of a value among all inputs (`prior`) and among those that get a yes (`posterior`)."""

    value: str | None = None
    prior: float | None = None
    posterior: EffectDocument = NO_EFFECT


@dataclass(frozen=True)
class TiedDocument:
    """The same, when one value comes mostly with one kind of content."""

    favoured: str | None = None
    side: str | None = None
    values: tuple[ValueDocument, ...] = ()


@dataclass(frozen=True)
class Weights:
    """Numbers about the weights of the inputs."""

    inputs: float | None = None
    effective: float | None = None
    mean: float | None = None
    tail: float | None = None


@dataclass(frozen=True)
class WordRow:
    """A word near to, or distant from, the inputs that get a yes."""

    word: str | None = None
    slot: str | None = None
    prior: float | None = None
    posterior: float | None = None
    ratio: float | None = None
    distance: float | None = None


@dataclass(frozen=True)
class NumberRow:
    """A number of the inputs, and its mean among those that get a yes."""

    name: str | None = None
    prior: float | None = None
    posterior: float | None = None
    shift: float | None = None


@dataclass(frozen=True)
class InputRow:
    """An input with its probability of a yes."""

    asked: str | None = None
    yes: float | None = None
    distance: float | None = None


@dataclass(frozen=True)
class DistanceRow:
    """Distance of a group to the inputs that get a yes."""

    value: str | None = None
    distance: float | None = None


@dataclass(frozen=True)
class Projection:
    """Inputs on their two principal components."""

    prior: tuple[tuple[float, float], ...] = ()
    posterior: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class SamplingComponent(ProfilesComponent):
    """A label, and what the inputs that get it are like."""

    label: str | None = None
    distribution: tuple[ValueDocument, ...] = ()
    tied: tuple[TiedDocument, ...] = ()
    weights: Weights = Weights()
    nearest_words: tuple[WordRow, ...] = ()
    most_distant_words: tuple[WordRow, ...] = ()
    numbers: tuple[NumberRow, ...] = ()
    nearest_inputs: tuple[InputRow, ...] = ()
    most_distant_inputs: tuple[InputRow, ...] = ()
    group_distances: tuple[DistanceRow, ...] = ()
    projection: Projection = Projection()
