"""Examinations (checks of a service before its rating): each job sends other texts, which no service can know."""

import re

import pytest

from assay.experiment import generator
from assay.model import Choose, Fill, Kind, Look, Score
from workers.targets.adapter import Target
from workers.targets.checks.examination import text_of_question
from workers.targets.checks.image_classifier import look_questions
from workers.targets.checks.samples import KINDS, numbered_sentences, sample_images, worded_questions


def test_sentences_that_check_a_service_have_one_number_each_and_differ_between_jobs():
    seen: set[str] = set()
    for seed in range(50):
        sentences = numbered_sentences(45, generator(seed))
        assert len({number for number, _ in sentences}) == 45
        assert all(re.findall(r"\d+", text) == [str(number)] for number, text in sentences)
        seen |= {text for _, text in sentences}
    assert len(seen) > 0.99 * 50 * 45


@pytest.mark.parametrize("kind", [Score, Fill, Choose])
def test_questions_that_check_a_language_model_differ_within_a_job_and_between_jobs(kind):
    first, second = (worded_questions(generator(seed))[kind] for seed in (1, 2))
    texts, others = ({text_of_question(ask) for ask in asks} for asks in (first, second))
    assert len(texts) == len(others) == 5
    assert not texts & others


def test_choice_questions_that_check_a_model_have_the_right_option_first_or_second():
    asked = [ask for seed in range(40) for ask in worded_questions(generator(seed))[Choose]]
    assert all(len(set(ask.options)) == 2 for ask in asked)
    colours = [ask for ask in asked if ask.text == "Which of these is a colour?"]
    assert {[option in KINDS["a colour"] for option in ask.options].index(True) for ask in colours} == {0, 1}


def test_images_of_the_experiment_replace_the_built_in_images_before_a_rating():
    asks = [Look(f"sha256:{number:02d}", ("a", "b"), "Which?") for number in range(9)]
    target = Target("T", Kind.IMAGE_CLASSIFIER, "hf-inference", "http://127.0.0.1:1")
    assert look_questions(target, asks, fresh=True) == (asks[0], asks[4], asks[8])
    assert {ask.image for ask in look_questions(target, asks)} > set(sample_images())
