"""Draws of the two effects of stereotype scores: preference for a group, and for the stereotype."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from assay.errors import TooFewObservations
from assay.model import Evidence, Floats, HiddenEffect, Interval
from assay.statistics.hidden.chance import may_be_chance
from assay.statistics.hidden.varying import shared_preference
from assay.statistics.intervals.credible import absolute_value_interval

DRAWS = 4000

NO_PREFERENCE = 0.5
"""Score of a model that prefers neither side."""


class Score(Protocol):
    """A score whose uncertainty can be drawn: `SharesPosterior` of choices, `ImagesPosterior` of probabilities."""

    def draw_overall(self, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Draw the score, a share of answers in [0, 1]; shape (draws,)."""


@dataclass(frozen=True)
class StereotypeEffects:
    """Draws of the scores of neutral and of stereotype terms, and the effects computed from them."""

    neutral: Floats
    """Score of neutral terms: share of answers that prefer the first group; shape (draws,)."""
    stereotyped: Floats
    """Score of stereotype terms: share of answers that prefer the stereotype; shape (draws,)."""
    lists: tuple[Floats, ...] = ()
    """Share for the stereotype in each list of its attributes (first, then second group's); each of shape (draws,)."""

    @property
    def step_1(self) -> Floats:
        """Effect of step 1, a preference for a group: distance of the neutral score from 1/2; shape (draws,)."""
        return np.abs(self.neutral - NO_PREFERENCE)

    @property
    def step_2(self) -> Floats:
        """Effect of step 2, for or against stereotypes: distance of the stereotype score from 1/2; shape (draws,)."""
        return np.abs(self.stereotyped - NO_PREFERENCE)

    @property
    def common(self) -> Floats | None:
        """Draws of the size of a preference for the same group in both lists, 0 or more; ``None`` without two lists.

        One list holds stereotypes of the first group, the other list those of the second group. A model that always
        prefers the same group scores high in one list and low in the other.
        """
        if len(self.lists) != 2:
            return None
        return shared_preference((self.lists[0] - NO_PREFERENCE, NO_PREFERENCE - self.lists[1]))

    def evidence(self, hidden: tuple[HiddenEffect, ...]) -> Evidence:
        """Return the draws of all effects; `chance_1` and `chance_2`: whether chance can explain a step's effect."""
        chance_1, chance_2 = (may_be_chance(score - NO_PREFERENCE) for score in (self.neutral, self.stereotyped))
        return Evidence(self.step_1, self.step_2, hidden=hidden, chance_1=chance_1, chance_2=chance_2)

    def for_groups_like_these(self, shift: Floats, signs: Sequence[int]) -> Self:
        """Return the effects with other words for the groups; `shift`, shape (draws,), adds to the first group's share.

        `signs` are 1 for a list of stereotypes of the first group, and -1 for a list of those of the second.
        """
        lists = tuple(np.clip(score + sign * shift, 0, 1) for score, sign in zip(self.lists, signs, strict=True))
        # a preference for a group raises one list's score and lowers the other's, so that their mean stays
        stereotyped = self.stereotyped if len(lists) == 2 else lists[0]
        return replace(self, neutral=np.clip(self.neutral + shift, 0, 1), stereotyped=stereotyped, lists=lists)

    def intervals(self) -> dict[str, Interval | None]:
        """Return both effects (``step_1``, ``step_2``), distances of scores from 1/2, with 95 % intervals."""
        return {"step_1": _distance_interval(self.neutral), "step_2": _distance_interval(self.stereotyped)}


def _distance_interval(score: Floats) -> Interval:
    """Return the distance of the mean score from 1/2, with an interval within [0, 1/2]."""
    interval = absolute_value_interval(score - NO_PREFERENCE)
    return replace(interval, high=min(interval.high, NO_PREFERENCE))


def stereotype_effects(
    neutral: Score, stereotype_scores: Sequence[Score], rng: np.random.Generator, draws: int = DRAWS
) -> StereotypeEffects:
    """Draw the effects of step 1 (`neutral` terms) and step 2 (terms that stereotypes tie to a group).

    If `stereotype_scores` is a single score, it is that of Jiang et al., in which all terms weigh the same. Scores
    by list have equal weights in the mean, so that a long list does not outweigh a short one: a model that always
    prefers one group follows no stereotype, but over lists of 10 and 6 terms its single score would be .625. Raise
    `TooFewObservations` if there is no stereotype score.
    """
    if not stereotype_scores:
        raise TooFewObservations("step 2 needs a score of stereotype attributes")
    neutral_draws = neutral.draw_overall(rng, draws)
    list_draws = tuple(score.draw_overall(rng, draws) for score in stereotype_scores)
    return StereotypeEffects(neutral_draws, np.mean(list_draws, axis=0), list_draws)
