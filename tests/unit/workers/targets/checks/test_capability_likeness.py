"""Detection of answers of a batch in the wrong order, by comparison with the answers to single questions."""

import itertools

import numpy as np
import pytest

from workers.targets.checks.answer_similarity import CLOSE, ROUNDING, Order, any_differ, difference, order_of


def label(name):
    return {"label": name, "scores": None}


def scores(good):
    return {"label": None, "scores": {"bad": 1 - good, "good": good}}


KINDS = {
    "vectors": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.7], [0.1, 0.0, -1.0]],
    "numbers": [1.0, 20.0, -3.0, 0.0],
    "probabilities": [scores(0.1), scores(0.5), scores(0.9), scores(0.91)],
    "labels": [label("a"), label("b"), label("c"), label("d")],
}


@pytest.mark.parametrize("answers", KINDS.values(), ids=KINDS)
def test_the_computed_difference_of_two_answers_is_zero_only_if_they_are_equal(answers):
    for one, other in itertools.combinations(answers, 2):
        assert difference(one, other) == difference(other, one) > ROUNDING
    assert all(difference(one, one) == 0 for one in answers)


def test_the_difference_of_two_answers_is_relative_to_their_size():
    assert difference([3.0, 4.0], [3.0, 4.5]) == pytest.approx(0.5 / np.hypot(3, 4.5))
    assert difference(10.0, 9.0) == pytest.approx(0.1)
    assert difference(0.0, 0.0) == difference([0.0], [0.0]) == 0
    assert difference(1e300, -1e300) == pytest.approx(2)
    assert difference([1.0], [1.0, 2.0]) == 1
    assert difference(scores(0.3), scores(0.5)) == pytest.approx(0.2)
    assert difference(label("a"), scores(0.5)) == 1


@pytest.mark.parametrize("answers", KINDS.values(), ids=KINDS)
def test_every_wrong_order_of_distinct_answers_is_detected(answers):
    assert order_of(answers, answers) is Order.KEPT
    for order in list(itertools.permutations(answers))[1:]:
        assert order_of(answers, order) is Order.CROSSED


def test_two_swapped_answers_in_a_batch_of_otherwise_similar_answers_are_detected():
    alone = [label("a"), label("a"), label("b"), label("a")]
    assert order_of(alone, [alone[2], *alone[1:2], alone[0], alone[3]]) is Order.CROSSED
    near = [scores(0.5), scores(0.504), scores(0.9)]
    assert order_of(near, [near[1], near[0], near[2]]) is Order.CROSSED


@pytest.mark.parametrize("answers", [[label("a")] * 4, [2.0] * 3, [scores(0.5)] * 5, [[1.0, 0.0]] * 2])
def test_the_order_of_a_batch_of_equal_answers_cannot_be_determined(answers):
    assert order_of(answers, answers) is Order.UNSEEN
    assert not any_differ(answers)


def test_rounding_differences_in_a_batch_do_not_count_as_another_order():
    rng = np.random.Generator(np.random.PCG64(0))
    alone = [rng.normal(size=384).tolist() for _ in range(5)]
    for noise in (1e-7, 1e-5, 0.5 * CLOSE):
        together = [(np.array(one) * (1 + noise * rng.uniform(-1, 1, 384))).tolist() for one in alone]
        assert order_of(alone, together) is Order.KEPT


def test_answers_that_change_when_sent_in_a_batch_are_not_reported_as_reordered():
    assert order_of([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]) is Order.CHANGED
    assert order_of([label("a"), label("b")], [label("b"), label("b")]) is Order.CHANGED
    assert order_of([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.6, -0.5]]) is Order.CHANGED
