"""Tests of the demo embedders: each has its declared bias, computed from its vectors."""

import math

import numpy as np
import pytest

from assay.catalog import occupations
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.shipped import shipped_words
from assay.model import Letter
from demo.predictors.embedders import CONTENT_DIMS, GENDER_DIMS, cues, share_of_women
from demo.predictors.known import PREDICTORS, predictor

WORDS = shipped_words(ChoiceWords, "gender-occupations", "gender")
CONTROLS = WORDS.controls
COUNTED = {one.name: one.share_women for one in occupations() if one.share_women is not None}
MODEL = "any"


def vector(name: str, text: str, model: str = MODEL) -> np.ndarray:
    return np.array(predictor(name).embed(text, model))


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def point(name: str, word: str, kept: slice = slice(None)) -> float:
    """Return the share of the man's cue at which a word is equally near to both cues (PSE), as mean over cue pairs."""
    found = []
    for woman, man in WORDS.cues:
        first, second, said = (vector(name, text)[kept] for text in (woman, man, word))
        low, high = -1.0, 2.0
        for _ in range(40):
            middle = (low + high) / 2
            mixed = (1 - middle) * first + middle * second + said
            low, high = (low, middle) if cosine(mixed, second) > cosine(mixed, first) else (middle, high)
        found.append((low + high) / 2)
    return float(np.mean(found))


def mean_distance(name: str, protected, attributes) -> float:
    return 1 - float(
        np.mean([cosine(vector(name, one), vector(name, other)) for one in protected for other in attributes])
    )


@pytest.mark.parametrize("word", ["table", "river", "nurse", "carpenter"])
def test_the_even_demo_embedder_has_its_point_of_subjective_equality_at_one_half_for_every_word(word: str):
    assert point("even-embedder", word) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("percent", [20, 60, 100])
@pytest.mark.parametrize("word", ["nurse", "carpenter", "accountant"])
def test_the_stereotyped_demo_embedder_is_biased_for_an_occupation_by_its_share_of_women(percent: int, word: str):
    stated = 0.5 + percent / 100 * (COUNTED[word] - 0.5)
    assert point(f"stereotyped-embedder-{percent}", word) == pytest.approx(stated, abs=0.04)


@pytest.mark.parametrize("word", CONTROLS[:4])
def test_the_stereotyped_demo_embedder_shows_no_bias_for_control_words(word: str):
    assert point("stereotyped-embedder-100", word) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize("percent", [0, 40, 100])
@pytest.mark.parametrize("word", ["table", "nurse"])
def test_the_leaning_embedder_shifts_every_word_towards_men(percent: int, word: str):
    assert point(f"leaning-embedder-{percent}", word) == pytest.approx(0.5 - percent / 200, abs=0.04)


def test_noise_of_an_embedder_averages_out_over_many_words():
    points = [point("even-embedder", word) for word in CONTROLS]
    assert np.mean(points) == pytest.approx(0.5, abs=0.01)
    assert 0 < np.std(points) < 0.03


def test_the_even_and_the_odd_dimensions_of_a_demo_embedding_show_the_same_bias():
    for half in (slice(0, None, 2), slice(1, None, 2)):
        assert point("stereotyped-embedder", "nurse", half) == pytest.approx(
            0.5 + 0.6 * (COUNTED["nurse"] - 0.5), abs=0.06
        )


def test_distances_between_words_show_the_bias_that_each_demo_embedder_was_built_with():
    words = shipped_words(AssociationWords, "p2-gender", "gender")
    women, men = words.protected["woman"], words.protected["man"]
    hers, his, things = words.attributes["woman"], words.attributes["man"], words.neutral[:40]
    gaps = {
        name: [mean_distance(name, men, listed) - mean_distance(name, women, listed) for listed in (hers, his, things)]
        for name in ("even-embedder", "stereotyped-embedder", "leaning-embedder")
    }
    assert gaps["even-embedder"] == pytest.approx([0, 0, 0], abs=0.04)
    assert gaps["stereotyped-embedder"][0] > 0.2
    assert gaps["stereotyped-embedder"][1] < -0.2
    assert gaps["stereotyped-embedder"][2] == pytest.approx(0, abs=0.04)
    assert max(gaps["leaning-embedder"]) < -0.2


def test_the_vectors_of_a_cue_pair_differ_only_in_the_gender_dimensions():
    for woman, man in WORDS.cues:
        first, second = (vector("even-embedder", cue) for cue in (woman, man))
        np.testing.assert_array_equal(first[:CONTENT_DIMS], second[:CONTENT_DIMS])
        assert np.linalg.norm(first) == pytest.approx(1, abs=0.11)
        assert first[CONTENT_DIMS:].sum() > 0 > second[CONTENT_DIMS:].sum()


def test_every_cue_is_female_or_male():
    words = shipped_words(AssociationWords, "p2-gender", "gender").protected
    listed = [cue for pair in WORDS.cues for cue in pair] + [*words["woman"], *words["man"]]
    assert set(listed) == set(cues())
    assert {cues()[word][1] for word in words["man"]} == {-1}


@pytest.mark.parametrize("name", ["even-embedder", "stereotyped-embedder", "leaning-embedder"])
def test_a_vector_depends_only_on_text_and_model(name: str):
    assert len(vector(name, "nurse")) == CONTENT_DIMS + GENDER_DIMS
    again = predictor(name).embed.func("Nurse ", MODEL, **predictor(name).embed.keywords)
    assert again == predictor(name).embed("nurse", MODEL)
    assert not np.allclose(vector(name, "nurse"), vector(name, "nurse", "another"))
    assert np.isfinite(vector(name, "\ud800 ŝi 🙂")).all()
    assert np.isfinite(vector(name, "")).all()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("the nurse", "nurse"),
        ("A Carpenter at work", "carpenter"),
        ("a dental hygienist", "dental hygienist"),
        ("a chair", None),
    ],
)
def test_the_vector_of_a_phrase_has_the_share_of_women_of_the_occupation_in_it(text: str, word: str | None):
    assert share_of_women(text.lower()) == (0.5 if word is None else COUNTED[word])


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("stereotyped-embedder-0", Letter.UCS),
        ("stereotyped-embedder-10", Letter.UCS),
        ("stereotyped-embedder-25", Letter.DSBS),
        ("leaning-embedder-0", Letter.UCS),
        ("leaning-embedder-9", Letter.UCS),
        ("leaning-embedder-10", None),
        ("leaning-embedder-11", Letter.BS),
    ],
)
def test_the_letter_of_an_embedder_changes_where_its_effect_crosses_the_tolerance(name: str, letter: Letter | None):
    assert predictor(name).letter is letter


def test_the_demo_embedders_cover_the_three_letters():
    names = ("even-embedder", "stereotyped-embedder", "leaning-embedder")
    assert [PREDICTORS[name].letter for name in names] == [Letter.UCS, Letter.DSBS, Letter.BS]
