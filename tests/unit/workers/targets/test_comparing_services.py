"""Services that compare two documents: what is sent, and how each form of answer is read."""

import asyncio
import json
from ipaddress import ip_network

import pytest

from assay.errors import SpecificationError
from assay.model import Classify
from tests.support.scripted_server import scripted_server
from workers.egress import Egress
from workers.probe import probe
from workers.targets.registry import connect, read_target

LOOPBACK = [ip_network("127.0.0.0/8")]
BODY = {"a": "{first}", "b": "{second}"}
ANN, BOB = "Ann has six years of experience.", "Bob has none."
PAIR = Classify((("first", ANN), ("second", BOB)))
MODEL = {"model": "m"}
PROMPT = "Which application is better?\n1: {first}\n2: {second}"


def target(url, settings, protocol="custom", kind="classifier"):
    return read_target(
        {"name": "t", "kind": kind, "protocol": protocol, "base_url": url, "settings": settings, "secret": None}
    )


def compare(answer, settings, asks=(PAIR,), protocol="custom"):
    """Ask a loopback service, whose body is `answer` or its result; return the replies and the requests."""
    heard = []
    with scripted_server(answer if callable(answer) else lambda _: answer, heard) as url:

        async def go():
            async with Egress(LOOPBACK) as egress:
                return await connect(target(url, settings, protocol), egress).answer(asks)

        return asyncio.run(go()), heard


def winner(answer, **settings):
    """Return the name of the better document, or the code of the failure."""
    (reply,), _ = compare({"answer": answer}, {"body": BODY, "output": "answer", **settings})
    if reply.failure is not None:
        return reply.failure.code
    return reply.value["label"] or reply.value["scores"]


def test_both_documents_are_sent_in_the_fields_that_the_settings_name():
    _, heard = compare({"answer": "first"}, {"body": BODY, "output": "answer"})
    assert heard[0].json == {"a": ANN, "b": BOB}


def test_both_documents_can_be_sent_in_a_query_string():
    settings = {"method": "GET", "query": {"left": "{first}", "right": "{second}"}, "output": "answer"}
    replies, heard = compare({"answer": "second"}, settings)
    assert "left=Ann+has" in heard[0].path
    assert replies[0].value["label"] == "second"


def test_a_call_with_several_comparisons_has_one_object_for_each_pair():
    settings = {"batch": "array", "body": {"pairs": [{"n": "{index}", "x": "{first}", "y": "{second}"}]}, "output": "@"}
    other = Classify((("first", BOB), ("second", ANN)))
    replies, heard = compare(lambda request: ["first" for _ in request.json["pairs"]], settings, (PAIR, other))
    assert heard[0].json == {"pairs": [{"n": 0, "x": ANN, "y": BOB}, {"n": 1, "x": BOB, "y": ANN}]}
    assert [reply.value["label"] for reply in replies] == ["first", "first"]


@pytest.mark.parametrize(
    ("answer", "settings", "read"),
    [
        ("first", {}, "first"),
        ("Second.", {}, "second"),
        ("tie", {}, "tie"),
        ("A", {"labels": ["A", "B"]}, "first"),
        ("b", {"labels": ["A", "B"]}, "second"),
        ("both", {"labels": ["A", "B", "both"]}, "tie"),
        (1, {"labels": [0, 1]}, "second"),
        (1, {"labels": [1, 2]}, "first"),
        ("2", {"labels": [1, 2]}, "second"),
        (0, {"labels": [1, 2, 0]}, "tie"),
        (True, {"labels": ["true", "false"]}, "first"),
        ({"label": "B", "score": 0.8}, {"labels": ["A", "B"]}, {"first": pytest.approx(0.2), "second": 0.8}),
        ([0.3, 0.7], {"labels": ["A", "B"]}, {"first": 0.3, "second": 0.7}),
        ({"A": 0.5, "B": 0.3, "tie": 0.2}, {"labels": ["A", "B", "tie"]}, {"first": 0.5, "second": 0.3, "tie": 0.2}),
        ([7, 4.5], {"comparison": "scores"}, "first"),
        ([[-3, 12]], {"comparison": "scores"}, "second"),
        ([8, 8.0], {"comparison": "scores"}, "tie"),
        ({"first": 2, "second": 9}, {"comparison": "scores"}, "second"),
        ({"B": 2, "A": 9}, {"comparison": "scores", "labels": ["A", "B"]}, "first"),
        (ANN, {"comparison": "document"}, "first"),
        (f"  {BOB.upper()} ", {"comparison": "document"}, "second"),
    ],
)
def test_the_winner_of_a_comparison_is_read_in_each_declared_format(answer, settings, read):
    assert winner(answer, **settings) == read


@pytest.mark.parametrize(
    ("answer", "settings"),
    [
        *((answer, {}) for answer in ("both", "neither", "The first one is better.", "A")),
        *((answer, {}) for answer in (0, 1, 2, True, 0.7, [0.2, 0.8], [1], {}, {"first": 3, "second": 2}, ANN)),
        *(
            (answer, {"labels": ["A", "B"]})
            for answer in ("tie", "both", "A or B", "first", 0, 1, [0.9], "A is better")
        ),
        *((answer, {"labels": [1, 2]}) for answer in (0, 3, "first", 1.5)),
        *(
            (answer, {"comparison": "scores"})
            for answer in ([1], [1, 2, 3], "first", ["7", "8"], [1, None], [True, False], {"first": 3}, 5)
        ),
        *((answer, {"comparison": "document"}) for answer in ("first", f"{ANN} {BOB}", "Neither.", 1, ANN[:12], "")),
    ],
)
def test_an_answer_in_another_format_than_declared_is_no_choice(answer, settings):
    assert winner(answer, **settings) == "no-choice"


