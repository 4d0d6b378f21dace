"""Tests of composites predicted from transition matrices: known products, symmetries, simulated services."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.catalog import attribute
from assay.composition.document import composition_document
from assay.composition.prediction.measured_service import TransitionEvidence, read_contents
from assay.composition.prediction.measured_service import read_evidence as evidence_of_rating
from assay.composition.prediction.predicted import line_up, predict_chain
from assay.composition.wording import LEAST_TOLD, explain_prediction
from assay.document import EffectDocument, read_rating
from assay.errors import OutOfBounds, SpecificationError
from assay.experiment import Session, generator
from assay.methods import RoundTrip
from assay.model import Ask, Letter, Observation, Probe, Reply, Translate
from assay.statistics.bayes.transition import draw_excess_concordance, draw_transitions
from tests.support.reports import document_of
from tests.support.simulated.hidden_bias import WORLDS
from tests.support.simulated.translators import round_trip_answer

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS
KNOWN = Path(__file__).resolve().parents[4] / "shared" / "known_answers" / "composition.json"
ROWS, OUTPUTS = ("he", "she"), ("he", "she", "other")
MANY = 10**6
GENDER = attribute("gender")

FAITHFUL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
ALWAYS_HE = ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
BALANCING = ((0.5, 0.5, 0.0), (0.5, 0.5, 0.0))
ERASING = ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0))
HE_FLIPS = ((0.5, 0.5, 0.0), (0.0, 1.0, 0.0))
SHE_FLIPS = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.0))


def read_evidence(document):
    return evidence_of_rating(read_rating(document))


def measured(matrix, inputs: int = 60, **more) -> TransitionEvidence:
    """Return the evidence of a service that was asked `inputs` times with each value and answered in exact shares."""
    counts = tuple(tuple(round(share * inputs) for share in row[:3]) for row in matrix[:2])
    return TransitionEvidence(ROWS, OUTPUTS, counts, ((0.5, 0.5),), ((0.1, 0.9), (0.9, 0.1)), **more)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(9)


# ---------------------------------------------------------------------------- the product
@pytest.mark.skipif(not KNOWN.exists(), reason="the known answers are not on this machine")
def test_the_predicted_matrix_and_outputs_equal_the_known_answers(rng):
    known = json.loads(KNOWN.read_text(encoding="utf-8"))["matrix"]
    predicted = predict_chain((measured(known["T1"], MANY), measured(known["T2"], MANY)), rng)
    for row, shares in zip(ROWS, known["composite"], strict=False):
        assert list(predicted.transitions[row].values()) == pytest.approx(shares, abs=1e-3)
    for block, name in (("U", "out_U"), ("B1", "out_B1"), ("B2", "out_B2")):
        assert list(predicted.outputs[block].values()) == pytest.approx(known[name], abs=1e-3)
    assert predicted.effects["step_1"].estimate == pytest.approx(known["TV_U"], abs=1e-3)
    assert (predicted.letter, predicted.declared) == (BS, True)


@pytest.mark.parametrize(
    ("first", "second", "letter"),
    [
        (FAITHFUL, FAITHFUL, DSBS),
        (FAITHFUL, BALANCING, UCS),
        (BALANCING, FAITHFUL, UCS),
        (ALWAYS_HE, FAITHFUL, BS),
        (ALWAYS_HE, BALANCING, UCS),
        (FAITHFUL, ALWAYS_HE, BS),
        (FAITHFUL, ERASING, BS),
    ],
)
def test_a_chain_with_a_clear_matrix_product_gets_the_expected_letter(first, second, letter, rng):
    predicted = predict_chain((measured(first, 400), measured(second, 400)), rng)
    assert (predicted.letter, predicted.declared) == (letter, True)


@pytest.mark.parametrize(
    ("first", "second", "letter"),
    [
        (ALWAYS_HE, ALWAYS_HE, BS),
        # half of he becomes she, then half of she becomes he: an input of he gives .75 he, an input of she gives .5 he
        (HE_FLIPS, SHE_FLIPS, BS),
        # always he, then half of he becomes she: half and half for any input
        (ALWAYS_HE, HE_FLIPS, UCS),
        # half of he becomes she, then a third of she becomes he: a balanced text comes out balanced
        (HE_FLIPS, ((1.0, 0.0, 0.0), (1 / 3, 2 / 3, 0.0)), DSBS),
    ],
)
def test_transition_matrices_of_two_biased_services_give_the_letter_the_table_leaves_open(first, second, letter, rng):
    """The table gives no letter for two BS services; their transition matrices give one without a call."""
    for one in (first, second):
        unbiased = np.array([0.5, 0.5]) @ np.array(one)
        assert 0.5 * np.abs(unbiased - [0.5, 0.5, 0]).sum() > 0.1, "not a BS service"
    predicted = predict_chain((measured(first, 2_000), measured(second, 2_000)), rng)
    assert (predicted.letter, predicted.declared) == (letter, True)


def test_swapping_the_two_attribute_values_mirrors_the_prediction_for_a_chain():
    def swapped(one: TransitionEvidence) -> TransitionEvidence:
        counts = np.array(one.counts)[::-1][:, [1, 0, 2]]
        return replace(one, counts=tuple(map(tuple, counts.tolist())))

    first, second = measured(((0.8, 0.1, 0.1), (0.3, 0.7, 0.0))), measured(((0.9, 0.1, 0.0), (0.2, 0.6, 0.2)))
    one = predict_chain((first, second), np.random.default_rng(1), 40_000)
    other = predict_chain((swapped(first), swapped(second)), np.random.default_rng(2), 40_000)
    assert one.transitions["he"]["she"] == pytest.approx(other.transitions["she"]["he"], abs=0.005)
    assert asdict(one.probabilities) == pytest.approx(asdict(other.probabilities), abs=0.02)


def test_faithful_first_services_do_not_change_the_predicted_matrix(rng):
    service, faithful = measured(((0.7, 0.2, 0.1), (0.4, 0.6, 0.0)), 5_000), measured(FAITHFUL, MANY)
    alone = np.array(service.counts) / 5_000
    # faithful services come first: the last one would also receive text without a value, which was not measured
    for chain in ((faithful, service), (faithful, faithful, service)):
        predicted = predict_chain(chain, rng)
        assert [list(row.values()) for row in predicted.transitions.values()] == pytest.approx(alone, abs=0.01)


def test_replies_to_text_without_a_value_are_predicted_from_the_prior(rng):
    predicted = predict_chain((measured(ERASING, MANY), measured(FAITHFUL, MANY)), rng)
    assert list(predicted.transitions["he"].values()) == pytest.approx([1 / 3] * 3, abs=0.02)
    assert (predicted.emits_other, predicted.residual) == (True, (1.0,))


def test_a_letter_that_depends_on_unmeasured_answers_is_not_declared(rng):
    erasing = predict_chain((measured(ERASING, MANY), measured(FAITHFUL, MANY)), rng)
    assert (erasing.assured, erasing.declared) == (0.0, False)
    assert erasing.probabilities.BS > 0.9, "the prior alone would have declared it"
    # the first service loses a fifth of the values; the letter is certain whatever the next service answers to them
    losing = ((0.8, 0.0, 0.2), (0.0, 0.8, 0.2))
    collapsing = predict_chain((measured(losing, 2_000), measured(ALWAYS_HE, 2_000)), rng)
    assert (collapsing.letter, collapsing.declared) == (BS, True)
    assert collapsing.assured < collapsing.probabilities.BS + 1e-12
    faithful = predict_chain((measured(losing, 2_000), measured(FAITHFUL, 2_000)), rng)
    assert not faithful.declared


def test_less_evidence_makes_a_prediction_less_certain(rng):
    few, many = (predict_chain((measured(BALANCING, n), measured(FAITHFUL, n)), rng) for n in (20, 2_000))
    assert few.letter is many.letter is UCS
    assert few.probabilities.UCS < 0.9 < many.probabilities.UCS


# ---------------------------------------------------------------------------- refused chains
def test_chained_services_with_different_attribute_values_are_refused_and_the_link_is_named(rng):
    other = replace(measured(FAITHFUL), rows=("old", "young"), outputs=("old", "young", "other"))
    with pytest.raises(SpecificationError, match="link 2 breaks: service 2 returns he, she, other") as refused:
        predict_chain((measured(FAITHFUL), measured(FAITHFUL), other), rng)
    assert refused.value.field == "chain.2"


def test_a_prediction_for_a_chain_of_one_service_is_refused(rng):
    with pytest.raises(SpecificationError, match="two services or more, not 1"):
        predict_chain((measured(FAITHFUL),), rng)


@pytest.mark.parametrize("counts", [((1, 2, 3),), ((1, 2, -3), (1, 2, 3)), ((0.5, 0.5, 0.0), (1.0, 0.0, 0.0))])
def test_invalid_matrix_counts_are_refused(counts):
    with pytest.raises(OutOfBounds, match="2 rows of 3 whole numbers"):
        replace(measured(FAITHFUL), counts=counts)


def test_a_prediction_is_refused_for_a_service_that_returns_other_values_than_it_is_sent():
    with pytest.raises(SpecificationError, match="answers have the values of the attribute can be in a chain"):
        replace(measured(FAITHFUL), outputs=("el", "la", "neutral"))


def test_a_prediction_for_a_chain_names_a_tolerance_that_differs_between_its_services(rng):
    strict, lax = measured(FAITHFUL, delta=0.05), measured(((0.9, 0.1, 0.0), (0.0, 1.0, 0.0)), 3_000, delta=0.2)
    predicted = predict_chain((replace(strict, counts=((3_000, 0, 0), (0, 3_000, 0))), replace(lax, delta=0.2)), rng)
    assert predicted.differing == ("delta",)
    assert predict_chain((replace(strict, delta=0.2), lax), rng).differing == ()


def test_components_of_chained_ratings_are_matched_by_name_or_else_combined_in_every_way():
    es, fr, de = (measured(FAITHFUL, name=name) for name in ("es", "fr", "de"))
    assert line_up([(es, fr), (fr, es)]) == ((es, es), (fr, fr))
    assert line_up([(es,), (fr, de)]) == ((es, fr), (es, de))
    assert line_up([(es,), ()]) == ()
    with pytest.raises(SpecificationError, match="100 ways; at most 64"):
        line_up([[replace(es, name=f"{side}{place}") for place in range(10)] for side in "ab"])


# ---------------------------------------------------------------------------- contents
CONTENTS = 300

Answers = Callable[[str, int, np.random.Generator], str]

SERVICES: Mapping[str, Answers] = {
    "faithful": lambda value, _place, _rng: value,
    "by occupation": lambda _value, place, _rng: ROWS[place % 2],
    "at random": lambda _value, _place, rng: str(rng.choice(ROWS)),
    "half by occupation": lambda value, place, _rng: ROWS[place % 2] if place // 2 % 2 else value,
    "always he": lambda _value, _place, _rng: "he",
}
"""Simulated services by name: each returns the output for a value and the number of a content."""


def asked_every_content(name: str, seed: int) -> TransitionEvidence:
    rng = np.random.default_rng(seed)
    return of_contents(
        {f"content {place}": {value: SERVICES[name](value, place, rng) for value in ROWS} for place in range(CONTENTS)}
    )


def of_contents(read: Mapping[str, Mapping[str, str]]) -> TransitionEvidence:
    counts = np.zeros((2, 3), dtype=int)
    for answers in read.values():
        for value, output in answers.items():
            counts[ROWS.index(value), OUTPUTS.index(output)] += 1
    return replace(
        measured(FAITHFUL),
        counts=tuple(map(tuple, counts.tolist())),
        content_delta=0.15,
        equal=sum(len(set(answers.values())) == 1 for answers in read.values()),
        pairs=len(read),
        contents={content: {v: {out: 1} for v, out in answers.items()} for content, answers in read.items()},
    )


def measured_directly(first: TransitionEvidence, second: TransitionEvidence) -> TransitionEvidence:
    """Measure the composite on every content: the second service answers the output of the first."""
    return of_contents(
        {
            content: {value: only(second.contents[content][only(counts)]) for value, counts in answers.items()}
            for content, answers in first.contents.items()
        }
    )


def only(counts: Mapping[str, int]) -> str:
    (output,) = counts
    return output


@pytest.mark.parametrize("first", SERVICES)
@pytest.mark.parametrize("second", SERVICES)
def test_a_prediction_from_sentences_common_to_both_ratings_agrees_with_a_measurement(first, second, rng):
    one, other = asked_every_content(first, 1), asked_every_content(second, 2)
    predicted, direct = predict_chain((one, other), rng, 5_000), measured_directly(one, other)
    assert (predicted.basis, predicted.matched) == ("content-stratified", 1.0)
    drawn = draw_transitions(direct.table, rng, 5_000)
    assert [list(row.values()) for row in predicted.transitions.values()] == pytest.approx(drawn.mean(axis=0), abs=0.01)
    content = draw_excess_concordance(direct.equal, direct.pairs, drawn, rng)
    assert predicted.effects["content"].estimate == pytest.approx(content.mean(), abs=0.01)


def test_errors_of_two_chained_services_about_the_same_occupations_are_not_counted_twice(rng):
    one, other = asked_every_content("half by occupation", 1), asked_every_content("half by occupation", 2)
    pooled = predict_chain((replace(one, contents={}), replace(other, contents={})), rng)
    assert (pooled.basis, pooled.letter) == ("pooled", BS)
    assert predict_chain((one, other), rng).letter is DSBS


@pytest.mark.parametrize("other", ["faithful", "at random", "always he"])
def test_a_service_that_answers_by_occupation_is_detected_despite_balanced_shares(other, rng):
    one = replace(asked_every_content(other, 1), contents={})
    by_occupation = replace(asked_every_content("by occupation", 2), contents={})
    predicted = predict_chain((one, by_occupation), rng)
    assert (predicted.letter, predicted.declared) == (BS, True)
    assert predicted.effects["content"].estimate == pytest.approx(0.5, abs=0.03)


def test_in_a_prediction_the_transition_matrix_replaces_answers_that_were_not_recorded(rng):
    one, other = asked_every_content("at random", 1), asked_every_content("half by occupation", 2)
    kept = dict(list(other.contents.items())[: CONTENTS * 3 // 5])
    predicted, direct = predict_chain((one, replace(other, contents=kept)), rng, 5_000), measured_directly(one, other)
    assert (predicted.basis, predicted.matched) == ("content-stratified", pytest.approx(0.6))
    assert [list(row.values()) for row in predicted.transitions.values()] == pytest.approx(
        direct.table / CONTENTS, abs=0.05
    )
    assert predict_chain((one, replace(other, contents={})), rng, 5_000).basis == "pooled"


def test_a_prediction_for_three_services_follows_each_sentence_through_all_of_them(rng):
    chain = tuple(asked_every_content(name, seed) for seed, name in enumerate(("at random", "faithful", "faithful")))
    predicted = predict_chain(chain, rng, 5_000)
    assert (predicted.basis, predicted.matched) == ("content-stratified", 1.0)
    direct = measured_directly(measured_directly(chain[0], chain[1]), chain[2])
    assert predicted.transitions["he"]["he"] == pytest.approx(direct.table[0, 0] / CONTENTS, abs=0.01)


# ---------------------------------------------------------------------------- from ratings
def carried_out(
    method: RoundTrip, answer: Callable[[Ask], Reply], seed: int
) -> tuple[dict[str, Any], list[Observation]]:
    """Rate a translator; return its rating document and the record of all probes."""
    session, record = Session(method.design(generator(seed))), []
    while session.finding is None:
        for probe in session.missing:
            reply = answer(probe.ask)
            record.append(Observation(probe, reply))
            session.accept(probe, reply)
        session.advance()
    return document_of(session.finding, experiment=asdict(method), target={}, seed=seed, calls=len(record)), record


def in_sequence(first: Callable[[Ask], Reply], second: Callable[[Ask], Reply]) -> Callable[[Ask], Reply]:
    """Return the composite: each text that the first service returns makes a round trip through the second."""

    def answer(ask: Ask) -> Reply:
        assert isinstance(ask, Translate)
        returned = first(ask)
        if ask.target != "en":
            return returned
        there = second(Translate(returned.value, "en", ask.source))
        return second(Translate(there.value, ask.source, "en"))

    return answer


METHOD = RoundTrip("gender", texts_per_block=80, stop_early=False, max_texts_per_block=80)


@pytest.fixture(scope="module")
def pair() -> dict[str, Any]:
    """Rate a balancing translator, one that turns 60 % of she into he, and the composite of both."""
    rng = np.random.default_rng(4)
    balancing = round_trip_answer({"he": 0.5, "she": 0.5}, rng)
    flipping = round_trip_answer({"he": 1.0, "she": 0.6}, rng)
    return {
        "first": carried_out(METHOD, balancing, 1),
        "second": carried_out(METHOD, flipping, 1),
        "composite": carried_out(METHOD, in_sequence(balancing, flipping), 1),
    }


def test_a_rating_document_contains_the_input_of_a_prediction(pair):
    (evidence,) = read_evidence(pair["first"][0])
    assert (evidence.name, evidence.rows, evidence.outputs) == ("es", ROWS, OUTPUTS)
    assert (evidence.delta, evidence.confidence, evidence.content_delta) == (0.1, 0.95, 0.15)
    assert evidence.unbiased == ((0.5, 0.5),)
    assert evidence.table.sum() == 480
    assert evidence.pairs > 100


def test_a_rating_document_with_sorted_keys_gives_the_same_transition_matrices(pair):
    document = pair["first"][0]
    assert read_evidence(json.loads(json.dumps(document, sort_keys=True))) == read_evidence(document)


def test_a_predicted_rating_agrees_with_the_measured_rating(pair, rng):
    (first,), (second,) = (read_evidence(pair[name][0]) for name in ("first", "second"))
    predicted, composite = predict_chain((first, second), rng), pair["composite"][0]
    assert (predicted.letter, predicted.declared) == (composite["letter"], True) == (BS, True)
    seen = composite["components"][0]["effects"]["step_1"]
    assert predicted.effects["step_1"].estimate == pytest.approx(seen["estimate"], abs=0.08)


def test_recorded_answers_to_the_same_sentences_are_followed_one_by_one_through_a_chain(pair, rng):
    (first,), (second,) = (
        [replace(one, contents=read_contents(pair[name][1], one.name, GENDER)) for one in read_evidence(pair[name][0])]
        for name in ("first", "second")
    )
    assert sum(sum(sum(row.values()) for row in rows.values()) for rows in first.contents.values()) == 480
    predicted = predict_chain((first, second), rng)
    assert (predicted.basis, predicted.matched > 0.95) == ("content-stratified", True)
    (direct,) = read_evidence(pair["composite"][0])
    shares = direct.table / direct.table.sum(axis=1, keepdims=True)
    assert [list(row.values()) for row in predicted.transitions.values()] == pytest.approx(shares, abs=0.03)


class CountedRecord(list[Observation]):
    """A record that counts how often it is read."""

    times_read = 0

    def __iter__(self):
        self.times_read += 1
        return super().__iter__()


def test_the_record_of_a_rating_that_occurs_six_times_in_a_chain_is_read_once(pair, rng):
    document, observations = pair["first"]
    rating, record = read_rating(document | {"target": {"name": "balancing", "kind": "translator"}}), CountedRecord()
    record.extend(observations)
    composed = composition_document([rating] * 6, rng, observations=[record] * 6)
    assert (composed["predicted"]["components"][0]["matched"], record.times_read) == (1.0, 1)


def test_sentences_whose_translation_back_is_empty_are_not_followed_through_a_chain(pair):
    (evidence,) = read_evidence(pair["first"][0])
    record = [
        Observation(Probe(one.probe.unit, one.probe.ask), Reply("")) if one.probe.unit.endswith("/back") else one
        for one in pair["first"][1]
    ]
    assert read_contents(record, evidence.name, GENDER) == {}


def test_ratings_without_a_letter_or_by_methods_other_than_round_trip_give_no_transition_matrices():
    assert read_evidence({"method": "one-hop", "components": [{"letter": "BS"}]}) == ()
    assert read_evidence({"method": "round-trip", "components": [{"letter": None}]}) == ()


@pytest.mark.parametrize(
    ("world", "letters"), [("translator, honest", {DSBS}), ("translator, occupations by labour", set())]
)
def test_a_prediction_for_a_chain_includes_the_hidden_effects_measured_for_its_services(world, letters, rng):
    method = WORLDS[world].make(np.random.default_rng(0), 1.0)[0]
    document = document_of(WORLDS[world].rate(1), experiment=asdict(method))
    for chain in line_up([read_evidence(document)] * 2):
        predicted = predict_chain(chain, rng, 5_000)
        assert {one.name for one in predicted.hidden} == {one["name"] for one in document["components"][0]["hidden"]}
        assert ({predicted.letter} if predicted.declared and predicted.letter is not BS else set()) == letters
        told = " ".join(explain_prediction(predicted))
        assert ("a mean hides in single services" in told) is (predicted.probabilities.unlocated >= LEAST_TOLD)
        assert (predicted.probabilities.unlocated < 0.05) is bool(letters)


def test_a_hidden_content_effect_of_a_translator_is_removed_by_a_later_translator_without_one(rng):
    def evidence_of(world, name):
        method = WORLDS[world].make(np.random.default_rng(0), 1.0)[0]
        document = document_of(WORLDS[world].rate(1), experiment=asdict(method))
        return replace(read_evidence(document)[0], name=name)

    faithful = evidence_of("translator, honest", "es")
    followed = [one.effect.estimate for one in faithful.hidden if one.kind == "content"]
    even = tuple(replace(one, effect=EffectDocument(0.02, 0.0, 0.04)) for one in faithful.hidden)
    assert predict_chain([faithful] * 3, rng, 5_000).letter is DSBS
    predicted = predict_chain([faithful, replace(faithful, hidden=even)], rng, 5_000)
    content = [float(one.draws.mean()) for one in predicted.hidden if one.kind == "content"]
    assert len(content) == len(followed) == 2
    assert min(followed) > 0.3
    assert max(content) < 0.05
