"""Requests of every protocol to classifiers, regressors and embedders, and parsing of their answers."""

import asyncio
import base64
import json
import re
import struct
import traceback
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from assay.model import Classify, Embed, Kind, Regress, Translate
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.registry import connect

SECRET = "sk-do-not-show-1234"
BEARER = {"authorization": f"Bearer {SECRET}"}

WORDS = [Embed("she"), Embed("“house” & {text}"), Embed("he")]
TEXTS = [word.text for word in WORDS]
VECTORS = [[0.25, -1.5], [1.0, 2.0], [3.0, 4.5]]

SAID = ["A fine day.", "A bad & {row} day."]
CLASSES = [{"label": None, "scores": {"bad": 0.25, "good": 0.75}}, {"label": None, "scores": {"bad": 1.0, "good": 0.0}}]
NAMED = [{"label": "good", "scores": None}, {"label": "bad", "scores": None}]

ROWS = [(("age", 31), ("sex", "female"), ("pay", 12.5)), (("age", 44), ("sex", "male"), ("pay", 9.0))]
RECORDS = [dict(row) for row in ROWS]


def classify(given):
    return [Classify(each) for each in given]


def regress(given):
    return [Regress(each) for each in given]


@dataclass(frozen=True)
class Case:
    """Call in one protocol: the expected request, and the answer of the service."""

    protocol: str
    kind: Kind
    asks: list[Any]
    path: str
    sent: Any
    answer: Any
    got: list[Any]
    settings: dict[str, Any] = field(default_factory=dict)
    secret: str | None = SECRET
    headers: dict[str, str] = field(default_factory=lambda: BEARER)
    query: dict[str, str] = field(default_factory=dict)
    base: str = ""
    method: str = "POST"


def packed(vector):
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def numbered(vectors, order):
    return {"object": "list", "data": [{"object": "embedding", "index": at, "embedding": vectors[at]} for at in order]}


