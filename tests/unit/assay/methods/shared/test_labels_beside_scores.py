"""Classifiers that return a label beside scores: the label counts, and is judged if it contradicts them."""

import hashlib

import pytest

from assay.catalog.stereotypes import VisualWords
from assay.document import as_json
from assay.experiment import run
from assay.methods import Alternation, StimulusSampling
from assay.methods.shared.answers.of_profiles import Answers
from assay.methods.shared.profiles import Case, RecordProfiles
from assay.methods.visual_stereotype.labelling import Reader
from assay.model import COMPARED, Letter, Reply
from assay.rating.decision import rate
from web.compare.sentences import _format_reply
from workers.targets.parsing.comparison import comparison_of


def share(text):
    """Return a number in [0, 1) that is fixed by the text."""
    return int(hashlib.sha256(str(text).encode()).hexdigest()[:8], 16) / 16**8


def decide(probe, women, men, *, scores=True, label=True):
    """Answer a record with even scores and a label at a threshold for each group."""
    record = dict(probe.ask.given)
    score = 0.2 + 0.6 * share(record["skill"])
    name = "good" if score > (women if record["sex"] == "F" else men) else "bad"
    scored = {"good": score, "bad": 1 - score} if scores else None
    return Reply({"label": name if label else None, "scores": scored})


