"""Tests of two-alternative forced choice with vectors: the closed form, and summaries of replicates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.errors import NoTransition, OutOfBounds, TooFewObservations, ZeroVariance
from assay.statistics.embeddings.two_afc import indifference_points, summarise

SHARED = Path(__file__).resolve().parents[6] / "shared"
KNOWN = SHARED / "known_answers" / "two_afc.json"
ON_VECTORS = SHARED / "known_answers" / "two_afc_embedding.json"
VECTORS = SHARED / "data" / "embeddings" / "gnews_wefe_13013x300.npz"

needs_known_answers = pytest.mark.skipif(
    not KNOWN.exists(), reason="the shared known answers are not beside the project"
)
needs_vectors = pytest.mark.skipif(
    not (ON_VECTORS.exists() and VECTORS.exists()), reason="the shared word vectors are not beside the project"
)
LEVELS = np.linspace(0, 1, 11)


def cosine(one, other):
    return one @ other / (np.linalg.norm(one) * np.linalg.norm(other))


def bisect(first, second, concept, weight=1.0, steps=60, low=-20.0, high=20.0):
    """Return the PSE by bisection: show a mixture, find the nearer cue, halve the range."""
    for _ in range(steps):
        level = (low + high) / 2
        shown = (1 - level) * first + level * second + weight * concept
        if cosine(shown, second) > cosine(shown, first):
            high = level
        else:
            low = level
    return (low + high) / 2


def drawn(seed, pairs=3, words=4, dims=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(pairs, dims)), rng.normal(size=(pairs, dims)), 0.5 * rng.normal(size=(words, dims))


# ---------------------------------------------------------------------------- the closed form
@needs_known_answers
@pytest.mark.parametrize("place", range(3))
def test_the_closed_form_gives_the_known_point_of_subjective_equality(place):
    case = json.loads(KNOWN.read_text())["cases"][place]
    found = indifference_points([case["c1"]], [case["c2"]], [case["o"]], weight=case["w"])
    assert found[0, 0] == pytest.approx(case["pse"], abs=1e-12)


@pytest.fixture(scope="module")
def known():
    return json.loads(ON_VECTORS.read_text())


@pytest.fixture(scope="module")
def vector():
    with np.load(VECTORS) as stored:
        places = {word: place for place, word in enumerate(json.loads(str(stored["words"])))}
        vectors = stored["vectors"].astype(float)
    return lambda word: vectors[places[word]] / np.linalg.norm(vectors[places[word]])


@needs_vectors
class TestOnRealVectors:
    def test_every_cue_pair_and_occupation_has_its_known_point_of_subjective_equality(self, known, vector):
        words = list(known["closed_form_pse_per_pair"])
        sides = [np.array([vector(pair[side]) for pair in known["pairs"]]) for side in (0, 1)]
        found = indifference_points(*sides, [vector(word) for word in words])
        for place, word in enumerate(words):
            by_pair = [known["closed_form_pse_per_pair"][word]["|".join(pair)] for pair in known["pairs"]]
            assert found[:, place] == pytest.approx(by_pair, abs=1e-6)

    def test_bisection_finds_the_point_of_subjective_equality_of_the_closed_form(self, known, vector):
        for first, second in known["pairs"]:
            for word in ("carpenter", "lawyer", "receptionist"):
                closed = indifference_points([vector(first)], [vector(second)], [vector(word)])[0, 0]
                assert bisect(vector(first), vector(second), vector(word)) == pytest.approx(closed, abs=1e-9)

    def test_points_of_subjective_equality_averaged_over_cue_pairs_agree_with_bisection(self, known, vector):
        """The known means were found on a grid of levels 1/256 apart."""
        for word, expected in known["pse"].items():
            sides = [[vector(pair[side]) for pair in known["pairs"]] for side in (0, 1)]
            assert indifference_points(*sides, [vector(word)]).mean() == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weight", [0.2, 1.0, 3.0])
def test_at_the_point_of_subjective_equality_both_cues_are_equally_near(seed, weight):
    first, second, concepts = drawn(seed)
    found = indifference_points(first, second, concepts, weight=weight)
    for pair, word in np.ndindex(found.shape):
        level = found[pair, word]
        shown = (1 - level) * first[pair] + level * second[pair] + weight * concepts[word]
        assert cosine(shown, first[pair]) == pytest.approx(cosine(shown, second[pair]), abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_above_the_point_of_subjective_equality_the_second_cue_is_nearer(seed):
    first, second, concepts = drawn(seed)
    found = indifference_points(first, second, concepts)
    for pair, word in np.ndindex(found.shape):
        for step, nearer in ((-0.1, False), (0.1, True)):
            level = found[pair, word] + step
            shown = (1 - level) * first[pair] + level * second[pair] + concepts[word]
            assert (cosine(shown, second[pair]) > cosine(shown, first[pair])) is np.bool_(nearer)


def test_swapping_the_cues_mirrors_every_point_of_subjective_equality():
    first, second, concepts = drawn(1)
    mirrored = indifference_points(second, first, concepts)
    np.testing.assert_allclose(mirrored, 1 - indifference_points(first, second, concepts), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-90, 1e-3, 1e90])
def test_scaling_all_vectors_does_not_change_the_point_of_subjective_equality(scale):
    first, second, concepts = drawn(2)
    scaled = indifference_points(scale * first, scale * second, scale * concepts)
    np.testing.assert_allclose(scaled, indifference_points(first, second, concepts), rtol=1e-9)


def test_rotating_the_whole_space_does_not_change_the_point_of_subjective_equality():
    first, second, concepts = drawn(3)
    turn, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(12, 12)))
    turned = indifference_points(first @ turn, second @ turn, concepts @ turn)
    np.testing.assert_allclose(turned, indifference_points(first, second, concepts), atol=1e-10)


def test_weighting_a_concept_equals_scaling_its_vector():
    first, second, concepts = drawn(5)
    weighed = indifference_points(first, second, concepts, weight=2.5)
    np.testing.assert_allclose(weighed, indifference_points(first, second, 2.5 * concepts))


def test_a_concept_orthogonal_to_the_cues_has_a_point_of_subjective_equality_of_one_half():
    found = indifference_points([[1, 0, 0]], [[0, 1, 0]], [[0, 0, 7], [0, 0, 0], [2, 2, 1]])
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.5]], atol=1e-15)


def test_a_cue_with_a_longer_vector_needs_a_smaller_share_for_subjective_equality():
    """Cosines ignore the length of a cue, but the mixture depends on it."""
    assert indifference_points([[1, 0]], [[0, 3]], [[0, 0]])[0, 0] == pytest.approx(0.25)


def test_a_cue_with_a_zero_vector_is_refused_and_its_pair_is_named():
    with pytest.raises(ZeroVariance, match="pair 2 is the zero vector"):
        indifference_points([[1, 0], [1, 0]], [[0, 1], [0, 0]], [[1, 1]])


@pytest.mark.parametrize("length", [1e-3, 1.0, 40.0])
def test_cues_with_parallel_vectors_are_refused(length):
    cue = np.array([0.3, 0.4, 1.2])
    with pytest.raises(NoTransition, match="pair 1 point the same way"):
        indifference_points([cue], [length * cue], [[1, 0, 0]])


def test_cue_vectors_much_shorter_than_a_concepts_vector_are_refused():
    with pytest.raises(NoTransition, match="beside concept 2 the cues of pair 1"):
        indifference_points([[1, 0]], [[0, 1]], [[1, 0], [1e9, 0]])


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_vectors_whose_squares_overflow_or_vanish_are_refused(size):
    with np.errstate(all="ignore"), pytest.raises((NoTransition, ZeroVariance)):
        indifference_points([[size, 0]], [[0, size]], [[size, 0]])


@pytest.mark.parametrize(
    ("first", "second", "concepts"),
    [([[1, 0]], [[0, 1, 0]], [[1, 0]]), ([1, 0], [0, 1], [[1, 0]]), ([[1, 0]], [[0, 1]], [[1, 0, 0]])],
)
def test_vectors_of_different_spaces_are_refused_with_their_shapes(first, second, concepts):
    with pytest.raises(OutOfBounds, match="equal shape"):
        indifference_points(first, second, concepts)


# ---------------------------------------------------------------------------- replicates
def test_the_psychometric_curve_is_the_share_of_replicates_below_the_level():
    moved = np.array([[0.2, 0.4], [0.4, 0.8]])
    found = summarise([[0.3], [0.6]], moved, np.random.default_rng(0), [0.0, 0.2, 0.4, 0.5, 0.8, 1.0])
    assert found.curve == (0.0, 0.25, 0.75, 0.75, 1.0, 1.0)


def test_the_just_noticeable_difference_is_the_spread_of_the_replicates():
    moved = np.random.default_rng(1).normal(0.4, 0.12, (8, 500))
    found = summarise(moved.mean(axis=1, keepdims=True), moved, np.random.default_rng(2), LEVELS)
    assert found.jnd == pytest.approx(0.12, rel=0.05)
    assert found.jnd_75 == pytest.approx(stats.norm.ppf(0.75) * found.jnd)
    assert found.pse.estimate == pytest.approx(moved.mean())
    # at `jnd_75` above the PSE, 75 % of replicates choose the second cue
    assert np.mean(moved <= found.pse.estimate + found.jnd_75) == pytest.approx(0.75, abs=0.02)


def test_replicates_of_a_cue_pair_count_as_one_cluster():
    rng = np.random.default_rng(3)
    of_pairs = rng.normal(0.5, 0.1, (8, 1))
    many = np.repeat(of_pairs, 50, axis=1)
    one, copied = (summarise(points, points, np.random.default_rng(4), LEVELS) for points in (of_pairs, many))
    assert (copied.pse.low, copied.pse.high) == pytest.approx((one.pse.low, one.pse.high))


def test_with_a_single_cue_pair_the_interval_comes_from_the_spread_of_its_replicates():
    points = np.random.default_rng(5).normal(0.4, 0.1, (1, 40))
    found = summarise(points, points, np.random.default_rng(6), LEVELS)
    low, high = stats.t(39, points.mean(), points.std(ddof=1) / np.sqrt(40)).interval(0.95)
    assert (found.pse.low, found.pse.high) == pytest.approx((low, high), abs=0.004)


def test_a_single_replicate_gets_its_error_from_half_samples():
    """Means of half-samples vary around the sample mean as much as the sample mean varies around the truth."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(400):
        sample = rng.normal(0.45, 1.0, 100)
        halves = [[sample[rng.permutation(100)[:50]].mean() for _ in range(40)]]
        found = summarise([[sample.mean()]], halves, rng, LEVELS).pse
        held += found.low <= 0.45 <= found.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.slow
def test_an_interval_from_eight_cue_pairs_has_its_nominal_coverage():
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(1500):
        points = rng.normal(0.5, 0.1, (8, 1))
        found = summarise(points, points, rng, LEVELS[:2]).pse
        held += found.low <= 0.5 <= found.high
    assert 0.93 <= held / 1500 <= 0.97


def test_a_psychometric_curve_of_zero_replicates_is_refused():
    with pytest.raises(TooFewObservations, match="no replicate"):
        summarise(np.empty((0, 3)), np.empty((0, 3)), np.random.default_rng(0), LEVELS)
