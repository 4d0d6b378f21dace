"""Liang & Acuna: inputs that make a sentiment classifier say "positive", on real word vectors.

The paper samples the embeddings that its classifier of film reviews calls positive, and checks that words of a
curated dictionary lie nearer to the posterior the more positive they are, and that its closest words are positive. It
compares the distances of women's and men's names. The paper trained its own classifier and embeddings; here the
classifier is a logit on pleasant and unpleasant words of GoogleNews, and the dictionary was not used to train it.
"""

from __future__ import annotations

import numpy as np
import pytest

from assay.catalog.shipped import specifications
from assay.document import as_json
from assay.experiment import run
from assay.methods import StimulusSampling
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.model import Letter, Reply
from tools.papers import p1, printed
from tools.papers.shared_data import Shared

SHARED = Shared()
pytestmark = pytest.mark.skipif(
    not (SHARED.folder / "data" / p1.EMBEDDING).exists(), reason="the shared word vectors are not beside the project"
)

WOMEN, MEN = zip(*specifications()["gender-occupations"].words.cues, strict=True)
"""Cue words for women and men of the catalog; the paper uses names and relationships of another corpus."""

MORE_POSITIVE = {
    "closest to positive": -2,
    "most distant from positive": 2,
    "closest to negative": 2,
    "most distant from negative": 0,
}
"""Number of positive words among the ten at each end here, less the number in the paper's table."""


# ---------------------------------------------------------------------------- the posterior
@pytest.mark.parametrize(("positive", "expected"), [(True, -0.33), (False, 0.47)])
def test_distance_of_a_word_to_the_sampled_posterior_correlates_with_its_sentiment(positive, expected):
    """The paper finds r < 0 for the posterior of the answer positive, and r > 0 for that of the answer negative."""
    assert p1.sentiment(SHARED, positive=positive).correlation() == pytest.approx(expected, abs=0.05)


def test_the_table_of_the_paper_has_ten_different_words_in_each_of_its_four_lists():
    assert {name: len(set(words)) for name, words in printed.WORDS.items()} == dict.fromkeys(MORE_POSITIVE, 10)


@pytest.mark.parametrize("name", MORE_POSITIVE)
def test_numbers_of_positive_words_in_the_four_lists_differ_from_the_paper_by_known_amounts(name):
    """The paper's table: nine, none, none and eight of ten words are positive."""
    ends = [*p1.sentiment(SHARED).ends(), *p1.sentiment(SHARED, positive=False).ends()]
    ours = sum(good for _, good in ends[list(printed.WORDS).index(name)])
    # with another linear algebra library, the tenth and the eleventh word may change places
    assert ours - printed.POSITIVE_OF_TEN[name] == pytest.approx(MORE_POSITIVE[name], abs=1)


# ---------------------------------------------------------------------------- the method
def test_words_for_women_and_for_men_differ_little_in_their_distance_to_the_posterior():
    """The paper finds women's names farther away and calls the difference minor; the method reports both distances."""
    sentiment = p1.sentiment(SHARED)
    women, men = (tuple(map(float, sentiment.known(words).mean(axis=0))) for words in (WOMEN, MEN))
    sides = [sentiment.known(p1.training_words(side)).mean(axis=0) for side in (0, 1)]
    half = tuple(map(float, (sides[0] - sides[1]) / 2))
    stimuli = VectorStimuli(
        names=tuple(f"component {place}" for place in range(p1.DIMS)),
        centres={"women": women, "men": men},
        sides={"pleasant": half, "unpleasant": tuple(-one for one in half)},
        sd=tuple(map(float, np.linalg.norm(sentiment.prior.factor, axis=1))),
    )

    def answer(probe):
        yes = float(sentiment.classifier.probability(np.array([[cell for _, cell in probe.ask.given]]))[0])
        return Reply({"label": None, "scores": {"negative": 1 - yes, "positive": yes}})

    (one,) = run(StimulusSampling("gender", vectors=stimuli, label="positive"), answer, 1).components
    apart = {row["value"]: row["distance"] for row in as_json(one.detail)["group_distances"]}
    assert set(apart) == {"women", "men"}
    assert apart["women"] == pytest.approx(apart["men"], rel=0.1)
    assert (one.letter, one.declared) == (Letter.DSBS, True)
