"""Examination of classifiers, regressors and embedders with known faults."""

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from assay.model import Classify, Embed, Failure, Kind, Regress, Reply
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target, group_of
from workers.targets.checks.examination import FEW_TRIES, TRIES, Calls, TargetUnfit
from workers.targets.checks.predictor import MOST_ASKED, PredictorExamination
from workers.targets.checks.samples import SENTENCES, WORDS, Samples, samples_for
from workers.targets.registry import connect

EMBED = [Embed(word) for word in WORDS]
CLASSIFY = [Classify(text) for text in SENTENCES]
REGRESS = [Regress((("age", age), ("sex", "f"))) for age in range(20, 60)]


def seeded(ask) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(list(str(ask).encode())))


def vector(ask):
    return seeded(ask).normal(size=8).tolist()


def scored(ask):
    good = float(seeded(ask).uniform())
    return {"label": None, "scores": {"bad": 1 - good, "good": good}}


def wage(ask):
    return 10 + 0.1 * dict(ask.given)["age"]


SOUND = {"embedder": (vector, EMBED), "classifier": (scored, CLASSIFY), "regressor": (wage, REGRESS)}


@dataclass
class Service:
    """Adapter that records its questions and behaves as configured."""

    say: Callable[[Any], Any]
    arrange: Callable[[list[Any]], list[Any]] = list
    batch_limit: int = 24
    failures: Callable[[Sequence[Any]], CallFailed | None] = lambda asks: None
    calls: list[list[Any]] = field(default_factory=list)

    def group_key(self, ask):
        return group_of(ask)

    async def answer(self, asks, *, idempotency_key=None):
        self.calls.append(list(asks))
        if (failure := self.failures(asks)) is not None:
            raise failure
        said = self.arrange([self.say(ask) for ask in asks])
        if len(said) != len(asks):
            raise CallFailed("wrong-count", "another number of answers")
        return [each if isinstance(each, Reply) else Reply(each) for each in said]


def look(service: Service, questions, *, ours=False):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    clock = itertools.count().__next__
    samples = Samples(tuple(questions), ours)
    return asyncio.run(PredictorExamination(service, samples, Calls(clock, sleep)).run())


def unfit(service: Service, questions, **more) -> TargetUnfit:
    with pytest.raises(TargetUnfit) as caught:
        look(service, questions, **more)
    return caught.value


@pytest.mark.parametrize(("say", "questions"), SOUND.values(), ids=SOUND)
def test_the_check_before_a_rating_accepts_a_working_predictor_after_seven_calls(say, questions):
    service = Service(say)
    found = look(service, questions)
    assert (found.deterministic, found.batch, found.order_kept, found.notes) == (True, True, True, ())
    assert (found.calls, len(service.calls), found.adapter, found.latency_s) == (7, 7, service, 1)
    assert json.loads(json.dumps(found.as_json()))["returned"]


def test_the_check_before_a_rating_reports_dimensions_of_an_embedder_and_labels_of_a_classifier():
    embedder, classifier, regressor = (look(Service(say), questions) for say, questions in SOUND.values())
    assert (embedder.dimensions, classifier.dimensions, regressor.dimensions) == (8, None, None)
    assert (embedder.labels, classifier.labels, regressor.labels) == (None, ("bad", "good"), None)
    assert embedder.returned.startswith("8 numbers: ")
    assert (embedder.asked, regressor.asked) == ("house", '{"age": 20, "sex": "f"}')


def test_a_service_is_checked_with_questions_of_one_form_spread_over_the_experiment():
    questions = [Classify("a text"), *(Classify((("age", age), ("pay", 1.0))) for age in range(100))]
    service = Service(scored)
    look(service, [*questions, *questions])
    asked = list(dict.fromkeys(ask for call in service.calls for ask in call))
    assert asked == [questions[place] for place in (1, 12, 23, 34, 45)]


ARRANGED = {
    "reversed": lambda said: said[::-1],
    "turned": lambda said: said[1:] + said[:1],
    "one short": lambda said: said[:1],
    "two swapped": lambda said: [*said[:-2], *said[:-3:-1]],
}


