"""The library deep-translator: one instance per call, few threads, and a deadline."""

import asyncio
import threading
import time
import traceback

import deep_translator
import pytest

from assay.errors import SpecificationError
from assay.model import Kind, Translate
from workers.egress import CODES, CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.protocols.deep_translator import (
    ERRORS,
    THREADS,
    TRANSLATORS,
    UNSUPPORTED_TRANSLATORS,
    DeepTranslator,
    DeepTranslatorSettings,
)
from workers.targets.registry import connect

SECRET = "sk-do-not-show-1234"
ASK = Translate("She came.", "en", "es")


def adapter(build, *, translator="libre", secret=SECRET, timeout_s=5.0):
    target = Target(
        "T", Kind.TRANSLATOR, "deep-translator", "", {"translator": translator}, secret, Limits(timeout_s=timeout_s)
    )
    return DeepTranslator(target, DeepTranslatorSettings(translator=translator), Egress(scraping=True), build)


def library_at(url):
    """Return the library's class for LibreTranslate with the address of a local service."""

    def build(**arguments):
        return deep_translator.LibreTranslator(**arguments, custom_url=f"{url}/")

    return build


def ask_library(wire, answer):
    async def go():
        async with wire.listening(lambda heard: answer) as service:
            try:
                outcome = await adapter(library_at(service.url)).answer([ASK])
            except CallFailed as failed:
                outcome = failed
            return outcome, service.heard

    return asyncio.run(go())


def test_deep_translator_is_called_and_its_answer_returned(wire):
    replies, (heard,) = ask_library(wire, wire.as_json({"translatedText": "Ella vino."}, connection="close"))
    assert [reply.value for reply in replies] == ["Ella vino."]
    assert (heard.path, heard.query["q"], heard.query["source"], heard.query["target"]) == (
        "/translate",
        "She came.",
        "en",
        "es",
    )


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        ("403 No", "no", "auth"),
        ("500 Ill", "ill", "http-500"),
        ("429 Slow", "slow", "http-429"),
        ("200 OK", "<html>", "bad-json"),
        ("200 OK", '{"translatedText": 7}', "wrong-shape"),
        ("200 OK", "{}", "wrong-shape"),
    ],
)
def test_errors_of_deep_translator_become_known_failures_and_do_not_show_the_key(wire, status, body, code):
    failed, _ = ask_library(wire, wire.raw(body, status, connection="close"))
    assert failed.code == code
    assert SECRET not in "".join((str(failed), repr(failed), *traceback.format_exception(failed)))
    assert failed.__context__ is None
    assert failed.__cause__ is None


class Fake:
    """Fake class of the library; `then` is its translation function."""

    made = 0

    def __init__(self, then):
        self.then = then

    def translate(self, text, **options):
        return self.then(text)


def test_every_call_has_its_own_instance_and_the_number_of_concurrent_calls_is_limited():
    instances, running, most = [], [], []
    lock = threading.Lock()

    def translate(text):
        with lock:
            running.append(text)
            most.append(len(running))
        time.sleep(0.01)
        with lock:
            running.remove(text)
        return text.upper()

    def build(**arguments):
        instances.append(arguments)
        return Fake(translate)

    async def go():
        one = adapter(build)
        return await asyncio.gather(*(one.answer([Translate(f"text {n}", "en", "es")]) for n in range(40)))

    replies = asyncio.run(go())
    assert [reply.value for (reply,) in replies] == [f"TEXT {n}" for n in range(40)]
    assert len(instances) == 40
    assert max(most) <= THREADS


def test_hanging_library_call_is_abandoned_at_the_deadline():
    release = threading.Event()

    async def go():
        began = time.monotonic()
        with pytest.raises(CallFailed) as caught:
            await adapter(lambda **arguments: Fake(lambda text: release.wait(10)), timeout_s=0.1).answer([ASK])
        return caught.value.code, time.monotonic() - began

    code, waited_s = asyncio.run(go())
    release.set()
    assert code == "timeout"
    assert waited_s < 2


def test_text_above_the_length_limit_of_the_translation_service_is_not_sent():
    (reply,) = asyncio.run(
        adapter(None, translator="my-memory", secret=None).answer([Translate("a" * 500, "en", "es")])
    )
    assert reply.failure.code == "unsupported"


def test_a_secret_is_split_into_the_arguments_that_the_librarys_class_expects():
    seen = {}

    def build(**arguments):
        seen.update(arguments)
        return Fake(str.upper)

    asyncio.run(adapter(build, translator="baidu", secret="my-id:my:key").answer([ASK]))
    assert seen == {"source": "en", "target": "spa", "appid": "my-id", "appkey": "my:key"}


@pytest.mark.parametrize(("translator", "secret"), [("libre", None), ("baidu", "only-one"), ("baidu", "one:")])
def test_a_missing_or_incomplete_secret_is_refused_before_any_call(translator, secret):
    with pytest.raises(SpecificationError) as caught:
        adapter(None, translator=translator, secret=secret)
    assert caught.value.field == "secret"


@pytest.mark.parametrize("translator", sorted(set(TRANSLATORS) - {"microsoft"}))  # its constructor makes a network call
def test_every_offered_class_can_be_constructed_with_the_arguments_that_we_pass(translator):
    secret = ":".join(TRANSLATORS[translator].keys) or None
    made = adapter(None, translator=translator, secret=secret)
    instance = made._build(**made._client_arguments(ASK))
    assert isinstance(instance, getattr(deep_translator, TRANSLATORS[translator].name))
    assert callable(instance.translate)


def test_every_translator_class_of_the_library_is_offered_or_excluded_by_name():
    names = {name.removesuffix("Translator") for name in deep_translator.__all__ if name.endswith("Translator")}
    told = {entry.name.removesuffix("Translator") for entry in TRANSLATORS.values()}
    told |= {"".join(part.capitalize() for part in name.split("-")) for name in UNSUPPORTED_TRANSLATORS} | {"ChatGpt"}
    assert names <= told


@pytest.mark.parametrize("translator", sorted(UNSUPPORTED_TRANSLATORS))
def test_a_translator_class_that_is_no_longer_offered_is_refused_with_its_reason(translator):
    with pytest.raises(SpecificationError, match="not offered"):
        DeepTranslatorSettings(translator=translator)


def test_every_error_of_the_library_has_a_known_failure_code():
    assert {code for code, _ in ERRORS.values()} <= {*CODES, "http-429", "http-500"}


def test_scraped_translator_is_refused_unless_the_operator_allows_scraping():
    target = Target("T", Kind.TRANSLATOR, "deep-translator", "", {"translator": "google"})
    with pytest.raises(CallFailed, match="operator"):
        connect(target, Egress())
    assert connect(target, Egress(scraping=True)).reproducible is False