EMBEDDERS = {
    "openai-embeddings, out of order": Case(
        "openai-embeddings",
        Kind.EMBEDDER,
        WORDS,
        "/v1/embeddings",
        {"model": "e-1", "input": TEXTS},
        numbered(VECTORS, (2, 0, 1)),
        VECTORS,
        {"model": "e-1"},
        base="/v1",
    ),
    "openai-embeddings in base64, shortened": Case(
        "openai-embeddings",
        Kind.EMBEDDER,
        WORDS,
        "/v1/embeddings",
        {"model": "e-1", "input": TEXTS, "encoding_format": "base64", "dimensions": 2},
        numbered([packed(vector) for vector in VECTORS], (0, 2, 1)),
        VECTORS,
        {"model": "e-1", "encoding_format": "base64", "dimensions": 2},
    ),
    "openai-embeddings, a model named by the questions": Case(
        "openai-embeddings",
        Kind.EMBEDDER,
        [Embed("she", "e-2")],
        "/v1/embeddings",
        {"model": "e-2", "input": ["she"]},
        numbered(VECTORS, (0,)),
        VECTORS[:1],
        {"model": "e-1"},
    ),
    "hf-inference, one vector": Case(
        "hf-inference",
        Kind.EMBEDDER,
        WORDS[:1],
        "/models/owner/name/pipeline/feature-extraction",
        {"inputs": "she"},
        [[0.25, -1.5]],
        VECTORS[:1],
        {"model": "owner/name", "feature_path": True},
    ),
    "hf-inference, the mean of the vectors of tokens": Case(
        "hf-inference",
        Kind.EMBEDDER,
        WORDS[:1],
        "/models/m",
        {"inputs": "she"},
        [[[0.0, 1.0], [2.0, 2.0]]],
        [[1.0, 1.5]],
        {"model": "m", "pooling": "mean"},
    ),
    "hf-inference, the first token, an endpoint of its own": Case(
        "hf-inference",
        Kind.EMBEDDER,
        WORDS[:1],
        "/ours",
        {"inputs": "she"},
        [[0.0, 1.0], [2.0, 2.0]],
        [[0.0, 1.0]],
        {"pooling": "first"},
        base="/ours",
    ),
    "tei": Case(
        "tei",
        Kind.EMBEDDER,
        WORDS,
        "/embed",
        {"inputs": TEXTS, "normalize": False, "truncate": True},
        VECTORS,
        VECTORS,
        {"normalize": False, "truncate": True},
    ),
    "ollama": Case(
        "ollama",
        Kind.EMBEDDER,
        WORDS,
        "/api/embed",
        {"model": "all-minilm:l6", "input": TEXTS, "truncate": False},
        {"model": "all-minilm:l6", "embeddings": VECTORS, "total_duration": 1},
        VECTORS,
        {"model": "all-minilm:l6"},
    ),
    "kserve": Case(
        "kserve",
        Kind.EMBEDDER,
        WORDS,
        "/v2/models/e/versions/3/infer",
        {"inputs": [{"name": "text", "shape": [3], "datatype": "BYTES", "data": TEXTS}]},
        {"outputs": [{"name": "v", "shape": [3, 2], "datatype": "FP32", "data": [x for v in VECTORS for x in v]}]},
        VECTORS,
        {"model": "e", "version": "3", "input_name": "text", "flat": True},
    ),
    "mlflow": Case(
        "mlflow",
        Kind.EMBEDDER,
        WORDS,
        "/invocations",
        {"inputs": TEXTS},
        {"predictions": VECTORS},
        VECTORS,
        {"input_format": "inputs"},
    ),
    "custom, an array": Case(
        "custom",
        Kind.EMBEDDER,
        WORDS,
        "/vectors",
        {"words": TEXTS, "how": "{text}"},
        {"found": [{"vector": vector} for vector in VECTORS]},
        VECTORS,
        {
            "path": "/vectors",
            "body": {"words": "{texts}", "how": "{{text}}"},
            "batch": "array",
            "output": "found[].vector",
        },
        secret=None,
        headers={},
    ),
    "custom, one text in the query": Case(
        "custom",
        Kind.EMBEDDER,
        WORDS[1:2],
        "/vector",
        None,
        VECTORS[1],
        VECTORS[1:2],
        {
            "path": "/vector",
            "method": "GET",
            "query": {"of": "{text}"},
            "auth": "query",
            "auth_name": "key",
            "auth_value": "{secret}",
        },
        headers={},
        query={"of": TEXTS[1], "key": SECRET},
        method="GET",
    ),
}

SCORED = [[{"label": "good", "score": 0.75}, {"label": "bad", "score": 0.25}]]
COLUMNS = [
    {"name": "age", "shape": [2, 1], "datatype": "INT64", "data": [31, 44]},
    {"name": "sex", "shape": [2, 1], "datatype": "BYTES", "data": ["female", "male"]},
    {"name": "pay", "shape": [2, 1], "datatype": "FP64", "data": [12.5, 9.0]},
]
LABELS = {"labels": ["bad", "good"]}

