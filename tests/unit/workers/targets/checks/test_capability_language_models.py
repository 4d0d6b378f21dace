"""Examination of language models and authors with known faults."""

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay.model import Choose, Failure, Fill, Kind, Reply, Score, Write
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target, group_of
from workers.targets.checks.examination import TRIES, Calls, TargetUnfit
from workers.targets.checks.language_model import SAMPLE_QUESTIONS, ModelExamination
from workers.targets.registry import connect

SENTENCES = [Score(f"The {who} walked {'very ' * times}home.") for times in range(4) for who in ("woman", "man")]
WRITES = [Write("Write about a nurse."), Write("Write about a nurse.", 1)]


def lost(code: str) -> Reply:
    return Reply(failure=Failure(code, f"it said {code}"))


def score(ask: Score) -> Any:
    return {"log_probability": -1.5 * len(ask.text), "tokens": len(ask.text)} if ask.text else lost("wrong-shape")


def fill(ask: Fill) -> Any:
    return {"probability": 1 / (1 + sum(map(ord, ask.before)))}


def choose(ask: Choose) -> Any:
    right = {"blue", "a horse", "an apple", "seven", "April"}
    return {"choice": next((at for at, option in enumerate(ask.options) if option in right), 0)}


@dataclass
class Model:
    """Adapter that records its questions and answers some kinds of question as configured."""

    says: dict[type, Callable[[Any], Any]]
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
        said = [self.says[type(ask)](ask) if type(ask) in self.says else lost("unsupported") for ask in asks]
        said = self.arrange(said)
        if len(said) != len(asks):
            raise CallFailed("wrong-count", "another number of answers")
        return [each if isinstance(each, Reply) else Reply(each) for each in said]


def look(model: Model, asked=()):
    async def sleep(seconds):
        pass

    return asyncio.run(ModelExamination(model, asked, Calls(itertools.count().__next__, sleep)).run())


def unfit(model: Model, asked=()) -> TargetUnfit:
    with pytest.raises(TargetUnfit) as caught:
        look(model, asked)
    return caught.value


ABILITIES = {
    "scores, chooses and writes": ({Score: score, Choose: choose, Write: str}, ("score", "choose")),
    "fills": ({Fill: fill}, ("fill",)),
    "chooses and writes": ({Choose: choose, Write: str}, ("choose",)),
    "everything": ({Score: score, Fill: fill, Choose: choose}, ("score", "fill", "choose")),
}


@pytest.mark.parametrize(("says", "rungs"), ABILITIES.values(), ids=ABILITIES)
def test_the_check_of_a_language_model_finds_out_which_kinds_of_question_it_answers(says, rungs):
    model = Model(says)
    found = look(model)
    assert (found.rungs, found.deterministic, found.batch, found.order_kept) == (rungs, True, True, True)
    assert (found.adapter, found.latency_s, found.calls) == (model, 1, len(model.calls))
    assert found.calls <= 10
    assert len(found.notes) == 3 - len(rungs)
    assert json.loads(json.dumps(found.as_json()))["rungs"] == list(rungs)


def test_an_engine_without_echo_can_still_choose_and_a_note_says_why_it_cannot_score_texts():
    found = look(Model({Score: lambda ask: lost("no-echo"), Choose: choose}))
    assert found.rungs == ("choose",)
    assert any("score" in note and "no-echo" in note for note in found.notes)


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ({}, "unsupported"),
        ({Score: lambda ask: lost("no-echo")}, "no-echo"),
        ({Score: lambda ask: lost("no-echo"), Choose: lambda ask: lost("no-choice")}, "no-echo"),
        ({Choose: lambda ask: lost("no-choice")}, "no-choice"),
        ({Fill: lambda ask: lost("unknown-word")}, "unknown-word"),
    ],
)
def test_model_that_answers_no_kind_of_question_is_unfit_with_every_reason(says, code):
    refusal = unfit(Model(says))
    assert refusal.code == code
    failures = [
        says[kind](None).failure if kind in says else lost("unsupported").failure for kind in (Score, Fill, Choose)
    ]
    messages = {failure.message for failure in failures}
    assert all(refusal.message.count(message) == 1 for message in messages)


def test_model_that_only_writes_is_unfit_with_a_hint_to_use_it_as_author():
    assert "author" in unfit(Model({Write: lambda ask: "Rain."})).message
    assert "author" not in unfit(Model({})).message


