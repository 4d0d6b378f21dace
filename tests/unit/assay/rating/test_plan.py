"""Tests of rating plans: the fewest and the most questions, calls, seconds, cost, and the chance of a letter."""

from dataclasses import replace
from time import process_time

import pytest

from assay.catalog.languages import languages
from assay.experiment import Looks, Session, generator
from assay.methods import RoundTrip, StereotypeScore
from assay.rating.decision import rate
from assay.rating.plan import TOLERANCES, Effort, Service, declared_chances, plan_of
from tests.support.simulated.services import SERVICES
from tests.support.simulated.translators import translator_service

TRANSLATOR = RoundTrip("gender", languages=("es",))


def asked_of(service, seed=3):
    """Run the experiment of a service until it has its finding; return the session."""
    session = Session(service.method.design(generator(seed)))
    while session.finding is None:
        for probe in session.missing:
            session.accept(probe, service.answer(probe.ask))
        session.advance()
    return session


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVICES)
def test_a_rating_asks_between_the_planned_fewest_and_most_questions(name):
    # the effect is far above the tolerance, so that one look is enough for most services
    least = {
        "forced-choice, observer": 0.8,  # equal mixtures of the controls are asked once
        "stereotype-score, masked": 0.3,  # one question for each word that both sentences share, at most six
    }.get(name, 0.98)
    service = SERVICES[name](0.4, 0.0, 3)
    planned = plan_of(service.method, Service())
    asked = asked_of(service).asked
    assert planned.clear.questions * least <= asked <= planned.at_most.questions


@pytest.mark.slow
@pytest.mark.parametrize(
    "service",
    [translator_service(0.1, 0.4, 3), translator_service(0.1, 0.4, 3, hop=True)],
    ids=["round-trip", "one-hop"],
)
def test_a_service_whose_effect_equals_the_tolerance_is_asked_the_planned_maximum_of_questions(service):
    session = asked_of(replace(service, method=replace(service.method, confidence=0.9999)))
    assert session.asked == plan_of(service.method, Service()).at_most.questions
    assert not rate(session.finding).declared


def test_several_questions_per_call_reduce_the_number_of_calls():
    plan = plan_of(TRANSLATOR, Service(questions_per_call=25))
    assert (plan.clear.questions, plan.clear.calls) == (120, 8)  # four batches, of versions that share no call


def test_the_calls_of_a_plan_in_200_languages_are_counted_within_seconds():
    others = tuple(code for code in languages() if code != "en")[:200]
    method, started_s = (
        RoundTrip("gender", languages=others, texts_per_block=400, max_texts_per_block=400),
        process_time(),
    )
    plan = plan_of(method, Service(questions_per_call=4))
    assert process_time() - started_s < 5  # half a minute, if each question were grouped into a call
    assert plan.clear == Effort(480_000, 120_000, None, None)


def test_seconds_follow_from_latency_concurrency_and_pace():
    assert plan_of(TRANSLATOR, Service()).clear.seconds is None
    assert plan_of(TRANSLATOR, Service(latency_s=0.5, concurrency=4)).clear.seconds == 15.0
    assert plan_of(TRANSLATOR, Service(latency_s=0.5, concurrency=4, requests_per_second=2)).clear.seconds == 60.0


def test_cost_follows_from_the_price_of_a_call_and_of_characters():
    assert plan_of(TRANSLATOR, Service()).clear.cost is None
    assert plan_of(TRANSLATOR, Service(price_per_call=0.01)).clear.cost == pytest.approx(1.2)
    written = plan_of(TRANSLATOR, Service(price_per_1000_characters=1.0)).clear.cost
    texts = [probe.ask.text for probe in next(TRANSLATOR.design(generator(0)))]
    sent = sum(map(len, texts)) / len(texts) * 120 / 1000
    assert written == pytest.approx(sent, rel=0.15)


def test_max_calls_limits_the_largest_effort_of_a_plan():
    plan = plan_of(TRANSLATOR, Service(questions_per_call=2), max_calls=100)
    assert plan.at_most == Effort(200, 100, None, None)
    assert plan.clear.questions == 120


def test_a_letter_is_hardest_to_declare_for_an_effect_at_the_tolerance():
    chances = {one.tolerances: one.probability for one in declared_chances(TRANSLATOR.planned_looks(), 0.1, 0.95)}
    assert tuple(chances) == TOLERANCES
    assert min(chances, key=chances.get) == 1.0
    assert chances[1.0] < 0.2
    assert chances[3.0] == 1.0


def test_a_letter_is_declared_more_often_with_more_answers_and_more_topics():
    def at_half(answers, topics):
        return declared_chances(Looks((answers,), topics), 0.1, 0.95)[1].probability

    assert at_half(100, 50) < at_half(1000, 50) < at_half(1000, 500)


def test_a_plan_that_cannot_predict_the_chance_of_a_letter_states_why():
    plan = plan_of(SERVICES["alternation, numbers of texts"](0.0, 0.0, 1).method, Service())
    assert plan.declared is None
    assert "known only after asking" in plan.as_json()["declared_unknown"]


@pytest.mark.parametrize("multiple", [0.0, 3.0])
def test_letters_that_a_plan_calls_nearly_certain_are_declared_for_simulated_services(multiple):
    method = translator_service(0.0, 0.4, 0).method
    planned = {one.tolerances: one.probability for one in plan_of(method, Service()).declared}
    assert planned[multiple] > 0.99
    for seed in range(3):
        assert rate(translator_service(multiple * method.delta, 0.4, seed).rate(seed)).declared


def test_the_planned_questions_of_stereotype_score_grow_with_its_interim_analyses():
    plan = plan_of(StereotypeScore(per_term=5, most_per_term=20), Service())
    assert plan.at_most.questions == 4 * plan.clear.questions
    once = plan_of(StereotypeScore(per_term=5, stop_early=False), Service())
    assert once.at_most == once.clear == plan.clear
