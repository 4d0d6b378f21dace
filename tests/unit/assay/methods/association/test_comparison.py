"""Tests of the comparison of two association ratings: changes, and ratings that cannot be compared."""

from __future__ import annotations

import copy
import json

import pytest

from assay.experiment import run
from assay.methods import Association, RoundTrip, rating_of
from assay.methods.association.comparison import NotComparable
from assay.methods.association.comparison import comparison_document as compare
from assay.model import Failure, Reply
from demo.predictors.embedders import embed
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of


def comparison_document(before, after):
    return compare(rating_of(before), rating_of(after))


def rating(strength=0.6, unknown=(), method=None, **changes):
    """Rate an embedding with stereotypes of a given strength, and return the document."""
    method = method or Association()

    def answer(probe):
        if probe.ask.text in unknown:
            return Reply(failure=Failure("missing-word", "not known"))
        return Reply(embed(probe.ask.text, "m", strength=strength, tilt=0.0))

    target = {"name": f"strength {strength}", "kind": "embedder", "protocol": "openai-embeddings", "url": "http://t"}
    document = document_of(run(method, answer, seed=5), experiment=dump_method(method), target=target, seed=5)
    dates = {"id": f"rat_{strength}", "rated_at": "2026-01-02T03:04:05Z", "expires_at": "2027-01-02T03:04:05Z"}
    return document | dates | changes


@pytest.fixture(scope="module")
def stereotyped():
    return rating(0.6)


@pytest.fixture(scope="module")
def debiased():
    return rating(0.0)


@pytest.fixture(scope="module")
def change(stereotyped, debiased):
    return comparison_document(stereotyped, debiased)


def without_details(document, *names):
    changed = copy.deepcopy(document)
    for name in names:
        del changed["components"][0][name]
    return changed


def test_a_comparison_before_and_after_debiasing_shows_a_decrease_overall_and_for_every_word(change, stereotyped):
    assert change["effect"]["hpdi"]["high"] < 0
    assert change["effect"]["p_after_greater"] < 0.01
    assert change["effect"]["mean"] == pytest.approx(change["effect"]["after"] - change["effect"]["before"], abs=1e-9)
    words = {word for listed in stereotyped["experiment"]["words"]["protected"].values() for word in listed}
    assert {one["name"] for one in change["words"]} == words
    assert all(one["mean"] < 0 for one in change["words"])


def test_the_interval_of_the_change_of_unchanged_distances_contains_zero(change):
    controls = {one["name"]: one for one in change["connections"]}
    for name in ("human", "neutral"):
        assert controls[name]["hpdi"]["low"] < 0 < controls[name]["hpdi"]["high"]


def test_the_means_in_a_comparison_of_two_ratings_equal_those_in_the_ratings(change, stereotyped, debiased):
    for place, document in (("before", stereotyped), ("after", debiased)):
        rated = {one["connection"]: one["mean"] for one in document["components"][0]["connections"]}
        told = {one["name"]: one[place] for one in change["connections"]}
        # not exact: the comparison draws again, from distances rounded to five digits
        assert told == pytest.approx(rated, abs=0.005)


def test_a_comparison_of_two_ratings_names_both_ratings_and_the_settings_of_the_model_fit(change):
    assert [change[place]["id"] for place in ("before", "after")] == ["rat_0.6", "rat_0.0"]
    assert change["fit"] == {"residual": "per-connection", "prior": "paper", "draws": 4000}
    assert (change["mass"], change["pairs_left_out"]) == (0.89, 0)
    json.dumps(change, allow_nan=False)


def test_a_comparison_lists_the_hidden_effects_of_both_ratings(change, stereotyped, debiased):
    for place, rated in (("before", stereotyped), ("after", debiased)):
        assert change[place]["hidden"] == rated["components"][0]["hidden"]
        assert {one["name"] for one in change[place]["hidden"]} == {
            *("words of all stereotypes", "human words", "neutral words")
        }


def test_a_comparison_is_reproducible_to_the_last_digit(change, stereotyped, debiased):
    assert comparison_document(stereotyped, debiased) == change


def test_swapping_the_two_compared_ratings_mirrors_the_comparison(change, stereotyped, debiased):
    mirrored = comparison_document(debiased, stereotyped)
    for one, other in zip(
        [change["effect"], *change["connections"], *change["words"]],
        [mirrored["effect"], *mirrored["connections"], *mirrored["words"]],
        strict=True,
    ):
        assert (other["before"], other["after"]) == (one["after"], one["before"])
        assert other["mean"] == pytest.approx(-one["mean"], abs=1e-12)
        assert other["hpdi"]["low"] == pytest.approx(-one["hpdi"]["high"], abs=0.01)
        assert other["p_after_greater"] == pytest.approx(1 - one["p_after_greater"], abs=1e-12)


