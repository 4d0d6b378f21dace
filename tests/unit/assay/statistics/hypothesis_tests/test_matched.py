"""Tests of paired labels and of disparate impact: agreement with brute force, and interval coverage."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.errors import OutOfBounds, TooFewObservations
from assay.statistics.hypothesis_tests.divergence import kl_divergence
from assay.statistics.hypothesis_tests.matched import bowker, disparate_impact, jensen_shannon

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "kl.json"


@pytest.fixture(scope="module")
def known():
    if not KNOWN.exists():
        pytest.skip("the shared known answers are not beside this project")
    return json.loads(KNOWN.read_text())["categorical"]


@pytest.fixture
def rng():
    return np.random.default_rng(67)


def labels_of(table, names="abcdef"):
    """Return paired labels that have the given table of counts."""
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [names[i] for i, _ in cells], [names[j] for _, j in cells]


# ---------------------------------------------------------------------------- symmetry of a table
def test_bowkers_test_of_two_labels_equals_the_binomial_test():
    found = bowker(*labels_of([[30, 9], [2, 20]]))
    assert found.p == pytest.approx(stats.binomtest(2, 11).pvalue, rel=1e-12)
    assert (found.df, found.distribution) == (1, "exact")
    assert found.statistic == 49 / 11  # McNemar's statistic


def test_bowkers_test_of_three_labels_equals_brute_force():
    table = [[5, 6, 1], [2, 7, 0], [3, 4, 9]]
    totals = [(6, 2), (1, 3), (0, 4)]
    observed = sum((a - b) ** 2 / (a + b) for a, b in totals)
    p = 0.0
    for ways in itertools.product(*(range(a + b + 1) for a, b in totals)):
        if sum((2 * k - a - b) ** 2 / (a + b) for k, (a, b) in zip(ways, totals, strict=True)) >= observed - 1e-12:
            p += math.prod(math.comb(a + b, k) / 2 ** (a + b) for k, (a, b) in zip(ways, totals, strict=True))
    found = bowker(*labels_of(table))
    assert found.statistic == pytest.approx(observed)
    assert found.p == pytest.approx(p, rel=1e-9)


def test_bowkers_test_of_many_changed_labels_uses_chi_squared_with_little_error(rng):
    table = [[0, 330, 290, 301], [300, 0, 310, 280], [305, 320, 0, 300], [310, 290, 302, 0]]
    found = bowker(*labels_of(table))
    assert (found.distribution, found.df) == ("chi-squared", 6)
    pairs = [(table[i][j], table[j][i]) for i, j in itertools.combinations(range(4), 2)]
    drawn = sum((2 * rng.binomial(a + b, 0.5, 40_000) - a - b) ** 2 / (a + b) for a, b in pairs)
    assert found.p == pytest.approx(np.mean(drawn >= found.statistic - 1e-9), abs=0.01)


def test_swapping_the_paired_labels_does_not_change_bowkers_test():
    a, b = labels_of([[3, 8, 1], [2, 4, 6], [0, 1, 5]])
    assert bowker(a, b) == bowker(b, a)


def test_labels_that_never_change_have_p_one():
    assert bowker(["x", "y", "z"], ["x", "y", "z"]).p == 1


def test_equal_changes_both_ways_have_p_one():
    assert bowker(*labels_of([[0, 7], [7, 0]])).p == 1


def test_labels_without_pairs_are_refused():
    with pytest.raises(TooFewObservations):
        bowker([], [])
    with pytest.raises(OutOfBounds, match="one length"):
        bowker(["a"], ["a", "b"])


# ---------------------------------------------------------------------------- divergences of labels
def test_divergences_of_counts_have_their_known_values(known):
    p, q = known["p"], known["q"]
    assert known["kl_raw"] == "inf"
    assert kl_divergence(p, q).value is None
    sides = [np.repeat(["he", "she", "other"], counts) for counts in (p, q)]
    assert jensen_shannon(*sides) == pytest.approx(known["jensen_shannon_nats"], rel=1e-12)


def test_disjoint_labels_have_the_largest_divergence():
    assert jensen_shannon(["a", "b"], ["c", "d"]) == pytest.approx(math.log(2))


def test_divergences_refuse_empty_samples():
    with pytest.raises(TooFewObservations):
        jensen_shannon(["a"], [])


# ---------------------------------------------------------------------------- base rates
def records(**groups):
    """Return outputs and group numbers from (positives, records) of each group."""
    positive, places = [], []
    for place, (yes, of) in enumerate(groups.values()):
        positive += [True] * yes + [False] * (of - yes)
        places += [place] * of
    return positive, places, tuple(groups)


def test_every_ordered_pair_of_groups_has_a_disparate_impact_ratio(rng):
    found = disparate_impact(*records(women=(10, 40), men=(30, 60), others=(8, 10)), rng)
    ratios = {(one.of, one.to): one.ratio.estimate for one in found.ratios}
    assert len(ratios) == 6
    assert ratios["women", "men"] == pytest.approx(0.5)
    assert ratios["men", "women"] == pytest.approx(2.0)
    assert ratios["others", "women"] == pytest.approx(3.2)
    assert all(one.ratio.low < one.ratio.estimate < one.ratio.high for one in found.ratios)


@pytest.mark.slow
def test_the_interval_of_a_disparate_impact_ratio_has_about_its_nominal_coverage(rng):
    held = 0
    for _ in range(600):
        drawn = records(a=(rng.binomial(80, 0.3), 80), b=(rng.binomial(60, 0.5), 60))
        ratio = disparate_impact(*drawn, rng).ratios[0].ratio
        held += ratio.low <= 0.6 <= ratio.high
    assert 0.925 <= held / 600 <= 0.975


def test_a_group_without_positives_has_ratio_zero_and_ratios_to_it_are_undefined(rng):
    there, back = disparate_impact(*records(a=(0, 30), b=(10, 30)), rng).ratios
    assert (there.ratio.estimate, there.ratio.low) == (0, 0)
    assert there.ratio.high > 0
    assert back.ratio is None
    assert back.why == "none of 30 records of 'a' has the positive output"


def test_an_absent_group_is_named_and_the_others_are_compared(rng):
    found = disparate_impact(*records(a=(5, 30), b=(0, 0), c=(6, 30)), rng)
    whys = {(one.of, one.to): one.why for one in found.ratios}
    assert whys["a", "b"] == whys["b", "a"] == "no record is of 'b'"
    assert whys["a", "c"] is None


def test_one_group_or_no_positives_is_refused(rng):
    with pytest.raises(TooFewObservations, match="two groups"):
        disparate_impact(*records(a=(5, 30), b=(0, 0)), rng)
    with pytest.raises(TooFewObservations, match="none of 60 records"):
        disparate_impact(*records(a=(0, 30), b=(0, 30)), rng)
    with pytest.raises(OutOfBounds, match="places among 1"):
        disparate_impact([True, False], [0, 1], ("a",), rng)


def test_disparate_impact_can_be_written_as_json(rng):
    written = json.loads(json.dumps(asdict(disparate_impact(*records(a=(0, 30), b=(10, 30)), rng)), allow_nan=False))
    assert written["rates"][0] == {"value": "a", "records": 30, "positives": 0}
    assert written["ratios"][1]["ratio"] is None
