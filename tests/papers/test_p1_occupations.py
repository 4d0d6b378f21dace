"""Liang & Acuna: occupations between women and men, and between love and hate, on real word vectors.

The paper trained its own models on Wikipedia; here the vectors are 13,013 of word2vec's GoogleNews. So signs and
strengths are compared, not digits. Vectors have length 1, as endpoints serve them, unless a test says otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

from assay.document import as_json
from assay.methods import ForcedChoice
from assay.model import Letter
from assay.statistics.embeddings.two_afc import indifference_points
from tools.papers import p1, printed
from tools.papers.shared_data import Shared

SHARED = Shared()
pytestmark = pytest.mark.skipif(
    not (SHARED.folder / "data" / p1.EMBEDDING).exists(), reason="the shared word vectors are not beside the project"
)

OCCUPATIONS = (
    *("carpenter", "electrician", "janitor", "lawyer", "doctor"),
    *("secretary", "nurse", "receptionist", "librarian", "teacher"),
)
"""Words whose PSE was also computed by an independent program."""


def found(lengths="length 1", specification="gender-occupations"):
    return p1.forced_choice(SHARED, specification, lengths)


def row(word, **how):
    return next(one for one in as_json(found(**how).detail)["words"] if one["word"] == word)


@pytest.fixture(scope="module")
def known():
    """PSEs that an independent program computed: in closed form for each cue pair, and by bisection."""
    return SHARED.known("two_afc_embedding.json")


# ---------------------------------------------------------------------------- women and men
@pytest.mark.parametrize("lengths", ["length 1", "as trained"])
def test_points_of_subjective_equality_of_occupations_correlate_with_their_share_of_women(lengths):
    """The paper: "PSE correlates well with the percent" of men."""
    correlation = as_json(found(lengths).detail)["correlation"]
    assert correlation["n"] == 94
    assert [correlation["r"], correlation["low"]] == pytest.approx([0.824, 0.747], abs=0.01)
    assert np.log10(correlation["p"]) == pytest.approx(-23.7, abs=0.2)
    slope = as_json(found(lengths).detail)["slope"]
    assert [slope["estimate"], slope["low"]] == pytest.approx([0.34, 0.28], abs=0.02)


@pytest.mark.parametrize("lengths", ["length 1", "as trained"])
def test_control_words_have_a_point_of_subjective_equality_near_one_half(lengths):
    assert as_json(found(lengths).detail)["controls_mean"] == pytest.approx(0.486, abs=0.005)
    spread = as_json(found(lengths).detail)["spread"]
    assert [spread["concepts"], spread["controls"]] == pytest.approx([0.114, 0.043], abs=0.002)


@pytest.mark.parametrize("lengths", ["length 1", "as trained"])
def test_word_vectors_are_rated_dsbs_for_gender_stereotypes_of_occupations(lengths):
    component = found(lengths)
    assert (component.letter, component.declared) == (Letter.DSBS, True)
    assert component.reasons[0].code == "choices-follow-words"
    assert component.effects["step_1"].high < 0.05 < component.effects["step_2"].low


@pytest.mark.parametrize("word", OCCUPATIONS)
def test_points_of_subjective_equality_in_closed_form_agree_with_bisection(word, known):
    """Both are the mean over the eight cue pairs; bisection stops within .004."""
    assert set(known["pse"]) == set(OCCUPATIONS)
    assert row(word)["pse"]["estimate"] == pytest.approx(known["pse"][word], abs=0.004)


@pytest.mark.parametrize("word", ["carpenter", "receptionist", "electrician", "nurse", "librarian"])
def test_intervals_of_gendered_occupations_are_on_the_same_side_of_one_half_as_points_from_bisection(word, known):
    assert (row(word)["pse"]["high"] < 0.5) == (known["pse"][word] < 0.5)


@pytest.mark.parametrize("word", OCCUPATIONS)
def test_the_point_of_subjective_equality_of_an_occupation_is_the_mean_over_the_eight_cue_pairs(word, known):
    by_pair = list(known["closed_form_pse_per_pair"][word].values())
    assert len(by_pair) == 8
    assert row(word)["pse"]["estimate"] == pytest.approx(np.mean(by_pair), abs=1e-6)


@pytest.mark.parametrize("word", printed.SIDES)
def test_each_occupation_is_on_the_side_of_women_or_men_that_the_paper_prints(word):
    ours = "women's side" if row(word)["pse"]["estimate"] > 0.5 else "men's side"
    assert ours == printed.SIDES[word]


def test_the_just_noticeable_difference_of_lawyer_is_larger_than_of_hairdresser_unlike_in_the_paper():
    """The paper prints a smaller JND for lawyer; here the cue pairs disagree about lawyers."""
    assert {p1.smaller_jnd(found(), *printed.SIDES), printed.SMALLER_JND} == {"hairdresser", "lawyer"}
    assert row("hairdresser")["pse"]["low"] > 0.5
    assert row("lawyer")["pse"]["low"] < 0.5 < row("lawyer")["pse"]["high"]


@pytest.mark.parametrize("lengths", ["length 1", "as trained"])
def test_just_noticeable_differences_correlate_negatively_with_the_deviation_of_the_share_of_women(lengths):
    """The paper says that JND "correlates well" with the standard deviation of the share; here r is negative.

    Occupations of nearly only women or nearly only men have a small standard deviation, and here their PSE differs most
    between cue pairs, which is part of the JND. The paper's JND comes from bootstrapped corpora alone.
    """
    correlation = as_json(found(lengths).detail)["jnd_correlation"]
    assert correlation["r"] == pytest.approx(-0.40, abs=0.04)
    assert correlation["p"] < 0.01


def test_just_noticeable_differences_from_half_of_the_dimensions_do_not_correlate_with_the_share_of_women():
    """Random halves of the dimensions replace the paper's corpora; the correlation is then near zero."""
    words, vectors = ForcedChoice(specification="gender-occupations").words, p1.vectors(SHARED)
    known = [word for word, share in words.concepts.items() if share is not None and word in vectors]
    unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
    rng = np.random.default_rng(2)
    halves = []
    for _ in range(100):
        kept = rng.permutation(300)[:150]
        first, second = (np.array([unit[pair[side]][kept] for pair in words.cues]) for side in (0, 1))
        halves.append(indifference_points(first, second, np.array([unit[word][kept] for word in known])))
    jnd = np.std(halves, axis=0).mean(axis=0)
    shares = np.array([words.concepts[word] for word in known])
    assert abs(np.corrcoef(np.sqrt(shares * (1 - shares)), jnd)[0, 1]) < 0.2


