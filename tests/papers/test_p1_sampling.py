"""Liang & Acuna: inputs that make a sentiment classifier say "positive", on real word vectors.

The paper samples the embeddings that its classifier of film reviews calls positive, and checks four things: that the
chain mixes, that words of a curated dictionary lie nearer to the posterior the more positive they are and farther
from the negative one, that its closest words are positive, and how far the names of women and of men are. Its
classifier and its embeddings are its own; here a logit on pleasant and unpleasant words of GoogleNews is asked, and
the dictionary is one that it was not trained on. Signs are compared, not digits.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.catalog.choices import AssociationWords
from assay.catalog.profiles import contents
from assay.catalog.shipped import shipped_words
from assay.experiment import run
from assay.methods import StimulusSampling
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.model import Reply
from assay.statistics.bayes.surrogate import NormalPrior, fit_surrogate, sample_posterior
from assay.statistics.embeddings.projection import principal_components

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "data" / "embeddings" / "gnews_wefe_13013x300.npz"
pytestmark = pytest.mark.skipif(not VECTORS.exists(), reason="the shared word vectors are not beside the project")

DIMS = 20
"""Principal components that are kept of 300."""

PLEASANT, UNPLEASANT = shipped_words(AssociationWords, "weat-1", "pleasantness").attributes.values()

WOMEN = ["she", "her", "woman", "girl", "sister", "daughter", "mother", "aunt", "female"]
MEN = ["he", "him", "man", "boy", "brother", "son", "father", "uncle", "male"]


@cache
def space():
    """Words with their vectors of length 1, on the components of all of them."""
    with np.load(VECTORS) as stored:
        words, vectors = json.loads(str(stored["words"])), stored["vectors"].astype(float)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    axes = principal_components(units, DIMS)
    return dict(zip(words, axes.of(units), strict=True)), NormalPrior.of(axes.of(units))


def known(words):
    listed = [word for word in words if word in space()[0]]
    assert len(listed) >= 0.4 * len(words)
    return np.array([space()[0][word] for word in listed])


@cache
def classifier(positive=True):
    good, bad = known(PLEASANT), known(UNPLEASANT)
    said = np.r_[np.ones(len(good)), np.zeros(len(bad))]
    return fit_surrogate(np.concatenate([good, bad]), said if positive else 1 - said, ridge=0.5)


@cache
def drawn(positive=True):
    return sample_posterior(classifier(positive), space()[1], 500, np.random.default_rng(1))


def distances(vectors, positive=True):
    """Average distance of each to the posterior, as the paper has it."""
    return np.linalg.norm(vectors[:, None] - drawn(positive)[None], axis=-1).mean(axis=1)


def dictionary():
    sides = contents()
    return (known(sides[side]) for side in ("pleasant", "unpleasant"))


# ---------------------------------------------------------------------------- the posterior
@pytest.mark.parametrize("positive", [True, False])
def test_distance_to_the_posterior_correlates_with_sentiment(positive):
    """The paper: a negative correlation for the posterior of positive, a positive one for that of negative."""
    good, bad = dictionary()
    apart = np.concatenate([distances(good, positive), distances(bad, positive)])
    r = np.corrcoef(apart, np.r_[np.ones(len(good)), np.zeros(len(bad))])[0, 1]
    assert (r < -0.2) if positive else (r > 0.2)


def test_the_closest_words_are_positive_and_the_most_distant_negative():
    """The paper's table: nine of the ten closest are positive, all of the ten most distant negative."""
    good, bad = dictionary()
    order = np.argsort(np.concatenate([distances(good), distances(bad)]))
    assert (order[:5] < len(good)).sum() >= 3
    assert (order[-5:] >= len(good)).sum() >= 3


# ---------------------------------------------------------------------------- the method
def test_women_and_men_differ_little_in_their_distance():
    """The paper finds the names of women farther, and calls the difference minor; the method gives both distances."""
    prior = space()[1]
    spread = tuple(map(float, np.linalg.norm(prior.factor, axis=1)))
    women, men = (tuple(map(float, known(words).mean(axis=0))) for words in (WOMEN, MEN))
    good, bad = known(PLEASANT).mean(axis=0), known(UNPLEASANT).mean(axis=0)
    half = tuple(map(float, (good - bad) / 2))
    stimuli = VectorStimuli(
        names=tuple(f"component {place}" for place in range(DIMS)),
        centres={"women": women, "men": men},
        sides={"pleasant": half, "unpleasant": tuple(-one for one in half)},
        sd=spread,
    )

    def answer(probe):
        yes = float(classifier().probability(np.array([[cell for _, cell in probe.ask.given]]))[0])
        return Reply({"label": None, "scores": {"negative": 1 - yes, "positive": yes}})

    (one,) = run(StimulusSampling("gender", vectors=stimuli, label="positive"), answer, 1).components
    apart = {row["value"]: row["distance"] for row in one.detail["group_distances"]}
    assert set(apart) == {"women", "men"}
    assert apart["women"] == pytest.approx(apart["men"], rel=0.1)
    assert one.letter is not None
