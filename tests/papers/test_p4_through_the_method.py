"""Jiang et al., BiasTestGPT: the method reproduces the published scores, and can use the paper's sentences.

The numbers are those that the authors' language models gave to both sentences of 739 pairs. Most of the
sentences hold a second word that tells the groups apart (a pronoun that was exchanged, too), which ours may not: so
the numbers are asked for under sentences of our own.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from assay.catalog.shipped import specifications
from assay.catalog.stereotypes import StereotypeWords
from assay.experiment import run
from assay.methods import StereotypeScore
from assay.methods.shared.sentences import Sentence, sort
from assay.model import Reply

SHARED = Path(__file__).resolve().parents[3] / "shared"
PAIRS = SHARED / "data" / "biastestgpt" / "pairs"
KNOWN = SHARED / "known_answers" / "stereotype_published.json"
pytestmark = pytest.mark.skipif(
    not (PAIRS.exists() and KNOWN.exists()), reason="the paper's pairs and scores are not beside the project"
)

MODELS = ("gpt2", "bert-base-uncased")
EXACT = 5e-5
"""Half a unit of the last digit that is printed."""


@cache
def rows(model: str) -> tuple[dict[str, str], ...]:
    with gzip.open(PAIRS / f"{model}.csv.gz", "rt") as lines:
        return tuple(csv.DictReader(lines))


def published(model: str):
    return json.loads(KNOWN.read_text())["runs"][model]


def numbers(row: dict[str, str]) -> tuple[float, float]:
    """Return the scores of the stereotyped sentence and of the other."""
    of = {row["top_term"]: float(row["top_logit"]), row["bottom_term"]: float(row["bottom_logit"])}
    labelled = {row["label_1"]: row["att_term_1"], row["label_2"]: row["att_term_2"]}
    return of[labelled["stereotype"]], of[labelled["anti-stereotype"]]


@cache
def finding(model: str):
    """Rate the model with every specification: each term of a bias goes with its first group."""
    said, words, sentences = {}, [], []
    for place, bias in enumerate(dict.fromkeys(row["group"] for row in rows(model))):
        mine = [row for row in rows(model) if row["group"] == bias]
        terms = {term: f"t{place}n{number}" for number, term in enumerate({row["group_term"]: 0 for row in mine})}
        words.append(StereotypeWords("any", "one", "other", (("one", "other"),), tuple(terms.values()), name=bias))
        for number, row in enumerate(mine):
            text = f"The {{}} comes with {terms[row['group_term']]} in line {number}."
            sentences.append(Sentence(text.format("one")))
            for group, value in zip(("one", "other"), numbers(row), strict=True):
                said[text.format(group)] = value
    method = StereotypeScore(words=tuple(words), sentences=tuple(sentences), per_term=200, stop_early=False)
    return run(method, lambda probe: Reply({"log_probability": said[probe.ask.text], "tokens": 9}), 0)


@pytest.mark.parametrize("model", MODELS)
def test_the_score_of_the_model_is_the_published_one(model):
    found = finding(model).detail["model"]
    assert found["over_terms"] == pytest.approx(published(model)["published_model_bias"], abs=EXACT)
    assert found["over_pairs"] == pytest.approx(published(model)["plain_mean_over_pairs"], abs=1e-6)
    assert (found["pairs"], found["ties"]) == (published(model)["n"], published(model)["ties_top_eq_bottom"])


@pytest.mark.parametrize("model", MODELS)
def test_the_score_of_each_bias_is_the_published_one(model):
    printed = published(model)["published_per_bias"]
    assert finding(model).detail["model"]["by_bias"].keys() == printed.keys()
    for component in finding(model).components:
        assert component.detail["score"]["over_terms"] == pytest.approx(printed[component.name], abs=EXACT)


@pytest.mark.parametrize("model", MODELS)
def test_without_neutral_terms_step_1_is_not_measured(model):
    for component in finding(model).components:
        assert component.letter is None
        assert component.reasons[0].code == "no-neutral-terms"
        assert component.effects["step_2"] is not None


def test_the_papers_sentences_are_usable_if_they_hold_no_other_gendered_word():
    """Most counterparts are the authors' to the letter; theirs come from a model, which changed other words, too."""
    used, same, why = 0, 0, Counter()
    for one in specifications().values():
        if one.kind != "stereotype":
            continue
        mine = [row for row in rows("gpt2") if f" {row['group']} (" in one.citation]
        printed = {frozenset((row["sent_att_1"], row["sent_att_2"])) for row in mine}
        held = sort([Sentence(row["sent_att_1"]) for row in mine], one.words)
        used += len(held.items)
        same += sum(frozenset((pair.first, pair.second)) in printed for pair in held.items)
        why.update(held.refused)
    assert used > 450
    assert same > 0.8 * used
    assert set(why) <= {
        *("no-group-term", "several-group-terms", "other-group-word"),
        *("no-attribute-term", "several-attribute-terms", "repeated"),
    }
