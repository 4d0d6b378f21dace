"""Draws of the two effects of stimulus sampling: the distance of the values' posterior shares from equal shares.

``p(s | +) ~ p(s) P(+ | s)``. The prior is a mixture of cells, one for each value and each side of the content (such as
pleasant words). A cell's *positive rate* is the mean of P(+ | s) in it; the attribute's posterior distribution
follows from the rates and the shares of the sides alone (docs/methods/stimulus-sampling.md). In the unbiased prior, all
values are equally likely and have equal shares of both sides; in a tied prior, a value has more of one side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.errors import EvidenceError, TooFewObservations
from assay.model import Floats, Integers, Interval
from assay.statistics.intervals.alternation_effects import Profiles
from assay.statistics.intervals.both_sides import SIDES, shared_products, shared_sums
from assay.statistics.intervals.credible import absolute_value_interval
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, mean_draws
from assay.statistics.intervals.worst_block import largest_interval, sets_of

DRAWS = 4000

MIN_REPLIES = 5
"""Minimum number of replies in a cell."""


@dataclass(frozen=True)
class Prior:
    """Distribution of inputs over the values (equally likely) and, for each value, the two sides of the content."""

    favoured: int | None
    """Index of the value with more of one side of the content than the others; ``None`` if all have equal shares."""
    sides: Floats
    """Share of each side of the content among the inputs of each value; shape (values, 2)."""


def unbiased_prior(values: int) -> Prior:
    """Return the distribution of inputs (prior) in which every value has equal shares of both sides of the content."""
    return Prior(favoured=None, sides=np.full((values, SIDES), 0.5))


def tied_priors(values: int, tie: float) -> tuple[Prior, ...]:
    """Return two input distributions (priors) for each value: it has more of one side of the content, or of the other.

    More is a share `tie` of that side; the other values have ``1 - tie``. Two values need only the first one's pair.
    """
    priors: list[Prior] = []
    for value in range(values if values > 2 else 1):
        shares = np.full(values, 1 - tie)
        shares[value] = tie
        priors += [Prior(value, np.column_stack(sides)) for sides in ((shares, 1 - shares), (1 - shares, shares))]
    return tuple(priors)


def one_sided_priors(values: int) -> tuple[Prior, ...]:
    """Return the two distributions of inputs (priors) in which all contents are on one side."""
    return tuple(Prior(favoured=None, sides=np.tile(side_shares, (values, 1))) for side_shares in np.eye(SIDES))


@dataclass(frozen=True)
class Deviations:
    """For each value, its share of the positive inputs (the posterior share), less the equal share ``1 / values``."""

    prior: Prior
    estimate: Floats
    """Posterior share of each value minus ``1 / values``; the differences sum to 0; shape (values,)."""
    draws: Floats
    """Draws of the differences in `estimate`; shape (draws, values)."""

    @property
    def shares(self) -> Floats:
        """Share of each value among the positive inputs, shape (values,)."""
        return self.estimate + 1 / self.estimate.size

    @property
    def share_draws(self) -> Floats:
        """Draws of each value's share of the positive inputs, shape (draws, values), within [0, 1]."""
        return np.asarray(np.clip(self.draws + 1 / self.estimate.size, 0.0, 1.0))


@dataclass(frozen=True)
class SamplingEffects:
    """Draws of the values' shares among positive inputs, under several input distributions; and the two effects."""

    unbiased: Deviations
    """Deviations under the unbiased prior."""
    tied: tuple[Deviations, ...]
    """Deviations under each of `tied_priors`, in the order of the priors."""
    half_differences: tuple[Floats, ...]
    """For each value that content is tied to, draws of half the difference between its two tied priors; shape (draws,
    values). The difference is drawn directly, so that common errors cancel; in a difference of two draws they would not
    cancel fully."""
    one_sided: tuple[Deviations, ...] = ()
    """Deviations under those of `one_sided_priors` that were requested."""

    @cached_property
    def step_1(self) -> Floats:
        """Draws of the total variation between the values' shares of the positive inputs and equal shares."""
        unbiased = self.unbiased
        return _remove_bias(_distances(unbiased.draws), _distances(unbiased.estimate[None]), unbiased.estimate.size)

    @cached_property
    def step_2(self) -> Floats:
        """Draws of the total variation caused by content that is tied to a value: the largest over the values.

        Each side of the content is tied to a value in turn, and the effect is half the difference of the two
        posteriors. The effect of the attribute itself has the same sign in both and cancels; it belongs to step 1.
        """
        distances = np.asarray(np.max([_distances(difference) for difference in self.half_differences], axis=0))
        estimate = tied_distance([deviations.estimate[None] for deviations in self.tied])  # shape (1,)
        return _remove_bias(distances, estimate, self.unbiased.estimate.size)

    def intervals(self) -> dict[str, Interval]:
        """Return the interval of each effect: with two values, of a signed difference, else of a total variation."""
        if self.unbiased.estimate.size == 2:  # the deviation of the other value is the same with the other sign
            differences = {"step_1": self.unbiased.draws[:, 0], "step_2": self.half_differences[0][:, 0]}
            return {step: absolute_value_interval(draws) for step, draws in differences.items()}
        return {
            "step_1": _total_variation_interval([self.unbiased.draws], self.step_1),
            "step_2": _total_variation_interval(self.half_differences, self.step_2),
        }


