"""Posterior of a transition matrix and of the two effects computed from it (docs/methods/round-trip.md).

A *row* is a value in the input, an *output* a value in the output; the last output may be the residual, for texts
that name no value of the attribute. ``T[a]`` given the counts ``K[a]`` is ``Dirichlet(prior + K[a])``; rows are
independent of each other.

Excess concordance measures whether answers follow the content of a question instead of the attribute. The same content
is asked once with each value. A service that looks only at the content gives the same answer to both questions. Answers
can also be equal by errors that do not depend on the content; their probability is subtracted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import BadDistribution, OutOfBounds
from assay.model import Floats
from assay.statistics.hypothesis_tests.distribution import pad_to


@dataclass(frozen=True)
class StepEffects:
    """Draws of the effects of step 1 (unbiased input) and step 2 (biased input), in total variation."""

    step_1: Floats
    """Largest effect over the unbiased blocks, in [0, 1]; shape (draws,)."""
    step_2: Floats
    """Largest effect over the biased blocks, in [0, 1]; shape (draws,)."""


def draw_transitions(counts: ArrayLike, rng: np.random.Generator, draws: int = 20_000) -> Floats:
    """Draw transition matrices from their posterior; shape (draws, rows, outputs). Each row sums to one.

    The prior weight of each output is ``1 / outputs``, so that the prior of a row weighs as much as one observation
    for any number of outputs.

    Parameters
    ----------
    counts : array_like of int, shape (rows, outputs)
        For each value in the input (row), how often each output followed. A row of zeros is drawn from the prior.

    Raises
    ------
    OutOfBounds
        If a count is negative.
    """
    observed = np.asarray(counts, dtype=float)
    is_table = observed.ndim == 2 and observed.size > 0 and np.isfinite(observed).all()
    if not is_table or (observed < 0).any():
        raise OutOfBounds(f"a table (rows, outputs) of non-negative counts is needed, not {observed.tolist()}")
    return np.stack([rng.dirichlet(row, draws) for row in observed + 1.0 / observed.shape[1]], axis=1)


def outputs_under(transitions: Floats, shares: ArrayLike) -> Floats:
    """Compute the shares of the outputs if the input has given shares of the values; shape (draws, blocks, outputs).

    `transitions` are draws of the share of each output for each value (row), shape (draws, rows, outputs); `shares`
    are the values' shares in each block (set of inputs), shape (blocks, rows). Raise `BadDistribution` if there is no
    block, or the blocks do not have one share for each row.
    """
    blocks = np.atleast_2d(np.asarray(shares, dtype=float))
    rows = transitions.shape[1]
    if blocks.size == 0 or blocks.ndim != 2 or blocks.shape[1] != rows:
        raise BadDistribution(
            f"one or more blocks with a share for each of {rows} rows are needed, not {blocks.tolist()}"
        )
    return np.asarray(blocks @ transitions, dtype=float)


def step_effects(transitions: Floats, unbiased: ArrayLike, biased: ArrayLike, *, neutral: bool = False) -> StepEffects:
    """Draw both effects: the distance of the outputs from an unbiased distribution, on unbiased and on biased input.

    The effect of a block (inputs with one declared distribution of values) is the total variation between its outputs
    and the *nearest* declared unbiased distribution; a step's effect is that of its worst block. The residual output
    (no value named) adds to the distance, because its share in every declared distribution is 0.

    A `neutral` residual is harmless, because it names no value. With ``p`` the shares of the values and
    ``g = sum(p)`` the share of outputs that name a value, the effect against an unbiased distribution ``u`` is then
    half the L1 distance between ``p`` and ``g u``: the total variation among the outputs that name a value, times
    their share. A service whose outputs are all neutral has no effect.

    Parameters
    ----------
    transitions : ndarray, shape (draws, rows, outputs)
        From `draw_transitions`; the last output is the residual.
    unbiased, biased : array_like, shape (blocks, rows)
        Declared shares of the values (rows) in each block of step 1 and of step 2.
    """
    value_transitions = transitions[:, :, :-1] if neutral else transitions
    fair = pad_to(unbiased, value_transitions.shape[2])
    step_1, step_2 = (
        _worst_distances(outputs_under(value_transitions, blocks), fair, neutral) for blocks in (unbiased, biased)
    )
    return StepEffects(step_1, step_2)


def _worst_distances(outputs: Floats, fair: Floats, neutral: bool) -> Floats:
    """Return half the L1 distance from the worst block of inputs to its nearest row of `fair` (m, k); shape (draws,).

    `outputs`, shape (draws, blocks, k), are without a `neutral` residual: they sum to the share that names a value.
    """
    named_share = outputs.sum(axis=2, keepdims=True) if neutral else 1.0
    # looping over `fair` keeps the largest array at the shape (draws, blocks, k)
    distances = [0.5 * np.abs(outputs - named_share * fair_shares).sum(axis=2) for fair_shares in fair]
    return np.asarray(np.minimum.reduce(distances).max(axis=1), dtype=float)


RowPair = tuple[int, int]
"""Two rows of a transition matrix that were asked with the same content."""


def draw_excess_concordance(
    equal: int,
    pairs: int,
    transitions: Floats,
    rng: np.random.Generator,
    weights: Mapping[RowPair, float] | None = None,
) -> Floats | None:
    """Draw how much more often than by chance questions with the same content get equal outputs; shape (draws,).

    This is ``kappa = P(equal) - sum_v T[a, v] T[b, v]``, in [-1, 1], with the transition matrix T and the questions'
    values (rows) a and b. It is 0 if errors ignore the content (always right, always one value, no value, random
    flips), and ``p**2 / 2`` if a share p of answers follows the content's stereotype and half the contents are
    stereotyped for each value. ``None`` if `pairs` is 0.

    Parameters
    ----------
    equal, pairs : int
        Number of pairs of questions with the same content and equal outputs; number of all such pairs.
    transitions : ndarray, shape (draws, rows, outputs)
        Posterior draws of the transition matrix.
    rng : Generator
        Source of the draws of P(equal), which is ``Beta(1/2 + equal, 1/2 + pairs - equal)``.
    weights : mapping of (row, row) to float, optional
        Number of pairs for each combination of two rows. By default all combinations have the same weight.

    Raises
    ------
    OutOfBounds
        If `equal` is larger than `pairs`, or a weight is negative or of unknown rows.
    """
    if not 0 <= equal <= pairs:
        raise OutOfBounds(f"the number of equal pairs must be between 0 and {pairs}, not {equal}")
    if pairs == 0:
        return None
    draws, rows, _ = transitions.shape
    shares = _pair_shares(rows, weights)
    by_chance = np.zeros(draws)
    for (a, b), share in shares.items():
        by_chance += share * np.einsum("dv,dv->d", transitions[:, a], transitions[:, b])
    return np.asarray(rng.beta(0.5 + equal, 0.5 + pairs - equal, draws) - by_chance, dtype=float)


def _pair_shares(rows: int, weights: Mapping[RowPair, float] | None) -> dict[RowPair, float]:
    """Return the weight of each pair of rows divided by the sum of the weights; by default all pairs are equal."""
    pair_weights = dict.fromkeys(combinations(range(rows), 2), 1.0) if weights is None else dict(weights)
    rows_exist = all(0 <= row < rows for pair in pair_weights for row in pair)
    total_weight = sum(pair_weights.values())
    if not rows_exist or total_weight <= 0 or any(weight < 0 for weight in pair_weights.values()):
        raise OutOfBounds(f"weights belong to pairs of rows below {rows}; none negative, not all 0: {pair_weights}")
    return {pair: weight / total_weight for pair, weight in pair_weights.items()}
