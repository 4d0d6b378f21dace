"""Tests of labels that differ in spelling only, and of classifiers with too many labels.

Row 114 of docs/reliability.md: ffe18d3c computed for more than 150 s for a classifier that returns its input.
"""

import math
import time

import pytest

from assay.catalog.answer_text import label_key
from assay.experiment import run
from assay.methods import Alternation, StimulusSampling
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.profiles import Case, TextProfiles
from assay.model import Letter, Probe, Reply
from assay.rating.decision import rate

PEOPLE = {"he": tuple(f"Mr {n}" for n in range(20)), "she": tuple(f"Ms {n}" for n in range(20))}
CONTENTS = {"glad": tuple(f"glad-{n}" for n in range(8)), "sad": tuple(f"sad-{n}" for n in range(8))}
TEXTS = TextProfiles(("{person} is {content}.", "Is {person} {content}?"), PEOPLE, CONTENTS)

SPELLINGS = ["good", "GOOD", " good ", "Good.", '"good"', "good\u200b", "ｇｏｏｄ", "go\u00adod", "good!", "\u00a0good"]
SPELLINGS += ["(good)", "[Good.]", "good\u3002", "&amp;quot;good&amp;quot;", '{"label": "good"}', '["Good"]']
SPELLINGS += ["good because she is kind", "Good (because he is glad)", "good, since the text is kind", "Label: good"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_label_is_the_same_in_every_spelling(spelling):
    assert label_key(spelling) == label_key("Good")


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("POS\u0130T\u0130F", "positif"),
        ("pos\u0131t\u0131f", "POSITIF"),
        ("GROSS", "gro\u00df"),
        ("very_good", "Very good"),
        ("1.0", "1"),
    ],
)
def test_labels_that_differ_only_in_dotless_i_blanks_or_digit_forms_are_equal(label, other):
    assert label_key(label) == label_key(other)


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("C", "C (low)"),
        ("A-", "A"),
        ("1.5", "1"),
        ("<=50K", ">50K"),
        ("not good", "good"),
        ("good", "bad"),
        ("+", "-"),
        ("1", "-1"),
        ("c", "c++"),
        ("caf\u00e9", "cafe"),
        ("1", "10"),
        ("a b", "ab"),
    ],
)
def test_labels_that_differ_in_a_letter_digit_or_sign_stay_different(label, other):
    assert label_key(label) != label_key(other)


def test_composed_and_decomposed_letters_are_one_label():
    assert label_key("positif\u00e9") == label_key("positife\u0301")


REFUSED = {"label": "I'm sorry, I cannot judge people.", "scores": None}


def judged(text: str) -> str:
    """Return the label of a text, which does not depend on the person."""
    number = sum(ord(char) * place for place, char in enumerate(text.replace("Ms", "Mr"), 1))
    return "Good" if math.sin(number) > 0 else "Bad"


@pytest.mark.parametrize("spelling", ["lower", "upper", " {} ", "{}.", "“{}”", "{}\u200b", "{} because she is so"])
def test_a_label_spelt_differently_for_each_group_is_not_counted_as_bias(spelling):
    def classify(probe: Probe) -> Reply:
        label = judged(probe.ask.given)
        if "Ms" in probe.ask.given:
            label = getattr(label, spelling)() if spelling.isalpha() else spelling.format(label)
        return Reply({"label": label, "scores": None})

    rating = rate(run(Alternation("gender", texts=TEXTS, answers="labels"), classify, 1))
    assert rating.letter is not Letter.BS
    assert [part.name.casefold() for part in rating.finding.components] in (["bad"], ["good"])
    (_, respelt) = [reason for reason in rating.finding.reasons if reason.code == "label-respelt"]
    assert respelt.facts["spellings"]


def test_scores_of_one_label_in_several_spellings_are_merged():
    answers = Answers((Case("a", ("x", "y")),), ("he", "she"), numbers=False)
    answers.take(0, 0, Reply({"label": None, "scores": {"Good": 0.7, "Bad": 0.3}}))
    answers.take(0, 1, Reply({"label": None, "scores": {"good ": 0.6, "BAD": 0.4}}))
    assert answers.replies[0, 1] == {"Good": 0.6, "Bad": 0.4}


def test_spellings_with_separate_scores_in_one_answer_are_different_labels():
    answers = Answers((Case("a", ("x",)),), ("he",), numbers=False)
    answers.take(0, 0, Reply({"label": None, "scores": {"a": 0.7, "A": 0.3}}))
    assert answers.replies[0, 0] == {"a": 0.7, "A": 0.3}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *((value, "no-label") for value in ({"label": "\u200b", "scores": None}, {"label": ""}, {}, None, "x")),
        (REFUSED, "refused-in-words"),
    ],
)
def test_an_answer_without_a_label_is_counted_as_unusable_with_its_reason(value, reason):
    answers = Answers((Case("a", ("x",)),), ("he",), numbers=False)
    answers.take(0, 0, Reply(value))
    assert answers.replies == {}
    assert answers.unusable_why == {reason: 1}


@pytest.mark.slow
def test_the_positive_label_is_found_in_any_spelling():
    def classify(probe: Probe) -> Reply:
        label = judged(probe.ask.given)
        return Reply({"label": label.upper() if "Ms" in probe.ask.given else label, "scores": None})

    finding = run(StimulusSampling("gender", texts=TEXTS, label="good"), classify, 1)
    assert [part.name for part in finding.components] == ["Good"] or finding.components[0].name == "GOOD"
    assert finding.components[0].letter is not Letter.BS


def test_a_classifier_that_returns_its_input_is_reported_at_the_first_interim_analysis():
    began = time.process_time()
    asked = []

    def echo(probe: Probe) -> Reply:
        asked.append(probe)
        return Reply({"label": probe.ask.given, "scores": None})

    (component,) = run(Alternation("gender", answers="labels"), echo, 1).components
    assert component.letter is None
    (reason,) = component.reasons
    assert reason.code == "too-many-labels"
    assert reason.facts["labels"] == len({probe.ask.given for probe in asked})
    assert len(asked) <= 1_900  # the first look: 800 texts with two values, and 50 of them twice more
    assert time.process_time() - began < 20
