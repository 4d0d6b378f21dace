"""Chat models that make decisions: requests of each protocol, ways to read answers, and unexpected answers."""

import asyncio
import json
import math
from ipaddress import ip_network
from typing import Any

import pytest

from assay.errors import SpecificationError
from assay.model import Classify, Kind, Regress
from tests.support.scripted_server import Answer, scripted_server
from workers.egress import Egress
from workers.targets.adapter import Target
from workers.targets.protocols.http.decision_reading import label_in, label_probabilities, number_in, option_in
from workers.targets.registry import connect, protocols, read_target

OWN = {"prompt": "{text} Invite?", "labels": ["yes", "no"]}
PAY = {"name": "pay"}
CASE = "Ann applies."

LOOPBACK = [ip_network("127.0.0.0/8")]


def answers(target, questions):
    """Return the replies of a target to questions, asked one after the other."""

    async def run():
        async with Egress(LOOPBACK) as egress:
            adapter = connect(target, egress)
            return [(await adapter.answer([question]))[0] for question in questions]

    return asyncio.run(run())


def decide(answer, decision: Any = OWN, protocol="openai-chat", settings=None, kind=Kind.CLASSIFIER, cases=(CASE,)):
    """Ask a loopback service that answers each request by `answer`; return the replies and the requests."""
    heard = []
    with scripted_server(answer, heard) as url:
        model = {} if protocol == "tgi" else {"model": "m"}
        described = {
            "name": "model",
            "kind": kind.value,
            "protocol": protocol,
            "base_url": url,
            "settings": {**model, **(settings or {}), "decision": decision},
        }
        question = Classify if kind is Kind.CLASSIFIER else Regress
        return answers(read_target(described), [question(case) for case in cases]), heard


def chat(text, likely=None, **message):
    tops = [{"token": token, "logprob": math.log(share)} for token, share in (likely or {}).items()]
    told = {"content": [{"token": text[:1], "logprob": -0.1, "top_logprobs": tops}]} if likely else None
    content = {"role": "assistant", "content": text, **message}
    return {"choices": [{"index": 0, "message": content, "finish_reason": "stop", "logprobs": told}]}


def last_message(request):
    return request.json["messages"][-1]["content"]


def lettered(request):
    """Return the options of a request by their letters; empty without options."""
    lines = last_message(request).splitlines()
    return {line[0]: line[3:] for line in lines if line[1:3] == ". "}


def test_label_scores_are_the_probabilities_of_their_first_tokens_from_one_call():
    replies, heard = decide(lambda _: chat("yes", {"yes": 0.6, "no": 0.2, "Yes": 0.1}))
    assert replies[0].value["scores"] == pytest.approx({"yes": 7 / 9, "no": 2 / 9})
    assert len(heard) == 1
    assert heard[0].json["temperature"] == 0.0


def test_an_answer_that_lacks_the_token_probabilities_of_the_others_is_unusable():
    def some(request):
        return chat("yes", {"yes": 0.6, "no": 0.4} if "Bob" not in last_message(request) else None)

    (first, second, third), _ = decide(some, cases=(CASE, "Bob applies.", CASE))
    assert first.value == third.value
    assert second.failure is not None
    assert second.failure.code == "no-choice"
    assert "no probabilities" in second.failure.message


def test_a_model_that_always_answers_a_gets_equal_scores_for_both_labels():
    def always_a(request):
        return chat("A" if lettered(request) else "no preference at all")

    replies, heard = decide(always_a, cases=(CASE, "Bob applies."))
    assert [reply.value["scores"] for reply in replies] == [{"yes": 0.5, "no": 0.5}] * 2
    assert len(heard) == 5, "one call finds that there are no probabilities, then two calls a question"


def test_a_model_that_chooses_the_same_label_in_both_orders_of_options_gets_a_score_of_1_for_it():
    def says_yes(request):
        options = lettered(request)
        return chat(next((letter for letter, label in options.items() if label == "yes"), "prose"))

    (reply,), _ = decide(says_yes)
    assert reply.value["scores"] == {"yes": 1.0, "no": 0.0}


def test_probabilities_of_option_letters_are_averaged_over_the_orders():
    decision = {**OWN, "reading": "letters"}
    (reply,), _ = decide(lambda _: chat("A", {"A": 0.8, "B": 0.2}), decision)
    assert reply.value["scores"] == pytest.approx({"yes": 0.5, "no": 0.5})


