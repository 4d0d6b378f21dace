"""Tests of RNSB: wefe's numbers on real vectors, scikit-learn's classifier on simulated ones."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from assay.errors import EvidenceError, TooFewObservations
from assay.statistics.embeddings.embedding_bias import negative_sentiment_bias

SETTLED = 1e-4
"""Tolerance of comparisons with wefe, whose classifier stops before it reaches the exact minimum."""

SHARED = Path(__file__).resolve().parents[6] / "shared"
KNOWN = SHARED / "known_answers" / "weat_embedding.json"
EMBEDDING = SHARED / "data" / "embeddings" / "gnews_wefe_13013x300.npz"
needs_embedding = pytest.mark.skipif(
    not (KNOWN.exists() and EMBEDDING.exists()), reason="the shared embedding is not beside the project"
)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def sets(rng):
    """Return positive and negative words two standard deviations apart, and targets in between."""
    apart = 2 * np.eye(20)[0]
    return rng.normal(size=(30, 20)) - apart / 2, rng.normal(size=(20, 20)) + apart / 2, rng.normal(size=(12, 20))


@pytest.fixture(scope="module")
def vector_of():
    with np.load(EMBEDDING) as held:
        words, vectors = json.loads(str(held["words"])), held["vectors"]
    return dict(zip(words, vectors, strict=True))


def lists_of(known, name, vector_of):
    inputs = known["queries"][name]["inputs"]
    words = {key: known["word_sets"][inputs[key]] for key in ("A1", "A2", "T1", "T2")}
    return [np.array([vector_of[word] for word in words[key]], dtype=float) for key in ("A1", "A2")], [
        vector_of[word] for word in (*words["T1"], *words["T2"])
    ]


# ---------------------------------------------------------------------------- second implementations
@needs_embedding
@pytest.mark.parametrize("name", ["WEAT1", "WEAT3", "WEAT7"])
def test_negative_sentiment_bias_of_word_vectors_equals_its_value_in_the_library_wefe(name, vector_of):
    known = json.loads(KNOWN.read_text())
    expected = known["queries"][name]["wefe"]["RNSB_holdoutFalse_rs42"]
    (positive, negative), targets = lists_of(known, name, vector_of)
    found = negative_sentiment_bias(positive, negative, targets)
    assert found.value == pytest.approx(expected["rnsb"], abs=SETTLED)
    assert found.probabilities == pytest.approx(
        list(expected["negative_sentiment_probabilities"].values()), abs=SETTLED
    )


@needs_embedding
@pytest.mark.parametrize("name", ["WEAT1", "WEAT3", "WEAT7"])
def test_negative_sentiment_bias_on_the_training_split_of_the_library_wefe_equals_its_value_there(name, vector_of):
    """wefe holds out a fifth of the words, chosen by the split of scikit-learn."""
    selection = pytest.importorskip("sklearn.model_selection", reason="the split is scikit-learn's: install [real]")
    known = json.loads(KNOWN.read_text())
    (positive, negative), targets = lists_of(known, name, vector_of)
    words, labels = np.concatenate([positive, negative]), np.repeat([1.0, -1.0], [len(positive), len(negative)])
    kept, _, sentiment, _ = selection.train_test_split(
        words, labels, shuffle=True, random_state=42, test_size=0.2, stratify=labels
    )
    found = negative_sentiment_bias(kept[sentiment > 0], kept[sentiment < 0], targets)
    expected = known["queries"][name]["wefe"]["RNSB_holdoutTrue_rs42"]
    assert found.value == pytest.approx(expected, abs=SETTLED)


def test_sentiment_probabilities_equal_those_of_scikit_learn(sets):
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not here: install [real]")
    positive, negative, targets = sets
    words, labels = np.concatenate([positive, negative]), np.repeat([0, 1], [len(positive), len(negative)])
    theirs = linear_model.LogisticRegression(solver="liblinear", tol=1e-8, max_iter=10_000)
    expected = theirs.fit(words, labels).predict_proba(targets)[:, 1]
    found = negative_sentiment_bias(positive, negative, targets)
    assert found.probabilities == pytest.approx(expected, abs=1e-5)


# ---------------------------------------------------------------------------- invariants
def test_equal_target_words_have_negative_sentiment_bias_zero(sets):
    positive, negative, targets = sets
    assert negative_sentiment_bias(positive, negative, targets[[3, 3, 3]]).value == pytest.approx(0, abs=1e-15)


def test_negative_sentiment_bias_grows_with_the_distance_of_a_group_towards_negative_words(sets):
    positive, negative, _ = sets
    towards_negative = np.eye(20)[0]
    values = [
        negative_sentiment_bias(positive, negative, [0 * towards_negative, shift * towards_negative]).value
        for shift in (0, 0.5, 1, 2)
    ]
    assert values == sorted(values)
    assert values[0] == pytest.approx(0, abs=1e-15)
    assert values[-1] > 0.01


def test_swapping_positive_and_negative_words_gives_complementary_sentiment_probabilities(sets):
    positive, negative, targets = sets
    straight, swapped = (negative_sentiment_bias(*one, targets) for one in ((positive, negative), (negative, positive)))
    assert swapped.probabilities == pytest.approx([1 - one for one in straight.probabilities], abs=1e-9)


def test_rotating_every_vector_does_not_change_the_sentiment_probabilities(sets, rng):
    rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    rotated = negative_sentiment_bias(*(one @ rotation for one in sets))
    assert rotated.probabilities == pytest.approx(negative_sentiment_bias(*sets).probabilities, abs=1e-9)


def test_vectors_with_more_dimensions_than_there_are_words_can_be_fitted(rng):
    positive, negative, targets = (rng.normal(size=(4, 500)) + shift for shift in (-0.1, 0.1, 0))
    found = negative_sentiment_bias(positive, negative, targets)
    assert found.value > 0
    assert len(found.probabilities) == 4


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_very_short_and_very_long_vectors_are_fitted(scale, sets):
    assert math.isfinite(negative_sentiment_bias(*(one * scale for one in sets)).value)


def test_negative_sentiment_bias_can_be_written_as_json(sets):
    written = asdict(negative_sentiment_bias(*sets))
    assert json.loads(json.dumps(written, allow_nan=False))["value"] == written["value"]


# ---------------------------------------------------------------------------- refused input
@pytest.mark.parametrize("empty", [0, 1])
def test_negative_sentiment_bias_without_positive_or_negative_words_is_refused(empty, sets):
    changed = list(sets)
    changed[empty] = np.empty((0, 20))
    with pytest.raises(TooFewObservations, match="at least 1"):
        negative_sentiment_bias(*changed)


def test_negative_sentiment_bias_of_a_single_target_word_is_refused(sets):
    with pytest.raises(TooFewObservations, match="at least 2"):
        negative_sentiment_bias(sets[0], sets[1], sets[2][:1])


def test_negative_sentiment_bias_of_vectors_that_are_not_finite_is_refused(sets):
    sets[2][0, 0] = math.nan
    with pytest.raises(EvidenceError, match="1 of the 12 vectors of the targets"):
        negative_sentiment_bias(*sets)
