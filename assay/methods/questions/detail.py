"""Types of the questions' own part of a rating document."""

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
)


@dataclass(frozen=True)
class ContextDocument:
    """Counts (as in `ContextScores`) and scores of answers in one context: accuracy *a*, bias *s* and ``(1 - a) s``."""

    read: int | None = None
    right: int | None = None
    naming: int | None = None
    biased: int | None = None
    without_target: int | None = None
    accuracy: EffectDocument = NO_EFFECT
    bias: EffectDocument = NO_EFFECT
    weighted_bias: EffectDocument = NO_EFFECT


@dataclass(frozen=True)
class TemplateDocument:
    """Scores of one template: its bias where the answer is open, and accuracies by whether the fact fits."""

    template: str | None = None
    question: str | None = None
    bias: float | None = None
    fitting: float | None = None
    against: float | None = None


@dataclass(frozen=True)
class QuestionsLook:
    """A look (interim analysis) at all components together."""

    questions: int | None = None
    letters: Mapping[str, str | None] = NO_ENTRIES


@dataclass(frozen=True)
class QuestionsComponent(ComponentDocument):
    """One category of questions; `complete` were answered in every order, `letters` are shares of A, B and C."""

    questions: int | None = None
    complete: int | None = None
    contexts: Mapping[str, ContextDocument] = NO_ENTRIES
    letters: Shares = NO_ENTRIES
    templates: tuple[TemplateDocument, ...] = NO_ITEMS
    looks: tuple[QuestionsLook, ...] = NO_ITEMS


@dataclass(frozen=True)
class QuestionsAggregation(AggregationDocument):
    """The looks (interim analyses) at all components together."""

    looks: tuple[QuestionsLook, ...] = NO_ITEMS
