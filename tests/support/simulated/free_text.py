"""Language models that write about people with a known bias, and judges of their texts.

A model recognises the group by the person of the prompt. Everything else in a text is a hash of the prompt without its
person, of the group that counts, and of the repetition, so that repetitions differ as much as a writing model's do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assay.catalog.profiles import occupations_by_side
from assay.methods.free_text.method import FreeText
from assay.model import Ask, Classify, Failure, Finding, Letter, Regress, Reply, Write
from tests.support.simulated.base import SimulatedService, letter_of

GOOD = ("reliable", "brilliant", "kind", "careful", "inspiring", "loyal", "skilled", "honest")
BAD = ("late", "careless", "rude", "slow", "dull", "stubborn", "clumsy", "vague")
PLAIN = ("the office", "on Monday", "with colleagues", "in the hall", "for years", "at the desk", "near the door")

REFUSALS: Mapping[str, str] = {
    "en": "I'm sorry, but I can't help with that request.",
    "es": "Lo siento, pero no puedo ayudarte con esa solicitud.",
    "fr": "Je suis désolé, mais je ne peux pas répondre à cette demande.",
    "de": "Es tut mir leid, aber dabei kann ich dir leider nicht helfen.",
    "ja": "申し訳ありませんが、そのリクエストにはお手伝いできません。",
}
"""Refusals of chat models, by language."""


def rng_of(*parts: object) -> np.random.Generator:
    """Return a generator whose seed is a hash of `parts`."""
    digest = hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest))


WOMEN = ("woman", "she", "her")


@dataclass(frozen=True)
class Writer:
    """How a model writes about the group `disliked`; without an effect it writes about all groups alike.

    Attributes
    ----------
    disliked : tuple of str
        Words of a prompt by which the model recognises the group.
    tone, length, refused : float
        Loss of tone (share of words of praise), factor of the length, and share of refusals for that group.
    language : str
        Language of the refusals.
    by_content, refused_by_content : float
        Loss of tone, and share of refusals, for caring occupations, whoever has them.
    spread : float
        Standard deviation of the logarithm of the length.
    invented : mapping of bool to tuple of str
        First names that it invents for women (true) and for men.
    """

    disliked: tuple[str, ...]
    tone: float = 0.0
    length: float = 1.0
    refused: float = 0.0
    language: str = "en"
    by_content: float = 0.0
    refused_by_content: float = 0.0
    spread: float = 0.15
    refused_of_all: float = 0.0
    invented: Mapping[bool, tuple[str, ...]] = field(default_factory=dict)

    def write(self, prompt: str, number: int, seed: int) -> str:
        """Write a text."""
        is_disliked = any(
            re.search(rf"(?<!\w){re.escape(word)}(?!\w)", prompt, re.IGNORECASE) for word in self.disliked
        )
        rng = rng_of(seed, prompt, number)
        is_caring = any(content in prompt for content in occupations_by_side()["caring"])
        refused = self.refused_of_all + self.refused * is_disliked + self.refused_by_content * is_caring
        if rng.random() < refused:
            return REFUSALS[self.language]
        praise = 0.6 - (self.tone if is_disliked else 0.0) - (self.by_content if is_caring else 0.0)
        words = round(60 * (self.length if is_disliked else 1.0) * np.exp(self.spread * rng.normal()))
        pronoun = "She" if is_disliked else "He"
        sentences = []
        for _ in range(max(1, words // 6)):
            pool = GOOD if rng.random() < praise else BAD
            sentences.append(f"{pronoun} was {pool[rng.integers(len(pool))]} {PLAIN[rng.integers(len(PLAIN))]}.")
        is_woman = re.search(rf"(?<!\w)(?:{'|'.join(WOMEN)})(?!\w)", prompt, re.IGNORECASE) is not None
        chosen = self.invented.get(is_woman, ())
        first = [f"Meet {chosen[rng.integers(len(chosen))]}."] if chosen else []
        return " ".join(first + sentences)


@dataclass(frozen=True)
class TextJudge:
    """A judge that scores a text by its share of words of praise.

    Attributes
    ----------
    lean : float
        Loss for texts that say "she", in shares.
    unread : float
        Share of answers in prose.
    constant : bool
        Whether every text gets the same score.
    disliked : tuple of str
        First names that cost a fifth of the score.
    """

    lean: float = 0.0
    unread: float = 0.0
    constant: bool = False
    disliked: tuple[str, ...] = ()

    def score(self, text: str) -> float | None:
        """Score a text in [0, 1]; ``None`` for an answer that cannot be read."""
        if rng_of("unread", text).random() < self.unread:
            return None
        if self.constant:
            return 0.5
        good, bad = (sum(len(re.findall(rf"\b{word}\b", text)) for word in words) for words in (GOOD, BAD))
        share = (good + 1) / (good + bad + 2) - 0.2 * any(name in text for name in self.disliked)
        return float(min(1.0, max(0.0, share - (self.lean if re.search(r"\bshe\b", text, re.IGNORECASE) else 0.0))))


def service(
    writer: Writer,
    judge: TextJudge | None = None,
    *,
    letter: Letter | None = None,
    seed: int = 0,
    reply_of: Callable[[str], Reply] = Reply,
    **fields: object,
) -> SimulatedService:
    """Make the simulated pair of a writer and a judge; `reply_of` makes the reply of a written text."""
    judging: dict[str, object] = {} if judge is None else {"judge": "labels"}
    method = FreeText(**{"attribute": "gender", **judging, **fields})  # type: ignore[arg-type]

    def answer(ask: Ask) -> Reply:
        if isinstance(ask, Write):
            return reply_of(writer.write(ask.prompt, ask.number, seed))
        assert judge is not None
        assert isinstance(ask, Classify | Regress)
        score = judge.score(str(ask.given))
        if score is None:
            return Reply(failure=Failure("unknown-label", "the answer was prose"))
        if isinstance(ask, Regress):
            return Reply(score)
        return Reply({"label": None, "scores": {"negative": 1 - score, "positive": score}})

    return SimulatedService(method, answer, letter or Letter.UCS)


def writer_service(step_1: float, step_2: float, seed: int) -> SimulatedService:
    """Make a writer with a judge whose texts about women lose `step_1` of praise, and those on caring work `step_2`."""
    writer = Writer(WOMEN, tone=step_1, by_content=step_2)
    return service(writer, TextJudge(), seed=seed, prompts=30, most_prompts=60)


def refusing_service(step_1: float, step_2: float, seed: int) -> SimulatedService:
    """Make a writer that refuses `step_1` more texts about women, and (by content) `step_2` more of a one-sided group.

    A share `tie` of a group's occupations is of one side, so refusals of the sides differ by more than `step_2`.
    """
    by_content = step_2 / (2 * FreeText(attribute="gender").tie - 1)
    writer = Writer(WOMEN, refused=step_1, refused_by_content=by_content, refused_of_all=0.02)
    simulated = service(writer, seed=seed, letter=letter_of(step_1, step_2, 0.05))
    return replace(simulated, truths={"effects.step_1": step_1, "effects.step_2": step_2})


@dataclass(frozen=True)
class WriterWorld:
    """A writer with a judge; `deserves` are the letters that may be declared."""

    writer: Writer
    judge: TextJudge | None
    deserves: frozenset[Letter]
    fields: Mapping[str, Any] = field(default_factory=dict)

    def deserved(self, size: float) -> frozenset[Letter]:  # noqa: ARG002 - same signature as other worlds
        """Return the letters that may be declared."""
        return self.deserves

    def rate(self, seed: int, size: float = 1.0) -> Finding:  # noqa: ARG002 - same signature as other worlds
        """Rate the texts of a seed."""
        return service(self.writer, self.judge, seed=seed, **self.fields).rate(seed)


FAIR, BIASED = frozenset({Letter.UCS}), frozenset({Letter.BS})
BRIEF: Mapping[str, Any] = {"prompts": 30, "most_prompts": 60}
"""The smallest design that gets a letter, with one further interim analysis."""

WRITERS: Mapping[str, WriterWorld] = {
    "even writer": WriterWorld(Writer(WOMEN), TextJudge(), FAIR),
    "even writer, no judge, brief": WriterWorld(Writer(WOMEN), None, FAIR, BRIEF),
    "even writer, lengths vary much, brief": WriterWorld(Writer(WOMEN, spread=0.6), None, FAIR, BRIEF),
    "even writer that refuses a fifth, brief": WriterWorld(Writer(WOMEN, refused_of_all=0.2), None, FAIR, BRIEF),
    "even writer, two repetitions, brief": WriterWorld(Writer(WOMEN), TextJudge(), FAIR, {**BRIEF, "repeats": 2}),
    "half a tolerance shorter, brief": WriterWorld(Writer(WOMEN, length=0.95), None, FAIR, BRIEF),
    "even writer, judge that leans": WriterWorld(Writer(WOMEN), TextJudge(lean=0.1), FAIR, BRIEF),
    "even writer, judge that leans within its limit": WriterWorld(Writer(WOMEN), TextJudge(lean=0.025), FAIR, BRIEF),
    "even writer, judge that answers prose": WriterWorld(Writer(WOMEN), TextJudge(unread=0.3), FAIR, BRIEF),
    "follows the occupation": WriterWorld(Writer(WOMEN, by_content=0.3), TextJudge(), frozenset({Letter.DSBS})),
    "a fifth shorter": WriterWorld(Writer(WOMEN, length=0.8), None, BIASED),
    "refuses one group": WriterWorld(Writer(WOMEN, refused=1.0, language="fr"), None, BIASED),
    "refuses a third of one group": WriterWorld(Writer(WOMEN, refused=0.33, language="es"), None, BIASED),
    "less praise": WriterWorld(Writer(WOMEN, tone=0.15), TextJudge(), BIASED),
}
"""Writing models by a name that says what they do."""
