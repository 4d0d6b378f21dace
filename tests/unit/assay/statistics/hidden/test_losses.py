"""Tests of the difference between groups in lost replies."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from assay.model import Evidence, Letter
from assay.rating.component import Tolerance
from assay.rating.losses import LostOfGroup, loss_difference, loss_effect, may_be_chance


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_groups_without_lost_replies_do_not_differ_in_lost_replies(rng):
    assert not loss_difference({"a": LostOfGroup(8), "b": LostOfGroup(8)}, 0.05, 0.95, rng).any()


def test_a_group_with_17_percent_of_its_questions_refused_is_beyond_the_limit(rng):
    drawn = loss_difference({"a": LostOfGroup(400, refused=68), "b": LostOfGroup(400)}, 0.05, 0.95, rng)
    assert (drawn > 0.05).mean() > 0.999
    assert drawn.mean() == pytest.approx(0.17, abs=0.01)


def test_groups_with_equal_refusal_rates_have_a_small_difference(rng):
    drawn = loss_difference({"a": LostOfGroup(2000, 200), "b": LostOfGroup(2000, 200)}, 0.05, 0.95, rng)
    assert (drawn > 0.05).mean() < 0.01


def test_failed_calls_count_only_if_the_groups_differ_with_confidence(rng):
    alike = {"a": LostOfGroup(500, failed=30), "b": LostOfGroup(500, failed=20)}
    assert not loss_difference(alike, 0.05, 0.95, rng).any()
    apart = {"a": LostOfGroup(500, failed=90), "b": LostOfGroup(500, failed=5)}
    assert loss_difference(apart, 0.05, 0.95, rng).mean() == pytest.approx(0.17, abs=0.02)


def test_of_three_groups_the_largest_difference_in_lost_replies_counts(rng):
    groups = {"a": LostOfGroup(1000), "b": LostOfGroup(1000, 50), "c": LostOfGroup(1000, 300)}
    assert loss_difference(groups, 0.05, 0.95, rng).mean() == pytest.approx(0.3, abs=0.01)


def test_a_few_replies_lost_by_one_group_only_may_be_chance():
    assert may_be_chance({"a": LostOfGroup(35, failed=7), "b": LostOfGroup(34)})
    assert may_be_chance({"a": LostOfGroup(35, refused=7), "b": LostOfGroup(34)})
    assert may_be_chance({"a": LostOfGroup(35), "b": LostOfGroup(34)})
    assert may_be_chance({})


def test_a_difference_in_lost_replies_too_large_for_chance_is_not_called_chance():
    assert not may_be_chance({"a": LostOfGroup(400, refused=68), "b": LostOfGroup(400)})
    assert not may_be_chance({"a": LostOfGroup(500, failed=90), "b": LostOfGroup(500, failed=5)})
    assert not may_be_chance({"a": LostOfGroup(1000), "b": LostOfGroup(1000, 50), "c": LostOfGroup(1000, 300)})


@pytest.mark.parametrize("field", ["refused", "failed"])
def test_replies_lost_at_random_are_taken_for_a_refusal_of_one_group_in_under_half_a_percent_of_ratings(rng, field):
    clear = 0
    for _ in range(2000):
        lost = rng.binomial(35, 0.1, 2).tolist()
        clear += not may_be_chance({str(at): LostOfGroup(35, **{field: count}) for at, count in enumerate(lost)})
    assert clear / 2000 < 0.003


def test_a_difference_in_lost_replies_that_may_be_chance_does_not_declare_a_letter(rng):
    counts = {"a": Counter(usable=28, refused=7), "b": Counter(usable=34)}
    (effect,) = loss_effect(counts, 0.05, 0.95, rng)
    assert (effect.draws > 0.05).mean() > 0.95
    evidence = Evidence(np.zeros(4000), np.zeros(4000), hidden=(effect,))
    tolerance = Tolerance(0.1, 0.95)
    assert tolerance.reaches(evidence, Letter.BS)
    assert not tolerance.declares(evidence, Letter.BS)
