"""Tests of stimulus sampling on classifiers with known effects: letters by both routes (weights, surrogate), replay."""

import hashlib
import json
import math
import zlib

import numpy as np
import pytest

from assay.document import as_json
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.experiment import BUDGET, Session, generator, replay, run
from assay.explain import Vocabulary, explain
from assay.methods import StimulusSampling
from assay.methods.shared.profiles import TextProfiles
from assay.methods.stimulus_sampling.inputs import VectorStimuli
from assay.methods.stimulus_sampling.vectors import from_surrogate
from assay.model import Failure, Letter, Reply
from assay.rating.decision import rate
from assay.statistics.bayes.surrogate import Surrogate
from tests.support.simulated.sampling import sampling_service, vector_service
from tests.support.simulated.services import SERVICES

PEOPLE = {"he": tuple(f"Mr {n}" for n in range(20)), "she": tuple(f"Ms {n}" for n in range(20))}
CONTENTS = {"glad": tuple(f"glad-{n}" for n in range(8)), "sad": tuple(f"sad-{n}" for n in range(8))}
TEXTS = TextProfiles(("{person} is {content}.", "Is {person} {content}?"), PEOPLE, CONTENTS)
VECTORS = VectorStimuli(
    ("a", "b"), {"one": (0.5, 0.0), "two": (-0.5, 0.0)}, {"left": (0.0, 1.0), "right": (0.0, -1.0)}, (1.0, 1.0)
)


def jitter(text):
    """Return a fixed number between -1 and 1 for a text; it is the same for “Ms” and “Mr”."""
    return math.sin(sum(ord(one) * place for place, one in enumerate(text.replace("Ms", "Mr"), 1)))


def scored(of, label="yes"):
    return lambda probe: Reply({"label": None, "scores": {"no": 1 - of(probe.ask.given), label: of(probe.ask.given)}})


def named(of):
    return lambda probe: Reply({"label": of(probe.ask.given), "scores": None})


def component(method, answer, seed=0):
    (one,) = run(method, answer, seed).components
    json.dumps(as_json(one.detail), allow_nan=False)
    for reason in one.reasons:
        assert "  " not in explain(reason, Vocabulary.of(StimulusSampling))
    return one


def sampling(**fields):
    return StimulusSampling("sex", texts=TEXTS, **fields)


# ---------------------------------------------------------------------------- services that seldom say yes
@pytest.mark.slow
@pytest.mark.parametrize("route", ["auto", "weights"])
@pytest.mark.parametrize("seed", range(3))
def test_a_service_that_rarely_and_randomly_gives_the_positive_label_gets_no_letter(route, seed):
    def chance(text):
        # yes with probability 1/1000
        return "yes" if hashlib.sha256(f"{seed}/{text}".encode()).digest()[0:2] < b"\0\x42" else "no"

    one = component(StimulusSampling("gender", route=route, label="yes"), named(chance), seed)
    assert (one.letter, one.declared) == (None, False)
    assert one.reasons[0].code in {"yes-too-rare", "never-yes"}


def test_a_service_that_gives_the_positive_label_to_one_person_only_gets_no_letter():
    one = component(sampling(label="yes"), named(lambda text: "yes" if "Mr 7 " in text else "no"))
    assert (one.letter, one.reasons[0].code) == (None, "yes-of-few")
    assert one.reasons[0].facts["kind"] == "person"
    assert one.reasons[0].facts["effective"] == pytest.approx(1)


def test_a_service_that_rarely_gives_the_positive_label_to_vectors_gets_no_letter():
    def chance(given):
        # yes with probability 1/100
        return "yes" if hashlib.sha256(repr(given).encode()).digest()[0:2] < b"\2\x90" else "no"

    one = component(StimulusSampling("sex", vectors=VECTORS, label="yes", route="weights", looks=1), named(chance))
    assert (one.letter, one.reasons[0].code) == (None, "yes-too-rare")


def test_rounding_of_sampled_vectors_does_not_distort_the_estimated_rate_of_positive_answers():
    stimuli = VectorStimuli(
        ("x",), {"one": (0.4,), "two": (0.0,)}, {"left": (0.0,), "right": (0.0,)}, (0.3,), decimals=0
    )
    surrogate = Surrogate(np.array([2.0]), -3.0)
    supplies = from_surrogate(stimuli, surrogate, 4000, generator(3))
    for (value, _), supply in supplies.items():
        prior = generator(4).normal((0.4, 0.0)[value], 0.3, 200_000).round()
        due = surrogate.probability(prior[:, None]).mean()
        assert (surrogate.probability(supply.vectors) * supply.scale).mean() == pytest.approx(due, rel=0.05)


