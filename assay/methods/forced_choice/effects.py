"""Posterior draws of the effects of forced choice: bias of control words (step 1), preferences of concepts (step 2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import TooFewObservations
from assay.model import Evidence, Floats, HiddenEffect, Integers, Interval
from assay.statistics.bayes.population import Margin, draw_population
from assay.statistics.hidden.chance import CONFIDENCE_AGAINST_CHANCE, may_be_chance
from assay.statistics.hidden.varying import shared_preference
from assay.statistics.intervals.credible import absolute_value_interval, bounded_interval

DRAWS = 4000

LEAST_WORDS = 8
"""Minimum number of words of a side for draws of other words like these; fewer words are not resampled."""

LEAST_FREEDOM = 4
"""Minimum degrees of freedom of Student's t in the draws: with one degree (two values), it has no finite mean."""


@dataclass(frozen=True)
class ChoiceEffects:
    """Draws of the effects of both steps; means and deviations, over words, of points of subjective equality (PSE)."""

    control_shift: Floats
    """``mean PSE of controls - 1/2``; its absolute value is the effect of step 1; shape (draws,)."""
    excess_variance: Floats
    """Variance of the PSE over concepts minus that over controls, which can be negative; shape (draws,)."""
    control_mean: float
    """Mean PSE of the controls; a word's PSE is its mean over models, cue pairs and templates."""
    control_spread: float
    """Standard deviation of the PSE over the controls."""
    concept_spread: float
    """Standard deviation of the PSE over the concepts."""
    common_shift: Floats | None = None
    """Shift of the PSE that the concepts of both sides share (`shared_preference`), if known; shape (draws,)."""
    apart: Floats | None = None
    """Half of (mean PSE of the first side's concepts - that of the second's); above 0 if choices follow stereotypes."""
    overall_shift: Floats | None = None
    """``mean PSE of all concepts - 1/2``, if their sides are not known; shape (draws,)."""

    @property
    def step_1(self) -> Floats:
        """Draws of the bias of the controls: distance of their mean point of subjective equality from 1/2."""
        return np.abs(self.control_shift)

    @property
    def step_2(self) -> Floats:
        """Draws of the effect of step 2: the larger of two numbers, because either shows preferences about concepts.

        The first is the square root of `excess_variance` (0 if negative). The second is the size of `apart`, half the
        distance of the sides' mean points: controls that prefer different cues can vary as much as biased concepts.
        """
        spread = np.sqrt(np.maximum(0.0, self.excess_variance))
        return spread if self.apart is None else np.maximum(spread, np.abs(self.apart))

    @property
    def hidden(self) -> tuple[HiddenEffect, ...]:
        """Effects that means hide: a shift to a cue that both sides' concepts share or, without sides, all have."""
        hidden: tuple[HiddenEffect, ...] = ()
        if self.common_shift is not None:
            chance = may_be_chance(self.common_shift)
            hidden += (HiddenEffect("stratum", "concepts of both sides", self.common_shift, chance=chance),)
        if self.overall_shift is not None:
            chance = may_be_chance(self.overall_shift)
            hidden += (HiddenEffect("content", "All concepts together", np.abs(self.overall_shift), chance=chance),)
        return hidden

    def evidence(self) -> Evidence:
        """Return the draws of all effects; `chance_1` and `chance_2`: whether a step's effect may be due to chance."""
        has_spread = float(np.quantile(self.excess_variance, (1 - CONFIDENCE_AGAINST_CHANCE) / 2)) > 0  # lower end
        are_apart = self.apart is not None and not may_be_chance(self.apart)  # the concepts of the two sides
        return Evidence(
            self.step_1,
            self.step_2,
            hidden=self.hidden,
            chance_1=may_be_chance(self.control_shift),
            chance_2=not (has_spread or are_apart),
        )

    def intervals(self) -> dict[str, Interval | None]:
        """Return both effects with intervals: size of `control_shift`, and square root of `excess_variance`.

        With `apart`, the interval of step 2 takes the larger lower end and the larger upper end of two intervals:
        of this root and of `apart`. This keeps the coverage, even if both numbers are equal.
        """
        spread = bounded_interval(self.excess_variance)
        low, high = math.sqrt(spread.low), math.sqrt(spread.high)
        if self.apart is not None:
            distance = absolute_value_interval(self.apart)
            low, high = max(low, distance.low), max(high, distance.high)
        step_2 = replace(spread, estimate=float(self.step_2.mean()), low=low, high=high)
        return {"step_1": absolute_value_interval(self.control_shift), "step_2": step_2}


