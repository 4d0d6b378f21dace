"""Tests of MAC, RND, ECT, RIPA and DirectBias: wefe's numbers on real vectors, worked examples, symmetries."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.errors import EvidenceError, OutOfBounds, TooFewObservations, ZeroVariance
from assay.statistics.embeddings.embedding_bias import (
    direct_bias,
    embedding_coherence,
    mean_average_cosine,
    relational_inner_product,
    relative_norm_distance,
)
from assay.statistics.embeddings.vector_sets import unit_vectors
from assay.statistics.embeddings.weat import cosines

SHARED = Path(__file__).resolve().parents[6] / "shared"
KNOWN = SHARED / "known_answers"
EMBEDDING = SHARED / "data" / "embeddings" / "gnews_wefe_13013x300.npz"
needs_known_answers = pytest.mark.skipif(
    not KNOWN.exists(), reason="the shared known answers are not beside the project"
)
needs_embedding = pytest.mark.skipif(
    not (KNOWN.exists() and EMBEDDING.exists()), reason="the shared embedding is not beside the project"
)


def as_given(vectors):
    return np.asarray(vectors, dtype=float)


MEASURES = {
    "RND_norm_": (as_given, relative_norm_distance),
    "RND_norm_normalize_": (unit_vectors, relative_norm_distance),
    "ECT_": (as_given, embedding_coherence),
    "ECT_normalize_": (unit_vectors, embedding_coherence),
    "RIPA_": (as_given, relational_inner_product),
    "RIPA_normalize_": (unit_vectors, relational_inner_product),
}


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.fixture(scope="module")
def vector_of():
    with np.load(EMBEDDING) as held:
        words, vectors = json.loads(str(held["words"])), held["vectors"]
    return dict(zip(words, vectors, strict=True))


@pytest.fixture(scope="module")
def known():
    return json.loads((KNOWN / "weat_embedding.json").read_text())


def lists_of(known, name):
    """Return the words of both targets, and the lists of attribute words by the suffix of their keys."""
    inputs = known["queries"][name]["inputs"]
    if name == "Manzini_gender":
        attributes = {f"G0_G1_{key}": words for key, words in inputs["attributes"].items()}
        return inputs["definite_columns"], attributes
    sets = known["word_sets"]
    return [sets[inputs["T1"]], sets[inputs["T2"]]], {key: sets[inputs[key]] for key in ("A1", "A2")}


def mac_of(targets, sets, vector_of):
    """Return MAC of word lists, computed from rows of distances, as a method does."""
    rows = []
    for target in targets:
        for name, words in sets.items():
            near = cosines([vector_of[target]], [vector_of[word] for word in words])[0]
            rows += [(1 - one, target, name) for one in near]
    distance, protected, named = zip(*rows, strict=True)
    return mean_average_cosine(distance, protected, named)


# ---------------------------------------------------------------------------- wefe, on real vectors
@needs_embedding
@pytest.mark.parametrize("name", ["WEAT1", "WEAT3", "WEAT7", "Manzini_gender"])
def test_every_embedding_bias_measure_equals_its_value_in_the_library_wefe(name, vector_of, known):
    targets, attributes = lists_of(known, name)
    compared = set()
    for ending, words in attributes.items():
        for key, (scale, measure) in MEASURES.items():
            if (expected := known["queries"][name]["wefe"].get(key + ending)) is not None:
                lists = (scale([vector_of[word] for word in one]) for one in (*targets, words))
                assert measure(*lists).value == pytest.approx(expected, abs=1e-5), key + ending
                compared.add(key + ending)
    every = {key for key in known["queries"][name]["wefe"] if key.startswith(("RND_norm", "ECT", "RIPA"))}
    assert compared == every
    assert compared


@needs_embedding
@pytest.mark.parametrize("name", ["WEAT1", "WEAT3", "WEAT7"])
def test_the_mean_average_cosine_of_word_lists_equals_that_of_the_library_wefe(name, vector_of, known):
    targets, attributes = lists_of(known, name)
    found = mac_of(targets[0] + targets[1], attributes, vector_of)
    assert found.value == pytest.approx(known["queries"][name]["wefe"]["MAC"], abs=1e-5)


@needs_embedding
def test_the_mean_average_cosine_of_pairs_of_women_and_men_equals_that_of_wefe_for_each_set(vector_of, known):
    query = known["queries"]["Manzini_gender"]
    targets = [word for pair in query["inputs"]["eval_targets"] for word in pair]
    found = mac_of(targets, query["inputs"]["attributes"], vector_of)
    assert found.value == pytest.approx(query["wefe"]["MAC_eval_targets"], abs=1e-5)
    assert found.value == pytest.approx(query["wefe"]["MAC_group_columns"], abs=1e-5)
    for scores in query["wefe"]["MAC_targets_eval"].values():
        for word, by_set in scores.items():
            assert found.by_word[word] == pytest.approx(np.mean(list(by_set.values())), abs=1e-5)


# ---------------------------------------------------------------------------- MAC
@needs_known_answers
def test_the_mean_average_cosine_averages_within_sets_before_it_averages_sets():
    known = json.loads((KNOWN / "weat_mac.json").read_text())["mac"]
    rows = [
        (distance, word, name)
        for word, sets in known["distances"].items()
        for name, distances in sets.items()
        for distance in distances
    ]
    distance, protected, sets = zip(*rows, strict=True)
    found = mean_average_cosine(distance, protected, sets)
    assert found.value == pytest.approx(known["value"], rel=1e-12)
    assert (found.words, found.sets) == (2, 4)
    assert found.value != pytest.approx(np.mean(distance), abs=1e-3)


def test_the_mean_average_cosine_without_sets_gives_every_protected_word_the_same_weight():
    found = mean_average_cosine([0.2, 0.4, 1.0], ["she", "she", "he"])
    assert found.value == pytest.approx((0.3 + 1.0) / 2)
    assert found.by_word == {"he": 1.0, "she": pytest.approx(0.3)}
    assert found.sets == 2


def test_the_mean_average_cosine_averages_over_the_sets_in_which_each_word_has_distances():
    found = mean_average_cosine([0.2, 0.4, 0.9], ["a", "a", "b"], ["x", "y", "y"])
    assert found.value == pytest.approx((0.2 + 0.4 + 0.9) / 3)
    assert found.sets == 3


def test_the_mean_average_cosine_of_an_empty_list_of_distances_is_refused():
    with pytest.raises(TooFewObservations):
        mean_average_cosine([], [])


def test_the_mean_average_cosine_of_distances_without_a_word_is_refused():
    with pytest.raises(OutOfBounds, match="3 and 2"):
        mean_average_cosine([0.1, 0.2, 0.3], ["a", "b"])


def test_the_mean_average_cosine_of_a_distance_that_is_not_finite_is_refused():
    with pytest.raises(EvidenceError, match="1 of 2"):
        mean_average_cosine([0.1, math.nan], ["a", "b"])


# ---------------------------------------------------------------------------- DirectBias
def pairs_along(axis, rng, count=8, noise=0.01):
    """Return pairs of vectors whose differences lie along one of ten axes, up to noise."""
    common = rng.normal(size=(count, 10))
    common[:, axis] = 0
    offset = np.eye(10)[axis] * rng.uniform(0.5, 1.5, (count, 1))
    return common + offset + noise * rng.normal(size=(count, 10)), common - offset


def test_direct_bias_recovers_the_known_cosines_of_words(rng):
    first, second = pairs_along(2, rng)
    angles = np.array([0.0, 0.5, 1.0, 1.5])
    words = np.outer(np.cos(angles), np.eye(10)[2]) + np.outer(np.sin(angles), np.eye(10)[3])
    found = direct_bias(words, first, second)
    assert found.by_word == pytest.approx(np.cos(angles), abs=0.02)
    assert found.value == pytest.approx(np.cos(angles).mean(), abs=0.02)
    assert found.explained > 0.99


def test_direct_bias_uses_the_principal_component_of_pairs_centred_at_their_means(rng):
    """Bolukbasi et al. subtract each pair's mean; the component is the eigenvector of that covariance."""
    first, second = unit_vectors(rng.normal(size=(6, 4)) + 1), unit_vectors(rng.normal(size=(6, 4)))
    middle = (first + second) / 2
    centred = np.concatenate([first - middle, second - middle])
    strength, vectors = np.linalg.eigh(centred.T @ centred)
    words = rng.normal(size=(5, 4))
    found = direct_bias(words, first, second)
    assert np.abs(found.by_word) == pytest.approx(np.abs(cosines(words, vectors[:, -1:].T)[:, 0]))
    assert found.explained == pytest.approx(strength[-1] / strength.sum())


