"""Interfaces declared with `custom`: one object per item, scales, asynchronous answers, streams of events."""

import asyncio
import json
from ipaddress import ip_network

import pytest

from assay.errors import SpecificationError
from assay.model import Choose, Classify, Kind, Regress, Score, Translate, Write
from tests.support.scripted_server import Answer, scripted_server
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.registry import check_target, connect

LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "sk-custom-4242-secret"
TEXTS = ("She came.", "He left.", "They stayed.")
CLASSES = [Classify(text) for text in TEXTS]


def ask(answer, asks, settings, *, heard=None, timeout_s=5.0, secret=None):
    """Ask a service whose responses `answer` returns; its settings are validated like a request's."""
    kinds = {Translate: Kind.TRANSLATOR, Classify: Kind.CLASSIFIER, Regress: Kind.REGRESSOR}
    kind = kinds.get(type(asks[0]), Kind.LANGUAGE_MODEL)
    with scripted_server(answer, heard) as url:
        fields = {"kind": kind, "protocol": "custom", "base_url": url, "settings": settings, "secret": secret}
        check_target(fields, LOOPBACK)

        async def go():
            async with Egress(LOOPBACK) as egress:
                target = Target("t", kind, "custom", url, settings, secret, Limits(timeout_s=timeout_s))
                return await connect(target, egress).answer(asks)

        return asyncio.run(go())


def values(replies):
    return [reply.value if reply.failure is None else reply.failure.code for reply in replies]


# ------------------------------------------------------------------------------------------------ batches
EACH = {
    "batch": "array",
    "body": {"kind": "sentiment", "documents": [{"id": "{index}", "language": "en", "text": "{text}"}]},
    "output": "documents[].sentiment",
}


def test_a_batch_sends_an_object_for_each_text():
    heard = []

    def answer(one):
        return {"documents": [{"sentiment": each["text"][0]} for each in one.json["documents"]]}

    replies = ask(answer, CLASSES, EACH, heard=heard)
    assert [value["label"] for value in values(replies)] == ["S", "H", "T"]
    (one,) = heard
    assert one.json == {
        "kind": "sentiment",
        "documents": [{"id": place, "language": "en", "text": text} for place, text in enumerate(TEXTS)],
    }


def test_a_batch_sends_an_object_for_each_record():
    heard, asks = [], [Regress((("age", age),)) for age in (31, 52)]
    settings = {"batch": "array", "body": {"rows": [{"features": "{row}"}]}, "output": "scores"}
    assert values(ask(lambda one: {"scores": [1.5, 2.5]}, asks, settings, heard=heard)) == [1.5, 2.5]
    assert heard[0].json == {"rows": [{"features": {"age": 31}}, {"features": {"age": 52}}]}


def test_a_text_placeholder_inside_a_list_of_the_body_is_filled_in():
    heard = []
    settings = {"body": {"inputs": ["{text}"]}, "output": "[0]"}
    assert values(ask(lambda one: ["Ella vino."], [Translate("She came.", "en", "es")], settings, heard=heard))
    assert heard[0].json == {"inputs": ["She came."]}


def test_answers_with_index_numbers_are_sorted_and_a_missing_answer_fails_only_its_question():
    settings = {**EACH, "output": "ok[].label", "index": "ok[].n"}
    said = {"ok": [{"n": 2, "label": "third"}, {"n": 0, "label": "first"}], "errors": [{"n": 1, "code": "oops"}]}
    replies = ask(lambda one: said, CLASSES, settings)
    assert replies[0].value["label"] == "first"
    assert replies[1].failure.code == "declined"
    assert replies[2].value["label"] == "third"


@pytest.mark.parametrize("numbers", [[0, 0, 1], [0, 1, 3], [0, 1], ["0", "1", "2"], None, [0, 1, True]])
def test_answers_with_wrong_or_missing_index_numbers_fail_the_call(numbers):
    settings = {**EACH, "output": "labels", "index": "numbers"}
    with pytest.raises(CallFailed, match="number") as caught:
        ask(lambda one: {"labels": ["a", "b", "c"], "numbers": numbers}, CLASSES, settings)
    assert caught.value.code == "wrong-shape"


# ------------------------------------------------------------------------------------------------ scales
YES_NO = {"body": {"q": "{text}"}, "output": "score", "labels": ["no", "yes"], "number": "probability"}