@pytest.mark.parametrize("arrange", ARRANGED.values(), ids=ARRANGED)
@pytest.mark.parametrize(("say", "questions"), SOUND.values(), ids=SOUND)
def test_a_service_that_reorders_or_drops_answers_of_a_batch_is_unfit_for_a_rating(say, questions, arrange):
    refusal = unfit(Service(say, arrange), questions)
    assert refusal.code in {"out-of-order", "wrong-count"}
    assert "lists" in refusal.hint


def test_a_wrong_order_of_answers_is_detected_even_if_a_classifier_returns_labels_without_scores():
    def label(ask):
        return {"label": "old" if dict(ask.given)["age"] > 40 else "young", "scores": None}

    questions = [Classify(one.given) for one in REGRESS]
    assert look(Service(label), questions).order_kept is True
    assert unfit(Service(label, ARRANGED["reversed"]), questions).code == "out-of-order"


def test_a_service_that_reorders_answers_only_once_is_asked_one_question_per_call():
    turn = itertools.count()
    found = look(Service(vector, lambda said: said[::-1] if len(said) > 1 and not next(turn) else said), EMBED)
    assert (found.batch, found.order_kept, found.adapter.batch_limit) == (False, False, 1)
    assert any("another order once" in note for note in found.notes)


def test_the_check_of_a_classifier_adds_questions_until_two_labels_show_the_order_of_answers():
    def rare(ask):
        return {"label": "yes" if dict(ask.given)["age"] > 55 else "no", "scores": None}

    service = Service(rare)
    found = look(service, [Classify(one.given) for one in REGRESS])
    assert (found.order_kept, found.labels, found.calls) == (True, ("no", "yes"), MOST_ASKED + 2)


def test_a_classifier_that_always_gives_the_same_answer_is_asked_one_by_one():
    service = Service(lambda ask: {"label": "no", "scores": None})
    found = look(service, CLASSIFY)
    assert (found.batch, found.order_kept, found.adapter.batch_limit, service.batch_limit) == (False, None, 1, 24)
    assert any(
        'questions got the same answer, {"label": "no", "scores": null}: does the text reach the model?' in note
        for note in found.notes
    )
    assert any("one by one" in note for note in found.notes)


def test_a_regressor_that_always_gives_the_same_answer_is_fit_with_a_note():
    found = look(Service(lambda ask: 7.0), REGRESS)
    assert any("questions got the same answer, 7.0: does the text reach the model?" in note for note in found.notes)


def test_rounding_differences_in_an_array_count_as_the_same_answer():
    def half(said):
        return said if len(said) == 1 else [np.array(one, np.float16).astype(float).tolist() for one in said]

    assert look(Service(vector, half), EMBED).order_kept is True


def test_a_service_whose_answers_depend_on_the_rest_of_a_batch_is_asked_one_question_per_call():
    def centred(said):
        return [(np.array(one) - np.mean(said, axis=0)).tolist() for one in said] if len(said) > 1 else said

    found = look(Service(vector, centred), EMBED)
    assert (found.batch, found.order_kept) == (False, None)
    assert any("other answers than alone" in note for note in found.notes)


