"""Examination of translators with known faults."""

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from assay.catalog.tables import read_table
from assay.model import Failure, Kind, Reply, Translate
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.checks.examination import FEW_TRIES, TRIES, Calls, TargetUnfit
from workers.targets.checks.translator import SENTENCES, TranslatorExamination, sentences_in
from workers.targets.registry import connect

PAIRS = [("en", "es"), ("es", "en")]

Translator = Callable[[Sequence[Translate]], Sequence[str]]


def honest(asks):
    return [
        f"La casa: {ask.text.rsplit(' ', maxsplit=1)[-1]}" if len(ask.text) < 60 else whole(ask.text) for ask in asks
    ]


def whole(text):
    return text.replace("The house has the number", "La casa tiene el número")


@dataclass
class Service:
    """Adapter that records its questions and behaves as configured."""

    translate: Translator = honest
    batch_limit: int = 25
    spoken: frozenset[tuple[str, str]] | None = None
    failures: Callable[[], CallFailed | None] = lambda: None
    calls: list[list[Translate]] = field(default_factory=list)

    def group_key(self, ask):
        return (ask.source, ask.target)

    async def languages(self):
        return self.spoken

    async def answer(self, asks, *, idempotency_key=None):
        self.calls.append(list(asks))
        if (failure := self.failures()) is not None:
            raise failure
        said = self.translate(asks)
        if len(said) != len(asks):
            raise CallFailed("wrong-count", "another number of answers")
        return [Reply(text) for text in said]


def look(service: Service, pairs=PAIRS, rng=None):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    clock = itertools.count().__next__
    found = asyncio.run(TranslatorExamination(service, pairs, Calls(clock, sleep), rng).run())
    return found, slept


def unfit(service: Service, pairs=PAIRS, rng=None) -> TargetUnfit:
    with pytest.raises(TargetUnfit) as caught:
        look(service, pairs, rng)
    return caught.value


def test_the_check_before_a_rating_accepts_a_working_translator_after_five_calls():
    service = Service()
    found, slept = look(service)
    assert (found.deterministic, found.batch, found.order_kept, found.truncates_at) == (True, True, True, None)
    assert (found.calls, len(service.calls), slept) == (5, 5, [])
    assert (found.adapter, found.adapter.batch_limit, found.notes) == (service, 25, ())
    assert (found.asked, found.returned, found.latency_s) == ("The house has the number 211.", "La casa: 211.", 1)


def test_the_result_of_the_check_before_a_rating_can_be_serialised_as_json():
    found, _ = look(Service())
    assert set(json.loads(json.dumps(found.as_json()))) >= {"latency_s", "batch", "notes", "calls"}
    assert "adapter" not in found.as_json()


@pytest.mark.parametrize("source", ["fr", "es", "de", "it", "pt"])
def test_texts_that_check_a_translator_before_a_rating_are_written_in_its_source_language(source):
    """Without a random generator, the texts are the same in every job."""
    service = Service()
    look(service, [(source, "en"), ("en", source)])
    asked = [ask.text for call in service.calls for ask in call if ask.source == source]
    clauses = read_table(f"grammar/{source}")["texts"]["numbered"]
    sentences = [part for text in asked for part in text.removesuffix(".").split(". ")]
    assert len(sentences) > 40
    assert all(any(clause in sentence for clause in clauses) for sentence in sentences)


def test_a_translator_is_checked_in_the_reverse_direction_only_if_the_experiment_uses_it():
    there = Service()
    look(there, [("en", "es")])
    assert all((ask.source, ask.target) == ("en", "es") for call in there.calls for ask in call)
    both = Service()
    look(both)
    assert [ask.text for call in both.calls for ask in call if ask.source == "es"] == ["La casa: 211."]


def reversed_order(asks):
    return list(reversed(honest(asks)))


def swapped_pair(asks):
    said = honest(asks)
    return [said[1], said[0], *said[2:]] if len(said) > 1 else said


def first_only(asks):
    return honest(asks)[:1]


@pytest.mark.parametrize("translate", [reversed_order, swapped_pair, first_only])
def test_a_service_that_reorders_or_drops_texts_of_a_batch_is_unfit_for_a_rating(translate):
    with pytest.raises(TargetUnfit) as unfit:
        look(Service(translate))
    assert unfit.value.code in {"out-of-order", "wrong-count"}
    assert "answers to lists" in unfit.value.hint


def test_a_service_that_drops_numbers_from_texts_is_asked_one_text_per_call():
    found, _ = look(Service(lambda asks: [re.sub(r"\d+", "", ask.text) for ask in asks]))
    assert (found.batch, found.order_kept, found.adapter.batch_limit) == (False, None, 1)
    assert any("could not be checked" in note for note in found.notes)
    assert any("stay whole" in note for note in found.notes)


def test_numbers_in_other_digits_are_recognised():
    arabic = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    found, _ = look(Service(lambda asks: [text.translate(arabic) for text in honest(asks)]))
    assert (found.batch, found.notes) == (True, ())


def test_a_service_that_takes_one_text_per_call_is_not_sent_several():
    service = Service(batch_limit=1)
    found, _ = look(service)
    assert (found.batch, found.order_kept, found.adapter) == (False, None, service)
    assert max(len(call) for call in service.calls) == 1