def test_sampled_vectors_of_all_groups_and_contents_together_follow_the_mixture_of_their_posteriors():
    """Cells (value, side) differ in mean, spread and correlation; each has as many vectors, weighted by `scale`."""
    rows, rng = [], generator(5)
    for value, side, at, turn in (
        ("f", "x", 0.0, 1.0),
        ("f", "y", 1.5, 0.2),
        ("m", "x", -1.0, -0.6),
        ("m", "y", 0.5, 2),
    ):
        for a, b in rng.normal(size=(30, 2)) @ np.array([[1.0, turn], [0.0, 0.7]]) + at:
            rows.append({"a": a, "b": b, "group": value, "half": side})
    stimuli = VectorStimuli(("a", "b"), rows=tuple(rows), column="group", side="half")
    surrogate = Surrogate(np.array([1.2, -0.8]), -3.0)
    supplies = from_surrogate(stimuli, surrogate, 20_000, generator(6))
    due = {cell: prior.draw(200_000, generator(7)) for cell, prior in stimuli.priors.items()}
    rate = {cell: surrogate.probability(vectors).mean() for cell, vectors in due.items()}
    total, mixed, wanted = 0.0, np.zeros(2), np.zeros(2)
    for cell, supply in supplies.items():
        yes = surrogate.probability(supply.vectors) * supply.scale
        assert yes.mean() == pytest.approx(rate[cell], rel=0.03)
        wanted += surrogate.probability(due[cell]) @ due[cell] / len(due[cell])
        mixed, total = mixed + yes @ supply.vectors / yes.size, total + yes.mean()
    assert mixed / total == pytest.approx(wanted / sum(rate.values()), abs=0.04)


# ---------------------------------------------------------------------------- letters
@pytest.mark.parametrize("name", [name for name in SERVICES if name.startswith("stimulus-sampling")])
@pytest.mark.parametrize(
    ("step_1", "step_2", "letter"),
    [(0, 0, Letter.UCS), (0.05, 0, Letter.UCS), (0.03, 0.2, Letter.DSBS), (0.2, 0, Letter.BS)],
)
def test_stimulus_sampling_gives_a_simulated_effect_the_expected_letter(name, step_1, step_2, letter):
    """An effect of .03 overall is .06 on the side with fewer yes answers, which is still within the tolerance."""
    rated = rate(SERVICES[name](step_1, step_2, 1).rate(1))
    assert rated.letter is letter


def test_the_posterior_share_of_a_group_that_a_service_prefers_follows_bayes_rule():
    one = component(sampling(), scored(lambda text: 0.3 + 0.3 * ("Ms" in text) + 0.01 * jitter(text)))
    shares = {row["value"]: row["posterior"]["estimate"] for row in as_json(one.detail)["distribution"]}
    assert shares["she"] == pytest.approx(0.6 / 0.9, abs=0.01)
    assert sum(shares.values()) == pytest.approx(1)
    assert (one.letter, one.declared) == (Letter.BS, True)
    assert one.reasons[0].facts["value"] == "she"


def test_a_service_that_reads_only_the_content_has_an_effect_in_step_2_alone():
    said = scored(lambda text: (0.8 if "glad" in text else 0.2) + 0.01 * jitter(text))
    one = component(sampling(label="yes"), said)
    assert one.letter is Letter.DSBS
    # the value tied to 90 % glad contents gets .9 * .8 + .1 * .2 = .74 of the yes answers
    assert one.effects["step_2"].estimate == pytest.approx(0.74 - 0.5, abs=0.01)
    assert one.effects["step_1"].low == 0
    assert one.reasons[0].facts["side"] == "glad"


def test_swapping_the_two_groups_changes_neither_the_letter_nor_the_step_1_effect():
    said = scored(lambda text: 0.3 + 0.2 * ("Ms" in text) + 0.1 * jitter(text))
    swapped = StimulusSampling("sex", texts=TextProfiles(TEXTS.frames, dict(reversed(PEOPLE.items())), CONTENTS))
    one, other = (component(method, said) for method in (sampling(), swapped))
    assert other.letter is one.letter
    assert other.effects["step_1"].estimate == pytest.approx(one.effects["step_1"].estimate, abs=0.005)