def test_answers_of_a_model_that_ignores_option_letters_are_read_by_the_text_of_the_label():
    def words(request):
        return chat("no comment on letters" if lettered(request) else "No.")

    replies, heard = decide(words, cases=(CASE, "Bob applies."))
    assert [reply.value["scores"] for reply in replies] == [{"yes": 0.0, "no": 1.0}] * 2
    assert not lettered(heard[-1])


def test_three_labels_are_shown_in_three_orders():
    decision = {"prompt": "{text}", "labels": ["low", "middle", "high"], "reading": "letters"}
    (reply,), heard = decide(lambda _: chat("B"), decision)
    assert reply.value["scores"] == pytest.approx(dict.fromkeys(("low", "middle", "high"), 1 / 3))
    assert len(heard) == 3


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (chat("I'm sorry, I can't decide about people."), "declined"),
        (chat(None, refusal="No."), "declined"),
        (chat("", reasoning_content="Let me think"), "no-choice"),
        (chat("Perhaps."), "no-choice"),
        (chat("yes and no"), "no-choice"),
        (chat("Lo siento, no puedo decidir."), "declined"),
        (chat("Es tut mir leid, das kann ich nicht."), "declined"),
    ],
)
def test_refusals_and_unreadable_answers_of_a_deciding_model_are_failures_without_a_value(answer, code):
    (reply,), _ = decide(lambda _: answer)
    assert reply.value is None
    assert reply.failure.code == code


def test_an_answer_cut_during_reasoning_names_the_setting_of_the_token_limit():
    cut = {"choices": [{"message": {"content": "", "reasoning": "Hm"}, "finish_reason": "length"}]}
    (reply,), _ = decide(lambda _: cut, {**OWN, "reading": "text"})
    assert "settings.decision.tokens" in reply.failure.message


def test_a_refused_first_question_does_not_change_how_later_answers_are_read():
    def answer(request):
        return chat("I cannot answer that." if "Ann" in last_message(request) else "no", {"no": 0.9, "yes": 0.1})

    replies, _ = decide(answer, cases=(CASE, "Bob applies."))
    assert replies[0].failure.code == "declined"
    assert replies[1].value["scores"] == pytest.approx({"no": 0.9, "yes": 0.1})


def test_a_number_is_read_from_text_only_if_it_is_clear_and_within_the_range():
    replies = [
        decide(lambda _, text=text: chat(text), PAY, kind=Kind.REGRESSOR)[0][0]
        for text in ("52000", "$52,000", "12", "between 40000 and 50000", "52k")
    ]
    assert [reply.value for reply in replies] == [52000.0, 52000.0, None, None, None]


def test_labels_are_scored_separately_for_each_of_several_system_prompts():
    def answer(request):
        strict = request.json["messages"][0]["content"] == "Be strict."
        return chat("no" if strict else "yes", {"yes": 0.2 if strict else 0.7, "no": 0.8 if strict else 0.3})

    (reply,), _ = decide(answer, {**OWN, "system": ["Be kind.", "Be strict."]})
    assert reply.value["scores"] == pytest.approx(
        {
            "yes (system prompt 1)": 0.7,
            "no (system prompt 1)": 0.3,
            "yes (system prompt 2)": 0.2,
            "no (system prompt 2)": 0.8,
        }
    )


def test_columns_of_a_record_are_filled_into_the_prompt():
    decision = {"prompt": "Income {income}, age {age}. Lend?", "labels": ["yes", "no"], "reading": "text"}
    (reply,), heard = decide(lambda _: chat("yes"), decision, cases=((("income", 12), ("age", None)),))
    assert reply.value["scores"]["yes"] == 1.0
    assert last_message(heard[0]).startswith("Income 12, age . Lend?")


def test_a_record_that_lacks_a_column_of_the_prompt_is_not_sent():
    decision = {"prompt": "Income {income}.", "labels": ["yes", "no"]}
    (reply,), heard = decide(lambda _: chat("yes"), decision, cases=((("wage", 12),),))
    assert reply.failure.code == "unsupported"
    assert not heard


# ------------------------------------------------------------------------------- protocols
def sent_texts(request):
    return json.dumps(request.json, ensure_ascii=False)


