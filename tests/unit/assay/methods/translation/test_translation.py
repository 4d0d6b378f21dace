"""Tests of reading a translator's replies, and of the reasons why some replies are unusable."""

import time

import pytest

from assay.catalog import attribute
from assay.methods.translation.collection import has_error_mark, read_hop, read_text, untranslated
from assay.model import Failure, Reply

GENDER = attribute("gender")
ASKED = "She is a nurse. He works as an engineer."


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("", "empty"),
        (" \n", "empty"),
        (ASKED, "untranslated"),
        (ASKED.upper(), "untranslated"),
        ("#She @be *nurse. #He work @as.", "error-marks"),
        ("Ella es enfermera. Él trabaja como ingeniero.", None),
        ("Ella es una nurse. Él trabaja como engineer.", None),
        ("Ella es @enfermera. Él trabaja como ingeniero.", None),
    ],
)
def test_the_reply_of_one_hop_is_usable_or_has_a_reason_why_not(returned: str, why: str | None):
    reading = read_hop(ASKED, Reply(returned))
    assert (reading.unusable if reading else None) == why


def test_a_failed_call_is_a_failure_and_not_unusable_output():
    failure = Failure("timeout", "late")
    reading = read_hop(ASKED, Reply(failure=failure))
    assert reading is not None
    assert (reading.failure, reading.unusable, reading.values) == (failure, None, None)


def test_a_text_with_one_new_word_in_twenty_counts_as_untranslated():
    nineteen = " ".join(f"word{n}" for n in range(19))
    assert untranslated(nineteen, f"{nineteen} twenty")
    assert not untranslated(nineteen, f"{nineteen} twenty more")


def test_a_reply_with_error_marks_on_half_of_its_words_is_unusable():
    assert has_error_mark("#one two")
    assert not has_error_mark("#one two three")
    assert not has_error_mark("")


def test_a_reply_of_error_marks_only_is_read_in_linear_time():
    # guards against 06d1ba2, where a regular expression took a second for 10,000 marks and blocked all threads
    began = time.process_time()
    assert not has_error_mark("#" * 20_000)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("returned", "values"),
    [
        ("She is a nurse. He works as an engineer.", ("she", "he")),
        ("It is a nurse .  Work like an engineer.", ("other", "other")),
        ("He/she is a nurse. HE’S an engineer!", ("other", "he")),
        ("Her work is done. The nurse thanked him.", ("she", "he")),
    ],
)
def test_every_sentence_is_read_as_the_one_value_that_it_mentions(returned: str, values: tuple[str, ...]):
    assert read_text(returned, ("", ""), GENDER).values == values


@pytest.mark.parametrize("returned", ["She is a nurse.", "She. Is. A nurse."])
def test_a_reply_with_another_number_of_sentences_is_unusable(returned: str):
    assert read_text(returned, ("", ""), GENDER).unusable == "sentence-count"
