"""Jiang et al., BiasTestGPT: the published scores, computed again from the published pairs.

Two language models (GPT-2 and BERT) were asked 739 pairs of 15 predefined specifications.
"""

from __future__ import annotations

import numpy as np
import pytest

from assay.statistics.intervals.credible import effect_interval
from tools.papers import p4, printed
from tools.papers.p4 import MODELS
from tools.papers.shared_data import Shared

SHARED = Shared()
pytestmark = pytest.mark.skipif(
    not (SHARED.folder / "data" / "biastestgpt").exists() or not (SHARED.folder / "known_answers").exists(),
    reason="the paper's pairs and scores are not beside the project",
)

EXACT = 5e-5
"""Half a unit of the last printed digit."""


def published(model: str):
    return printed.scores(SHARED)[model]


def scored(model: str):
    return p4.scored(SHARED, model)


@pytest.mark.parametrize("model", MODELS)
def test_the_preferred_sentence_of_every_pair_equals_the_published_preference(model):
    assert scored(model).by_pair.tolist() == [one.preferred for one in p4.pairs(SHARED, model)]
    assert scored(model).ties == published(model)["ties_top_eq_bottom"]
    assert scored(model).by_pair.size == published(model)["n"] == published(model)["num_templates"]


@pytest.mark.parametrize("model", MODELS)
def test_the_stereotype_score_of_each_model_equals_the_published_score(model):
    assert scored(model).model == pytest.approx(published(model)["published_model_bias"], abs=EXACT)
    assert scored(model).model == pytest.approx(published(model)["recomputed_model_bias"], abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_stereotype_score_of_each_kind_of_bias_equals_the_published_score(model):
    theirs = published(model)["published_per_bias"]
    assert scored(model).by_bias.keys() == theirs.keys()
    for bias, score in theirs.items():
        assert scored(model).by_bias[bias] == pytest.approx(score, abs=EXACT), bias
    assert scored(model).by_bias == pytest.approx(published(model)["recomputed_per_bias"], abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_counts_of_preferred_stereotypes_for_each_kind_of_bias_equal_the_authors_counts(model):
    for bias, (won, of) in published(model)["per_bias_counts"].items():
        terms = [one for one in scored(model).by_term if one.bias == bias]
        assert (sum(one.stereotyped for one in terms), sum(one.pairs for one in terms)) == (won, of), bias


@pytest.mark.parametrize(("model", "difference"), [("gpt2", 0.0053), ("bert-base-uncased", 0.0014)])
def test_the_plain_mean_over_pairs_differs_from_the_published_score(model, difference):
    known = published(model)
    assert scored(model).over_pairs == pytest.approx(known["plain_mean_over_pairs"], abs=1e-6)
    assert scored(model).over_pairs - known["published_model_bias"] == pytest.approx(difference, abs=2 * EXACT)


@pytest.mark.parametrize("model", MODELS)
def test_the_interval_of_the_posterior_contains_the_published_score(model):
    found = p4.posterior(SHARED, model).overall
    assert found.low < published(model)["published_model_bias"] < found.high
    assert found.estimate == pytest.approx(published(model)["published_model_bias"], abs=0.005)


@pytest.mark.parametrize(
    ("model", "score", "low", "high"), [("gpt2", 0.555, 0.516, 0.593), ("bert-base-uncased", 0.512, 0.471, 0.553)]
)
def test_gpt2_and_bert_prefer_stereotypes_by_less_than_ten_percentage_points_over_chance(model, score, low, high):
    """GPT-2's preference for stereotypes is small but above chance; BERT's preference may be zero."""
    found = p4.posterior(SHARED, model)
    assert [found.overall.estimate, found.overall.low, found.overall.high] == pytest.approx(
        [score, low, high], abs=0.001
    )
    effect = effect_interval(np.abs(found.draw_overall(np.random.default_rng(4)) - 0.5))
    assert effect.high < 0.1
