"""Tests of the difference of two ratings: a letter counts as changed only if the posteriors support it."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from assay.document import read_rating
from assay.rating.difference import NotTheSameQuestion, probability_letters_differ
from assay.rating.difference import difference as difference_of_ratings


def difference(before, after):
    return difference_of_ratings(read_rating(before), read_rating(after))


def posterior(bs=0.0, dsbs=0.0, ucs=0.0):
    return {"BS": bs, "DSBS": dsbs, "UCS": ucs}


def effect(estimate, low, high):
    return {"estimate": estimate, "low": low, "high": high, "level": 0.95}


def component(name="es", letter="DSBS", probabilities=None, **effects):
    return {"name": name, "letter": letter, "probabilities": probabilities, "effects": effects}


def rating(letter="DSBS", probabilities=None, **changes):
    return {
        "id": "rat_1",
        "letter": letter,
        "declared": True,
        "probabilities": probabilities or {"BS": 0.0, "DSBS": 0.0, "UCS": 0.0} | {letter: 1.0},
        "method": "round-trip",
        "attribute": "gender",
        "confidence": 0.95,
        "experiment": {"languages": ["es"], "delta": 0.1, "words": {"nurse": 0.9}},
        "target": {"name": "T", "kind": "translator", "protocol": "p", "url": "http://t", "digest": "sha256:1"},
        "components": [],
        "methodology": {"version": "1.0.0", "digest": "sha256:2"},
        "engine_version": "0.1.0",
        "seed": 7,
        "evidence_digest": "sha256:3",
        "rated_at": "2026-01-02T03:04:05Z",
    } | changes


# ---------------------------------------------------------------------------- the letter
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (posterior(bs=1), posterior(bs=1), 0.0),
        (posterior(bs=1), posterior(ucs=1), 1.0),
        (posterior(bs=0.95, dsbs=0.05), posterior(bs=0.05, dsbs=0.95), 0.905),
        (posterior(1 / 3, 1 / 3, 1 / 3), posterior(bs=1), 2 / 3),
        # bias without a named effect counts as BS
        (posterior(ucs=0.05) | {"unlocated": 0.95}, posterior(ucs=0.6) | {"unlocated": 0.4}, 0.59),
        (posterior(ucs=1), posterior(bs=0.6) | {"unlocated": 0.4}, 1.0),
    ],
)
def test_the_probability_that_letters_differ_is_one_minus_the_probability_that_they_agree(before, after, expected):
    assert probability_letters_differ(before, after) == pytest.approx(expected, abs=1e-12)
    assert probability_letters_differ(after, before) == pytest.approx(expected, abs=1e-12)


def test_two_nearly_certain_letters_that_differ_count_as_a_change():
    found = difference(rating("UCS"), rating("BS"))
    assert found.changed
    assert found.sentences[0] == "The letter changed from UCS to BS (>99 % that the two differ)."


def test_two_barely_declared_letters_may_differ_by_noise():
    before, after = (rating(one, posterior(**{one.lower(): 0.95, other.lower(): 0.05}))
                     for one, other in (("BS", "DSBS"), ("DSBS", "BS")))  # fmt: skip
    found = difference(before, after)
    assert (found.letter.verdict, found.changed) == ("undecided", False)
    assert found.letter.probability == pytest.approx(0.905)
    assert "may be noise: 90 % that the two differ, and 95 % is needed" in found.sentences[0]
    assert difference(before | {"confidence": 0.9}, after | {"confidence": 0.9}).changed


def test_the_higher_required_confidence_of_two_ratings_decides_whether_the_letter_changed():
    sure = posterior(bs=0.02, dsbs=0.98)
    before, after = rating("BS", posterior(bs=0.99, ucs=0.01)), rating("DSBS", sure)
    assert difference(before, after).changed
    strict = after | {"confidence": 0.99}
    assert not difference(before, strict).changed
    assert not difference(strict, before).changed


def test_equal_letters_count_as_the_same_however_uncertain_they_are():
    unsure = posterior(0.4, 0.3, 0.3)
    found = difference(rating("BS", unsure), rating("BS", unsure))
    assert found.letter.verdict == "same"


@pytest.mark.parametrize("other", ["BS", None])
def test_a_change_from_or_to_a_missing_letter_is_undecided(other):
    nothing = rating(None) | {"probabilities": None}
    something = nothing if other is None else rating(other)
    for pair in ((nothing, something), (something, nothing)):
        found = difference(*pair)
        assert (found.letter.verdict, found.letter.probability) == ("undecided", None)
        assert "could" in found.sentences[0]


def test_swapping_two_compared_ratings_mirrors_their_difference():
    parts = [component("es", "BS", posterior(bs=1), step_1=effect(0.3, 0.2, 0.4))]
    others = [component("es", "UCS", posterior(ucs=1), step_1=effect(0.0, 0.0, 0.1)), component("de")]
    there = difference(rating("BS", components=parts), rating("UCS", components=others))
    back = difference(rating("UCS", components=others), rating("BS", components=parts))
    assert there.letter.probability == back.letter.probability
    assert (there.only_before, there.only_after) == (back.only_after, back.only_before) == ((), ("de",))
    assert there.effects[0].moved == -back.effects[0].moved


# ---------------------------------------------------------------------------- components and effects
def test_components_that_are_in_both_ratings_are_compared():
    before = [component("es", "BS", posterior(bs=1)), component("de", "BS", posterior(bs=1)), component("fr")]
    after = [component("de", "BS", posterior(bs=1)), component("es", "UCS", posterior(ucs=1))]
    found = difference(rating("BS", components=before), rating("BS", components=after))
    assert [(one.name, one.verdict) for one in found.components] == [("es", "changed"), ("de", "same")]
    assert found.only_before == ("fr",)
    assert "The letter changed with confidence for es." in found.sentences


def test_effects_differ_only_if_their_intervals_do_not_overlap():
    before = [component(step_1=effect(0.1, 0.0, 0.2), step_2=effect(0.5, 0.4, 0.6), content=None)]
    after = [component(step_1=effect(0.2, 0.2, 0.3), step_2=effect(0.8, 0.7, 0.9), content=effect(0, 0, 0))]
    found = difference(rating(components=before), rating(components=after))
    assert [(one.name, one.apart) for one in found.effects] == [("step_1", False), ("step_2", True)]
    assert found.effects[1].moved == pytest.approx(0.3)


def test_hidden_effects_are_compared_like_other_effects():
    parts = [
        component() | {"hidden": [{"kind": "stratum", "name": "nurses", "effect": effect(*of), "limit": None}]}
        for of in ((0.02, 0.0, 0.05), (0.3, 0.2, 0.4))
    ]
    found = difference(*(rating(components=[part]) for part in parts)).effects
    assert [(one.name, one.apart) for one in found] == [("stratum: nurses", True)]
    assert found[0].moved == pytest.approx(0.28)


def test_a_sentence_names_the_three_effects_that_moved_most_and_counts_the_others():
    def part(size):
        near = effect(size, size, size)
        hidden = [
            {"kind": kind, "name": name, "effect": effect(times * size, times * size, times * size), "limit": None}
            for kind, name, times in (("stratum", "nurses", 3), ("content", "a frame", 4), ("loss", "women", 0.5))
        ]
        return component(step_1=near, step_2=effect(2 * size, 2 * size, 2 * size)) | {"hidden": hidden}

    found = difference(*(rating(components=[part(size)]) for size in (0.1, 0.2)))
    names = "es by content a frame, es within nurses, es in step 2 and 2 more"
    assert f"The intervals of 5 of 5 effects do not overlap: {names}." in found.sentences


# ---------------------------------------------------------------------------- the inputs
@pytest.mark.parametrize(
    ("changes", "what", "place"),
    [
        ({"seed": 8}, "seed", ""),
        ({"engine_version": "0.2.0"}, "engine", ""),
        ({"methodology": {"version": "1.1.0", "digest": "sha256:2"}}, "methodology", "version"),
        ({"experiment": {"languages": ["es", "de"], "delta": 0.1, "words": {"nurse": 0.9}}}, "experiment", "languages"),
        ({"experiment": {"languages": ["es"], "delta": 0.1, "words": {}}}, "experiment", "words.nurse"),
    ],
)
def test_a_setting_that_differs_between_two_compared_ratings_is_named_with_its_path(changes, what, place):
    found = difference(rating(), rating(evidence_digest="sha256:4", **changes))
    assert [(one.what, one.place) for one in found.inputs] == [(what, place)]
    assert found.sentences[-1].startswith("Not everything was the same: ")


def test_services_that_differ_only_in_name_are_compared_as_equal():
    renamed = rating()["target"] | {"name": "Another"}
    assert difference(rating(), rating(target=renamed)).inputs == ()


def test_if_all_inputs_are_equal_behaviour_or_noise_is_named_as_the_cause():
    found = difference(rating(), rating(evidence_digest="sha256:4"))
    assert found.sentences[-1].endswith("what differs is the service's behaviour or noise.")


def test_if_all_replies_are_equal_a_change_of_behaviour_is_excluded_as_the_cause():
    other = {"methodology": {"version": "1.1.0", "digest": "sha256:5"}}
    found = difference(rating("BS"), rating("UCS", **other))
    assert found.same_evidence
    assert "the methodology" in found.sentences[-1]


@pytest.mark.parametrize("name", ["method", "attribute"])
def test_ratings_by_different_methods_or_attributes_are_not_compared_and_the_reason_is_given(name):
    with pytest.raises(NotTheSameQuestion, match=rf"the {name} is .* in one rating and 'other' in the other"):
        difference(rating(), rating(**{name: "other"}))


def test_a_difference_is_written_as_json():
    parts = [component("es", "BS", posterior(bs=1), step_1=effect(0.3, 0.2, 0.4))]
    found = difference(rating("BS", components=parts), rating("BS", components=parts, seed=8))
    written = json.loads(json.dumps(asdict(found), allow_nan=False))
    assert written["changed"] is False
    assert written["effects"][0]["moved"] == 0
    assert written["inputs"] == [{"what": "seed", "place": "", "before": 7, "after": 8}]


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ((True, True), "Both ratings show DSBS."),
        ((False, False), "Both ratings lean to DSBS; neither declares it."),
        ((True, False), "Both ratings lean to DSBS; only one declares it."),
    ],
)
def test_two_equal_letters_are_shown_by_both_ratings_only_if_both_are_declared(declared, sentence):
    before, after = (rating(declared=value) for value in declared)
    assert difference(before, after).sentences[0] == sentence