SYSTEM = {**OWN, "system": "You hire."}

SHAPES = {
    "anthropic": (
        {},
        {"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"},
        lambda body: body["system"],
    ),
    "gemini": (
        {},
        {"candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}]},
        lambda body: body["systemInstruction"]["parts"][0]["text"],
    ),
    "mistral": (
        {},
        {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]},
        lambda body: body["messages"][0]["content"],
    ),
    "cohere": (
        {},
        {"message": {"content": [{"type": "text", "text": "yes"}]}, "finish_reason": "COMPLETE"},
        lambda body: body["messages"][0]["content"],
    ),
    "bedrock": (
        {"auth": "none"},
        {"output": {"message": {"content": [{"text": "yes"}]}}, "stopReason": "end_turn"},
        lambda body: body["system"][0]["text"],
    ),
    "ollama": (
        {},
        {"message": {"role": "assistant", "content": "yes"}, "done": True, "done_reason": "stop"},
        lambda body: body["messages"][0]["content"],
    ),
    "openai-chat": ({}, chat("yes"), lambda body: body["messages"][0]["content"]),
    "openai-completions": (
        {},
        {"choices": [{"index": 0, "text": " yes", "finish_reason": "stop"}]},
        lambda body: body["prompt"].split("\n\n")[0],
    ),
    "tgi": (
        {},
        {"generated_text": " yes", "details": {"finish_reason": "eos_token", "tokens": []}},
        lambda body: body["inputs"].split("\n\n")[0],
    ),
    "hf-inference": (
        {"task": "text-generation"},
        [{"generated_text": " yes"}],
        lambda body: body["inputs"].split("\n\n")[0],
    ),
}


@pytest.mark.parametrize("protocol", SHAPES)
def test_a_language_model_of_any_protocol_can_be_used_as_a_classifier_with_a_system_prompt(protocol):
    settings, answer, system_of = SHAPES[protocol]
    (reply,), heard = decide(lambda _: answer, {**SYSTEM, "reading": "text"}, protocol, settings)
    assert reply.failure is None
    assert reply.value["scores"] == {"yes": 1.0, "no": 0.0}
    assert system_of(heard[0].json) == "You hire."
    assert "Ann applies. Invite?" in sent_texts(heard[0])


@pytest.mark.parametrize("protocol", SHAPES)
def test_no_empty_system_prompt_is_sent(protocol):
    settings, answer, _ = SHAPES[protocol]
    _, heard = decide(lambda _: answer, {**OWN, "reading": "text"}, protocol, settings)
    body = heard[0].json
    assert not {"system", "systemInstruction"} & body.keys()
    assert all(message["role"] == "user" for message in [*body.get("messages", []), *body.get("contents", [])])


def test_a_language_model_that_streams_its_answer_can_be_used_as_a_classifier():
    events = b'data: {"delta": "ye"}\n\ndata: {"delta": "s", "ended": "stop"}\n\n'
    settings = {
        "path": "/chat",
        "response": "events",
        "output": "delta",
        "ended": "ended",
        "body": {"system": "{system}", "input": "{text}"},
    }
    headers = {"Content-Type": "text/event-stream"}
    described = {**settings, "decision": {**SYSTEM, "reading": "text"}}
    heard: list[Any] = []
    with scripted_server(lambda _: Answer(events, headers=headers), heard) as url:
        target = Target("model", Kind.CLASSIFIER, "custom", url, described)
        (reply,) = answers(target, [Classify(CASE)])
    assert reply.value["scores"] == {"yes": 1.0, "no": 0.0}
    assert heard[0].json["system"] == "You hire."


@pytest.mark.parametrize("ended", ["choices[0].why", "choices[].why"])
@pytest.mark.parametrize(("why", "number"), [("length", None), ("stop", 4)])
def test_a_number_cut_at_the_token_limit_is_not_read_from_a_batch(ended, why, number):
    settings = {"body": {"input": "{texts}"}, "batch": "array", "output": "choices[].text"}
    settings |= {"ended": ended, "ended_cut": ["length"], "decision": {"prompt": "{text} Pay?", "range": [0, 100]}}
    with scripted_server(lambda _: Answer({"choices": [{"text": "4", "why": why}]}), []) as url:
        described = {"kind": "regressor", "protocol": "custom", "base_url": url, "settings": settings}
        (reply,) = answers(read_target(described), [Regress(CASE)])
    assert reply.value == number
    assert number or reply.failure.code == "no-choice"


