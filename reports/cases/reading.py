"""Default reader of cases: observations whose units have a common beginning form one case."""

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
"""Kinds of cases without a usable answer; a case to which several apply has the first of them in this order."""

CANARY = "canary"
"""Prefix of the units of trial questions about one pair, which find out how a service can be asked. The answers are
copied to the same questions of the first component, and compared there."""

STEREOTYPE = ("the stereotype", "the opposite")
"""Names of the sides that an answer can take: for the stereotype (index 0) or against it (index 1)."""

Deciding = tuple[str, int]
"""Name of the component, and number of the step, of the effect that decided a letter."""

MAX_CHARACTERS = 1_500
"""Maximum number of characters of a question or an answer in a case; the CSV file has the whole text."""

LISTED = 12
"""Maximum number of entries of a list, such as a vector, that the text of a case shows."""

PAIR = 2
"""Number of items of a cell of a record: its name and its value."""

NOT_SHOWN = frozenset({"asks", "source", "target", "number", "model"})
"""Fields of a question that are not shown as part of its text."""


class Leg(NamedTuple):
    """A parsed observation: its number in the record, its role in the case, and its value or why it has none (`lost`).

    `value` has only what `CaseReader.read` needs, so that all observations of a large rating fit into memory.
    """

    seq: int
    role: str
    lost: CaseKind | None = None
    value: Any = None


class CaseReading(NamedTuple):
    """Judgement of a case by the rules of its method.

    `difference` is in the unit of the method's effect; `side` names the value, group or side with the higher score.
    `part` and `step` are the component and the step to whose effect the case contributes.
    """

    kind: CaseKind
    part: str | None = None
    step: int | None = None
    difference: float | None = None
    side: str | None = None


@dataclass(frozen=True)
class CaseText:
    """A text of a case, sent or returned; `answer` is the reply to it if it is a question."""

    name: str
    text: str
    lang: str | None = "en"
    answer: str | None = None
    answer_lang: str | None = None
    failure: str | None = None


class CaseReader:
    """Groups and judges the observations of one rating; `deciding` is the effect that decided its letter, if any."""

    target_writes: ClassVar[bool] = False
    """Whether the rated service writes the texts; otherwise an author may write them, and they are not judged."""
    paired = False
    """Whether the difference of a case can be computed from its own answers alone; only then can it be watched."""
    live = False
    """Whether `read` computes the difference from the observations; otherwise it takes it from the rating document."""

    def __init__(self, rating: RatingDocument, deciding: Deciding | None = None) -> None:
        self.rating, self.deciding = rating, deciding

    def split(self, observation: Observation) -> tuple[str, str]:
        """Return the key of an observation's case and the observation's role in it, from its unit (KEY/ROLE)."""
        unit = observation.probe.unit.partition(REPEATED)[0]
        key, _, role = unit.rpartition("/")
        return (key, role) if key else (unit, "")

    def leg(self, seq: int, key: str, role: str, observation: Observation) -> Leg:  # noqa: ARG002
        """Parse one observation of the case with this key."""
        return Leg(seq, role, missing_reason(observation))

    def read(self, key: str, legs: Sequence[Leg]) -> CaseReading:  # noqa: ARG002
        """Judge the case with this key from all its parsed observations."""
        return CaseReading(lost_kind(legs) or "answered")

    @property
    def first_side(self) -> str:
        """Name of the side that a positive number of `outcome` favours."""
        return STEREOTYPE[0]

    def outcome(self, difference: float | None, side: str | None) -> float | None:
        """Return a case's `difference`, made negative if `side` (of several, the first) is not `first_side`."""
        if difference is None or not side or side.split(", ")[0] == self.first_side:
            return difference
        return -difference

    def in_words(self, reading: CaseReading) -> str:
        """Return a phrase on the difference of a compared case, in the unit of its answers."""
        side = f", highest for “{reading.side}”" if reading.side else ""
        return f"difference {reading.difference:.3g}{side}"

    def texts(self, observations: Iterable[Observation]) -> list[CaseText]:
        """Return the texts of a case: its questions with their answers, without repeated questions."""
        first_times = [observation for observation in observations if REPEATED not in observation.probe.unit]
        return [question_and_answer(observation, self.split(observation)[1]) for observation in first_times]

    def part(self) -> ComponentDocument | None:
        """Return the component that decided the letter, or else the first one; ``None`` if there is none."""
        first_part = next(iter(self.rating.components), None)
        if self.deciding is None:
            return first_part
        component_name, _ = self.deciding
        return next((part for part in self.rating.components if part.name == component_name), first_part)


