"""Stereotype score of an image classifier: mean probability of the stereotyped label of each image (P4).

Images are made (or found) of *generation terms*, each tied to one of two target concepts T1 and T2. The score is
``(sum of P(T1 | g1) + sum of P(T2 | g2)) / images``, where g1 and g2 are the images whose term is tied to T1 and to T2.
Services that answer with a word instead of a probability are scored by whether the word is the stereotyped label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.errors import OutOfBounds, TooFewObservations, ZeroVariance
from assay.model import Floats, Integers, Interval
from assay.statistics.bayes.beta_binomial import SharesPosterior
from assay.statistics.bayes.stereotype_terms import (
    ANTI_STEREOTYPED,
    STEREOTYPED,
    fit_terms,
    score_choices,
)
from assay.statistics.intervals.crossed import LEAST_CLUSTERS, mean_draws
from assay.statistics.special import special

DRAWS = 4000


@dataclass(frozen=True)
class ImageTerm:
    """Images of one generation term: their number, and their mean probability of the stereotyped label."""

    term: str
    images: int
    score: float


@dataclass(frozen=True)
class VisualScore:
    """Scores by image, shape (images,), by term in the order in which terms first occur, and of the model.

    `model` is the mean over images (P4's formula), `over_terms` the mean over terms; they differ if terms have unequal
    numbers of images.
    """

    by_image: Floats
    by_term: tuple[ImageTerm, ...]
    model: float
    over_terms: float


@dataclass(frozen=True)
class ImagesPosterior:
    """Bootstrap of a mean over images that share generation terms; `mean` is the score."""

    mean: float
    _by_image: Floats
    _term: Integers

    def draw_overall(self, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Draw the score, shape (draws,), within [0, 1]."""
        samples = mean_draws(self._by_image[:, None], {"generation term": self._term}, rng, draws)[:, 0]
        return np.asarray(np.clip(samples, 0.0, 1.0))


def score_images(by_image: ArrayLike, terms: Sequence[str]) -> VisualScore:
    """Score images by the probability of the concept that their term is tied to.

    Parameters
    ----------
    by_image : array_like, shape (images,)
        Probability of the stereotyped label for each image, in [0, 1], or hard labels: 1, 0 or 1/2.
    terms : sequence of str, length images
        Generation term of each image.

    Raises
    ------
    TooFewObservations
        If there is no image.
    OutOfBounds
        If terms are not as many as images, or a probability lies outside [0, 1].

    References
    ----------
    .. [1] Jiang et al., "Empowering domain experts to detect social bias in generative AI with user-friendly
       interfaces", section 2, bias quantification for VQA models.
    """
    scores, names, of = _grouped(by_image, terms)
    counts = np.bincount(of)
    means = np.bincount(of, weights=scores) / counts
    by_term = tuple(
        ImageTerm(name, int(count), float(mean)) for name, count, mean in zip(names, counts, means, strict=True)
    )
    return VisualScore(scores, by_term, float(scores.mean()), float(means.mean()))


def fit_images(by_image: ArrayLike, terms: Sequence[str]) -> ImagesPosterior | SharesPosterior:
    """Bootstrap the score of probabilities over generation terms.

    Images of one term are alike, so whole terms are resampled (`assay.statistics.intervals.crossed`). If all images
    have the probability 1, or all have 0, there is no spread to resample; such answers are treated as hard labels, by
    the hierarchy over terms.

    The arguments and the errors are those of `score_images`.

    Raises
    ------
    TooFewObservations
        If there are fewer than five terms; hard labels need only two (`fit_terms`).
    ZeroVariance
        If all images have the same probability other than 0 or 1: hard labels would turn .6 into 1.
    """
    scores, names, of = _grouped(by_image, terms)
    if len(names) < LEAST_CLUSTERS:
        raise TooFewObservations(
            f"images of {len(names)} generation terms; how probabilities differ between terms needs {LEAST_CLUSTERS}"
        )
    if np.ptp(scores) == 0:
        if scores[0] in (STEREOTYPED, ANTI_STEREOTYPED):
            return fit_terms(score_choices(scores, terms, [""] * len(terms)).by_term)
        raise ZeroVariance(
            f"each of {len(scores)} images has the score {scores[0]:g}, which says nothing of how scores differ"
        )
    return ImagesPosterior(float(scores.mean()), scores, of)


def term_interval(by_image: ArrayLike, level: float = 0.95) -> Interval | None:
    """Compute the interval of the mean probability of one term, by Student's t over its images.

    Parameters
    ----------
    by_image : array_like, shape (images,)
        Scores of the images of one generation term.
    level : float
        Nominal coverage of the interval.

    Returns
    -------
    Interval or None
        Within [0, 1]; ``None`` for fewer than two images, which do not show how images differ.
    """
    scores = np.asarray(by_image, dtype=float)
    if scores.size < 2:
        return None
    mean, freedom = float(scores.mean()), scores.size - 1
    away = float(special.stdtrit(freedom, (1 + level) / 2) * scores.std(ddof=1) / np.sqrt(scores.size))
    return Interval(mean, max(0.0, mean - away), min(1.0, mean + away), level)


def _grouped(by_image: ArrayLike, terms: Sequence[str]) -> tuple[Floats, tuple[str, ...], Integers]:
    """Check scores and number their terms in the order in which they first occur."""
    scores = np.asarray(by_image, dtype=float)
    if scores.shape != (len(terms),):
        raise OutOfBounds(f"each image needs a score and a term, not {scores.shape} and {len(terms)} of them")
    if not scores.size:
        raise TooFewObservations("a score of no images does not exist")
    if not ((scores >= 0) & (scores <= 1)).all():
        raise OutOfBounds("the score of an image must be between 0 and 1")
    number = {term: at for at, term in enumerate(dict.fromkeys(terms))}
    return scores, tuple(number), np.array([number[term] for term in terms], dtype=np.int64)
