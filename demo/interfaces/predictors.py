"""Protocols of predicting services: OpenAI's embeddings, Hugging Face's inference, MLflow, KServe and others.

An interface is a function that takes a service and a request's JSON object, and returns the answer. It covers
only the parts of a protocol that a service needs. Every protocol reports errors as ``{"error": …}``.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.document import Json, JsonObject
from demo.images.viewers import Viewer
from demo.interfaces import language_models, pictures
from demo.interfaces.libretranslate import BadRequest, model_name, require, unsupported
from demo.language_models.models import LanguageModel
from demo.predictors.prediction import Embedder, Predictor, Row, RowClassifier, RowRegressor, TextScorer
from demo.predictors.rankers import Ranker

Interface = Callable[[Predictor, Json], Any]

MOST_INPUTS = 4096
"""Maximum number of texts or records in a request."""

TENSOR = "output-0"
"""Name of the tensor in KServe's answers."""

TABLES = ("dataframe_split", "dataframe_records", "instances", "inputs")
"""Fields in which MLflow accepts records or texts."""


def embeddings(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /v1/embeddings``; a text that is not known gets ``null``, so that the other texts are not lost."""
    if not isinstance(predictor, Embedder):
        raise unsupported(predictor, "openai-embeddings")
    model, inputs = model_name(body), require(body, "input")
    encoding = body.get("encoding_format") or "float"
    if encoding not in {"float", "base64"}:
        raise BadRequest(f"'encoding_format' must be float or base64, not {encoding!r:.100}")
    vectors = [predictor.embed(text, model) for text in _read_texts(inputs, "input")]
    data = [
        {"object": "embedding", "index": index, "embedding": _pack_base64(vector) if encoding == "base64" else vector}
        for index, vector in enumerate(vectors)
    ]
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def _pack_base64(vector: Sequence[float] | None) -> str | None:
    """Write a vector as single-precision numbers in base64, lowest byte first."""
    return None if vector is None else base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


def inference(predictor: Predictor, body: Json) -> list[Any]:
    """Answer Hugging Face's inference: classify a text, fill a gap, write, or classify an image."""
    if isinstance(predictor, LanguageModel) and "hf-inference" in predictor.protocols:
        return language_models.inference(predictor, body)
    return pictures.inference(predictor, body) if isinstance(predictor, Viewer) else classes(predictor, body)


def classes(predictor: Predictor, body: Json) -> list[Any]:
    """Answer a text classification: the likeliest labels first, as many as ``top_k`` says; all by default."""
    if not isinstance(predictor, TextScorer):
        raise unsupported(predictor, "hf-inference")
    inputs = require(body, "inputs")
    parameters = body.get("parameters") or {}
    top_k = parameters.get("top_k") if isinstance(parameters, dict) else 0
    if top_k is not None and (type(top_k) is not int or top_k < 1):
        raise BadRequest("'parameters' must be an object whose 'top_k' is a whole number from 1")
    answers = []
    for text in _read_texts(inputs, "inputs"):
        ranked_items = sorted(predictor.scores(text).items(), key=lambda item: -item[1])[:top_k]
        answers.append([{"label": label, "score": score} for label, score in ranked_items])
    return answers if isinstance(inputs, list) else answers[0]


def chat(predictor: Predictor, body: Json) -> JsonObject:
    """Answer a chat, with or without a picture in it."""
    return pictures.chat(predictor, body) if isinstance(predictor, Viewer) else language_models.chat(predictor, body)


def invocations(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /invocations``: a number for each text or record, or the probabilities of a classifier."""
    table_fields = [table_field for table_field in TABLES if table_field in body]
    if len(table_fields) != 1:
        raise BadRequest(f"the body must contain exactly one of {', '.join(TABLES)}")
    rows = _read_rows(table_fields[0], body[table_fields[0]])
    if isinstance(predictor, TextScorer):
        return {"predictions": [predictor.number(_text_of(row)) for row in rows]}
    if isinstance(predictor, RowRegressor):
        return {"predictions": list(predictor.numbers(_check_records(predictor.columns, rows)))}
    if isinstance(predictor, RowClassifier):
        table = predictor.probabilities(_check_records(predictor.columns, rows)).tolist()
        return {"predictions": [dict(zip(predictor.labels, row, strict=True)) for row in table]}
    raise unsupported(predictor, "mlflow")


def _read_rows(table_field: str, content: object) -> list[Any]:
    """Read the rows in an MLflow field named `table_field`: records (each as an object), or texts."""
    if table_field == "dataframe_split":
        table = content if isinstance(content, dict) else {}
        columns, data = table.get("columns"), table.get("data")
        if not isinstance(columns, list) or not isinstance(data, list):
            raise BadRequest("'dataframe_split' must hold 'columns' and 'data'")
        if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
            raise BadRequest(f"every row of 'data' must have {len(columns)} cells, as 'columns' has")
        rows: Any = [dict(zip(map(str, columns), row, strict=True)) for row in data]
    elif table_field == "inputs" and isinstance(content, dict):
        rows = _records_of_columns(content)
    else:
        rows = content
    return _check_count(rows, table_field)


def _records_of_columns(columns: Json) -> list[JsonObject]:
    lengths = {len(cells) if isinstance(cells, list) else None for cells in columns.values()}
    if len(lengths) != 1 or None in lengths:
        raise BadRequest("columns must be lists of the same length")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _text_of(row: object) -> str:
    """Return the text of a row: the row itself, or the one cell of a record."""
    if isinstance(row, dict) and len(row) == 1:
        row = next(iter(row.values()))
    if not isinstance(row, str):
        raise BadRequest("each row must be a text, or a record with one cell that is a text")
    return row


def _check_records(columns: Sequence[str], rows: Sequence[Any]) -> list[Row]:
    for row in rows:
        if not isinstance(row, dict):
            raise BadRequest("each row must be a record")
        if missing := [column for column in columns if column not in row]:
            raise BadRequest(f"the column {missing[0]!r} is missing; needed: {', '.join(columns)}")
    return list(rows)


def infer(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /v2/models/{model}/infer``: records as a tensor for each column, of shape [n] or [n, 1]."""
    if not isinstance(predictor, RowRegressor | RowClassifier):
        raise unsupported(predictor, "kserve")
    tensors = require(body, "inputs")
    if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
        raise BadRequest("'inputs' must be an array of tensors")
    columns = {str(require(tensor, "name")): _flatten_column(require(tensor, "data")) for tensor in tensors}
    rows = _check_records(predictor.columns, _check_count(_records_of_columns(columns), "inputs"))
    if isinstance(predictor, RowRegressor):
        data, shape = list(predictor.numbers(rows)), [len(rows)]
    else:
        table = predictor.probabilities(rows)
        data, shape = table.ravel().tolist(), list(table.shape)
    output = {"name": TENSOR, "datatype": "FP64", "shape": shape, "data": data}
    return {"model_name": predictor.name, "model_version": "1", "outputs": [output]}


def _flatten_column(data: object) -> list[Any]:
    """Flatten the data of one column, which may be nested as [n, 1]."""
    if not isinstance(data, list):
        raise BadRequest("a tensor's 'data' must be an array")
    return [cell for row in data for cell in (row if isinstance(row, list) else [row])]


def compare(predictor: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /compare``: which of two documents is better; the interface is our own."""
    if not isinstance(predictor, Ranker):
        raise unsupported(predictor, "comparisons")
    first, second = (require(body, name) for name in ("first", "second"))
    if not isinstance(first, str) or not isinstance(second, str):
        raise BadRequest("'first' and 'second' must be texts")
    return {"better": predictor.better(first, second)}


INTERFACES: Mapping[str, Interface] = {
    "/{name}/v1/embeddings": embeddings,
    "/{name}/v1/completions": language_models.completions,
    "/{name}/v1/chat/completions": chat,
    "/{name}/v1/images/generations": pictures.images,
    "/{name}/generate": language_models.generate,
    "/{name}/api/chat": language_models.ollama_chat,
    "/{name}/api/generate": language_models.ollama_generate,
    "/{name}/look": pictures.look,
    "/{name}": inference,
    "/{name}/models/{model:path}": inference,
    "/{name}/compare": compare,
    "/{name}/invocations": invocations,
    "/{name}/v2/models/{model}/infer": infer,
    "/{name}/v2/models/{model}/versions/{version}/infer": infer,
}
"""Interfaces by path; all requests are POST."""


def _read_texts(inputs: object, name: str) -> list[str]:
    texts = _check_count(inputs if isinstance(inputs, list) else [inputs], name)
    if not all(isinstance(text, str) for text in texts):
        raise BadRequest(f"{name!r} must be a text or an array of texts")
    return texts


def _check_count(inputs: object, name: str) -> list[Any]:
    if not isinstance(inputs, list) or not 0 < len(inputs) <= MOST_INPUTS:
        raise BadRequest(f"{name!r} must hold 1 to {MOST_INPUTS:,} texts or records")
    return inputs