@pytest.mark.parametrize(
    ("scale", "score", "yes"),
    [(None, 0.75, 0.75), ([0, 100], 75, 0.75), ([1, 5], 4, 0.75), ([-1, 1], 0.5, 0.75), ([100, 0], 25, 0.75)],
)
def test_a_single_number_is_the_probability_of_the_positive_label_on_its_scale(scale, score, yes):
    settings = YES_NO if scale is None else {**YES_NO, "scale": scale}
    (value,) = values(ask(lambda one: {"score": score}, CLASSES[:1], settings))
    assert value["scores"] == pytest.approx({"no": 1 - yes, "yes": yes})


def test_a_number_outside_its_scale_fails_the_question():
    (reply,) = ask(lambda one: {"score": 101}, CLASSES[:1], {**YES_NO, "scale": [0, 100]})
    assert reply.failure.code == "wrong-shape"


def test_a_plain_text_answer_can_hold_the_probability():
    settings = {**YES_NO, "response": "text"}
    (value,) = values(ask(lambda one: Answer(b"0.9\n"), CLASSES[:1], settings))
    assert value["scores"]["yes"] == pytest.approx(0.9)


@pytest.mark.parametrize("labels", [["no", "yes"], ["1", "0"]])
@pytest.mark.parametrize("score", [1, [1.0], "1", ["1"]])
def test_a_declared_probability_is_never_taken_for_a_label(labels, score):
    (value,) = values(ask(lambda one: {"score": score}, CLASSES[:1], {**YES_NO, "labels": labels}))
    assert value["scores"] == {labels[0]: 0.0, labels[1]: 1.0}


@pytest.mark.parametrize("scale", [None, [0, 1], [-1, 1]])
@pytest.mark.parametrize("said", ["0.5 %", "0,5%", "%0.5", "0.5 percent", "0.5 ‰"])
def test_a_percentage_is_no_probability_without_a_scale_of_percentages(scale, said):
    settings = YES_NO if scale is None else {**YES_NO, "scale": scale}
    (reply,) = ask(lambda one: {"score": said}, CLASSES[:1], settings)
    assert reply.failure.code == "wrong-shape"
    assert "settings.scale" in reply.failure.message


@pytest.mark.parametrize("said", ["0.5", "0,5", ".5", "+0.50"])
def test_a_probability_in_a_text_may_have_a_decimal_comma(said):
    (value,) = values(ask(lambda one: {"score": said}, CLASSES[:1], YES_NO))
    assert value["scores"] == {"no": 0.5, "yes": 0.5}


NUMBER_TEXTS = ["1.234", "1.234,5", "35.7", "1_000", "12.500", "1,5", "1,234", "-3", "nan", "about 5"]


@pytest.mark.parametrize("number", ["label", "decimal-point", "decimal-comma"])
@pytest.mark.parametrize("text", NUMBER_TEXTS)
def test_a_number_in_plain_text_is_read_like_the_same_text_in_json(number, text):
    settings = {"body": {"q": "{text}"}, "number": number}
    (in_json,) = values(ask(lambda one: text, [Regress("She came.")], settings))
    plain = Answer(text.encode(), headers={"Content-Type": "text/plain"})
    assert values(ask(lambda one: plain, [Regress("She came.")], {**settings, "response": "text"})) == [in_json]


def test_a_number_in_plain_text_is_read_in_the_declared_form():
    settings = {"body": {"q": "{text}"}, "number": "decimal-comma", "response": "text"}
    assert values(ask(lambda one: Answer(b"12.500"), [Regress("She came.")], settings)) == [12_500]


def test_a_number_in_another_unit_than_the_first_number_is_lost():
    """ "2 years" after "18 months" was read as 2."""
    texts = ["18 months", "2 years", "20", "1 month", "21 days", "$5"]
    each = {"batch": "array", "body": {"rows": [{"text": "{text}"}]}, "output": "[]", "number": "decimal-point"}
    replies = ask(lambda _: texts, [Regress(f"Case {index}.") for index in range(6)], each)
    assert [reply.value for reply in replies] == [18, None, 20, 1, None, 5]
    assert '"2 years" in another unit' in replies[1].failure.message


@pytest.mark.parametrize("said", ["-12.345", "-12.5", "-1250"])
def test_a_log_probability_in_plain_text_is_read_with_any_number_of_decimals(said):
    settings = {"body": {"q": "{text}"}, "answer": "log-probability", "response": "text"}
    (value,) = values(ask(lambda one: Answer(said.encode()), [Score("She came.")], settings))
    assert value["log_probability"] == float(said)


