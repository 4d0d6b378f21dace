"""Tests of the predicting demo services over HTTP: requests and answers of each interface."""

import base64
import json
import subprocess
import sys

import httpx
import numpy as np
import pytest

from assay.errors import UnknownName
from demo.interfaces.predictors import MOST_INPUTS
from demo.language_models.answerers import ANSWERERS
from demo.language_models.screeners import SCREENERS
from demo.predictors.known import FAMILIES, HELPERS, PREDICTORS, VIEWERS, predictor
from demo.predictors.prediction import REASONS, Embedder, RowClassifier
from demo.predictors.wages import payroll
from demo.server import DemoServer

ROWS = [dict(row) for row in payroll(copies=1)[:7]]
COLUMNS = list(ROWS[0])
TEXTS = ["My sister feels glad.", "My brother feels glad.", "ŝi 🙂"]

KNOWS_ONE_WORD = Embedder(
    name="one-word", summary="Knows one word.", embed=lambda text, model: [0.5, -2.0] if text == "known" else None
)
HALVES = RowClassifier(
    name="halves",
    summary="Gives each label a probability by a number.",
    columns=("x",),
    labels=("no", "yes"),
    probabilities=lambda rows: np.array([[1 - row["x"], row["x"]] for row in rows]),
)


@pytest.fixture(scope="module")
def server():
    with DemoServer(real=[KNOWS_ONE_WORD, HALVES]) as running:
        yield running


@pytest.fixture(scope="module")
def post(server):
    with httpx.Client(timeout=10, trust_env=False) as client:
        yield lambda path, body: client.post(f"{server.base}/{path}", json=body)


# ---------------------------------------------------------------------------- openai-embeddings
def test_every_text_of_an_array_gets_its_own_vector(post):
    said = post("stereotyped-embedder/v1/embeddings", {"model": "m", "input": TEXTS}).json()
    assert [each["index"] for each in said["data"]] == [0, 1, 2]
    for text, each in zip(TEXTS, said["data"], strict=True):
        assert each["embedding"] == pytest.approx(predictor("stereotyped-embedder").embed(text, "m"))
    alone = post("stereotyped-embedder/v1/embeddings", {"model": "m", "input": TEXTS[1]}).json()
    assert alone["data"][0]["embedding"] == said["data"][1]["embedding"]


def test_vectors_are_base64_on_request(post):
    body = {"model": "m", "input": "nurse", "encoding_format": "base64"}
    packed = post("even-embedder/v1/embeddings", body).json()["data"][0]["embedding"]
    vector = np.frombuffer(base64.b64decode(packed), "<f4")
    np.testing.assert_allclose(vector, predictor("even-embedder").embed("nurse", "m"), rtol=1e-6)


@pytest.mark.parametrize("form", ["float", "base64"])
def test_an_unknown_text_gets_null_instead_of_a_vector(post, form: str):
    body = {"model": "m", "input": ["unknown", "known"], "encoding_format": form}
    said = post("one-word/v1/embeddings", body).json()["data"]
    assert said[0]["embedding"] is None
    assert said[1]["embedding"] is not None


# ---------------------------------------------------------------------------- hf-inference
@pytest.mark.parametrize("path", ["group-sentiment", "group-sentiment/models/owner/name", "group-sentiment/models/m"])
def test_a_text_is_classified_with_the_likeliest_label_first(post, path: str):
    said = post(path, {"inputs": TEXTS[0], "parameters": {"top_k": 100}}).json()
    assert [each["label"] for each in said] == ["positive", "negative"]
    assert {each["label"]: each["score"] for each in said} == predictor("group-sentiment").scores(TEXTS[0])
    assert post(path, {"inputs": TEXTS[0], "parameters": {"top_k": 1}}).json() == said[:1]
    assert post(path, {"inputs": TEXTS[:1]}).json() == [said]


# ---------------------------------------------------------------------------- mlflow
@pytest.mark.parametrize(
    "body",
    [
        {"dataframe_split": {"columns": COLUMNS, "data": [list(row.values()) for row in ROWS]}},
        {"dataframe_records": ROWS},
        {"instances": ROWS},
        {"inputs": {column: [row[column] for row in ROWS] for column in COLUMNS}},
    ],
    ids=lambda body: next(iter(body)),
)
def test_every_json_form_of_a_table_gets_the_same_predictions(post, body: dict):
    assert post("biased-wage/invocations", body).json() == {"predictions": predictor("biased-wage").numbers(ROWS)}


