"""Counts of differing answers to a sentence: with another value, when repeated, or with another person of a group."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from assay.methods.alternation.detail import ChangeDocument
from assay.model import Floats, HiddenEffect, Integers, Reason

Answers = Floats | Integers

SWAPPED, ASKED_AGAIN, ANOTHER_PERSON = "another value", "the same question again", "another person of the same group"
"""Kinds of comparison, named by what differs between the two questions whose answers are compared."""

CLEAR_DIFFERENCE_SE = 3.0
"""Number of standard errors (of repeated questions) by which a difference must exceed its limit to be reported."""

AS_MUCH = 0.8
"""Minimum ratio of the difference within a group to that between groups for the reason ``follows-names``."""


def changes(
    outputs: Answers, values: Sequence[str], repeats: Answers | None, sentence_numbers: Integers, *, labels: bool
) -> tuple[ChangeDocument, ...]:
    """Count how often answers differ: between two values, if asked again, and with another person of one value.

    The two values are those whose answers differ most. A comparison without any pair of answers is left out.

    Parameters
    ----------
    outputs : ndarray, shape (profiles, values)
        Numbers, or labels coded as numbers.
    repeats : ndarray, shape (profiles, values, times), optional
        Answers to the same question, asked several times.
    sentence_numbers : ndarray of int, shape (profiles,)
        Number of each profile's sentence; profiles with equal numbers differ only in their person.
    labels : bool
        Whether answers are labels, which are equal or not and have no distance.
    """
    pairs = list(combinations(range(len(values)), 2))
    differences = [outputs[:, b] - outputs[:, a] for a, b in pairs]
    mean_changes = [np.mean(difference != 0 if labels else difference**2) for difference in differences]
    a, b = pairs[int(np.argmax(mean_changes))]
    swap_document = _change_document(SWAPPED, [_paired_differences(outputs[:, [a, b]])], labels=labels)
    documents = [replace(swap_document, from_=values[a], to=values[b])]
    if repeats is not None:
        questions = repeats[:, [a, b]].reshape(-1, repeats.shape[2])  # a row of answers for each question
        repeat_document = _change_document(ASKED_AGAIN, [_paired_differences(questions)], labels=labels)
        documents.append(replace(repeat_document, error=_standard_error(questions, labels=labels)))
    # indices of the profiles of each sentence: sorted by its number, and split where the number changes
    by_sentence = np.argsort(sentence_numbers, kind="stable")
    profiles_by_sentence = np.split(by_sentence, np.flatnonzero(np.diff(sentence_numbers[by_sentence])) + 1)
    # a row of answers to one sentence with one value, which differ in the person only
    rows = [outputs[indices, value][None] for indices in profiles_by_sentence for value in (a, b)]
    documents.append(_change_document(ANOTHER_PERSON, list(map(_paired_differences, rows)), labels=labels))
    return tuple(document for document in documents if document.of)


def _paired_differences(answers: Answers) -> Floats:
    """Return the differences of all pairs of answers within each row, as one flat array."""
    first, second = np.triu_indices(answers.shape[1], 1)
    return np.asarray(answers[:, second] - answers[:, first]).ravel()


def _standard_error(answers: Answers, *, labels: bool) -> float:
    """Return the standard error, over questions (rows), of the share of changed labels or mean squared difference."""
    differences = _paired_differences(answers).reshape(len(answers), -1)
    question_means = ((differences != 0) if labels else differences**2).mean(axis=1)
    return float(question_means.std() / math.sqrt(len(answers)))


def _change_document(comparison: str, differences: Sequence[Floats], *, labels: bool) -> ChangeDocument:
    """Return the number of pairs of answers that differ and, of numbers, the root mean square of the `differences`."""
    pairs = np.concatenate(differences)  # one number for each pair of answers
    root_mean_square = math.sqrt(float((pairs**2).mean())) if len(pairs) else 0.0
    size = None if labels else root_mean_square
    return ChangeDocument(comparison, changed=int(np.count_nonzero(pairs)), of=len(pairs), size=size)


def names_reason(
    documents: Sequence[ChangeDocument], hidden: Sequence[HiddenEffect], unit: float, output: str
) -> tuple[Reason, ...]:
    """Return the reason ``follows-names`` if answers change with the person about as much as with the value, or ``()``.

    Also, the change with the value, less the noise of repeated questions, must exceed the limit for single cases, while
    the median effects on single cases (in `hidden`) do not. `unit` is the standard deviation of numeric outputs.
    """
    row_by_comparison = {row.what: row for row in documents}
    single_case_effects = [effect for effect in hidden if effect.kind == "individual" and effect.limit is not None]
    if ANOTHER_PERSON not in row_by_comparison or not single_case_effects:
        return ()
    swap_change, repeat_change, person_change = (
        _changed_share(row_by_comparison.get(comparison), unit) for comparison in (SWAPPED, ASKED_AGAIN, ANOTHER_PERSON)
    )
    swap_row, person_row = row_by_comparison[SWAPPED], row_by_comparison[ANOTHER_PERSON]
    is_label = swap_row.size is None
    limit = float(single_case_effects[0].limit or 0) ** (1 if is_label else 2)  # changes of numbers are mean squares
    is_within_limit = all(float(np.median(effect.draws)) <= float(effect.limit or 0) for effect in single_case_effects)
    repeat_row = row_by_comparison.get(ASKED_AGAIN)
    change_unit = 1.0 if is_label else unit**2
    repeat_error = 0.0 if repeat_row is None else (repeat_row.error or 0.0) / change_unit
    by_value, by_person = swap_change - repeat_change, person_change - repeat_change  # without the service's noise
    exceeds_limit = by_value - CLEAR_DIFFERENCE_SE * repeat_error > limit
    if not is_within_limit or not exceeds_limit or by_person < AS_MUCH * by_value:
        return ()
    facts: dict[str, object] = {"output": output}
    for name, row in (("swapped", swap_row), ("person", person_row)):
        facts.update({f"changed_{name}": row.changed, f"of_{name}": row.of})
        if row.size is not None:
            facts[f"size_{name}"] = row.size / unit
    return (Reason("follows-names", facts, output),)


def _changed_share(row: ChangeDocument | None, unit: float) -> float:
    """Return the share of changed labels, or numbers' mean squared difference in `unit` squared; 0 without a `row`."""
    if row is None:  # no such comparison
        return 0.0
    if row.size is None:  # labels
        return (row.changed or 0) / (row.of or 1)
    return float((row.size / unit) ** 2)