@pytest.mark.parametrize("seed", range(20))
def test_a_service_that_answers_at_random_is_not_reported_as_reordering_answers(seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    found = look(Service(lambda ask: {"label": str(rng.choice(["a", "b"])), "scores": None}), CLASSIFY)
    assert isinstance(found.deterministic, bool)
    noisy = look(Service(lambda ask: wage(ask) + rng.normal()), REGRESS)
    assert (noisy.deterministic, noisy.batch) == (False, False)


def test_rounding_differences_between_calls_are_noted_and_the_service_counts_as_deterministic():
    count = itertools.count()
    found = look(Service(lambda ask: wage(ask) * (1 + 1e-7 * next(count))), REGRESS)
    assert found.deterministic is True
    assert any("rounding" in note for note in found.notes)


def test_a_service_that_answers_differently_each_time_is_fit_with_a_note():
    count = itertools.count()
    found = look(Service(lambda ask: wage(ask) + next(count), batch_limit=1), REGRESS)
    assert found.deterministic is False
    assert any("not deterministic" in note for note in found.notes)


# ---------------------------------------------------------------------------- embedders
def test_vectors_of_several_lengths_make_an_embedder_unfit():
    refusal = unfit(Service(lambda ask: [1.0] * len(ask.text)), EMBED)
    assert (refusal.code, "4 and 5 numbers" in refusal.message or "5 and 6 numbers" in refusal.message) == (
        "vector-length",
        True,
    )


@pytest.mark.parametrize("same", [[0.5, 0.25], [0.0, 0.0]])
def test_one_vector_for_every_text_makes_an_embedder_unfit(same):
    assert unfit(Service(lambda ask: same), EMBED).code == "constant"


def test_the_check_of_an_embedder_notes_vectors_of_zeros():
    found = look(Service(lambda ask: [0.0] * 8 if ask.text == "music" else vector(ask)), EMBED)
    assert any("1 of 5 texts got a vector of zeros" in note for note in found.notes)


def test_words_without_a_vector_do_not_make_an_embedder_unfit():
    def known(ask):
        missing = Reply(failure=Failure("missing-word", "no vector"))
        return missing if ask.text in lacking else vector(ask)

    lacking = {"house", "winter"}
    some = look(Service(known), EMBED)
    assert (some.order_kept, some.asked) == (True, "river")
    assert "2 of 5 questions failed (missing-word)" in some.notes
    lacking = set(WORDS)
    none = look(Service(known), EMBED)
    assert (none.returned, none.dimensions, none.adapter.batch_limit) == ("", None, 1)


# ---------------------------------------------------------------------------- classifiers
def top_one(ask):
    label, score = max(scored(ask)["scores"].items(), key=lambda one: one[1])
    return {"label": None, "scores": {label: score}}


def now_and_then(ask):
    return scored(ask) if len(str(ask)) % 2 else {"label": "good", "scores": None}


@pytest.mark.parametrize("say", [top_one, now_and_then])
def test_a_classifier_whose_set_of_labels_varies_is_unfit_for_a_rating(say):
    refusal = unfit(Service(say), CLASSIFY)
    assert refusal.code == "label-set"
    assert refusal.hint


def test_probabilities_that_do_not_sum_to_one_are_noted_as_multi_label():
    found = look(
        Service(lambda ask: {"label": None, "scores": {"a": 0.9, "b": scored(ask)["scores"]["good"]}}), CLASSIFY
    )
    assert any("several labels" in note for note in found.notes)
    rounded = look(Service(lambda ask: {"label": None, "scores": {"a": 0.3335, "b": 0.3335, "c": 0.3334}}), CLASSIFY)
    assert not any("several labels" in note for note in rounded.notes)


def test_a_classifier_that_scores_only_one_label_is_noted():
    found = look(Service(lambda ask: {"label": None, "scores": {"toxic": scored(ask)["scores"]["good"]}}), CLASSIFY)
    assert "only the label 'toxic' is scored" in found.notes


# ---------------------------------------------------------------------------- failures
@pytest.mark.parametrize("code", ["auth", "quota", "refused-address", "tls"])
def test_a_fatal_failure_ends_the_check_of_a_predictor_after_one_call(code):
    service = Service(vector, failures=lambda asks: CallFailed(code, "no", retriable=False))
    refusal = unfit(service, EMBED)
    assert (refusal.code, refusal.failure.code, len(service.calls)) == (code, code, 1)


def test_the_check_of_an_unreachable_predictor_before_a_rating_ends_after_some_attempts():
    dead = Service(vector, failures=lambda asks: CallFailed("connect", "nobody there"))
    assert unfit(dead, EMBED).failure.retriable
    assert len(dead.calls) == TRIES
    silent = Service(vector, failures=lambda asks: CallFailed("timeout", "too late"))
    assert unfit(silent, EMBED).code == "timeout"
    assert len(silent.calls) == FEW_TRIES


def test_a_service_that_fails_at_one_of_several_questions_is_fit_for_a_rating():
    def refuse(asks):
        too_long = any(ask == CLASSIFY[0] for ask in asks)
        return CallFailed("http-422", "not this one", retriable=False) if too_long else None

    found = look(Service(scored, failures=refuse), CLASSIFY)
    assert found.order_kept is True
    assert "1 of 5 questions failed (http-422)" in found.notes


def test_service_that_refuses_every_question_of_the_experiment_is_unfit_for_a_rating():
    def refuse(asks):
        return CallFailed("http-422", "unknown column", retriable=False)

    assert unfit(Service(scored, failures=refuse), CLASSIFY).code == "http-422"
    refusal = unfit(Service(scored, failures=refuse), CLASSIFY, ours=True)
    assert "settings.samples" in refusal.hint
    assert "ask for a rating" in refusal.hint


def test_a_service_that_takes_one_question_per_call_is_not_sent_several():
    service = Service(wage, batch_limit=1)
    found = look(service, REGRESS)
    assert (found.batch, found.order_kept, max(len(call) for call in service.calls)) == (False, None, 1)


def test_a_service_that_refuses_arrays_is_asked_one_by_one():
    found = look(
        Service(
            vector, failures=lambda asks: CallFailed("http-413", "too many", retriable=False) if len(asks) > 1 else None
        ),
        EMBED,
    )
    assert (found.batch, found.adapter.batch_limit) == (False, 1)
    assert any("http-413" in note for note in found.notes)


@pytest.mark.parametrize("seed", range(10))
def test_a_service_that_fails_half_of_its_calls_passes_the_check_before_a_rating(seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    ill = Service(
        vector, failures=lambda asks: CallFailed("http-500", "ill", retriable=True) if rng.random() < 0.5 else None
    )
    assert look(ill, EMBED).dimensions == 8


# ---------------------------------------------------------------------------- samples
def described(kind, protocol="custom", **settings):
    return Target("T", kind, protocol, "http://127.0.0.1:1", settings)


def test_a_service_is_checked_with_inputs_of_the_experiment_or_else_the_settings_or_built_in_texts():
    asked = [Regress((("a", 1),))]
    target = described(Kind.REGRESSOR, samples=["a text", {"age": 31, "sex": "f"}])
    assert samples_for(target, asked) == Samples(tuple(asked))
    assert samples_for(target) == Samples((Regress("a text"), Regress((("age", 31), ("sex", "f")))))
    assert samples_for(described(Kind.CLASSIFIER)) == Samples(tuple(CLASSIFY), ours=True)
    assert samples_for(described(Kind.EMBEDDER)) == Samples(tuple(EMBED), ours=True)


def over_http(wire, kind, protocol, settings, answer):
    async def go():
        async with wire.listening(answer) as service, Egress(wire.loopback) as egress:
            target = Target("T", kind, protocol, service.url, settings, limits=Limits(timeout_s=5))
            found = await PredictorExamination(connect(target, egress), samples_for(target), Calls()).run()
            return found, service.heard

    return asyncio.run(go())


def test_an_embedder_can_be_checked_before_a_rating_over_http(wire):
    def answer(heard):
        return wire.as_json({"embeddings": [vector(text) for text in heard.json["input"]]})

    found, heard = over_http(wire, Kind.EMBEDDER, "ollama", {"model": "m"}, answer)
    assert (found.batch, found.deterministic, found.dimensions, found.calls, found.notes) == (True, True, 8, 7, ())
    assert heard[-1].json["input"] == list(WORDS)


def test_a_regressor_of_records_cannot_be_checked_without_sample_records(wire):
    def answer(heard):
        if set(heard.json["inputs"]) != {"age"}:
            return wire.as_json({"error_code": "BAD_REQUEST"}, "400 No")
        return wire.as_json({"predictions": [age / 7 for age in heard.json["inputs"]["age"]]})

    settings = {"input_format": "inputs"}
    with pytest.raises(TargetUnfit) as caught:
        over_http(wire, Kind.REGRESSOR, "mlflow", settings, answer)
    assert caught.value.code == "http-400"
    assert "settings.samples" in caught.value.hint
    found, _ = over_http(
        wire, Kind.REGRESSOR, "mlflow", {**settings, "samples": [{"age": age} for age in (20, 40, 60)]}, answer
    )
    assert (found.order_kept, found.asked) == (True, '{"age": 20}')


def test_a_custom_service_that_takes_records_is_not_checked_with_built_in_texts(wire):
    with pytest.raises(TargetUnfit) as caught:
        over_http(wire, Kind.CLASSIFIER, "custom", {"body": "{row}"}, lambda heard: wire.raw(status="500 Ill"))
    assert caught.value.code == "unsupported"
    assert "takes records only" in caught.value.message
