"""Reading of one case. By default, observations with a common beginning of their unit are one case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from assay.catalog.answer_text import refuses_in_words
from assay.document import ComponentDocument, Json, RatingDocument
from assay.experiment import BUDGET
from assay.methods.shared.answers.tally import UNREADABLE, refuses
from assay.model import REPEATED, Ask, Choose, Draw, Fill, Look, Observation, Translate, Write

CaseKind = Literal[
    "changed",
    "kept",
    "towards",
    "against",
    "tie",
    "answered",
    "refused",
    "failed",
    "not-understood",
    "not-asked",
    "written",
    "canary",
]

KINDS: Mapping[CaseKind, str] = {
    "changed": "the value or the answer changed",
    "kept": "nothing changed beyond the limit",
    "towards": "on the side of the stereotype, or of the first group",
    "against": "on the other side",
    "tie": "on neither side",
    "answered": "answered, and on neither side by itself",
    "refused": "the service refused",
    "failed": "a call failed",
    "not-understood": "the answer cannot be read",
    "not-asked": "not asked, because the budget was used up",
    "written": "made by the author for the questions",
    "canary": "asked only to find out how the service can be asked",
}
"""Meaning of each kind of case; lists of kinds have this order."""

LOST: tuple[CaseKind, ...] = ("not-asked", "refused", "failed", "not-understood")
"""Kinds of cases without a usable answer, the first one first if several apply."""

CANARY = "canary"
"""Beginning of the units of the first questions, about one pair, which find out how a service can be asked.

The answers to them are copied to the same questions of the first component, and compared there.
"""

STEREOTYPE = ("the stereotype", "the opposite")
"""Sides of a stereotype."""

Deciding = tuple[str, int]
"""The component and the step of the effect that decided a letter."""

MAX_CHARACTERS = 1_500
"""Maximum number of characters of a question or an answer in a case; the CSV file has the whole text."""

LISTED = 12
"""Maximum number of entries that are shown of a list of numbers, such as a vector."""

PAIR = 2
"""Length of a cell of a record: its name and its value."""

OWN = frozenset({"asks", "source", "target", "number", "model"})
"""Parts of a question that are not shown as its text."""


class Leg(NamedTuple):
    """One observation of a case, read: the rest of its unit, and its value or why it has none.

    `value` is small, so that all legs of a rating fit into memory.
    """

    seq: int
    role: str
    lost: CaseKind | None = None
    value: Any = None


class CaseReading(NamedTuple):
    """A case as its method reads it.

    `difference` is its size in the unit of the method's effect; `side` names the value, group or side with the higher
    score; `step` is the step for whose effect the case counts.
    """

    kind: CaseKind
    part: str | None = None
    step: int | None = None
    difference: float | None = None
    side: str | None = None


@dataclass(frozen=True)
class CaseText:
    """A text of a case: what was sent or came back; `answer` is the reply to it, if it is a question."""

    name: str
    text: str
    lang: str | None = "en"
    answer: str | None = None
    answer_lang: str | None = None
    failure: str | None = None


class CaseReader:
    """Reads the cases of one rating; `deciding` is the effect that decided its letter, if it has one."""

    target_writes: ClassVar[bool] = False
    """Whether the rated service wrote the texts. If an author wrote them, they are not listed as cases."""

    def __init__(self, rating: RatingDocument, deciding: Deciding | None = None) -> None:
        self.rating, self.deciding = rating, deciding

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return the key of an observation's case, and its role in the case."""
        unit = observation.probe.unit.partition(REPEATED)[0]
        key, _, role = unit.rpartition("/")
        return (key, role) if key else (unit, "")

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:  # noqa: ARG002
        """Read one observation of a case."""
        return Leg(seq, role, missing_reason(observation))

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:  # noqa: ARG002
        """Read a case whose observations are all read."""
        return CaseReading(lost_kind(legs) or "answered")

    def in_words(self, reading: CaseReading) -> str:
        """Return the difference of a compared case in words, in the unit of its answers."""
        side = f", highest for “{reading.side}”" if reading.side else ""
        return f"difference {reading.difference:.3g}{side}"

    def texts(self, observations: Iterable[Observation]) -> list[CaseText]:
        """Return the texts of a case: its questions with their answers, without repeated questions."""
        return [
            question_and_answer(observation, self.split(observation)[1])
            for observation in observations
            if REPEATED not in observation.probe.unit
        ]

    def part(self) -> ComponentDocument | None:
        """Return the component that decided, or else the first one."""
        parts = self.rating.components
        return next(
            (part for part in parts if self.deciding and part.name == self.deciding[0]), parts[0] if parts else None
        )


