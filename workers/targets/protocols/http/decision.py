"""A decision: what a language model is asked, and the reading of its answer.

Reading is strict: an answer that is not clearly one of the labels, or one number within the range, is none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.catalog.answer_text import label_key, normalise_answer, plain_label, refuses_in_words
from assay.catalog.decisions import decision as shipped_decision
from assay.catalog.sentences.translated import ENGLISH, sentence_table
from assay.errors import SpecificationError
from assay.model import COMPARED, FIRST, SECOND, Kind, Record
from workers.targets.auth.schemes import Strict
from workers.targets.parsing.written_numbers import NumberForm, plain_number, written_number
from workers.targets.protocols.http.choice_letters import LEAST_SHARE, Likelihoods, letter_in, negates, without_thoughts

LONGEST = 4000
"""Maximum length of an answer in which a label is searched for, in characters."""

MOST_UNCLEAR = 0.05
"""Largest probability of tokens that may begin a label or several, where the others are read."""

LEAST_PREFIX = 2
"""Minimum number of characters of a token that begins a label: "I" begins "invite" and also "I cannot"."""

_CUE = (
    r"(?:answer|response|decision|verdict|label|recommendation|conclusion|respuesta|decisi[oó]n|antwort|entscheidung|r[eé]ponse"
    r"|d[eé]cision|risposta|decisione|resposta|decisão)"
)
_LETTER = re.compile(r"\A[\W_]*[A-Z][.):\s*_]+")
_FENCE = re.compile(r"\A(?:```|''')\w*\s*(.*?)\s*(?:```|''')\Z", re.DOTALL)
_KEYS = frozenset({"answer", "decision", "verdict", "label", "recommendation", "choice", "response", "result"})
"""Members of an answer of JSON that may hold the decision."""

_MARKUP = re.compile(r"[*`_#>]+")

_BEGINS_WITH_LABEL = re.compile(r"[\W_]*(?:yes|no)\s*[,.;!\n]", re.IGNORECASE)

_NO_NOUN = re.compile(
    r"\b(is|are|was|were|be|has|have|had|plays?|makes?|with|see)\s+no\s+"
    r"(?!(?:because|since|as|and|but|or|if|in|for|sorry|way|i|we)\b)(?=[a-z])"
)
"""The word "no" before a noun, as in "that is no reason": behind an answer of "yes" or "no" it is no second answer."""


def label_in(answer: str, labels: Sequence[str]) -> str | None:
    """Return the label that an answer gives; ``None`` if it gives none or may give several.

    These are answers: the label alone, in any case and with marks around it, "Yes, because …", "Yes. The applicant …",
    "… My decision: yes.", ``{"answer": "yes"}``. A label in the middle of a sentence, an answer that names a second
    label, and a refusal are none.
    """
    text = normalise_answer(without_thoughts(answer)).strip()
    if not text or len(text) > LONGEST:
        return None
    text = _json_answer(text)
    if (whole := whole_label(text, labels)) is not None:
        return whole
    if refuses_in_words(text) or text.endswith("?"):
        return None
    text = _MARKUP.sub("", text).strip()
    if _BEGINS_WITH_LABEL.match(text):
        text = _NO_NOUN.sub(r"\1 ", text)
    mentioned = [label for label in labels if _word(label).search(text)]
    if len(mentioned) != 1:
        return None
    (label,) = mentioned
    words = _word(label).pattern
    leading = re.match(rf"[\W_]*{words}(?=\s*[,.;!](?!\d)|\s*\n|\s+[-–—]\s|\s*\Z)", text, re.IGNORECASE)
    if leading and not negates(text[leading.end() :].lstrip(" ,.;!\n-–—")[:20]):
        return label
    cued = rf"\b{_CUE}\W+(?:(?:is|would\s+be|es|ist|est|è|é)\W+)?{words}[\W_]*\Z"
    closing = re.search(cued, text, re.IGNORECASE)
    return label if closing and not negates(text[: closing.start()][-40:]) else None


def whole_label(text: str, labels: Sequence[str]) -> str | None:
    """Return the label that a text consists of; ``None`` if it is none of them."""
    return {label_key(label): label for label in labels}.get(label_key(text))


def may_go_on(answer: str, labels: Sequence[str]) -> bool:
    """Return whether an answer that was cut off at its limit might have become another than it seems to be.

    It might not if it is one label, which begins no other: "no" may be the beginning of "not sure".
    """
    label = whole_label(normalise_answer(without_thoughts(answer)).strip(), labels)
    return label is None or sum(other.casefold().startswith(label.casefold()) for other in labels) > 1


def _json_answer(text: str) -> str:
    """Return the decision in an answer of JSON with a reason beside it; any other text unchanged."""
    bare = fenced[1] if (fenced := _FENCE.match(text)) else text
    if not bare.startswith("{"):
        return text
    try:
        document = json.loads(bare)
    except (ValueError, RecursionError):
        return text
    answers = [value for key, value in document.items() if key.casefold() in _KEYS]
    return str(answers[0]) if len(answers) == 1 and isinstance(answers[0], str | int | float) else text


def option_in(answer: str, options: Sequence[str]) -> str | None:
    """Return the option whose letter or text an answer gives; ``None`` if it gives none, or both and they differ.

    The words of options are read as `label_in` reads them: "no" within a sentence is seldom the option of that name.
    """
    text = normalise_answer(without_thoughts(answer))
    after_letter = _LETTER.sub("", text, count=1)
    if after_letter != text and (label := whole_label(_MARKUP.sub("", after_letter).strip(), options)) is not None:
        answer = text.removesuffix(after_letter)  # the words are those of an option: "no" denies nothing
    else:
        label = label_in(after_letter, options)
    choice = letter_in(answer, ("",) * len(options))
    if choice is None:
        return label_in(answer, options)
    return options[choice] if label in {None, options[choice]} else None


def _word(label: str) -> re.Pattern[str]:
    """Return a pattern for the words of a label, in any case."""
    inner = r"[\s_-]+".join(map(re.escape, plain_label(label).split())) or re.escape(label)
    return re.compile(rf"(?<![\w-]){inner}(?![\w-])", re.IGNORECASE)


def number_in(answer: str, bounds: tuple[float, float], form: NumberForm | None) -> float | None:
    """Return the number that an answer consists of; ``None`` for any other text and outside the range.

    A heading before the number, marks around it and its currency are no part of it; without a declared `form`, a
    number is read if both forms of numbers agree on it or only one of them gives a number within the range.
    """
    text = _json_answer(normalise_answer(without_thoughts(answer)).strip())
    plain = _MARKUP.sub("", text).strip()
    plain = re.sub(rf"\A(?i:(?:the\s+)?{_CUE})\s*(?::|=|\bis\b)\s*", "", plain)
    forms: tuple[NumberForm, ...] = ("decimal-point", "decimal-comma") if form is None else (form,)
    numbers = {number for name in forms if (number := written_number(plain, name)) is not None}
    if form is None and (bare := plain_number(plain)) is not None:
        numbers.add(bare)
    within = {number for number in numbers if bounds[0] <= number <= bounds[1]}
    return within.pop() if len(within) == 1 else None


def label_probabilities(tokens: Likelihoods, labels: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of labels, from the probabilities of their first tokens, scaled to a sum of 1.

    A token counts for a label that it begins, if it begins no other label. ``None`` if all labels together are less
    probable than `LEAST_SHARE`: the model then begins something else. ``None`` as well if a single character that may
    begin a label is more probable than `MOST_UNCLEAR`: without it, the other labels would seem too probable.
    """
    keys = {label: _token_key(label) for label in labels}
    shares = dict.fromkeys(labels, 0.0)
    unclear = 0.0
    for token, log_probability in tokens:
        begun = _token_key(token.replace("▁", " ").replace("Ġ", " "))
        fitting = [
            label
            for label, key in keys.items()
            if begun == key or (len(begun) >= LEAST_PREFIX and key.startswith(begun))
        ]
        if len(fitting) == 1:
            shares[fitting[0]] += math.exp(log_probability)
        elif begun and any(key.startswith(begun) for key in keys.values()):
            unclear += math.exp(log_probability)
    total = sum(shares.values())
    if total < LEAST_SHARE or unclear > MOST_UNCLEAR:
        return None
    return {label: share / total for label, share in shares.items()}


