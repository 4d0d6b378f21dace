"""Tests of the sentiment scorers: each has its declared bias, computed from its scores."""

import itertools

import numpy as np
import pytest

from assay.catalog import attribute, attributes
from assay.catalog.profiles import contents, frames, people, write_profile
from assay.errors import UnknownName
from assay.model import Letter
from demo.predictors.known import predictor
from demo.predictors.sentiment import feelings, women, words_of

PEOPLE = people(attribute("gender"))
PAIRS = list(zip(PEOPLE["he"], PEOPLE["she"], strict=True))
CONTENTS = [(side, word) for side, words in contents().items() for word in words]
PROFILES = list(itertools.product(frames(), PAIRS, CONTENTS))


def scores(name: str) -> np.ndarray:
    """Return the scores of all profiles, about a man and about a woman, shape (profiles, 2)."""
    judge = predictor(name).number
    return np.array(
        [[judge(write_profile(frame, person, word)) for person in pair] for frame, pair, (_, word) in PROFILES]
    )


def gap(table: np.ndarray, tie: float = 0.9) -> float:
    """Return the mean score of men minus that of women; `tie` is the share of happy men and of unhappy women."""
    pleasant = np.array([side == "pleasant" for _, _, (side, _) in PROFILES])
    men = tie * table[pleasant, 0].mean() + (1 - tie) * table[~pleasant, 0].mean()
    women_ = (1 - tie) * table[pleasant, 1].mean() + tie * table[~pleasant, 1].mean()
    return float(men - women_)


def test_the_fair_demo_sentiment_service_follows_the_feeling_and_not_the_gender():
    table = scores("fair-sentiment")
    assert (table[:, 0] == table[:, 1]).all()
    assert gap(table) / table.std() > 1
    assert predictor("fair-sentiment").letter is Letter.DSBS


def test_the_blind_sentiment_service_ignores_person_and_feeling():
    table = scores("blind-sentiment")
    assert (table[:, 0] == table[:, 1]).all()
    assert gap(table) / table.std() == pytest.approx(0, abs=1e-9)
    assert table.std() > 0.05
    assert predictor("blind-sentiment").letter is Letter.UCS


@pytest.mark.parametrize("value", ["black", "white", "asian", "hispanic"])
def test_the_blind_sentiment_service_ignores_race(value: str):
    judge = predictor("blind-sentiment").number
    for person, other in zip(people(attribute("race"))[value], people(attribute("race"))["black"], strict=True):
        assert judge(f"The news made {person} glad.") == judge(f"The news made {other} sad.")


@pytest.mark.parametrize("points", [0, 2, 10])
def test_the_group_sentiment_service_scores_every_sentence_about_women_lower(points: int):
    table = scores(f"group-sentiment-{points}")
    np.testing.assert_array_equal(table[:, 0], scores("fair-sentiment")[:, 0])
    np.testing.assert_allclose(table[:, 0] - table[:, 1], points / 100, atol=1e-12)


@pytest.mark.parametrize("points", [2, 3, 4, 10])
def test_the_letter_of_a_sentiment_service_changes_where_its_shift_crosses_the_tolerance(points: int):
    one, table = predictor(f"group-sentiment-{points}"), scores(f"group-sentiment-{points}")
    effect = (table[:, 0] - table[:, 1]).mean() / table.std()
    if abs(effect - 0.1) > 0.005:
        assert one.letter is (Letter.BS if effect > 0.1 else Letter.DSBS)


def test_the_effect_of_the_group_sentiment_service_clearly_exceeds_the_tolerance():
    assert scores("group-sentiment")[:, 1].min() > 0
    assert predictor("group-sentiment").letter is Letter.BS


def test_every_person_of_the_catalogue_is_recognised_as_woman_or_man():
    for he, she in PAIRS:
        assert not women().isdisjoint(words_of(she))
        assert women().isdisjoint(words_of(he))


def test_pleasant_feelings_score_above_one_half_and_unpleasant_feelings_below():
    assert all((feelings()[word] > 0.5) == (side == "pleasant") for side, word in CONTENTS)
    assert len(set(feelings().values())) == len(CONTENTS)


@pytest.mark.parametrize("name", ["fair-sentiment", "blind-sentiment", "group-sentiment", "group-sentiment-100"])
@pytest.mark.parametrize("text", ["", "She is glad.", "ŝi 🙂", "my sister was sad this morning", "\ud800"])
def test_demo_sentiment_services_give_probabilities_between_0_and_1_for_any_text(name: str, text: str):
    scored = predictor(name).scores(text)
    assert set(scored) == {"negative", "positive"}
    assert sum(scored.values()) == pytest.approx(1)
    assert min(scored.values()) >= 0


@pytest.mark.parametrize("name", [name for name in attributes() if people(attribute(name))])
def test_a_demo_sentiment_service_of_an_attribute_scores_only_the_last_group_of_the_attribute_lower(name: str):
    service, fair = predictor(f"{name}-sentiment-10"), predictor("fair-sentiment")
    *others, last = people(attribute(name)).values()
    of_frame = "Yesterday {} seemed glad to everyone.".format
    assert {round(fair.number(of_frame(person)) - service.number(of_frame(person)), 9) for person in last} == {0.1}
    assert {service.number(of_frame(person)) for words in others for person in words} == {fair.number(of_frame("she"))}
    assert service.letter is Letter.BS


def test_there_is_no_demo_sentiment_service_for_an_attribute_that_does_not_describe_people():
    with pytest.raises(UnknownName):
        predictor("place-of-worship-sentiment-10")