@pytest.mark.parametrize(
    "said",
    [
        {"label": "good", "score": "20"},
        [{"label": "bad", "score": "80"}, {"label": "good", "score": 20}],
        {"bad": "80", "good": "20"},
        {"labels": ["bad", "good"], "scores": ["80", "20"]},
        ["80", "20"],
    ],
)
def test_scores_that_are_texts_are_rescaled_like_numbers(said):
    settings = {"body": {"q": "{text}"}, "scale": [0, 100], "labels": ["bad", "good"]}
    (value,) = values(ask(lambda one: said, CLASSES[:1], settings))
    assert value["scores"] == pytest.approx({"bad": 0.8, "good": 0.2})


@pytest.mark.parametrize("said", ["1", {"label": "1"}, {"labels": ["1", "2"], "scores": [90, 10]}])
def test_labels_that_are_numbers_are_not_rescaled(said):
    settings = {"body": {"q": "{text}"}, "scale": [0, 100], "labels": ["1", "2"]}
    (value,) = values(ask(lambda one: said, CLASSES[:1], settings))
    assert value["label"] == "1" or value["scores"] == {"1": 0.9, "2": 0.1}


@pytest.mark.parametrize("said", [["50"], ["50,0"], "50 %"])
def test_a_number_in_a_list_is_read_in_the_declared_form_before_it_is_rescaled(said):
    settings = {"body": {"q": "{text}"}, "scale": [0, 100], "number": "decimal-comma"}
    assert values(ask(lambda one: said, [Regress("She came.")], settings)) == [0.5]


def test_probabilities_by_label_are_rescaled_and_labels_are_kept():
    said = {"label": "good", "scores": {"bad": 20, "good": 80}}
    settings = {"body": {"q": "{text}"}, "scale": [0, 100]}
    (value,) = values(ask(lambda one: said, CLASSES[:1], settings))
    assert value == {"label": "good", "scores": {"bad": 0.2, "good": 0.8}}


def test_a_star_rating_of_a_regressor_is_rescaled():
    settings = {"body": {"q": "{text}"}, "output": "stars", "scale": [1, 5]}
    assert values(ask(lambda one: {"stars": 2}, [Regress("She came.")], settings)) == [0.25]


# ------------------------------------------------------------------------------------- asynchronous answers
LATER = {
    "path": "/v1/jobs",
    "body": {"q": "{text}"},
    "output": "result.text",
    "poll": {"path": "/v1/jobs/{id}", "done": ["succeeded"], "failed": ["failed"], "interval_s": 0.05},
    "auth": "bearer",
}
ONE = [Translate("She came.", "en", "es")]


class Later:
    """A service that answers later: each request for the state of its job returns the next of `states`."""

    def __init__(self, *states):
        self.states, self.heard = list(states), []

    def __call__(self, one):
        if one.method == "POST":
            return Answer({"id": "job/1", "status": "queued"}, 202)
        state = self.states.pop(0)
        if isinstance(state, int):
            return Answer({"error": "busy"}, state)
        return {"id": "job/1", "status": state, "result": {"text": "Ella vino."}, "error": "out of memory"}


def test_an_asynchronous_answer_is_polled_until_it_is_done():
    service = Later("running", 503, "running", "succeeded")
    assert values(ask(service, ONE, LATER, heard=service.heard, secret=SECRET)) == ["Ella vino."]
    assert [(one.method, one.path) for one in service.heard] == [("POST", "/v1/jobs")] + [
        ("GET", "/v1/jobs/job%2F1")
    ] * 4
    assert {one.headers["authorization"] for one in service.heard} == {f"Bearer {SECRET}"}


def test_an_asynchronous_service_that_answers_immediately_is_not_polled():
    heard = []
    said = {"id": "1", "status": "succeeded", "result": {"text": "Ella vino."}}
    assert values(ask(lambda one: said, ONE, LATER, heard=heard, secret=SECRET)) == ["Ella vino."]
    assert len(heard) == 1


def test_an_asynchronous_answer_that_fails_is_reported_with_the_services_own_message():
    with pytest.raises(CallFailed, match=r"failed.*out of memory") as caught:
        ask(Later("running", "failed"), ONE, LATER, secret=SECRET)
    assert (caught.value.code, caught.value.retriable) == ("declined", False)


