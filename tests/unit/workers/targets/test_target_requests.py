"""Requests of every protocol to translators, and parsing of their answers, over real sockets."""

import asyncio
import json
import traceback
from dataclasses import dataclass, field
from typing import Any

import pytest

from assay.model import Kind, Translate
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.protocols.http.adapter import endpoint
from workers.targets.protocols.openai.chat import unwrap_translation
from workers.targets.registry import connect

SECRET = "sk-do-not-show-1234"
ONE = [Translate("She came.", "en", "es")]
TWO = [*ONE, Translate("He left & “went”.", "en", "es")]


@dataclass(frozen=True)
class Case:
    """Call in one protocol: the expected request, and the answer of the service."""

    protocol: str
    path: str
    answer: Any
    sent: Any
    asks: list[Translate] = field(default_factory=lambda: TWO)
    got: tuple[str, ...] = ("Ella vino.", "Él se fue.")
    settings: dict[str, Any] = field(default_factory=dict)
    secret: str | None = SECRET
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    form: bool = False
    method: str = "POST"
    base: str = ""


GOOGLE = [{"translatedText": "Ella vino."}, {"translatedText": "Él se fue."}]
TEXTS = [ask.text for ask in TWO]

CASES = {
    "libretranslate, one text": Case(
        "libretranslate",
        "/translate",
        {"translatedText": "Ella vino."},
        {"q": "She came.", "source": "en", "target": "es", "format": "text", "api_key": SECRET},
        asks=ONE,
        got=("Ella vino.",),
    ),
    "libretranslate, several texts, no key, a path of its own, another code": Case(
        "libretranslate",
        "/lt/translate",
        {"translatedText": ["Ella vino.", "Él se fue."]},
        {"q": TEXTS, "source": "en", "target": "es-419", "format": "text"},
        settings={"language_codes": {"es": "es-419"}},
        secret=None,
        base="/lt/",
    ),
    "apertium": Case(
        "apertium",
        "/translate",
        {"responseData": {"translatedText": "Ella vino."}, "responseDetails": None, "responseStatus": 200},
        {"langpair": "eng|spa", "q": "She came.", "markUnknown": "no"},
        asks=ONE,
        got=("Ella vino.",),
        secret=None,
        form=True,
    ),
    "deepl": Case(
        "deepl",
        "/v2/translate",
        {"translations": [{"text": "Ella vino."}, {"text": "Él se fue."}]},
        {"text": TEXTS, "source_lang": "EN", "target_lang": "ES", "formality": "less"},
        settings={"formality": "less"},
        headers={"authorization": f"DeepL-Auth-Key {SECRET}"},
    ),
    "deepl into English": Case(
        "deepl",
        "/v2/translate",
        {"translations": [{"text": "She came."}]},
        {"text": ["Ella vino."], "source_lang": "PT", "target_lang": "EN-US"},
        asks=[Translate("Ella vino.", "pt-BR", "en")],
        got=("She came.",),
        base="/v2",
    ),
    "google v2": Case(
        "google",
        "/language/translate/v2",
        {"data": {"translations": GOOGLE}},
        {"q": TEXTS, "source": "en", "target": "es", "format": "text"},
        headers={"x-goog-api-key": SECRET},
    ),
    "google v3": Case(
        "google",
        "/v3/projects/agency-1/locations/global:translateText",
        {"translations": GOOGLE},
        {"contents": TEXTS, "mimeType": "text/plain", "sourceLanguageCode": "en", "targetLanguageCode": "es"},
        settings={"version": "v3", "project": "agency-1"},
        headers={"authorization": f"Bearer {SECRET}"},
    ),
    "azure 3.0": Case(
        "azure",
        "/translate",
        [{"translations": [{"text": text, "to": "zh-Hans"}]} for text in ("她", "他")],
        [{"Text": text} for text in TEXTS],
        asks=[Translate(ask.text, "en", "zh") for ask in TWO],
        got=("她", "他"),
        settings={"region": "westeurope"},
        query={"api-version": "3.0", "from": "en", "to": "zh-Hans"},
        headers={"ocp-apim-subscription-key": SECRET, "ocp-apim-subscription-region": "westeurope"},
    ),
    "azure 2026-06-06": Case(
        "azure",
        "/translate",
        {"value": [{"translations": [{"language": "es", "text": text}]} for text in ("Ella vino.", "Él se fue.")]},
        {"inputs": [{"text": text, "language": "en", "targets": [{"language": "es"}]} for text in TEXTS]},
        settings={"api_version": "2026-06-06"},
        query={"api-version": "2026-06-06"},
        headers={"ocp-apim-subscription-key": SECRET},
    ),
    "custom, form and key in the query": Case(
        "custom",
        "/spa/do",
        {"out": {"said": "Ella vino."}},
        {"texto": "She came.", "par": "eng-spa"},
        asks=ONE,
        got=("Ella vino.",),
        settings={
            "path": "/{target}/do",
            "body": {"texto": "{text}", "par": "{source}-{target}"},
            "encoding": "form",
            "output": "out.said",
            "auth": "query",
            "auth_name": "key",
            "auth_value": "{secret}",
            "language_codes": {"es": "spa"},
            "language_style": "639-3",
        },
        query={"key": SECRET},
        form=True,
    ),
    "custom, a list of texts and key in a header": Case(
        "custom",
        "/v9",
        {"items": [{"t": "Ella vino."}, {"t": "Él se fue."}]},
        {"in": TEXTS, "to": "es", "literal": "{text}", "deep": [{"n": 1, "from": "en!"}]},
        settings={
            "path": "/v9",
            "batch": "array",
            "body": {"in": "{texts}", "to": "{target}", "literal": "{{text}}", "deep": [{"n": 1, "from": "{source}!"}]},
            "output": "items[].t",
            "headers": {"X-Pair": "{source}-{target}"},
            "auth": "header",
        },
        headers={"authorization": f"Bearer {SECRET}", "x-pair": "en-es"},
    ),
    "custom, key in the body": Case(
        "custom",
        "/",
        "Ella vino.",
        {"q": "She came.", "token": f"<{SECRET}>"},
        asks=ONE,
        got=("Ella vino.",),
        settings={
            "path": "/",
            "body": {"q": "{text}"},
            "auth": "body",
            "auth_name": "token",
            "auth_value": "<{secret}>",
        },
    ),
    "custom, a GET that answers plain text": Case(
        "custom",
        "/t/en/es",
        b"Ella vino.\n",
        None,
        asks=[Translate("She & {source} came?", "en", "es")],
        got=("Ella vino.",),
        settings={
            "method": "GET",
            "path": "/t/{source}/{target}",
            "query": {"q": "<{text}>"},
            "response": "text",
        },
        secret=None,
        query={"q": "<She & {source} came?>"},
        method="GET",
    ),
    "a chat model": Case(
        "openai-chat",
        "/v1/chat/completions",
        {"choices": [{"message": {"role": "assistant", "content": "“Ella vino.”"}, "finish_reason": "stop"}]},
        {
            "model": "m-1",
            "messages": [
                {"role": "system", "content": "From English (en) into Spanish (es)."},
                {"role": "user", "content": "She came."},
            ],
            "stream": False,
            "temperature": 0.0,
            "seed": 0,
        },
        asks=ONE,
        got=("Ella vino.",),
        settings={"model": "m-1", "instruction": "From {source} into {target}."},
        headers={"authorization": f"Bearer {SECRET}"},
        base="/v1",
    ),
}


