"""Tests of disparate impact: ratios, and interval coverage."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.document import NO_EFFECT, as_json
from assay.errors import TooFewObservations
from assay.methods.alternation.group_rates import disparate_impact


@pytest.fixture
def rng():
    return np.random.default_rng(67)


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


def test_a_group_without_positive_outputs_has_impact_ratio_zero_and_ratios_to_it_are_undefined(rng):
    there, back = disparate_impact(*records(a=(0, 30), b=(10, 30)), rng).ratios
    assert (there.ratio.estimate, there.ratio.low) == (0, 0)
    assert there.ratio.high > 0
    assert back.ratio == NO_EFFECT
    assert back.why == "none of 30 records of 'a' has the positive output"


def test_disparate_impact_names_a_group_without_records_and_compares_the_others(rng):
    found = disparate_impact(*records(a=(5, 30), b=(0, 0), c=(6, 30)), rng)
    whys = {(one.of, one.to): one.why for one in found.ratios}
    assert whys["a", "b"] == whys["b", "a"] == "no record is of 'b'"
    assert whys["a", "c"] is None


def test_disparate_impact_of_a_single_group_or_of_records_without_positives_is_refused(rng):
    with pytest.raises(TooFewObservations, match="two groups"):
        disparate_impact(*records(a=(5, 30), b=(0, 0)), rng)
    with pytest.raises(TooFewObservations, match="none of 60 records"):
        disparate_impact(*records(a=(0, 30), b=(0, 30)), rng)


def test_disparate_impact_can_be_written_as_json(rng):
    written = json.loads(json.dumps(as_json(disparate_impact(*records(a=(0, 30), b=(10, 30)), rng)), allow_nan=False))
    assert written["rates"][0] == {"value": "a", "records": 30, "positives": 0}
    assert written["ratios"][1]["ratio"] is None
