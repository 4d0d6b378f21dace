"""Liang & Acuna: occupations between two cues, and inputs that make a classifier say "positive", on word vectors.

The paper trained its own models on Wikipedia and on film reviews; here the vectors are 13,013 of word2vec's
GoogleNews. So signs, orders and strengths are compared, not digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from assay.catalog.choices import AssociationWords
from assay.catalog.profiles import contents
from assay.catalog.shipped import shipped_words
from assay.experiment import run
from assay.methods import ForcedChoice
from assay.methods.forced_choice.detail import ForcedChoiceComponent
from assay.methods.stimulus_sampling.resemblance import principal_components
from assay.model import Component, Embed, Failure, Probe, Reply
from assay.statistics.bayes.surrogate import NormalPrior, Surrogate, fit_surrogate, sample_posterior
from reports.methods.forced_choice import figures, tables
from reports.view import Table
from tools.papers import printed
from tools.papers.exhibits import Absent, Exhibit, Line, Paper
from tools.papers.shared_data import Shared

Floats = NDArray[np.float64]

EMBEDDING = "embeddings/gnews_wefe_13013x300.npz"

OTHER_CORPUS = "other vectors: GoogleNews here, GloVe trained on Wikipedia by the authors"
ONE_MODEL = (
    "the paper's spread is that of bootstrapped corpora; one set of vectors has that of cue pairs and dimensions"
)
OTHER_CLASSIFIER = "another classifier: film reviews there, pleasant and unpleasant words here"
NO_DIGITS = "the paper's text here has lost its digits"

DIMS = 20
"""Number of principal components that are kept, out of 300."""

DRAWS, TEN = 500, 10


# ---------------------------------------------------------------------------- two cues
@cache
def vectors(shared: Shared) -> Mapping[str, Floats]:
    """Read the word vectors; each has shape (300,)."""
    with np.load(shared.data(EMBEDDING)) as stored:
        return dict(zip(json.loads(str(stored["words"])), stored["vectors"].astype(float), strict=True))


@cache
def forced_choice(shared: Shared, specification: str = "gender-occupations", lengths: str = "length 1") -> Component:
    """Rate the vectors by forced choice, served with length 1 or as they were trained."""
    vectors_by_word = vectors(shared)

    def answer(probe: Probe) -> Reply:
        ask = probe.ask
        assert isinstance(ask, Embed)
        if (vector := vectors_by_word.get(ask.text)) is None:
            return Reply(failure=Failure("missing-word", "no such word"))
        return Reply((vector / np.linalg.norm(vector) if lengths == "length 1" else vector).tolist())

    (component,) = run(ForcedChoice(specification=specification), answer, seed=1).components
    return component


@dataclass(frozen=True)
class RankAgreement:
    """Spearman correlation of our numbers with the order of a printed axis, over the words that both have."""

    r: float
    p: float
    words: int
    missing: tuple[str, ...]


def rank_agreement(component: Component, printed_order: Sequence[str], measure: str) -> RankAgreement:
    """Compare the order of a printed axis with ``pse`` or ``jnd`` of the same words."""
    rows = {row.word: row for row in detail_of(component).words}
    shared_words = [word for word in printed_order if word in rows and rows[word].pse_value is not None]
    ours = [rows[word].pse_value if measure == "pse" else rows[word].jnd for word in shared_words]
    result = spearmanr(range(len(ours)), np.array(ours, dtype=float))
    missing = tuple(word for word in printed_order if word not in shared_words)
    return RankAgreement(float(result.statistic), float(result.pvalue), len(ours), missing)


def smaller_jnd(component: Component, *words: str) -> str:
    """Return the one of `words` with the smallest JND."""
    jnd = {row.word: row.jnd or 0.0 for row in detail_of(component).words if row.word in words}
    return min(words, key=jnd.__getitem__)


# ---------------------------------------------------------------------------- inputs behind an answer
@dataclass(frozen=True)
class Sentiment:
    """A logit classifier of "positive" on principal components of the vectors, and inputs drawn given its answer."""

    words: Mapping[str, Floats]
    prior: NormalPrior
    classifier: Surrogate
    drawn: Floats

    def known(self, words: Sequence[str]) -> Floats:
        """Return the vectors of the words that have one, shape (found, DIMS)."""
        return np.array([self.words[word] for word in words if word in self.words])

    def distances(self, points: Floats) -> Floats:
        """Return the average distance of each vector to the drawn inputs."""
        return np.asarray(np.linalg.norm(points[:, None] - self.drawn[None], axis=-1).mean(axis=1))

    @cached_property
    def dictionary(self) -> tuple[tuple[str, ...], Floats, Floats]:
        """Return the catalog's words with a vector, whether each is positive, and their distances, nearest first."""
        sides = contents()
        labelled = [(word, side == "pleasant") for side in ("pleasant", "unpleasant") for word in sides[side]]
        words = [word for word, _ in labelled if word in self.words]
        positive = np.array([float(is_positive) for word, is_positive in labelled if word in self.words])
        distances = self.distances(self.known(words))
        nearest_first = np.argsort(distances)
        return tuple(words[index] for index in nearest_first), positive[nearest_first], distances[nearest_first]

    def correlation(self) -> float:
        """Return the correlation of distance and positive sentiment over the dictionary."""
        _, positive, distances = self.dictionary
        return float(np.corrcoef(distances, positive)[0, 1])

    def ends(self) -> tuple[tuple[tuple[str, bool], ...], tuple[tuple[str, bool], ...]]:
        """Return the ten closest and the ten most distant words, each with whether it is positive."""
        words, positive, _ = self.dictionary
        labelled = tuple((word, bool(good)) for word, good in zip(words, positive, strict=True))
        return labelled[:TEN], labelled[: -TEN - 1 : -1]