def target(service, case: Case) -> Target:
    return Target(
        "a target",
        Kind.TRANSLATOR,
        case.protocol,
        service.url + case.base,
        case.settings,
        case.secret,
        Limits(timeout_s=5),
    )


def exchange(wire, case: Case, answer: bytes | None = None):
    """Make the case's call; return the replies or the failure, and the received requests."""

    async def go():
        said = answer
        if said is None:
            said = wire.raw(case.answer) if isinstance(case.answer, bytes) else wire.as_json(case.answer)
        async with wire.listening(lambda heard: said) as service, Egress(wire.loopback) as egress:
            adapter = connect(target(service, case), egress)
            try:
                outcome = await adapter.answer(case.asks, idempotency_key="job_1:u1")
            except CallFailed as failed:
                outcome = failed
            return outcome, service.heard

    return asyncio.run(go())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_translator_protocol_sends_the_documented_request_and_reads_the_answer(wire, case):
    replies, (heard,) = exchange(wire, case)
    assert not isinstance(replies, CallFailed), replies
    assert (heard.method, heard.path, heard.query) == (case.method, case.path, case.query)
    if case.sent is not None:
        assert (heard.form if case.form else heard.json) == case.sent
        kind = "application/x-www-form-urlencoded" if case.form else "application/json; charset=utf-8"
        assert heard.headers["content-type"] == kind
    assert {name: heard.headers.get(name) for name in case.headers} == case.headers
    assert heard.headers["idempotency-key"] == "job_1:u1"
    assert tuple(reply.value for reply in replies) == case.got


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("status", ["401 No", "403 No", "429 Slow", "500 Ill", "404 Gone", "302 Away"])
def test_no_failed_call_to_a_translator_shows_the_secret(wire, case, status):
    failed, _ = exchange(wire, case, wire.raw(f"your key {case.secret} is wrong", status))
    shown = "".join((str(failed), repr(failed), *traceback.format_exception(failed)))
    assert isinstance(failed, CallFailed)
    assert SECRET not in shown
    assert SECRET not in repr(target(type("S", (), {"url": "http://127.0.0.1"}), case))


