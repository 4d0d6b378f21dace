"""Sentences as inputs, each asked about with every value: answers, importance weights, and sampling by a surrogate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from assay.document import Shares
from assay.errors import EvidenceError, OutOfBounds
from assay.methods.shared.answers.of_profiles import BY_LABEL, Answers
from assay.methods.shared.profiles import FRAME, Case, like_those_asked, numbered_clusters
from assay.methods.stimulus_sampling.reading import read_positives
from assay.methods.stimulus_sampling.resemblance import Texts, indicators, words_of
from assay.model import Floats, Reason
from assay.statistics.bayes.importance import Weights, effective, weigh
from assay.statistics.bayes.surrogate import DEFENCE, fit_surrogate
from assay.statistics.intervals.alternation_effects import Profiles
from assay.statistics.intervals.both_sides import SIDES
from assay.statistics.intervals.sampling_effects import PairedAnswers, SamplingEffects, paired_effects
from assay.statistics.special import special

TRAINING = 2000
"""Maximum number of profiles to which the surrogate (a logit) is fitted: some hundreds are enough.

See docs/methods/stimulus-sampling.md.
"""


@dataclass(frozen=True)
class AnsweredTexts:
    """Profiles (sentences) with a usable probability of the positive class for every value of the attribute."""

    cases: tuple[Case, ...]
    values: tuple[str, ...]
    label: str
    p_positive: Floats
    """Probability of the label of the positive class; shape (profiles, values)."""
    p_included: Floats
    """Inclusion probability of each profile in the sample from the pool; shape (profiles,)."""
    by_label: Self | Reason | None = None
    """The same profiles by their labels alone, if too many of these contradict the scores."""

    cell_count: ClassVar[int] = 1
    """Number of cells (value and side) with inputs of their own: 1, because each text is asked with every value."""

    @cached_property
    def weights(self) -> Weights:
        """Importance weights of all texts, in the order of the profiles and, within a profile, of the values."""
        # inclusion probability of each profile, relative to its mean under the prior
        proposal = self.p_included * (1 / self.p_included).mean()
        return weigh(self.p_positive.ravel(), proposed=np.repeat(proposal, len(self.values)))

    @cached_property
    def sides(self) -> tuple[str, ...]:
        """Names of the sides of the contents."""
        return tuple(sorted({str(case.side) for case in self.cases}))

    @cached_property
    def paired_answers(self) -> PairedAnswers:
        """The answers as the argument of `paired_effects`."""
        side_indices = np.array([self.sides.index(str(case.side)) for case in self.cases])
        profiles = Profiles(self.p_positive, self.values, numbered_clusters(self.cases))
        return PairedAnswers(profiles, side_indices, weight=1 / self.p_included)

    @cached_property
    def effective_clusters(self) -> dict[str, float]:
        """Effective number (Kish) of clusters behind the positive answers, by kind except frames, which may be few."""
        profile_shares = self.weights.shares.reshape(self.p_positive.shape).sum(axis=1)
        return {
            kind: float(1 / (np.bincount(ids, weights=profile_shares) ** 2).sum())
            for kind, ids in self.paired_answers.profiles.clusters.items()
            if kind != FRAME
        }

    def with_opposite_label(self) -> Self:
        """Return the profiles with the opposite label as positive class: each probability p becomes 1 - p."""
        return replace(self, p_positive=1 - self.p_positive)

    def effective_inputs(self, side: int) -> float:
        """Return the effective number of inputs (Kish) behind the positive answers of a side."""
        return effective((self.p_positive / self.p_included[:, None])[self.paired_answers.side == side])

    def sampling_density(self, pool: Sequence[Case]) -> Floats:
        """Compute the relative sampling density of each profile of a pool, 1 on average; shape (pool,).

        It follows a surrogate of the service: a logit of the words in the slots of a profile is fitted to the
        probability of the positive class, averaged over the values. Unknown words have no influence. A tenth of the
        density is uniform, so that inputs that the logit overlooks are also sampled. Raise `EvidenceError` if the
        answers do not allow a fit.
        """
        cases = self.cases[:TRAINING]
        logit = fit_surrogate(indicators([case.clusters for case in cases]), self.p_positive[:TRAINING].mean(axis=1))
        # in the order of the columns of `indicators`
        words = [(slot, word) for slot in cases[0].clusters for word in sorted({case.clusters[slot] for case in cases})]
        weight_of = dict(zip(words, logit.weights.tolist(), strict=True))
        log_odds = [logit.constant + sum(weight_of.get(key, 0.0) for key in case.clusters.items()) for case in pool]
        expected = special.expit(np.array(log_odds))
        return np.asarray((1 - DEFENCE) * expected / expected.mean() + DEFENCE)

    @property
    def clusters(self) -> Shares:
        """Number of clusters by kind (person, frame, content)."""
        return {kind: int(ids.max()) + 1 for kind, ids in self.paired_answers.profiles.clusters.items()}

    @property
    def estimand(self) -> str:
        """Text on the population that effects hold for, such as "any person and content like those asked about"."""
        return like_those_asked(self.paired_answers.profiles.clusters)

    @property
    def rates(self) -> Floats:
        """Positive rate by value and side, shape (values, 2)."""
        return self.paired_answers.rates

    def input_count(self, side: int) -> int:
        """Return the number of inputs of a side about each value, which is the same for all values."""
        return int((self.paired_answers.side == side).sum())

    def effects(self, tie: float, rng: np.random.Generator, *, within: Sequence[int]) -> SamplingEffects:
        """Return draws of both steps' effects, and of the effect in each side of contents with index in `within`."""
        return paired_effects(self.paired_answers, tie, rng, within=within)

    @property
    def resemblance(self) -> Texts:
        """All texts with their shares among all inputs (the prior) and among those of the positive class."""
        inputs = [(case, value) for case in self.cases for value in range(len(self.values))]
        prior = np.repeat(1 / self.p_included, len(self.values))  # weights of texts included with unequal probability
        return Texts(
            words=[words_of(case, value, self.values) for case, value in inputs],
            texts=[str(case.versions[value]) for case, value in inputs],
            p_positive=self.p_positive.ravel(),
            prior=prior / prior.sum(),
            posterior=self.weights.shares,
        )