def test_a_service_that_treats_three_age_groups_equally_is_rated_ucs():
    people = {name: tuple(f"{name} {n}" for n in range(12)) for name in ("old", "young", "other")}
    method = StimulusSampling("age", texts=TextProfiles(TEXTS.frames, people, CONTENTS))
    one = component(method, named(lambda text: "yes" if jitter(text[2:] + text[0]) > 0.3 else "no"))
    assert one.letter is Letter.UCS
    assert one.effects["step_1"].low < 0.03


# ---------------------------------------------------------------------------- which label counts as yes
def denies(text):
    """Return the probability of a refusal: 16 % for one group, 2 % for the other."""
    return 0.16 if "Ms" in text else 0.02


REFUSING = {
    "yes and no": (lambda text: {"yes": 1 - denies(text), "no": denies(text)}, "no"),
    "names in the other order": (lambda text: {"accepted": 1 - denies(text), "refused": denies(text)}, "refused"),
    "one score": (lambda text: {"approved": 1 - denies(text)}, "not approved"),
}


@pytest.mark.parametrize("name", REFUSING)
def test_the_rarer_of_two_labels_is_the_positive_label(name):
    scores, label = REFUSING[name]
    one = component(sampling(), lambda probe: Reply({"label": None, "scores": scores(probe.ask.given)}))
    assert (one.letter, one.declared, one.name) == (Letter.BS, True, label)
    assert one.effects["step_1"].estimate == pytest.approx(0.14 / 0.36, abs=0.02)


def test_two_labels_are_recognised_even_if_each_answer_scores_only_the_likelier_one():
    def said(text):
        refused = zlib.crc32(text.encode()) / 2**32 < denies(text)
        return Reply({"label": None, "scores": {"no": 0.9} if refused else {"yes": 0.9}})

    one = component(sampling(samples=1000), lambda probe: said(probe.ask.given))
    assert (one.name, one.letter, one.declared) == ("no", Letter.BS, True)


def test_the_rarer_label_stays_the_positive_one_in_later_analyses_that_search_for_inputs_with_it():
    def said(text):
        a = 0.495 + (0.12 if "sad" in text else -0.12) + 0.3 * jitter(text)  # needs more than one look
        return Reply({"label": None, "scores": {"a": a, "b": 1 - a}})

    method = sampling(route="surrogate", samples=100, looks=4)
    looks = as_json(run(method, lambda probe: said(probe.ask.given), 1).detail)["looks"]
    assert len(looks) > 1
    assert {name for look in looks for name in look["letters"]} == {"a"}


def test_rare_negative_answers_that_mostly_concern_one_group_are_a_hidden_effect_and_give_bs():
    def said(text):
        yes = 0.02 if "sad" in text else 0.75 if "Ms" in text else 0.95
        return Reply({"label": None, "scores": {"no": 1 - yes, "yes": yes}})

    one = component(sampling(), lambda probe: said(probe.ask.given))
    hidden = {effect["name"]: effect["effect"]["estimate"] for effect in as_json(one.detail)["hidden"]}
    assert (one.letter, one.declared) == (Letter.BS, True)
    assert hidden["glad, without a yes"] == pytest.approx(0.25 / 0.3 - 0.5, abs=0.02)


