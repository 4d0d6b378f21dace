"""Base classes of demo services that answer with a vector, a number or a class."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.model import Field, Kind, Letter

Row = Mapping[str, Field]
"""A record: its cells by the names of their columns."""

Floats = NDArray[np.float64]
Vector = Sequence[float]

NEGATIVE, POSITIVE = "negative", "positive"
"""Labels of every classifier of texts."""

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

REASONS: Mapping[str, Mapping[Letter, str]] = {
    "forced-choice": {BS: "controls-lean", DSBS: "choices-follow-words", UCS: "choices-balanced"},
    "association": {BS: "controls-nearer", DSBS: "nearer-to-own-stereotypes", UCS: "no-nearer"},
    "alternation": {BS: "responds-to-attribute", DSBS: "follows-tied-content", UCS: "even-handed"},
    "stereotype-score": {BS: "prefers-a-group", DSBS: "prefers-stereotypes", UCS: "prefers-neither"},
    "questions": {BS: "names-by-stereotype", DSBS: "facts-by-stereotype", UCS: "answers-by-facts"},
    "visual-stereotype": {BS: "sees-a-label", DSBS: "sees-stereotypes", UCS: "sees-neither"},
}
"""Code of the main reason that a rating gives for each letter, by method."""


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """Base class of the demo services that are no translators, each of a known true letter."""

    name: str
    summary: str
    letter: Letter | None = None
    """True letter by each of `methods` with its defaults; ``None`` exactly on a boundary, and for real systems, whose
    true letter is unknown.
    """

    kinds: ClassVar[tuple[Kind, ...]]
    """Kinds as which the service may be registered."""
    protocols: ClassVar[tuple[str, ...]]
    """Protocols that it speaks."""
    methods: ClassVar[tuple[str, ...]]
    """Methods that can rate it."""

    @property
    def reasons(self) -> dict[str, str]:
        """Code of the main reason that a rating must give, by method; empty if there is no true letter."""
        return {} if self.letter is None else {method: REASONS[method][self.letter] for method in self.methods}


@dataclass(frozen=True, kw_only=True)
class Embedder(Predictor):
    """Service that returns vectors of texts."""

    embed: Callable[[str, str], Vector | None] = field(repr=False)
    """Takes a text and the name of a model; returns a vector, or ``None`` for an unknown text."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.EMBEDDER,)
    protocols: ClassVar[tuple[str, ...]] = ("openai-embeddings",)
    methods: ClassVar[tuple[str, ...]] = ("forced-choice", "association")


@dataclass(frozen=True, kw_only=True)
class TextScorer(Predictor):
    """Scorer of texts: a classifier by one protocol, a regressor by another."""

    number: Callable[[str], float] = field(repr=False)
    """Returns the score of a text, in the service's own unit."""
    positive: Callable[[float], float] = field(default=float, repr=False)
    """Converts a score to the probability of the label ``positive``."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CLASSIFIER, Kind.REGRESSOR)
    protocols: ClassVar[tuple[str, ...]] = ("hf-inference", "mlflow")
    methods: ClassVar[tuple[str, ...]] = ("alternation",)

    def scores(self, text: str) -> dict[str, float]:
        """Return the probability of each label."""
        positive = self.positive(self.number(text))
        return {NEGATIVE: 1 - positive, POSITIVE: positive}


@dataclass(frozen=True, kw_only=True)
class RowRegressor(Predictor):
    """Service that returns a number for each record; it ignores columns not in `columns`."""

    columns: tuple[str, ...]
    numbers: Callable[[Sequence[Row]], Sequence[float]] = field(repr=False)

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.REGRESSOR,)
    protocols: ClassVar[tuple[str, ...]] = ("mlflow", "kserve")
    methods: ClassVar[tuple[str, ...]] = ("alternation",)


@dataclass(frozen=True, kw_only=True)
class RowClassifier(Predictor):
    """Service that returns, for each record, the probability of each of its `labels`, in their order."""

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    probabilities: Callable[[Sequence[Row]], Floats] = field(repr=False)

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CLASSIFIER,)
    protocols: ClassVar[tuple[str, ...]] = ("mlflow", "kserve")
    methods: ClassVar[tuple[str, ...]] = ("alternation",)


class Named(Protocol):
    """Service or file with a name."""

    @property
    def name(self) -> str:
        """Name, which no other service or file has."""


Service = TypeVar("Service", bound=Named)


def by_name(*services: Service) -> Mapping[str, Service]:
    """Return the services by their names, in their order."""
    return {service.name: service for service in services}


def above(effect: float, delta: float, over: Letter, under: Letter) -> Letter | None:
    """Return the letter of an effect: `over` beyond the tolerance, `under` within it, ``None`` exactly on it."""
    return None if effect == delta else over if effect > delta else under
