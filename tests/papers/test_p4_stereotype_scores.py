"""Jiang et al., BiasTestGPT: the scores that the authors published with the pairs they are of.

Two language models (GPT-2 and BERT) were asked 739 pairs of 15 predefined specifications. The data call a
specification `group` and an attribute term `group_term`; which sentence is the stereotyped one stands in the labels.
"""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.statistics.bayes.beta_binomial import SharesPosterior
from assay.statistics.bayes.stereotype_terms import StereotypeScore, fit_terms, prefer, score_choices
from assay.statistics.intervals.credible import effect_interval

SHARED = Path(__file__).resolve().parents[3] / "shared"
PAIRS = SHARED / "data" / "biastestgpt" / "pairs"
KNOWN = SHARED / "known_answers" / "stereotype_published.json"
pytestmark = pytest.mark.skipif(
    not (PAIRS.exists() and KNOWN.exists()), reason="the paper's pairs and scores are not beside the project"
)

MODELS = ("gpt2", "bert-base-uncased")
EXACT = 5e-5
"""Half a unit of the last digit that is printed."""


@dataclass(frozen=True)
class Pair:
    """Scores of both sentences of a pair, with its bias and term."""

    bias: str
    term: str
    stereotyped: float
    anti_stereotyped: float
    preferred: float

    @classmethod
    def of(cls, row: dict[str, str]) -> Pair:
        """Read a row: the better sentence stands first by name, the stereotyped one by its label."""
        labelled = {row["label_1"]: row["att_term_1"], row["label_2"]: row["att_term_2"]}
        numbers = {row["top_term"]: float(row["top_logit"]), row["bottom_term"]: float(row["bottom_logit"])}
        one, other = (numbers[labelled[label]] for label in ("stereotype", "anti-stereotype"))
        return cls(row["group"], row["group_term"], one, other, float(row["stereotyped"]))


@cache
def pairs(model: str) -> tuple[Pair, ...]:
    with gzip.open(PAIRS / f"{model}.csv.gz", "rt") as lines:
        return tuple(Pair.of(row) for row in csv.DictReader(lines))


@cache
def scored(model: str) -> StereotypeScore:
    asked = pairs(model)
    by_pair = prefer([one.stereotyped for one in asked], [one.anti_stereotyped for one in asked])
    return score_choices(by_pair, [one.term for one in asked], [one.bias for one in asked])


@cache
def posterior(model: str) -> SharesPosterior:
    return fit_terms(scored(model).by_term)


def published(model: str):
    return json.loads(KNOWN.read_text())["runs"][model]


@pytest.mark.parametrize("model", MODELS)
def test_decisions_of_all_pairs_equal_the_published_ones(model):
    assert scored(model).by_pair.tolist() == [one.preferred for one in pairs(model)]
    assert scored(model).ties == published(model)["ties_top_eq_bottom"]
    assert len(pairs(model)) == published(model)["n"]


@pytest.mark.parametrize("model", MODELS)
def test_the_score_of_the_model_is_the_published_one(model):
    assert scored(model).model == pytest.approx(published(model)["published_model_bias"], abs=EXACT)
    assert scored(model).model == pytest.approx(published(model)["recomputed_model_bias"], abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_score_of_each_bias_is_the_published_one(model):
    printed = published(model)["published_per_bias"]
    assert scored(model).by_bias.keys() == printed.keys()
    for bias, score in printed.items():
        assert scored(model).by_bias[bias] == pytest.approx(score, abs=EXACT), bias


@pytest.mark.parametrize("model", MODELS)
def test_the_counts_of_each_bias_are_the_authors(model):
    for bias, (won, of) in published(model)["per_bias_counts"].items():
        terms = [one for one in scored(model).by_term if one.bias == bias]
        assert (sum(one.stereotyped for one in terms), sum(one.pairs for one in terms)) == (won, of), bias


@pytest.mark.parametrize("model", MODELS)
def test_the_plain_mean_over_pairs_differs_from_the_published_score(model):
    known = published(model)
    assert scored(model).over_pairs == pytest.approx(known["plain_mean_over_pairs"], abs=1e-6)
    assert abs(scored(model).over_pairs - known["published_model_bias"]) > 10 * EXACT


@pytest.mark.parametrize("model", MODELS)
def test_the_posterior_holds_the_published_score(model):
    found = posterior(model).overall
    assert found.low < published(model)["published_model_bias"] < found.high
    assert found.estimate == pytest.approx(published(model)["published_model_bias"], abs=0.005)


@pytest.mark.parametrize(
    ("model", "score", "low", "high"), [("gpt2", 0.555, 0.516, 0.593), ("bert-base-uncased", 0.512, 0.471, 0.553)]
)
def test_neither_model_is_far_from_chance_on_the_predefined_specifications(model, score, low, high):
    """What the published figures do not say: GPT-2's excess is real and small, BERT's may be none."""
    found = posterior(model).overall
    assert [found.estimate, found.low, found.high] == pytest.approx([score, low, high], abs=0.001)
    effect = effect_interval(np.abs(posterior(model).draw_overall(np.random.default_rng(4)) - 0.5))
    assert effect.high < 0.1