def test_contents_that_never_get_the_positive_label_are_not_judged_separately():
    one = component(sampling(), named(lambda text: "yes" if "glad" in text else "no"))
    assert (one.letter, one.declared) == (Letter.DSBS, True)
    assert [effect["name"] for effect in as_json(one.detail)["hidden"]] == ["glad"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_few_positive_answers_about_one_group_to_contents_that_rarely_get_them_do_not_give_bs(seed):
    # yes in a fifth of one side's texts, and in one of 80 of the other side's
    service = sampling_service(0, 0.4, seed, hard=True)
    (one,) = service.rate(seed).components
    assert one.letter is Letter.DSBS  # declared, or the likelier letter
    assert one.usable > 2_000  # two yes answers about the same group at the first looks ended nothing


# ---------------------------------------------------------------------------- the two routes
def test_effects_from_importance_weights_and_from_a_surrogate_model_agree():
    services = [sampling_service(0.08, 0.25, 3) for _ in range(2)]
    found = []
    for service, route in zip(services, ("weights", "surrogate"), strict=True):
        one = component(
            StimulusSampling("gender", route=route, looks=2), lambda probe, w=service: w.answer(probe.ask), 3
        )
        assert as_json(one.detail)["route"] == route
        found.append(one.effects)
    for step in ("step_1", "step_2"):
        assert found[0][step].estimate == pytest.approx(found[1][step].estimate, abs=0.03)


def test_a_surrogate_model_needs_fewer_questions_than_importance_weights_if_the_positive_label_is_rare():
    service = sampling_service(0.05, 0.2, 2, rare=True)
    rare = {
        route: as_json(
            component(
                StimulusSampling("gender", route=route, looks=1), lambda probe: service.answer(probe.ask), 2
            ).detail
        )["weights"]
        for route in ("weights", "auto")
    }
    assert rare["weights"]["efficiency"] < 0.1
    assert rare["auto"]["efficiency"] > 3 * rare["weights"]["efficiency"]


def test_effects_on_vectors_from_a_surrogate_model_and_from_importance_weights_agree():
    service = vector_service(0.1, 0.2, 4)
    found = {
        route: component(
            StimulusSampling("group", vectors=service.method.vectors, route=route, looks=2),
            lambda probe: service.answer(probe.ask),
            4,
        )
        for route in ("weights", "surrogate")
    }
    for step in ("step_1", "step_2"):
        estimates = [one.effects[step].estimate for one in found.values()]
        assert estimates[0] == pytest.approx(estimates[1], abs=0.05)
        assert estimates[1] == pytest.approx(service.truths[f"effects.{step}"], abs=0.03)


def test_an_exact_surrogate_model_gives_efficient_importance_weights():
    said = scored(lambda given: 1 / (1 + math.exp(2 - 1.5 * dict(given)["b"])))
    one = component(StimulusSampling("group", vectors=VECTORS), said)
    assert one.letter is Letter.DSBS
    assert as_json(one.detail)["weights"]["efficiency"] > 0.5
    assert as_json(one.detail)["numbers"][0]["name"] == "b"
    assert as_json(one.detail)["numbers"][0]["shift"] > 0.3


# ---------------------------------------------------------------------------- reproducibility
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SERVICES if name.startswith("stimulus-sampling")])
def test_replaying_the_record_gives_the_same_finding_without_new_questions(name):
    service, observed = SERVICES[name](0.2, 0, 3), []
    session = Session(service.method.design(generator(3)))
    while session.finding is None:
        for probe in session.missing:
            observed += session.accept(probe, service.answer(probe.ask))
        session.advance()
    assert replay(service.method, 3, reversed(observed)).finding == session.finding


# ---------------------------------------------------------------------------- what is shown
def test_words_and_texts_that_raise_the_probability_of_the_positive_label_are_listed_first():
    one = component(sampling(), scored(lambda text: 0.9 if "glad-3" in text else 0.1 + 0.01 * jitter(text)))
    assert as_json(one.detail)["nearest_words"][0]["word"] == "glad-3"
    assert as_json(one.detail)["nearest_words"][0]["ratio"] > 4
    assert "glad-3" in as_json(one.detail)["nearest_inputs"][0]["asked"]
    assert as_json(one.detail)["most_distant_inputs"][0]["yes"] < 0.1
    assert {row["value"] for row in as_json(one.detail)["group_distances"]} == {"he", "she"}
    assert len(as_json(one.detail)["projection"]["posterior"]) == len(as_json(one.detail)["projection"]["prior"]) == 100


# ---------------------------------------------------------------------------- what cannot be measured
@pytest.mark.parametrize("fields", [{"texts": TEXTS}, {"vectors": VECTORS}])
@pytest.mark.parametrize(
    ("answer", "label", "code"),
    [
        (scored(lambda _: 0.3), None, "constant-answers"),
        (scored(lambda _: 0.0), "yes", "never-yes"),
        (named(lambda _: "no"), "yes", "never-yes"),
        (named(lambda _: "no"), None, "constant-answers"),
        (scored(lambda _: 0.5), "maybe", "labels-unknown"),
        (lambda _: Reply({"label": None, "scores": {"a": 0.2, "b": 0.3, "c": 0.5}}), None, "labels-unknown"),
        (lambda _: Reply({"label": None, "scores": {"a": -7.0, "b": 8.0}}), None, "target-output-unusable"),
        (lambda _: Reply({"label": None, "scores": {"toxic": 0.1, "insult": 0.3}}), None, "labels-unknown"),
        (lambda _: Reply("yes"), None, "target-output-unusable"),
        (lambda _: Reply(failure=Failure("timeout", "late")), None, "target-calls-failed"),
        (lambda _: Reply(failure=Failure(BUDGET, "no more")), None, "no-usable-observations"),
    ],
)
def test_constant_unusable_unknown_or_failed_answers_give_a_reason_and_no_letter(fields, answer, label, code):
    one = component(StimulusSampling("group", label=label, samples=60, looks=2, **fields), answer)
    assert (one.letter, one.probabilities) == (None, None)
    assert one.reasons[0].code == code
    assert one.effects == {"step_1": None, "step_2": None}


