"""Parsing of answers of services that compare two documents: the first is better, the second, or a tie.

An answer is read only as the settings declare it. All others, such as prose, a refusal or "both", are unreadable.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assay.catalog.answer_text import label_key
from assay.model import COMPARED, FIRST, SECOND, TIE, Failure, Field, Record, Reply
from workers.targets.parsing.answer_parsing import (
    Classification,
    Misread,
    finite_number,
    label_text,
    parse_classes,
    quoted,
    reply_of,
    summary_of,
    unwrap,
)
from workers.targets.parsing.written_numbers import plain_number

Comparison = Literal["label", "scores", "document"]

NO_PAIR = "this target compares two documents: the question must be a record with first and second"


def documents_of(content: str | Record) -> Mapping[str, Field] | None:
    """Return the documents of a question, by ``first`` and ``second``; ``None`` if either document is missing."""
    named_values = () if isinstance(content, str) else content
    documents = {name: value for name, value in named_values if name in {FIRST, SECOND}}
    return documents if len(documents) == 2 else None


def comparison_of(
    answer: Any, documents: Mapping[str, Field], meaning: Comparison, labels: Sequence[str], origin: str
) -> Reply:
    """Parse the answer to a question with two documents into a label of `COMPARED` (first, second, tie) or scores.

    `documents` has the keys ``first`` and ``second``; `meaning` is the declared form of the answer. `labels` are the
    declared labels of the first document, the second and, if there is a third, a tie; empty: those of `COMPARED`.
    """
    names = tuple(labels) or COMPARED
    if meaning == "document":
        reply = reply_of(lambda: _parse_document(answer, documents), origin, answer)
    elif meaning == "scores":
        reply = reply_of(lambda: _parse_scores(answer, names), origin, answer)
    else:
        reply = reply_of(lambda: _parse_label(answer, names), origin, answer)
    if (failure := reply.failure) is None or failure.code == "declined":
        return reply
    return Reply(failure=Failure("no-choice", failure.message))  # an answer in any other form chooses no document


def _label_without_scores(name: str) -> Classification:
    return {"label": name, "scores": None}


def _parse_label(answer: Any, labels: Sequence[str]) -> Classification:
    """Parse a label or the labels' probabilities; a number is a label only if declared labels are numbers."""
    has_value_label = any(plain_number(label) is not None or label_key(label) in {"true", "false"} for label in labels)
    if isinstance(answer, bool | int | float) and not has_value_label:
        type_name, example = ("boolean", '["true", "false"]') if isinstance(answer, bool) else ("number", '["1", "2"]')
        reason = f"returned the {type_name} {summary_of(answer)}, but no declared label is a {type_name}"
        raise Misread(f"{reason}; if it means a label, set labels = {example} (labels in their order)")
    if isinstance(unwrap(answer), list) and len(unwrap(answer)) != len(labels):
        raise Misread(f"returned {summary_of(unwrap(answer))}; expected a probability for each of {len(labels)} labels")
    classification = parse_classes(answer, labels)
    name_of = dict(zip(labels, COMPARED, strict=False))  # the last one, a tie, may have no label
    if classification["scores"] is None:
        return _label_without_scores(name_of[classification["label"]])
    scores = {name_of[label]: score for label, score in classification["scores"].items()}
    lead = scores.get(FIRST, 0.0) - scores.get(SECOND, 0.0)
    wins = {FIRST: lead > 0, SECOND: lead < 0, TIE: lead == 0 or scores.get(TIE) == max(scores.values())}
    if (label := classification["label"]) is not None and not wins[name_of[label]]:
        raise Misread(f"returned the label {quoted(label)}, which contradicts its scores")
    return {"label": None, "scores": scores}


def _parse_scores(answer: Any, labels: Sequence[str]) -> Classification:
    """Parse a score for each document: the document with the higher score is better, and equal scores are a tie."""
    answer = unwrap(answer)
    if isinstance(answer, Mapping):
        by_label = {label_key(label_text(name)): score for name, score in answer.items()}
        if len(by_label) == 2:
            answer = [by_label.get(label_key(label)) for label in labels[:2]]  # without the label of a tie
    if not isinstance(answer, list) or len(answer) != 2:
        raise Misread(f"returned {summary_of(answer)}; expected a score for each of the two documents")
    first_score, second_score = (finite_number(number, "score") for number in answer)
    better_document = FIRST if first_score > second_score else SECOND
    return _label_without_scores(TIE if first_score == second_score else better_document)


def _parse_document(answer: Any, documents: Mapping[str, Field]) -> Classification:
    """Parse an answer that repeats the better document; spaces, case and marks at the ends may differ."""
    if not isinstance(answer, str):
        raise Misread(f"returned {summary_of(answer)}; expected the better document")
    repeated_names = [name for name in (FIRST, SECOND) if label_key(str(documents[name])) == label_key(answer)]
    if len(repeated_names) != 1:
        raise Misread(f"returned {quoted(answer)}, which is neither of the documents")
    return _label_without_scores(repeated_names[0])
