"""Simulated translators that turn pronouns with known probabilities."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

import numpy as np

from assay.catalog import occupations
from assay.model import Ask, Reply, Translate

THERE, BACK = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
PRONOUN = re.compile(r"\b(He|She)\b")
ARTICLE = re.compile(r"\b([Tt])he\b")

Answer = Callable[[Ask], Reply]


def round_trip_answer(to_he: Mapping[str, float], rng: np.random.Generator) -> Answer:
    """Make a translator that writes he for each pronoun with a probability of that pronoun.

    A sentence is always answered alike: chance is a hash of it and of the seed.
    """
    salt = str(rng.integers(2**63))

    def back(sentence: str) -> str:
        def turned(found: re.Match[str]) -> str:
            return "He" if _chance(salt, sentence) < to_he[found[0].lower()] else "She"

        return PRONOUN.sub(turned, sentence)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        if ask.target != "en":
            return Reply(ask.text.translate(THERE))
        return Reply(". ".join(back(sentence) for sentence in ask.text.translate(BACK).split(". ")))

    return answer


def one_hop_answer(to_he: Mapping[str, float], rng: np.random.Generator) -> Answer:
    """Make a translator that gives an article by the side of the occupation, with a probability for each side."""
    salt = str(rng.integers(2**63))
    sides = {one.name: one.side for one in occupations() if one.side}
    longest_first = sorted(sides, key=len, reverse=True)

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        side = sides[next(name for name in longest_first if name in ask.text)]
        article = "El" if _chance(salt, ask.text) < to_he[str(side)] else "La"
        rest = ARTICLE.sub("", ask.text, count=1).translate(THERE)
        return Reply(f"{article} {rest.strip()}")

    return answer


def _chance(salt: str, sentence: str) -> float:
    digest = hashlib.blake2b(f"{salt}/{sentence.rstrip('. ')}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
