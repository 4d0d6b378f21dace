"""Relative negative sentiment bias (RNSB): whether a sentiment classifier scores some groups lower.

A logistic regression is trained on positive and negative words. Its probability that a protected word is
negative is the word's negative sentiment. If these are unequal, they diverge from the uniform distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import EvidenceError, OutOfBounds
from assay.model import Floats
from assay.statistics.embeddings.vector_sets import as_vectors
from assay.statistics.special import special

Constant = Literal["penalised", "free"]
"""Treatment of the classifier's constant.

``"penalised"``: the constant is penalised like a weight, as in LIBLINEAR, the default of scikit-learn when RNSB was
published, and still of wefe. ``"free"``: no penalty, as in scikit-learn's default (lbfgs) today. On the WEAT lists
the divergence is 10 to 70 % larger with ``"free"``.
"""

STEPS = 100
"""Maximum number of Newton steps; about six are usual."""

FLAT = 1e-9
"""Gradient, per unit of the data's scale, that counts as zero."""

HALVINGS = 60
"""Maximum number of times that a Newton step is halved."""

ROUNDING = 1e-12
"""Relative rise of the cost that counts as rounding."""


@dataclass(frozen=True)
class NegativeSentiment:
    """Result of RNSB."""

    value: float
    """Kullback-Leibler divergence, in nats, of the targets' normalised probabilities from the uniform distribution; 0
    if all targets have the same probability (even a high one)."""
    probabilities: tuple[float, ...]
    """Probability that each target is negative, in the order of the targets."""


def negative_sentiment_bias(
    positive: ArrayLike,
    negative: ArrayLike,
    targets: ArrayLike,
    *,
    strength: float = 1.0,
    constant: Constant = "penalised",
) -> NegativeSentiment:
    """Fit the classifier to sentiment words and compare its probabilities for the targets.

    Parameters
    ----------
    positive, negative : array_like, shape (words, dims)
        Vectors of words of known sentiment.
    targets : array_like, shape (words, dims)
        Vectors of the protected words of all groups; at least two.
    strength : float
        Weight C of the data against the penalty in ``(|w|**2 + b**2) / 2 + C sum log(1 + exp(-y (w x + b)))``,
        with y = 1 for negative words and -1 for positive ones.
    constant : {"penalised", "free"}
        Whether ``b**2`` is in the penalty.

    Raises
    ------
    TooFewObservations
        If a sentiment has no word, or there are fewer than two targets.
    OutOfBounds
        If `strength` is not positive, or the vectors differ in length.
    EvidenceError
        If a number is not finite, the fit does not converge, or all targets have a probability of zero.

    References
    ----------
    .. [1] Sweeney & Najafian (2019), "A transparent framework for evaluating unintended demographic bias in
       word embeddings", ACL.
    """
    if not 0 < strength < np.inf:
        raise OutOfBounds(f"the weight of the data must be a positive number, not {strength}", "strength")
    good = as_vectors(positive, "the positive words")
    bad = as_vectors(negative, "the negative words", dims=good.shape[1])
    target_vectors = as_vectors(targets, "the targets", least=2, dims=good.shape[1])
    words, is_negative = np.concatenate([good, bad]), np.repeat([0.0, 1.0], [len(good), len(bad)])
    # the optimal weights lie in the span of the words, so at most one unknown per word is needed
    span = np.linalg.svd(words, full_matrices=False)[2]
    penalty = np.append(np.ones(len(span)), 1.0 if constant == "penalised" else 0.0)
    weights = _fit_logistic(_with_constant(words @ span.T), is_negative, strength, penalty)
    probability = special.expit(_with_constant(target_vectors @ span.T) @ weights)
    if probability.sum() <= 0:
        raise EvidenceError("the classifier gives every target a probability of zero; there is nothing to compare")
    shares = probability / probability.sum()
    divergence = float(special.rel_entr(shares, 1 / shares.size).sum())
    return NegativeSentiment(max(0.0, divergence), tuple(probability.tolist()))


def _fit_logistic(design: Floats, labels: Floats, strength: float, penalty: Floats) -> Floats:
    """Maximise the penalised likelihood by Newton's method, one coefficient for each column."""
    flat = FLAT * max(1.0, strength * float(np.abs(design).sum(axis=0).max()))
    weights = np.zeros(design.shape[1])
    for _ in range(STEPS):
        fitted = special.expit(design @ weights)
        gradient = penalty * weights + strength * design.T @ (fitted - labels)
        if np.abs(gradient).max() <= flat:
            return weights
        curvature = np.diag(penalty) + strength * (design.T * (fitted * (1 - fitted))) @ design
        step = np.asarray(np.linalg.solve(curvature, gradient), dtype=float)
        weights = _descend(design, labels, strength, penalty, weights, step)
    raise EvidenceError(f"the sentiment classifier did not settle in {STEPS} steps; are the vectors on one scale?")


def _descend(design: Floats, labels: Floats, strength: float, penalty: Floats, start: Floats, step: Floats) -> Floats:
    """Return the weights after a Newton step, which is halved until the cost does not rise."""

    def cost(weights: Floats) -> float:
        score = design @ weights
        misfit = float((np.logaddexp(0.0, score) - labels * score).sum())
        return float(penalty @ weights**2) / 2 + strength * misfit

    ceiling = cost(start) * (1 + ROUNDING)
    for _ in range(HALVINGS):
        if cost(start - step) <= ceiling:
            break
        step = step / 2
    return start - step


def _with_constant(rows: Floats) -> Floats:
    return np.column_stack([rows, np.ones(len(rows))])
