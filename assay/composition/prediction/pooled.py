"""Prediction of a chain by multiplying its services' matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from assay.composition.prediction.measured_service import TransitionEvidence
from assay.model import Floats
from assay.statistics.bayes.transition import draw_excess_concordance, draw_transitions


@dataclass(frozen=True)
class ChainDraws:
    """Draws of the transition matrix of a chain."""

    transitions: Floats
    """Probability of each output for each input value; shape (draws, rows, outputs)."""
    content: Floats | None
    """Excess concordance, in [-1, 1]; ``None`` where no content was asked with two values; shape (draws,)."""
    unmeasured: Floats
    """Share of the inputs that reach a later service without a value, in [0, 1]; shape (draws, rows). The answers to
    such texts were never measured, so that the outputs are known only to within this share."""


def chain_pooled(services: Sequence[TransitionEvidence], rng: np.random.Generator, draws: int) -> ChainDraws:
    """Multiply the matrices of a chain, draw by draw."""
    first, *others = services
    transitions = draw_transitions(first.table, rng, draws)
    content = _own_content(first, transitions, rng)
    unmeasured = np.zeros(transitions.shape[:2])
    for service in others:
        unmeasured += transitions[:, :, -1]
        square = draw_square(service, rng, draws)
        content = _carried(transitions, content, square, _own_content(service, square[:, : len(service.rows)], rng))
        transitions = transitions @ square
    return ChainDraws(transitions, content, np.minimum(unmeasured, 1.0))


def draw_square(service: TransitionEvidence, rng: np.random.Generator, draws: int) -> Floats:
    """Draw the square matrix of a service, with an additional row for text without a value.

    The service was never asked about such text, so that row has the prior alone, ``Dirichlet(1 / outputs)``.

    Returns
    -------
    ndarray, shape (draws, outputs, outputs)
    """
    return draw_transitions(np.vstack([service.table, np.zeros(len(service.outputs), dtype=np.int64)]), rng, draws)


def _own_content(service: TransitionEvidence, transitions: Floats, rng: np.random.Generator) -> Floats | None:
    return draw_excess_concordance(service.equal, service.pairs, transitions, rng)


def _carried(before: Floats, content: Floats | None, after: Floats, own_concordance: Floats | None) -> Floats | None:
    """Excess concordance of a service called on the outputs of a chain; shape (draws,).

    Two sentences with the same content and two values leave the chain with one value or with two. With
    one value, the service gets the same sentence twice; its answers count as equal, because Assay asks no
    sentence twice. With two values, its answers are equal by chance and by its own excess concordance.

    Parameters
    ----------
    before : ndarray, shape (draws, rows, outputs)
        Transition matrix of the chain so far.
    content : ndarray or None
        Excess concordance of the chain so far.
    after : ndarray, shape (draws, outputs, outputs)
        Transition matrix of the service.
    own_concordance : ndarray or None
        Excess concordance of the service.
    """
    if content is None or own_concordance is None:
        return None
    square = before @ after
    alike = after @ after.transpose(0, 2, 1)  # element (i, j): probability that the values i and j get the same answer
    alike = np.clip(alike + own_concordance[:, None, None], 0.0, 1.0)
    pairs = list(combinations(range(before.shape[1]), 2))
    excess = np.zeros(len(before))
    for a, b in pairs:
        joint = before[:, a, :, None] * before[:, b, None, :]
        one_value = np.einsum("dii->d", joint)
        two_values = 1.0 - one_value
        merged = np.clip(one_value + content, 0.0, 1.0)
        answered_alike = np.einsum("dij,dij->d", joint, alike) - np.einsum("dii,dii->d", joint, alike)
        remaining = np.divide(1.0 - merged, two_values, out=np.zeros_like(merged), where=two_values > 0)
        by_chance = np.einsum("dv,dv->d", square[:, a], square[:, b])
        excess += merged + remaining * answered_alike - by_chance
    return np.asarray(excess / len(pairs), dtype=float)