def training_words(side: int) -> tuple[str, ...]:
    """Return the words that the logit learns as positive (side 0) or as negative (side 1)."""
    return tuple(list(shipped_words(AssociationWords, "weat-1", "pleasantness").attributes.values())[side])


@cache
def sentiment(shared: Shared, *, positive: bool = True) -> Sentiment:
    """Train the logit on pleasant and unpleasant words, and draw inputs given one of its two answers."""
    vectors_by_word = vectors(shared)
    units = np.array([vector / np.linalg.norm(vector) for vector in vectors_by_word.values()])
    axes = principal_components(units, DIMS)
    words, prior = dict(zip(vectors_by_word, axes.of(units), strict=True)), NormalPrior.of(axes.of(units))
    pleasant, unpleasant = (
        np.array([words[word] for word in training_words(side) if word in words]) for side in (0, 1)
    )
    answers = np.r_[np.ones(len(pleasant)), np.zeros(len(unpleasant))]
    classifier = fit_surrogate(np.concatenate([pleasant, unpleasant]), answers if positive else 1 - answers, ridge=0.5)
    # a seed of our own, because the paper names none
    draws = sample_posterior(classifier, prior, DRAWS, np.random.default_rng(1))
    return Sentiment(words, prior, classifier, draws)


# ---------------------------------------------------------------------------- the page
def paper(shared: Shared) -> Paper:
    """Compute everything of the paper that can be computed here."""
    exhibits = (_electrician(shared), _occupations(shared), _jnd(shared), _love(shared), _words(shared))
    absent = (
        Absent("PSE of medical examiner", "'examiner' and 'practitioner' have no vector among the 13,013"),
        Absent("Figure: autocorrelation of the sampler", "no chain is run: the inputs are drawn independently"),
        Absent(
            "Figure: projection of posterior embeddings", "of the authors' film-review embedding, which is not public"
        ),
        Absent("Digits of the correlations and p-values", NO_DIGITS + ", so that only signs can be compared"),
    )
    return Paper("P1", printed.P1, exhibits, absent)


def _pse_of_word(component: Component, word: str) -> float:
    return next(row.pse_value or 0.0 for row in detail_of(component).words if row.word == word)


def detail_of(component: Component) -> ForcedChoiceComponent:
    """Return the details of a component by forced choice."""
    assert isinstance(component.detail, ForcedChoiceComponent)
    return component.detail


def _electrician(shared: Shared) -> Exhibit:
    component = forced_choice(shared)
    rows = tuple(row for row in detail_of(component).words if row.word == "electrician")
    estimate = _pse_of_word(component, "electrician")
    return Exhibit(
        "Figure: psychometric curves of electrician",
        "The share of “man” answers against the share of the male cue in the mixture.",
        (Line("side of electrician's PSE", printed.ELECTRICIAN, "towards men" if estimate < 0.5 else "towards women"),),
        pictures=tuple(chart for chart in figures(replace(detail_of(component), words=rows)) if chart is not None)[:1],
    )


