"""Invalid targets are refused when they are posted, with the invalid field."""

import re
import tomllib
from ipaddress import ip_network
from pathlib import Path

import pytest

from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.model import Kind
from workers.egress import AddressRefused
from workers.targets.adapter import Limits, Target
from workers.targets.registry import PROTOCOLS, check_target, protocols, read_target

LOOPBACK = (ip_network("127.0.0.0/8"),)


def fields(protocol="libretranslate", **more):
    return {"name": "T", "kind": "translator", "protocol": protocol, "base_url": "http://127.0.0.1:5000", **more}


def custom(**settings):
    return fields("custom", settings={"body": {"q": "{text}"}, **settings})


def predictor(protocol, kind, **settings):
    return fields(protocol, kind=kind, settings=settings)


GOOD = [
    fields(),
    fields("apertium", settings={"mark_unknown": True}),
    fields("deepl", secret="k"),
    fields("deepl"),  # a saved target may omit its secret, which is stored separately
    fields("google", secret="k", settings={"version": "v3", "project": "p-1"}),
    fields("azure", secret="k", settings={"region": "westeurope", "api_version": "2026-06-06"}),
    fields("openai-chat", settings={"model": "m", "temperature": None, "seed": None}, secret=None),
    fields(limits={"concurrency": 1, "requests_per_second": 0.5, "timeout_s": 0.05}),
    custom(output="a.b[0].c || 'x'"),
    custom(batch="array", body={"q": "{texts}"}, batch_maximum=7),
    custom(body={"q": "{text}", "literal": "{{text}} {unclosed"}),
    {**custom(auth="header"), "secret": "k"},
    predictor("openai-embeddings", "embedder", model="m", encoding_format="base64", dimensions=256),
    predictor("hf-inference", "embedder", model="owner/name-1.5", pooling="mean"),
    predictor("hf-inference", "classifier", task="zero-shot-classification", labels=["a", "b"]),
    predictor("tei", "classifier"),
    predictor("ollama", "embedder", model="all-minilm:l6-v2", samples=["one", "two"]),
    predictor("kserve", "regressor", model="wage", layout="matrix", samples=[{"age": 31, "sex": True, "pay": 1.5}]),
    predictor("mlflow", "classifier", input_format="instances", labels=["no", "yes"]),
    predictor("custom", "classifier", body={"row": "{row}"}),
    predictor("custom", "regressor", body=["{rows}"], batch="array"),
    predictor("custom", "embedder", body="{texts}", batch="array"),
    predictor("openai-chat", "language-model", model="m", top_logprobs=None, choice_tokens=1, writing_stop=["\n"]),
    predictor("openai-completions", "language-model", model="m", echo_max_tokens=1, echo_logprobs=0, seed=None),
    predictor("tgi", "language-model", writing_temperature=0.0),
    predictor("ollama", "language-model", model="m:1b"),
    predictor("hf-inference", "language-model", task="fill-mask", mask="<mask>", word_begins_with_space=True),
    predictor("hf-inference", "language-model", task="text-generation", model="m", seed=None),
    predictor("custom", "language-model", body=["{texts}"], batch="array", answer="log-probability"),
]

