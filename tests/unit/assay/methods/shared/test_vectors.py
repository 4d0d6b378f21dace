"""Tests of requests for vectors: each text is asked once, and a text without a vector has a reason."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.document import as_json
from assay.methods.shared.answers.tally import BATCH
from assay.methods.shared.answers.vectors import ask_vectors, cover
from assay.model import Failure, Reply


def asked(texts, answer, model=""):
    """Answer the questions with a function; return the vectors and the batches."""
    asking = ask_vectors(texts, model)
    batches = []
    try:
        batch = next(asking)
        while True:
            batches.append(batch)
            batch = asking.send([answer(one.ask.text) for one in batch])
    except StopIteration as end:
        return end.value, batches


def of(values):
    return lambda text: value if isinstance(value := values[text], Reply) else Reply(value)


def test_each_text_is_asked_once_and_in_the_given_order():
    found, batches = asked(["she", "he", "she", "nurse"], lambda text: Reply([1.0, len(text)]))
    assert [one.ask.text for one in batches[0]] == ["she", "he", "nurse"]
    assert [one.unit for one in batches[0]] == ["embed/she", "embed/he", "embed/nurse"]
    assert found.dims == 2
    np.testing.assert_array_equal(found.matrix(["nurse", "she"]), [[1, 5], [1, 3]])


def test_many_texts_are_asked_in_batches():
    _, batches = asked([f"word {place}" for place in range(BATCH + 3)], lambda text: Reply([1.0]))
    assert [len(one) for one in batches] == [BATCH, 3]


def test_the_same_text_for_two_embedding_models_has_two_probe_ids():
    one, other = (asked(["she"], lambda text: Reply([1.0]), model)[1][0][0] for model in ("small", "large"))
    assert (one.unit, one.ask.model) == ("embed/small/she", "small")
    assert one.unit != other.unit


@pytest.mark.parametrize(
    "value",
    [
        None,
        "0.1 0.2",
        [],
        [1.0, "2"],
        [1.0, None],
        [1.0, math.nan],
        [1.0, math.inf],
        [1.0, True],
        [[1.0, 2.0]],
        {"embedding": [1.0, 2.0]},
        [1.0, 10**400],
        [1.0, 1e200],
    ],
)
def test_answer_that_is_not_a_numeric_vector_is_counted_as_malformed(value):
    found, _ = asked(["she", "he"], of({"she": value, "he": [1.0, 2.0]}))
    assert found.missing == {"she": "no-vector"}
    assert (found.counts.unusable, found.counts.failed, found.counts.unasked) == (1, 0, 0)


def test_whole_numbers_are_accepted_in_vectors():
    found, _ = asked(["she"], of({"she": [1, -2]}))
    np.testing.assert_array_equal(found.by_text["she"], [1.0, -2.0])


def test_a_vector_of_zeros_is_counted_as_missing():
    found, _ = asked(["she", "he"], of({"she": [0, 0.0], "he": [0.0, 1.0]}))
    assert found.missing == {"she": "zero-vector"}


def test_vectors_of_other_than_the_most_frequent_length_are_dropped():
    values = {"she": [1.0, 2.0], "he": [1.0, 2.0, 3.0], "nurse": [2.0, 3.0]}
    found, _ = asked(values, of(values))
    assert (found.dims, found.missing) == (2, {"he": "wrong-length"})


def test_a_text_without_a_vector_keeps_its_error_code_and_a_used_up_budget_is_not_counted_as_a_failure():
    values = {
        "she": Reply(failure=Failure("timeout", "no answer")),
        "he": Reply(failure=Failure("budget-exhausted", "enough")),
        "nurse": [0.0],
        "carpenter": [1.0],
    }
    found, _ = asked(values, of(values))
    assert found.missing == {"she": "timeout", "he": "budget-exhausted", "nurse": "zero-vector"}
    assert (found.counts.failed, found.counts.unasked, found.counts.unusable) == (1, 1, 1)


def test_a_service_without_any_vector_has_zero_dimensions():
    found, _ = asked(["she", "he"], lambda text: Reply(failure=Failure("http-404", "no such word")))
    assert (found.dims, dict(found.by_text), found.counts.failed) == (0, {}, 2)
    assert found.matrix([]).shape == (0, 0)


def test_an_empty_list_of_texts_asks_nothing():
    found, batches = asked([], of({}))
    assert (batches, found.dims, found.missing) == ([], 0, {})


def test_the_coverage_of_a_word_list_names_the_words_without_a_vector():
    values = {"she": [1.0], "he": Reply(failure=Failure("http-404", "no")), "nurse": [2.0]}
    found, _ = asked(values, of(values))
    covered = cover({"cues": ["she", "he"], "concepts": ["nurse"], "controls": []}, found.by_text)
    assert as_json(covered["cues"]) == {"words": 2, "found": 1, "missing": ["he"]}
    assert [covered[name].share for name in ("cues", "concepts", "controls")] == [0.5, 1.0, 0.0]
    assert found.among(["nurse", "he", "she"]) == ("nurse", "she")
