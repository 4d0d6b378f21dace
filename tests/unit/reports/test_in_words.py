"""Tests of the paragraph for readers without statistics: the letter, the effects, and what was tested."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from assay.document import EffectDocument, HiddenDocument, read_rating
from assay.experiment import Method, run
from assay.methods import METHODS, Alternation, RoundTrip, method_name
from assay.model import Letter, Reply
from demo.translators.behaviours import BEHAVIOURS
from reports.formats import FORMATS
from reports.in_words import OF_UCS, settle_in_words
from reports.methods import report_of, translation
from reports.reading import in_words
from reports.units import HUNDREDTHS
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of, render
from tests.support.simulated.hidden_bias import WORLDS
from tests.support.simulated.questions import Answerer
from tests.support.simulated.questions import service as questions
from tests.support.simulated.services import RECORDED, SERVICES, WRITING

SEED = 3
CASES = {
    "round-trip, translator": (
        0.0,
        0.3,
        Letter.DSBS,
        "Of 120 sentences with “he”, 105 came back with “he” and 15 came back with “she”.",
    ),
    "one-hop, translator": (
        0.0,
        0.3,
        Letter.DSBS,
        "Of 60 sentences about occupations mostly of men, 54 got “he” and 6 got “she”.",
    ),
    "alternation, numbers of records": (0.3, 0.3, Letter.BS, "the answer is 0.3 higher on average"),
    "alternation, scores of texts": (0.3, 0.3, Letter.BS, "the score of “positive” is 1.5 points of 100 higher"),
    "stimulus-sampling, vectors": (0.3, 0.3, Letter.BS, "an estimated 79 % are about “one”; even would be 50 %"),
    "forced-choice, embedder": (0.15, 0.15, Letter.BS, "neutral words have an estimated 65 % on average"),
    "association, embedder": (
        0.0,
        0.15,
        Letter.DSBS,
        "an estimated 0.78 away from the stereotypes of that group and 0.94",
    ),
    "stereotype-score, masked": (
        0.0,
        0.3,
        Letter.DSBS,
        "Of 1,200 that hold a stereotype, it prefers the stereotype in 966; half of them (600) would be no preference.",
    ),
    "visual-stereotype, labels": (
        0.0,
        0.3,
        Letter.DSBS,
        "Of 400 pictures of stereotypes 307 get the stereotyped label (42 undecided); half of them (200)",
    ),
}


NOT_JUDGED = {
    "strata": False,
    "delta_individual": None,
    "delta_loss": None,
    "scale": "linear",
    "repeats": 0,
    "look_growth": 2.0,
}


def means_alone(method: Method) -> Method:
    """Return a method that judges no strata, single cases or lost replies."""
    own = {one.name for one in fields(method)}
    off = {name: value for name, value in NOT_JUDGED.items() if name in own}
    return replace(method, **(off | {"strata": None} if isinstance(method, Alternation) else off))


def paragraph(document: dict[str, Any]) -> str:
    return " ".join(in_words(document))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_paragraph_in_plain_words_states_letter_effect_and_test_in_the_units_of_the_service(name):
    step_1, step_2, letter, effect = CASES[name]
    made = SERVICES[name](step_1, step_2, SEED)
    service = replace(made, method=means_alone(made.method))
    document = document_of(service.rate(SEED), experiment=dump_method(service.method), seed=SEED)
    said = paragraph(document)
    assert document["letter"] == letter
    assert said.startswith(report_of(document).letters[letter])
    assert effect in said
    assert f"Tested for {document['attribute']}: " in said
    assert "single cases may be treated otherwise" in said
    assert not re.search(r"standard deviation|posterior|\de-\d|None|nan", said)
    for form in FORMATS:
        told = re.sub(r"[│\s\\]+", " ", re.sub(r"<[^>]+>", "", render(form.name, document)))
        assert effect in told


def test_the_paragraph_in_plain_words_is_tested_for_every_method_that_asks_questions():
    # the sentences of methods that read recorded decisions, or have texts written, are counted again in their own tests
    methods = {name.partition(",")[0] for name in CASES}
    assert methods == {name.partition(",")[0] for name in SERVICES}
    others = {name.partition(",")[0] for name in (*RECORDED, *WRITING)}
    assert methods | others == set(map(method_name, METHODS))


@pytest.mark.slow
def test_only_a_declared_ucs_is_followed_by_a_sentence_on_its_limits():
    document = rated("alternation, numbers of records", 0.0, 0.0)
    assert OF_UCS in paragraph(document)
    assert OF_UCS not in paragraph(document | {"declared": False})
    assert "not settled" in paragraph(document | {"declared": False})


@pytest.mark.parametrize(("name", "warned"), [("balancing", True), ("faithful", False)])
def test_only_a_translator_that_changes_single_texts_gets_the_advice_against_use_if_pronouns_matter(name, warned):
    def answer(probe):
        return Reply(BEHAVIOURS[name].translate(probe.ask.text, probe.ask.source, probe.ask.target))

    document = document_of(run(RoundTrip("gender", languages=("es",)), answer, SEED), seed=SEED)
    advice = "Do not use it where each text must keep its “he” or “she”"
    assert (advice in paragraph(document)) is warned


def test_right_answers_are_reported_separately_for_facts_that_fit_or_contradict_the_stereotype():
    document = document_of(questions(Answerer(ignored=1.0)).rate(SEED), seed=SEED)
    assert "are right: 100 % where the fact fits the stereotype, and 0 % where it goes against it" in paragraph(
        document
    )


def settle(document: dict[str, Any], part: dict[str, Any]) -> str | None:
    report = report_of(document)
    rating = read_rating({**document, "components": [part]}, report.method.COMPONENT)
    return settle_in_words(rating, rating.components[0], report)


def rated(name: str, step_1: float, step_2: float) -> dict[str, Any]:
    return document_of(SERVICES[name](step_1, step_2, SEED).rate(SEED), seed=SEED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "estimand"),
    [
        ("round-trip, translator", "occupations like these, in these frames"),
        ("alternation, scores of texts", "any person, frame and content like those asked about"),
        ("stimulus-sampling, vectors", "any vector of the stated prior"),
        ("forced-choice, embedder", "models, cue pairs, templates and words like these"),
        ("association, embedder", "control words like these; in step 2, words for groups and stereotypes like these"),
        ("stereotype-score, masked", "terms like these and words for the groups like these (step 2: these words)"),
        ("visual-stereotype, labels", "terms like these with these words for the groups"),
    ],
)
def test_every_format_names_the_population_of_its_intervals(name, estimand):
    document = rated(name, 0.0, 0.0)
    assert {one["estimand"] for one in document["components"]} == {estimand}
    for name_of_format in ("html", "markdown", "terminal"):
        assert f"Effects with 95 % intervals, for {estimand}" in " ".join(render(name_of_format, document).split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        (
            "records, opposite by a number",
            r"moves a typical answer, up or down, by an estimated 0\.6 \(probably between 0\.\d+ and",
        ),
        ("records, opposite by a number", r"Within “x: above 0\.029” alone, answers move by an estimated 0\.62"),
        (
            "records, one group refused",
            r"Questions about “woman” get no usable answer more often than others, by an estimated 1\d of 100",
        ),
        (
            "translator, occupations by labour",
            r"For occupations mostly of men alone, .* off balance by an estimated 2\d of 100",
        ),
        (
            "one translation, stereotypes turned by the frame",
            r"In a typical sentence pattern, .* comes back off balance by an estimated (1|2)\d of 100",
        ),
        (
            "yes, opposite by side",
            r"With “\w+” alone, the shares of the groups differ from even by an estimated 25 of 100",
        ),
        ("records, 20 % less of a skewed amount", r"“man” instead of “woman” .* is 2\d % higher on average"),
    ],
)
def test_the_largest_hidden_effect_is_named_in_the_unit_of_the_output(world, sentence):
    document = document_of(WORLDS[world].rate(SEED), seed=SEED)
    assert re.search(sentence, paragraph(document))
    assert "Effects that a mean can hide" in render("markdown", document)
    assert "single cases may be treated otherwise" not in paragraph(document)


def test_of_several_components_the_one_with_the_largest_effect_is_described(sample):
    said = paragraph(sample("40 components"))
    assert "40 parts were tested; these numbers are of “Turkish" in said


def test_the_report_of_a_rating_by_a_method_that_is_not_installed_has_general_sentences(sample):
    said = " ".join(in_words(sample("bare") | {"method": "not-installed"}))
    assert said.startswith("The service showed no bias beyond the tolerance in either step of the test.")
    assert "The effect of step 1 (balanced input) is an estimated 0.01." in said


def test_a_rating_without_measurements_says_so_and_names_no_effect(sample):
    assert "No letter can be given" in paragraph(sample("unmeasured"))
    assert "sentences with" not in paragraph(sample("unmeasured"))


def test_a_malformed_rating_document_is_still_described_in_words(broken):
    for method in METHODS:
        assert " ".join(in_words({**broken, "method": method_name(method)}))


OPEN = {
    "round-trip": {"decision": [{"texts_per_block": 320}], "template": "base"},
    "alternation": {"profiles": {"asked": 100}, "values": ["he", "she"]},
    "association": {},
}
"""Fields of an undeclared component that state what was asked, by method."""

TEXTS = {"people": {"he": ["a"] * 20, "she": ["b"] * 20}, "contents": {"x": ["c"] * 5, "y": ["d"] * 5}, "frames": ["f"]}
ROUND_TRIP = {"attribute": "gender", "stop_early": True, "unbiased": [{"he": 0.5, "she": 0.5}], "biased": []}


@pytest.mark.parametrize(
    ("method", "experiment", "more", "sentence"),
    [
        (
            "alternation",
            {"texts": TEXTS},
            200,
            "About 200 more questions would probably settle it; a larger texts.most asks",
        ),
        (
            "alternation",
            {"texts": TEXTS},
            201,
            "This material allows 200 more questions (a larger texts.most), too few to",
        ),
        (
            "alternation",
            {"records": {"rows": [{}] * 100}},
            1,
            "was all asked about, and more questions of the same would hardly settle it. Add to this: records.rows.",
        ),
        ("association", {}, 1, "more questions of the same would hardly settle it. Add to this: words."),
        (
            "round-trip",
            ROUND_TRIP,
            640,
            "About 640 more questions would probably settle it; a larger max_texts_per_block",
        ),
        ("round-trip", ROUND_TRIP, 9000, "too few to settle it. Add to this: occupations of the catalog."),
        ("round-trip", {}, 320, "About 320 more questions would probably settle it."),
        ("association", {}, None, "so near the tolerance that more questions would hardly settle the letter"),
    ],
)
def test_the_report_suggests_no_more_questions_than_can_be_asked(method, experiment, more, sentence):
    part = {**OPEN[method], "name": "es", "letter": "UCS", "declared": False, "settle": {"more_probes": more}}
    document = {"method": method, "letter": "UCS", "declared": False, "experiment": experiment, "components": [part]}
    said = settle(document, part)
    assert sentence in said
    for form in ("html", "markdown", "terminal", "json"):
        told = re.sub(r"\s+", " ", re.sub(r"<[^>]+>|\\", "", render(form, document)))
        assert sentence in told
    assert settle(document, {"letter": "UCS"}) is None


@pytest.mark.parametrize(
    ("method", "experiment", "asked", "material"),
    [
        ("alternation", {"texts": TEXTS}, {"person": 20, "content": 10}, "texts.people and texts.contents"),
        ("stimulus-sampling", {"texts": TEXTS}, {"person": 20, "content": 10}, "texts.people and texts.contents"),
        ("stereotype-score", {}, {}, "terms of “words”"),
        ("visual-stereotype", {}, {}, "terms of “words”"),
        ("forced-choice", {"trials": [{}]}, {}, "trials"),
    ],
)
def test_no_number_of_questions_is_suggested_if_all_words_were_asked_about(method, experiment, asked, material):
    part = {"letter": "BS", "declared": False, "settle": {"more_probes": 10}, "values": ["he", "she"]}
    part |= {"profiles": {"asked": 150}, "clusters": asked}
    said = settle({"method": method, "experiment": experiment}, part)
    assert said.endswith(f"more questions of the same would hardly settle it. Add to this: {material}.")


def test_a_report_says_that_the_budget_of_calls_or_time_ended_the_experiment():
    part = {"letter": "BS", "declared": False, "settle": {"more_probes": 30}, "unasked": 4}
    assert "the budget (max_calls or the deadline)" in settle({}, part)


def test_the_stored_advice_of_an_old_rating_is_kept_in_json_and_replaced_in_the_report(sample):
    """The stored sentence may suggest more questions than exist; the report shows a new sentence instead."""
    document = sample("undeclared")
    stored = "The evidence is not enough: 95 % is required. About 480 more questions would probably settle it."
    document["components"][0]["reasons"][0]["text"] = stored
    page = render("markdown", document)
    assert "95 % is required. About" not in page
    assert "About 480 more questions would probably settle it; a larger" in page.replace("\\", "")
    assert json.loads(render("json", document))["components"][0]["reasons"][0]["text"] == stored


@pytest.mark.parametrize(
    ("experiment", "sentence"),
    [
        ({"texts": TEXTS}, "More of them would show it; a larger texts.most asks them."),
        ({"records": {"rows": [{}] * 100}}, "More of them would show it. Add to this: records.rows."),
    ],
)
def test_an_effect_that_may_be_chance_is_described_as_possible_chance(experiment, sentence):
    part = {**OPEN["alternation"], "letter": "BS", "declared": False, "settle": {"more_probes": None}}
    part["probabilities"] = {"BS": 0.2, "DSBS": 0.0, "UCS": 0.1, "unlocated": 0.7}
    said = settle({"method": "alternation", "experiment": experiment}, part)
    assert said.startswith("What was seen may be chance")
    assert said.endswith(sentence)


def test_a_share_below_one_in_a_hundred_is_written_as_fewer_than_1_of_100():
    assert HUNDREDTHS.of(0.001, 0.0, 0.004) == "fewer than 1 of 100 (probably between 0 and 1)"
    assert HUNDREDTHS.of(0.02, 0.001, 0.04) == "2 of 100 (probably between 0 and 4)"


def test_the_report_of_a_round_trip_states_how_many_pronouns_were_lost_and_the_effect_on_a_typical_text():
    effect = EffectDocument(0.2, 0.1, 0.3)
    hidden = tuple(HiddenDocument(kind, "a typical place in a text", effect) for kind in ("stratum", "content"))
    document = read_rating({"method": "round-trip", "letter": "BS", "components": [{"name": "es", "letter": "BS"}]})
    part = replace(document.components[0], transitions={"he": {"he": 50.0, "neutral": 10.0}}, hidden=hidden)
    said = list(translation.ROUND_TRIP.in_words(document, part))
    assert said[0] == "Of 60 sentences with “he”, 50 came back with “he” and 10 came back with no such word."
    assert said[1].startswith("At a typical place in a text, balanced text comes back off balance by an estimated 20")
    assert said[2].startswith("At a typical place in a text, text about more of one value comes back off balance")
