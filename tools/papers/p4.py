"""Jiang et al., BiasTestGPT: scores of two language models on the authors' own 739 pairs of sentences.

The data call a specification `group` and an attribute term `group_term`; labels name the stereotyped sentence of a
pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from assay.statistics.bayes.beta_binomial import SharesPosterior
from assay.statistics.bayes.stereotype_terms import StereotypeScore, fit_terms, preferred, score_choices
from reports import charts
from reports.view import Forest, Mark, Span
from tools.papers import printed
from tools.papers.exhibits import Absent, Exhibit, Line, Paper
from tools.papers.shared_data import Shared

MODELS = ("gpt2", "bert-base-uncased")
PLAIN_WHY = "the published score is the unweighted mean over (bias, term) groups, not over pairs"


@dataclass(frozen=True)
class Pair:
    """Scores of both sentences of a pair, with its bias and term, and the authors' decision."""

    bias: str
    term: str
    stereotyped: float
    anti_stereotyped: float
    preferred: float

    @classmethod
    def of(cls, row: dict[str, str]) -> Pair:
        """Read a row; its "top" sentence has the higher score, and its labels name the stereotyped one."""
        term_of = {row["label_1"]: row["att_term_1"], row["label_2"]: row["att_term_2"]}
        scores = {row["top_term"]: float(row["top_logit"]), row["bottom_term"]: float(row["bottom_logit"])}
        stereotyped, anti_stereotyped = (scores[term_of[label]] for label in ("stereotype", "anti-stereotype"))
        return cls(row["group"], row["group_term"], stereotyped, anti_stereotyped, float(row["stereotyped"]))


@cache
def rows(shared: Shared, model: str) -> tuple[dict[str, str], ...]:
    """Read the authors' results of a model, a row for each pair."""
    return tuple(shared.rows(f"biastestgpt/pairs/{model}.csv.gz"))


@cache
def pairs(shared: Shared, model: str) -> tuple[Pair, ...]:
    """Return the pairs of a model with the scores of both sentences."""
    return tuple(map(Pair.of, rows(shared, model)))


@cache
def scored(shared: Shared, model: str) -> StereotypeScore:
    """Decide every pair by its two scores, and score terms, biases and the model."""
    model_pairs = pairs(shared, model)
    preferences = [preferred(pair.stereotyped - pair.anti_stereotyped) for pair in model_pairs]
    return score_choices(preferences, [pair.term for pair in model_pairs], [pair.bias for pair in model_pairs])


@cache
def posterior(shared: Shared, model: str) -> SharesPosterior:
    """Fit the hierarchy over terms."""
    return fit_terms(scored(shared, model).by_term)


# ---------------------------------------------------------------------------- the page
def paper(shared: Shared) -> Paper:
    """Compute everything of the paper that can be computed here."""
    absent = (
        Absent("Figures 1 to 8", "pictures of user interfaces and workflows"),
        Absent("Scores of BiasTestVQA", "no image or image model is here; the paper prints none"),
        Absent("Other language models", "the authors published results of GPT-2 and of BERT only"),
    )
    return Paper("P4", printed.P4, tuple(_model(shared, model) for model in MODELS), absent)


def _model(shared: Shared, model: str) -> Exhibit:
    published, result = printed.scores(shared)[model], scored(shared, model)
    overall = posterior(shared, model).overall
    lines = (
        Line("score of the model", published["published_model_bias"], result.model, digits=4),
        Line("plain mean over pairs", published["published_model_bias"], result.over_pairs, PLAIN_WHY, digits=4),
        Line("posterior mean of the hierarchy", published["published_model_bias"], overall.estimate,
             f"ours has an interval: {overall.low:.3f} to {overall.high:.3f}", digits=4),
        *(Line(bias, score, result.by_bias[bias], digits=4) for bias, score in published["published_per_bias"].items()),
    )  # fmt: skip
    kinds = ("ours", "printed")
    marks = tuple(
        Mark(bias, (Span(result.by_bias[bias]), Span(score))) for bias, score in published["published_per_bias"].items()
    )
    title = f"Score by specification, {model}"
    table = charts.forest_table(title, "Bias", marks, kinds)
    forest = Forest(title, "share of stereotyped choices", marks, table, kinds, 0.5)
    about = f"{result.by_pair.size} pairs of sentences, decided by the log-probabilities that the authors recorded."
    return Exhibit(f"Stereotype scores of {model}", about, lines, pictures=(forest,))
