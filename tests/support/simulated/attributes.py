"""Services of known bias for any attribute and method: an unbiased one, and one with a planted effect on one group.

A service recognises a value by the words of the catalog. The rest of its answer is a hash of the question, so
that the same question gets the same answer. The planted effect is against the last value, or favours the first group.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from assay.catalog import attribute
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.decisions import mentioned
from assay.catalog.profiles import contents, people
from assay.methods.visual_stereotype.inputs import Picture
from assay.model import Ask, Classify, Embed, Look, Reply, Score, Translate
from store.ratings.experiment_json import parse_method
from tests.support.simulated.base import Answer, SimulatedService, letter_of
from tests.support.simulated.free_text import Writer
from tests.support.simulated.free_text import service as writing_service
from tests.support.simulated.questions import Answerer
from tests.support.simulated.questions import service as answering_service

PICTURES, DIMENSIONS = 12, 400
"""Number of pictures of each term, and of dimensions of a word space, so many that unrelated words are far apart."""


def chance(*parts: object) -> float:
    """Return a number in [0, 1) that is a hash of `parts`."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


@cache
def _people(name: str) -> tuple[re.Pattern[str], Mapping[str, str]]:
    """Return a regular expression that finds people of an attribute in a text, and the value of each person."""
    value_of = {person.lower(): value for value, words in people(attribute(name)).items() for person in words}
    longest_first = sorted(value_of, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))), value_of


def scorer(name: str, effect: float, seed: int, against: str = "") -> Answer:
    """Make a sentiment classifier of sentences; `effect` is subtracted for the value `against`, by default the last."""
    pattern, value_of = _people(name)
    side_of = {word: side for side, words in contents().items() for word in words}
    disliked = against or attribute(name).value_names[-1]

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Classify)
        text = str(ask.given).lower()
        match = pattern.search(text)
        assert match is not None, text
        rest = f"{text[: match.start()]}…{text[match.end() :]}"
        side = next(side_of[word] for word in re.findall(r"\w+", rest) if word in side_of)
        score = (0.6 if side == "pleasant" else 0.4) + 0.2 * (chance(seed, rest) - 0.5)
        score -= effect * (value_of[match[0]] == disliked)
        return Reply({"label": None, "scores": {"negative": 1 - score, "positive": score}})

    return answer


def translator(name: str, effect: float, seed: int) -> Answer:
    """Make a translator that, in a share `effect` of sentences about the last value, writes the first value's words."""
    values = attribute(name).values
    there, back = str.maketrans("aeiou", "eioua"), str.maketrans("eioua", "aeiou")
    slots = [slot for slot in values[0].forms if values[0].forms[slot] != values[-1].forms[slot]]

    def turned(sentence: str) -> str:
        if chance(seed, sentence.strip(" .")) >= effect:
            return sentence
        for slot in slots:
            sentence = re.sub(rf"\b{values[-1].forms[slot]}\b", values[0].forms[slot], sentence)
            sentence = re.sub(
                rf"\b{values[-1].forms[slot].capitalize()}\b", values[0].forms[slot].capitalize(), sentence
            )
        return sentence

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        if ask.target != "en":
            return Reply(ask.text.translate(there))
        return Reply(". ".join(turned(sentence) for sentence in ask.text.translate(back).split(". ")))

    return answer


def embedder(method: Any, effect: float, seed: int) -> Answer:
    """Make an embedder that moves all words but those for groups towards the first group, by `effect`."""
    words = method.words
    if isinstance(words, ChoiceWords):
        pairs = {
            cue: (index, sign) for index, pair in enumerate(words.cues) for cue, sign in zip(pair, (1, -1), strict=True)
        }
    else:
        assert isinstance(words, AssociationWords)
        lists = list(words.protected.values())
        pairs = {word: (0, sign) for words_of, sign in zip(lists, (1, -1), strict=False) for word in words_of}

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Embed)
        # the words of a pair of cues differ on the axis alone
        about = pairs[ask.text][0] if isinstance(words, ChoiceWords) and ask.text in pairs else ask.text
        rng = np.random.default_rng(int(2**32 * chance(seed, about)))
        content = rng.normal(size=DIMENSIONS)
        content -= content.mean()  # orthogonal to the axis of the groups, which is the diagonal of all dimensions
        content /= np.linalg.norm(content)
        on_axis = 0.7 * pairs[ask.text][1] if ask.text in pairs else effect + 0.01 * float(rng.normal())
        return Reply((np.sqrt(1 - on_axis**2) * content + on_axis * DIMENSIONS**-0.5).tolist())

    return answer


def sentence_scorer(method: Any, effect: float, seed: int) -> Answer:
    """Make a language model whose only preference, `effect` in log-odds, is for sentences about the first group."""
    place_of = {
        term.lower(): (index, sign)
        for words in method.words
        for index, pair in enumerate(words.pairs)
        for term, sign in zip(pair, (1, -1), strict=True)
    }
    longest_first = sorted(map(re.escape, place_of), key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(longest_first)})\b")

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Score)
        text = ask.text.lower()
        match = pattern.search(text)
        assert match is not None, ask.text
        pair, sign = place_of[match[0]]
        own = 4 * (chance(seed, pair, text[match.end() :]) - 0.5)  # the same for both sentences of a pair
        return Reply({"log_probability": -30 + sign * (own + effect) / 2, "tokens": 8})

    return answer


def viewer(method: Any, effect: float, seed: int) -> tuple[Any, Answer]:
    """Make pictures of all terms, and an image classifier that is `effect` more certain of the first label."""
    words = method.words[0]
    pictures = tuple(
        Picture(f"sha256:{hashlib.sha256(f'{term}/{number}'.encode()).hexdigest()}", term)
        for term in words.roles
        for number in range(PICTURES)
    )

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Look)
        share = min(0.99, 0.5 + effect + 0.2 * (chance(seed, ask.image) - 0.5))
        return Reply({"scores": dict(zip(words.labels, (share, 1 - share), strict=True)), "text": None})

    return replace(method, pictures=pictures), answer


EFFECTS: Mapping[str, float] = {
    "round-trip": 0.7,
    "alternation": 0.15,
    "stimulus-sampling": 0.25,
    "forced-choice": 0.25,
    "association": 0.25,
    "stereotype-score": 3.0,
    "visual-stereotype": 0.3,
    "free-text": 0.35,
    "questions": 0.5,
}
"""Planted effect for each method, well beyond its tolerance."""


def service_about(method_name: str, name: str, *, biased: bool, seed: int = 1) -> SimulatedService:
    """Make a service for a method and an attribute: unbiased, or with the method's planted effect."""
    effect = EFFECTS[method_name] if biased else 0.0
    fields = {"languages": ["es"]} if method_name == "round-trip" else {}
    method: Any = parse_method({"method": method_name, "attribute": name, **fields})
    if method_name == "free-text":
        disliked = mentioned(attribute(name), "explicit")[attribute(name).value_names[-1]]
        return writing_service(Writer(disliked, length=1 - effect), seed=seed, attribute=name)
    if method_name == "questions":
        return answering_service(Answerer(stereotyped=effect), seed=seed, attribute=name)
    if method_name == "visual-stereotype":
        method, answer = viewer(method, effect, seed)
    elif method_name in {"forced-choice", "association"}:
        answer = embedder(method, effect, seed)
    elif method_name == "stereotype-score":
        answer = sentence_scorer(method, effect, seed)
    else:
        answer = (translator if method_name == "round-trip" else scorer)(name, effect, seed)
    return SimulatedService(method, answer, letter_of(effect, 0.0, 0.05))