def _total_variation_interval(deviations: Sequence[Floats], effect: Floats) -> Interval:
    """Return a total variation's interval (`effect`: its draws): the largest sum of `deviations` of a set of values."""
    columns = []
    for deviation in deviations:
        sets = sets_of(deviation.mean(axis=0)[None])
        # keep one of each set and its complement: both give the same distance with opposite signs
        columns.append(deviation @ np.unique(np.where(sets[:, :1] == 1, sets, 1 - sets), axis=0).T)
    interval = largest_interval(np.hstack(columns))
    return replace(interval, estimate=min(max(float(effect.mean()), interval.low), interval.high))


def tied_distance(deviations: Sequence[Floats]) -> Floats:
    """Return the effect of step 2, the total variation caused by tying content to values, in [0, 1); shape (...).

    `deviations` are those under each of `tied_priors`, in their order; each has the shape (..., values).
    """
    return np.asarray(np.max([_distances(difference) for difference in _half_differences(deviations)], axis=0))


def _half_differences(deviations: Sequence[Floats]) -> list[Floats]:
    """For each value, halve the difference of the deviations under its two `tied_priors`, which are adjacent."""
    return [(forward - backward) / 2 for forward, backward in zip(deviations[::2], deviations[1::2], strict=True)]


# ---------------------------------------------------------------------------- paired inputs (asked with every value)
@dataclass(frozen=True)
class PairedAnswers:
    """Answers to profiles (a person in a frame with a content), each asked with every value of the attribute."""

    profiles: Profiles
    """Profiles with the probability of the positive class as output."""
    side: Integers
    """Side of each profile's content, 0 or 1; shape (profiles,)."""
    weight: Floats
    """Inverse of the probability with which each profile was picked; shape (profiles,)."""

    @cached_property
    def shares(self) -> Floats:
        """Weight of each profile within its side of the content (such as pleasant words); the sum over a side is 1."""
        total_weights = np.bincount(self.side, weights=self.weight, minlength=SIDES)
        if (np.bincount(self.side, minlength=SIDES) < MIN_REPLIES).any():
            raise TooFewObservations(f"each side of the content needs {MIN_REPLIES} profiles")
        return np.asarray(self.weight / total_weights[self.side])

    @cached_property
    def picked(self) -> bool:
        """Whether profiles were picked by a surrogate, with unequal inclusion probabilities."""
        return bool(self.weight.min() < self.weight.max())

    @cached_property
    def shared_effects(self) -> Floats:
        """Effect of each profile's person and frame on its positive probability, common to both sides of the content.

        If all profiles have the same weight, people and frames are balanced between the sides, and an effect is a sum
        with mean 0. If a surrogate picked profiles because positives are rare, most people or frames have no positive,
        and others have one in every profile, so an effect is a factor with weighted mean 1.
        """
        fit = shared_products if self.picked else shared_sums
        return fit(self.profiles.outputs.mean(axis=1), self.side, self.shares, self.profiles.clusters)

    @cached_property
    def means(self) -> Floats:
        """Mean probability of the positive class in each cell (a value and a side of the content); (values, 2)."""
        return np.stack([np.bincount(self.side, self.shares * column, SIDES) for column in self.profiles.outputs.T])

    @cached_property
    def rates(self) -> Floats:
        """Positive rate of each cell (a value and a side of the content), shape (values, 2).

        People and frames occur equally often on both sides. If one side of profiles picked by a surrogate has by chance
        more of those with positives, its rates are divided by the excess (ratio estimator, Särndal et al. 1992).
        """
        return self.means * self.scale if self.picked else self.means  # `scale`: 1 / excess of each side

    @cached_property
    def scale(self) -> Floats:
        """Correction factor of each side's rates if profiles were picked, shape (2,)."""
        side_means = self.shared_by_side
        return np.asarray(np.divide(side_means.mean(), side_means, out=np.ones(SIDES), where=side_means > 0))

    @cached_property
    def residuals(self) -> Floats:
        """Each profile's probability of the positive class less its cell's mean (residual); shape (profiles, values).

        If a surrogate picked profiles: linearised residuals of `rates`, without a factor that cancels in the shares.
        """
        if not self.picked:
            return np.asarray(self.profiles.outputs - self.means.T[self.side])
        shared = self.shared_effects
        shared_factor = np.divide(shared, self.shared_by_side[self.side], out=np.zeros_like(shared), where=shared > 0)
        deviations = self.profiles.outputs - self.means.T[self.side] * shared_factor[:, None]
        return np.asarray(deviations * self.scale[self.side, None])

    @cached_property
    def is_informative(self) -> NDArray[np.bool_]:
        """Mask of the profiles that count, shape (profiles,): all; if picked, those with a positive shared effect."""
        return self.shared_effects > 0 if self.picked else np.ones(len(self.side), dtype=bool)

    @property
    def informative_clusters(self) -> Mapping[str, Integers]:
        """Clusters of the profiles that count (`is_informative`), without kinds of which only these have too few."""
        return {
            kind: ids[self.is_informative]
            for kind, ids in self.profiles.clusters.items()
            if np.unique(ids[self.is_informative]).size >= LEAST_CLUSTERS or np.unique(ids).size < LEAST_CLUSTERS
        }

    @cached_property
    def shared_by_side(self) -> Floats:
        """Weighted mean of `shared_effects` on each side, shape (2,)."""
        return np.asarray(np.bincount(self.side, self.shares * self.shared_effects, SIDES), dtype=float)


