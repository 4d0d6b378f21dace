"""Types of forced choice's own part of a rating document."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.document import NO_EFFECT, NO_ENTRIES, NO_ITEMS, EffectDocument, always
from assay.methods.shared.detail import WordsComponent


@dataclass(frozen=True)
class WordDocument:
    """A word's point of subjective equality (`pse`) and just noticeable difference (`jnd`), with its choices."""

    word: str | None = None
    role: str | None = None
    share: float | None = always(None)
    pse: EffectDocument = always(NO_EFFECT)
    jnd: float | None = always(None)
    jnd_75: float | None = always(None)
    lapse: EffectDocument = NO_EFFECT
    curve: tuple[float, ...] = NO_ITEMS
    trials: tuple[tuple[float, float, float], ...] = NO_ITEMS
    why: str | None = None

    @property
    def pse_value(self) -> float | None:
        """Share of the second cue at which both cues are equally likely to be chosen; ``None`` if it is not known."""
        return self.pse.estimate


@dataclass(frozen=True)
class Spread:
    """Standard deviations of the points of subjective equality over concepts and over controls."""

    concepts: float | None = None
    controls: float | None = None


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation with its interval, or the reason why there is none."""

    r: float | None = None
    p: float | None = None
    n: int | None = None
    low: float | None = None
    high: float | None = None
    why: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class MeasuredCorrelation(Correlation):
    """A correlation that was measured; of fewer than four words it has no interval."""

    low: float | None = always(None)
    high: float | None = always(None)


@dataclass(frozen=True)
class ReplicatesDocument:
    """Numbers of models, cue pairs and templates, and of random halves of the dimensions (`half_samples`)."""

    models: int | None = None
    cues: int | None = None
    templates: int | None = None
    half_samples: int | None = None


@dataclass(frozen=True)
class ForcedChoiceComponent(WordsComponent):
    """Choices between two sides (cues such as she, he) for a list of words; `without`: reasons for missing curves."""

    dimensions: int | None = None
    cues: tuple[tuple[str, str], ...] = NO_ITEMS
    without: Mapping[str, str] = NO_ENTRIES
    words: tuple[WordDocument, ...] = NO_ITEMS
    levels: tuple[float, ...] = NO_ITEMS
    replicates: ReplicatesDocument | None = None
    spread: Spread = Spread()
    controls_mean: float | None = None
    apart: EffectDocument = NO_EFFECT
    slope: EffectDocument = NO_EFFECT
    correlation: Correlation = Correlation()
    jnd_correlation: Correlation = Correlation()
