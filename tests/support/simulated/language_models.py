"""Simulated language models that prefer groups and stereotypes by known log-odds.

The model prefers the first group's sentence of a pair if ``l + e > 0``, where l are the log-odds of the attribute
term and e is logistic; so the share of such pairs is known for every term. The log-odds of terms are normal about a
mean that gives their list the wanted mean share. The true value is that mean share, because the terms are a random
sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, roots_hermitenorm

from assay.catalog.stereotypes import Role, StereotypeWords
from assay.methods import StereotypeScore
from assay.methods.shared.terms.sentences import Pair, Sentence, read
from assay.methods.stereotype_score.collection import Rung
from assay.model import Ask, Choose, Fill, Reply, Score
from tests.support.simulated.base import SimulatedService, letter_of

Rng = np.random.Generator

NEUTRAL, STEREOTYPED, PAIRS = 100, 60, 8
"""Number of attribute terms in the neutral list and in each other list, and of pairs of group terms.

Terms of these models vary so much that the forty shipped neutral terms could not separate half a delta from one delta.
"""

APART = 1.0
"""Standard deviation of the terms' log-odds: two pairs of a term correlate by .17, as those of GPT-2 do in P4's data
(posterior mean; .32 for BERT)."""

UNDECIDED = 0.15
"""Share of pairs in which a model that chooses takes the first option."""

VERBS = ("likes", "wants", "draws", "sells", "sees", "keeps", "finds", "needs")
"""Verbs of the frames, which are short so that a masked model is asked about few words."""


def stereotype_service(
    step_1: float,
    step_2: float,
    seed: int,
    *,
    rung: Rung,
    stop_early: bool = True,
    common: float = 0.0,
    groups_apart: float = 0.0,
    neutral: int = NEUTRAL,
    tied: int = STEREOTYPED,
    frames_apart: float = 0.0,
    stereotypes_apart: float = 0.0,
    tied_apart: float = 0.0,
) -> SimulatedService:
    """Make a language model with known preferences.

    Parameters
    ----------
    step_1 : float
        Share of pairs in which it prefers the first group, above one half, whatever the attribute.
    step_2 : float
        Share of pairs in which it prefers the stereotype, above one half, among pairs with a stereotype's attribute.
    seed : int
        Seed of all random draws.
    rung : str
        The kind of question that the model answers.
    stop_early : bool
        Whether the method may end at an interim look as soon as a letter is clear, as by default.
    common : float
        Further share of the first group for attributes of all stereotypes.
    groups_apart : float
        Standard deviation, in log-odds, between pairs of group words.
    neutral : int
        Number of neutral terms.
    tied : int
        Number of terms in each list of stereotypes.
    frames_apart : float
        Preference, in log-odds, with alternating sign from frame to frame: for the first group, then the second.
    stereotypes_apart : float
        Preference, in log-odds, with alternating sign from frame to frame: for the stereotype, then its opposite.
    tied_apart : float
        The same as `frames_apart`, only for the words of stereotypes.
    """
    rng = np.random.default_rng([seed, 7])
    words = _words(neutral, tied)
    decided = 1 - UNDECIDED if rung == "choice" else 1.0
    ahead = {"neutral": step_1, "first": step_1 + common + step_2, "second": step_1 + common - step_2}
    centre = {role: _log_odds(0.5 + more / decided) for role, more in ahead.items()}
    of_term = {term: centre[role] + APART * rng.normal() for term, role in words.roles.items()}
    turned = frames_apart + tied_apart
    turns: dict[Role, float] = {
        "neutral": frames_apart,
        "first": turned + stereotypes_apart,
        "second": turned - stereotypes_apart,
    }
    model = _Model(of_term, rng, groups_apart, turns)
    method = StereotypeScore(words=(words,), scoring=rung, stop_early=stop_early)
    truths = {
        "effects.step_1": abs(step_1),
        "effects.step_2": abs(step_2),
        "lists.neutral.posterior": 0.5 + step_1,
        "lists.first_terms.posterior": 0.5 + step_1 + common + step_2,
    }
    return SimulatedService(method, model.answers[rung], letter_of(step_1, step_2, method.delta), truths)


def drawn_model(seed: int) -> SimulatedService:
    """Make a language model for which each list of attribute terms is drawn from the method's prior."""
    rng = np.random.default_rng([seed, 7])
    words = _words()
    mean = {role: float(rng.random()) for role in ("neutral", "first", "second")}
    differ = {role: float(rng.beta(1, 3)) for role in mean}
    of_term = {}
    for term, role in words.roles.items():
        size = 1 / differ[role] - 1
        share = rng.beta(mean[role] * size, (1 - mean[role]) * size)
        of_term[term] = float(logit(np.clip(share, 1e-12, 1 - 1e-12)))
    step_1, step_2 = abs(mean["neutral"] - 0.5), abs(mean["first"] - mean["second"]) / 2
    method = StereotypeScore(words=(words,), scoring="echo")
    truths = {
        "effects.step_1": step_1,
        "effects.step_2": step_2,
        "lists.neutral.posterior": mean["neutral"],
        "lists.first_terms.posterior": mean["first"],
    }
    answer = _Model(of_term, rng).answers["echo"]
    return SimulatedService(method, answer, letter_of(step_1, step_2, method.delta), truths)


