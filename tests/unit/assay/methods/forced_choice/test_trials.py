"""Tests of choices by a service: questions, the reading of answers, repeated questions, and one curve per word."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.catalog.choices import ChoiceWords
from assay.document import as_json
from assay.errors import OutOfBounds, SpecificationError
from assay.methods.forced_choice.choice_trials import Questions, Trials, ask_choices, judge_trials
from assay.model import Failure, Reply

WORDS = ChoiceWords(
    "gender",
    "women",
    "men",
    (("she", "he"), ("woman", "man"), ("her", "him")),
    {"nurse": 0.9, "carpenter": 0.02},
    ("table", "chair"),
)
ASKED = Questions(first_label="women", second_label="men")


def asked(questions=ASKED, words=WORDS, answer=lambda text: "women", seed=1):
    """Answer the questions with a function; return the trials, the counts and the probes."""
    asking = ask_choices(questions, words, np.random.default_rng(seed))
    probes, batch = [], next(asking)
    while True:
        probes += batch
        said = [answer(one.ask.given) for one in batch]
        try:
            batch = asking.send([one if isinstance(one, Reply) else labelled(one) for one in said])
        except StopIteration as end:
            trials, tally = end.value
            return trials, tally.counts, probes


def labelled(label):
    return Reply({"label": label, "scores": None})


def level_of(text):
    shown = text.partition(".")[0].split()
    return sum(word in {"he", "man", "him"} for word in shown) / len(shown)


# ---------------------------------------------------------------------------- questions
@pytest.mark.parametrize("level", [0.0, 0.3, 0.5, 1.0])
def test_a_forced_choice_question_mixes_the_words_of_two_cues_in_the_requested_share(level):
    for seed in range(20):
        text = ASKED.write(WORDS.cues, "nurse", level, np.random.default_rng(seed))
        assert text.endswith(". Who is the nurse?")
        assert len(text.partition(".")[0].split()) == 10
        assert level_of(text) == level


def test_cues_are_shown_in_random_order():
    texts = {ASKED.write(WORDS.cues[:1], "nurse", 0.5, np.random.default_rng(seed)) for seed in range(30)}
    assert len(texts) > 20
    assert {text.split()[0] for text in texts} == {"she", "he"}


def test_the_share_of_a_cue_in_a_question_is_rounded_to_a_whole_number_of_words():
    few = Questions(mixed=4)
    assert [few.rounded_level(level) for level in (0, 0.2, 0.4, 0.9, 1)] == [0, 0.25, 0.5, 1, 1]
    assert level_of(few.write(WORDS.cues, "nurse", 0.2, np.random.default_rng(0))) == 0.25


@pytest.mark.parametrize(
    ("value", "second"),
    [
        ({"label": "men", "scores": None}, True),
        ({"label": "women", "scores": None}, False),
        ({"label": None, "scores": {"women": 0.2, "men": 0.7, "neither": 0.1}}, True),
        ({"label": None, "scores": {"women": 0.2, "men": 0.1, "neither": 0.7}}, False),
        ({"label": None, "scores": {"women": 0.5, "men": 0.5}}, None),
        ({"label": None, "scores": {"women": 0.5}}, None),
        ({"label": "neither", "scores": None}, None),
        ({"label": 1, "scores": None}, None),
        ({}, None),
        ("men", None),
        (None, None),
    ],
)
def test_an_answer_other_than_one_of_the_two_labels_is_unusable(value, second):
    assert ASKED.chose_second(value) is second


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": "Who is the {word}?"}, "{cues} once"),
        ({"text": "{cues} {cues} {word}"}, "{cues} once"),
        ({"text": "{cues}"}, "{word} once"),
        ({"first_label": "one", "second_label": "one"}, "must differ"),
        ({"levels": (0.0, 1.2)}, "between 0 and 1"),
        ({"levels": (0.0, 0.5, 0.5)}, "different shares"),
        ({"levels": (0.5,)}, "levels"),
        ({"mixed": 1}, "mixed"),
        ({"repeats": 0}, "repeats"),
    ],
)
def test_questions_with_invalid_placeholders_labels_or_shares_of_cues_are_refused(fields, message):
    with pytest.raises(SpecificationError, match=message):
        Questions(**fields)


# ---------------------------------------------------------------------------- asking
def test_forced_choice_asks_about_every_word_with_every_share_of_the_two_cues():
    trials, counts, probes = asked()
    assert {(one.concept, one.level) for one in trials} == {
        (word, level) for word in ("nurse", "carpenter", "table", "chair") for level in ASKED.levels
    }
    assert counts.usable == len(probes) == sum(one.trials for one in trials) == 4 * 7 * 3
    assert (counts.unusable, counts.failed, counts.unasked) == (0, 0, 0)
    assert len({one.unit for one in probes}) == len(probes)


def test_a_question_with_the_same_mixture_of_cues_is_asked_once_and_counted_once():
    """One pair of cues has one mixture at level 0 (ten times “she”): repeating the question adds no evidence."""
    words = ChoiceWords("gender", "women", "men", (("she", "he"),), {"nurse": None}, ())
    trials, counts, probes = asked(Questions(first_label="women", second_label="men", repeats=10), words)
    assert len({one.ask for one in probes}) == len(probes) == counts.usable
    by_level = {one.level: one.trials for one in trials}
    assert by_level[0.0] == by_level[1.0] == 1
    assert by_level[0.5] >= 8  # ten draws out of 252 possible mixtures rarely repeat


def test_shares_of_cues_that_round_to_the_same_mixture_are_merged():
    trials, _, _ = asked(Questions(first_label="women", second_label="men", levels=(0.0, 0.5, 0.51, 1.0)))
    assert {one.level for one in trials} == {0.0, 0.5, 1.0}


def test_shares_of_cues_that_differ_only_in_late_digits_have_different_probe_ids():
    levels = (0.0, 0.5, 0.5000000001)
    _, _, probes = asked(Questions(first_label="women", second_label="men", levels=levels))
    assert len({one.unit for one in probes}) == len(probes)


def test_choices_of_each_label_are_counted_for_each_share_of_cues():
    trials, _, _ = asked(answer=lambda text: "men" if level_of(text) >= 0.5 else "women")
    assert {one.chose_second == one.trials for one in trials if one.level >= 0.5} == {True}
    assert {one.chose_second for one in trials if one.level < 0.5} == {0}


def test_every_question_is_counted_as_failed_unasked_unusable_or_usable():
    became = {
        "nurse": Reply(failure=Failure("timeout", "no answer")),
        "carpenter": Reply(failure=Failure("budget-exhausted", "enough")),
        "table": labelled("neither"),
        "chair": labelled("men"),
    }
    trials, counts, _ = asked(answer=lambda text: became[text.removesuffix("?").rpartition(" ")[2]])
    assert (counts.failed, counts.unasked, counts.unusable, counts.usable) == (21, 21, 21, 21)
    assert {one.concept for one in trials} == {"chair"}


def test_many_questions_are_asked_in_batches_of_at_most_500():
    asking = ask_choices(replace(ASKED, repeats=20), WORDS, np.random.default_rng(1))
    first = next(asking)
    second = asking.send([labelled("women")] * len(first))
    assert len(first) == 500 > len(second) > 0
    with pytest.raises(StopIteration) as end:
        asking.send([labelled("women")] * len(second))
    assert end.value.value[1].usable == len(first) + len(second)


def test_the_same_seed_asks_the_same_questions():
    assert asked(seed=7)[2] == asked(seed=7)[2] != asked(seed=8)[2]


# ---------------------------------------------------------------------------- trials
@pytest.mark.parametrize(
    "fields",
    [("nurse", 0.5, 4, 3), ("nurse", 0.5, -1, 3), ("nurse", 0.5, 0, 0), ("nurse", 11.0, 0, 1), ("", 0.5, 0, 1)],
)
def test_choices_with_impossible_counts_shares_of_cues_or_words_are_refused(fields):
    with pytest.raises(OutOfBounds):
        Trials(*fields)


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(3)
    made = []
    for word, point in (("nurse", 0.7), ("carpenter", 0.35)):
        for level in np.linspace(0, 1, 9):
            chance = 0.5 * math.erfc((point - level) / (0.15 * math.sqrt(2)))
            made.append(Trials(word, float(level), int(rng.binomial(40, chance)), 40))
    return judge_trials([*made, Trials("table", 0.0, 0, 9), Trials("table", 1.0, 0, 9), Trials("chair", 0.5, 3, 9)])


def test_each_word_gets_its_own_psychometric_curve(judged):
    assert judged.fits["nurse"].pse.estimate == pytest.approx(0.7, abs=0.05)
    assert judged.fits["carpenter"].pse.estimate == pytest.approx(0.35, abs=0.05)


def test_the_reason_is_stated_for_each_word_without_a_psychometric_curve(judged):
    assert set(judged.reasons) == {"table", "chair"}
    assert "all 18 answers chose the first cue" in judged.reasons["table"]
    assert "a curve needs two" in judged.reasons["chair"]


def test_the_table_of_a_forced_choice_rating_has_a_row_for_every_word_with_its_counts(judged):
    table = judged.table(("table", "chair"), {"nurse": 0.9})
    rows = {row.word: as_json(row) for row in table}
    assert list(rows) == ["nurse", "carpenter", "table", "chair"]
    assert (rows["nurse"]["role"], rows["nurse"]["share"]) == ("concept", 0.9)
    assert (rows["table"]["role"], rows["table"].get("pse"), rows["table"].get("jnd")) == ("control", None, None)
    assert rows["table"]["why"] == judged.reasons["table"]
    assert rows["chair"]["trials"] == [[0.5, 3, 9]]
    assert rows["nurse"]["pse"]["low"] < rows["nurse"]["pse"]["estimate"] < rows["nurse"]["pse"]["high"]
    assert rows["nurse"]["jnd_75"] == pytest.approx(0.67449 * rows["nurse"]["jnd"], rel=1e-5)


def test_splitting_the_counts_of_a_word_over_several_rows_does_not_change_its_result():
    whole = [Trials("nurse", level, chose, 20) for level, chose in ((0.0, 2), (0.5, 12), (1.0, 18))]
    halves = [Trials("nurse", one.level, one.chose_second // 2, 10) for one in whole for _ in range(2)]
    assert judge_trials(halves).fits["nurse"].pse == judge_trials(whole).fits["nurse"].pse
