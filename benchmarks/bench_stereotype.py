"""The posterior of a stereotype score against two usual intervals: ``python -m benchmarks.bench_stereotype``.

A language model decides pairs of attribute terms that differ in their true score. A 95 % interval of the mean over
terms is computed by the beta-binomial hierarchy, by Wilson's interval of all pairs pooled, and by a bias-corrected
bootstrap over terms (``scipy.stats.bootstrap``). Their coverage and their times are compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from assay.model import Interval
from assay.statistics.bayes.beta_binomial import fit_shares
from tests.support.simulated.stereotype_shares import Asked, Counted, by_hierarchy, count, coverage, pooled

SIMULATIONS = 400
PUBLISHED = Asked(terms=393, pairs=2, alike=5.0)
"""Numbers of terms, and of pairs per term, in P4's predefined specifications."""

REPEATS = 20
DRAWS = 4000
NOMINAL = 0.95

WITHIN = 0.02
"""Largest permitted shortfall of the hierarchy's coverage below its nominal value."""


def by_bootstrap(counted: Counted) -> Interval:
    """Return an interval by resampling terms."""
    from scipy.stats import bootstrap

    pairs = counted.stereotyped + counted.anti_stereotyped + counted.ties
    scores = (counted.stereotyped + counted.ties / 2) / pairs
    if np.ptp(scores) == 0:  # equal scores cannot be resampled: the interval has no width
        return Interval(float(scores[0]), float(scores[0]), float(scores[0]))
    found = bootstrap((scores,), np.mean, n_resamples=DRAWS, method="BCa", rng=np.random.default_rng(1))
    limits = found.confidence_interval
    return Interval(float(scores.mean()), float(limits.low), float(limits.high))


def with_draws(counted: Counted) -> Interval:
    """Fit the hierarchy, and draw from it as a rating does."""
    found = fit_shares(counted.stereotyped, counted.anti_stereotyped, counted.ties)
    found.draw_overall(np.random.default_rng(1), DRAWS)
    return found.overall


def milliseconds(way: Callable[[Counted], Interval], counted: Counted) -> float:
    """Measure a function in milliseconds, without the imports of its first call."""
    way(counted)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        way(counted)
        seconds.append(time.perf_counter() - start)
    return 1000 * statistics.median(seconds)


def main() -> None:
    """Print coverage and time of each way, and the ratio of times."""
    ways = {"hierarchy": by_hierarchy, "pooled Wilson": pooled, "bootstrap over terms": by_bootstrap}
    usual = Asked()
    print(f"{usual.terms} terms of {usual.pairs} pairs, {SIMULATIONS} simulated models:")
    found = coverage(usual, SIMULATIONS, 9, tuple(ways.values()))
    for name, one in zip(ways, found, strict=True):
        print(f"  {name}: holds the truth in {one.held:.3f} ± {one.error:.3f}, mean width {one.width:.3f}")
    counted = count(PUBLISHED, 0.55, np.random.default_rng(9))
    ours, theirs = milliseconds(with_draws, counted), milliseconds(by_bootstrap, counted)
    print(
        f"{PUBLISHED.terms} terms of {PUBLISHED.pairs} pairs, {DRAWS} draws: {ours:.1f} ms; bootstrap {theirs:.1f} ms"
    )
    print(f"ratio {theirs / ours:.1f} (at least 1 is wanted)")
    if ours > theirs or found[0].held < NOMINAL - WITHIN:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
