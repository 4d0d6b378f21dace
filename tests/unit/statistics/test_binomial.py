"""Exact statements on one share: known answers, a second implementation, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

from assay.errors import OutOfBounds, TooFewObservations
from assay.statistics.binomial import clopper_pearson, sign_test
from assay.statistics.proportions import wilson

KNOWN = Path(__file__).resolve().parents[4] / "shared" / "known_answers" / "stereotype.json"


@pytest.mark.skipif(not KNOWN.exists(), reason="the shared known answers are not beside the project")
def test_the_share_of_stereotyped_pairs_is_the_known_one():
    known = json.loads(KNOWN.read_text())["score"]
    won, pairs = known["stereo_preferred"], known["pairs"]
    score, exact = wilson(won, pairs), clopper_pearson(won, pairs)
    assert 100 * score.estimate == pytest.approx(known["percent"])
    assert [score.low, score.high] == pytest.approx(known["wilson95"], abs=1e-12)
    assert [exact.low, exact.high] == pytest.approx(known["clopper_pearson95"], abs=1e-12)
    assert sign_test(won, pairs - won) == pytest.approx(known["binom_p_vs_half"], abs=1e-12)


@pytest.mark.parametrize(("won", "trials"), [(0, 1), (1, 1), (0, 10), (10, 10), (5, 10), (3, 17), (900, 1000)])
def test_limits_and_probabilities_are_those_of_scipy(won, trials):
    reference = binomtest(won, trials)
    limits = reference.proportion_ci(0.9, method="exact")
    found = clopper_pearson(won, trials, level=0.9)
    assert [found.low, found.high] == pytest.approx([limits.low, limits.high], abs=1e-10)
    assert sign_test(won, trials - won) == pytest.approx(reference.pvalue, abs=1e-12)


def test_an_even_split_is_no_evidence():
    assert sign_test(7, 7) == 1.0


def test_both_sides_are_alike():
    assert sign_test(3, 11) == sign_test(11, 3)


def test_no_trials_have_no_share():
    with pytest.raises(TooFewObservations):
        clopper_pearson(0, 0)
    with pytest.raises(TooFewObservations):
        sign_test(0, 0)


@pytest.mark.parametrize(("won", "trials", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
def test_counts_and_levels_that_cannot_be_are_refused(won, trials, level):
    with pytest.raises(OutOfBounds):
        clopper_pearson(won, trials, level)


@pytest.mark.parametrize(("won", "lost"), [(-1, 5), (5, -1)])
def test_negative_counts_are_refused(won, lost):
    with pytest.raises(OutOfBounds):
        sign_test(won, lost)