CLASSIFIERS = {
    "hf-inference": Case(
        "hf-inference",
        Kind.CLASSIFIER,
        classify(SAID[:1]),
        "/models/owner/name",
        {"inputs": SAID[0], "parameters": {"top_k": 100}},
        SCORED,
        CLASSES[:1],
        {"model": "owner/name"},
    ),
    "hf-inference, zero-shot": Case(
        "hf-inference",
        Kind.CLASSIFIER,
        classify(SAID[:1]),
        "/models/m",
        {
            "inputs": SAID[0],
            "parameters": {
                "candidate_labels": ["bad", "good"],
                "multi_label": False,
                "hypothesis_template": "It is {}.",
            },
        },
        {"sequence": SAID[0], "labels": ["good", "bad"], "scores": [0.75, 0.25]},
        CLASSES[:1],
        {"model": "m", "task": "zero-shot-classification", "hypothesis_template": "It is {}.", **LABELS},
    ),
    "tei": Case(
        "tei",
        Kind.CLASSIFIER,
        classify(SAID),
        "/predict",
        {"inputs": [[text] for text in SAID], "raw_scores": False, "truncate": False},
        [SCORED[0], [{"label": "bad", "score": 1.0}, {"label": "good", "score": 0.0}]],
        CLASSES,
    ),
    "kserve, columns, labels and probabilities": Case(
        "kserve",
        Kind.CLASSIFIER,
        classify([ROWS[0], ROWS[1]]),
        "/v2/models/c/infer",
        {"inputs": COLUMNS, "parameters": {"content_type": "pd"}},
        {
            "outputs": [
                {"name": "label", "shape": [2, 1], "datatype": "BYTES", "data": ["good", "bad"]},
                {"name": "p", "shape": [2, 2], "datatype": "FP32", "data": [[0.25, 0.75], [1.0, 0.0]]},
            ]
        },
        [{**scores, **label, "scores": scores["scores"]} for label, scores in zip(NAMED, CLASSES, strict=True)],
        {"model": "c", "content_type": "pd", **LABELS},
    ),
    "kserve, whole numbers are labels": Case(
        "kserve",
        Kind.CLASSIFIER,
        classify(SAID),
        "/v2/models/c/infer",
        {
            "inputs": [{"name": "input-0", "shape": [2, 1], "datatype": "BYTES", "data": SAID}],
            "outputs": [{"name": "y"}],
        },
        {
            "outputs": [
                {"name": "other", "shape": [1], "datatype": "FP32", "data": [0.5]},
                {"name": "y", "shape": [2], "datatype": "INT64", "data": [1, 0]},
            ]
        },
        NAMED,
        {"model": "c", "outputs": ["y"], **LABELS},
    ),
    "mlflow, labels of texts": Case(
        "mlflow",
        Kind.CLASSIFIER,
        classify(SAID),
        "/invocations",
        {"dataframe_split": {"columns": ["review"], "data": [[text] for text in SAID]}},
        {"predictions": ["good", "bad"]},
        NAMED,
        {"text_column": "review"},
    ),
    "mlflow, probabilities of records": Case(
        "mlflow",
        Kind.CLASSIFIER,
        classify(ROWS),
        "/invocations",
        {"dataframe_records": RECORDS},
        {"predictions": [[0.25, 0.75], [1.0, 0.0]]},
        CLASSES,
        {"input_format": "dataframe_records", **LABELS},
    ),
    "mlflow, a table of predictions": Case(
        "mlflow",
        Kind.CLASSIFIER,
        classify(ROWS),
        "/invocations",
        {"dataframe_split": {"columns": ["age", "sex", "pay"], "data": [list(each.values()) for each in RECORDS]}},
        {"predictions": [{"label": "good", "id": 7}, {"label": "bad", "id": 8}]},
        NAMED,
        {"output_column": "label"},
    ),
    "custom, records": Case(
        "custom",
        Kind.CLASSIFIER,
        classify(ROWS),
        "/credit",
        {"people": RECORDS},
        {"answers": [{"label": "good", "scores": {"good": 0.75, "bad": 0.25}}, {"label": "bad", "scores": [1.0, 0.0]}]},
        [
            {"label": "good", "scores": {"bad": 0.25, "good": 0.75}},
            {"label": "bad", "scores": {"bad": 1.0, "good": 0.0}},
        ],
        {"path": "/credit", "body": {"people": "{rows}"}, "batch": "array", "output": "answers", **LABELS},
        secret=None,
        headers={},
    ),
    "custom, a text in, a text out": Case(
        "custom",
        Kind.CLASSIFIER,
        classify(SAID[:1]),
        "/",
        {"t": SAID[0]},
        b"good\n",
        NAMED[:1],
        {"path": "/", "body": {"t": "{text}"}, "response": "text"},
        secret=None,
        headers={},
    ),
}