BAD = [
    ("protocol", fields("telepathy")),
    ("protocol", {"kind": "translator"}),
    ("kind", fields(kind="oracle")),
    ("kind", fields(kind="embedder")),
    ("base_url", fields(base_url="")),
    ("base_url", fields(base_url=None)),
    ("base_url", fields(base_url="http://10.0.0.1")),
    ("base_url", fields(base_url="ftp://example.org")),
    ("base_url", fields(base_url="http://127.0.0.1/?key=1")),
    ("base_url", fields(base_url="http://127.0.0.1/#a")),
    ("base_url", fields("deep-translator")),
    ("settings", fields(settings=[])),
    ("settings.modle", fields("openai-chat", settings={"model": "m", "modle": "m"})),
    ("settings.model", fields("openai-chat")),
    ("settings.temperature", fields("openai-chat", settings={"model": "m", "temperature": 9})),
    ("settings.instruction", fields("openai-chat", settings={"model": "m", "instruction": "translate"})),
    ("settings.batch_maximum", fields(settings={"batch_maximum": 0})),
    ("settings.language_codes.es", fields(settings={"language_codes": {"es": "e&s"}})),
    ("settings.project", fields("google", settings={"version": "v3"})),
    ("settings.project", fields("google", settings={"version": "v3", "project": "../x"})),
    ("settings.region", fields("azure", settings={"region": "x\r\ny"})),
    ("limits.concurrency", fields(limits={"concurrency": 257})),
    ("limits.timeout_s", fields(limits={"timeout_s": 0.01})),
    ("limits.requests_per_second", fields(limits={"requests_per_second": 0})),
    ("limits.burst", fields(limits={"burst": 1})),
    ("secret", fields("deepl", secret=None)),
    ("secret", fields(secret="two\r\nlines")),
    ("secret", fields(secret="snow☃")),
    ("secret", fields(secret="")),
    ("settings.output", custom(output="a.[")),
    ("settings.output", custom(output="")),
    ("settings.body", custom(body={"q": "{txt}"})),
    ("settings.body", custom(body={"q": "nothing"})),
    ("settings.body", custom(body={"q": "{texts}"})),
    ("settings.body", custom(body={"q": "{text} {secret}"})),
    ("settings.body", custom(batch="array")),
    ("settings.body", custom(method="GET")),
    ("settings.body", custom(body={"q": ["{text}"]}, encoding="form")),
    ("settings.body", custom(body={"q": "{text}", "deep": [[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]})),
    ("settings.batch", custom(batch="array", encoding="form", body={"q": "{texts}"})),
    ("settings.path", custom(path="no-slash")),
    ("settings.path", custom(path="/a?b=c")),
    ("settings.path", custom(path="/a b")),
    ("settings.path", custom(path="/{who}")),
    ("settings.query", custom(query={"q": "{who}"})),
    ("settings.headers", custom(headers={"X-A": "{text}"})),
    ("settings.headers.Authorization", custom(headers={"Authorization": "Bearer sk-1"})),
    ("settings.headers.X-Api-Key", custom(headers={"X-Api-Key": "sk-1"})),
    ("settings.headers.Host", custom(headers={"Host": "inside"})),
    ("settings.headers.Accept-Encoding", custom(headers={"Accept-Encoding": "gzip"})),
    ("settings.headers.X A", custom(headers={"X A": "1"})),
    ("settings.headers.X-A", custom(headers={"X-A": "1\r\nHost: inside"})),
    ("settings.auth_value", custom(auth="header", auth_value="Bearer")),
    ("settings.auth_value", custom(auth="header", auth_value="Bearer {key}")),
    ("settings.auth_name", custom(auth="header", auth_name="Host")),
    ("settings.auth", custom(auth="body", body=["{text}"])),
    ("settings.retriable_statuses.0", custom(retriable_statuses=[200])),
    ("kind", predictor("openai-embeddings", "classifier", model="m")),
    ("settings.decision", predictor("tgi", "classifier")),
    ("kind", predictor("openai-completions", "translator", model="m")),
    ("settings.task", predictor("hf-inference", "language-model")),
    ("settings.task", predictor("hf-inference", "classifier", task="fill-mask")),
    ("settings.mask", predictor("hf-inference", "language-model", task="fill-mask", mask=" ")),
    ("settings.model", predictor("openai-completions", "language-model")),
    ("settings.echo_max_tokens", predictor("openai-completions", "language-model", model="m", echo_max_tokens=2)),
    ("settings.top_logprobs", predictor("openai-chat", "language-model", model="m", top_logprobs=0)),
    ("settings.writing_stop", predictor("tgi", "language-model", writing_stop=["a"] * 5)),
    ("settings.writing_temperature", predictor("tgi", "language-model", writing_temperature=2.5)),
    ("settings.answer", predictor("custom", "language-model", body="{text}", answer="letter")),
    ("settings.body", predictor("custom", "language-model", body="{row}")),
    ("settings.decision", predictor("ollama", "regressor", model="m")),
    ("kind", predictor("hf-inference", "translator", model="m")),
    ("settings.model", predictor("openai-embeddings", "embedder")),
    ("settings.model", predictor("hf-inference", "embedder", model="../x")),
    ("settings.model", predictor("kserve", "regressor", model="a/b")),
    ("settings.version", predictor("kserve", "regressor", model="a", version="../1")),
    ("settings.labels", predictor("tei", "classifier", labels=["only"])),
    ("settings.labels", predictor("tei", "classifier", labels=["a", "a"])),
    ("settings.labels", predictor("hf-inference", "classifier", task="zero-shot-classification")),
    ("settings.hypothesis_template", predictor("hf-inference", "classifier", hypothesis_template="It is.")),
    ("settings.batch_maximum", predictor("mlflow", "regressor", batch_maximum=0)),
    ("settings.input_format", predictor("mlflow", "regressor", input_format="csv")),
    ("settings.samples", predictor("ollama", "embedder", model="m", samples=[{"age": 31}])),
    ("settings.samples", predictor("custom", "embedder", body="{text}", samples=[{"age": 31}])),
    ("settings.body", predictor("custom", "embedder", body="{row}")),
    ("settings.body", predictor("custom", "classifier", body={"q": "{text}", "from": "{source}"})),
    ("settings.body", predictor("custom", "classifier", body={"q": "{text}", "r": "{row}"})),
    ("settings.body", predictor("custom", "classifier", body={"q": "a {row}"})),
    ("settings.body", predictor("custom", "classifier", body={"q": "{rows}"})),
    ("settings.auth", {**custom(), "secret": "k"}),
    ("settings.auth", {**custom(auth="header"), "secret": None}),
]


@pytest.mark.parametrize("target", GOOD)
def test_valid_descriptions_of_targets_are_accepted(target):
    check_target(target, LOOPBACK)


@pytest.mark.parametrize(("field", "target"), BAD)
def test_an_invalid_description_of_a_target_is_refused_naming_the_field(field, target):
    with pytest.raises(SpecificationError) as caught:
        check_target(target, LOOPBACK, scraping=True)
    assert caught.value.field == field


RESOLVED = ["/a/../b", "/a/%2e%2E/b", "/a/.%2e", "/./b", "/a/..%2fb", "/a%2F..%2Fb", "/a/..%5cb", "/a/..\\b"]


@pytest.mark.parametrize("path", RESOLVED)
def test_an_address_that_servers_may_resolve_to_another_is_refused(path):
    with pytest.raises(SpecificationError, match="write the path it leads to") as caught:
        check_target(fields(base_url=f"http://127.0.0.1:5000{path}"), LOOPBACK)
    assert caught.value.field == "base_url"


@pytest.mark.parametrize("path", ["/v1.0/..b/.c", "/a...b/...", "/%20/%C3%A9", "/a//b/", "/.well-known/x"])
def test_an_address_with_dots_or_encoded_characters_in_its_names_is_accepted(path):
    check_target(fields(base_url=f"http://127.0.0.1:5000{path}"), LOOPBACK)


def test_unknown_protocol_is_refused_with_the_known_protocols():
    with pytest.raises(UnknownName, match="libretranslate"):
        check_target(fields("telepathy"), LOOPBACK)


def test_internal_address_raises_address_refused():
    with pytest.raises(AddressRefused, match="ASSAY_EGRESS_ALLOW"):
        check_target(fields(), ())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pth": "/x"}, "did you mean 'path'?"),
        ({"body": "{text"}, "settings.body: must be an object"),
        ({"auth": "bearr"}, "known: none, bearer, basic"),
        ({"auth": {"type": "sigv4"}}, "no type is called 'sigv4'; did you mean 'aws-sigv4'?"),
    ],
)
def test_an_invalid_setting_is_explained_in_plain_words(settings, said):
    with pytest.raises(SpecificationError) as caught:
        check_target(custom(**settings) | {"secret": "a-key-of-tests"}, LOOPBACK)
    assert said in str(caught.value)


