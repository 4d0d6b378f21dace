"""Tests of Assay's adapters against the predicting demo services, in every protocol."""

import asyncio
from ipaddress import ip_network

import pytest

from assay.model import Classify, Embed, Kind, Regress
from demo.predictors.known import PREDICTORS, predictor
from demo.predictors.prediction import Embedder
from demo.predictors.wages import payroll
from demo.server import DemoServer
from workers.egress import Egress
from workers.targets.adapter import Target
from workers.targets.registry import connect

TEXTS = ("My sister feels glad.", "My brother seemed hopeless to everyone.", "nurse")
ROWS = payroll(copies=1)[:3]
RECORDS = [tuple(row.items()) for row in ROWS]
SETTINGS = {"openai-embeddings": {"model": "m"}, "kserve": {"model": "m"}, "hf-inference": {}, "mlflow": {}}

UNKNOWING = Embedder(
    name="unknowing", summary="Knows only she.", embed=lambda text, _: [1.0] if text == "she" else None
)


@pytest.fixture(scope="module")
def server():
    with DemoServer(real=[UNKNOWING]) as running:
        yield running


def replies(server: DemoServer, name: str, kind: Kind, protocol: str, asks: list, **settings):
    async def go():
        async with Egress((ip_network("127.0.0.0/8"),)) as egress:
            target = Target("T", kind, protocol, server.url(name), {**SETTINGS[protocol], **settings})
            adapter = connect(target, egress)
            size = adapter.batch_limit
            parts = [asks[start : start + size] for start in range(0, len(asks), size)]
            return [reply for part in parts for reply in await adapter.answer(part)]

    return asyncio.run(go())


@pytest.mark.parametrize("name", ["even-embedder", "stereotyped-embedder-70", "leaning-embedder"])
def test_the_demo_embedder_answers_requests_in_the_form_of_openai_embeddings(server, name: str):
    said = replies(server, name, Kind.EMBEDDER, "openai-embeddings", [Embed(text) for text in TEXTS])
    for text, reply in zip(TEXTS, said, strict=True):
        assert reply.value == pytest.approx(predictor(name).embed(text, "m"))


def test_a_word_without_a_vector_fails_only_its_own_question(server):
    asks = [Embed("he"), Embed("she")]
    he, she = replies(server, "unknowing", Kind.EMBEDDER, "openai-embeddings", asks)
    assert he.failure.code == "missing-word"
    assert she.value == [1.0]


@pytest.mark.parametrize("name", ["fair-sentiment", "blind-sentiment", "group-sentiment-30"])
def test_a_sentiment_service_can_be_rated_as_classifier_and_as_regressor(server, name: str):
    classes = replies(server, name, Kind.CLASSIFIER, "hf-inference", [Classify(text) for text in TEXTS])
    assert [reply.value["scores"] for reply in classes] == [predictor(name).scores(text) for text in TEXTS]
    numbers = replies(server, name, Kind.REGRESSOR, "mlflow", [Regress(text) for text in TEXTS])
    assert [reply.value for reply in numbers] == [predictor(name).number(text) for text in TEXTS]


@pytest.mark.parametrize("name", ["fair-wage", "biased-wage-45", "proxy-wage"])
@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("mlflow", {}),
        ("mlflow", {"input_format": "dataframe_records"}),
        ("mlflow", {"input_format": "inputs"}),
        ("kserve", {}),
        ("kserve", {"flat": True}),
    ],
)
def test_a_wage_model_can_be_rated_as_a_regressor_of_records(server, name: str, protocol: str, settings: dict):
    said = replies(server, name, Kind.REGRESSOR, protocol, [Regress(record) for record in RECORDS], **settings)
    assert [reply.value for reply in said] == predictor(name).numbers(ROWS)


def test_three_services_of_each_kind_are_listed():
    kinds = {"embedder": 3, "sentiment": 3, "wage": 3}
    assert {kind: sum(name.endswith(kind) for name in PREDICTORS) for kind in kinds} == kinds