def choice_effects(
    points: Floats,
    concepts: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
    least: int = 3,
    sides: Sequence[Integers] = (),
) -> ChoiceEffects:
    """Draw the effects of both steps by a Bayesian bootstrap over models, cue pairs, templates and words.

    Models, cue pairs, templates and words get Dirichlet(1, ..., 1) weights, separately for each kind: replicates that
    share a cue pair are not independent, so whole pairs are weighted.

    Parameters
    ----------
    points : ndarray, shape (models, cue pairs, templates, words)
        Points of subjective equality; the first `concepts` words are concepts, the others controls.
    least : int
        Minimum number of concepts, and of controls.
    sides : sequence of ndarray of int, optional
        Indices of the concepts of the first and of the second side, to draw `common_shift` and `apart`; or a single
        array with those of all concepts, to draw `overall_shift` (see `ChoiceEffects`). Empty: none of the three.

    Raises
    ------
    TooFewObservations
        If there are fewer concepts or controls than `least`.
    """
    models, pairs, templates, words = points.shape
    _refuse_few(concepts, words - concepts, least, "vectors")
    replicate_weights = [rng.dirichlet(np.ones(count), draws) for count in (models, pairs, templates)]
    # d: draws, m: models, p: cue pairs, t: templates, w: words
    mean_points = np.einsum("dm,dp,dt,mptw->dw", *replicate_weights, points, optimize=True)
    concept_points, control_points = mean_points[:, :concepts], mean_points[:, concepts:]
    concept_weights = rng.dirichlet(np.ones(concepts), draws)
    control_weights = rng.dirichlet(np.ones(words - concepts), draws)
    # Dirichlet weights let a mean vary too little (`_widen_weights`); `_draw_variance` corrects variances itself
    wide_weights = [_widen_weights(weights, rng) for weights in (*replicate_weights, control_weights)]
    control_shift = np.einsum("dm,dp,dt,dw,mptw->d", *wide_weights, points[..., concepts:], optimize=True) - 0.5
    excess_variance = _draw_variance(concept_points, concept_weights) - _draw_variance(control_points, control_weights)
    side_shifts = []
    sides_rng = rng.spawn(1)[0] if sides else rng  # so that `sides` do not change the other draws
    for side in sides:
        wide_replicate_weights = wide_weights[:-1]  # the last ones are of the controls
        side_weights = (*wide_replicate_weights, _draw_word_weights(len(side), sides_rng, draws))
        side_shifts.append(np.einsum("dm,dp,dt,dw,mptw->d", *side_weights, points[..., side], optimize=True) - 0.5)
    return _build_effects(control_shift, excess_variance, points.mean(axis=(0, 1, 2)), concepts, side_shifts)


def _refuse_few(concepts: int, controls: int, least: int, material: str) -> None:
    """Raise `TooFewObservations` if fewer than `least` concepts or controls have `material`, such as vectors."""
    for kind, count in (("concepts", concepts), ("controls", controls)):
        if count < least:
            raise TooFewObservations(f"{count} {kind} have {material}; a spread over words needs {least}")


def _build_effects(
    control_shift: Floats, excess_variance: Floats, points: Floats, concepts: int, side_shifts: Sequence[Floats]
) -> ChoiceEffects:
    """Build the effects from points of equality by word; `side_shifts` are of two sides, of all concepts, or empty."""
    has_sides = len(side_shifts) == 2
    return ChoiceEffects(
        control_shift=control_shift,
        excess_variance=excess_variance,
        control_mean=float(points[concepts:].mean()),
        control_spread=float(points[concepts:].std()),
        concept_spread=float(points[:concepts].std()),
        common_shift=shared_preference(side_shifts) if has_sides else None,
        apart=(side_shifts[0] - side_shifts[1]) / 2 if has_sides else None,
        overall_shift=side_shifts[0] if len(side_shifts) == 1 else None,
    )


