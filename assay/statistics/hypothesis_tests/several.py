"""Several tests at once: adjusted p-values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.model import Floats


def holm(p_values: ArrayLike) -> Floats:
    """Return p-values adjusted for the family-wise error rate by Holm's method (1979), in the same order."""
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)))
    return adjusted
