"""Kolmogorov-Smirnov test for outputs that have an order; outputs without an order are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, SpecificationError, TooFewObservations
from assay.model import Floats

Scale = Literal["nominal", "ordinal", "continuous"]

EXACT_UP_TO = 1_000_000
"""Product of the sample sizes up to which the p-value is exact (tens of milliseconds)."""


class UnorderedValues(SpecificationError):
    """Kolmogorov-Smirnov needs values that have an order."""

    code = "unordered-values"

    def __init__(self) -> None:
        super().__init__(
            "Kolmogorov-Smirnov compares cumulative distributions, and categories have no order to cumulate in: "
            "the answer would depend on how they happen to be numbered, and its power on category codes is nil; "
            "use goodness.exact_multinomial",
            "scale",
        )


@dataclass(frozen=True)
class KolmogorovSmirnov:
    """Two-sample Kolmogorov-Smirnov test."""

    statistic: float
    """Largest distance between the two empirical distribution functions, in [0, 1]."""
    p: float
    """Two-sided p-value. With ties, which ordinal values always have, it is an upper bound."""
    test: str
    """``"exact"`` or ``"asymptotic"``."""


def kolmogorov_smirnov(sample: ArrayLike, reference: ArrayLike, *, scale: Scale) -> KolmogorovSmirnov:
    """Test whether two samples come from one distribution.

    Parameters
    ----------
    sample, reference : array_like, shape (n,), (m,)
        Values in any order.
    scale : {"nominal", "ordinal", "continuous"}
        Scale of the values. The caller must declare it: numbers alone do not show whether they are codes.

    Raises
    ------
    UnorderedValues
        If the values are nominal.
    TooFewObservations
        If a sample is empty.
    OutOfBounds
        If a value is not a finite number.
    """
    if scale == "nominal":
        raise UnorderedValues
    first, second = _checked(sample, "sample"), _checked(reference, "reference")
    from scipy.stats import ks_2samp  # imported here, because the import takes 1.5 s and is seldom needed

    exact = first.size * second.size <= EXACT_UP_TO
    result = ks_2samp(first, second, method="exact" if exact else "asymp")
    return KolmogorovSmirnov(
        float(result.statistic), min(1.0, float(result.pvalue)), "exact" if exact else "asymptotic"
    )


def _checked(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise OutOfBounds(f"the {name} must be a row of finite numbers", name)
    if array.size == 0:
        raise TooFewObservations(f"the {name} is empty")
    return array