def paired_effects(
    answers: PairedAnswers, tie: float, rng: np.random.Generator, draws: int = DRAWS, *, within: Sequence[int] = ()
) -> SamplingEffects:
    """Draw the effects of the attribute (step 1), and of content that goes with it (step 2), by resampling clusters.

    Parameters
    ----------
    tie : float
        Share that one side of the content has among a value's inputs in step 2 (`tied_priors`).
    within : sequence of int
        Sides of the content (0, 1) for which the values' shares are also drawn if all inputs are on that side.

    Raises
    ------
    TooFewObservations
        If there are too few profiles of a side, or clusters of a kind.
    EvidenceError
        If every probability of the positive class is 0.

    Notes
    -----
    A share is a ratio of means; it is drawn through its influence function, one number for each profile, so that
    errors common to numerator and denominator cancel. Effects of people and frames that are the same on both sides
    are removed first, as for alternation.
    """
    values = len(answers.profiles.values)  # their number
    priors = (unbiased_prior(values), *tied_priors(values, tie), *(one_sided_priors(values)[side] for side in within))
    tied_end = len(priors) - len(within)  # the unbiased prior, the tied ones up to here, then the one-sided ones
    estimates = [deviations_of(answers.rates, prior) for prior in priors]
    influences = [_influence(answers, prior, estimate) for prior, estimate in zip(priors, estimates, strict=True)]
    columns = np.hstack([*influences, *_half_differences(influences[1:tied_end])])[answers.is_informative]
    centres = np.hstack([*estimates, *_half_differences(estimates[1:tied_end])])
    # influences are parts of a sum, and `mean_draws` draws means
    samples = centres + mean_draws(columns * len(columns), answers.informative_clusters, rng, draws)
    blocks = np.split(samples, range(values, samples.shape[1], values), axis=1)  # of each prior, then half differences
    deviations = [
        Deviations(prior, estimate, _clip_shares(block))
        for prior, estimate, block in zip(priors, estimates, blocks[: len(priors)], strict=True)
    ]
    halves = tuple(np.clip(half, -0.5, 0.5) for half in blocks[len(priors) :])
    return SamplingEffects(deviations[0], tuple(deviations[1:tied_end]), halves, one_sided=tuple(deviations[tied_end:]))


