"""Every preset against a server that answers as the provider's public reference says, errors and limits included."""

import asyncio
import json
from dataclasses import MISSING, dataclass, field, fields
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from assay.errors import SpecificationError
from assay.model import Choose, Classify, Embed, Kind, Regress, Translate, Write
from tests.support.scripted_server import Answer, scripted_server
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.presets.preset import presets
from workers.targets.registry import check_target, connect

LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "sk-provider-key-20261123"
AWS_SECRET = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TRANSLATE, CHOOSE, WRITE = Translate("She came.", "en", "es"), Choose("Who?", ("a man", "a woman")), Write("Tell.", 7)
KINDS = {
    Translate: Kind.TRANSLATOR,
    Classify: Kind.CLASSIFIER,
    Regress: Kind.REGRESSOR,
    Embed: Kind.EMBEDDER,
    Choose: Kind.LANGUAGE_MODEL,
    Write: Kind.LANGUAGE_MODEL,
}


def aws(service):
    return {"type": "aws-sigv4", "service": service, "region": "eu-west-1"}


def ask(answer, preset, asks, settings, secret=SECRET, heard=None):
    kind = KINDS[type(asks[0])]
    with scripted_server(answer, heard) as url:
        made = json.loads(json.dumps(settings).replace("URL", url))
        check_target({"kind": kind, "protocol": preset, "base_url": url, "settings": made, "secret": secret}, LOOPBACK)

        async def go():
            async with Egress(LOOPBACK) as egress:
                target = Target("t", kind, preset, url, made, secret, Limits(timeout_s=5))
                return await connect(target, egress).answer(asks)

        return asyncio.run(go())


def values(replies):
    return [reply.value if reply.failure is None else reply.failure.code for reply in replies]


@dataclass(frozen=True)
class Provider:
    """A chat provider: the formats of its requests, answers and errors."""

    settings: dict[str, Any]
    path: str
    answer: Any
    """Function of a text and the provider's finish reason; returns the JSON of the response."""
    system: Any
    """Function of a request's JSON; returns the instruction to translate."""
    user: Any
    """Function of a request's JSON; returns the user's text."""
    limits: Any
    """Function of a request's JSON; returns the maximum of tokens, the temperature and the stop sequences."""
    words: tuple[str, str, str]
    """The provider's finish reasons of a complete, a cut and a refused text."""
    auth: Any = lambda headers: headers["authorization"] == f"Bearer {SECRET}"
    busy: tuple[int, Any] = (429, {"message": "Too many requests"})
    wrong_key: tuple[int, Any] = (401, {"message": "Unauthorized"})
    secret: str = SECRET
    query: str = ""
    sent: dict[str, str] = field(default_factory=dict)


def content(text, why):
    return {"role": "assistant", "content": [{"type": "text", "text": text}], "stop_reason": why}