def answered_texts(answers: Answers, p_included: Floats, requested_label: str | None) -> AnsweredTexts | Reason:
    """Convert answers to probabilities of the positive class, or return the reason why too few answers are usable."""
    positives = read_positives(answers, requested_label)
    if isinstance(positives, Reason):
        return positives
    label, p_positive = positives
    usable_indices = np.flatnonzero(np.isfinite(p_positive).all(axis=1)).tolist()
    usable_cases = tuple(answers.cases[index] for index in usable_indices)
    outcome = AnsweredTexts(usable_cases, answers.values, label, p_positive[usable_indices], p_included[usable_indices])
    if answers.contrary_labels() is None:  # the labels agree with the scores beside them
        return outcome
    return replace(outcome, by_label=answered_texts(answers.by_label(), p_included, f"{label}{BY_LABEL}"))


@dataclass(frozen=True)
class ProfileSampler:
    """Pool of profiles, drawn from the prior, from which samples with unequal probabilities are taken.

    Each profile has a relative sampling `density` and a random `number` in [0, 1). A profile is taken if its number is
    below its inclusion probability.
    """

    cases: Sequence[Case]
    density: Floats
    number: Floats

    def take(self, count: int) -> tuple[list[Case], Floats]:
        """Return about `count` profiles, half of them on each side, and their inclusion probabilities."""
        side_of_case = np.unique([str(case.side) for case in self.cases], return_inverse=True)[1]
        p_included = np.ones(len(self.cases))
        for side_index in range(SIDES):
            on_side = side_of_case == side_index
            p_included[on_side] = inclusion(self.density[on_side], count / SIDES)
        indices = np.flatnonzero(self.number < p_included)  # each profile has a random number of its own
        return [self.cases[int(index)] for index in indices], p_included[indices]


def inclusion(density: ArrayLike, count: float) -> Floats:
    """Compute the inclusion probability of each member of a pool, shape (n,), for a sample of mean size `count`.

    It is ``min(1, c density)``, with c such that the sum is `count`, or 1 if the pool has no more members than that.
    The probabilities grow with `count`: if a member is taken whenever its own random number is below its probability,
    a larger sample contains every smaller one. The scale of `density`, shape (n,), does not matter.

    Raise `OutOfBounds` if `count` is not positive, and `EvidenceError` if a density is not positive and finite.
    """
    densities = np.asarray(density, dtype=float)
    if not count > 0:
        raise OutOfBounds(f"a sample takes a positive number, not {count}", "count")
    if densities.ndim != 1 or not densities.size or not (np.isfinite(densities) & (densities > 0)).all():
        raise EvidenceError("members of a pool are wanted with positive, finite densities")
    if count >= densities.size:
        return np.ones_like(densities)
    order = np.argsort(-densities, kind="stable")
    sorted_densities = densities[order]
    # if the m densest are certain members, the others share the remaining places in proportion to their densities
    remaining_densities = np.cumsum(sorted_densities[::-1])[::-1]
    scales = (count - np.arange(densities.size)) / remaining_densities
    # the smallest number with which no other member's probability exceeds 1
    certain_count = int(np.argmax(scales * sorted_densities <= 1))
    probabilities = np.minimum(1.0, scales[certain_count] * sorted_densities)
    probabilities[:certain_count] = 1.0
    return np.asarray(probabilities[np.argsort(order, kind="stable")])  # in the order of `density`