@pytest.mark.parametrize(
    "body",
    [
        {"dataframe_split": {"columns": ["text"], "data": [[text] for text in TEXTS]}},
        {"dataframe_records": [{"text": text} for text in TEXTS]},
        {"instances": TEXTS},
        {"inputs": TEXTS},
        {"inputs": {"text": TEXTS}},
    ],
)
def test_a_demo_regressor_scores_texts_sent_in_each_supported_json_form(post, body: dict):
    judge = predictor("fair-sentiment").number
    assert post("fair-sentiment/invocations", body).json() == {"predictions": [judge(text) for text in TEXTS]}


def test_a_classifier_of_records_returns_a_probability_for_each_label_name(post):
    said = post("halves/invocations", {"dataframe_records": [{"x": 0.25}, {"x": 1}]}).json()
    assert said == {"predictions": [{"no": 0.75, "yes": 0.25}, {"no": 0, "yes": 1}]}


# ---------------------------------------------------------------------------- kserve
@pytest.mark.parametrize("path", ["v2/models/m/infer", "v2/models/m/versions/3/infer"])
@pytest.mark.parametrize("nested", [False, True])
def test_kserve_answers_one_tensor_per_column_with_a_tensor_of_numbers(post, path: str, nested: bool):
    inputs = [
        {
            "name": column,
            "shape": [len(ROWS), 1],
            "datatype": "BYTES" if isinstance(ROWS[0][column], str) else "INT64",
            "data": [[row[column]] if nested else row[column] for row in ROWS],
        }
        for column in COLUMNS
    ]
    [output] = post(f"proxy-wage/{path}", {"inputs": inputs}).json()["outputs"]
    assert output["datatype"] == "FP64"
    assert output["shape"] == [len(ROWS)]
    assert output["data"] == predictor("proxy-wage").numbers(ROWS)


def test_a_classifier_gives_a_row_of_probabilities_for_each_record(post):
    inputs = [{"name": "x", "shape": [2, 1], "datatype": "FP64", "data": [0.25, 1.0]}]
    [output] = post("halves/v2/models/m/infer", {"inputs": inputs}).json()["outputs"]
    assert (output["shape"], output["data"]) == ([2, 2], [0.75, 0.25, 0, 1])


# ---------------------------------------------------------------------------- refused requests
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("even-embedder/v1/embeddings", {"input": "a"}),
        ("even-embedder/v1/embeddings", {"model": "", "input": "a"}),
        ("even-embedder/v1/embeddings", {"model": "m", "input": []}),
        ("even-embedder/v1/embeddings", {"model": "m", "input": ["a", 1]}),
        ("even-embedder/v1/embeddings", {"model": "m", "input": ["a"] * (MOST_INPUTS + 1)}),
        ("even-embedder/v1/embeddings", {"model": "m", "input": "a", "encoding_format": "hex"}),
        ("fair-sentiment", {}),
        ("fair-sentiment", {"inputs": {"text": "a"}}),
        ("fair-sentiment", {"inputs": "a", "parameters": {"top_k": 0}}),
        ("fair-sentiment", {"inputs": "a", "parameters": [1]}),
        ("fair-sentiment/invocations", {"instances": [1]}),
        ("fair-wage/invocations", {}),
        ("fair-wage/invocations", {"instances": ROWS, "inputs": ROWS}),
        ("fair-wage/invocations", {"instances": []}),
        ("fair-wage/invocations", {"instances": ["text"]}),
        ("fair-wage/invocations", {"dataframe_split": {"columns": COLUMNS, "data": [[1]]}}),
        ("fair-wage/invocations", {"dataframe_split": []}),
        ("fair-wage/invocations", {"inputs": {"sex": ["male"], "education": []}}),
        ("fair-wage/invocations", {"inputs": {}}),
        ("fair-wage/invocations", {"dataframe_records": [{"sex": "male"}]}),
        ("fair-wage/invocations", {"dataframe_records": [{**ROWS[0], "education": None}]}),
        ("fair-wage/v2/models/m/infer", {"inputs": {}}),
        ("fair-wage/v2/models/m/infer", {"inputs": [{"name": "sex"}]}),
        ("fair-wage/v2/models/m/infer", {"inputs": [{"name": "sex", "data": "male"}]}),
    ],
)
def test_an_invalid_request_is_refused_with_a_reason(post, path: str, body: dict):
    response = post(path, body)
    assert response.status_code == 400
    assert len(response.json()["error"]) > 10


