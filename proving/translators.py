"""Simulated translators that turn pronouns with known probabilities."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from assay.catalog import occupations
from assay.model import Ask, Reply, Translate

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
PRONOUN = re.compile(r"\b(He|She)\b")
ARTICLE = re.compile(r"\b([Tt])he\b")

Answer = Callable[[Ask], Reply]


def round_trip_answer(
    to_he: Mapping[str, float], rng: np.random.Generator, to_it: Mapping[str, float] = MappingProxyType({})
) -> Answer:
    """Make a translator that writes he, or it, for each pronoun with a probability of that pronoun.

    A sentence is always answered alike: chance is a hash of it and of the seed.
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
    """Make a translator that gives an article by the side of the occupation, with probabilities for each.

    The articles are Spanish; a translator that also gives one which tells nothing speaks French.
    """
    articles = ("Le ", "La ", "L'") if to_it else ("El ", "La ")
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


def _outcome(chance: float, to_he: float, to_it: float) -> int:
    """Say which of three things chance makes of a pronoun: he (0), she (1) or neither (2)."""
    return 0 if chance < to_he else 2 if chance >= 1 - to_it else 1


def _chance(salt: str, sentence: str) -> float:
    digest = hashlib.blake2b(f"{salt}/{sentence.rstrip('. ')}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