ROWS = tuple({"sex": "FM"[number % 2], "skill": str(number // 2), "ok": "no"} for number in range(400))


def alternated(women, men, **form):
    records = RecordProfiles("sex", ("F", "M"), rows=ROWS)
    truth = {"truth": "ok", "favourable": "good", "truth_favourable": "no"}
    method = Alternation("sex", records=records, answers="labels", strata=None, delta=0.4, **truth)
    return rate(run(method, lambda probe: decide(probe, women, men, **form), 1))


def letter(rating):
    return rating.letter, rating.declared


def test_even_scores_with_a_label_at_another_threshold_for_each_group_are_rated_bs():
    rating = alternated(0.65, 0.35)
    assert letter(rating) == (Letter.BS, True)
    assert [(part.name, part.letter) for part in rating.finding.components] == [
        ("good", Letter.UCS),
        ("good (label)", Letter.BS),
    ]
    assert "labels-contradict-scores" in [reason.code for reason in rating.finding.reasons]


def test_counts_of_labels_and_favourable_outcomes_are_those_of_the_labels_that_the_service_returned():
    both, label_only = (alternated(0.65, 0.35, scores=scores).finding.components[0].detail for scores in (True, False))
    assert both.labels == label_only.labels
    assert [(row.rate.estimate, row.people) for row in both.outcomes.groups] == [
        (row.rate.estimate, row.people) for row in label_only.outcomes.groups
    ]
    assert as_json(both.disparate_impact)["rates"] == as_json(label_only.disparate_impact)["rates"]


@pytest.mark.parametrize("threshold", [0.4, 0.6, 0.9])
def test_one_threshold_for_all_groups_leaves_the_letter_of_the_scores(threshold):
    assert letter(alternated(threshold, threshold)) == letter(alternated(0.5, 0.5)) == (Letter.UCS, True)


def test_labels_that_are_the_likeliest_by_their_scores_change_nothing_in_the_rating():
    both, scores_only = alternated(0.5, 0.5), alternated(0.5, 0.5, label=False)
    assert as_json(both.finding.components[0].detail) == as_json(scores_only.finding.components[0].detail)
    assert both.probabilities == scores_only.probabilities


@pytest.mark.parametrize(("thresholds", "expected"), [((0.65, 0.35), Letter.BS), ((0.4, 0.4), Letter.UCS)])
def test_stimulus_sampling_judges_labels_that_contradict_even_scores(thresholds, expected):
    women, men = thresholds

    def answer(probe):
        score = 0.1 + 0.8 * share(probe.unit.rpartition("/")[0])
        name = "good" if score > (women if probe.unit.endswith("/0") else men) else "bad"
        return Reply({"label": name, "scores": {"good": score, "bad": 1 - score}})

    (part,) = run(StimulusSampling("gender", label="good"), answer, 1).components
    assert (part.letter, part.declared) == (expected, True)
    assert "labels-contradict-scores" in [reason.code for reason in part.reasons]


@pytest.mark.parametrize(
    ("label", "scores", "contrary"),
    [
        ("a", {"a": 0.6, "b": 0.4}, False),
        ("b", {"a": 0.6, "b": 0.4}, True),
        ("a", {"a": 0.5, "b": 0.5}, True),
        ("1", {"a": 0.6, "b": 0.4}, True),
        ("A.", {"a": 0.6, "b": 0.4}, False),
        ("a", {"a": 0.4}, True),
        ("b", {"a": 0.4}, False),
        ("b", {"a": 0.6}, True),
        ("I am sorry, I cannot help with that.", {"a": 0.6, "b": 0.4}, False),
        (None, {"a": 0.6, "b": 0.4}, False),
    ],
)
def test_a_label_contradicts_scores_unless_it_is_the_only_likeliest(label, scores, contrary):
    answers = Answers((Case("p", ("x", "y")), Case("q", ("x", "y"))), ("he", "she"), numbers=False)
    for profile, value in ((0, 0), (0, 1)):
        answers.take(profile, value, Reply({"label": label, "scores": scores}))
    for value in (0, 1):  # another label, so that not all are the same
        answers.take(1, value, Reply({"label": "other", "scores": {"other": 0.9, **dict.fromkeys(scores, 0.1)}}))
    assert (answers.contrary_labels() is not None) is contrary


def test_labels_that_are_all_the_same_are_not_judged_beside_scores():
    answers = Answers((Case("p", ("x", "y")),), ("he", "she"), numbers=False)
    for value, score in enumerate((0.3, 0.7)):
        answers.take(0, value, Reply({"label": "bad", "scores": {"good": score, "bad": 1 - score}}))
    assert answers.contrary_labels() is None


def test_one_contrary_label_in_a_hundred_answers_about_a_value_is_negligible():
    answers = Answers(tuple(Case(str(number), ("x",)) for number in range(100)), ("he",), numbers=False)
    for number in range(100):
        high = number % 2
        name = "good" if high or not number else "bad"
        answers.take(number, 0, Reply({"label": name, "scores": {"good": 0.2 + 0.6 * high, "bad": 0.8 - 0.6 * high}}))
    assert answers.contrary_labels() is None
    answers.take(2, 0, Reply({"label": "good", "scores": {"good": 0.2, "bad": 0.8}}))
    assert answers.contrary_labels().facts == {"share": 0.02, "value": "he"}


@pytest.mark.parametrize(
    ("label", "scores", "usable"),
    [
        ("first", {"first": 0.6, "second": 0.4, "tie": 0}, True),
        ("second", {"first": 0.6, "second": 0.4, "tie": 0}, False),
        ("tie", {"first": 0.4, "second": 0.4, "tie": 0.2}, True),
        ("tie", {"first": 0.3, "second": 0.2, "tie": 0.5}, True),
        ("first", {"first": 0.4, "second": 0.4, "tie": 0.2}, False),
    ],
)
def test_a_comparison_whose_label_contradicts_its_scores_is_lost(label, scores, usable):
    reply = comparison_of({"label": label, "scores": scores}, {}, "label", COMPARED, "service")
    assert reply.value == ({"label": None, "scores": scores} if usable else None)


def test_a_picture_whose_label_contradicts_its_probabilities_is_lost():
    reader = Reader(VisualWords("gender", "man", "woman", ("plumber",), ("nurse",), (), (), ()))
    scores = {"man": 0.6, "woman": 0.4}
    assert reader.read({"scores": scores, "text": "woman"}) == "names-both-labels"
    assert reader.read({"scores": scores, "text": "man"}).share == 0.6


def test_a_reply_with_a_label_and_scores_is_shown_by_its_label():
    assert _format_reply({"label": "good", "scores": {"bad": 0.6, "good": 0.4}}).text == "good 0.40"


def test_labels_with_other_names_than_the_requested_label_are_judged():
    def answer(probe):
        value = decide(probe, 0.65, 0.35).value
        return Reply({"label": {"good": "1", "bad": "0"}[value["label"]], "scores": value["scores"]})

    records = RecordProfiles("sex", ("F", "M"), rows=ROWS)
    method = Alternation("sex", records=records, answers="labels", strata=None, delta=0.4, labels=("good",))
    assert letter(rate(run(method, answer, 1))) == (Letter.BS, True)
