"""Classifiers of texts that label groups alike on average, but change labels with attribute, person or chance.

They are deterministic except those that turn labels by chance. A share of the labels changes under the swap, in both
directions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from assay.catalog import attribute
from assay.catalog.profiles import people
from assay.experiment import generator, run
from assay.methods import Alternation
from assay.methods.shared.profiles import TextProfiles, text_cases
from assay.model import Classify, Finding, Letter, Probe, Reply
from tests.support.simulated.hidden_bias import chance, held

PERSONS = {word.lower(): value for value, words in people(attribute("gender")).items() for word in words}

Turned = Callable[[str, str, np.random.Generator], bool]
"""Returns whether a service changes the label of a sentence (without its person) for a person, "value/person"."""


@cache
def _ranks(service: str) -> Mapping[str, float]:
    """Return the rank, from 0 to 1, that a service gives to each sentence of the catalog without its person."""
    cases = text_cases(TextProfiles().filled_in("gender"), generator(0))
    texts = [str(case.versions[0]).lower() for case in cases]
    rests = sorted({text.replace(held(text, PERSONS)[0], "") for text in texts}, key=lambda rest: chance(service, rest))
    return {f"{service}: {rest}": (index + 0.5) / len(rests) for index, rest in enumerate(rests)}


def by_sentence(share: float, value: str = "she") -> Turned:
    """Change the label of one group (`value`) in exactly this share of the catalog's sentences."""

    def turned(rest: str, who: str, _: np.random.Generator) -> bool:
        return who.startswith(f"{value}/") and _ranks(rest.partition(": ")[0])[rest] < share

    return turned


def by_sentence_and_person(share: float) -> Turned:
    """Change the label of women in a share of the combinations of sentence and person."""
    return lambda rest, who, _: who.startswith("she/") and chance(rest, who) < share


def by_name(share: float) -> Turned:
    """Change labels by sentence and person, so that two persons get different labels in `share` of the sentences."""
    return lambda rest, who, _: chance(rest, who) < _either(share)


def by_chance(share: float) -> Turned:
    """Change labels at random, so that two answers differ in `share` of the sentences."""
    return lambda _, __, rng: bool(rng.random() < _either(share))


def cached(turned: Turned) -> Turned:
    """Return `turned` with a cache, so that repeated questions get the first answer."""
    answers: dict[tuple[str, str], bool] = {}

    def answer(rest: str, who: str, rng: np.random.Generator) -> bool:
        if (rest, who) not in answers:
            answers[rest, who] = turned(rest, who, rng)
        return answers[rest, who]

    return answer


def _either(share: float) -> float:
    """Return the probability of each of two independent turns of which exactly one happens with probability `share`."""
    return float((1 - (1 - 2 * share) ** 0.5) / 2)


def turning_classifier(
    turned: Turned, seed: int, labels: int = 2, persons: Mapping[str, str] = PERSONS
) -> Callable[[Probe], Reply]:
    """Return the answers of a classifier whose label depends on the sentence, unless `turned` changes it."""
    rng = np.random.default_rng([seed, 8])

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Classify)
        text = str(probe.ask.given)
        person, value = held(text.lower(), persons)
        rest = text.lower().replace(person, "")
        label = int(labels * chance("label", rest))
        if turned(f"{seed}: {rest}", f"{value}/{person}", rng):
            label = (label + 1 + int((labels - 1) * chance("to", rest))) % labels
        return Reply({"label": f"label {label}", "scores": None})

    return answer


@dataclass(frozen=True)
class TextWorld:
    """A classifier as a world of `make calibrate`; `turned` is made anew for each rating, because caches fill."""

    turned: Callable[[], Turned]
    deserves: frozenset[Letter]

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - same signature as other worlds
        """Return the letters that may be declared."""
        return self.deserves

    def rate(self, seed: int, size: float = 1.0, **fields: Any) -> Finding:  # noqa: ARG002
        """Rate the classifier of a seed."""
        return run(Alternation("gender", answers="labels", **fields), turning_classifier(self.turned(), seed), seed)


def _world(turned: Callable[[float], Turned], share: float, *deserves: Letter) -> TextWorld:
    return TextWorld(lambda: turned(share), frozenset(deserves))


SINGLE_TEXTS: Mapping[str, TextWorld] = {
    f"single texts, {share:.0%} of labels change {how}": _world(turned, share, *deserves)
    for how, turned, deserves in (
        ("with the group, by sentence", by_sentence, (Letter.BS,)),
        ("with the group, by sentence and person", by_sentence_and_person, (Letter.BS,)),
        ("with the person, of either group", by_name, (Letter.UCS, Letter.DSBS)),
        ("by chance", by_chance, (Letter.UCS, Letter.DSBS)),
        ("by chance, then from a cache", lambda share: cached(by_chance(share)), (Letter.UCS, Letter.DSBS)),
    )
    for share in (0.15, 0.3, 0.5)
}
"""Classifiers of texts by name."""