IN_JSON = {name: case for name, case in CASES.items() if not isinstance(case.answer, bytes)}
BATCHES = {name: case for name, case in CASES.items() if len(case.asks) > 1}


def without_last(answer: Any) -> Any:
    """Remove the last translation from an answer, wherever its list is."""
    if isinstance(answer, list):
        return answer[:-1]
    return {key: without_last(value) for key, value in answer.items()}


@pytest.mark.parametrize("case", BATCHES.values(), ids=BATCHES)
def test_response_with_fewer_or_more_answers_than_questions_is_refused(wire, case):
    failed, _ = exchange(wire, case, wire.as_json(without_last(case.answer)))
    assert (failed.code, failed.retriable) == ("wrong-count", False)


@pytest.mark.parametrize("case", IN_JSON.values(), ids=IN_JSON)
@pytest.mark.parametrize("value", [7, None, {"text": "Ella vino."}, [["Ella vino."]]])
def test_an_answer_that_is_no_text_is_refused(wire, case, value):
    answer = json.loads(
        json.dumps(case.answer, ensure_ascii=False)
        .replace('"Ella vino."', json.dumps(value))
        .replace('"“Ella vino.”"', json.dumps(value))
        .replace('"她"', json.dumps(value))
        .replace('"She came."', json.dumps(value))
    )
    outcome, _ = exchange(wire, case, wire.as_json(answer))
    if case.protocol == "openai-chat" and value is None:
        assert outcome[0].failure.code == "declined"
    else:
        assert outcome.code in {"wrong-shape", "wrong-count"}


@pytest.mark.parametrize("case", IN_JSON.values(), ids=IN_JSON)
def test_json_of_another_protocol_and_web_pages_are_refused(wire, case):
    strange, _ = exchange(wire, case, wire.as_json({"error": "no"}))
    page, _ = exchange(wire, case, wire.raw("<html>Welcome</html>", content_type="text/html"))
    assert strange.code == "wrong-shape"
    assert (page.code, page.retriable) == ("garbage", True)
    assert "base_url" in str(page)


def test_emoji_answer_of_libretranslate_means_a_wrong_key(wire):
    failed, _ = exchange(wire, CASES["libretranslate, one text"], wire.as_json({"translatedText": "🦄"}))
    assert (failed.code, failed.retriable) == ("auth", False)


def test_translation_of_an_emoji_may_be_an_emoji(wire):
    case = Case("libretranslate", "/translate", {"translatedText": "🦄"}, None, asks=[Translate("🦄", "en", "es")])
    replies, _ = exchange(wire, case)
    assert replies[0].value == "🦄"


def test_apertium_does_not_send_a_text_whose_end_it_would_drop(wire):
    case = CASES["apertium"]
    long = Case("apertium", "", case.answer, None, asks=[Translate("a" * 41_001, "en", "es")], secret=None)
    replies, heard = exchange(wire, long)
    assert (replies[0].failure.code, heard) == ("unsupported", [])


def test_error_of_apertium_with_status_200_is_a_failure(wire):
    failed, _ = exchange(
        wire, CASES["apertium"], wire.as_json({"responseStatus": 400, "responseData": {"translatedText": "x"}})
    )
    assert failed.code == "wrong-shape"


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"message": {"content": "Ella"}, "finish_reason": "length"}, "cut-short"),
        ({"message": {"content": "No."}, "finish_reason": "content_filter"}, "declined"),
        ({"message": {"content": None, "refusal": "I cannot"}, "finish_reason": "stop"}, "declined"),
    ],
)
def test_a_truncated_or_declined_chat_answer_is_a_failure_of_its_question(wire, choice, code):
    replies, _ = exchange(wire, CASES["a chat model"], wire.as_json({"choices": [choice]}))
    assert replies[0].failure.code == code


