"""Design of stereotype-score and visual-stereotype: look up words, and ask in looks until the letter is clear."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from assay.bounds import Bounded
from assay.catalog.shipped import is_shipped, shipped_words, specifications
from assay.catalog.stereotypes import StereotypeWords, VisualWords
from assay.errors import OutOfBounds, UnknownName
from assay.experiment import Looks, Method
from assay.methods.shared.answer_tally import Asking
from assay.methods.shared.distributions import refuse_repeats
from assay.methods.shared.one_specification import refuse_other_attribute
from assay.methods.shared.term_scores import TermScores
from assay.model import Component, Probe, Reply
from assay.rating.component import EARLY, Tolerance, has_too_few, look_sizes
from assay.references import FoundWords, NamedWords

W = TypeVar("W", StereotypeWords, VisualWords)


class StereotypeDesign(Bounded, Method, Generic[W]):
    """Base class of stereotype-score and visual-stereotype; each declares the fields itself, in its API's order."""

    specification: str | tuple[str, ...] | None
    words: tuple[W, ...] | None
    per_term: int
    most_per_term: int
    stop_early: bool
    strata: bool
    delta_loss: float | None

    words_type: ClassVar[type[Any]]
    """Type of the words."""
    paper: ClassVar[str] = (
        "Jiang et al., Empowering domain experts to detect social bias in generative AI with user-friendly interfaces"
    )

    def __post_init__(self) -> None:
        """Look the words up and check the fields."""
        super().__post_init__()
        if self.stop_early and self.per_term > self.most_per_term:
            raise OutOfBounds(
                f"most_per_term must be at least per_term ({self.per_term}), not {self.most_per_term}", "most_per_term"
            )
        words = self.words if self.words is not None else self._shipped()
        if words is None:
            return  # the words come from the caller's own specification, which Assay's API fills in later
        refuse_repeats("words", [word_list.name for word_list in words])
        attributes = list(dict.fromkeys(word_list.attribute for word_list in words))
        object.__setattr__(self, "attribute", refuse_other_attribute(self.attribute, attributes))
        object.__setattr__(self, "words", words)
        self.refuse_useless(words)

    @abstractmethod
    def refuse_useless(self, words: Sequence[W]) -> None:
        """Raise an error if no given item is usable; single unusable items are counted and left out."""

    @property
    def named(self) -> tuple[str, ...]:
        """Names of the requested specifications; empty for the attribute's default specification."""
        return (self.specification,) if isinstance(self.specification, str) else self.specification or ()

    @property
    def known_words(self) -> tuple[W, ...]:
        """The words; raises `UnknownName` if some are the caller's own and were not filled in yet."""
        if self.words is None:
            raise UnknownName("specification", ", ".join(self.named), tuple(specifications()), "specification")
        return self.words

    def named_words(self) -> NamedWords | None:
        """Return the names of the specifications to look up; ``None`` if the words are known."""
        return None if self.words is not None else NamedWords(self.named, str(self.specification_kind))

    def with_words(self, word_lists: Sequence[FoundWords]) -> Self:
        """Return the method with the words, and with the references to their versions."""
        if not word_lists:
            return self
        names = tuple(word_list.reference for word_list in word_lists)
        specification = names[0] if isinstance(self.specification, str) else names
        return self.changed(words=tuple(word_list.words for word_list in word_lists), specification=specification)

    def changed(self, **fields: Any) -> Self:
        """Return the method with other values in some fields."""
        changed: Self = replace(cast("Any", self), **fields)  # the cast is safe: every method is a dataclass
        return changed

    def _shipped(self) -> tuple[W, ...] | None:
        if not all(map(is_shipped, self.named)):
            return None
        attribute = self.attribute or "gender"
        return tuple(shipped_words(self.words_type, name, attribute) for name in self.named or (None,))

    # ------------------------------------------------------------------------ the experiment
    @property
    def most_rounds(self) -> int:
        """Number of items of each term at the last look."""
        return self.most_per_term if self.stop_early else self.per_term

    def most_probes(self) -> int:
        """Count the probes of a job that uses all looks."""
        first = self.expected_probes()
        return self.changed(per_term=self.most_rounds).expected_probes() if self.stop_early else first

    def planned_looks(self) -> Looks | None:
        """Count the answers about neutral terms at each look, for the specification with the fewest neutral terms."""
        neutral = min(
            (sum(role == "neutral" for role in word_list.roles.values()) for word_list in self.words or ()), default=0
        )
        sizes = look_sizes(self.per_term, self.most_rounds, self.stop_early)
        return Looks(tuple(neutral * size for size in sizes), neutral) if neutral else None

    def tolerance(self, error_fraction: float = 1.0) -> Tolerance:
        """Return the limits of the effects; `error_fraction` multiplies the permitted error."""
        exponent = 1 / len(self.known_words)
        confidence: float = (1 - error_fraction * (1 - self.confidence)) ** exponent
        return Tolerance.around(self.delta, confidence, largest=0.5, hidden=self.confidence**exponent)

    def look(
        self,
        scores: TermScores[Any, Any, Any, Any],
        rounds: Sequence[Sequence[Any]],
        ask: Callable[[int, int], Asking],
        rng: np.random.Generator,
    ) -> Generator[Sequence[Probe], Sequence[Reply], Component]:
        """Ask round after round, judge the answers so far, and stop when the letter is clear.

        `rounds` are pairs or pictures, in rounds over the terms. ``ask(start, end)`` asks about the rounds from
        `start` up to `end`.
        """
        if not rounds:
            return scores.judge(self.tolerance(), rng)
        rounds_asked = 0
        for size in look_sizes(min(self.per_term, len(rounds)), len(rounds), self.stop_early):
            yield from ask(rounds_asked, size)
            rounds_asked = size
            last = size == len(rounds) or not self.stop_early or scores.tally.unasked > 0
            interim_rng, final_rng = deepcopy(child_rng := rng.spawn(1)[0]), child_rng
            tolerance = self.tolerance(1.0 if last else EARLY)
            component = scores.judge(tolerance, interim_rng, letter_only=True)
            scores.looks.append(scores.looked(size, component))
            if last or component.declared or (component.letter is None and not has_too_few(component)):
                break
        # judge again with a copy of the generator: the letter is the same, and the details are added
        return scores.judge(tolerance, final_rng)
