"""Tests of the exact null distribution of WEAT's effect size, against simulation and the paper."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from assay.errors import OutOfBounds
from assay.statistics.embeddings.weat import null_check

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "weat_mac.json"


def simulated(words, attributes, lists, rng):
    """Return simulated associations of two sets of words without bias, shape (lists, 2 * words)."""
    cosines = rng.normal(0, 0.08, (lists, 2 * words, 2 * attributes))
    return cosines[:, :, :attributes].mean(axis=2) - cosines[:, :, attributes:].mean(axis=2)


@pytest.mark.skipif(not KNOWN.exists(), reason="the shared known answers are not beside the project")
def test_probabilities_of_weat_effects_by_chance_equal_the_known_values():
    known = json.loads(KNOWN.read_text())["null"]
    found = null_check(1.27, 8)
    assert found.p_ddof0 == pytest.approx(known["P_abs_WEAT_ge_1_27"]["exact_ddof0"], rel=1e-12)
    assert found.p_ddof1 == pytest.approx(known["P_abs_WEAT_ge_1_27"]["exact_ddof1"], rel=1e-12)
    assert found.p_first_words == pytest.approx(known["P_buggy_statistic"], abs=0.002)
    assert found.published == known["paper_claim"]


@pytest.mark.parametrize(("words", "effect"), [(8, 0.7), (3, 1.1), (2, 1.5)])
def test_simulated_chance_effects_of_weat_agree_with_their_exact_probability(words, effect):
    s = simulated(words, 4, 20_000, np.random.default_rng(words))
    gap = s[:, :words].mean(axis=1) - s[:, words:].mean(axis=1)
    found = null_check(effect, words)
    for ddof, expected in ((0, found.p_ddof0), (1, found.p_ddof1)):
        reached = np.mean(np.abs(gap / s.std(axis=1, ddof=ddof)) >= effect)
        assert reached == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / len(s)))


def test_simulating_weat_with_only_the_first_word_of_each_list_reproduces_the_printed_probability():
    s = simulated(8, 8, 20_000, np.random.default_rng(38))
    reached = np.mean(np.abs((s[:, 0] - s[:, 8]) / s.std(axis=1, ddof=1)) >= 1.27)
    assert reached == pytest.approx(null_check(1.27, 8).p_first_words, abs=0.014)
    assert reached == pytest.approx(0.38, abs=0.02)


def test_a_weat_effect_of_zero_has_chance_probability_one_and_the_largest_effect_has_zero():
    assert null_check(0.0, 8).p_ddof0 == 1
    assert null_check(2.0, 8).p_ddof0 == 0
    assert null_check(1.99, 8).p_ddof1 == 0  # dividing by n - 1 limits the effect size to 1.936


def test_the_sign_of_a_weat_effect_does_not_change_its_chance_probability():
    assert null_check(-1.27, 8).p_ddof1 == null_check(1.27, 8).p_ddof1


def test_longer_word_lists_make_large_weat_effects_by_chance_rarer():
    ps = [null_check(1.0, words).p_ddof0 for words in (2, 4, 8, 16, 32)]
    assert ps == sorted(ps, reverse=True)
    assert ps[0] > 0.25 > 0.01 > ps[-1]


@pytest.mark.parametrize("effect", [2.01, -3, math.nan, math.inf])
def test_an_impossible_effect_size_is_refused(effect):
    with pytest.raises(OutOfBounds, match="between -2 and 2"):
        null_check(effect, 8)


def test_the_null_check_of_weat_refuses_lists_of_one_word():
    with pytest.raises(OutOfBounds, match="at least 2, not 1"):
        null_check(1.0, 1)


def test_the_null_check_of_weat_states_the_published_probability_and_why_ours_differs():
    written = asdict(null_check(effect=1.27, words=8))
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert written["published"] == 0.38
    assert "first argument only" in written["reason"]
