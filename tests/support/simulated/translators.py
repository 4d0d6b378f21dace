"""Simulated translators that change pronouns with known probabilities."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from assay.catalog import occupations
from assay.methods import AnyMethod, OneHop, RoundTrip
from assay.model import Ask, Reply, Translate
from assay.statistics.bayes.transition import step_effects
from tests.support.simulated.base import Answer, SimulatedService, letter_of

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
PRONOUN = re.compile(r"\b(He|She)\b")
ARTICLE = re.compile(r"\b([Tt])he\b")


def round_trip_answer(
    to_he: Mapping[str, float], rng: np.random.Generator, to_it: Mapping[str, float] = MappingProxyType({})
) -> Answer:
    """Make a translator that writes he or it for each pronoun, with probabilities that depend on the pronoun.

    A sentence always gets the same answer, because chance is a hash of the sentence and of a number from `rng`.
    """
    salt = str(rng.integers(2**63))

    def back(sentence: str) -> str:
        def turned(found: re.Match[str]) -> str:
            seen = found[0].lower()
            return ("He", "She", "It")[_outcome(_chance(salt, sentence), to_he[seen], to_it.get(seen, 0.0))]

        return PRONOUN.sub(turned, sentence)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        if ask.target != "en":
            return Reply(ask.text.translate(THERE))
        return Reply(". ".join(back(sentence) for sentence in ask.text.translate(BACK).split(". ")))

    return answer


def one_hop_answer(
    to_he: Mapping[str, float], rng: np.random.Generator, to_it: Mapping[str, float] = MappingProxyType({})
) -> Answer:
    """Make a translator that draws the article by the side of the occupation, with probabilities for each side.

    The articles are Spanish; with `to_it` they are French, with both genders (``Le·la``) for it.
    """
    articles = ("Le ", "La ", "Le·la ") if to_it else ("El ", "La ")
    salt = str(rng.integers(2**63))
    sides = {one.name: one.side for one in occupations() if one.side}
    longest_first = sorted(sides, key=len, reverse=True)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        side = str(sides[next(name for name in longest_first if name in ask.text)])
        article = articles[_outcome(_chance(salt, ask.text), to_he[side], to_it.get(side, 0.0))]
        rest = ARTICLE.sub("", ask.text, count=1).translate(THERE)
        return Reply(f"{article}{rest.strip()}")

    return answer


def translator_service(
    step_1: float, step_2: float, seed: int, *, hop: bool = False, stop_early: bool = True
) -> SimulatedService:
    """Make a translator that changes pronouns: for balanced text its share of he is too large by `step_1`.

    Parameters
    ----------
    step_1 : float
        True distance of the output from balanced text, in total variation.
    step_2 : float
        True distance of the output from one-sided text.
    seed : int
        Seed of all random draws.
    hop : bool
        Whether `one-hop` rates the translator: sentences without a gender come back with a gendered article.
    stop_early : bool
        Whether the method may end at an interim look as soon as a letter is clear, as by default; otherwise all texts
        are shown.
    """
    rng = np.random.default_rng([seed, 6])
    # P(he | he) = a and P(he | she) = b: a balanced text gives (a + b) / 2, a one-sided text .9 a + .1 b or .1 a + .9 b
    middle, apart = 0.5 + step_1, max(0.0, step_2 - step_1) / 0.4
    to_he = {"he": min(1.0, middle + apart / 2), "she": max(0.0, middle - apart / 2)}
    truth_1 = abs((to_he["he"] + to_he["she"]) / 2 - 0.5)
    truth_2 = max(abs(share * to_he["he"] + (1 - share) * to_he["she"] - 0.5) for share in (0.1, 0.9))
    truths = {"effects.step_1": truth_1, "effects.step_2": truth_2}
    method: OneHop | RoundTrip = OneHop("gender") if hop else RoundTrip("gender", languages=("es",))
    if not stop_early:
        method = replace(method, texts_per_block=method.max_texts_per_block, stop_early=False)
    answer = one_hop_answer(to_he, rng) if hop else round_trip_answer(to_he, rng)
    if not hop:
        truths["rates.he.kept"] = to_he["he"]
    return SimulatedService(method, answer, letter_of(truth_1, truth_2, 0.1), truths)


def drawn_translator(seed: int, *, hop: bool = False) -> SimulatedService:
    """Make a translator whose probabilities of the outputs he, she and neither are drawn from the method's prior.

    The method may end at an interim look, and chance decides at which. So for services with one fixed effect, the
    coverage of intervals is higher or lower than stated. A posterior does not depend on the stopping rule, so for
    services drawn from the prior, the coverage equals the stated coverage.
    """
    rng = np.random.default_rng([seed, 7])
    language = "fr" if hop else "es"
    method: AnyMethod = (OneHop if hop else RoundTrip)("gender", languages=(language,))
    rows = ("he", "she")
    outputs = rng.dirichlet(np.full(3, 1 / 3), size=2)
    to_he, to_it = (dict(zip(rows, outputs[:, at].tolist(), strict=True)) for at in (0, 2))
    effects = step_effects(outputs[None], [[0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9]], neutral=hop)
    truths = {"effects.step_1": float(effects.step_1[0]), "effects.step_2": float(effects.step_2[0])}
    answer = one_hop_answer(to_he, rng, to_it) if hop else round_trip_answer(to_he, rng, to_it)
    return SimulatedService(method, answer, letter_of(truths["effects.step_1"], truths["effects.step_2"], 0.1), truths)


def _outcome(chance: float, to_he: float, to_it: float) -> int:
    """Draw the output for a pronoun: he (0), she (1) or neither (2)."""
    return 0 if chance < to_he else 2 if chance >= 1 - to_it else 1


def _chance(salt: str, sentence: str) -> float:
    digest = hashlib.blake2b(f"{salt}/{sentence.rstrip('. ')}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