@pytest.mark.parametrize("kept", [1, 10, SENTENCES - 2])
def test_a_translator_that_cuts_long_texts_without_an_error_is_unfit_for_a_rating(kept):
    def cut(asks):
        return [
            ". ".join(whole(ask.text).split(". ")[:kept]) if len(ask.text) > 60 else whole(ask.text) for ask in asks
        ]

    refusal = unfit(Service(cut))
    assert refusal.code == "truncates"
    assert str(SENTENCES - kept) in refusal.message


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("characters", [0, 12, 40, 100])
def test_a_translator_that_cuts_texts_to_few_characters_is_unfit_even_if_no_number_comes_back(characters, seed):
    def cut(asks):
        return [ask.text[:characters] if len(ask.text) > 100 else ask.text[:40] for ask in asks]

    refusal = unfit(Service(cut), PAIRS[:1], np.random.default_rng(seed))
    assert refusal.code == "truncates"
    assert "did not come back" in refusal.message or f"only {characters} characters" in refusal.message


def test_a_translator_that_refuses_long_texts_with_an_error_is_fit_for_a_rating():
    def refuse(asks):
        if any(len(ask.text) > 60 for ask in asks):
            raise CallFailed("http-413", "too long", status=413, retriable=False)
        return honest(asks)

    found, _ = look(Service(refuse))
    assert found.truncates_at == len(" ".join(text for _, text in sentences_in("en", SENTENCES)))


def test_a_service_that_answers_differently_each_time_is_fit_with_a_note():
    count = itertools.count()
    found, _ = look(Service(lambda asks: [f"{text} {'a' * next(count)}" for text in honest(asks)]))
    assert found.deterministic is False
    assert any("not deterministic" in note for note in found.notes)


def test_the_check_before_a_rating_notes_that_a_translator_returns_texts_untranslated():
    found, _ = look(Service(lambda asks: [ask.text for ask in asks]))
    assert any("as it was sent" in note for note in found.notes)


@pytest.mark.parametrize("said", ["", "  \n"])
def test_a_translator_that_returns_empty_texts_is_unfit_for_a_rating(said):
    assert unfit(Service(lambda asks: [said for _ in asks])).code == "empty"


def test_an_unsupported_language_is_named_before_anything_is_translated():
    service = Service(spoken=frozenset({("en", "es")}))
    refusal = unfit(service, [*PAIRS, ("en", "xx")])
    assert (refusal.code, service.calls) == ("unsupported-language", [])
    assert "es to en" in refusal.message
    assert "en to xx" in refusal.message
    assert "language_codes" in refusal.hint


def test_a_translator_without_a_list_of_languages_is_checked_anyway():
    class Silent(Service):
        async def languages(self):
            raise CallFailed("http-404", "nothing there", retriable=False)

    found, _ = look(Silent())
    assert any("did not say" in note for note in found.notes)


@pytest.mark.parametrize("code", ["auth", "quota", "refused-address", "tls", "http-400", "wrong-shape"])
def test_the_check_before_a_rating_ends_after_the_first_permanent_failure(code):
    service = Service(failures=lambda: CallFailed(code, "no", retriable=False))
    refusal = unfit(service)
    assert (refusal.code, refusal.message, len(service.calls)) == (code, "no", 1)
    assert refusal.failure.code == code


def test_the_check_of_an_unreachable_service_before_a_rating_ends_after_some_attempts():
    service = Service(failures=lambda: CallFailed("connect", "nobody there"))
    assert unfit(service).failure.retriable
    assert len(service.calls) == TRIES
    silent = Service(failures=lambda: CallFailed("timeout", "too late"))
    assert unfit(silent).code == "timeout"
    assert len(silent.calls) == FEW_TRIES


def test_the_check_before_a_rating_obeys_retry_after():
    waits = iter([CallFailed("http-429", "slow down", retriable=True, retry_after_s=999)])
    _, slept = look(Service(failures=lambda: next(waits, None)))
    assert slept == [10.0]


@pytest.mark.parametrize("seed", range(20))
def test_a_service_that_fails_half_of_its_calls_passes_the_check_before_a_rating(seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    ill = Service(failures=lambda: CallFailed("http-500", "ill", retriable=True) if rng.random() < 0.5 else None)
    found, _ = look(ill)
    assert found.returned == "La casa: 211."


def test_a_service_that_fails_every_second_call_is_checked_completely_and_accepted_for_a_rating():
    turns = itertools.cycle([CallFailed("http-503", "busy", retriable=True), None])
    found, _ = look(Service(failures=lambda: next(turns)))
    assert (found.deterministic, found.batch, found.notes) == (True, True, ())


def test_a_service_that_declines_every_question_is_unfit_for_a_rating():
    class Declining(Service):
        async def answer(self, asks, *, idempotency_key=None):
            return [Reply(failure=Failure("declined", "it chose not to answer")) for _ in asks]

    assert unfit(Declining()).code == "declined"


def test_a_translator_can_be_checked_before_a_rating_over_http(wire):
    def answer(heard):
        if heard.path == "/languages":
            return wire.as_json([{"code": code, "targets": ["en", "es"]} for code in ("en", "es")])
        asked = heard.json["q"]
        return wire.as_json(
            {"translatedText": whole(asked) if isinstance(asked, str) else [whole(each) for each in asked]}
        )

    async def go():
        async with wire.listening(answer) as service, Egress(wire.loopback) as egress:
            target = Target("T", Kind.TRANSLATOR, "libretranslate", service.url, limits=Limits(timeout_s=5))
            return await TranslatorExamination(connect(target, egress), PAIRS, Calls()).run()

    found = asyncio.run(go())
    assert (found.batch, found.deterministic, found.calls, found.notes) == (True, True, 6, ())
    assert found.latency_s > 0
