"""Tests of the difference between groups in lost replies."""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.hidden.losses import LostOfGroup, loss_difference


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_groups_without_lost_replies_have_no_difference(rng):
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


def test_the_largest_difference_of_three_groups_is_drawn(rng):
    groups = {"a": LostOfGroup(1000), "b": LostOfGroup(1000, 50), "c": LostOfGroup(1000, 300)}
    assert loss_difference(groups, 0.05, 0.95, rng).mean() == pytest.approx(0.3, abs=0.01)