@pytest.mark.parametrize(
    ("said", "asked", "text"),
    [
        ("“Ella vino.”", "She came.", "Ella vino."),
        ('"Ella vino."\n', "She came.", "Ella vino."),
        ("```\nElla vino.\n```", "She came.", "Ella vino."),
        ("```text\nElla vino.\n```", "She came.", "Ella vino."),
        ('"Ella" y "él"', "She and he", '"Ella" y "él"'),
        ('"Ella vino."', '"She came."', '"Ella vino."'),
        ("Ella vino.", "She came.", "Ella vino."),
        ('"', "x", '"'),
        ("", "x", ""),
    ],
)
def test_quotation_marks_and_code_fences_around_a_whole_answer_are_removed(said, asked, text):
    assert unwrap_translation(said, asked) == text


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://h", "/translate", "http://h/translate"),
        ("http://h/", "/translate", "http://h/translate"),
        ("http://h/translate", "/translate", "http://h/translate"),
        ("http://h/lt/translate/", "/translate", "http://h/lt/translate"),
        ("https://h/v1", "/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1/chat/completions", "/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/openai/v1/", "/v1/chat/completions", "https://h/openai/v1/chat/completions"),
        ("http://translate", "/translate", "http://translate/translate"),
        ("http://h", "/translate?a=b", "http://h/translate?a=b"),
    ],
)
def test_a_full_endpoint_url_is_accepted_in_place_of_the_base_url(base, path, url):
    assert endpoint(base, path) == url


def test_texts_of_two_language_pairs_cannot_share_a_call(wire):
    case = Case("libretranslate", "", {}, None, asks=[*ONE, Translate("Ella", "es", "en")])
    with pytest.raises(ValueError, match="several pairs"):
        exchange(wire, case)


# ---------------------------------------------------------------------------- languages
SPOKEN = {
    "libretranslate": (
        {},
        [{"/languages": [{"code": "en", "targets": ["en", "es", "zh-Hans"]}, {"code": "es", "targets": ["en"]}]}],
        {("en", "es"), ("en", "zh-Hans"), ("en", "zh"), ("es", "en")},
    ),
    "libretranslate, an old one": (
        {},
        [{"/languages": [{"code": "en"}, {"code": "es"}]}],
        {("en", "es"), ("es", "en")},
    ),
    "apertium": (
        {"language_codes": {"va": "cat_valencia"}},
        [
            {
                "/listPairs": {
                    "responseData": [
                        {"sourceLanguage": "eng", "targetLanguage": "spa"},
                        {"sourceLanguage": "spa", "targetLanguage": "cat_valencia"},
                    ]
                }
            }
        ],
        {("en", "es"), ("es", "va"), ("es", "ca-valencia")},
    ),
    "deepl": (
        {},
        [{"/v2/languages": [{"language": "EN"}, {"language": "ES"}]}, {"/v2/languages": [{"language": "EN-US"}]}],
        {("es", "en"), ("es", "en-US"), ("en", "en-US")},
    ),
    "google": (
        {},
        [{"/language/translate/v2/languages": {"data": {"languages": [{"language": "en"}, {"language": "es"}]}}}],
        {("en", "es"), ("es", "en")},
    ),
    "google, v3": (
        {"version": "v3", "project": "p"},
        [{"/v3/projects/p/locations/global/supportedLanguages": {"languages": [{"languageCode": "en"}]}}],
        set(),
    ),
    "azure": (
        {},
        [{"/languages": {"translation": {"en": {}, "zh-Hans": {}}}}],
        {("en", "zh"), ("en", "zh-Hans"), ("zh", "en"), ("zh-Hans", "en"), ("zh", "zh-Hans"), ("zh-Hans", "zh")},
    ),
}


@pytest.mark.parametrize(("name", "case"), SPOKEN.items(), ids=SPOKEN)
def test_languages_listed_by_a_service_are_converted_to_our_codes(wire, name, case):
    settings, answers, pairs = case
    protocol = name.partition(",")[0]
    remaining = iter(answers)

    def answer(heard):
        ((path, value),) = next(remaining).items()
        return wire.as_json(value) if heard.path == path else wire.raw(status="404 No")

    async def go():
        async with wire.listening(answer) as service, Egress(wire.loopback) as egress:
            return await connect(target(service, Case(protocol, "", None, None, settings=settings)), egress).languages()

    assert asyncio.run(go()) == pairs
