"""Scales on which numbers are compared: the letter must not depend on the unit of a number.

See docs/what-a-mean-hides.md.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import EvidenceError
from assay.model import Floats

Scale = Literal["linear", "log", "logit", "rank"]

WIDE, SKEWED = 4.0, 2.0
"""Ratio of the 90th to the 10th percentile, and skewness, above which positive numbers are compared as ratios."""

DOMINATED = 1.5
"""Ratio of the standard deviation to its estimate from the quartiles above which ranks are also compared."""

QUARTILES = 1.349
"""Distance between the quartiles of a normal distribution in standard deviations."""

LEAST_AMOUNTS = 30
"""Minimum number of profiles with amounts above 0 to compare these separately: zeros can hide differences of 20 %."""

MOSTLY = 0.25
"""Minimum share of outputs with common numbers at which the other outputs are compared separately (`amounts`)."""

COMMON = 0.1
"""Minimum share of the outputs at which a number is common."""

NEGATIVE = 0.05
"""Maximum share of negative numbers, such as codes and corrections, for amounts to be compared as ratios."""

RATIO = 1.05
"""Ratio of two numbers that still counts as no difference if the tolerance is `USUAL` standard deviations."""

USUAL = 0.1
"""Tolerance of alternation in standard deviations, unless the caller sets another."""


def scales_of(outputs: Floats, declared: Scale | Literal["auto"], *, probabilities: bool) -> tuple[Scale, ...]:
    """Choose the scales on which outputs are compared; the first one gives the effects and the letter.

    A `declared` scale other than "auto" is the only one. `probabilities` says whether the outputs are probabilities.
    Raise `EvidenceError` if the outputs do not fit the scale (a logarithm of 0), or are too large or small to compute.
    """
    if (spread := float(outputs.max()) - float(outputs.min())) and abs(math.log10(spread)) > 60:  # products overflow
        raise EvidenceError(f"outputs of up to {np.abs(outputs).max():.3g} cannot be computed with: use another unit")
    positive = bool((outputs > 0).all())
    in_unit_interval = positive and bool((outputs < 1).all())
    fits_scale = {"linear": True, "rank": True, "log": positive, "logit": in_unit_interval}
    if declared != "auto":
        if not fits_scale[declared]:
            range_text = "above 0" if declared == "log" else "between 0 and 1"
            extremes = f"{outputs.min():.4g} to {outputs.max():.4g}"
            raise EvidenceError(f"the scale {declared!r} needs outputs {range_text}; these reach from {extremes}")
        return (declared,)
    scales: tuple[Scale, ...] = ("linear",)
    if probabilities:
        scales = ("linear", "logit") if in_unit_interval else ("linear",)
    elif positive:
        scales = ("log", "linear") if _needs_log_scale(outputs) else ("linear", "log")
    scaled_outputs = on_scale(outputs, scales[0])
    return (*scales, "rank") if is_dominated_by_few(scaled_outputs, float(scaled_outputs.std())) else scales


def on_scale(outputs: Floats, scale: Scale) -> Floats:
    """Return the outputs' logarithms, logits or ranks (equal outputs have equal ranks), or the outputs themselves."""
    if scale == "log":
        return np.log(outputs)
    if scale == "logit":
        return np.asarray(np.log(outputs) - np.log1p(-outputs))
    if scale == "rank":
        _, indices, counts = np.unique(outputs, return_inverse=True, return_counts=True)
        mean_ranks = np.cumsum(counts) - (counts - 1) / 2  # of equal outputs; ranks begin at 1
        return np.asarray(mean_ranks[indices].reshape(outputs.shape))
    return outputs


def amounts(outputs: Floats) -> tuple[str, NDArray[np.bool_]] | None:
    """Find the profiles (rows) whose outputs are all amounts above 0: return a description for reports, and a mask.

    Return ``None`` if they need no comparison of their own: too few, all of the profiles, or suited to a linear scale;
    or if many outputs are negative. Numbers that very many outputs share, such as a minimum price, are no amounts.
    """
    numbers, counts = np.unique(outputs, return_counts=True)
    is_common = counts >= COMMON * outputs.size  # numbers that at least a tenth of the outputs have
    other_counts, large_count = counts[~is_common], MOSTLY * outputs.size  # a quarter of the outputs
    # if the outputs are counts or marks, some of their other numbers are common too, so they are not amounts
    others_vary = other_counts.max(initial=0) < COMMON * other_counts.sum()
    others_are_amounts = counts[is_common].sum() >= large_count and others_vary
    excluded_numbers = numbers[is_common if others_are_amounts else counts >= large_count]  # no amounts
    positive = np.asarray(((outputs > 0) & ~np.isin(outputs, excluded_numbers)).all(axis=1))
    not_separable = (outputs < 0).mean() > NEGATIVE or positive.all() or positive.sum() < LEAST_AMOUNTS
    if not_separable or not _needs_log_scale(outputs[positive]):
        return None
    excluded_text = " and ".join(f"{number:.6g}" for number in excluded_numbers if number)  # the name excludes 0 anyway
    return "amounts above 0" + (f" other than {excluded_text}" if excluded_text else ""), positive


def limit_on(scale: Scale, delta: float, deviation: float) -> float | None:
    """Return the tolerance of step 1 on the scale ``log`` if it is smaller than the usual one (`delta`), else ``None``.

    It is the effect of `RATIO`, a ratio that is no difference yet; `deviation` is the sd of the outputs' logarithms.
    """
    limit = delta / USUAL * math.log(RATIO) / deviation  # the effect of `RATIO` at the usual tolerance
    return limit if scale == "log" and limit < delta else None


def is_dominated_by_few(outputs: Floats, sd: float, quartiles: Floats | None = None) -> bool:
    """Return whether a few outputs, such as codes for "not known", account for most of the standard deviation.

    The standard deviation `sd` is the unit of the effects: differences between the other outputs would seem small.
    """
    low, high = np.quantile(outputs, [0.25, 0.75]) if quartiles is None else quartiles
    # ranks of two different numbers add nothing; of a normal distribution, the quartiles are `QUARTILES` sds apart
    return len(np.unique(outputs)) > 2 and sd > DOMINATED * float(high - low) / QUARTILES


def _needs_log_scale(outputs: Floats) -> bool:
    low, high = np.quantile(outputs, [0.1, 0.9])
    return bool(high / low > WIDE or _skewness(outputs) > SKEWED)


def _skewness(outputs: Floats) -> float:
    deviations = outputs - outputs.mean()
    sd = float(outputs.std())
    return float((deviations**3).mean()) / sd**3 if sd > 0 else 0.0
