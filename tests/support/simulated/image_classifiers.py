"""Simulated image classifiers that assign labels with known log-odds.

The log-odds of the first label are the sum of a term's and a picture's value. Both are normal, about a mean that gives
the list of terms the wanted mean share. The true value is that mean share, because the terms and their pictures are
random samples.
"""

from __future__ import annotations

import math
from functools import cache
from hashlib import sha256
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, roots_hermitenorm

from assay.catalog.stereotypes import VisualWords
from assay.methods import VisualStereotype
from assay.methods.visual_stereotype.inputs import Picture
from assay.model import Ask, Failure, Look, Reply
from tests.support.simulated.base import SimulatedService, letter_of

NEUTRAL, TIED, PICTURES = 40, 20, 40
"""Number of generation terms in the neutral list and in each other list, and of pictures per term."""

TERMS_APART, PICTURES_APART = 0.7, 1.0
"""Standard deviations of the log-odds of terms, and of the pictures of a term.

Answers about one term then correlate by about .05; in the pairs that P4 publishes by .17 and .32. If terms are more
alike than the prior of the hierarchy expects, and pictures are few, its intervals are too wide: they cover .98 at
deviations of .4.
"""

UNDECIDED = 0.1
"""Share of pictures for which an answer in words names neither label."""

Kind = Literal["probabilities", "labels"]

LABELS = ("man", "woman")


def picture_service(
    step_1: float,
    step_2: float,
    seed: int,
    *,
    kind: Kind,
    common: float = 0.0,
    refused: float = 0.0,
    neutral: int = NEUTRAL,
    tied: int = TIED,
    shown: int = PICTURES,
    terms_apart: float = TERMS_APART,
) -> SimulatedService:
    """Make an image classifier with known preferences.

    Parameters
    ----------
    step_1 : float
        Share of the first label above one half, whatever is shown.
    step_2 : float
        Share of the label that a term is tied to, above one half.
    seed : int
        Seed of all random draws.
    kind : str
        ``probabilities`` of both labels; or ``labels``, an answer in words.
    common : float
        Further share of the first label for all terms that are tied to a label.
    refused : float
        Share of the pictures of the second list that the service refuses to label.
    neutral, tied, shown : int
        Number of neutral terms, of terms in each other list, and of pictures per term.
    terms_apart : float
        Standard deviation of the log-odds of terms.
    """
    rng = np.random.default_rng([seed, 8])
    words, pictures = _material(neutral, tied, shown)
    decided = 1 - UNDECIDED if kind == "labels" else 1.0
    ahead = {"neutral": step_1, "first": step_1 + common + step_2, "second": step_1 + common - step_2}
    centre = {role: _log_odds(0.5 + more / decided, terms_apart) for role, more in ahead.items()}
    of_term = {term: centre[role] + terms_apart * rng.normal() for term, role in words.roles.items()}
    own = PICTURES_APART * rng.normal(size=len(pictures))
    odds = {one.image: of_term[one.term] + float(more) for one, more in zip(pictures, own, strict=True)}
    drawn = dict(zip(odds, rng.random((len(odds), 2)).tolist(), strict=True))
    refuses = {one.image for one in pictures if words.roles[one.term] == "second" and rng.random() < refused}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Look)
        if ask.image in refuses:
            return Reply(failure=Failure("http-422", "refused"))
        share = float(expit(odds[ask.image]))
        if kind == "probabilities":
            return Reply({"scores": dict(zip(LABELS, (share, 1 - share), strict=True)), "text": None})
        silent, which = drawn[ask.image]
        if silent < UNDECIDED:
            return Reply({"scores": None, "text": "Somebody in a room."})
        return Reply({"scores": None, "text": f"It is a {LABELS[which > share]}."})

    method = VisualStereotype(words=(words,), pictures=pictures)
    truths = {
        "effects.step_1": abs(step_1),
        "effects.step_2": abs(step_2),
        "lists.neutral.posterior": 0.5 + step_1,
        "lists.first_terms.posterior": 0.5 + step_1 + common + step_2,
    }
    return SimulatedService(method, answer, letter_of(step_1, step_2, method.delta), truths)


@cache
def _material(neutral: int, tied: int, shown: int) -> tuple[VisualWords, tuple[Picture, ...]]:
    """Return the terms and pictures, which are the same for every service; only the answers differ."""
    first, second = (tuple(f"{role} term {place}" for place in range(tied)) for role in ("first", "second"))
    others = tuple(f"neutral term {place}" for place in range(neutral))
    words = VisualWords("gender", *LABELS, first, second, others, name="simulated")
    pictures = tuple(
        Picture(f"sha256:{sha256(f'{term}/{number}'.encode()).hexdigest()}", term)
        for number in range(shown)
        for term in words.roles
    )
    return words, pictures


@cache
def _log_odds(share: float, terms_apart: float) -> float:
    """Return the mean of normal log-odds whose mean share equals `share`."""
    at, weights = roots_hermitenorm(60)
    weights = weights / weights.sum()
    apart = math.hypot(terms_apart, PICTURES_APART)
    return float(brentq(lambda mean: float(weights @ expit(mean + apart * at)) - share, -30, 30))