def test_just_noticeable_differences_correlate_weakly_with_the_printed_order_of_occupations():
    agreement = p1.rank_agreement(found(), printed.JND_ORDER, "jnd")
    assert agreement.words == 19
    assert agreement.missing == ("worker", "practitioner", "pathologist", "planner", "appraiser", "advisor")
    assert agreement.r == pytest.approx(0.30, abs=0.03)


# ---------------------------------------------------------------------------- love and hate
@pytest.mark.parametrize("lengths", ["length 1", "as trained"])
def test_the_point_of_subjective_equality_of_teacher_is_nearer_to_love_than_to_hate(lengths):
    assert row("teacher", lengths=lengths, specification="love-hate")["pse"]["estimate"] > 0.5


def test_examiner_practitioner_and_advisor_are_reported_as_missing_from_the_vocabulary():
    """It stands at the hate end of the paper's axis, so that end is not compared; the report names missing words."""
    missing = as_json(found(specification="love-hate").detail)["coverage"]["concepts"]["missing"]
    assert {"examiner", "practitioner", "advisor"} <= set(missing) & set(printed.LOVE_TO_HATE)


def test_points_of_subjective_equality_correlate_weakly_with_the_printed_order_from_hate_to_love():
    agreement = p1.rank_agreement(found(specification="love-hate"), printed.LOVE_TO_HATE, "pse")
    assert (agreement.words, agreement.missing) == (22, ("examiner", "practitioner", "advisor"))
    assert agreement.r == pytest.approx(0.17, abs=0.02)


def test_occupations_between_love_and_hate_vary_no_more_than_control_words():
    component = found(specification="love-hate")
    spread = as_json(component.detail)["spread"]
    assert [spread["concepts"], spread["controls"]] == pytest.approx([0.044, 0.075], abs=0.002)
    assert component.effects["step_2"].estimate < 0.01


def test_all_occupations_together_are_nearer_to_love_by_about_the_tolerance_so_no_letter_is_declared():
    component = found(specification="love-hate")
    (together,) = as_json(component.detail)["hidden"]
    assert together["effect"]["estimate"] == pytest.approx(0.060, abs=0.003)
    assert (component.letter, component.declared) == (Letter.DSBS, False)


def test_the_interval_of_a_point_of_subjective_equality_from_a_single_cue_pair_is_wide():
    """The width comes from the spread over random halves of the dimensions; more halves do not make it smaller."""
    one = row("teacher", specification="love-hate")
    assert one["pse"]["high"] - one["pse"]["low"] == pytest.approx(0.26, abs=0.03)
