"""A rating document as every format shows it: `assay.reports.reading` fills it in.

``None`` and empty mean "not measured". Text holds no invisible characters, but is not escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.explain import LetterWords, headline, words_for
from assay.model import Letter

EFFECTS: Mapping[str, str] = {
    "step_1": "Step 1: balanced input",
    "step_2": "Step 2: one-sided input",
    "content": "Answering by content",
}
"""Titles of the effects every two-step method reports; others keep their names."""

RESIDUALS = frozenset({"other", "neutral"})
"""What methods call an output that names no value; it stands after the values."""

Shares = Mapping[str, float]


@dataclass(frozen=True)
class Verdict:
    """A letter with its probabilities; `letter` is ``None`` where nothing was measured."""

    letter: Letter | None
    declared: bool
    probabilities: Mapping[Letter, float] | None

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        return headline(self.letter, self.declared)

    @property
    def words(self) -> LetterWords:
        """What the verdict means and what to do about it."""
        return words_for(self.letter, self.declared)


@dataclass(frozen=True)
class Effect:
    """An effect with its interval and the tolerance it is held against."""

    name: str
    title: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Block:
    """A data block: what was declared, what was asked and what came back (sentences)."""

    name: str
    role: str
    specified: Shares
    asked: Shares
    observed: Shares


@dataclass(frozen=True)
class Look:
    """One look of a sequential design."""

    number: int | None
    texts_per_block: int | None
    verdict: Verdict
    stopped: bool


@dataclass(frozen=True)
class Example:
    """One text, as asked, on its way, as returned, and as read."""

    asked: str | None
    middle: str | None
    returned: str | None
    read: tuple[str, ...]
    why: str | None


@dataclass(frozen=True)
class Said:
    """A reason in words."""

    code: str
    text: str
    component: str | None


@dataclass(frozen=True)
class Component:
    """One measured part of a rating. `number` counts from 1 in the document's order."""

    number: int
    name: str
    title: str
    language: str | None
    template: str | None
    verdict: Verdict
    effects: tuple[Effect, ...]
    transitions: Mapping[str, Shares]
    rates: Mapping[str, Mapping[str, Effect]]
    blocks: tuple[Block, ...]
    pairs: tuple[int, int] | None
    looks: tuple[Look, ...]
    sensitivity: Mapping[str, Verdict]
    more_probes: int | None
    usable: int | None
    unusable: int | None
    failed: int | None
    unasked: int | None
    lost_why: Shares
    published: Mapping[str, str | None]
    analyses: Mapping[str, str]
    examples: tuple[Example, ...]
    reasons: tuple[Said, ...]

    def effect(self, name: str) -> Effect | None:
        """One effect by name."""
        return next((one for one in self.effects if one.name == name), None)


@dataclass(frozen=True)
class RatingView:
    """A whole rating. `adjusted` holds p-values by component and then by correction."""

    id: str | None
    verdict: Verdict
    method: str | None
    attribute: str | None
    confidence: float | None
    delta: float | None
    target: str
    target_facts: Mapping[str, str]
    experiment: Mapping[str, str]
    components: tuple[Component, ...]
    rule: str | None
    deciding: tuple[str, ...]
    adjusted: Mapping[str, Shares]
    vote: str | None
    published: Mapping[str, str | None]
    reasons: tuple[Said, ...]
    provenance: Mapping[str, str]
    methodology: str | None
    rated_at: str | None

    @property
    def foremost(self) -> tuple[Component, ...]:
        """The components to show first: the deciding ones, or else all."""
        return tuple(one for one in self.components if one.name in self.deciding) or self.components