def test_polling_for_an_answer_ends_at_the_timeout_of_the_call():
    with pytest.raises(CallFailed) as caught:
        ask(Later(*["running"] * 100), ONE, LATER, timeout_s=0.4, secret=SECRET)
    assert caught.value.code == "timeout"


def test_an_asynchronous_answer_that_the_service_no_longer_knows_fails_the_call():
    with pytest.raises(CallFailed) as caught:
        ask(Later(404), ONE, LATER, secret=SECRET)
    assert caught.value.code == "http-404"


# ------------------------------------------------------------------------------------------------ streams
STREAM = {"body": {"q": "{text}"}, "response": "events", "output": "delta.text", "ended": "delta.stop"}


def events(*said, last="[DONE]"):
    lines = [f"event: piece\ndata: {json.dumps(one)}\n\n" for one in said] + ([f"data: {last}\n\n"] if last else [])
    return Answer("".join([": a comment\n\n", *lines]).encode(), headers={"Content-Type": "text/event-stream"})


PIECES = [{"delta": {"text": "Ella "}}, {"delta": {"text": "vino."}}, {"delta": {"stop": "end"}}]


def test_the_texts_of_a_stream_are_joined():
    assert values(ask(lambda one: events(*PIECES), ONE, STREAM)) == ["Ella vino."]


def test_a_stream_without_an_end_mark_is_read_completely():
    assert values(ask(lambda one: events(*PIECES, last=None), ONE, STREAM)) == ["Ella vino."]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_line_feeds_and_carriage_returns_end_a_line_of_an_event_stream(end):
    text = "Ella\u2028vino\u0085con\u2029un libro."
    pieces = [json.dumps({"delta": piece}, ensure_ascii=False) for piece in ({"text": text}, {"stop": "end"})]
    stream = Answer("".join(f"event: piece{end}data: {piece}{end}{end}" for piece in [*pieces, "[DONE]"]).encode())
    assert values(ask(lambda one: stream, ONE, STREAM)) == [text]