REGRESSORS = {
    "kserve, a matrix": Case(
        "kserve",
        Kind.REGRESSOR,
        regress([(("age", 31), ("pay", 12.5)), (("age", 44), ("pay", 9))]),
        "/v2/models/r/infer",
        {"inputs": [{"name": "x", "shape": [2, 2], "datatype": "FP32", "data": [31.0, 12.5, 44.0, 9.0]}]},
        {"outputs": [{"name": "y", "shape": [2, 1], "datatype": "FP64", "data": [1.5, -2.0]}]},
        [1.5, -2.0],
        {"model": "r", "layout": "matrix", "input_name": "x"},
    ),
    "mlflow, inputs by columns": Case(
        "mlflow",
        Kind.REGRESSOR,
        regress(ROWS),
        "/invocations",
        {"inputs": {"age": [31, 44], "sex": ["female", "male"], "pay": [12.5, 9.0]}},
        {"predictions": {"wage": [[15.0], [3]]}},
        [15.0, 3.0],
        {"input_format": "inputs"},
    ),
    "mlflow, instances": Case(
        "mlflow",
        Kind.REGRESSOR,
        regress(ROWS),
        "/invocations",
        {"instances": RECORDS},
        {"predictions": [15, 3.25]},
        [15.0, 3.25],
        {"input_format": "instances"},
    ),
    "custom, one record": Case(
        "custom",
        Kind.REGRESSOR,
        regress(ROWS[:1]),
        "/wage",
        {"age": 31, "sex": "female", "pay": 12.5},
        {"wage": {"usd": 17.25}},
        [17.25],
        {"path": "/wage", "body": "{row}", "output": "wage.usd"},
        secret=None,
        headers={},
    ),
    "custom, a bare number": Case(
        "custom",
        Kind.REGRESSOR,
        regress(SAID[:1]),
        "/score",
        {"text": SAID[0]},
        b" -0.5\n",
        [-0.5],
        {"path": "/score", "body": {"text": "{text}"}, "response": "text", "auth": "header", "auth_name": "X-Key"},
        headers={"x-key": f"Bearer {SECRET}"},
    ),
}

CASES = {
    f"{next(iter(case.asks)).asks}: {name}": case
    for some in (EMBEDDERS, CLASSIFIERS, REGRESSORS)
    for name, case in some.items()
}
IN_JSON = {name: case for name, case in CASES.items() if not isinstance(case.answer, bytes)}
BATCHES = {name: case for name, case in IN_JSON.items() if len(case.asks) > 1}


def target(url: str, case: Case) -> Target:
    return Target("T", case.kind, case.protocol, url + case.base, case.settings, case.secret, Limits(timeout_s=5))


def exchange(wire, case: Case, answer: bytes | None = None):
    """Make the case's call; return the replies or the failure, and the received requests."""

    async def go():
        said = answer
        if said is None:
            said = wire.raw(case.answer) if isinstance(case.answer, bytes) else wire.as_json(case.answer)
        async with wire.listening(lambda heard: said) as service, Egress(wire.loopback) as egress:
            try:
                outcome = await connect(target(service.url, case), egress).answer(case.asks, idempotency_key="job_1:u")
            except CallFailed as failed:
                outcome = failed
            return outcome, service.heard

    return asyncio.run(go())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_predictor_protocol_sends_the_documented_request_and_reads_the_answer(wire, case):
    replies, (heard,) = exchange(wire, case)
    assert not isinstance(replies, CallFailed), replies
    assert (heard.method, heard.path, heard.query) == (case.method, case.path, case.query)
    if case.sent is not None:
        assert heard.json == case.sent
        assert heard.headers["content-type"] == "application/json; charset=utf-8"
    assert {name: heard.headers.get(name) for name in case.headers} == case.headers
    assert heard.headers["idempotency-key"] == "job_1:u"
    assert [reply.failure for reply in replies] == [None] * len(case.got)
    assert [reply.value for reply in replies] == case.got


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("status", ["401 No", "429 Slow", "500 Ill", "302 Away"])
def test_no_failed_call_to_a_predictor_shows_the_secret(wire, case, status):
    failed, _ = exchange(wire, case, wire.raw(f"your key {case.secret} is wrong", status))
    assert isinstance(failed, CallFailed)
    assert SECRET not in "".join((str(failed), repr(failed), *traceback.format_exception(failed)))