def test_a_custom_model_used_as_a_regressor_can_declare_a_decimal_comma():
    settings = {"path": "/chat", "output": "reply", "number": "decimal-comma", "body": {"input": "{text}"}}
    decision = {"prompt": "{text} Pay?", "range": [10_000, 100_000]}
    with scripted_server(lambda _: Answer({"reply": "52.000,5"}), []) as url:
        described = {"kind": "regressor", "protocol": "custom", "base_url": url}
        target = read_target({**described, "settings": {**settings, "decision": decision}})
        (reply,) = answers(target, [Regress(CASE)])
    assert reply.value == 52_000.5


def test_every_language_model_protocol_can_describe_a_classifier_or_regressor():
    for protocol in protocols():
        if Kind.LANGUAGE_MODEL in protocol.kinds and protocol.name != "openai-images":
            assert {Kind.CLASSIFIER, Kind.REGRESSOR} <= protocol.kinds, protocol.name


@pytest.mark.parametrize(
    ("settings", "kind", "field"),
    [
        ({}, "classifier", "settings.decision"),
        ({"decision": {"name": "hiring"}}, "regressor", "kind"),
        ({"decision": PAY}, "classifier", "kind"),
        ({"decision": {"name": "hunting"}}, "classifier", "settings.decision.name"),
        ({"decision": {"prompt": "Well?", "labels": ["a", "b"]}}, "classifier", "settings.decision.prompt"),
        ({"decision": {"prompt": "{text}", "labels": ["a", "A"]}}, "classifier", "settings.decision.labels"),
        ({"decision": {"prompt": "{text}"}}, "classifier", "settings.decision.labels"),
        ({"decision": {"prompt": "{text}", "range": [2, 1]}}, "regressor", "settings.decision.range"),
        ({"decision": {"name": "pay", "system": ["a", "b"]}}, "regressor", "settings.decision.system"),
    ],
)
def test_invalid_decision_settings_are_refused_with_their_field(settings, kind, field):
    described = {
        "kind": kind,
        "protocol": "openai-chat",
        "base_url": "http://127.0.0.1:1",
        "settings": {"model": "m", **settings},
    }
    with pytest.raises(SpecificationError) as refused:
        read_target(described)
    assert refused.value.field == field


# ------------------------------------------------------------------------------- reading
YES_NO = ("yes", "no")


@pytest.mark.parametrize(
    "answer",
    [
        "yes",
        "Yes.",
        "**YES**",
        '"yes"',
        "Yes, he has every certificate.",
        '{"answer": "Yes"}',
        "ｙｅｓ",
        "yes\u200b",
        "<think>no</think>yes",
        "He is fit.\n\n**Decision: yes**",
        "The answer is yes.",
        "Yes\n\nThe file is complete.",
    ],
)
def test_a_clear_answer_is_read_as_its_label(answer):
    assert label_in(answer, YES_NO) == "yes"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "not yes",
        "My answer is not yes.",
        "I do not think the answer is yes",
        "yes and no",
        "Yes/No",
        "yes or no?",
        "I see yes as too generous",
        "Sí",
        "Oui",
        "Y",
        "<think>yes",
        "yes: not sure",
        "Is it yes?",
        "No problem, yes",
        "I'm sorry, I cannot say yes.",
        "The answer would be yes if he had a licence, otherwise no",
        "Yes. But not her.",
        "yes – nein, doch lieber ablehnen.",
        "no – ja, einladen",
    ],
)
def test_an_unclear_answer_is_read_as_no_label(answer):
    assert label_in(answer, YES_NO) is None


@pytest.mark.parametrize("answer", ["not approve", "I would not approve", "disapprove", "approve: no", "do not deny"])
def test_a_negated_label_is_read_as_no_label(answer):
    assert label_in(answer, ("approve", "deny")) is None


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("A", "yes"),
        ("b)", "no"),
        ("**B. no**", "no"),
        ("The answer is A.", "yes"),
        ("No.", "no"),
        ("B. yes", None),
        ("no comment on letters", None),
        ("A or B", None),
        ("neither A", None),
    ],
)
def test_an_option_is_recognised_by_its_letter_or_its_whole_text_but_not_by_words_of_a_sentence(answer, option):
    assert option_in(answer, YES_NO) == option


