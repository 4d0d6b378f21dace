"""Jiang et al., BiasTestGPT: the method reproduces the published scores, and can use the paper's sentences.

The numbers are those that the authors' language models gave to both sentences of 739 pairs. Most of these
sentences contain a second word that differs between the groups (such as an exchanged pronoun), which the method does
not allow. So the test assigns the numbers to its own sentences.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from assay.catalog.shipped import specifications
from assay.catalog.stereotypes import StereotypeWords
from assay.document import as_json
from assay.experiment import run
from assay.methods import StereotypeScore
from assay.methods.shared.terms.sentences import Sentence, sort
from assay.model import Reply
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


@cache
def finding(model: str):
    """Rate the model with every specification; each term of a bias counts as a stereotype of its first group."""
    said, words, sentences = {}, [], []
    asked = p4.pairs(SHARED, model)
    for place, bias in enumerate(dict.fromkeys(pair.bias for pair in asked)):
        mine = [pair for pair in asked if pair.bias == bias]
        terms = {term: f"t{place}n{number}" for number, term in enumerate({pair.term: 0 for pair in mine})}
        words.append(StereotypeWords("any", "one", "other", (("one", "other"),), tuple(terms.values()), name=bias))
        for number, pair in enumerate(mine):
            text = f"The {{}} comes with {terms[pair.term]} in line {number}."
            sentences.append(Sentence(text.format("one")))
            said |= {text.format("one"): pair.stereotyped, text.format("other"): pair.anti_stereotyped}
    method = StereotypeScore(words=tuple(words), sentences=tuple(sentences), per_term=200, stop_early=False)
    return run(method, lambda probe: Reply({"log_probability": said[probe.ask.text], "tokens": 9}), 0)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_stereotype_score_of_each_model_equals_the_published_score(model):
    found = as_json(finding(model).detail)["model"]
    assert found["over_terms"] == pytest.approx(published(model)["published_model_bias"], abs=EXACT)
    assert found["over_pairs"] == pytest.approx(published(model)["plain_mean_over_pairs"], abs=1e-6)
    assert (found["pairs"], found["ties"]) == (published(model)["n"], published(model)["ties_top_eq_bottom"])


@pytest.mark.parametrize("model", MODELS)
def test_the_stereotype_score_of_each_kind_of_bias_equals_the_published_score(model):
    theirs = published(model)["published_per_bias"]
    assert as_json(finding(model).detail)["model"]["by_bias"].keys() == theirs.keys()
    for component in finding(model).components:
        assert as_json(component.detail)["score"]["over_terms"] == pytest.approx(theirs[component.name], abs=EXACT)


@pytest.mark.parametrize("model", MODELS)
def test_without_neutral_terms_step_1_is_not_measured_and_no_letter_is_given(model):
    for component in finding(model).components:
        assert component.letter is None
        assert component.reasons[0].code == "no-neutral-terms"
        assert component.effects["step_2"] is not None


def test_508_sentences_of_the_paper_are_accepted_by_the_rules_of_stereotype_score():
    """In 421 of them, our counterpart equals that of the authors; in the others, their model changed more words."""
    used, same, why = 0, 0, Counter()
    for one in specifications().values():
        if one.kind != "stereotype":
            continue
        mine = [row for row in p4.rows(SHARED, "gpt2") if f" {row['group']} (" in one.citation]
        theirs = {frozenset((row["sent_att_1"], row["sent_att_2"])) for row in mine}
        held = sort([Sentence(row["sent_att_1"]) for row in mine], one.words)
        used += len(held.items)
        same += sum(frozenset((pair.first, pair.second)) in theirs for pair in held.items)
        why.update(held.refused)
    assert (used, same) == (508, 421)
    assert set(why) <= {
        *("no-group-term", "several-group-terms", "other-group-word"),
        *("no-attribute-term", "several-attribute-terms", "repeated"),
    }
