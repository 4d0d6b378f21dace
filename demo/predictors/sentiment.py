"""Sentiment scorers of known bias, as classifiers and as regressors.

A score in [0, 1] is the probability of ``positive``. The letters by docs/methods/alternation.md, for the catalog's
sentences about women and men and a tolerance of 0.1 standard deviations:

- ``fair-sentiment`` reads only the feeling. Step 1 finds no difference. But if one group's sentences have the
  pleasant feelings, the group's scores are higher: DSBS.
- ``blind-sentiment`` reads neither feeling nor person, but only the words around them, so an association of the
  two cannot affect its scores: UCS. A gap of 0 is hard to prove: its standard error is 1.6/sqrt(profiles) standard
  deviations, so declaring UCS takes the catalog's 1,536 profiles (``texts.most``), not 600.
- ``group-sentiment-P`` subtracts P/100 from the feeling's score if a sentence is about a woman: BS above the tolerance.
- ``age-sentiment-P`` and the like, for every attribute with words for people, subtract P/100 if a sentence is about
  people with the attribute's last value: BS by `alternation` for that attribute.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from assay.catalog import attribute
from assay.catalog.profiles import contents, frames, people
from assay.model import Letter
from demo.predictors.embedders import cues
from demo.predictors.prediction import TextScorer, above
from demo.translators.behaviours import chance

MIDDLE = 0.5
"""Score of a sentence without a feeling."""

MILDEST, STRONGEST = 0.15, 0.4
"""Smallest and largest distance of a feeling's score from the middle; a hash of the word decides."""

TOLERANCE = 0.1
"""Tolerance of alternation by default, in standard deviations of the score."""

_WORD = re.compile(r"[^\W\d_]+")
_SLOT = re.compile(r"\{\w+\}")


def words_of(text: str) -> tuple[str, ...]:
    """Split a text into words, in lower case."""
    return tuple(word.lower() for word in _WORD.findall(text))


@cache
def feelings() -> Mapping[str, float]:
    """Return the score of every feeling word: `MIDDLE`, plus or minus a distance from `MILDEST` to `STRONGEST`."""
    signs = {"pleasant": 1, "unpleasant": -1}
    return {
        word: MIDDLE + signs[side] * (MILDEST + (STRONGEST - MILDEST) * chance("feeling", word))
        for side, words in contents().items()
        for word in words
    }


@cache
def women() -> frozenset[str]:
    """Return the words that mark a sentence as one about a woman."""
    of_women, of_men = _gender_words()
    return frozenset(of_women - of_men) | {word for word, (_, side) in cues().items() if side > 0}


@cache
def surroundings() -> frozenset[str]:
    """Return the words of the sentence frames, and the words that name persons of both genders."""
    of_women, of_men = _gender_words()
    return frozenset(word for frame in frames() for word in words_of(_SLOT.sub(" ", frame))) | (of_women & of_men)


def _gender_words() -> tuple[set[str], set[str]]:
    persons = people(attribute("gender"))
    of_women, of_men = ({word for person in persons[side] for word in words_of(person)} for side in ("she", "he"))
    return of_women, of_men


def by_feeling(text: str) -> float:
    """Score a sentence by its first feeling."""
    return next((feelings()[word] for word in words_of(text) if word in feelings()), MIDDLE)


def by_surroundings(text: str) -> float:
    """Score a sentence by a hash of the words around person and feeling."""
    surrounding_words = " ".join(word for word in words_of(text) if word in surroundings())
    return MIDDLE + 2 * STRONGEST * (chance("surroundings", surrounding_words) - 0.5)


@cache
def persons_of(attribute_name: str) -> re.Pattern[str]:
    """Return a pattern that matches the words for people with the last value of an attribute."""
    *_, persons = people(attribute(attribute_name)).values()
    return re.compile("|".join(sorted(map(re.escape, persons), key=len, reverse=True)), re.IGNORECASE)


def attribute_scorer(percent: int, attribute_name: str) -> TextScorer:
    """Make the scorer that scores sentences about people with an attribute's last value lower, by `percent` points."""
    people_phrase = f"people of one {attribute_name}"
    pattern = persons_of(attribute_name)
    return _unequal_scorer(attribute_name, percent, people_phrase, lambda text: pattern.search(text) is not None)


def group(percent: int) -> TextScorer:
    """Make the scorer that scores sentences about women lower, by `percent` points of 100."""
    return _unequal_scorer(
        "group", percent, "sentences about women", lambda text: not women().isdisjoint(words_of(text))
    )


def _unequal_scorer(family: str, percent: int, people_phrase: str, is_about_them: Callable[[str], bool]) -> TextScorer:
    """Make the scorer of feelings that takes `percent` points of 100 off texts for which `is_about_them` is true."""
    return TextScorer(
        name=f"{family}-sentiment-{percent}",
        summary=f"Judges by the feeling, and takes {percent} points of 100 off {people_phrase}.",
        letter=above(percent / 100, TOLERANCE * float(np.std(list(feelings().values()))), Letter.BS, Letter.DSBS),
        number=lambda text: max(0.0, by_feeling(text) - percent / 100 * is_about_them(text)),
    )


FAIR = TextScorer(
    name="fair-sentiment", summary="Judges by the feeling alone, whoever has it.", letter=Letter.DSBS, number=by_feeling
)
BLIND = TextScorer(
    name="blind-sentiment",
    summary="Judges by the words around feeling and person, and reads neither.",
    letter=Letter.UCS,
    number=by_surroundings,
)
