"""The curve through an observer's trials against psignifit 4.3: ``python -m benchmarks.bench_trial_fit``.

Both fit a cumulative normal with lapses on both sides to the same simulated answers, and state a 95 % interval
of the point where both answers are equally likely. The time of a fit and the coverage of the interval are
compared. psignifit is not part of Assay (its licence is the GPL). Without it, only Assay's own numbers are
printed, with the package that the environment needs for the ratio: ``psignifit==4.3``.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.methods.forced_choice.psychometric_fit import fit_psychometric

LEVELS = np.linspace(0, 1, 9)
TRIALS = 20
"""Number of trials at each level: 180 in all."""

THEIRS, OURS = 120, 1000
"""Numbers of observers that psignifit (about a second each) and Assay fit; psignifit's are the first of Assay's."""

WANTED = 20
"""Required ratio of psignifit's time to Assay's."""

NOMINAL = 0.95


@dataclass(frozen=True)
class Observer:
    """A simulated observer: its true point of subjective equality, and its answers at each level."""

    point: float
    chose_second: NDArray[np.int64]


@dataclass(frozen=True)
class Limits:
    """Limits of an interval of the point of subjective equality."""

    low: float
    high: float

    def hold(self, point: float) -> bool:
        return self.low <= point <= self.high


Fit = Callable[[NDArray[np.int64]], Limits]


@dataclass(frozen=True)
class Measured:
    """Median seconds of a fit, the share of intervals that hold the truth, and their median width."""

    seconds: float
    coverage: float
    width: float
    observers: int

    @property
    def error(self) -> float:
        """Standard error of the coverage under its nominal value."""
        return math.sqrt(NOMINAL * (1 - NOMINAL) / self.observers)

    def __str__(self) -> str:
        return (
            f"{1000 * self.seconds:.1f} ms a fit; 95 % intervals of {self.observers} observers hold the truth "
            f"in {self.coverage:.3f} ± {self.error:.3f}, median width {self.width:.3f}"
        )


def observers(rng: np.random.Generator, many: int) -> list[Observer]:
    """Draw realistic observers: points away from the middle, steep and shallow curves, some lapses."""
    from scipy.special import ndtr

    drawn = []
    for _ in range(many):
        point, sigma = rng.uniform(0.3, 0.7), math.exp(rng.uniform(math.log(0.08), math.log(0.3)))
        lapse = rng.beta(1, 20)
        second = lapse / 2 + (1 - lapse) * ndtr((LEVELS - point) / sigma)
        drawn.append(Observer(point, rng.binomial(TRIALS, second)))
    return drawn


def measured(fit: Fit, seen: Sequence[Observer]) -> Measured:
    """Fit every observer, one at a time."""
    fit(seen[0].chose_second)  # warm-up: the imports of the first call are not part of the fit
    seconds, found = [], []
    for one in seen:
        start = time.perf_counter()
        found.append(fit(one.chose_second))
        seconds.append(time.perf_counter() - start)
    held = [limits.hold(one.point) for one, limits in zip(seen, found, strict=True)]
    widths = [limits.high - limits.low for limits in found]
    return Measured(statistics.median(seconds), statistics.fmean(held), statistics.median(widths), len(seen))


def assay_fit(chose_second: NDArray[np.int64]) -> Limits:
    pse = fit_psychometric(LEVELS, chose_second, np.full(len(LEVELS), TRIALS)).pse
    return Limits(pse.low, pse.high)


def psignifit_fit(chose_second: NDArray[np.int64]) -> Limits:
    """Fit with psignifit's defaults and equal lapse rates on both sides, as in Assay's model."""
    psignifit = importlib.import_module("psignifit").psignifit
    counted = np.column_stack([LEVELS, chose_second, np.full(len(LEVELS), TRIALS)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = psignifit(counted, sigmoid="norm", experiment_type="equal asymptote")
    low, high = result.confidence_intervals["threshold"]["0.95"]
    return Limits(float(low), float(high))


def main() -> None:
    """Print the time and coverage of both, and their ratio."""
    seen = observers(np.random.default_rng(9), OURS)
    ours = measured(assay_fit, seen)
    print(f"trial fit, {len(LEVELS)} levels of {TRIALS} trials: {ours}")
    if importlib.util.find_spec("psignifit") is None:
        print("psignifit is not in this environment, so there is no ratio; needs: pip install psignifit==4.3")
        return
    theirs, of_the_same = measured(psignifit_fit, seen[:THEIRS]), measured(assay_fit, seen[:THEIRS])
    print(f"psignifit with its defaults: {theirs}")
    print(f"Assay, the same observers: {of_the_same}")
    ratio = theirs.seconds / of_the_same.seconds
    print(f"ratio {ratio:.0f} (at least {WANTED} is wanted)")
    # coverages of so few observers differ only if they are more than one standard error apart
    worse = abs(of_the_same.coverage - NOMINAL) > abs(theirs.coverage - NOMINAL) + theirs.error
    if ratio < WANTED or worse:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
