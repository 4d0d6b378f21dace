"""Settings of a decision: what a language model is asked, and how its answer is read."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.catalog.decisions import decision as shipped_decision
from assay.catalog.sentences.translated import ENGLISH, sentence_table
from assay.errors import SpecificationError
from assay.model import COMPARED, FIRST, SECOND, Kind, Record
from workers.targets.auth.schemes import Strict

Reading = Literal["probabilities", "letters", "text"]
"""How an answer is read: probabilities of the labels' first tokens, lettered options in all rotations, or a text."""

PROMPT_SUFFIX = " (system prompt {number})"
"""Suffix of a label's name where there are several system prompts."""

_SLOT = re.compile(r"\{([^{}]+)\}")

System = Annotated[str, MinLen(1), MaxLen(20_000)]


@dataclass(frozen=True, kw_only=True)
class Decision(Strict):
    """Decision about one case at a time, which makes a language model a classifier or a regressor."""

    name: Annotated[str, MaxLen(100)] | None = None
    """Decision of the catalog, such as hiring; the other fields then have its texts, labels or range as defaults."""
    language: Annotated[str, MaxLen(20)] = ENGLISH
    """Language of the shipped texts of the decision, such as fr, and of our instruction how to answer."""
    system: System | Annotated[tuple[System, ...], MinLen(1), MaxLen(5)] | None = None
    """System prompt. Of several, as deployed, each gets a letter, and the worst leads (labels only)."""
    prompt: Annotated[str, MaxLen(20_000)] = ""
    """Question: {text} is the case; of a record, {column} is a cell, and {text} is the whole record as JSON. With
    {first} and {second} two documents are compared: labels are for the first, the second and, if given, a tie."""
    labels: Annotated[tuple[Annotated[str, MinLen(1), MaxLen(100)], ...], MaxLen(10)] = ()
    """Classifiers: the possible answers, two or more."""
    range: tuple[float, float] | None = None
    """Regressors: the lowest and the highest number that may be the answer."""
    answer: Annotated[str, MaxLen(2000)] | None = None
    """Instruction how to answer, after the prompt. By default ours, which names the labels or the range. An empty
    text: none, for prompts that say it themselves (read as text)."""
    reading: Literal["auto", "probabilities", "letters", "text"] = "auto"
    """How the answer is read; auto: the first of these that the service's answer to the first question allows."""
    tokens: Annotated[int, Ge(1), Le(100_000)] | None = 64
    """Most tokens of an answer; reasoning models need many. Null leaves the limit out."""

    def __post_init__(self) -> None:
        if self.name is not None:
            decision = shipped_decision(self.name, "decision.name", self.language)
            has_own_answers = bool(self.labels) or self.range is not None  # then the shipped ones are both dropped
            filled_fields = {
                "system": self.system or decision.system,
                "prompt": self.prompt or decision.prompt,
                "labels": self.labels if has_own_answers else decision.labels,
                "range": self.range if has_own_answers else decision.range,
            }
            for name, value in filled_fields.items():
                object.__setattr__(self, name, value)  # since the dataclass is frozen
        self._check_language()
        if not _SLOT.search(self.prompt):
            raise SpecificationError("prompt must hold {text} or the {column}s of the record", "decision.prompt")
        if bool(self.labels) == (self.range is not None):
            raise SpecificationError("give two or more labels, or a range of numbers, not both", "decision.labels")
        folded_labels = {label.casefold() for label in self.labels}
        if self.labels and (len(self.labels) < 2 or len(folded_labels) < len(self.labels)):
            raise SpecificationError("labels must be two or more, all different", "decision.labels")
        if self.compares and (not 2 <= len(self.labels) <= len(COMPARED) or len(self.systems) > 1):
            message = "a comparison has labels for the first document, the second and a tie, and one system prompt"
            raise SpecificationError(message, "decision.labels")
        if self.range is not None and not self.range[0] < self.range[1]:
            raise SpecificationError("range must be a lower and a higher number", "decision.range")
        if self.range is not None and len(self.systems) > 1:
            raise SpecificationError("a number has one system prompt; rate each prompt by itself", "decision.system")
        if self.range is not None and self.reading not in {"auto", "text"}:
            raise SpecificationError("a number is read as text", "decision.reading")

    def _check_language(self) -> None:
        """Raise `SpecificationError` if there is no instruction for answers in the decision's language."""
        if self.language != ENGLISH:
            sentence_table(self.language, "decision.language")  # raises for an unknown language
            if not self.labels:
                raise SpecificationError("numbers are asked for in English; leave language out", "decision.language")

    @property
    def compares(self) -> bool:
        """Whether the prompt holds two documents to compare."""
        return {FIRST, SECOND} <= set(_SLOT.findall(self.prompt))

    @property
    def systems(self) -> tuple[str, ...]:
        """System prompts, at least one; an empty text stands for no prompt."""
        return (self.system or "",) if self.system is None or isinstance(self.system, str) else self.system

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Ways to read an answer, in the order in which they are tried."""
        if self.range is not None or self.answer == "":
            return ("text",)
        return ("probabilities", "letters", "text") if self.reading == "auto" else (self.reading,)

    @property
    def most_calls(self) -> int:
        """Maximum number of calls for one question, once it is known which way to read answers works."""
        return len(self.systems) * (len(self.labels) if "letters" in self.readings else 1)

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` if the decision does not fit the target's kind."""
        expected = Kind.CLASSIFIER if self.labels else Kind.REGRESSOR
        if kind is not expected:
            answer_noun = "labels" if self.labels else "a number"
            raise SpecificationError(f"the decision returns {answer_noun}: the kind is {expected}, not {kind}", "kind")

    def question(self, content: str | Record) -> str | None:
        """Return the prompt about a case; ``None`` if the case has no value for one of the slots in the prompt."""
        values: Mapping[str, str] = {"text": content} if isinstance(content, str) else _cells_as_text(content)
        if not all(name in values for name in _SLOT.findall(self.prompt)):
            return None
        return _SLOT.sub(lambda slot: values[slot[1]], self.prompt)

    def instruction(self, reading: Reading) -> str:
        """Return the instruction that tells the model how to answer."""
        if self.answer is not None:
            return self.answer
        if self.range is not None:
            low, high = (f"{bound:g}" if abs(bound) < 1e6 else f"{bound:.0f}" for bound in self.range)  # no exponent
            return f"Answer with one number from {low} to {high} only, without a unit and without separators."
        if self.language != ENGLISH:
            instructions = sentence_table(self.language)["instructions"]
            template = str(instructions["letter" if reading == "letters" else "label"])
            return template.format(labels=", ".join(self.labels))
        if reading == "letters":
            return "Answer with one letter only: the letter of the option that you choose."
        return f"Answer with exactly one of these, and nothing else: {', '.join(self.labels)}."

    def output_names(self, system_index: int) -> Mapping[str, str]:
        """Return the name of each label in the scores; with several system prompts, it contains the prompt's number."""
        if self.compares:
            return dict(zip(self.labels, COMPARED, strict=False))  # the last one, a tie, may have no label
        suffix = PROMPT_SUFFIX.format(number=system_index + 1) if len(self.systems) > 1 else ""
        return {label: f"{label}{suffix}" for label in self.labels}


def _cells_as_text(record: Record) -> dict[str, str]:
    cells = {name: "" if cell is None else str(cell) for name, cell in record}
    return {"text": json.dumps(dict(record), ensure_ascii=False), **cells}
