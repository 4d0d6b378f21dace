"""Settings that locate the answer in a response body are suggested from the types and names of its members."""

import json

import pytest

from assay.model import Kind
from workers.targets.checks.answer_places import settings_that_read

NESTED = {"status": "OK", "took_ms": 3, "data": {"model": "v7", "scores": {"positivity": 73.2}}}
BY_LABEL = {"positive": 0.9, "negative": 0.1}


@pytest.mark.parametrize(
    ("kind", "body", "output"),
    [
        (Kind.REGRESSOR, NESTED, "data.scores.positivity"),
        (Kind.REGRESSOR, {"count": 2, "wage": 31000.5}, "wage"),
        (Kind.REGRESSOR, 0.5, "@"),
        (Kind.CLASSIFIER, {"status": "ok", "documents": [{"id": 0, "sentiment": BY_LABEL}]}, "documents[0].sentiment"),
        (Kind.CLASSIFIER, {"type": "toxic"}, "type"),
        (Kind.CLASSIFIER, {"model": "v7", "label": "good"}, "label"),
        (Kind.CLASSIFIER, [{"label": "4 stars", "score": 0.8}], "[0].label"),
        (Kind.CLASSIFIER, [{"label": "a", "score": 0.8}, {"label": "b", "score": 0.2}], "@"),
        (
            Kind.CLASSIFIER,
            {"out": [{"label": "a", "confidence": 0.8}, {"label": "b", "confidence": 0.2}]},
            "out[].{label: label, score: confidence}",
        ),
        (Kind.EMBEDDER, {"usage": [1, 2], "data": [{"embedding": [0.1, 0.2]}]}, "data[0].embedding"),
        (Kind.EMBEDDER, {"flags": [True, False], "data": [{"embedding": [0.1, 0.2]}]}, "data[0].embedding"),
        (Kind.TRANSLATOR, {"q": "The house", "es": "La casa 211"}, "es"),
        (Kind.LANGUAGE_MODEL, {"id": "c-1", "model": "m", "choices": [{"text": "Hi"}]}, "choices[0].text"),
    ],
)
def test_the_suggested_output_expression_locates_the_answer_in_the_body(kind, body, output):
    assert settings_that_read(json.dumps(body).encode(), kind) == {"output": output}


STREAMS = {
    "OpenAI": (
        b'data: {"id":"c-1","model":"m","choices":[{"delta":%s}]}\n\n',
        b'{"content":"A"}',
        "choices[0].delta.content",
    ),
    "an object": (b'event: piece\ndata: {"type":"piece","delta":%s}\n\n', b'{"piece":"A"}', "delta.piece"),
    "a flat field": (b"data: %s\r\n\r\n", b'{"piece":"A"}', "piece"),
    "a text alone": (b"data: %s\n\n", b'"A"', "@"),
}


@pytest.mark.parametrize("kind", [Kind.LANGUAGE_MODEL, Kind.TRANSLATOR])
@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
@pytest.mark.parametrize("form", STREAMS)
def test_a_stream_of_a_one_letter_answer_is_suggested_to_be_read_as_events(form, end, kind):
    frame, piece, output = STREAMS[form]
    first_event = frame % b'{"role":"assistant"}' if form == "OpenAI" else b""
    found = settings_that_read(first_event + frame % piece + end, kind)
    assert found == {"response": "events", "output": output}


def version(number):
    return {"jsonrpc": "2.0", "versions": [{"kind": "draft", "string": f"La casa {number}"}]}


TAGS = {"tags": [["POS", "87%"], ["NEG", "13%"]]}, {"tags": [["POS", "20%"], ["NEG", "80%"]]}


@pytest.mark.parametrize(
    ("kind", "bodies", "settings"),
    [
        (Kind.TRANSLATOR, (version(211), version(347)), {"output": "versions[0].string"}),
        (
            Kind.CLASSIFIER,
            TAGS,
            {"labels": ["no", "yes"], "number": "probability", "scale": [0, 100], "output": "tags[0][1]"},
        ),
        (Kind.CLASSIFIER, ({"trace": "a1", "label": "POS"}, {"trace": "b2", "label": "POS"}), {"output": "label"}),
        (Kind.LANGUAGE_MODEL, ({"form": "2.0", "said": "A"}, {"form": "2.0", "said": "It rains."}), {"output": "said"}),
    ],
)
def test_a_value_that_is_the_same_in_the_answers_to_other_questions_is_not_suggested(kind, bodies, settings):
    body, other_body = (json.dumps(document).encode() for document in bodies)
    assert settings_that_read(body, kind, [other_body]) == settings


def test_a_single_percentage_is_suggested_as_a_probability_on_a_scale_from_0_to_100():
    found = settings_that_read(json.dumps(NESTED).encode(), Kind.CLASSIFIER)
    assert (found["output"], found["number"], found["scale"]) == ("data.scores.positivity", "probability", [0, 100])


@pytest.mark.parametrize("kind", Kind)
def test_an_error_message_is_never_suggested_as_the_answer(kind):
    body = {"error": {"message": "the quota of 211 is used up", "scores": BY_LABEL, "vector": [0.1, 0.2], "score": 0.5}}
    assert settings_that_read(json.dumps(body).encode(), kind) == {}