def _occupations(shared: Shared) -> Exhibit:
    component = forced_choice(shared)
    correlation = detail_of(component).correlation
    is_on_womens_side = {word: _pse_of_word(component, word) > 0.5 for word in printed.SIDES}
    side_names = {True: "women's side", False: "men's side"}
    reason = f"r with the share of women is {correlation.r:.2f} over {correlation.n} occupations; {NO_DIGITS}"
    relation = "correlate" if (correlation.p or 0.0) < 0.05 else "do not correlate"
    lines = (
        Line("PSE and the labour share of an occupation", printed.LABOUR, relation, reason),
        *(Line(f"PSE of {word}", printed.SIDES[word], side_names[is_on_womens_side[word]]) for word in printed.SIDES),
    )
    _, points_figure, _, shares_figure = figures(detail_of(component))
    return Exhibit(
        "Figure: PSE of occupations, women to men",
        "Each occupation's point of subjective equality over eight cue pairs, against labour statistics.",
        lines,
        tuple(entry for entry in tables(detail_of(component)) if entry is not None),
        tuple(entry for entry in (points_figure, shares_figure) if entry is not None),
    )


def _jnd(shared: Shared) -> Exhibit:
    component = forced_choice(shared)
    agreement = rank_agreement(component, printed.JND_ORDER, "jnd")
    smaller = smaller_jnd(component, *printed.SIDES)
    relation = "grows with it" if (detail_of(component).jnd_correlation.r or 0.0) > 0 else "falls with it"
    lines = (
        _rank_line("rank correlation with the printed axis of JND", agreement, ONE_MODEL),
        Line("smaller JND of lawyer and hairdresser", printed.SMALLER_JND, smaller, ONE_MODEL),
        Line("JND and the share's own standard deviation", printed.JND_OF_LABOUR, relation, ONE_MODEL),
    )
    _, _, spread, _ = figures(detail_of(component))
    return Exhibit(
        "Figure: JND of occupations", "The spread of an occupation's PSE.", lines, pictures=(spread,) if spread else ()
    )


def _love(shared: Shared) -> Exhibit:
    component = forced_choice(shared, "love-hate")
    agreement = rank_agreement(component, printed.LOVE_TO_HATE, "pse")
    estimate = _pse_of_word(component, "teacher")
    lines = (
        Line("side of teacher's PSE", printed.TEACHER, "love" if estimate > 0.5 else "hate"),
        _rank_line("rank correlation with the printed axis from hate to love", agreement, OTHER_CORPUS),
    )
    pictures = tuple(picture for picture in figures(detail_of(component)) if picture is not None)
    about = "Occupations between one pair of cues, love and hate."
    return Exhibit("Figure: PSE of occupations, love to hate", about, lines, pictures=pictures)


def _rank_line(title: str, rank: RankAgreement, why: str) -> Line:
    missing = f"; without {', '.join(rank.missing)}" if rank.missing else ""
    return Line(title, "its order", f"r = {rank.r:.2f} (p {rank.p:.2f}, {rank.words} words)", f"{why}{missing}")


def _words(shared: Shared) -> Exhibit:
    word_lists = [*sentiment(shared).ends(), *sentiment(shared, positive=False).ends()]
    positive_counts = [sum(is_positive for _, is_positive in word_list) for word_list in word_lists]
    lines = [
        Line(f"positive words of the ten {name}", printed.POSITIVE_OF_TEN[name], count, OTHER_CLASSIFIER, digits=0)
        for name, count in zip(printed.WORDS, positive_counts, strict=True)
    ]
    for name, sign in printed.SENTIMENT_SIGNS.items():
        r = sentiment(shared, positive=name == "positive").correlation()
        ours = "plus" if r > 0 else "minus"
        lines.append(Line(f"sign of the correlation, {name} posterior", sign, ours, f"r = {r:.2f}; {NO_DIGITS}"))
    tables = tuple(
        Table(
            f"Ten words {name}",
            ("", "Printed", "Ours"),
            tuple(
                (str(index + 1), theirs, f"{word} ({'positive' if is_positive else 'negative'})")
                for index, (theirs, (word, is_positive)) in enumerate(zip(printed.WORDS[name], word_list, strict=True))
            ),
        )
        for name, word_list in zip(printed.WORDS, word_lists, strict=True)
    )
    about = "Words of a curated dictionary by their average distance to the drawn inputs. The dictionaries differ."
    return Exhibit("Table: closest and most distant words", about, tuple(lines), tables)
