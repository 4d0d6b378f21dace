"""Parsing of one answer: a number, a vector or a class, from the JSON forms that services use.

Parsing is strict where a mistake could become evidence: a truth value is no number, a text is one only in a plain or
declared form, and numbers of more than 1e30 are refused.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import Any, ClassVar

from assay.catalog.answer_text import label_key, normalise_answer, refuses_in_words
from assay.document import Json, JsonObject
from assay.model import Failure, Reply
from workers.targets.parsing.written_numbers import NumberForm, numbers_by_form, plain_number, written_number

MOST_DIMENSIONS = 16_384
"""Maximum number of dimensions of a vector; vectors are stored, so their size is limited."""

MOST_LABELS = 1_000
"""Maximum number of labels in an answer."""

LARGEST_NUMBER = 1e30
"""Largest magnitude of a number; products of larger ones, as in skewness and tests, can overflow."""

LONGEST_LABEL = 200
"""Maximum length of a label in characters."""

LONGEST_QUOTED = 80
"""Maximum length of an answer's quotation in a message, in characters."""

ROUNDING = 1e-6
"""Tolerance for probabilities outside [0, 1], which occur with single-precision arithmetic."""

Classification = JsonObject
"""Stored form of a classification: ``{"label": str or None, "scores": {label: probability} or None}``."""


class Misread(ValueError):
    """Malformed answer; the message, without its subject (the service), says what was received and expected."""

    subject: ClassVar[str] = "{origin}"

    def __init__(self, message: str, code: str = "wrong-shape") -> None:
        super().__init__(message)
        self.code = code

    def message(self, origin: str) -> str:
        """Return the message with its subject: `origin`, the host (and port) of the service that answered."""
        return f"{self.subject.format(origin=origin)} {self}"

    def reply(self, origin: str) -> Reply:
        """Return the failure as the reply to the question whose answer was malformed."""
        return Reply(failure=Failure(self.code, self.message(origin)))


class ModelFault(Misread):
    """Answer of a language model that is not what the model was asked for."""

    subject: ClassVar[str] = "the model at {origin}"


def reply_of(parse: Callable[[], Any], origin: str, answer: object = None) -> Reply:
    """Return the result of `parse` as a reply; a `Misread` becomes a failure, ``declined`` if `answer` refuses."""
    try:
        return Reply(parse())
    except Misread as misread:
        if isinstance(answer, str) and refuses_in_words(answer):
            return Reply(failure=Failure("declined", f"{origin} gave no answer: {quoted(answer)}"))
        return misread.reply(origin)


def summary_of(value: object) -> str:
    """Describe a JSON value without repeating texts, which may be long or secret."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{float_or_infinity(value):g}"
        case str():
            return "a text"
        case list():
            return f"a list of {len(value)}"
        case _:
            return "an object"


def float_or_infinity(value: float) -> float:
    """Convert a number to a float; an integer too large for a float becomes infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def number_of(answer: object, form: NumberForm | None = None) -> float:
    """Parse a finite number, a list with one, or a text in `form` (default: plain, as "35.7"); else raise `Misread`."""
    answer = only_member(answer)
    return finite_number(_number_in(answer, form) if isinstance(answer, str) else answer, "number")


def _number_in(text: str, form: NumberForm | None) -> float:
    """Parse a number in a text, or raise `Misread` with the text and the setting that would read it."""
    number = plain_number(text) if form is None else written_number(text, form)
    if number is not None:
        return number
    readings = [f'settings.number = "{name}" reads it as {number:g}' for name, number in numbers_by_form(text).items()]
    advice = ", ".join(readings) or "it is a number in no form that is read; name another output, or send a JSON number"
    raise Misread(f"returned the text {quoted(text)}; expected a number: {advice}")


def quoted(text: str) -> str:
    """Return the beginning of an answer in quotation marks, for a message."""
    line = " ".join(normalise_answer(text).replace('"', "'").split())
    return '"{}"'.format(line if len(line) <= LONGEST_QUOTED else f"{line[: LONGEST_QUOTED - 1]}…")