STREAMS = {
    "ends before its reason": (events(*PIECES[:2]), "truncated"),
    "reports an error": (events(PIECES[0], {"error": {"message": "overloaded"}}), "wrong-shape"),
    "is no JSON": (events(last="{"), "bad-json"),
    "has no text": (events(PIECES[2]), "wrong-shape"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_broken_event_stream_fails_the_call(name):
    said, code = STREAMS[name]
    with pytest.raises(CallFailed) as caught:
        ask(lambda one: said, ONE, STREAM)
    assert caught.value.code == code


@pytest.mark.parametrize("said", ["25.0%", "25 %", "25,0 %"])
def test_a_percentage_as_text_is_read_as_the_probability_of_the_second_label(said):
    settings = {"body": {"q": "{text}"}, "labels": ["no", "yes"], "number": "probability", "scale": [0, 100]}
    assert values(ask(lambda one: said, CLASSES[:1], settings))[0]["scores"] == {"no": 0.75, "yes": 0.25}


FRAMES = b'data: {"choices":[{"delta":{"content":"A"}}]}\n\n'
AS_TEXT = {
    "one event": (FRAMES, "text/event-stream"),
    "no content type": (b"event: piece\nid: 1\n" + FRAMES + b"data: [DONE]\n\n", "text/plain"),
    "a first line that is no event": (b"hello\n" + FRAMES, "text/event-stream; charset=utf-8"),
    "events that are not JSON": (b"data: A\n\ndata: B\n\n", "text/event-stream"),
}


@pytest.mark.parametrize("asked", [Choose("Who came?", ("a man", "a woman")), Write("Write."), ONE[0]])
@pytest.mark.parametrize("name", AS_TEXT)
def test_server_sent_events_are_refused_if_the_settings_expect_plain_text(name, asked):
    body, content_type = AS_TEXT[name]
    with pytest.raises(CallFailed, match="server-sent events") as caught:
        ask(
            lambda one: Answer(body, headers={"Content-Type": content_type}),
            [asked],
            {"body": {"q": "{text}"}, "response": "text"},
        )
    assert caught.value.code == "wrong-shape"


def test_the_error_of_an_output_expression_that_finds_nothing_names_it_and_the_http_status():
    with pytest.raises(CallFailed, match=r"expression 'wrong\.path' finds nothing in .* \(HTTP 200\); `assay probe`"):
        ask(lambda one: {"said": "Ella vino."}, ONE, {"body": {"q": "{text}"}, "output": "wrong.path"})


def test_a_plain_text_answer_with_a_line_that_begins_with_data_is_not_taken_for_an_event_stream():
    said = Answer(b"Ella dijo:\ndata: 3", headers={"Content-Type": "text/plain"})
    assert values(ask(lambda one: said, ONE, {"body": {"q": "{text}"}, "response": "text"})) == ["Ella dijo:\ndata: 3"]


# ------------------------------------------------------------------------------------------------ models
MODEL = {
    "body": {
        "prompt": "{text}",
        "params": {"n": "{max_tokens}", "t": "{temperature}", "seed": "{seed}", "stop": "{stop}", "kept": None},
    },
    "output": "text",
    "ended": "why",
    "ended_cut": ["length"],
    "ended_declined": ["filtered"],
}
CHOOSE = Choose("Who came?", ("a man", "a woman"))
WRITE = Write("Tell me.", 7)


def test_choices_and_written_texts_have_different_model_parameters_and_unset_ones_are_not_sent():
    heard = []
    for one in (CHOOSE, WRITE):
        ask(lambda one: {"text": "A"}, [one], {**MODEL, "writing_tokens": None}, heard=heard)
    choosing, writing = (one.json["params"] for one in heard)
    assert choosing == {"n": 8, "t": 0.0, "seed": 0, "kept": None}
    assert writing == {"t": 1.0, "seed": 7, "kept": None}


@pytest.mark.parametrize(
    ("asked", "why", "value"),
    [
        (WRITE, "stop", "A"),
        (WRITE, "length", "cut-short"),
        (WRITE, "filtered", "declined"),
        (CHOOSE, "length", {"choice": 0}),
        (CHOOSE, "filtered", "declined"),
    ],
)
def test_a_choice_cut_at_the_token_limit_is_read_but_a_cut_text_or_a_filtered_answer_fails(asked, why, value):
    assert values(ask(lambda one: {"text": "A", "why": why}, [asked], MODEL)) == [value]


def test_a_truncated_translation_is_a_failure_of_its_question():
    settings = {"body": {"q": "{text}"}, "output": "text", "ended": "why", "ended_cut": ["length"]}
    assert values(ask(lambda one: {"text": "Ella", "why": "length"}, ONE, settings)) == ["cut-short"]


def test_languages_can_be_sent_as_names_or_as_three_letter_codes():
    heard = []
    for style in ("name", "639-3"):
        settings = {"body": {"q": "{text}", "to": "{target}"}, "output": "t", "language_style": style}
        ask(lambda one: {"t": "x"}, [Translate("She came.", "en", "es")], settings, heard=heard)
    assert [one.json["to"] for one in heard] == ["Spanish (es)", "spa"]


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("settings.body", {"batch": "array", "body": {"q": "{text}"}}),
        ("settings.body", {"body": {"q": "{text}", "n": "{index}"}}),
        ("settings.body", {"body": {"q": "{text}", "n": "{max_tokens}"}}),
        ("settings.index", {"body": {"q": "{text}"}, "index": "n"}),
        ("settings.index", {**EACH, "index": "n[["}),
        ("settings.scale", {"body": {"q": "{text}"}, "scale": [1, 1]}),
        ("settings.labels", {"body": {"q": "{text}"}, "number": "probability"}),
        ("settings.batch", {**EACH, "response": "events"}),
        ("settings.poll.path", {"body": {"q": "{text}"}, "poll": {"path": "/jobs"}}),
        ("settings.poll.path", {"body": {"q": "{text}"}, "poll": {"path": "//{id}@evil#"}}),
        ("settings.poll.status", {"body": {"q": "{text}"}, "poll": {"path": "/{id}", "status": "a["}}),
        # the next two cases: at commit 06d1ba2, 180 kB of settings caused calls of 36 MB and 180 MB
        ("settings.body", {"body": {"q": "{text}" * 11}}),
        ("settings.body", {"batch": "array", "batch_maximum": 1000, "body": [{"q": "{text}", "more": "x" * 500}]}),
    ],
)
def test_settings_that_contradict_each_other_are_refused_with_their_field(field, settings):
    with pytest.raises(SpecificationError) as caught:
        check_target(
            {"kind": "classifier", "protocol": "custom", "base_url": "http://127.0.0.1:1", "settings": settings},
            LOOPBACK,
        )
    assert caught.value.field == field