def _draw_mean_point(points: Sequence[Margin], rng: np.random.Generator, draws: int) -> Floats:
    """Draw the mean point of subjective equality: for words like these or, if fewer than eight, these alone."""
    if len(points) >= LEAST_WORDS:
        return draw_population(points, rng, draws).mean
    mean = np.mean([point.mean for point in points])
    variance = sum(point.variance for point in points) / len(points) ** 2
    return np.asarray(mean + math.sqrt(variance) * rng.standard_normal(draws))


def _draw_word_weights(count: int, rng: np.random.Generator, draws: int) -> Floats:
    """Draw random weights for words (a bootstrap), shape (draws, count); equal weights for fewer than eight words."""
    if count < LEAST_WORDS:
        return np.full((draws, count), 1 / count)
    return _widen_weights(rng.dirichlet(np.ones(count), draws), rng)


def _widen_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """Scale Dirichlet weights, shape (draws, values), to give a weighted mean the variance and tails of Student's t.

    With `n` values, the weights give the mean only ``(n - 1) / (n + 1)`` of its variance, and normal tails instead of
    Student's: with eight cue pairs, intervals of .95 would cover the truth in .89 of cases.
    """
    draws, count = weights.shape
    if count == 1:
        return weights
    freedom = max(count - 1, LEAST_FREEDOM)
    tails = np.sqrt(freedom / rng.chisquare(freedom, (draws, 1)))  # turn normal draws into Student's t
    return np.asarray(1 / count + (weights - 1 / count) * math.sqrt((count + 1) / (count - 1)) * tails)


def _draw_variance(values: Floats, weights: Floats) -> Floats:
    """Draw the population variance from each row of values and weights, both of shape (draws, words).

    Dirichlet weights shrink a variance to ``(n - 1) / (n + 1)`` of its size, so it is scaled back. An estimate differs
    from the truth by a factor, and the truth from the estimate by the inverse factor. So draws use inverse factors;
    otherwise intervals would miss large spreads (coverage .90 instead of .95 with 94 words).
    """
    mean = np.sum(weights * values, axis=1, keepdims=True)
    count = values.shape[1]
    sample_variances = np.sum(weights * (values - mean) ** 2, axis=1) * (count + 1) / (count - 1)
    variance = values.var(axis=1, ddof=1)
    return np.asarray(np.divide(variance**2, sample_variances, out=np.zeros_like(variance), where=sample_variances > 0))


def trial_effects(
    points: Sequence[Margin],
    concepts: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
    least: int = 3,
    sides: Sequence[Integers] = (),
) -> ChoiceEffects:
    """Draw the effects of both steps from the posteriors of fitted curves, one for each word.

    Parameters
    ----------
    points : sequence of Margin
        Posterior of each word's point of subjective equality; the first `concepts` words are concepts.
    least, sides
        As for `choice_effects`, with the same error; `least` is three or more.

    Notes
    -----
    Concepts and controls are modelled as two normal populations. The spread of fitted points would include the noise
    of the fits, and subtracting their variance would not remove their skew: points near the last level are too extreme.
    """
    _refuse_few(concepts, len(points) - concepts, least, "a fitted curve")
    concept_population = draw_population(points[:concepts], rng, draws)
    control_population = draw_population(points[concepts:], rng, draws)
    sides_rng = rng.spawn(1)[0] if sides else rng  # so that `sides` do not change the other draws
    side_shifts = [_draw_mean_point([points[index] for index in side], sides_rng, draws) - 0.5 for side in sides]
    control_shift = control_population.mean - 0.5
    excess_variance = concept_population.sd**2 - control_population.sd**2
    mean_points = np.array([point.mean for point in points])
    return _build_effects(control_shift, excess_variance, mean_points, concepts, side_shifts)