def _token_key(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalise_answer(text)).casefold()


Reading = Literal["probabilities", "letters", "text"]
"""How an answer is read: probabilities of the labels' first tokens, lettered options in all rotations, or a text."""

SEVERAL = " (system prompt {number})"
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
    """Instruction how to answer, after the prompt. Null: ours, which names the labels or the range. Empty: none, for
    prompts that say it themselves (read as text)."""
    reading: Literal["auto", "probabilities", "letters", "text"] = "auto"
    """How the answer is read; auto: the first of these that the service's answer to the first question allows."""
    tokens: Annotated[int, Ge(1), Le(100_000)] | None = 64
    """Most tokens of an answer; reasoning models need many. Null leaves the limit out."""

    def __post_init__(self) -> None:
        if self.name is not None:
            shipped = shipped_decision(self.name, "decision.name", self.language)
            own_answers = bool(self.labels) or self.range is not None
            defaults = {
                "system": self.system or shipped.system,
                "prompt": self.prompt or shipped.prompt,
                "labels": self.labels if own_answers else shipped.labels,
                "range": self.range if own_answers else shipped.range,
            }
            for name, value in defaults.items():
                object.__setattr__(self, name, value)
        self._check_language()
        if not _SLOT.search(self.prompt):
            raise SpecificationError("prompt must hold {text} or the {column}s of the record", "decision.prompt")
        if bool(self.labels) == (self.range is not None):
            raise SpecificationError("give two or more labels, or a range of numbers, not both", "decision.labels")
        if self.labels and (
            len(self.labels) < 2 or len({label.casefold() for label in self.labels}) < len(self.labels)
        ):
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
        """Validate that there is an instruction how to answer in the language."""
        if self.language != ENGLISH:
            sentence_table(self.language, "decision.language")
            if not self.labels:
                raise SpecificationError("numbers are asked for in English; leave language out", "decision.language")

    @property
    def compares(self) -> bool:
        """Whether the prompt holds two documents."""
        return {FIRST, SECOND} <= set(_SLOT.findall(self.prompt))

    @property
    def systems(self) -> tuple[str, ...]:
        """System prompts, at least one; an empty text stands for none."""
        return (self.system or "",) if self.system is None or isinstance(self.system, str) else self.system

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Readings to try, in their order."""
        if self.range is not None or self.answer == "":
            return ("text",)
        return ("probabilities", "letters", "text") if self.reading == "auto" else (self.reading,)

    @property
    def most_calls(self) -> int:
        """Maximum number of calls for one question, once the reading is settled."""
        return len(self.systems) * (len(self.labels) if "letters" in self.readings else 1)

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` if the decision does not fit the target's kind."""
        expected = Kind.CLASSIFIER if self.labels else Kind.REGRESSOR
        if kind is not expected:
            article = "labels" if self.labels else "a number"
            raise SpecificationError(f"the decision returns {article}: the kind is {expected}, not {kind}", "kind")

    def question(self, given: str | Record) -> str | None:
        """Return the prompt about a case; ``None`` if it has a slot that the case cannot fill."""
        cells: Mapping[str, str] = {"text": given} if isinstance(given, str) else _cells(given)
        if not all(name in cells for name in _SLOT.findall(self.prompt)):
            return None
        return _SLOT.sub(lambda slot: cells[slot[1]], self.prompt)

    def instruction(self, reading: Reading) -> str:
        """Return the instruction how to answer."""
        if self.answer is not None:
            return self.answer
        if self.range is not None:
            low, high = (f"{bound:g}" if abs(bound) < 1e6 else f"{bound:.0f}" for bound in self.range)
            return f"Answer with one number from {low} to {high} only, without a unit and without separators."
        if self.language != ENGLISH:
            instructions = sentence_table(self.language)["instructions"]
            return str(instructions["letter" if reading == "letters" else "label"]).format(
                labels=", ".join(self.labels)
            )
        if reading == "letters":
            return "Answer with one letter only: the letter of the option that you choose."
        return f"Answer with exactly one of these, and nothing else: {', '.join(self.labels)}."

    def output_names(self, system: int) -> Mapping[str, str]:
        """Return the name of each label in the scores; with several system prompts, it tells the prompt."""
        if self.compares:
            return dict(zip(self.labels, COMPARED, strict=False))
        suffix = SEVERAL.format(number=system + 1) if len(self.systems) > 1 else ""
        return {label: f"{label}{suffix}" for label in self.labels}


def _cells(record: Record) -> dict[str, str]:
    cells = {name: "" if cell is None else str(cell) for name, cell in record}
    return {"text": json.dumps(dict(record), ensure_ascii=False), **cells}