def deviations_of(rates: Floats, prior: Prior) -> Floats:
    """Return the values' shares of positive inputs under a `prior`, less equal shares; shape (..., values).

    `rates` are the positive rates of each value on each side of the content, shape (..., values, 2). Raise
    `EvidenceError` if every rate with a positive prior weight is 0.
    """
    value_rates = (rates * prior.sides).sum(axis=-1)
    total = value_rates.sum(axis=-1, keepdims=True)
    if not (total > 0).all():
        raise EvidenceError("no input got the positive class, so its distribution over the groups is unknown")
    return np.asarray(value_rates / total - 1 / value_rates.shape[-1])


def _influence(answers: PairedAnswers, prior: Prior, estimate: Floats) -> Floats:
    """Return how much each profile contributes to the error of each value's share of positives; (profiles, values)."""
    side_shares = prior.sides.T[answers.side]  # of a profile's side, among inputs of each value; (profiles, values)
    total = float((answers.rates * prior.sides).sum())
    deviations = side_shares * answers.residuals
    influence = deviations
    if not answers.picked:  # else the residuals are already without the shared effects
        influence = deviations - side_shares * (answers.shared_effects - answers.shared_by_side[answers.side])[:, None]
    # derivative of a share, rate / total: `estimate` is the share less 1 / values, so the mean stands for 1 / values
    numerator = influence - influence.mean(axis=1, keepdims=True) - deviations.sum(axis=1, keepdims=True) * estimate
    return np.asarray(answers.shares[:, None] * numerator / total)


# ---------------------------------------------------------------------------- unpaired inputs (asked with one value)
def cell_effects(
    cells: Mapping[tuple[int, int], Floats],
    values: int,
    tie: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
    *,
    within: Sequence[int] = (),
) -> SamplingEffects:
    """Draw both effects of `SamplingEffects` for inputs asked with one value each, by Bayesian bootstrap within cells.

    Parameters
    ----------
    cells : mapping of (value, side) to ndarray
        Numbers whose mean is the cell's positive rate: positive probabilities for inputs drawn from the prior, or these
        probabilities times importance ratios for inputs drawn with a surrogate.
    tie, rng, draws, within
        As for `paired_effects`.

    Raises
    ------
    TooFewObservations
        If a cell has fewer than five numbers.
    EvidenceError
        If all numbers are 0.
    """
    samples, rates = np.empty((draws, values, SIDES)), np.empty((values, SIDES))
    for value in range(values):
        for side in range(SIDES):
            outcomes = cells.get((value, side), np.empty(0))
            if outcomes.size < MIN_REPLIES:
                raise TooFewObservations(f"{outcomes.size} replies of a cell of the prior; each needs {MIN_REPLIES}")
            weights = rng.standard_exponential((draws, outcomes.size))  # divided by their sum: Dirichlet weights
            samples[:, value, side] = weights @ outcomes / weights.sum(axis=1)
            rates[value, side] = outcomes.mean()
    priors = (unbiased_prior(values), *tied_priors(values, tie), *(one_sided_priors(values)[side] for side in within))
    deviations = [Deviations(prior, deviations_of(rates, prior), deviations_of(samples, prior)) for prior in priors]
    tied_end = len(priors) - len(within)
    halves = tuple(_half_differences([tied.draws for tied in deviations[1:tied_end]]))
    return SamplingEffects(deviations[0], tuple(deviations[1:tied_end]), halves, one_sided=tuple(deviations[tied_end:]))


# ---------------------------------------------------------------------------- total variation
def _distances(deviations: Floats) -> Floats:
    """Return the total variation from even shares, half the sum of absolute deviations, of each row."""
    return np.asarray(np.abs(deviations).sum(axis=-1) / 2)


def _clip_shares(deviations: Floats) -> Floats:
    """Clip the deviations of drawn shares from even shares, so that the shares stay within [0, 1]."""
    values = deviations.shape[-1]
    return np.asarray(np.clip(deviations, -1 / values, 1 - 1 / values))


def _remove_bias(samples: Floats, estimate: Floats, value_count: int) -> Floats:
    """Subtract the upward bias from drawn distances (`samples`) twice: the estimate that they surround has it as well.

    With two values, the samples are returned unchanged: each is the size of a single signed difference, and they reach
    0 if there is no difference. With more values, noise in any direction increases a distance, so that samples would
    not reach 0 if the effect is 0.
    """
    if value_count <= 2:
        return samples
    excess = max(0.0, float(samples.mean()) - float(estimate[0]))
    return np.asarray(np.maximum(0.0, samples - 2 * excess))  # 2: `estimate` is biased as much as the draws around it