def gemini(text, why):
    parts = [{"text": "Let me think.", "thought": True}, {"text": text}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": why, "index": 0}]}


def choices(text, why):
    return {"choices": [{"index": 0, "finish_reason": why, "message": {"role": "assistant", "content": text}}]}


def signed(headers):
    scope = "Credential=AKIDEXAMPLE/" in headers["authorization"] and "/eu-west-1/bedrock/aws4_request" in str(headers)
    return headers["authorization"].startswith("AWS4-HMAC-SHA256 ") and scope


GOOGLE_ERROR = {"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}
GOOGLE_KEY = {
    "error": {
        "code": 400,
        "message": "API key not valid.",
        "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}],
    }
}
MESSAGES = {"system": lambda body: body["messages"][0]["content"], "user": lambda body: body["messages"][-1]["content"]}

PROVIDERS = {
    "anthropic": Provider(
        {"model": "claude-sonnet-4-5"},
        "/v1/messages",
        content,
        lambda body: body["system"],
        lambda body: body["messages"][0]["content"],
        lambda body: (body["max_tokens"], body["temperature"], body.get("stop_sequences")),
        ("end_turn", "max_tokens", "refusal"),
        lambda headers: headers["x-api-key"] == SECRET and headers["anthropic-version"] == "2023-06-01",
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        (401, {"type": "error", "error": {"type": "authentication_error", "message": f"invalid x-api-key {SECRET}"}}),
    ),
    "gemini": Provider(
        {"model": "gemini-2.5-flash"},
        "/v1beta/models/gemini-2.5-flash:generateContent",
        gemini,
        lambda body: body["systemInstruction"]["parts"][0]["text"],
        lambda body: body["contents"][0]["parts"][0]["text"],
        lambda body: tuple(
            body["generationConfig"].get(name) for name in ("maxOutputTokens", "temperature", "stopSequences")
        ),
        ("STOP", "MAX_TOKENS", "SAFETY"),
        lambda headers: headers["x-goog-api-key"] == SECRET,
        (429, GOOGLE_ERROR),
        (400, GOOGLE_KEY),
    ),
    "bedrock": Provider(
        {"model": "amazon.nova-lite-v1:0", "auth": aws("bedrock")},
        "/model/amazon.nova-lite-v1%3A0/converse",
        lambda text, why: {
            "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
            "stopReason": why,
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        },
        lambda body: body["system"][0]["text"],
        lambda body: body["messages"][0]["content"][0]["text"],
        lambda body: tuple(body["inferenceConfig"].get(name) for name in ("maxTokens", "temperature", "stopSequences")),
        ("end_turn", "max_tokens", "guardrail_intervened"),
        signed,
        (429, {"message": "Too many requests, please wait before trying again."}),
        (403, {"message": "The security token included in the request is invalid."}),
        secret=AWS_SECRET,
    ),
    "cohere": Provider(
        {"model": "command-a-03-2025"},
        "/v2/chat",
        lambda text, why: {"id": "1", "finish_reason": why, "message": content(text, None)},
        **MESSAGES,
        limits=lambda body: (body["max_tokens"], body["temperature"], body.get("stop_sequences")),
        words=("COMPLETE", "MAX_TOKENS", "ERROR_TOXIC"),
        wrong_key=(401, {"message": "invalid api token"}),
    ),
    "mistral": Provider(
        {"model": "mistral-small-latest"},
        "/v1/chat/completions",
        choices,
        **MESSAGES,
        limits=lambda body: (body["max_tokens"], body["temperature"], body.get("stop")),
        words=("stop", "length", "error"),
        wrong_key=(401, {"detail": "Unauthorized"}),
    ),
    "azure-openai": Provider(
        {"deployment": "gpt-4o"},
        "/openai/deployments/gpt-4o/chat/completions",
        choices,
        **MESSAGES,
        limits=lambda body: (body["max_tokens"], body["temperature"], body.get("stop")),
        words=("stop", "length", "content_filter"),
        auth=lambda headers: headers["api-key"] == SECRET,
        busy=(429, {"error": {"code": "429", "message": "Requests have exceeded the call rate limit."}}),
        wrong_key=(401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}}),
        query="api-version=2024-10-21",
    ),
    "hf-providers": Provider(
        {"model": "openai/gpt-oss-120b:cerebras"},
        "/v1/chat/completions",
        choices,
        **MESSAGES,
        limits=lambda body: (body.get("max_tokens", 4096), body["temperature"], body.get("stop")),
        words=("stop", "length", "content_filter"),
        wrong_key=(401, {"error": "Invalid credentials in Authorization header"}),
    ),
}
every = pytest.mark.parametrize("name", PROVIDERS)


def chat(name, said, asks, heard=None, **more):
    one = PROVIDERS[name]
    return ask(lambda request: said, name, asks, {**one.settings, **more}, one.secret, heard)


@every
def test_a_translation_request_follows_the_reference_and_its_answer_is_read(name):
    one, heard = PROVIDERS[name], []
    said = one.answer("Ella vino.", one.words[0])
    assert values(chat(name, said, [TRANSLATE], heard)) == ["Ella vino."]
    (request,) = heard
    address = urlsplit(request.path)
    assert (address.path, address.query) == (one.path, one.query)
    assert one.auth(request.headers)
    assert "from English (en) into Spanish (es)" in one.system(request.json)
    assert one.user(request.json) == "She came."
    assert one.limits(request.json)[1] == 0


@every
def test_choices_and_written_texts_have_different_request_parameters(name):
    one, heard = PROVIDERS[name], []
    said = one.answer("B", one.words[0])
    assert values(chat(name, said, [CHOOSE], heard)) == [{"choice": 1}]
    assert values(chat(name, said, [WRITE], heard, writing_stop=["END"])) == ["B"]
    choosing, writing = (one.limits(request.json) for request in heard)
    assert choosing == (8, 0, None)
    assert writing == (400, 1, ["END"])
    assert one.user(heard[1].json) == "Tell."