def grown(answer: Any, count: int, by: int) -> Any:
    """Lengthen or shorten every list of `count` answers (or the first axis of tensors) by one."""
    if isinstance(answer, dict) and "outputs" in answer:
        return {
            "outputs": [{**each, "shape": [each["shape"][0] + by, *each["shape"][1:]]} for each in answer["outputs"]]
        }
    if isinstance(answer, dict):
        return {key: grown(value, count, by) for key, value in answer.items()}
    if isinstance(answer, list) and len(answer) == count:
        return answer[:-1] if by < 0 else [*answer, answer[-1]]
    return [grown(value, count, by) for value in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("case", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("by", [-1, 1])
def test_response_with_fewer_or_more_answers_than_questions_is_refused(wire, case, by):
    failed, _ = exchange(wire, case, wire.as_json(grown(case.answer, len(case.asks), by)))
    assert isinstance(failed, CallFailed), failed
    assert (failed.code, failed.retriable) == ("wrong-count", False)


@pytest.mark.parametrize("case", IN_JSON.values(), ids=IN_JSON)
def test_json_of_another_protocol_and_web_pages_are_refused(wire, case):
    strange, _ = exchange(wire, case, wire.as_json({"detail": "no"}))
    page, _ = exchange(wire, case, wire.raw("<html>Welcome</html>", content_type="text/html"))
    assert (strange if isinstance(strange, CallFailed) else strange[0].failure).code in {"wrong-shape", "wrong-count"}
    assert (page.code, page.retriable) == ("garbage", True)


def with_first_number(answer: Any, value: str) -> bytes:
    """Return an answer as JSON with its first decimal number replaced."""
    return re.sub(r"-?\d+\.\d+", value, json.dumps(answer), count=1).encode()


NUMBERS = {
    name: case
    for name, case in IN_JSON.items()
    if any(c.isdigit() for c in json.dumps(case.got)) and "base64" not in name
}


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("value", ["null", "true", '"0,25"', "{}"])
def test_answer_that_is_not_a_number_is_a_failure(wire, case, value):
    outcome, _ = exchange(wire, case, wire.raw(with_first_number(case.answer, value), content_type="application/json"))
    if isinstance(outcome, CallFailed):
        assert outcome.code in {"wrong-shape", "wrong-count"}
    else:
        lost = [reply.failure.code for reply in outcome if reply.failure]
        assert lost == ["wrong-shape"]


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
@pytest.mark.parametrize("value", ["NaN", "Infinity", "1e999"])
def test_a_number_that_is_not_finite_fails_only_its_question(wire, case, value):
    replies, _ = exchange(wire, case, wire.raw(with_first_number(case.answer, value), content_type="application/json"))
    lost = [reply.failure for reply in replies if reply.failure]
    assert [failure.code for failure in lost] == ["wrong-shape"]
    assert "not finite" in lost[0].message


def test_invalid_vector_fails_one_question(wire):
    replies, _ = exchange(wire, EMBEDDERS["tei"], wire.as_json([[0.5, 1.5], [None, 1], [2, 3]]))
    assert [reply.ok for reply in replies] == [True, False, True]
    assert "null" in replies[1].failure.message


def test_null_instead_of_a_vector_is_a_missing_word(wire):
    answer = wire.as_json(numbered([[1.0, 2.0], None, [2.0, 1.0]], (0, 1, 2)))
    replies, _ = exchange(wire, EMBEDDERS["openai-embeddings, out of order"], answer)
    assert [reply.failure and reply.failure.code for reply in replies] == [None, "missing-word", None]


def test_vectors_of_two_lengths_in_one_answer_are_refused(wire):
    failed, _ = exchange(wire, EMBEDDERS["tei"], wire.as_json([[0.5, 1.5], [1], [2, 3]]))
    assert (failed.code, "1 and 2 numbers" in str(failed)) == ("wrong-shape", True)


@pytest.mark.parametrize("order", [(0, 0, 1), (1, 2, 3), ("0", "1", "2"), (True, 0, 2)])
def test_vectors_with_wrong_indexes_are_refused(wire, order):
    data = [{"index": at, "embedding": [1.0]} for at in order]
    failed, _ = exchange(wire, EMBEDDERS["openai-embeddings, out of order"], wire.as_json({"data": data}))
    assert (failed.code, "expected each of 0 to 2 once" in str(failed)) == ("wrong-shape", True)


@pytest.mark.parametrize("text", ["", "not base64!", base64.b64encode(b"abc").decode(), packed([float("nan")])])
def test_a_text_that_is_no_vector_in_base64_is_refused(wire, text):
    case = EMBEDDERS["openai-embeddings in base64, shortened"]
    outcome, _ = exchange(wire, case, wire.as_json(numbered([text] * 3, (0, 1, 2))))
    code = outcome.code if isinstance(outcome, CallFailed) else outcome[0].failure.code
    assert code == "wrong-shape"


def test_token_vectors_are_refused_if_no_pooling_is_declared(wire):
    case = replace(EMBEDDERS["hf-inference, one vector"], answer=[[0.0, 1.0], [2.0, 2.0]])
    replies, _ = exchange(wire, case)
    assert "pooling" in replies[0].failure.message


def test_a_model_that_is_loading_is_asked_again(wire):
    failed, _ = exchange(
        wire, CLASSIFIERS["hf-inference"], wire.as_json({"error": "loading", "estimated_time": 20.0}, "503 Loading")
    )
    assert (failed.code, failed.retriable) == ("http-503", True)


def test_error_in_a_response_with_status_200_is_a_failure(wire):
    failed, _ = exchange(wire, CLASSIFIERS["hf-inference"], wire.as_json({"error": "no"}))
    assert failed.code == "wrong-shape"


@pytest.mark.parametrize(
    ("status", "code", "retriable"),
    [
        ("413 Large", "http-413", False),
        ("422 No", "http-422", False),
        ("424 Failed", "http-424", False),
        ("429 Busy", "http-429", True),
    ],
)
def test_each_error_status_of_tei_has_its_own_code(wire, status, code, retriable):
    failed, _ = exchange(wire, EMBEDDERS["tei"], wire.as_json({"error": "no", "error_type": "x"}, status))
    assert (failed.code, failed.retriable) == (code, retriable)


UNSUPPORTED = {
    "tei takes no records": ("tei", Kind.CLASSIFIER, {}, Classify(ROWS[0]), "takes texts only"),
    "hf-inference takes no records": ("hf-inference", Kind.CLASSIFIER, {}, Classify(ROWS[0]), "takes texts only"),
    "a body of rows takes no texts": (
        "custom",
        Kind.CLASSIFIER,
        {"body": "{row}"},
        Classify("A day."),
        "takes records only",
    ),
    "tensors have no empty cells": ("kserve", Kind.REGRESSOR, {"model": "m"}, Regress((("a", None),)), "'a' is empty"),
    "a matrix has no words": (
        "kserve",
        Kind.REGRESSOR,
        {"model": "m", "layout": "matrix"},
        Regress((("a", "x"),)),
        "'a' is not a number",
    ),
    "what is not finite is not JSON": ("mlflow", Kind.REGRESSOR, {}, Regress((("a", float("nan")),)), "not a finite"),
    "tei has one model": ("tei", Kind.EMBEDDER, {}, Embed("she", "another"), "names a model"),
    "a model is no path": ("hf-inference", Kind.EMBEDDER, {"model": "m"}, Embed("she", "../x"), "owner/name"),
}


@pytest.mark.parametrize("case", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_an_unsupported_question_to_a_predictor_is_not_sent(wire, case):
    protocol, kind, settings, ask, why = case
    replies, heard = exchange(wire, Case(protocol, kind, [ask], "", None, {}, [], settings, None))
    assert replies[0].failure.code == "unsupported"
    assert why in replies[0].failure.message
    assert heard == []


@pytest.mark.parametrize("ask", [Translate("She came.", "en", "es"), Classify("A day."), Regress("A day.")])
def test_embedder_refuses_questions_of_other_kinds(wire, ask):
    failed, heard = exchange(wire, replace(EMBEDDERS["tei"], asks=[ask]))
    assert (failed.code, heard) == ("unsupported", [])
    assert f"not to {ask.asks}" in str(failed)


def grouped(wire, protocol, kind, settings, asks):
    async def go():
        async with Egress(wire.loopback) as egress:
            adapter = connect(Target("T", kind, protocol, "http://127.0.0.1:1", settings), egress)
            return len({adapter.group_key(ask) for ask in asks})

    return asyncio.run(go())


def test_questions_of_several_forms_do_not_share_a_call(wire):
    texts_and_records = [*classify(SAID), *classify(ROWS), Classify((("age", 1),))]
    assert grouped(wire, "mlflow", Kind.CLASSIFIER, {}, texts_and_records) == 3
    assert grouped(wire, "openai-embeddings", Kind.EMBEDDER, {"model": "m"}, [*WORDS, Embed("she", "m2")]) == 2
    cells = [Regress((("a", cell),)) for cell in (1, 2, 2.5, True, "x")]
    # a tensor has one datatype: integers, floats, booleans and strings need separate calls
    assert grouped(wire, "kserve", Kind.REGRESSOR, {"model": "m"}, cells) == 4
    with pytest.raises(ValueError, match="several forms"):
        exchange(wire, replace(CLASSIFIERS["mlflow, labels of texts"], asks=texts_and_records))


def test_an_answer_that_repeats_the_key_fails_its_question(wire):
    case = replace(CLASSIFIERS["mlflow, labels of texts"], answer={"predictions": ["good", f"key {SECRET}"]})
    replies, _ = exchange(wire, case)
    assert [reply.ok for reply in replies] == [True, False]
    assert "echo" in replies[1].failure.message


def test_a_message_that_quotes_an_answer_does_not_show_the_key(wire):
    case = replace(REGRESSORS["mlflow, instances"], answer={"predictions": [f"key {SECRET}", "about 30"]})
    replies, _ = exchange(wire, case)
    assert [reply.failure.code for reply in replies] == ["wrong-shape", "wrong-shape"]
    assert SECRET not in replies[0].failure.message
    assert '"about 30"' in replies[1].failure.message


@pytest.mark.parametrize(
    ("protocol", "settings", "texts", "numbers"),
    [
        ("mlflow", {"number": "decimal-point"}, ["35.7 %", "$1,200"], [35.7, 1200]),
        ("mlflow", {"number": "decimal-comma"}, ["35,7 %", "1.234,5 €"], [35.7, 1234.5]),
        ("mlflow", {}, ["35.7", "−3"], [35.7, -3]),
        ("custom", {"number": "decimal-comma"}, ["35,7 %", "1 234,5"], [35.7, 1234.5]),
        ("custom", {"number": "decimal-comma", "scale": [0, 100]}, ["50 %", "12,5"], [0.5, 0.125]),
    ],
)
def test_numbers_that_a_regressor_sends_as_text_are_read_in_the_declared_form(wire, protocol, settings, texts, numbers):
    name = {"mlflow": "mlflow, instances", "custom": "custom, one record"}[protocol]
    case = REGRESSORS[name]
    for text, number in zip(texts, numbers, strict=True):
        document = {"predictions": [text] * len(case.asks)} if protocol == "mlflow" else text
        output = {} if protocol == "mlflow" else {"output": "@"}
        replies, _ = exchange(wire, replace(case, answer=document, settings={**case.settings, **output, **settings}))
        assert [reply.value for reply in replies] == [number] * len(case.asks)


@pytest.mark.parametrize(
    "outputs",
    [
        [],
        [{"name": "y", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]}],
        [{"name": "y", "shape": [2, 2], "datatype": "FP32", "data": [1.0, 2.0, 3.0]}],
        [{"name": "y", "shape": [2, 2, 2], "datatype": "FP32", "data": [1.0] * 8}],
        [{"name": "y", "shape": [2.0], "datatype": "FP32", "data": [1.0, 2.0]}],
        [{"name": "y", "datatype": "FP32", "data": [1.0, 2.0]}],
    ],
)
def test_tensors_without_one_number_per_question_are_refused(wire, outputs):
    failed, _ = exchange(wire, REGRESSORS["kserve, a matrix"], wire.as_json({"outputs": outputs}))
    assert failed.code == "wrong-shape"


def test_prediction_columns_of_different_lengths_are_refused(wire):
    answer = wire.as_json({"predictions": {"a": [1, 2], "b": [1]}})
    failed, _ = exchange(wire, REGRESSORS["mlflow, instances"], answer)
    assert failed.code == "wrong-shape"