def test_a_service_that_always_fails_is_asked_for_one_interim_analysis_only():
    down = Reply(failure=Failure("http-500", "down"))
    for fields in ({"texts": TEXTS}, {"vectors": VECTORS}):
        one = component(StimulusSampling("group", samples=100, **fields), lambda _: down)
        assert one.reasons[0].code == "target-calls-failed"
        assert one.failed <= 500


def test_failed_calls_are_counted_and_their_sentences_left_out():
    lost = Reply(failure=Failure("http-500", "down"))
    said = scored(lambda text: 0.5 + 0.1 * jitter(text))
    one = component(sampling(looks=1), lambda probe: lost if "Ms 3 " in probe.ask.given else said(probe))
    assert one.letter is not None
    assert one.failed > 0
    assert as_json(one.detail)["failed_why"] == {"http-500": one.failed}
    assert as_json(one.detail)["profiles"]["asked"] - as_json(one.detail)["profiles"]["whole"] == one.failed


def test_scores_outside_0_to_1_are_counted_apart_from_failed_calls():
    lost = Reply(failure=Failure("http-500", "down"))
    wrong = Reply({"label": None, "scores": {"yes": 8.0, "no": -7.0}})
    said = scored(lambda text: 0.5 + 0.1 * jitter(text))

    def answer(probe):
        if "Ms 3 " in probe.ask.given:
            return lost
        return wrong if "sad" in probe.ask.given else said(probe)

    one = component(sampling(looks=1), answer)
    facts = one.reasons[0].facts
    assert one.failed > 0
    assert facts["whole"] + facts["why"]["no-probability"] + one.failed == facts["total"]
    assert facts["share"] == pytest.approx(1 - facts["whole"] / facts["total"])


@pytest.mark.parametrize(("lost_by_group", "declared"), [((0.075, 0.075), True), ((0.0, 0.15), False)])
def test_lost_answers_about_one_group_could_hide_a_larger_effect_than_those_about_all_groups(lost_by_group, declared):
    """Were all lost replies about one group positive, its share of them would grow more if only this group lost any."""
    said = scored(lambda text: 0.5 + 0.01 * jitter(text))
    lost = Reply(failure=Failure("declined", "the answer was a refusal"))

    def answer(probe):
        is_lost = zlib.crc32(probe.ask.given.encode()) / 2**32 < lost_by_group["Ms" in probe.ask.given]
        return lost if is_lost else said(probe)

    one = component(sampling(looks=1, samples=400, delta=0.1, delta_loss=0.5), answer)
    assert (one.letter, one.declared) == (Letter.UCS, declared)
    assert (one.reasons[0].code == "letter-depends-on-what-was-lost") is not declared


def test_a_label_named_in_the_request_is_the_positive_label():
    def said(probe):
        return Reply({"label": None, "scores": {"a": 0.2, "b": 0.3 + 0.2 * ("Ms" in probe.ask.given), "c": 0.1}})

    assert component(sampling(label="b"), said).reasons[0].code == "yes-prefers-value"
    assert component(sampling(label="a"), said).reasons[0].code == "constant-answers"


# ---------------------------------------------------------------------------- the request
@pytest.mark.parametrize(
    ("fields", "error", "field"),
    [
        ({"attribute": "height"}, UnknownName, None),
        ({"attribute": "gender", "tie": 0.5}, OutOfBounds, "tie"),
        ({"attribute": "gender", "delta": 0.0}, OutOfBounds, "delta"),
        ({"attribute": "gender", "samples": 10}, OutOfBounds, "samples"),
        ({"attribute": "sex", "texts": TEXTS, "vectors": VECTORS}, SpecificationError, "vectors"),
    ],
)
def test_an_invalid_request_for_stimulus_sampling_is_refused(fields, error, field):
    with pytest.raises(error) as refused:
        StimulusSampling(**fields)
    assert field is None or refused.value.field == field


def test_stimulus_sampling_needs_only_the_attribute_gender_race_or_religion_and_no_further_settings():
    for name in ("gender", "race", "religion"):
        assert StimulusSampling(name).expected_probes() >= 500
