"""Tests of visual stereotype scores: a known score, hard labels, the bootstrap over terms, and refused input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.errors import OutOfBounds, TooFewObservations, ZeroVariance
from assay.methods.visual_stereotype.image_scores import fit_images, score_images
from assay.statistics.bayes.stereotype_terms import fit_terms, score_choices
from tests.support.simulated.stereotype_shares import Asked, image_coverage

KNOWN = Path(__file__).resolve().parents[6] / "shared" / "known_answers" / "stereotype.json"

TABLE = [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]]
SIDE = [0, 0, 0, 1, 1]
TERMS = ["plumber", "plumber", "plumber", "nurse", "nurse"]


def tied(table, side):
    """Return each image's probability of the label that its term is tied to (`side`), from a table of both labels."""
    return np.asarray(table)[np.arange(len(side)), side]


def labels(by_image):
    """Return the scores of images whose probabilities are rounded to a label, or to a tie at .5."""
    by_image = np.where(np.isclose(by_image, 0.5), 0.5, np.round(by_image))
    return score_choices(by_image, TERMS, [""] * len(by_image))


@pytest.fixture
def rng():
    return np.random.default_rng(42)


def sixty(rng):
    """Return probabilities for 60 images, and the term of each image (six terms)."""
    return rng.beta(np.repeat([2, 3, 4, 5, 6, 7], 10), 4), [f"t{number // 10}" for number in range(60)]


@pytest.mark.skipif(not KNOWN.exists(), reason="the shared known answers are not beside the project")
def test_the_visual_stereotype_score_equals_its_known_answer():
    known = json.loads(KNOWN.read_text())["vqa"]
    first, second = known["P_T1_given_g1"], known["P_T2_given_g2"]
    assert score_images([*first, *second], TERMS).model == pytest.approx(known["score"])
    hard = labels([*first, *second])
    assert [one.stereotyped for one in hard.by_term] == [known["hard"]["T1_in_g1"], known["hard"]["T2_in_g2"]]
    assert hard.over_pairs == pytest.approx(known["hard"]["score"])
    assert hard.by_pair.size == known["hard"]["images"]


def test_the_score_of_a_term_is_the_mean_of_its_images_and_that_of_a_model_the_mean_of_its_terms():
    found = score_images(tied(TABLE, SIDE), TERMS)
    assert found.by_image.tolist() == [0.9, 0.7, 0.4, 0.8, 0.3]
    assert [(one.term, one.images) for one in found.by_term] == [("plumber", 3), ("nurse", 2)]
    assert [one.score for one in found.by_term] == pytest.approx([2 / 3, 0.55])
    assert found.over_terms == pytest.approx((2 / 3 + 0.55) / 2)


def test_swapping_the_stereotyped_group_of_every_image_mirrors_the_score():
    assert score_images(tied(TABLE, [1 - side for side in SIDE]), TERMS).model == pytest.approx(
        1 - score_images(tied(TABLE, SIDE), TERMS).model
    )


def test_a_score_from_labels_without_probabilities_lies_in_the_interval_of_its_hierarchical_fit():
    hard = labels(tied(TABLE, SIDE))
    assert fit_terms(hard.by_term).overall.low < hard.over_pairs < fit_terms(hard.by_term).overall.high


# ---------------------------------------------------------------------------- bootstrap
def test_draws_are_centred_on_the_score_and_spread_by_the_differences_between_terms(rng):
    seen, terms = sixty(rng)
    drawn = fit_images(seen, terms).draw_overall(rng, 20_000)
    by_term = seen.reshape(6, 10).mean(axis=1)
    assert drawn.mean() == pytest.approx(seen.mean(), abs=0.01)
    assert ((drawn >= 0) & (drawn <= 1)).all()
    # the draws are at most as wide as Student's t with 5 degrees of freedom, whose variance is 5/3
    of_terms = by_term.std(ddof=1) / np.sqrt(6)
    assert 0.97 * of_terms < drawn.std() < np.sqrt(5 / 3) * of_terms


def test_more_images_of_the_same_terms_do_not_count_as_more_terms(rng):
    seen, terms = sixty(rng)
    once = fit_images(seen, terms).draw_overall(np.random.default_rng(1), 4000)
    again = fit_images(np.tile(seen, 20), terms * 20).draw_overall(np.random.default_rng(1), 4000)
    assert again.std() > 0.9 * once.std()


def test_the_same_random_seed_gives_the_same_draws_of_the_score(rng):
    found = fit_images(*sixty(rng))
    one, other = (found.draw_overall(np.random.default_rng(9), 100) for _ in range(2))
    assert (one == other).all()


def test_intervals_of_the_mean_probability_cover_it_in_more_than_91_percent_of_runs():
    assert image_coverage(Asked(terms=10, pairs=6, m=0.6), 300, seed=14).held > 0.91


# ---------------------------------------------------------------------------- bad input
def test_a_score_without_images_is_refused():
    with pytest.raises(TooFewObservations, match="no images"):
        score_images([], [])


def test_probabilities_of_images_of_only_four_terms_are_refused():
    with pytest.raises(TooFewObservations, match="4 generation terms"):
        fit_images([0.1, 0.2, 0.3, 0.4, 0.5], ["a", "b", "c", "d", "d"])


@pytest.mark.parametrize("score", [0.5, 0.6, 0.999])
def test_equal_scores_of_all_images_are_refused(score):
    with pytest.raises(ZeroVariance, match=f"score {score}"):
        fit_images([score] * 12, [f"t{number % 6}" for number in range(12)])


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_images_with_probability_0_or_1_are_fitted_like_labels_without_probabilities(score, rng):
    terms = [f"t{number % 6}" for number in range(12)]
    certain = fit_images([score] * 12, terms)
    assert certain.overall == fit_terms(score_choices([score] * 12, terms, [""] * 12).by_term).overall
    assert abs(certain.draw_overall(rng).mean() - score) < 0.15


@pytest.mark.parametrize(("seen", "terms"), [([0.5], ["a", "b"]), ([[0.5]], ["a"]), ([1.5], ["a"]), ([np.nan], ["a"])])
def test_impossible_scores_of_images_are_refused(seen, terms):
    with pytest.raises(OutOfBounds):
        score_images(seen, terms)