def test_a_model_that_lacks_one_word_can_still_fill_gaps():
    known = {ask.word for ask in SAMPLE_QUESTIONS[Fill][1:]}
    found = look(Model({Fill: lambda ask: fill(ask) if ask.word in known else lost("unknown-word")}))
    assert found.rungs == ("fill",)


def test_a_language_model_is_checked_with_questions_of_the_experiment():
    model = Model({Score: score, Choose: choose})
    assert look(model, SENTENCES).asked == SENTENCES[0].text
    asked = {ask for call in model.calls for ask in call if isinstance(ask, Score) and ask.text}
    assert asked <= set(SENTENCES)
    chosen = [Choose("Which?", ("seven", "x")), Choose("Which?", ("x", "seven"))]
    found = look(Model({Score: score, Choose: choose}), chosen)
    assert (found.asked, found.rungs) == ("Which? seven / x", ("score", "choose"))


@pytest.mark.parametrize("arrange", [lambda said: said[::-1], lambda said: said[1:] + said[:1], lambda said: said[:1]])
def test_a_service_that_reorders_or_drops_answers_of_a_batch_is_unfit_for_a_rating(arrange):
    for says in ({Score: score}, {Fill: fill}, {Choose: choose}):
        assert unfit(Model(says, arrange)).code in {"out-of-order", "wrong-count"}


def test_a_service_that_takes_no_arrays_is_asked_one_by_one():
    def refusing(asks):
        return CallFailed("http-400", "one at a time", status=400, retriable=False) if len(asks) > 1 else None

    found = look(Model({Score: score}, failures=refusing))
    assert (found.batch, found.order_kept, found.adapter.batch_limit) == (False, None, 1)
    assert any("one by one" in note for note in found.notes)


def test_a_model_that_answers_differently_each_time_is_fit_with_a_note():
    count = itertools.count(1)
    found = look(Model({Score: lambda ask: {"log_probability": -1.0 * next(count), "tokens": 3}}, batch_limit=1))
    assert found.deterministic is False
    assert any("not deterministic" in note for note in found.notes)


def test_a_model_that_gives_all_texts_the_same_probability_is_unfit_for_a_rating():
    assert unfit(Model({Score: lambda ask: {"log_probability": -9.5, "tokens": 3}})).code == "constant"
    assert unfit(Model({Fill: lambda ask: {"probability": 0.5}})).code == "constant"


def test_a_model_that_always_chooses_the_same_letter_is_fit_with_a_note():
    found = look(Model({Choose: lambda ask: {"choice": 0}}))
    assert (found.rungs, found.adapter.batch_limit) == (("choose",), 1)
    assert any("same letter" in note for note in found.notes)


def test_the_check_of_a_language_model_notes_how_it_responds_to_an_empty_text():
    def ill(asks):
        return CallFailed("http-500", "ill", status=500, retriable=True) if asks[0] == Score("") else None

    assert any("in vain" in note for note in look(Model({Score: score}, failures=ill)).notes)
    deaf = Model({Score: lambda ask: {"log_probability": -1.0 - len(ask.text), "tokens": 1}})
    assert any("empty text" in note for note in look(deaf).notes)


def test_a_model_that_never_answers_an_empty_text_is_fit_and_the_timeout_is_noted():
    def hangs(asks):
        return CallFailed("timeout", "no answer", retriable=True) if asks[0] == Score("") else None

    model = Model({Score: score}, failures=hangs)
    assert any("in vain" in note for note in look(model).notes)
    assert model.calls.count([Score("")]) == 1


def test_a_language_model_that_fails_at_one_kind_of_question_is_accepted_for_the_others():
    def ill(asks):
        is_score = isinstance(asks[0], Score)
        return CallFailed("http-500", "ill", status=500, retriable=True) if is_score else None

    assert look(Model({Choose: choose}, failures=ill)).rungs == ("choose",)
    # HTTP 500 is temporary, so the model may pass later
    assert unfit(Model({}, failures=ill)).failure.code == "http-500"


@pytest.mark.parametrize("code", ["auth", "quota", "connect"])
def test_the_check_of_a_language_model_reports_the_code_of_a_fatal_failure(code):
    refusal = unfit(Model({Score: score}, failures=lambda asks: CallFailed(code, "no")))
    assert (refusal.code, refusal.failure.code) == (code, code)


