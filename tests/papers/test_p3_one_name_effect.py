"""An effect of a single name: VADER on the names of the Equity Evaluation Corpus (docs/methods/alternation.md).

Kiritchenko & Mohammad (2018) chose 20 first names of each gender. One of them, Tia, is also an entry of
VADER's lexicon ("tia", thanks in advance). A test that counts sentences finds a highly
significant difference of genders; a test that counts names finds none.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache

import numpy as np
import pytest

from assay.document import as_json
from assay.experiment import run
from assay.methods import Alternation
from assay.methods.shared.profiles import TextProfiles
from assay.model import Finding, Letter, Reply
from assay.rating.decision import rate
from assay.statistics.hypothesis_tests.paired import sign_flip_test
from demo.predictors.prediction import TextScorer
from tests.support.real_systems.registry import load
from tools.papers.shared_data import Shared

CORPUS = Shared().folder / "data" / "eec" / "Equity-Evaluation-Corpus.csv.gz"
GENDERS = {"he": "male", "she": "female"}


@pytest.fixture(scope="module")
def sentences() -> list[dict[str, str]]:
    if not CORPUS.is_file():
        pytest.skip("the shared data are not beside the checkout")
    with gzip.open(CORPUS, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def people(sentences) -> dict[str, tuple[str, ...]]:
    """Return the first names by value; only rows with a first name state a race."""
    return {
        value: tuple(sorted({row["Person"] for row in sentences if row["Gender"] == gender and row["Race"]}))
        for value, gender in GENDERS.items()
    }


@pytest.fixture(scope="module")
def found(people):
    """Result of a lexicon for a seed, computed once."""

    @cache
    def found(name: str, seed: int) -> Finding:
        return rated(load(name), people, seed)

    return found


@pytest.fixture(scope="module", params=[("vader", "vaderSentiment"), ("textblob", "textblob"), ("afinn", "afinn")])
def lexicon(request) -> str:
    name, module = request.param
    pytest.importorskip(module, reason=f"{module} comes with the extra 'real'")
    return name


@pytest.fixture(scope="module")
def vader() -> TextScorer:
    pytest.importorskip("vaderSentiment", reason="vaderSentiment comes with the extra 'real'")
    return load("vader")


def rated(one: TextScorer, people: dict[str, tuple[str, ...]], seed: int) -> Finding:
    method = Alternation("gender", texts=TextProfiles(people=people), answers="numbers")
    return run(method, lambda probe: Reply(one.number(probe.ask.given)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_no_sentiment_lexicon_is_rated_bs_for_the_gender_of_the_names_of_the_corpus(lexicon, found, seed: int):
    rating = rate(found(lexicon, seed))
    assert rating.letter is Letter.DSBS
    assert rating.probabilities.BS < 0.2


@pytest.mark.parametrize("seed", range(5))
def test_vaders_gender_effect_is_zero_without_the_name_tia_which_is_also_a_word(vader, found, seed: int):
    (component,) = found(vader.name, seed).components
    carried = next(reason for reason in component.reasons if reason.code == "carried-by-one")
    assert carried.facts["carrier"] == "Tia"
    assert carried.facts["without"] == 0
    assert as_json(component.detail)["leverage"]["person"][0]["without"].endswith("/ Tia")


@pytest.mark.slow
def test_vader_scores_both_genders_equally_without_the_names_tia_and_frank(vader, people):
    others = {value: tuple(name for name in names if name not in {"Tia", "Frank"}) for value, names in people.items()}
    (component,) = rated(vader, others, 0).components
    assert component.effects["step_1"].high == 0


def test_vaders_gender_effect_is_significant_if_tested_by_sentence_but_not_by_name(vader, sentences):
    """Sentences with the same name are not independent, so the test by name flips the signs of all of them together."""
    named = [row for row in sentences if row["Race"]]
    score = {row["Sentence"]: vader.number(row["Sentence"]) for row in named}
    cell = {}
    for row in named:
        place = (row["Template"], row["Emotion word"], row["Race"])
        cell.setdefault(place, {}).setdefault(row["Gender"], []).append((row["Person"], score[row["Sentence"]]))
    differences, names = [], []
    for both in cell.values():
        pairs = zip(sorted(both["female"]), sorted(both["male"]), strict=True)
        for (her, hers), (_, his) in pairs:
            differences.append(hers - his)
            names.append(her)
    _, clusters = np.unique(names, return_inverse=True)
    rng = np.random.default_rng(0)
    assert sign_flip_test(differences, rng) == 1 / 10_000  # the smallest p-value of 9,999 draws
    assert sign_flip_test(differences, rng, clusters=clusters) == 1  # only one name has a difference