def test_swapping_the_words_of_each_pair_negates_the_cosines_of_words_and_keeps_direct_bias(rng):
    first, second = pairs_along(1, rng)
    words = rng.normal(size=(6, 10))
    straight, swapped = direct_bias(words, first, second), direct_bias(words, second, first)
    assert swapped.value == pytest.approx(straight.value)
    assert swapped.by_word == pytest.approx([-one for one in straight.by_word])


def test_words_orthogonal_to_the_direction_have_no_direct_bias():
    first, second = np.array([[1.0, 0, 1]]), np.array([[-1.0, 0, 1]])
    found = direct_bias([[0, 1, 0], [0, 0, 3]], first, second)
    assert found.value == pytest.approx(0, abs=1e-15)
    assert found.explained == 1


def test_direct_bias_of_a_pair_of_parallel_vectors_is_refused():
    with pytest.raises(ZeroVariance, match="no direction between them"):
        direct_bias(np.eye(3), [[1, 2, 3]], [[2, 4, 6]])


def test_direct_bias_of_pairs_with_two_equally_strong_directions_is_refused():
    first, second = np.eye(4)[:2], np.eye(4)[2:]
    with pytest.raises(EvidenceError, match="two directions"):
        direct_bias(np.eye(4), first, second)


# ---------------------------------------------------------------------------- RIPA
def test_ripa_is_the_mean_projection_on_the_difference_of_each_pair():
    found = relational_inner_product([[2, 0], [0, 5]], [[0, 0], [0, 1]], [[3, 4], [1, 1]])
    assert found.by_word == pytest.approx([3.5, 1.0])
    assert found.value == pytest.approx(2.25)