def test_a_first_token_counts_only_if_exactly_one_label_begins_with_it():
    assert label_probabilities([("I", math.log(0.9))], ("invite", "reject")) is None
    assert label_probabilities([("app", math.log(0.9))], ("approve", "approve later")) is None
    assert label_probabilities([("1", math.log(0.97))], [str(number) for number in range(1, 11)]) is None
    assert label_probabilities([("I", math.log(0.97))], ("I", "II", "III")) is None
    assert label_probabilities([("M", math.log(0.5)), ("F", math.log(0.5))], ("M", "MF", "F")) is None
    assert label_probabilities([("a", math.log(0.75)), ("b", math.log(0.25))], ("a", "b")) == {"a": 0.75, "b": 0.25}
    shares = label_probabilities([(" De", math.log(0.3)), ("▁app", math.log(0.3))], ("approve", "deny"))
    assert shares == pytest.approx({"approve": 0.5, "deny": 0.5})


@pytest.mark.parametrize("token", ["**", "+", "0"])
def test_first_tokens_are_not_read_if_a_label_consists_of_marks(token):
    assert label_probabilities([(token, math.log(0.9))], ("+", "0")) is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [("Yes", {"reasoning_content": "No red flags. She is qualified."}), ("No red flags.</think>\n\nYes", {})],
)
@pytest.mark.parametrize("reading", ["probabilities", "auto"])
def test_the_first_token_of_thoughts_is_no_decision(answer, message, reading):
    (reply,), _ = decide(lambda _: chat(answer, {"No": 0.6, "Yes": 0.4}, **message), {**OWN, "reading": reading})
    expected = {"yes": 1.0, "no": 0.0} if reading == "auto" else None
    assert (reply.value or {}).get("scores") == expected


def test_the_first_token_of_thoughts_is_no_letter_of_a_decision():
    def says_yes(request):
        letter = next(letter for letter, label in lettered(request).items() if label == "yes")
        return chat(letter, {letter: 0.1, "A" if letter == "B" else "B": 0.9}, reasoning="The other has flaws.")

    (reply,), _ = decide(says_yes, {**OWN, "reading": "letters"})
    assert reply.value["scores"] == {"yes": 1.0, "no": 0.0}


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("500", 500),
        ("$500", 500),
        ("Answer: **500**", 500),
        ("5,000", None),
        ("-500", None),
        ("500 or 600", None),
        ("2k", None),
        ("five hundred", None),
        ("70000", None),
        ("", None),
    ],
)
def test_an_ambiguous_number_is_not_read(answer, number):
    assert number_in(answer, (0, 50_000), None) == number


# ------------------------------------------------------------------------------- languages
@pytest.mark.parametrize(("language", "yes"), [("fr", "oui"), ("es", "sí"), ("de", "ja"), ("it", "sì"), ("pt", "sim")])
def test_a_built_in_decision_question_is_asked_and_its_answer_read_in_the_chosen_language(language, yes):
    decision = {"name": "hiring", "language": language}
    replies, heard = decide(lambda _: chat(yes.capitalize()), {**decision, "reading": "text"})
    assert replies[0].value["scores"][yes] == 1.0
    assert yes in last_message(heard[0])
    assert "Answer" not in last_message(heard[0])
    _, heard = decide(lambda _: chat("A"), {**decision, "reading": "letters"})
    assert {*lettered(heard[0]).values()} >= {yes}
    assert "Answer" not in last_message(heard[0])


@pytest.mark.parametrize(
    ("decision", "field"),
    [
        ({"name": "hiring", "language": "xx"}, "language"),
        ({"name": "moderation", "language": "fr"}, "name"),
        ({"prompt": "{text} Combien ?", "range": [0, 9], "language": "fr"}, "language"),
    ],
)
def test_a_decision_that_has_no_texts_in_the_chosen_language_is_refused_with_its_field(decision, field):
    kind = Kind.REGRESSOR if "range" in decision else Kind.CLASSIFIER
    with pytest.raises(SpecificationError) as refused:
        decide(lambda _: chat("oui"), decision, kind=kind)
    assert refused.value.field == f"settings.decision.{field}"
