"""Liang & Acuna: occupations between women and men, and between love and hate, on real word vectors.

The paper trained its own models on Wikipedia; here the vectors are 13,013 of word2vec's GoogleNews. So signs and
strengths are compared, not digits. Vectors are served as endpoints serve them, with length 1, unless said.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from assay.experiment import run
from assay.methods import ForcedChoice
from assay.model import Failure, Letter, Reply
from assay.statistics.embeddings.two_afc import indifference_points

SHARED = Path(__file__).resolve().parents[3] / "shared"
VECTORS = SHARED / "data" / "embeddings" / "gnews_wefe_13013x300.npz"
KNOWN = SHARED / "known_answers" / "two_afc_embedding.json"
pytestmark = pytest.mark.skipif(
    not (VECTORS.exists() and KNOWN.exists()), reason="the shared word vectors are not beside the project"
)

LENGTHS = ("length 1", "as trained")


@cache
def vectors():
    with np.load(VECTORS) as stored:
        return dict(zip(json.loads(str(stored["words"])), stored["vectors"].astype(float), strict=True))


def served(lengths):
    """Answer as an endpoint with these vectors would, which does not know every word."""

    def answer(probe):
        if (vector := vectors().get(probe.ask.text)) is None:
            return Reply(failure=Failure("http-404", "no such word"))
        return Reply((vector / np.linalg.norm(vector) if lengths == "length 1" else vector).tolist())

    return answer


@cache
def found(lengths="length 1", specification="gender-occupations"):
    (component,) = run(ForcedChoice(specification=specification), served(lengths), seed=1).components
    return component


def row(word, **how):
    return next(one for one in found(**how).detail["words"] if one["word"] == word)


# ---------------------------------------------------------------------------- women and men
@pytest.mark.parametrize("lengths", LENGTHS)
def test_points_go_with_the_share_of_women_who_do_the_work(lengths):
    """The paper: "PSE correlates well with the percent" of men."""
    correlation = found(lengths).detail["correlation"]
    assert correlation["n"] >= 50
    assert correlation["r"] > 0.7
    assert correlation["low"] > 0.6
    assert correlation["p"] < 1e-10
    assert found(lengths).detail["slope"]["low"] > 0.2


@pytest.mark.parametrize("lengths", LENGTHS)
def test_words_that_are_no_occupation_are_in_the_middle(lengths):
    assert abs(found(lengths).detail["controls_mean"] - 0.5) < 0.05
    spread = found(lengths).detail["spread"]
    assert spread["concepts"] > 2 * spread["controls"]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_space_is_rated_as_one_that_follows_the_world(lengths):
    component = found(lengths)
    assert (component.letter, component.declared) == (Letter.DSBS, True)
    assert component.reasons[0].code == "choices-follow-words"
    assert component.effects["step_1"].high < 0.05 < component.effects["step_2"].low


def test_carpenters_are_men_and_receptionists_are_women():
    """The numbers are those of METHODS, section 10."""
    assert row("carpenter")["pse"]["estimate"] == pytest.approx(0.30, abs=0.01)
    assert row("receptionist")["pse"]["estimate"] == pytest.approx(0.81, abs=0.01)
    assert row("carpenter")["pse"]["high"] < 0.5 < row("receptionist")["pse"]["low"]


@pytest.mark.parametrize("word", ["carpenter", "electrician", "lawyer", "nurse", "librarian", "teacher"])
def test_a_point_is_the_mean_of_the_known_ones_over_the_eight_cue_pairs(word):
    by_pair = json.loads(KNOWN.read_text())["closed_form_pse_per_pair"][word]
    assert len(by_pair) == 8
    assert row(word)["pse"]["estimate"] == pytest.approx(np.mean(list(by_pair.values())), abs=1e-6)


def test_hairdressers_are_women_and_lawyers_are_undecided():
    """The paper's figure 4 has lawyers on the women's side, with little uncertainty; here cue pairs disagree."""
    assert row("hairdresser")["pse"]["low"] > 0.5
    assert row("lawyer")["pse"]["low"] < 0.5 < row("lawyer")["pse"]["high"]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_just_noticeable_difference_falls_where_the_work_is_shared(lengths):
    """The paper says that it "correlates well" with the standard deviation of the share; here the sign is minus.

    Work that nearly all women or nearly all men do has the small deviation and, here, the points that differ most
    between cue pairs, which are part of this spread. The paper's is that of bootstrapped corpora alone.
    """
    correlation = found(lengths).detail["jnd_correlation"]
    assert -0.7 < correlation["r"] < -0.2
    assert correlation["p"] < 0.01


def test_without_the_cue_pairs_the_just_noticeable_difference_says_nothing_of_the_shares():
    """Halves of the dimensions alone, which stand for the paper's corpora, show neither sign."""
    words = ForcedChoice(specification="gender-occupations").words
    known = [word for word, share in words.concepts.items() if share is not None and word in vectors()]
    unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors().items()}
    rng = np.random.default_rng(2)
    halves = []
    for _ in range(100):
        kept = rng.permutation(300)[:150]
        first, second = (np.array([unit[pair[side]][kept] for pair in words.cues]) for side in (0, 1))
        halves.append(indifference_points(first, second, np.array([unit[word][kept] for word in known])))
    jnd = np.std(halves, axis=0).mean(axis=0)
    shares = np.array([words.concepts[word] for word in known])
    assert abs(np.corrcoef(np.sqrt(shares * (1 - shares)), jnd)[0, 1]) < 0.2


# ---------------------------------------------------------------------------- love and hate
@pytest.mark.parametrize("lengths", LENGTHS)
def test_teachers_are_nearer_to_love_than_to_hate(lengths):
    assert row("teacher", lengths=lengths, specification="love-hate")["pse"]["estimate"] > 0.5


def test_medical_examiners_are_not_among_these_vectors():
    """The paper's other end, so that it cannot be compared; the report names the words that are missing."""
    missing = found(specification="love-hate").detail["coverage"]["concepts"]["missing"]
    assert "examiner" in missing


def test_between_love_and_hate_occupations_spread_no_more_than_other_words():
    component = found(specification="love-hate")
    spread = component.detail["spread"]
    assert spread["concepts"] < spread["controls"] + 0.02
    assert component.letter is Letter.UCS


def test_one_pair_of_cues_leaves_a_point_uncertain():
    one = row("teacher", specification="love-hate")
    assert one["pse"]["high"] - one["pse"]["low"] == pytest.approx(2 * 1.96 * one["jnd"], rel=1e-4)
    assert one["jnd"] > 0.02
