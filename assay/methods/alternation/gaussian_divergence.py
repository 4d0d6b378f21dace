"""Kullback-Leibler divergence of two outputs assumed to be Gaussian, Alelyani's measure of bias.

It measures how well the outputs can be told apart, not how large a bias is: if a better model's predictions spread
more, the same shift gives a smaller divergence. Without any effect, its mean is 2/n for independent samples of n
values, so a positive divergence alone is no evidence of bias. See docs/methods/alternation.md.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.document import always
from assay.errors import EvidenceError, OutOfBounds, ZeroVariance
from assay.model import Floats, Interval
from assay.statistics.hypothesis_tests.distribution import as_sample, check_paired
from assay.statistics.special import special

MIN_VALUES = 2
"""Minimum number of values in a sample for a standard deviation."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Mean and standard deviation of a normal distribution."""

    mean: float
    """Mean, in the unit of the output."""
    sd: float
    """Standard deviation, fitted by maximum likelihood (divisor n). It is exactly 0 if all values of a sample are
    equal."""

    @classmethod
    def of(cls, sample: ArrayLike) -> "Gaussian":
        """Fit a sample; raise `EvidenceError` if there are fewer than two values, or one is not finite."""
        return _fit_gaussian(as_sample(sample, MIN_VALUES))

    def divergence_from(self, reference: "Gaussian") -> float:
        """Compute the Kullback-Leibler divergence D(self || reference) in nats (Alelyani, equation 3).

        ``log(s2 / s1) + (s1**2 + (m1 - m2)**2) / (2 s2**2) - 1/2``, where 1 is `self` and 2 is `reference`.

        Raises
        ------
        ZeroVariance
            If either standard deviation is 0, unless both means and deviations are equal: the divergence is then 0.
        EvidenceError
            If the divergence is too large for a floating-point number.
        """
        if self.sd == 0 or reference.sd == 0:
            if self == reference:
                return 0.0
            raise ZeroVariance(
                f"no finite divergence exists: means {self.mean:.6g} and {reference.mean:.6g} with standard deviations "
                f"{self.sd:.6g} and {reference.sd:.6g}; both must vary, or be one and the same value"
            )
        with np.errstate(over="ignore"):
            ratio = np.float64(self.sd) / reference.sd
            shift = np.float64(self.mean - reference.mean) / reference.sd
            value = float((ratio**2 + shift**2 - 1) / 2 - np.log(ratio))
        if not math.isfinite(value):
            raise EvidenceError(
                f"the divergence is too large for a number: a shift of {self.mean - reference.mean:.6g} between "
                f"standard deviations of {self.sd:.6g} and {reference.sd:.6g}"
            )
        return max(0.0, value)  # rounding can make a value of 0 negative (-1e-17)


@dataclass(frozen=True)
class Fold:
    """Means, spreads and divergences of two samples within one fold.

    The standard deviations are those of the population.
    """

    fold: int
    """Number of the fold, from 0."""
    n: int
    """Number of pairs in the fold."""
    mean_x: float
    sd_x: float
    mean_y: float
    sd_y: float
    kl_xy: float | None
    """D(x || y) in nats; ``None`` if it does not exist."""
    kl_yx: float | None
    """D(y || x) in nats; ``None`` if it does not exist."""
    why: str | None = always(None)
    """Reason why the divergences do not exist."""


def gaussian_kl(x: ArrayLike, y: ArrayLike) -> float:
    """Compute the divergence D(x || y), in nats, of two samples assumed to be Gaussian.

    Raises
    ------
    TooFewObservations
        If a sample has fewer than two values.
    ZeroVariance
        If all values of a sample are equal, unless both samples repeat the same value: then the divergence is 0.
    EvidenceError
        If a value is not finite, or the divergence is too large for a floating-point number.
    """
    return Gaussian.of(x).divergence_from(Gaussian.of(y))