# ---------------------------------------------------------------------------- authors
def test_an_author_service_that_writes_a_text_is_accepted_after_one_call():
    model = Model({Write: lambda ask: "The nurse slept."})
    found = look(model, WRITES)
    assert (found.calls, found.rungs, found.returned) == (1, ("write",), "The nurse slept.")
    assert model.calls == [[WRITES[0]]]
    assert found.adapter.batch_limit == 1  # a batch of one, because the examination did not test the order of answers
    refusal = unfit(Model({}), WRITES)
    assert (refusal.code, "author" in refusal.hint) == ("unsupported", True)
    ill = Model({}, failures=lambda asks: CallFailed("http-503", "busy", status=503, retriable=True))
    assert unfit(ill, WRITES).failure.retriable


def different(n: int) -> list[Write]:
    return [Write(f"Write about a {who}.", time) for time in range(2) for who in ("nurse", "judge", "cook")[:n]]


@pytest.mark.parametrize(
    "failure",
    [lost("cut-short"), lost("declined"), CallFailed("http-400", "content policy", retriable=False)],
    ids=["cut-short", "declined", "http-400"],
)
def test_an_author_service_is_accepted_if_it_answers_one_of_several_prompts(failure):
    def nothing_of_nurses(asks):
        return failure if isinstance(failure, CallFailed) and "nurse" in asks[0].prompt else None

    def write(ask):
        return failure if "nurse" in ask.prompt else "It rained."

    found = look(Model({Write: write}, failures=nothing_of_nurses), different(3))
    assert (found.returned, found.asked, found.latency_s) == ("It rained.", "Write about a judge.", 1)
    assert any("failed" in note for note in found.notes)


def test_an_author_that_answers_its_only_prompt_at_the_second_try_is_fit():
    times = itertools.count()
    found = look(Model({Write: lambda ask: "It rained." if next(times) else lost("cut-short")}), WRITES)
    assert found.calls == 2


def test_an_author_that_answers_no_prompt_is_unfit_with_the_code_of_its_first_failure():
    codes = iter(["cut-short", *["declined"] * 9])
    model = Model({Write: lambda ask: lost(next(codes))})
    assert unfit(model, different(3)).code == "cut-short"
    assert [call[0] for call in model.calls] == different(3)[:5], "different prompts first, and a few in all"


def test_of_several_prompts_to_a_busy_author_service_only_the_first_is_retried():
    model = Model({}, failures=lambda asks: CallFailed("http-503", "busy", status=503, retriable=True))
    assert unfit(model, different(3)).failure.code == "http-503"
    assert len(model.calls) == TRIES + 4


@pytest.mark.parametrize("code", ["auth", "quota", "connect", "tls"])
def test_an_author_service_that_fails_permanently_is_called_only_once(code):
    model = Model({Write: str}, failures=lambda asks: CallFailed(code, "no", retriable=False))
    assert unfit(model, different(3)).failure.code == code
    assert len(model.calls) == 1


# ---------------------------------------------------------------------------- over HTTP
def completions(prompt: str, body: dict[str, Any], echo: bool) -> dict[str, Any]:
    """Answer like an engine that scores words by their length and chooses the letter A."""
    words = [word if not at else f" {word}" for at, word in enumerate(prompt.split(" "))]
    if not body.get("echo"):
        return {"text": " A", "logprobs": None, "finish_reason": "stop"}
    values = [None, *(-0.5 * len(word) for word in words[1:])]
    told = {"tokens": words, "token_logprobs": values} if echo else {"tokens": [" A"], "token_logprobs": [0.0]}
    return {"text": prompt, "logprobs": told, "finish_reason": "length"}


@pytest.mark.parametrize(("echo", "rungs"), [(True, ("score", "choose")), (False, ("choose",))])
def test_engine_that_ignores_echo_is_detected_over_http(wire, echo, rungs):
    def answer(heard):
        body = heard.json
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        choices = [{"index": at, **completions(prompt, body, echo)} for at, prompt in enumerate(prompts)]
        return wire.as_json({"choices": choices[::-1]})

    async def go():
        async with wire.listening(answer) as service, Egress(wire.loopback) as egress:
            settings = {"model": "m"}
            target = Target(
                "T", Kind.LANGUAGE_MODEL, "openai-completions", service.url, settings, None, Limits(timeout_s=5)
            )
            return await ModelExamination(connect(target, egress), (), Calls()).run()

    found = asyncio.run(go())
    assert (found.rungs, found.deterministic) == (rungs, True)
    assert found.batch is echo  # only scores can show the order of answers: this model always chooses A
