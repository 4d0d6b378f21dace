"""Tests of excess concordance, which separates answers that follow the content from errors that ignore it."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import OutOfBounds
from assay.statistics.bayes.transition import draw_excess_concordance, draw_transitions

PAIRS = 4_000


def asked_in_pairs(answer, rng) -> tuple[int, np.ndarray]:
    """Ask about PAIRS contents with he and with she; count equal answers and transitions."""
    counts, equal = np.zeros((2, 3), dtype=int), 0
    for content in range(PAIRS):
        he, she = answer(content, 0, rng), answer(content, 1, rng)
        counts[0, he] += 1
        counts[1, she] += 1
        equal += he == she
    return equal, counts


def stereotyper(share):
    """Answer a share of the sentences by the content (even: he, odd: she), the others faithfully."""
    return lambda content, row, rng: content % 2 if rng.random() < share else row


SERVICES = {
    "faithful": lambda content, row, rng: row,
    "always he": lambda content, row, rng: 0,
    "erasing": lambda content, row, rng: 2,
    "flips two in ten": lambda content, row, rng: row if rng.random() < 0.8 else 1 - row,
    "balancing": lambda content, row, rng: int(rng.integers(2)),
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_ignores_the_content_has_no_excess_concordance(name):
    rng = np.random.default_rng(1)
    equal, counts = asked_in_pairs(SERVICES[name], rng)
    kappa = draw_excess_concordance(equal, PAIRS, draw_transitions(counts, rng, 2_000), rng)
    assert kappa.mean() == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_a_share_of_stereotyped_answers_has_excess_concordance_of_half_its_square(share):
    rng = np.random.default_rng(2)
    equal, counts = asked_in_pairs(stereotyper(share), rng)
    kappa = draw_excess_concordance(equal, PAIRS, draw_transitions(counts, rng, 2_000), rng)
    assert kappa.mean() == pytest.approx(share**2 / 2, abs=0.03)


def test_without_pairs_of_answers_there_is_no_excess_concordance():
    rng = np.random.default_rng(3)
    assert draw_excess_concordance(0, 0, draw_transitions([[1, 0], [0, 1]], rng, 10), rng) is None


def test_chance_agreement_is_weighted_by_the_pairs_that_were_asked():
    # rows 0 and 1 have equal answers and row 2 has others, so only the pair (0, 1) can agree by chance
    known = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]] * 4_000)
    rng = np.random.default_rng(4)
    same = draw_excess_concordance(100, 100, known, rng, {(0, 1): 100})
    other = draw_excess_concordance(0, 100, known, rng, {(0, 2): 60, (1, 2): 40})
    mixed = draw_excess_concordance(25, 100, known, rng, {(0, 1): 25, (0, 2): 75})
    evenly = draw_excess_concordance(33, 99, known, rng)
    for kappa in (same, other, mixed, evenly):
        assert kappa.mean() == pytest.approx(0.0, abs=0.02)


def test_swapping_he_and_she_keeps_the_excess_concordance():
    transitions = draw_transitions([[30, 8, 2], [6, 33, 1]], np.random.default_rng(5), 300)
    mirrored = transitions[:, ::-1][:, :, [1, 0, 2]]
    straight, swapped = (
        draw_excess_concordance(12, 40, each, np.random.default_rng(6)) for each in (transitions, mirrored)
    )
    assert swapped == pytest.approx(straight, abs=1e-12)


@pytest.mark.parametrize(("equal", "pairs"), [(3, 2), (-1, 2)])
def test_a_number_of_equal_pairs_below_zero_or_above_all_pairs_is_refused(equal, pairs):
    with pytest.raises(OutOfBounds):
        draw_excess_concordance(equal, pairs, np.ones((1, 2, 1)), np.random.default_rng(0))


@pytest.mark.parametrize("weights", [{(0, 2): 1.0}, {(0, 1): -1.0}, {(0, 1): 0.0}, {}])
def test_invalid_weights_of_pairs_of_values_are_refused(weights):
    with pytest.raises(OutOfBounds):
        draw_excess_concordance(1, 2, np.ones((1, 2, 1)), np.random.default_rng(0), weights)