@every
def test_a_truncated_or_refused_answer_is_a_failure_of_its_question(name):
    _, cut, refused = PROVIDERS[name].words
    answer = PROVIDERS[name].answer
    assert values(chat(name, answer("Ella", cut), [TRANSLATE])) == ["cut-short"]
    assert values(chat(name, answer("No.", refused), [TRANSLATE])) == ["declined"]
    assert values(chat(name, answer("No.", refused), [WRITE])) == ["declined"]


@every
def test_a_rate_limited_call_is_retriable_after_the_time_that_the_provider_names(name):
    status, body = PROVIDERS[name].busy
    with pytest.raises(CallFailed) as caught:
        chat(name, Answer(body, status, {"Retry-After": "3"}), [TRANSLATE])
    assert (caught.value.code, caught.value.retriable) == (f"http-{status}", True)
    assert caught.value.retry_after_s == 3


@every
def test_a_wrong_key_fails_the_call_with_the_providers_message_and_without_the_key(name):
    status, body = PROVIDERS[name].wrong_key
    with pytest.raises(CallFailed, match="it said") as caught:
        chat(name, Answer(body, status), [TRANSLATE])
    assert caught.value.code == "auth"
    assert PROVIDERS[name].secret not in str(caught.value)


def test_a_prompt_that_gemini_blocks_is_a_declined_question():
    assert values(chat("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, [TRANSLATE])) == ["declined"]


# ------------------------------------------------------------------------------------------------ embeddings
TEXTS = [Embed("one"), Embed("two")]
EMBEDDERS = {
    "gemini": (
        {"model": "gemini-embedding-001"},
        "/v1beta/models/gemini-embedding-001:batchEmbedContents",
        {
            "requests": [
                {"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}}
                for text in ("one", "two")
            ]
        },
        {"embeddings": [{"values": [1.0, 0.0]}, {"values": [0.0, 1.0]}]},
    ),
    "cohere": (
        {"model": "embed-v4.0"},
        "/v2/embed",
        {"model": "embed-v4.0", "texts": ["one", "two"], "input_type": "classification", "embedding_types": ["float"]},
        {"id": "1", "embeddings": {"float": [[1.0, 0.0], [0.0, 1.0]]}, "texts": ["one", "two"]},
    ),
    "mistral": (
        {"model": "mistral-embed"},
        "/v1/embeddings",
        {"model": "mistral-embed", "input": ["one", "two"]},
        {"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]},
    ),
    "azure-openai": (
        {"deployment": "ada"},
        "/openai/deployments/ada/embeddings?api-version=2024-10-21",
        {"input": ["one", "two"]},
        {"data": [{"index": 0, "embedding": [1.0, 0.0]}, {"index": 1, "embedding": [0.0, 1.0]}]},
    ),
}


@pytest.mark.parametrize("name", EMBEDDERS)
def test_vectors_of_several_texts_are_requested_in_one_call(name):
    settings, path, sent, said = EMBEDDERS[name]
    heard = []
    assert values(ask(lambda one: said, name, TEXTS, settings, heard=heard)) == [[1.0, 0.0], [0.0, 1.0]]
    assert [(one.path, one.json) for one in heard] == [(path, sent)]


# ------------------------------------------------------------------------------------------------ Amazon
AWS_HEADERS = {"Content-Type": "application/x-amz-json-1.1"}


def test_the_request_to_amazon_translate_follows_the_reference():
    heard, said = [], {"TranslatedText": "Ella vino.", "SourceLanguageCode": "en", "TargetLanguageCode": "es"}
    replies = ask(
        lambda one: said, "amazon-translate", [TRANSLATE], {"auth": aws("translate")}, AWS_SECRET, heard=heard
    )
    assert values(replies) == ["Ella vino."]
    (one,) = heard
    assert (one.method, one.path) == ("POST", "/")
    assert one.json == {"Text": "She came.", "SourceLanguageCode": "en", "TargetLanguageCode": "es"}
    assert one.headers["x-amz-target"] == "AWSShineFrontendService_20170701.TranslateText"
    assert one.headers["content-type"] == "application/x-amz-json-1.1"
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-target," in one.headers["authorization"]


AWS_ERRORS = {
    "ThrottlingException": ("http-400", True),
    "TooManyRequestsException": ("http-400", True),
    "UnrecognizedClientException": ("auth", False),
    "InvalidSignatureException": ("auth", False),
    "ExpiredTokenException": ("auth", False),
    "UnsupportedLanguagePairException": ("http-400", False),
}


@pytest.mark.parametrize("name", AWS_ERRORS)
def test_amazons_errors_with_status_400_have_different_codes(name):
    code, retriable = AWS_ERRORS[name]
    said = Answer({"__type": name, "message": "…"}, 400, AWS_HEADERS)
    with pytest.raises(CallFailed) as caught:
        ask(lambda one: said, "amazon-translate", [TRANSLATE], {"auth": aws("translate")}, AWS_SECRET)
    assert (caught.value.code, caught.value.retriable) == (code, retriable)


def test_amazon_comprehend_classifies_a_batch_and_a_failed_text_fails_only_its_own_question():
    scores = {"Positive": 0.9, "Negative": 0.05, "Neutral": 0.04, "Mixed": 0.01}
    said = {
        "ResultList": [{"Index": place, "Sentiment": "POSITIVE", "SentimentScore": scores} for place in (0, 2)],
        "ErrorList": [{"Index": 1, "ErrorCode": "INTERNAL_SERVER_ERROR", "ErrorMessage": "…"}],
    }
    heard, asks = [], [Classify(text) for text in ("good", "…", "fine")]
    replies = ask(lambda one: said, "amazon-comprehend", asks, {"auth": aws("comprehend")}, AWS_SECRET, heard=heard)
    assert [reply.value and reply.value["scores"] for reply in replies] == [scores, None, scores]
    assert replies[1].failure.code == "declined"
    assert heard[0].json == {"TextList": ["good", "…", "fine"], "LanguageCode": "en"}
    assert heard[0].headers["x-amz-target"] == "Comprehend_20171127.BatchDetectSentiment"


def test_a_sagemaker_endpoint_accepts_a_custom_body():
    heard = []
    settings = {"endpoint": "wages-1", "auth": aws("sagemaker")}
    own = {**settings, "body": {"instances": [{"features": "{row}"}]}, "output": "predictions[0].score"}
    asks = [Regress((("age", 31), ("hours", 40)))]
    replies = ask(lambda one: {"predictions": [{"score": 7.5}]}, "sagemaker", asks, own, AWS_SECRET, heard=heard)
    assert values(replies) == [7.5]
    said = [{"label": "POSITIVE", "score": 0.9}, {"label": "NEGATIVE", "score": 0.1}]
    (reply,) = ask(lambda one: said, "sagemaker", [Classify("good")], settings, AWS_SECRET, heard=heard)
    assert reply.value["scores"] == {"POSITIVE": 0.9, "NEGATIVE": 0.1}
    assert {one.path for one in heard} == {"/endpoints/wages-1/invocations"}
    assert [one.json for one in heard] == [{"instances": [{"features": {"age": 31, "hours": 40}}]}, {"inputs": "good"}]


# ------------------------------------------------------------------------------------------------ Google Cloud, Triton
@pytest.fixture(scope="module")
def key_file():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return json.dumps({"client_email": "assay@p.iam.example", "private_key": pem.decode()})


GOOGLE_CLOUD = {
    "vertex": (
        {"project": "p-1", "location": "europe-west4", "model": "gemini-2.5-flash"},
        "/v1/projects/p-1/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent",
        gemini("Ella vino.", "STOP"),
    ),
    "google-translate-v3": (
        {"project": "p-1"},
        "/v3/projects/p-1/locations/global:translateText",
        {"translations": [{"translatedText": "Ella vino."}]},
    ),
}


@pytest.mark.parametrize("name", GOOGLE_CLOUD)
def test_a_service_account_authenticates_calls_to_google_cloud(name, key_file):
    settings, path, said = GOOGLE_CLOUD[name]
    heard = []

    def answer(one):
        return {"access_token": "ya29.token", "expires_in": 3599} if one.path == "/token" else said

    auth = {"type": "gcp-service-account", "token_url": "URL/token"}
    assert values(ask(answer, name, [TRANSLATE], {**settings, "auth": auth}, key_file, heard)) == ["Ella vino."]
    assert [one.path for one in heard] == ["/token", path]
    assert heard[1].headers["authorization"] == "Bearer ya29.token"


def test_triton_answers_a_batch_of_texts():
    heard = []
    said = {"outputs": [{"name": "probabilities", "datatype": "FP32", "shape": [2, 2], "data": [0.9, 0.1, 0.2, 0.8]}]}
    settings = {"model": "sentiment", "labels": ["bad", "good"]}
    replies = ask(lambda one: said, "triton", [Classify("a"), Classify("b")], settings, None, heard)
    assert [reply.value["scores"]["good"] for reply in replies] == [0.1, 0.8]
    assert heard[0].path == "/v2/models/sentiment/infer"
    assert heard[0].json["inputs"][0]["shape"] == [2, 1]


# ------------------------------------------------------------------------------------------------ presets as data
OTHERS = ("amazon-translate", "amazon-comprehend", "sagemaker", "triton")


@pytest.mark.parametrize("name", presets())
def test_every_preset_has_a_test_and_valid_settings_for_each_of_its_kinds(name):
    one = presets()[name]
    assert name in {*PROVIDERS, *EMBEDDERS, *GOOGLE_CLOUD, *OTHERS}
    own = {each.name: "a-name" for each in fields(one.parameters) if each.default is MISSING}
    needed = {"kserve": {"model": "m"}, "openai-chat": {"model": "m"}, "google": {"project": "p"}}.get(one.base, {})
    for kind in one.kinds:
        target = {"kind": kind, "protocol": name, "base_url": one.example, "settings": {**own, **needed}}
        check_target(target, LOOPBACK)


BAD = [
    ("settings.model", "anthropic", {}),
    ("settings.model", "anthropic", {"model": 7}),
    ("settings.max_tokens", "anthropic", {"model": "m", "max_tokens": 0}),
    ("settings.modle", "anthropic", {"model": "m", "modle": "x"}),
    ("settings.labels", "anthropic", {"model": "m", "labels": ["one"]}),
    ("settings.auth", "anthropic", {"model": "m", "auth": "none"}),
]


@pytest.mark.parametrize(("field", "name", "settings"), BAD)
def test_an_invalid_setting_of_a_preset_is_refused_with_its_field(field, name, settings):
    with pytest.raises(SpecificationError) as caught:
        check_target(
            {
                "kind": "translator",
                "protocol": name,
                "base_url": "https://api.example",
                "settings": settings,
                "secret": SECRET,
            },
            LOOPBACK,
        )
    assert caught.value.field == field


def test_a_preset_without_an_address_is_refused_with_an_example():
    with pytest.raises(SpecificationError, match=r"such as https://api\.anthropic\.com"):
        check_target({"kind": "translator", "protocol": "anthropic", "settings": {"model": "m"}}, LOOPBACK)


def test_braces_and_slashes_in_a_parameter_are_sent_as_plain_text():
    heard = []
    said = PROVIDERS["anthropic"].answer("Ella vino.", "end_turn")
    chat("anthropic", said, [TRANSLATE], heard, model="a/{text}")
    assert heard[0].json["model"] == "a/{text}"
    answer = PROVIDERS["bedrock"].answer("Ella vino.", "end_turn")
    chat("bedrock", answer, [TRANSLATE], heard, model="../{text}")
    assert heard[1].path == "/model/..%2F%7Btext%7D/converse"


def test_a_parameter_set_to_null_is_left_out_of_the_request():
    heard = []
    said = PROVIDERS["anthropic"].answer("Ella vino.", "end_turn")
    chat("anthropic", said, [TRANSLATE], heard, temperature=None)
    assert "temperature" not in heard[0].json


def test_a_user_can_replace_the_authentication_of_a_preset():
    heard = []
    answer = PROVIDERS["bedrock"].answer("Ella vino.", "end_turn")
    settings = {"model": "m", "auth": "bearer"}
    assert values(ask(lambda one: answer, "bedrock", [TRANSLATE], settings, heard=heard)) == ["Ella vino."]
    assert heard[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("azure-openai", {"deployment": ".."}),
        ("azure-openai", {"deployment": "."}),
        ("vertex", {"project": "..", "location": "global", "model": "m"}),
        ("sagemaker", {"endpoint": "..", "auth": aws("sagemaker")}),
        ("bedrock", {"model": "..", "auth": aws("bedrock")}),
    ],
)
def test_a_setting_of_dots_does_not_lead_to_another_path_of_the_provider(preset, settings):
    described = {
        "kind": Kind.LANGUAGE_MODEL,
        "protocol": preset,
        "base_url": "http://127.0.0.1:1",
        "settings": settings,
    }
    with pytest.raises(SpecificationError, match="lead to another path"):
        check_target(described | {"secret": AWS_SECRET}, LOOPBACK)