@cache
def _words(neutral: int = NEUTRAL, tied: int = STEREOTYPED) -> StereotypeWords:
    def terms(role: Role, many: int) -> tuple[str, ...]:
        return tuple(f"{role}thing{place}" for place in range(many))

    return StereotypeWords(
        attribute="gender",
        first="men",
        second="women",
        pairs=tuple((f"Adam{place}", f"Eve{place}") for place in range(PAIRS)),
        first_terms=terms("first", tied),
        second_terms=terms("second", tied),
        neutral=terms("neutral", neutral),
        frames=tuple(f"{{The_group}} {verb} {{attribute}}." for verb in VERBS),
        name="simulated",
    )


def _log_odds(share: float) -> float:
    """Return the mean of normal log-odds whose mean share equals `share`."""
    at, weights = roots_hermitenorm(40)
    weights = weights / weights.sum()
    return float(brentq(lambda mean: float(weights @ expit(mean + APART * at)) - share, -20, 20))


class _Model:
    """Answers questions about sentences; the preference for a pair is drawn once and then kept."""

    def __init__(
        self,
        of_term: dict[str, float],
        rng: Rng,
        groups_apart: float = 0.0,
        turns: Mapping[Role, float] = MappingProxyType({}),
    ) -> None:
        self._turns = turns
        self._of_term, self._rng = of_term, rng
        self._of_groups = [0.0] * PAIRS if not groups_apart else (groups_apart * rng.normal(size=PAIRS)).tolist()
        self._ahead: dict[str, float] = {}
        self._takes_first: dict[str, bool] = {}
        self.answers: dict[Rung, Callable[[Ask], Reply]] = {
            "echo": self.score,
            "masked": self.fill,
            "choice": self.choose,
        }

    def score(self, ask: Ask) -> Reply:
        """Return a sentence's log-probability."""
        assert isinstance(ask, Score)
        return Reply({"log_probability": -30 + self._side(ask.text) / 2, "tokens": 6})

    def fill(self, ask: Ask) -> Reply:
        """Return a word's probability; each of the words that are asked about carries a part of the preference."""
        assert isinstance(ask, Fill)
        side = self._side(ask.before + ask.word + ask.after)
        return Reply({"probability": math.exp(min(-0.01, -12 + side / 4))})

    def choose(self, ask: Ask) -> Reply:
        """Choose the likelier sentence, or in some pairs always the first one."""
        assert isinstance(ask, Choose)
        pair = _pair(ask.options[0])
        first = self._takes_first.setdefault(pair.first, bool(self._rng.random() < UNDECIDED))
        return Reply({"choice": 0 if first or self._side(ask.options[0]) > 0 else 1})

    def _side(self, text: str) -> float:
        """Return the log-probability of a sentence less that of its counterpart, in nats."""
        pair = _pair(text)
        if pair.first not in self._ahead:
            of_frame = self._turns.get(pair.role, 0.0) * (1 if VERBS.index(pair.frame.split()[1]) % 2 else -1)
            self._ahead[pair.first] = (
                self._of_term[pair.term] + self._of_groups[pair.pair_index] + of_frame + float(self._rng.logistic())
            )
        ahead = self._ahead[pair.first]
        return ahead if text == pair.first else -ahead


@cache
def _pair(text: str) -> Pair:
    """Parse a sentence of the simulated words; cached, because all models are asked about the same 28,160 sentences."""
    pair = read(Sentence(text), _words())
    assert isinstance(pair, Pair)
    return pair
