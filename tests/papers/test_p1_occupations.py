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
    """Answer like an embeddings endpoint with these vectors; unknown words fail."""

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
def test_pse_correlates_with_the_share_of_women_in_an_occupation(lengths):
    """The paper: "PSE correlates well with the percent" of men."""
    correlation = found(lengths).detail["correlation"]
    assert correlation["n"] >= 50
    assert correlation["r"] > 0.7
    assert correlation["low"] > 0.6
    assert correlation["p"] < 1e-10
    assert found(lengths).detail["slope"]["low"] > 0.2


@pytest.mark.parametrize("lengths", LENGTHS)
def test_control_words_have_a_pse_near_one_half(lengths):
    assert abs(found(lengths).detail["controls_mean"] - 0.5) < 0.05
    spread = found(lengths).detail["spread"]
    assert spread["concepts"] > 2 * spread["controls"]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_embedding_is_rated_dsbs(lengths):
    component = found(lengths)
    assert (component.letter, component.declared) == (Letter.DSBS, True)
    assert component.reasons[0].code == "choices-follow-words"
    assert component.effects["step_1"].high < 0.05 < component.effects["step_2"].low


def test_the_pse_of_carpenter_and_receptionist_is_the_published_one():
    """The numbers are those of METHODS, section 10."""
    assert row("carpenter")["pse"]["estimate"] == pytest.approx(0.30, abs=0.01)
    assert row("receptionist")["pse"]["estimate"] == pytest.approx(0.81, abs=0.01)
    assert row("carpenter")["pse"]["high"] < 0.5 < row("receptionist")["pse"]["low"]


@pytest.mark.parametrize("word", ["carpenter", "electrician", "lawyer", "nurse", "librarian", "teacher"])
def test_pse_is_the_mean_over_the_eight_cue_pairs(word):
    by_pair = json.loads(KNOWN.read_text())["closed_form_pse_per_pair"][word]
    assert len(by_pair) == 8
    assert row(word)["pse"]["estimate"] == pytest.approx(np.mean(list(by_pair.values())), abs=1e-6)


def test_hairdresser_is_on_the_female_side_and_lawyer_on_neither():
    """The paper's figure 4 has lawyers on the women's side, with little uncertainty; here cue pairs disagree."""
    assert row("hairdresser")["pse"]["low"] > 0.5
    assert row("lawyer")["pse"]["low"] < 0.5 < row("lawyer")["pse"]["high"]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_jnd_is_smaller_for_occupations_shared_by_women_and_men(lengths):
    """The paper says that it "correlates well" with the standard deviation of the share; here the sign is minus.

    Work that nearly all women or nearly all men do has the small deviation and, here, the points that differ most
    between cue pairs, which are part of this spread. The paper's is that of bootstrapped corpora alone.
    """
    correlation = found(lengths).detail["jnd_correlation"]
    assert -0.7 < correlation["r"] < -0.2
    assert correlation["p"] < 0.01


def test_jnd_without_cue_pairs_does_not_correlate_with_the_shares():
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


def test_medical_examiner_is_not_in_the_vocabulary():
    """The paper's other end, so that it cannot be compared; the report names the words that are missing."""
    missing = found(specification="love-hate").detail["coverage"]["concepts"]["missing"]
    assert "examiner" in missing


def test_occupations_spread_no_more_than_controls_between_love_and_hate():
    component = found(specification="love-hate")
    spread = component.detail["spread"]
    assert spread["concepts"] < spread["controls"] + 0.02
    assert component.letter is Letter.UCS


def test_a_single_cue_pair_gives_no_narrow_interval():
    one = row("teacher", specification="love-hate")
    assert one["pse"]["high"] - one["pse"]["low"] == pytest.approx(2 * 1.96 * one["jnd"], rel=1e-4)
    assert one["jnd"] > 0.02