def missing_reason(observation: Observation) -> CaseKind | None:
    """Return why an observation has no usable reply; ``None`` if it has a reply that can be read."""
    failure, value = observation.reply.failure, observation.reply.value
    if failure is not None:
        if failure.code == BUDGET:
            return "not-asked"
        return "refused" if refuses(failure.code) else "not-understood" if failure.code in UNREADABLE else "failed"
    if value is None:
        return "not-understood"
    return "refused" if isinstance(value, str) and len(value) < MAX_CHARACTERS and refuses_in_words(value) else None


def lost_kind(legs: Iterable[Leg]) -> CaseKind | None:
    """Return the kind of a case some of whose observations are lost; ``None`` if none is."""
    kinds = {leg.lost for leg in legs}
    return next((kind for kind in LOST if kind in kinds), None)


def question_key(ask: Ask) -> str:
    """Return the text by which a question is found: its whole text, or the digest of its picture."""
    match ask:
        case Look():
            return ask.image
        case Choose():
            return ask.options[0]
        case Fill():
            return f"{ask.before}{ask.word}{ask.after}"
        case Write() | Draw():
            return ask.prompt
        case _:
            text = getattr(ask, "text", getattr(ask, "given", ""))
            return text if isinstance(text, str) else ""


def question_and_answer(observation: Observation, name: str) -> CaseText:
    """Return a question with its answer as text."""
    record, ask = observation.as_json(), observation.probe.ask
    failure = observation.reply.failure
    source, target = (ask.source, ask.target) if isinstance(ask, Translate) else ("en", None)
    code = None if failure is None else failure.code
    return CaseText(name, question_text(record["ask"]), source, answer_text(record), target, code)


def chosen_option(options: Sequence[str], value: object) -> str | None:
    """Return the option that an answer chooses; ``None`` if it chooses none."""
    choice = value.get("choice") if isinstance(value, Mapping) else None
    return options[choice] if isinstance(choice, int) and choice in range(len(options)) else None


def answer_text(observation: Json) -> str | None:
    """Return the reply of an observation as one line: a chosen option in words; ``None`` if it has none."""
    value = observation["value"]
    option = chosen_option(observation["ask"].get("options", ()), value)
    return option if option is not None else None if value is None else value_text(value)


def question_text(ask: Json) -> str:
    """Return a question as one line; the word that fills a gap is in brackets."""
    if ask.get("asks") == "fill":
        return f"{ask['before']}[{ask['word']}]{ask['after']}"
    if ask.get("asks") == "choose":
        return f"{ask.get('text', '')} ({' / '.join(ask['options'])})".strip()
    if ask.get("asks") == "look":
        return ask["question"] or " / ".join(ask["labels"])
    fields = {name: value for name, value in ask.items() if name not in OWN and value not in (None, "")}
    return value_text(next(iter(fields.values())) if len(fields) == 1 else fields)


def value_text(value: object) -> str:
    """Return any JSON value as one line of text; records and scores as names with their values."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(
            f"{str(name).replace('_', ' ')} {value_text(field)}" for name, field in value.items() if field is not None
        )
    if isinstance(value, list | tuple):
        if value and all(isinstance(cell, list | tuple) and len(cell) == PAIR for cell in value):
            return value_text(dict(value))
        more = f" and {len(value) - LISTED:,} more" if len(value) > LISTED else ""
        return ", ".join(map(value_text, value[:LISTED])) + more
    text = str(value)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
