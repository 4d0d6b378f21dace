"""Tests of WEAT: known answers, a slow second implementation, and symmetries."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from assay.errors import EvidenceError, OutOfBounds, SpecificationError, TooFewObservations, ZeroVariance
from assay.statistics.embeddings.vector_sets import unit_vectors
from assay.statistics.embeddings.weat import associations, cosines, weat, weat_of_associations

SHARED = Path(__file__).resolve().parents[6] / "shared"
KNOWN = SHARED / "known_answers"
EMBEDDING = SHARED / "data" / "embeddings" / "gnews_wefe_13013x300.npz"
needs_known_answers = pytest.mark.skipif(
    not KNOWN.exists(), reason="the shared known answers are not beside the project"
)
needs_embedding = pytest.mark.skipif(
    not (KNOWN.exists() and EMBEDDING.exists()), reason="the shared embedding is not beside the project"
)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def sets(rng):
    """Return two sets of targets and two sets of attributes, as 12-dimensional vectors."""
    return tuple(rng.normal(size=(words, 12)) for words in (5, 5, 4, 6))


@pytest.fixture(scope="module")
def vector_of():
    with np.load(EMBEDDING) as held:
        words, vectors = json.loads(str(held["words"])), held["vectors"]
    return dict(zip(words, vectors, strict=True))


@pytest.fixture(scope="module")
def queries():
    return json.loads((KNOWN / "weat_embedding.json").read_text())


def embedded(queries, name, vector_of):
    inputs = queries["queries"][name]["inputs"]
    return [[vector_of[word] for word in queries["word_sets"][inputs[key]]] for key in ("T1", "T2", "A1", "A2")]


def textbook(first, second, own, other):
    """Return WEAT's statistic and effect size, computed word by word (Caliskan et al. 2017)."""

    def cosine(a, b):
        return float(np.dot(a, b) / math.sqrt(np.dot(a, a) * np.dot(b, b)))

    def s(word):
        return sum(cosine(word, a) for a in own) / len(own) - sum(cosine(word, b) for b in other) / len(other)

    x, y = [s(word) for word in first], [s(word) for word in second]
    return sum(x) - sum(y), (np.mean(x) - np.mean(y)) / np.std([*x, *y]), x, y


# ---------------------------------------------------------------------------- known answers
@needs_known_answers
def test_a_table_of_cosines_has_its_known_p_value_and_effect_size():
    known = json.loads((KNOWN / "weat_mac.json").read_text())["exact_permutation"]
    table = np.array(known["cos"])
    s = table[:, :8].mean(axis=1) - table[:, 8:].mean(axis=1)
    found = weat_of_associations(s[:8], s[8:])
    assert found.p.partitions == known["partitions"]
    assert found.p.p_one_sided == known["p_one_sided_ge"]
    assert found.p.p_two_sided == known["p_two_sided"]
    assert found.statistic == pytest.approx(known["statistic"], rel=1e-12)
    assert found.effect_size_ddof0 == pytest.approx(known["weat_ddof0"], rel=1e-12)
    assert found.effect_size_ddof1 == pytest.approx(known["weat_ddof1"], rel=1e-12)


@needs_embedding
@pytest.mark.parametrize("scaled", [False, True], ids=["raw", "normalised"])
@pytest.mark.parametrize("name", ["WEAT1", "WEAT3", "WEAT7"])
def test_the_weat_effect_of_word_vectors_equals_its_value_in_the_library_wefe(name, scaled, vector_of, queries, rng):
    vectors = embedded(queries, name, vector_of)
    if scaled:
        vectors = [unit_vectors(one) for one in vectors]
    found = weat(*vectors, rng=rng)
    expected = queries["queries"][name]["wefe"]["WEAT_normalize" if scaled else "WEAT"]
    assert found.statistic == pytest.approx(expected["weat"], abs=1e-5)
    assert found.effect_size_ddof0 == pytest.approx(expected["effect_size"], abs=1e-5)


@needs_embedding
@pytest.mark.parametrize("name", ["WEAT1", "WEAT3", "WEAT7"])
def test_word_vectors_have_the_associations_and_p_values_of_a_second_implementation(name, vector_of, queries, rng):
    first, second, own, other = embedded(queries, name, vector_of)
    known = queries["queries"][name]["independent"]
    assert associations(first, own, other) == pytest.approx(np.array(known["s_T1"]), abs=1e-6)
    assert associations(second, own, other) == pytest.approx(np.array(known["s_T2"]), abs=1e-6)
    found = weat(first, second, own, other, rng=rng)
    assert found.statistic == pytest.approx(known["weat"], abs=1e-6)
    assert found.effect_size_ddof0 == pytest.approx(known["effect_size_ddof0"], abs=1e-6)
    assert found.effect_size_ddof1 == pytest.approx(known["effect_size_ddof1"], abs=1e-6)
    if (exact := known["exact_p"]) is not None:
        counted = (found.p.partitions, found.p.p_strict, found.p.p_one_sided)
        assert counted == (exact["partitions"], exact["p_greater_strict"], exact["p_greater_equal"])
    drawn = known["mc_permutation_p"]
    within = 4 * max(found.p.p_two_sided_error, 0.0002)
    assert found.p.p_one_sided == pytest.approx(drawn["p_right"], abs=within)
    assert found.p.p_two_sided == pytest.approx(drawn["p_two"], abs=within)