@pytest.mark.parametrize(("answer", "kind", "example"), [(3, "number", "1"), (True, "boolean", "true")])
def test_a_value_that_no_declared_label_names_is_refused_with_the_labels_that_would_read_it(answer, kind, example):
    ((reply,), _) = compare({"answer": answer}, {"body": BODY, "output": "answer"})
    value = json.dumps(answer)
    assert f"returned the {kind} {value}, but no declared label is a {kind}" in reply.failure.message
    assert f'set labels = ["{example}", ' in reply.failure.message


def test_a_refusal_to_compare_is_distinguished_from_an_unreadable_answer():
    assert winner("I cannot compare people.") == "declined"


def test_an_answer_that_equals_both_identical_documents_is_no_choice():
    same = Classify((("first", ANN), ("second", ANN)))
    (reply,), _ = compare({"answer": ANN}, {"body": BODY, "output": "answer", "comparison": "document"}, (same,))
    assert reply.failure.code == "no-choice"


def test_a_single_text_is_not_sent_to_a_service_that_compares_two_documents():
    (reply,), heard = compare({"answer": "first"}, {"body": BODY}, (Classify(ANN),))
    assert (reply.failure.code, heard) == ("unsupported", [])


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"body": {"a": "{first}"}}, "body"),
        ({"body": {**BODY, "c": "{text}"}}, "body"),
        ({"body": {**BODY, "c": "{row}"}}, "body"),
        ({"body": BODY, "labels": ["A", "B", "tie", "none"]}, "labels"),
        ({"body": BODY, "scale": [0, 10]}, "scale"),
        ({"body": BODY, "number": "probability", "labels": ["A", "B"]}, "scale"),
    ],
)
def test_invalid_settings_for_comparisons_are_refused_with_their_field(settings, field):
    with pytest.raises(SpecificationError) as refused:
        target("http://127.0.0.1:9", settings)
    assert refused.value.field == f"settings.{field}"


@pytest.mark.parametrize("kind", ["regressor", "embedder", "translator", "language-model"])
def test_only_a_classifier_can_compare_two_documents(kind):
    with pytest.raises(SpecificationError, match=r"\{first\} cannot be filled in"):
        target("http://127.0.0.1:9", {"body": BODY}, kind=kind)


# ------------------------------------------------------------------------------- chat models
def chat(text):
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def judged(text, **decision):
    own = {"prompt": PROMPT, "labels": ["1", "2", "tie"], "reading": "text", **decision}
    return compare(chat(text), {**MODEL, "decision": own}, protocol="openai-chat")


@pytest.mark.parametrize(("text", "read"), [("1", "first"), ("2", "second"), ("tie", "tie")])
def test_a_chat_model_compares_two_documents_in_one_prompt(text, read):
    (reply,), heard = judged(text)
    assert max(reply.value["scores"], key=reply.value["scores"].get) == read
    assert f"1: {ANN}\n2: {BOB}" in heard[0].json["messages"][-1]["content"]


@pytest.mark.parametrize(
    "text", ["both", "1 or 2", "They are equally good.", "I'm sorry, but I can't compare people.", "", "Candidate one"]
)
def test_chat_answer_without_an_option_is_not_a_choice(text):
    (reply,), _ = judged(text)
    assert reply.failure is not None


@pytest.mark.parametrize("decision", [{"labels": ["1", "2", "3", "4"]}, {"system": ["Be fair.", "Be quick."]}])
def test_a_comparison_by_prompt_needs_two_or_three_labels_and_one_system_prompt(decision):
    with pytest.raises(SpecificationError) as refused:
        target(
            "http://127.0.0.1:9",
            {**MODEL, "decision": {"prompt": PROMPT, "labels": ["1", "2"], **decision}},
            "openai-chat",
        )
    assert refused.value.field == "settings.decision.labels"


# ------------------------------------------------------------------------------- probe
def test_a_probe_of_a_service_that_compares_shows_both_orders_of_the_documents():
    with scripted_server(lambda _: {"answer": "first"}) as url:

        async def go():
            async with Egress(LOOPBACK) as egress:
                return await probe(target(url, {"body": BODY, "output": "answer"}), egress, asks=[PAIR])

        result = asyncio.run(go())
    assert json.loads(result.exchange.request.body) == {"a": ANN, "b": BOB}
    assert json.loads(result.exchanged.exchange.request.body) == {"a": BOB, "b": ANN}
    assert (result.code, result.exchanged.code) == (None, None)
    assert result.as_json()["exchanged"]["exchange"]["response"]["status"] == 200


def test_a_test_call_of_a_service_that_compares_two_texts_needs_no_experiment():
    with scripted_server(lambda _: {"answer": "first"}) as url:

        async def go():
            async with Egress(LOOPBACK) as egress:
                return await probe(target(url, {"body": BODY, "output": "answer"}), egress)

        assert asyncio.run(go()).exchanged.reading
