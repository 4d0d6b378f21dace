"""Simulated language models and image classifiers with known stereotype scores, to measure the coverage of intervals.

Attribute terms differ in their true score. The asked terms are a random sample, so the true value is the mean over all
terms that could have been asked. Pooling all pairs into one share ignores this (docs/methods/stereotype-score.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.methods.shared.terms.effects import stereotype_effects
from assay.methods.visual_stereotype.image_scores import fit_images
from assay.model import Evidence, Interval, Letter
from assay.rating.decision import letter_probabilities
from assay.statistics.bayes.beta_binomial import SharesPosterior, fit_shares
from assay.statistics.intervals.credible import interval_of, wilson

Floats = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Asked:
    """Parameters of the simulated terms and questions.

    Attributes
    ----------
    terms, pairs : int
        Number of attribute terms, and of pairs per term; or of generation terms, and of images per term.
    alike : float
        Concentration K: the scores of terms are Beta(m K, (1 - m) K).
    ties : float
        Share of pairs that the model does not decide.
    m : float, optional
        The true score. If it is left out, it is drawn each time from U(0, 1), the prior.
    """

    terms: int = 20
    pairs: int = 10
    alike: float = 9.0
    ties: float = 0.0
    m: float | None = None

    def truth(self, rng: Rng) -> float:
        """Return the true mean over terms, among decided pairs; it is drawn if `m` is not set."""
        return float(rng.uniform()) if self.m is None else self.m

    def shares(self, m: float, rng: Rng) -> Floats:
        """Draw a true share for each term that is asked."""
        return np.asarray(rng.beta(m * self.alike, (1 - m) * self.alike, self.terms))

    def score(self, m: float) -> float:
        """Return the true score, with ties as 1/2."""
        return (1 - self.ties) * m + self.ties / 2


@dataclass(frozen=True)
class Counted:
    """For each term, the numbers of stereotyped, anti-stereotyped and undecided pairs."""

    stereotyped: NDArray[np.int64]
    anti_stereotyped: NDArray[np.int64]
    ties: NDArray[np.int64]


@dataclass(frozen=True)
class Coverage:
    """Coverage and width of 95 % intervals."""

    held: float
    width: float
    simulations: int

    @property
    def error(self) -> float:
        """Standard error of the coverage `held`."""
        return float(np.sqrt(self.held * (1 - self.held) / self.simulations))


def count(asked: Asked, m: float, rng: Rng) -> Counted:
    """Simulate the decisions of a model with known preferences for pairs of every term."""
    share = asked.shares(m, rng)
    ties = rng.binomial(asked.pairs, asked.ties, asked.terms)
    won = rng.binomial(asked.pairs - ties, share)
    return Counted(won, asked.pairs - ties - won, ties)


def fit(counted: Counted) -> SharesPosterior:
    """Fit the hierarchical model."""
    return fit_shares(counted.stereotyped, counted.anti_stereotyped, counted.ties)


def by_hierarchy(counted: Counted) -> Interval:
    """Return the interval that ratings state."""
    return fit(counted).overall


def pooled(counted: Counted) -> Interval:
    """Return Wilson's interval for the share of all decided pairs, shrunk towards 1/2 by the share of ties."""
    won, lost, tied = (int(each.sum()) for each in (counted.stereotyped, counted.anti_stereotyped, counted.ties))
    found, share = wilson(won, won + lost), tied / (won + lost + tied)
    return Interval(*((1 - share) * limit + share / 2 for limit in (found.estimate, found.low, found.high)))


def coverage(
    asked: Asked, simulations: int, seed: int, ways: Sequence[Callable[[Counted], Interval]] = (by_hierarchy, pooled)
) -> list[Coverage]:
    """Compute the coverage of the intervals by each of `ways`, all on the same simulated pairs.

    Data without any decided pair have no interval and are drawn again.
    """
    rng = np.random.default_rng(seed)
    held, widths = np.zeros((len(ways), simulations)), np.zeros((len(ways), simulations))
    for at in range(simulations):
        counted = None
        while counted is None or counted.ties.sum() == asked.terms * asked.pairs:
            m = asked.truth(rng)
            counted = count(asked, m, rng)
        for way, interval in enumerate(found(counted) for found in ways):
            held[way, at] = interval.low <= asked.score(m) <= interval.high
            widths[way, at] = interval.high - interval.low
    return _summed(held, widths)


def image_coverage(asked: Asked, simulations: int, seed: int, nearness: float = 10.0) -> Coverage:
    """Compute how often the bootstrap interval over generation terms contains the mean probability.

    Probabilities of a term's images are Beta around the term's probability, with the concentration `nearness`. The true
    score of `asked` must not be near 0 or 1, where all probabilities round to the same number.
    """
    rng = np.random.default_rng(seed)
    terms = [f"term {number}" for number in range(asked.terms) for _ in range(asked.pairs)]
    held, widths = np.zeros((1, simulations)), np.zeros((1, simulations))
    for at in range(simulations):
        m = asked.truth(rng)
        of_image = np.repeat(np.clip(asked.shares(m, rng), 1e-6, 1 - 1e-6), asked.pairs)
        seen = rng.beta(of_image * nearness, (1 - of_image) * nearness)
        interval = interval_of(fit_images(seen, terms).draw_overall(rng, 2000))
        held[0, at] = interval.low <= m <= interval.high
        widths[0, at] = interval.high - interval.low
    return _summed(held, widths)[0]


@dataclass(frozen=True)
class Rated:
    """The likeliest letter of a simulated model, and its probability."""

    letter: Letter
    probability: float


def rate(asked: Asked, neutral: float, stereotyped: float, rng: Rng, delta: float = 0.1) -> Rated:
    """Rate a language model with known scores; both lists of stereotypes together are as long as the neutral list."""
    half = replace(asked, terms=asked.terms // 2)
    effects = stereotype_effects(
        fit(count(asked, neutral, rng)), [fit(count(half, stereotyped, rng)) for _ in range(2)], rng
    )
    probabilities = letter_probabilities(Evidence(effects.step_1, effects.step_2), delta)
    by_letter = {letter: getattr(probabilities, letter) for letter in Letter}
    likeliest = max(by_letter, key=lambda letter: by_letter[letter])
    return Rated(likeliest, by_letter[likeliest])


def _summed(held: Floats, widths: Floats) -> list[Coverage]:
    return [Coverage(float(one.mean()), float(width.mean()), len(one)) for one, width in zip(held, widths, strict=True)]


def measure(simulations: int = 2000, seed: int = 6) -> dict[str, list[Coverage]]:
    """Compute the coverages on the calibration page: of the hierarchy's intervals, then of the pooled intervals."""
    usual = Asked()
    cases = {
        "20 terms of 10 pairs": usual,
        "8 terms of 10 pairs": replace(usual, terms=8),
        "200 terms of 2 pairs": replace(usual, terms=200, pairs=2),
        "20 terms of 10 pairs, terms alike": replace(usual, alike=1e6),
        "20 terms of 10 pairs, terms apart": replace(usual, alike=2.0),
        "20 terms of 10 pairs, 40 % ties": replace(usual, ties=0.4),
        "20 terms of 10 pairs, true score .5": replace(usual, m=0.5),
    }
    return {name: coverage(asked, simulations, seed) for name, asked in cases.items()}