@needs_embedding
def test_the_weat_effect_of_stereotypes_of_women_and_men_equals_its_value_in_the_library_wefe(vector_of, queries):
    known = queries["queries"]["Manzini_gender"]
    columns, attributes = known["inputs"]["definite_columns"], known["inputs"]["attributes"]
    lists = (*columns, attributes["man"], attributes["woman"])
    found, expected = weat(*([vector_of[word] for word in one] for one in lists)), known["wefe"]["WEAT_G0_G1_man_woman"]
    assert found.statistic == pytest.approx(expected["weat"], abs=1e-5)
    assert found.effect_size_ddof0 == pytest.approx(expected["effect_size"], abs=1e-5)
    counted = (found.p.partitions, found.p.p_strict, found.p.p_one_sided)
    exact = expected["exact_p"]
    assert counted == (exact["partitions"], exact["p_greater_strict"], exact["p_greater_equal"])


# ---------------------------------------------------------------------------- a second implementation
def test_weat_equals_the_textbook_formula(sets):
    statistic, effect, x, y = textbook(*sets)
    found = weat(*sets)
    assert found.statistic == pytest.approx(statistic, rel=1e-12)
    assert found.effect_size_ddof0 == pytest.approx(effect, rel=1e-12)
    assert found.words == (5, 5)
    sums = [2 * sum(chosen) - sum(x + y) for chosen in itertools.combinations(x + y, len(x))]
    assert found.p.p_one_sided == np.mean(np.array(sums) >= statistic - 1e-12)
    assert found.p.p_two_sided == np.mean(np.abs(sums) >= abs(statistic) - 1e-12)


# ---------------------------------------------------------------------------- symmetries
def test_swapping_the_two_lists_of_target_words_changes_the_sign_of_weat(sets):
    first, second, own, other = sets
    assert_mirrored(weat(first, second, own, other), weat(second, first, own, other))


def test_swapping_the_two_lists_of_attribute_words_changes_the_sign_of_weat(sets):
    first, second, own, other = sets
    assert_mirrored(weat(first, second, own, other), weat(first, second, other, own))


def test_swapping_both_the_target_lists_and_the_attribute_lists_does_not_change_weat(sets):
    first, second, own, other = sets
    assert_same(weat(second, first, other, own), weat(*sets))


def assert_same(one, other):
    assert other.p == one.p
    assert other.statistic == pytest.approx(one.statistic)
    assert other.effect_size_ddof0 == pytest.approx(one.effect_size_ddof0)
    assert other.effect_size_ddof1 == pytest.approx(one.effect_size_ddof1)


def assert_mirrored(one, other):
    assert other.statistic == pytest.approx(-one.statistic)
    assert other.effect_size_ddof0 == pytest.approx(-one.effect_size_ddof0)
    assert other.effect_size_ddof1 == pytest.approx(-one.effect_size_ddof1)
    assert other.p.p_two_sided == one.p.p_two_sided
    assert other.p.p_one_sided == pytest.approx(1 - one.p.p_strict)


def test_weat_does_not_depend_on_the_order_length_or_rotation_of_the_vectors(sets, rng):
    rotation = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    changed = [(one @ rotation * rng.uniform(0.1, 9, (len(one), 1)))[rng.permutation(len(one))] for one in sets]
    assert_same(weat(*changed), weat(*sets))


def test_target_words_that_equal_their_attribute_words_have_nearly_the_largest_possible_weat_effect(rng):
    poles = np.eye(12)[:2]
    first, second = (pole + 0.01 * rng.normal(size=(8, 12)) for pole in poles)
    found = weat(first, second, first, second)
    assert 1.99 < found.effect_size_ddof0 <= 2
    assert found.p.p_two_sided == 2 / math.comb(16, 8)


# ---------------------------------------------------------------------------- limits and refused input
def test_a_computed_cosine_is_never_outside_minus_one_to_one(rng):
    vectors = rng.normal(size=(50, 3))
    assert np.abs(cosines(vectors, -7 * vectors)).max() <= 1
    assert np.diag(cosines(vectors, -7 * vectors)) == pytest.approx(-1)


def test_equal_lists_of_attribute_words_are_refused(sets):
    first, second, own, _ = sets
    with pytest.raises(ZeroVariance, match="all 10 target words have the same association, 0"):
        weat(first, second, own, own)


def test_weat_of_one_word_in_each_list_is_refused():
    with pytest.raises(TooFewObservations, match="at least 2"):
        weat_of_associations([0.1], [0.2])


def test_weat_with_a_zero_vector_is_refused(sets):
    first, second, own, other = sets
    own[2] = 0
    with pytest.raises(EvidenceError, match="all zero"):
        weat(first, second, own, other)


def test_weat_of_vectors_with_different_numbers_of_dimensions_is_refused(sets):
    first, second, own, _ = sets
    with pytest.raises(OutOfBounds, match="vectors of 11 numbers where others have 12"):
        weat(first, second, own, np.ones((4, 11)))


def test_weat_of_50_target_words_without_a_random_generator_is_refused(rng):
    with pytest.raises(SpecificationError, match="random generator"):
        weat_of_associations(rng.normal(size=25), rng.normal(size=25))


def test_a_monte_carlo_p_value_states_its_method_and_error(rng):
    p = weat_of_associations(rng.normal(size=25), rng.normal(size=25), rng=rng).p
    assert p.p_method == "monte-carlo"
    assert p.p_strict is None
    assert 0 < p.p_one_sided_error < 0.002