def test_a_rating_compared_with_itself_has_not_changed(stereotyped):
    same = comparison_document(stereotyped, stereotyped)
    assert same["effect"]["mean"] == pytest.approx(0, abs=1e-12)
    assert same["effect"]["hpdi"]["low"] < 0 < same["effect"]["hpdi"]["high"]


def test_a_known_shift_of_distances_is_recovered(stereotyped):
    shifted = copy.deepcopy(stereotyped)
    for by_connection in shifted["components"][0]["raw"].values():
        by_connection["different"] = {word: d + 0.1 for word, d in by_connection["different"].items()}
    effect = comparison_document(stereotyped, shifted)["effect"]
    assert effect["mean"] == pytest.approx(0.1, abs=0.01)
    assert effect["hpdi"]["low"] < 0.1 < effect["hpdi"]["high"]


def test_words_measured_in_only_one_of_two_ratings_are_left_out_of_their_comparison(stereotyped):
    lacking = rating(0.6, unknown=("she", "visitor"))
    assert lacking["components"][0]["missing"].keys() == {"she", "visitor"}
    found = comparison_document(stereotyped, lacking)
    assert (found["before"]["missing"], found["after"]["missing"]) == ([], ["she", "visitor"])
    assert found["pairs_left_out"] > 0
    assert "she" not in {one["name"] for one in found["words"]}
    # the remaining words have the same distances in both ratings
    assert found["effect"]["mean"] == pytest.approx(0, abs=1e-12)


def test_only_ratings_by_association_can_be_compared(stereotyped):
    other = stereotyped | {"method": "forced-choice"}
    with pytest.raises(NotComparable, match=r"only ratings by association .* both ratings are by forced-choice"):
        comparison_document(other, other)
    with pytest.raises(NotComparable, match="they are by association and forced-choice"):
        comparison_document(stereotyped, other)


def test_a_round_trip_rating_cannot_be_compared_with_an_association_rating(stereotyped):
    with pytest.raises(NotComparable, match="by round-trip and association"):
        comparison_document(
            stereotyped | {"method": "round-trip", "experiment": dump_method(RoundTrip("gender"))}, stereotyped
        )


def test_ratings_with_different_words_are_refused_and_the_words_are_named(stereotyped):
    other = copy.deepcopy(stereotyped)
    other["experiment"]["words"]["protected"]["woman"].append("queen")
    other["experiment"]["words"]["neutral"] = other["experiment"]["words"]["neutral"][7:]
    with pytest.raises(NotComparable) as refused:
        comparison_document(stereotyped, other)
    said = str(refused.value)
    assert "woman (protected) (only in the second: queen)" in said
    assert "neutral (only in the first: " in said
    assert "and 2 more" in said
    assert "human" not in said


def test_ratings_whose_requests_choose_different_priors_or_residual_models_are_not_compared(stereotyped):
    for name, value in (("prior", "weak"), ("residual", "shared")):
        other = stereotyped | {"experiment": stereotyped["experiment"] | {name: value}}
        with pytest.raises(NotComparable, match=f"the {name} is .* in one rating and '{value}' in the other"):
            comparison_document(stereotyped, other)


def test_a_rating_without_distances_is_refused_with_the_reason(stereotyped):
    nothing = without_details(stereotyped, "raw")
    nothing["components"][0]["reasons"] = [{"code": "evidence-insufficient"}]
    with pytest.raises(NotComparable, match=r"rat_0.6 has no distances.*evidence-insufficient"):
        comparison_document(stereotyped, nothing)


def test_ratings_without_a_distance_in_common_are_refused(stereotyped):
    apart = copy.deepcopy(stereotyped)
    apart["components"][0]["raw"] = {"she": {"human": {"nobody": 0.5, "anybody": 0.6}}}
    with pytest.raises(NotComparable, match="no distance between the same two words"):
        comparison_document(stereotyped, apart)


def test_ratings_with_a_single_distance_in_common_are_not_compared(stereotyped):
    word, connections = next(iter(stereotyped["components"][0]["raw"].items()))
    first = dict(list(connections["human"].items())[:1])
    single = copy.deepcopy(stereotyped)
    single["components"][0]["raw"] = {word: {"human": first}}
    with pytest.raises(NotComparable, match="two distances or more"):
        comparison_document(stereotyped, single)


@pytest.mark.parametrize("raw", [3, {"she": 3}, {"she": {"human": 0.5}}, {"she": {"human": {"people": "near"}}}])
def test_a_rating_with_malformed_distances_is_not_compared(stereotyped, raw):
    garbled = copy.deepcopy(stereotyped)
    garbled["components"][0]["raw"] = raw
    with pytest.raises(NotComparable, match=r"rat_0\.6 has something in .raw. that is no number, or"):
        comparison_document(stereotyped, garbled)


@pytest.mark.parametrize("lost", ["experiment", "components"])
def test_a_rating_without_experiment_or_components_is_not_compared(stereotyped, lost):
    half = {name: value for name, value in stereotyped.items() if name != lost}
    with pytest.raises(NotComparable, match=lost):
        comparison_document(stereotyped, half)