def test_a_message_does_not_repeat_a_secret_written_into_the_settings():
    with pytest.raises(SpecificationError) as caught:
        check_target(fields("openai-chat", settings={"model": {"key": "sk-do-not-show"}}), LOOPBACK)
    assert "sk-do-not-show" not in str(caught.value)


def test_a_target_is_read_with_its_defaults_and_hides_its_secret():
    target = read_target(fields() | {"secret": "sk-do-not-show"})
    assert target == Target(
        "T", Kind.TRANSLATOR, "libretranslate", "http://127.0.0.1:5000", {}, "sk-do-not-show", Limits()
    )
    assert "sk-do-not-show" not in repr(target)


def test_call_limits_of_a_target_are_also_validated_when_python_code_constructs_them():
    with pytest.raises(OutOfBounds):
        Limits(timeout_s=0)


@pytest.mark.slow
def test_every_protocol_is_listed_with_a_documented_schema():
    told = {each.name: each for each in protocols()}
    assert [each.protocol for each in PROTOCOLS] == list(told)[: len(PROTOCOLS)]
    for info in told.values():
        schema = info.settings_schema()
        assert schema["additionalProperties"] is False
        assert all("description" in field for field in schema["properties"].values()), info.name
        assert info.summary
        assert info.kinds


def test_the_only_required_settings_of_protocols_name_a_model_or_another_resource():
    needed = {info.name: info.settings_schema().get("required", []) for info in protocols()}
    assert {name: names for name, names in needed.items() if names} == {
        "openai-chat": ["model"],
        "openai-completions": ["model"],
        "openai-embeddings": ["model"],
        "openai-images": ["model"],
        "ollama": ["model"],
        "kserve": ["model"],
        "uploaded": ["upload"],
        "chain": ["links"],
        "anthropic": ["model"],
        "azure-openai": ["deployment"],
        "bedrock": ["model"],
        "cohere": ["model"],
        "gemini": ["model"],
        "hf-providers": ["model"],
        "mistral": ["model"],
        "sagemaker": ["endpoint"],
        "triton": ["model"],
        "vertex": ["project", "location", "model"],
    }


def test_scraped_translators_are_offered_only_where_the_operator_allows_them():
    target = {"kind": "translator", "protocol": "deep-translator", "settings": {"translator": "google"}}
    check_target(target, (), scraping=True)
    with pytest.raises(SpecificationError, match="operator") as caught:
        check_target(target, ())
    assert caught.value.field == "protocol"


PAGE = Path(__file__).resolve().parents[4] / "docs" / "targets.md"
EXAMPLES = [
    tomllib.loads(block)["target"] for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("target", EXAMPLES, ids=lambda target: target["name"])
def test_every_example_of_the_documentation_is_accepted(target):
    check_target(target, LOOPBACK)


def test_the_documentation_shows_every_protocol_with_its_kinds():
    lines = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    columns = [cell.strip() for cell in lines[0]]
    shown = {
        row[0].strip(" `"): {columns[at] for at, cell in enumerate(row) if cell.strip() == "✓"}
        for row in lines
        if len(row) == len(columns)
    }
    for one in protocols():
        assert shown[one.name] == {kind.value for kind in one.kinds}, one.name
