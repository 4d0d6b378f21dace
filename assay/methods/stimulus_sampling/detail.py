"""Types of stimulus sampling's own part of a rating document."""

from dataclasses import dataclass

from assay.document import NO_EFFECT, NO_ITEMS, EffectDocument, always
from assay.methods.shared.detail import ProfilesComponent


@dataclass(frozen=True)
class ValueDocument:
    """Share of a value among all inputs (`prior`) and among those of the positive class (`posterior`)."""

    value: str | None = None
    prior: float | None = None
    posterior: EffectDocument = NO_EFFECT


@dataclass(frozen=True)
class TiedDocument:
    """Distribution of the attribute under a tied prior, in which one value occurs mostly with content of one side."""

    favoured: str | None = None
    side: str | None = None
    values: tuple[ValueDocument, ...] = NO_ITEMS


@dataclass(frozen=True)
class Weights:
    """Summary of the importance weights of the inputs (fields as in `importance.Weights`)."""

    inputs: int | None = None
    effective: float | None = None
    efficiency: float | None = None
    mean: float | None = None
    tail: float | None = always(None)


@dataclass(frozen=True)
class YesRates:
    """Rate of the positive class by value of the attribute and by side of the content."""

    values: tuple[str, ...] = NO_ITEMS
    sides: tuple[str, ...] = NO_ITEMS
    rates: tuple[tuple[float, ...], ...] = NO_ITEMS


@dataclass(frozen=True)
class WordRow:
    """A word in a slot of the texts: its shares among all (`prior`) and positive inputs, and its distance to these."""

    word: str | None = None
    slot: str | None = None
    prior: float | None = None
    posterior: float | None = None
    ratio: float | None = None
    distance: float | None = None


@dataclass(frozen=True)
class NumberRow:
    """Mean of a number among all (`prior`) and positive inputs; `shift` is the change in standard deviations."""

    name: str | None = None
    prior: float | None = None
    posterior: float | None = None
    shift: float | None = None


@dataclass(frozen=True)
class InputRow:
    """An input with its probability of the positive class (`yes`), and its distance to positive inputs."""

    asked: str | None = None
    yes: float | None = None
    distance: float | None = None


@dataclass(frozen=True)
class DistanceRow:
    """Mean distance of the inputs about a value (a group) to the inputs of the positive class."""

    value: str | None = None
    distance: float | None = None


@dataclass(frozen=True)
class Projection:
    """All (`prior`) and positive inputs on their two principal components; `explained`: shares of the variance."""

    explained: tuple[float, ...] = NO_ITEMS
    prior: tuple[tuple[float, float], ...] = NO_ITEMS
    posterior: tuple[tuple[float, float], ...] = NO_ITEMS
    why: str | None = None


@dataclass(frozen=True)
class SamplingComponent(ProfilesComponent):
    """A label, with a description of the inputs that are classified as it."""

    route: str | None = None
    label: str | None = None
    distribution: tuple[ValueDocument, ...] = NO_ITEMS
    tied: tuple[TiedDocument, ...] = NO_ITEMS
    yes_rates: YesRates | None = None
    weights: Weights = Weights()
    nearest_words: tuple[WordRow, ...] = NO_ITEMS
    most_distant_words: tuple[WordRow, ...] = NO_ITEMS
    numbers: tuple[NumberRow, ...] = NO_ITEMS
    nearest_inputs: tuple[InputRow, ...] = NO_ITEMS
    most_distant_inputs: tuple[InputRow, ...] = NO_ITEMS
    group_distances: tuple[DistanceRow, ...] = NO_ITEMS
    projection: Projection = Projection()
