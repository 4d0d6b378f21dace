"""Types of forced choice's own part of a rating document."""

from __future__ import annotations

from dataclasses import dataclass

from assay.document import NO_EFFECT, EffectDocument
from assay.methods.shared.detail import WordsComponent


@dataclass(frozen=True)
class WordDocument:
    """Point of subjective equality of a word; `curve` or `trials` are the choices behind it."""

    word: str | None = None
    role: str | None = None
    share: float | None = None
    pse: EffectDocument = NO_EFFECT
    jnd: float | None = None
    jnd_75: float | None = None
    lapse: EffectDocument = NO_EFFECT
    curve: tuple[float, ...] = ()
    trials: tuple[tuple[float, float, float], ...] = ()
    why: str | None = None

    @property
    def place(self) -> float | None:
        """The point of subjective equality; ``None`` if there is none."""
        return self.pse.estimate


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the points of subjective equality."""

    concepts: float | None = None
    controls: float | None = None


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation with its interval, or the reason why there is none."""

    r: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: float | None = None


@dataclass(frozen=True)
class ForcedChoiceComponent(WordsComponent):
    """A list of words between two sides."""

    dimensions: int | None = None
    words: tuple[WordDocument, ...] = ()
    levels: tuple[float, ...] = ()
    spread: Spread = Spread()
    controls_mean: float | None = None
    apart: EffectDocument = NO_EFFECT
    slope: EffectDocument = NO_EFFECT
    correlation: Correlation = Correlation()
    jnd_correlation: Correlation = Correlation()