def test_swapping_the_pairs_changes_the_sign_of_ripa(rng):
    first, second, words = rng.normal(size=(3, 4, 6))
    straight, swapped = (relational_inner_product(*pairs, words).value for pairs in ((first, second), (second, first)))
    assert swapped == pytest.approx(-straight)


def test_ripa_of_a_pair_of_equal_vectors_is_refused():
    with pytest.raises(EvidenceError, match="1 of the 2 vectors of the differences"):
        relational_inner_product([[1, 0], [0, 1]], [[1, 0], [1, 0]], [[1, 1]])


@pytest.mark.parametrize("measure", [relational_inner_product, lambda a, b, words: direct_bias(words, a, b)])
def test_ripa_and_direct_bias_of_groups_with_different_numbers_of_words_are_refused(measure):
    with pytest.raises(OutOfBounds, match="not 2 and 1"):
        measure(np.eye(2), np.eye(2)[:1], np.eye(2))


# ---------------------------------------------------------------------------- RND and ECT
def test_relative_norm_distance_is_positive_if_words_are_nearer_to_the_second_group():
    first, second = [[0, 0], [0, 2]], [[10, 1]]
    assert relative_norm_distance(first, second, [[9, 1]]).by_word == pytest.approx([8])


def test_swapping_the_groups_changes_the_sign_of_relative_norm_distance(rng):
    first, second, words = rng.normal(size=(3, 5, 6))
    swapped = relative_norm_distance(second, first, words)
    assert swapped.value == pytest.approx(-relative_norm_distance(first, second, words).value)


def test_equal_groups_have_relative_norm_distance_zero_and_embedding_coherence_one(rng):
    group, words = rng.normal(size=(2, 5, 6))
    assert relative_norm_distance(group, group, words).value == 0
    assert embedding_coherence(group, group, words).value == pytest.approx(1)


def test_embedding_coherence_equals_the_rank_correlation_of_scipy_with_ties(rng):
    first, second = rng.normal(size=(2, 5, 6))
    words = rng.normal(size=(7, 6))[[0, 1, 2, 3, 3, 4, 5, 5, 5, 6]]
    near = cosines(words, [first.mean(axis=0), second.mean(axis=0)])
    expected = stats.spearmanr(near[:, 0], near[:, 1]).statistic
    assert embedding_coherence(first, second, words).value == pytest.approx(expected, rel=1e-12)


def test_opposite_groups_have_embedding_coherence_minus_one(rng):
    group, words = rng.normal(size=(2, 5, 6))
    assert embedding_coherence(group, -group, words).value == pytest.approx(-1)


def test_embedding_coherence_of_only_two_words_is_refused(rng):
    with pytest.raises(TooFewObservations, match="at least 3"):
        embedding_coherence(rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=(2, 3)))


def test_embedding_coherence_of_equally_near_words_is_refused():
    with pytest.raises(ZeroVariance):
        embedding_coherence([[1, 0]], [[0, 1]], [[1, 1]] * 4)


def test_embedding_coherence_of_a_group_with_mean_zero_is_refused(rng):
    with pytest.raises(EvidenceError, match="all zero"):
        embedding_coherence([[1, 0], [-1, 0]], [[0, 1]], rng.normal(size=(4, 2)))