def missing_reason(observation: Observation) -> CaseKind | None:
    """Return why a reply is unusable: "not-asked", "refused", "failed", "not-understood"; ``None`` if it is usable."""
    failure, value = observation.reply.failure, observation.reply.value
    if failure is not None:
        if failure.code == BUDGET:
            return "not-asked"
        if refuses(failure.code):
            return "refused"
        return "not-understood" if failure.code in UNREADABLE else "failed"
    if value is None:
        return "not-understood"
    may_refuse = isinstance(value, str) and len(value) < MAX_CHARACTERS  # longer texts are answers
    return "refused" if may_refuse and refuses_in_words(value) else None


def lost_kind(legs: Iterable[Leg]) -> CaseKind | None:
    """Return why observations of a case are lost (of several kinds, the first in `LOST`); ``None`` if none is lost."""
    kinds = {leg.lost for leg in legs}
    return next((kind for kind in LOST if kind in kinds), None)


def kind_and_side(lead: float, side_names: tuple[str, str] = STEREOTYPE) -> tuple[CaseKind, str | None]:
    """Return ("towards", first side) for a `lead` above 0, ("against", second side) below 0, or else ("tie", None)."""
    if lead == 0:
        return "tie", None
    return ("towards", side_names[0]) if lead > 0 else ("against", side_names[1])


def question_key(ask: Ask) -> str:
    """Return what identifies a question: its text, first option or digest of its picture; empty for a record."""
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
            return text if isinstance(text, str) else ""  # a record is no text


def question_and_answer(observation: Observation, name: str) -> CaseText:
    """Return the question and the answer of an observation, as a `CaseText` with this `name`."""
    record, ask, failure = observation.as_json(), observation.probe.ask, observation.reply.failure
    lang, answer_lang = (ask.source, ask.target) if isinstance(ask, Translate) else ("en", None)
    question, answer = question_text(record["ask"]), answer_text(record)
    return CaseText(name, question, lang, answer, answer_lang, failure=None if failure is None else failure.code)


def chosen_option(options: Sequence[str], value: object) -> str | None:
    """Return the option that an answer chooses; ``None`` if it chooses none."""
    choice = value.get("choice") if isinstance(value, Mapping) else None
    return options[choice] if isinstance(choice, int) and choice in range(len(options)) else None


def answer_text(observation: Json) -> str | None:
    """Return the reply of an observation as one line, a choice as the text of its option; ``None`` without a reply."""
    value = observation["value"]
    option = chosen_option(observation["ask"].get("options", ()), value)
    return value_text(value) if option is None and value is not None else option


def question_text(ask: Json) -> str:
    """Return a question as one line; the word that fills a gap is in brackets."""
    if ask.get("asks") == "fill":
        return f"{ask['before']}[{ask['word']}]{ask['after']}"
    if ask.get("asks") == "choose":
        return f"{ask.get('text', '')} ({' / '.join(ask['options'])})".strip()
    if ask.get("asks") == "look":
        return ask["question"] or " / ".join(ask["labels"])
    fields = {name: value for name, value in ask.items() if name not in NOT_SHOWN and value not in (None, "")}
    return value_text(next(iter(fields.values())) if len(fields) == 1 else fields)


def value_text(value: object) -> str:
    """Format any JSON value as one line of text; records and scores become names with their values."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(
            f"{str(name).replace('_', ' ')} {value_text(field)}" for name, field in value.items() if field is not None
        )
    if isinstance(value, list | tuple):
        if value and all(isinstance(cell, list | tuple) and len(cell) == PAIR for cell in value):
            return value_text(dict(value))  # a record, stored as (name, value) pairs
        remainder = f" and {len(value) - LISTED:,} more" if len(value) > LISTED else ""
        return ", ".join(map(value_text, value[:LISTED])) + remainder
    text = str(value)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