def finite_number(answer: object, noun: str) -> float:
    """Parse a number of at most `LARGEST_NUMBER`, called `noun` in messages; raise `Misread` for anything else."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        raise Misread(f"returned {summary_of(answer)}; expected a {noun}")
    number = float_or_infinity(answer)
    if not abs(number) <= LARGEST_NUMBER:  # `not … <=` refuses NaN too
        raise Misread(f"returned a {noun} that is not finite or beyond ±{LARGEST_NUMBER:g}")
    return number


def vector_of(answer: object) -> list[float]:
    """Parse a vector of finite numbers, or a list with one vector; raise `Misread` for anything else."""
    answer = unwrap(answer)
    if not isinstance(answer, list) or not answer:
        raise Misread(f"returned {summary_of(answer)}; expected a vector")
    if len(answer) > MOST_DIMENSIONS:
        raise Misread(f"gave a vector of {len(answer):,} numbers; at most {MOST_DIMENSIONS:,} are allowed")
    vector = []
    for number in answer:
        if type(number) is not float and (isinstance(number, bool) or not isinstance(number, int)):
            raise Misread(f"returned a vector that contains {summary_of(number)}; every element must be a number")
        vector.append(float_or_infinity(number))
    if not all(abs(number) <= LARGEST_NUMBER for number in vector):
        raise Misread(f"returned a vector with a number that is not finite or beyond ±{LARGEST_NUMBER:g}")
    return vector


def parse_classes(answer: object, labels: Sequence[str] = ()) -> Classification:
    """Parse a classification: a label, the probabilities of labels, or both.

    These forms are accepted: ``"positive"``; ``1``, the index of a label or its name; ``[0.1, 0.9]``,
    probabilities in the order of `labels`; ``[0.9]``, the probability of the second of two; ``[{"label": …,
    "score": …}, …]``; ``{"labels": […], "scores": […]}``; ``{"negative": 0.1, "positive": 0.9}``;
    ``{"label": …, "scores": …}``. A single label with its score is P(label) if two labels are declared. Otherwise a
    single ``{"label": …, "score": …}`` counts as a label without probabilities.

    Declared labels match by value: "Good" and "good ", 1 and "1", true and "true" are the same. A number is the index
    of a label only if no declared label is a number or a truth value.

    `labels` are all labels in their order; empty if they are not declared. Raise `Misread` if the form is unknown, a
    probability is outside [0, 1], or a label is not declared.
    """
    label, scores = _class_of(answer, labels)
    if scores is not None and labels:
        scores = _scores_by_label([(_declared_spelling(name, labels), score) for name, score in scores.items()])
    if scores is not None and (len(scores), len(labels)) == (1, 2):  # a single score for two labels
        ((name, score),) = scores.items()
        _check_label(name, labels)  # before the complement, which is only that of a declared label
        given_probability = probability(score)
        scores = {label: given_probability if label == name else 1 - given_probability for label in labels}
        label = None if label is None or scores.get(label, 0.0) > 0.5 else label  # a contrary label is kept
    if label is None and scores is None:
        raise Misread("gave neither a label nor probabilities")
    for name in (label, *(scores or ())):
        _check_label(name, labels)
    if scores is not None:
        scores = _valid_scores(scores, labels)
    return {"label": label, "scores": scores}


def _class_of(answer: Any, labels: Sequence[str]) -> tuple[str | None, JsonObject | None]:
    """Return the label and the scores of an answer; ``None`` for each that it does not have."""
    answer = unwrap(answer)
    match answer:
        case {"labels": list(names), "scores": list(scores)} if len(names) == len(scores):
            return None, _scores_by_label(list(zip(names, scores, strict=True)))
        case {"label": label, "score": score} if len(answer) == len(labels) == 2 and label is not None:
            name = _label_of(label, labels)
            return name, {name: score}
        case {"label": label, **other_members} if other_members.keys() <= {"score", "scores"}:
            scores = other_members.get("scores")
            label = None if label is None else _label_of(label, labels)
            return label, None if scores is None else _scores_of(scores, labels)
        case {"scores": scores, **other_members} if not other_members:
            return None, _scores_of(scores, labels)
        # with the labels "1" and "0", [1] may be the label "1" or the probability 1 of the second label, "0"
        case [int() | float() | str()] if len(labels) == 2 and _names_other_label(number_of(answer), labels):
            raise Misread("gave a list of one label, which may also be a probability; return the label without a list")
        case list() | dict():
            return None, _scores_of(answer, labels)
        case _:
            return _label_of(answer, labels), None


def _names_other_label(number: float, labels: Sequence[str]) -> bool:
    """Return whether a number means one of two labels as a value, but the other as a probability: 1 for ("1", "0")."""
    return any(_value_of(label) == number != index for index, label in enumerate(labels))


def _scores_of(answer: Any, labels: Sequence[str]) -> JsonObject:
    """Parse the scores of labels, not yet validated, from a list of objects, a list of numbers or an object."""
    answer = unwrap(answer)
    match answer:
        case [dict(), *_]:
            for entry in answer:
                if not isinstance(entry, Mapping) or not {"label", "score"} <= entry.keys():
                    raise Misread(f"returned {summary_of(entry)}; expected a label with its score")
            return _scores_by_label([(entry["label"], entry["score"]) for entry in answer])
        case list():
            return _scores_by_label(list(zip(labels, _row_for_labels(answer, labels), strict=True)))
        case dict():
            return dict(answer)
        case _:
            raise Misread(f"returned {summary_of(answer)}; expected probabilities")


def _label_of(answer: object, labels: Sequence[str]) -> str:
    """Parse a label: a text, a number, a truth value, or the index of a label. Labels such as "1" have a value."""
    if isinstance(answer, str):
        return _declared_spelling(answer, labels)
    if not isinstance(answer, bool | int | float) or math.isinf(float_or_infinity(answer)):
        raise Misread(f"returned {summary_of(answer)}; expected a label")
    if not labels:
        if isinstance(answer, float) and not answer.is_integer():
            alternative = "or a list of probabilities in the order of labels"
            raise Misread(f"returned {summary_of(answer)}; expected a label, {alternative}")
        return label_text(answer)
    # true equals 1 in Python, so a label of the answer's own type is preferred
    labels_of_value = [label for label in labels if _value_of(label) == answer and _value_of(label) is not None]
    same_type = [label for label in labels_of_value if isinstance(_value_of(label), bool) == isinstance(answer, bool)]
    if len(matching := same_type or labels_of_value) == 1:
        return matching[0]
    has_value_label = any(_value_of(label) is not None for label in labels)
    is_index = float(answer).is_integer() and 0 <= answer < len(labels)
    if isinstance(answer, bool) or has_value_label or not is_index:
        raise Misread(f"gave {summary_of(answer)}, {UNDECLARED} {_named_labels(labels)}; declare it in settings.labels")
    return labels[int(answer)]


UNDECLARED = "which is none of the declared labels"
EVENTS_AS_TEXT = "sent a stream of server-sent events"


def label_text(label: str | bool | float) -> str:
    """Return a label as text: true as "true", 1 and 1.0 as "1"."""
    if isinstance(label, bool):
        return str(label).lower()
    return f"{label:.15g}" if isinstance(label, int | float) else label  # 15: the digits that every float keeps


def _value_of(label: str) -> bool | float | None:
    """Return the truth value or number that a declared label names, or ``None``."""
    key = label_key(label)
    return {"true": True, "false": False}[key] if key in {"true", "false"} else plain_number(label)


def _declared_spelling(label: str, labels: Sequence[str]) -> str:
    """Return the declared label that equals a label, but for case and blanks, or in value (1, true); else the label."""
    if label in labels or not labels:
        return label
    equal_labels = [declared for declared in labels if label_key(declared) == label_key(label)]
    if not equal_labels and (value := _value_of(label)) is not None:
        equal_labels = [declared for declared in labels if _value_of(declared) == value]
    return equal_labels[0] if len(equal_labels) == 1 else label


def _named_labels(labels: Sequence[str]) -> str:
    quoted_labels = ", ".join(quoted(label) for label in labels[:5])
    return f"({quoted_labels}{' …' if len(labels) > 5 else ''})"


def _row_for_labels(probabilities: list[Any], labels: Sequence[str]) -> list[Any]:
    """Return one probability per label; for two labels, a row may hold only the probability of the second."""
    if not labels:
        raise Misread(f"gave {summary_of(probabilities)} without names; settings.labels must name them in their order")
    if (len(probabilities), len(labels)) == (1, 2):
        second_probability = number_of(probabilities)
        return [1 - second_probability, second_probability]
    if len(probabilities) != len(labels):
        raise Misread(f"gave {len(probabilities)} probabilities, and {len(labels)} labels are declared")
    return probabilities


def _scores_by_label(pairs: Sequence[tuple[Any, Any]]) -> JsonObject:
    """Return pairs of label and score as an object; raise `Misread` if a label comes twice."""
    scores: JsonObject = {}
    for name, score in pairs:
        label = _label_of(name, ())  # `parse_classes` matches declared spellings later, and calls this again
        if label in scores:
            raise Misread("returned the same label twice")
        scores[label] = score
    return scores


def _check_label(label: str | None, labels: Sequence[str]) -> None:
    """Raise `Misread` for a label of invalid length, or that is not among the declared labels, if there are any."""
    if label is None:
        return
    if not label or len(label) > LONGEST_LABEL:
        raise Misread(f"gave a label of {len(label)} characters; 1 to {LONGEST_LABEL} are allowed")
    if labels and label not in labels:
        raise Misread(f"gave {quoted(label)}, {UNDECLARED} {_named_labels(labels)}; declare it in settings.labels")


def _valid_scores(scores: Json, labels: Sequence[str]) -> dict[str, float]:
    """Return validated probabilities, in the order of the declared labels if there are any."""
    if not 0 < len(scores) <= MOST_LABELS:
        raise Misread(f"gave the scores of {len(scores):,} labels; 1 to {MOST_LABELS:,} are allowed")
    if labels and len(scores) != len(labels):
        subject = "the top label alone" if len(scores) == 1 else f"the scores of {len(scores)} labels"
        advice = "make the service score all of them, or return the label without a score"
        raise Misread(f"gave {subject}, and {len(labels)} labels are declared in settings.labels; {advice}")
    if lists := [score for score in scores.values() if isinstance(score, list)]:
        raise Misread(f"returned {summary_of(lists[0])}; expected a probability")
    # interned, because thousands of replies hold the same labels
    return {intern(name): probability(scores[name], "; raw scores (logits) are not taken") for name in labels or scores}


def probability(answer: object, advice: str = "") -> float:
    """Parse a probability; raise `Misread`, with `advice`, for a number outside [0, 1]."""
    number = number_of(answer)
    if not -ROUNDING <= number <= 1 + ROUNDING:
        raise Misread(f"returned {number:g}; expected a probability{advice}")
    return min(1.0, max(0.0, number))  # without the tolerated rounding


def only_member(answer: object) -> Any:
    """Return the only member of a list, also of one within lists; other answers are returned unchanged."""
    answer = unwrap(answer)
    return answer[0] if isinstance(answer, list) and len(answer) == 1 else answer


def unwrap(answer: object) -> Any:
    """Remove lists around a single list: ``[[1, 2]]`` becomes ``[1, 2]``."""
    while isinstance(answer, list) and len(answer) == 1 and isinstance(answer[0], list):
        answer = answer[0]
    return answer
