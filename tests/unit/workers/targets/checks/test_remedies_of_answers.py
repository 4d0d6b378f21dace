"""Probes of services with unexpected answers: the error quotes the answer or names the setting that reads it.

Row 115 of docs/reliability.md: ffe18d3c read the declared labels 1 and 2 as nothing, or refused them.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import SpecificationError
from assay.model import Kind
from cli.request.rating_options import RatingOptions
from cli.request.request import read_request
from tests.support.json_server import json_server
from tests.support.scripted_server import Answer, scripted_server
from workers.egress import Egress
from workers.probe import ProbeResult, probe
from workers.targets.adapter import Target
from workers.targets.registry import read_target

CUSTOM = {"body": {"q": "{text}"}, "samples": ["A text."]}


def probed(wire: Any, kind: Kind, protocol: str, settings: dict[str, Any], answer: Any) -> ProbeResult:
    async def go(url: str) -> ProbeResult:
        async with Egress(wire.loopback) as egress:
            return await probe(Target("t", kind, protocol, url, settings), egress)

    with json_server(lambda document: answer) as url:
        return asyncio.run(go(url))


@pytest.mark.parametrize(
    ("text", "number", "read"),
    [
        ("35.7 %", "decimal-point", "35.7"),
        ("1.234,5", "decimal-comma", "1234.5"),
        ("1 234,5 €", "decimal-comma", "1234.5"),
        ("$1,200.50", "decimal-point", "1200.5"),
    ],
)
@pytest.mark.parametrize(
    ("protocol", "settings", "wrap"),
    [
        ("custom", {**CUSTOM, "output": "score"}, lambda text: {"score": text}),
        ("mlflow", {"input_format": "instances"}, lambda text: {"predictions": [text]}),
    ],
)
def test_a_suggested_number_format_reads_the_number_sent_as_text(wire, protocol, settings, wrap, text, number, read):
    wrong = probed(wire, Kind.REGRESSOR, protocol, settings, wrap(text))
    assert wrong.code == "wrong-shape"
    assert f'"{text}"' in wrong.cause
    assert f'settings.number = "{number}"' in wrong.remedy
    mended = probed(wire, Kind.REGRESSOR, protocol, {**settings, "number": number}, wrap(text))
    assert (mended.code, mended.reading) == (None, read)


def test_the_remedy_for_a_number_sent_as_text_suggests_its_field_and_its_format(wire):
    wrong = probed(wire, Kind.REGRESSOR, "custom", CUSTOM, {"id": "x", "score": "35.7 %"})
    assert 'settings.output to "score"' in wrong.remedy
    assert 'settings.number = "decimal-point"' in wrong.remedy


@pytest.mark.parametrize("text", ["about 30", "between 3 and 5", "twelve"])
def test_an_answer_without_a_single_number_is_quoted_in_the_error(wire, text):
    wrong = probed(wire, Kind.REGRESSOR, "custom", {**CUSTOM, "output": "score"}, {"score": text})
    assert f'"{text}"' in wrong.cause


@pytest.mark.parametrize(
    ("labels", "answer"), [([1, 2], 1), (["1", "2"], 2), ([1, -1], -1), ([True, False], False), (["yes", "no"], 1)]
)
def test_declared_labels_of_any_json_type_are_recognised_by_their_value(wire, labels, answer):
    read = probed(wire, Kind.CLASSIFIER, "custom", {**CUSTOM, "labels": labels, "output": "y"}, {"y": answer})
    assert (read.code, read.cause) == (None, "")


def test_an_undeclared_label_is_quoted_with_the_setting_in_which_to_declare_it(wire):
    wrong = probed(wire, Kind.CLASSIFIER, "custom", {**CUSTOM, "labels": ["1", "2"], "output": "y"}, {"y": 0})
    assert "gave 0" in wrong.cause
    assert "settings.labels" in wrong.remedy


@pytest.mark.parametrize(
    ("protocol", "settings", "setting"),
    [
        ("hf-inference", {"model": "m", "labels": ["a", "b", "c"]}, "settings.top_k"),
        ("custom", {**CUSTOM, "labels": ["a", "b", "c"]}, "settings.output"),
    ],
)
def test_an_answer_with_the_score_of_only_the_top_label_names_the_setting_that_helps(wire, protocol, settings, setting):
    answer = [{"label": "a", "score": 0.9}]
    wrong = probed(wire, Kind.CLASSIFIER, protocol, settings, answer)
    assert "the top label alone" in wrong.cause
    assert setting in wrong.remedy
    mended = probed(wire, Kind.CLASSIFIER, protocol, {**settings, "labels": ["a", "b"]}, answer)
    assert mended.code is None


EVENTS = b'data: {"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("refuses", [True, False])
def test_an_openai_server_that_only_streams_gets_the_advice_to_use_the_custom_protocol(wire, refuses):
    def answer(request: Any) -> Any:
        if refuses and not request.json.get("stream"):
            return Answer(b'{"error": {"message": "stream must be true"}}', status=400)
        return Answer(EVENTS, headers={"Content-Type": "text/event-stream"})

    async def go(url: str, protocol: str, settings: dict[str, Any]) -> ProbeResult:
        async with Egress(wire.loopback) as egress:
            target = Target("t", Kind.CLASSIFIER, protocol, url, {"decision": {"name": "hiring"}, **settings})
            return await probe(target, egress)

    page = (Path(__file__).resolve().parents[5] / "docs" / "targets.md").read_text("utf-8")
    example = page.split("### A server that only streams", 1)[1].split("```json", 1)[1].split("```", 1)[0]
    documented = json.loads(example)["settings"]
    with scripted_server(answer, []) as url:
        wrong = asyncio.run(go(url, "openai-chat", {"model": "m"}))
        mended = asyncio.run(go(url, "custom", documented))
    assert "A server that only streams" in wrong.remedy
    assert mended.code is None


def test_an_experiment_about_records_without_rows_is_refused_with_the_advice_to_use_upload(tmp_path: Path):
    file = tmp_path / "service.json"
    target = {
        "kind": "regressor",
        "protocol": "custom",
        "base_url": "http://127.0.0.1:1",
        "settings": {"body": "{row}"},
    }
    records = {"column": "sex", "values": ["f", "m"]}
    file.write_text(json.dumps({"target": target, "experiment": {"method": "alternation", "records": records}}))
    with pytest.raises(SpecificationError, match="--upload FILE"):
        read_request(RatingOptions(file=file))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], "gender"),
        (["age"], "age"),
        (["marital status"], "marital status"),
        (["gender", "race"], ["gender", "race"]),
        (['["gender", "race"]'], ["gender", "race"]),
    ],
)
def test_several_attribute_options_become_a_list_in_the_request(given, expected):
    options = RatingOptions(protocol="custom", kind="classifier", url="http://127.0.0.1:1", attribute=given)
    assert read_request(options)["experiment"]["attribute"] == expected


def test_null_in_a_setting_is_accepted_in_json_and_explained_for_toml():
    options = RatingOptions(protocol="openai-chat", url="http://127.0.0.1:1", settings=['decision={"tokens": null}'])
    assert read_request(options)["target"]["settings"] == {"decision": {"tokens": None}}
    options = RatingOptions(protocol="openai-chat", url="http://127.0.0.1:1", settings=["decision={tokens=null}"])
    with pytest.raises(SpecificationError, match="TOML has no null; write JSON"):
        read_request(options)


def test_an_empty_system_prompt_is_refused_with_a_plain_message():
    settings = {"model": "m", "decision": {"name": "hiring", "system": ""}}
    described = {
        "kind": "classifier",
        "protocol": "openai-chat",
        "base_url": "http://127.0.0.1:1",
        "settings": settings,
    }
    with pytest.raises(SpecificationError, match=r"decision\.system: must have at least 1 character"):
        read_target({"name": "t", **described})