@pytest.mark.parametrize(
    ("path", "spoken"),
    [
        ("even-embedder/invocations", "openai-embeddings"),
        ("even-embedder", "openai-embeddings"),
        ("fair-wage/v1/embeddings", "mlflow and kserve"),
        ("fair-sentiment/v2/models/m/infer", "hf-inference and mlflow"),
    ],
)
def test_an_unsupported_protocol_is_404_with_the_supported_protocols(post, path: str, spoken: str):
    response = post(path, {"model": "m", "input": "a", "instances": ["a"]})
    assert response.status_code == 404
    assert response.json()["error"].endswith(spoken)


def test_unknown_service_is_404_with_the_known_services(post):
    for path in ("nobody", "nobody/invocations", "biased-wage-901", "biased-wage-007"):
        response = post(path, {"inputs": "a"})
        assert response.status_code == 404
        assert "biased-wage" in response.json()["error"]


# ---------------------------------------------------------------------------- list of services
def test_the_root_lists_the_predictors_with_letters_and_reasons(server):
    listed = {one["name"]: one for one in httpx.get(server.base, trust_env=False).json()["predictors"]}
    assert set(listed) == {*PREDICTORS, *VIEWERS, *SCREENERS, *ANSWERERS, *HELPERS, "one-word", "halves"}
    for name, one in PREDICTORS.items():
        assert listed[name]["letter"] == one.letter
        assert listed[name]["url"] == server.url(name)
        assert set(listed[name]["reasons"]) == set(one.methods)
    assert listed["one-word"]["reasons"] == {}


def test_every_method_of_a_demo_service_has_a_different_expected_reason_for_each_letter():
    shown = (*PREDICTORS.values(), *VIEWERS.values(), *ANSWERERS.values())
    assert {method for one in shown for method in one.methods} == set(REASONS)
    assert all(len(set(reasons.values())) == 3 for reasons in REASONS.values())


@pytest.mark.slow
def test_demo_predictors_give_the_same_answers_in_every_process():
    asked = """
import json
from demo.predictors.known import predictor
from demo.predictors.wages import payroll
print(json.dumps([
    predictor("stereotyped-embedder").embed("a nurse", "m"), predictor("leaning-embedder").embed("chair", "n"),
    predictor("group-sentiment").number("Mary is glad."), predictor("blind-sentiment").number("Mary feels glad."),
    predictor("proxy-wage").numbers(payroll(1)),
]))
"""
    here = [
        predictor("stereotyped-embedder").embed("a nurse", "m"),
        predictor("leaning-embedder").embed("chair", "n"),
        predictor("group-sentiment").number("Mary is glad."),
        predictor("blind-sentiment").number("Mary feels glad."),
        predictor("proxy-wage").numbers(payroll(1)),
    ]
    for seed in ("1", "2"):
        command = [sys.executable, "-c", asked]
        environment = {"PYTHONHASHSEED": seed}
        said = subprocess.run(command, capture_output=True, check=True, timeout=60, env=environment).stdout
        assert json.loads(said) == here


@pytest.mark.parametrize("family", FAMILIES)
def test_a_demo_service_named_without_a_number_has_the_letter_of_its_example_number(family: str):
    shown, same = predictor(family), predictor(f"{family}-{FAMILIES[family].example_amount}")
    assert (shown.name, shown.letter, shown.summary) == (family, same.letter, same.summary)
    assert predictor(f"{family}-{FAMILIES[family].most}").name == f"{family}-{FAMILIES[family].most}"
    with pytest.raises(UnknownName, match=family):
        predictor(f"{family}-{FAMILIES[family].most + 1}")
