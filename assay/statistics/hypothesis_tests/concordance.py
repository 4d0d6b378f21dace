"""Excess concordance: agreement of answers beyond chance, which shows that they follow the content.

The same content is asked once with each value of the attribute. A service that looks at the
content and not at the value gives both questions one answer. Answers can also coincide by
errors that have nothing to do with the content, and those are subtracted (METHODS section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from assay.errors import OutOfBounds

RowPair = tuple[int, int]
"""Two rows of a transition matrix that were asked with the same content."""


def draw_excess_concordance(
    equal: int,
    pairs: int,
    transitions: NDArray[np.float64],
    rng: np.random.Generator,
    weights: Mapping[RowPair, float] | None = None,
) -> NDArray[np.float64] | None:
    """Draw ``kappa = P(the two outputs are equal) - sum_v T[a, v] T[b, v]``.

    It is 0 for services whose errors are independent of the content (faithful, always one value,
    erasing, flipping at random) and ``p**2 / 2`` for one that answers a share p of its sentences
    by a stereotype held of half the contents.

    Parameters
    ----------
    equal, pairs : int
        Pairs of questions with the same content whose outputs were equal; all such pairs.
    transitions : ndarray, shape (draws, rows, outputs)
        Posterior draws of the transition matrix.
    rng : Generator
        Source of the draws of P(equal), which is ``Beta(1/2 + equal, 1/2 + pairs - equal)``.
    weights : mapping of (row, row) to float, optional
        How many of the pairs were of which two rows. All pairs of rows weigh the same if left out.

    Returns
    -------
    ndarray, shape (draws,), or None
        Draws of kappa, in [-1, 1]; ``None`` if no content was asked twice.

    Raises
    ------
    OutOfBounds
        If more pairs are equal than there are, or a weight is negative or of unknown rows.
    """
    if not 0 <= equal <= pairs:
        raise OutOfBounds(f"the equal pairs must lie between 0 and all {pairs} pairs, not {equal}")
    if pairs == 0:
        return None
    draws, rows, _ = transitions.shape
    shares = _pair_shares(rows, weights)
    by_chance = np.zeros(draws)
    for (a, b), share in shares.items():
        by_chance += share * np.einsum("dv,dv->d", transitions[:, a], transitions[:, b])
    return np.asarray(rng.beta(0.5 + equal, 0.5 + pairs - equal, draws) - by_chance, dtype=float)


def _pair_shares(rows: int, weights: Mapping[RowPair, float] | None) -> dict[RowPair, float]:
    """Share of each pair of rows; they sum to one."""
    given = dict.fromkeys(combinations(range(rows), 2), 1.0) if weights is None else dict(weights)
    known = all(0 <= row < rows for pair in given for row in pair)
    total = sum(given.values())
    if not known or total <= 0 or any(weight < 0 for weight in given.values()):
        raise OutOfBounds(f"weights must be non-negative, of pairs of the {rows} rows, and not all zero, not {given}")
    return {pair: weight / total for pair, weight in given.items()}