def gaussian_kl_interval(x: ArrayLike, y: ArrayLike) -> Interval:
    """Compute the divergence D(x || y), in nats, of paired samples with its 95 % confidence interval.

    Pairs are the outputs for each profile under two values of the attribute. The width of the interval is 0 if the
    outputs are equal in every pair: such samples do not show how much outputs could differ. Raise the errors of
    `gaussian_kl`, and `OutOfBounds` if the samples are not pairs.

    Notes
    -----
    The influence of a pair on the estimate is the derivative of the divergence along that pair; the estimate's standard
    error is the root mean square of the influences over ``sqrt(n)``. This error takes the correlation within pairs into
    account, and assumes no normality. Coverage of 95 % intervals is .94 to .95 for divergences away from 0, and more at
    0, where the influences vanish.
    """
    first, second = as_sample(x, MIN_VALUES), as_sample(y, MIN_VALUES)
    check_paired(first, second)
    p, q = Gaussian.of(first), Gaussian.of(second)
    value = p.divergence_from(q)
    if np.array_equal(first, second):  # equal samples have an influence of exactly 0; rounding would give 1e-17
        return Interval(value, value, value)
    influence = _pair_influence(first, second, p, q)
    half_width = float(special.ndtri((1 + 0.95) / 2)) * math.sqrt(float(np.mean(influence**2)) / first.size)
    return Interval(value, max(0.0, value - half_width), value + half_width)


def kl_by_fold(x: ArrayLike, y: ArrayLike, folds: int, rng: np.random.Generator) -> list[Fold]:
    """Split pairs into random folds and compute the divergence of each fold, as in Alelyani's figures.

    The number of folds is lowered if a fold would hold fewer than two pairs.

    Raises
    ------
    TooFewObservations, EvidenceError
        If there are fewer than two pairs, or a value is not finite.
    OutOfBounds
        If the samples are not pairs, or `folds` is below 1.
    """
    n = as_sample(x, MIN_VALUES).size
    if folds < 1:
        raise OutOfBounds(f"there must be at least one fold, not {folds}", "folds")
    return kl_of_folds(x, y, rng.permutation(n) % min(folds, n // MIN_VALUES))


def kl_of_folds(x: ArrayLike, y: ArrayLike, fold: ArrayLike) -> list[Fold]:
    """Compute KL(x||y) and KL(y||x) between Gaussians fitted to the two outputs in each fold.

    `fold` has each pair's fold number, for example from a model's cross-validation. A fold without finite divergences
    gets the reason as ``why``. Raise the errors of `kl_by_fold`.
    """
    x_values, y_values, folds = as_sample(x, MIN_VALUES), as_sample(y, MIN_VALUES), np.asarray(fold)
    check_paired(x_values, y_values)
    check_paired(x_values, folds)
    return [_compare_fold(int(k), x_values[folds == k], y_values[folds == k]) for k in np.unique(folds)]


def _fit_gaussian(values: Floats) -> Gaussian:
    if values.min() == values.max():  # rounding could give equal values a standard deviation of 1e-17
        return Gaussian(float(values[0]), 0.0)
    return Gaussian(float(values.mean()), float(values.std()))


def _compare_fold(number: int, x: Floats, y: Floats) -> Fold:
    """Return a fold's fitted distributions (p of x, q of y) and their divergences, or ``why`` there are none."""
    p, q = _fit_gaussian(x), _fit_gaussian(y)
    try:
        as_sample(x, MIN_VALUES)  # raises an error if the fold has a single pair
        kl_xy, kl_yx = p.divergence_from(q), q.divergence_from(p)
    except EvidenceError as error:
        return Fold(number, x.size, p.mean, p.sd, q.mean, q.sd, kl_xy=None, kl_yx=None, why=str(error))
    return Fold(number, x.size, p.mean, p.sd, q.mean, q.sd, kl_xy, kl_yx)


def _pair_influence(x: Floats, y: Floats, p: Gaussian, q: Gaussian) -> Floats:
    """Return each pair's influence on D(x || y) through the means and variances of `p` and `q`, fitted to x and y."""
    shift, v_x, v_y = p.mean - q.mean, p.sd**2, q.sd**2
    influence_x = shift / v_y * (x - p.mean) + (1 / v_y - 1 / v_x) * ((x - p.mean) ** 2 - v_x) / 2
    influence_y = -shift / v_y * (y - q.mean) + (1 / v_y - (v_x + shift**2) / v_y**2) * ((y - q.mean) ** 2 - v_y) / 2
    return np.asarray(influence_x + influence_y)
