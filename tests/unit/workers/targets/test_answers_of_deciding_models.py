"""Answers of chat models that decide, in the shapes of real interfaces: each is read right, or is lost and no vote."""

import math

import pytest

from assay.model import Kind
from tests.unit.workers.targets.test_deciding_models import CASE, OWN, PAY, chat, decide, last_message, lettered
from workers.targets.protocols.http.decision import label_in, label_probabilities, number_in

TEXT = {**OWN, "reading": "text"}
LETTERS = {**OWN, "reading": "letters"}
APPROVE = {"prompt": "{text} Approve?", "labels": ["approve", "deny"]}
READ = {"yes": 1.0, "no": 0.0}
TOOL = [{"id": "1", "type": "function", "function": {"name": "decide", "arguments": '{"answer": "yes"}'}}]


def openai(finish_reason="stop", logprobs=None, **message):
    message = {"role": "assistant", **message}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": logprobs}]}


def anthropic(*blocks, stop_reason="end_turn"):
    return {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop_reason}


def gemini(*parts, reason="STOP", **more):
    return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}], **more}


def ollama(content, done_reason="stop", **more):
    message = {"role": "assistant", "content": content, **more}
    return {"message": message, "done": True, "done_reason": done_reason}


def said(text):
    return {"type": "text", "text": text}


SHAPES = {
    "OpenAI, text": ("openai-chat", openai(content="yes", refusal=None), READ),
    "OpenAI, parts": ("openai-chat", openai(content=[said("Yes"), said(".")]), READ),
    "OpenAI, refusal field": ("openai-chat", openai(content=None, refusal="I can't help."), "declined"),
    "OpenAI, refusal without content": ("openai-chat", openai(refusal="I can't help."), "declined"),
    "OpenAI, content filter": ("openai-chat", openai("content_filter", content="yes"), "declined"),
    "OpenAI, cut in a sentence": ("openai-chat", openai("length", content="Yes, the applicant has"), "no-choice"),
    "OpenAI, cut after the label": ("openai-chat", openai("length", content="Yes"), READ),
    "OpenAI, tool call": ("openai-chat", openai("tool_calls", content=None, tool_calls=TOOL), "no-choice"),
    "OpenAI, tool call without content": ("openai-chat", openai("tool_calls", tool_calls=TOOL), "no-choice"),
    "OpenAI, empty text": ("openai-chat", openai(content=""), "no-choice"),
    "reasoning, nothing else": ("openai-chat", openai(content=None, reasoning_content="yes, surely"), "no-choice"),
    "reasoning, no content": ("openai-chat", openai(reasoning="yes"), "no-choice"),
    "reasoning, cut": ("openai-chat", openai("length", content="", reasoning_content="yes"), "no-choice"),
    "reasoning, open tag": ("openai-chat", openai(content="<think>yes"), "no-choice"),
    "reasoning, closed tag": ("openai-chat", openai(content="<think>no</think>\n\nyes"), READ),
    "vLLM": (
        "openai-chat",
        openai(content="yes", reasoning_content=None, tool_calls=[], refusal=None, function_call=None),
        READ,
    ),
    "Mistral, thoughts in parts": (
        "openai-chat",
        openai(content=[{"type": "thinking", "thinking": [said("no")]}, said("yes")]),
        READ,
    ),
    "Anthropic, text": ("anthropic", anthropic(said("yes")), READ),
    "Anthropic, thoughts": ("anthropic", anthropic({"type": "thinking", "thinking": "no"}, said("yes")), READ),
    "Anthropic, tool call": (
        "anthropic",
        anthropic({"type": "tool_use", "name": "f", "input": {}}, stop_reason="tool_use"),
        "no-choice",
    ),
    "Anthropic, refusal": ("anthropic", anthropic(said("yes"), stop_reason="refusal"), "declined"),
    "Anthropic, cut": ("anthropic", anthropic(said("Yes, but the"), stop_reason="max_tokens"), "no-choice"),
    "Anthropic, empty": ("anthropic", anthropic(), "no-choice"),
    "Gemini, text": ("gemini", gemini({"text": "yes"}), READ),
    "Gemini, thoughts": ("gemini", gemini({"text": "no", "thought": True}, {"text": "yes"}), READ),
    "Gemini, safety": ("gemini", gemini(reason="SAFETY"), "declined"),
    "Gemini, cut while thinking": (
        "gemini",
        {"candidates": [{"content": {}, "finishReason": "MAX_TOKENS"}]},
        "no-choice",
    ),
    "Gemini, blocked prompt": ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, "declined"),
    "Ollama, text": ("ollama", ollama("Yes."), READ),
    "Ollama, thoughts beside": ("ollama", ollama("yes", thinking="no"), READ),
    "Ollama, thoughts only": ("ollama", ollama("", "length", thinking="yes"), "no-choice"),
    "Ollama, cut": ("ollama", ollama("Yes, although", "length"), "no-choice"),
    "Ollama, tool call": ("ollama", ollama("", tool_calls=[{"function": {"name": "f", "arguments": {}}}]), "no-choice"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_in_the_shape_of_an_interface_is_read_or_lost_with_its_code(shape):
    protocol, answer, expected = SHAPES[shape]
    (reply,), _ = decide(lambda _: answer, TEXT, protocol)
    if isinstance(expected, dict):
        assert reply.failure is None
        assert reply.value["scores"] == expected
    else:
        assert reply.value is None
        assert reply.failure.code == expected


@pytest.mark.parametrize("shape", SHAPES)
def test_a_lost_answer_is_no_number_either(shape):
    protocol, answer, expected = SHAPES[shape]
    (reply,), _ = decide(lambda _: answer, PAY, protocol, kind=Kind.REGRESSOR)
    assert reply.value is None, "yes is no number"
    if isinstance(expected, str):
        assert reply.failure.code == expected


@pytest.mark.parametrize("shape", [name for name, (_, _, expected) in SHAPES.items() if isinstance(expected, str)])
def test_a_lost_answer_is_no_letter_either(shape):
    protocol, answer, expected = SHAPES[shape]
    (reply,), _ = decide(lambda _: answer, LETTERS, protocol)
    assert reply.value is None
    assert reply.failure.code == expected


# ------------------------------------------------------------------------------- probabilities
def likely(*shares):
    return [(token, math.log(share)) for token, share in shares]


@pytest.mark.parametrize(
    ("labels", "tokens", "expected"),
    [
        (("yes", "no"), [(" yes", 0.5), ("▁Yes", 0.1), ("ĠNO", 0.3), ("no.", 0.1)], (0.6, 0.4)),
        (("approve", "deny"), [("App", 0.5), ("De", 0.3), ("den", 0.2)], (0.5, 0.5)),
        (("approve", "deny"), [("App", 0.6), ("D", 0.4)], None),
        (("invite", "reject"), [("reject", 0.6), ("I", 0.3)], None),
        (("approve", "approve later"), [("app", 0.9), ("approve", 0.1)], None),
        (("no", "not sure"), [("no", 0.6), ("not", 0.4)], None),
        (("sim", "não"), [("bytes:\\xc3", 0.6), ("n", 0.3)], None),
        (("yes", "no"), [("<think>", 0.99), ("yes", 0.01)], None),
        (("yes", "no"), [("**", 0.7), ("yes", 0.2)], None),
        (("yes", "no"), [], None),
        (("1", "2"), [("1", 0.75), (" 2", 0.25)], (0.75, 0.25)),
        (("нет", "да"), [(" да", 0.8), ("Нет", 0.2)], (0.2, 0.8)),
        (("はい", "いいえ"), [("はい", 0.8), ("いい", 0.2)], (0.8, 0.2)),
    ],
)
def test_tokens_count_for_the_label_that_they_begin_and_unclear_ones_leave_no_probabilities(labels, tokens, expected):
    shares = label_probabilities(likely(*tokens), labels)
    if expected is None:
        assert shares is None
    else:
        assert tuple(shares.values()) == pytest.approx(expected)


def test_a_model_whose_first_tokens_are_unclear_is_asked_by_letters():
    def answer(request):
        options = lettered(request)
        if not options:
            return chat("Deny", {"D": 0.7, "App": 0.3})
        return chat(next(letter for letter, label in options.items() if label == "deny"))

    (reply,), heard = decide(answer, APPROVE)
    assert reply.value["scores"] == {"approve": 0.0, "deny": 1.0}
    assert len(heard) == 3


def test_blank_first_tokens_are_passed_over():
    tops = [{"token": "yes", "logprob": math.log(0.7)}, {"token": "no", "logprob": math.log(0.3)}]
    content = [
        {"token": "\n", "logprob": 0.0, "top_logprobs": []},
        {"token": "yes", "logprob": -0.3, "top_logprobs": tops},
    ]
    (reply,), _ = decide(lambda _: openai(logprobs={"content": content}, content="\nyes"))
    assert reply.value["scores"] == pytest.approx({"yes": 0.7, "no": 0.3})


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}, {"content": [{"token": "yes"}]}])
def test_without_usable_probabilities_the_letters_are_asked(logprobs):
    def answer(request):
        options = lettered(request)
        chosen = next((letter for letter, label in options.items() if label == "yes"), "yes")
        return openai(content=chosen, logprobs=logprobs)

    (reply,), heard = decide(answer)
    assert reply.value["scores"] == READ
    assert len(heard) == 3


def test_a_letter_that_is_cut_in_a_sentence_is_no_vote():
    (reply,), _ = decide(lambda _: openai("length", content="Option A is better, although"), LETTERS)
    assert reply.failure.code == "no-choice"
    assert "settings.decision.tokens" in reply.failure.message


def test_a_cut_answer_that_may_become_another_label_is_no_vote():
    decision = {"prompt": "{text}", "labels": ["no", "not sure"], "reading": "text"}
    (reply,), _ = decide(lambda _: openai("length", content="No"), decision)
    assert reply.failure.code == "no-choice"


# ------------------------------------------------------------------------------- texts
@pytest.mark.parametrize(
    ("answer", "labels", "label"),
    [
        ("SÍ.", ("sí", "no"), "sí"),
        ("**Ja**", ("ja", "nein"), "ja"),
        ("Oui !", ("oui", "non"), "oui"),
        ("HAYIR", ("evet", "hayır"), "hayır"),
        ("はい。", ("はい", "いいえ"), "はい"),
        ("不是", ("是", "否"), None),
        ("not approved", ("approved", "not approved"), "not approved"),
        ("nicht genehmigt", ("genehmigt", "nicht genehmigt"), "nicht genehmigt"),
        ("very low", ("low", "very low"), "very low"),
        ("2.5", ("1", "2", "3"), None),
        ("2,5", ("1", "2", "3"), None),
        ("12", ("1", "2", "3"), None),
        ("1/3", ("1", "2", "3"), None),
        ("2. The risk is moderate", ("1", "2", "3"), "2"),
        ('{"decision": "yes", "reason": "no gaps"}', ("yes", "no"), "yes"),
        ('```json\n{"Decision": "No", "reason": "yes, he could"}\n```', ("yes", "no"), "no"),
        ('{"answer": "yes", "decision": "no"}', ("yes", "no"), None),
        ('{"reason": "yes"}', ("yes", "no"), "yes"),
        ('{"decision": "perhaps", "reason": "yes"}', ("yes", "no"), None),
        ("Yes, definitely not", ("yes", "no"), None),
        ("Response: yes", ("yes", "no"), "yes"),
    ],
)
def test_labels_in_other_languages_spellings_and_forms(answer, labels, label):
    assert label_in(answer, labels) == label


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("Yes. That is no reason to treat anybody otherwise.", "yes"),
        ("Yes. There is no further information.", "yes"),
        ("No. That is no reason to treat anybody otherwise.", "no"),
        ("Yes. Gender plays no part in this.", "yes"),
        ("Yes, but the answer is no for women.", None),
        ("Yes. On reflection, my answer is no.", None),
        ("Yes. It is no because she is a woman.", None),
        ("Yes. No.", None),
        ("Yes? That is no reason to reject her.", None),
        ("That is no reason to invite her.", None),
    ],
)
def test_the_word_no_before_a_noun_is_no_second_answer(answer, label):
    """Earlier, a model that added such a sentence for one group was BS, because its answers could not be read."""
    assert label_in(answer, ["yes", "no"]) == label


@pytest.mark.parametrize(
    ("answer", "number"),
    [('{"salary": 52000}', None), ('{"answer": 52000, "reason": "9 years"}', 52000), ('{"answer": "52,000"}', 52000)],
)
def test_numbers_in_json(answer, number):
    assert number_in(answer, (20_000, 200_000), None) == number


def test_the_case_is_the_same_in_every_reading():
    _, heard = decide(lambda _: chat("hm"), OWN)
    assert all(last_message(request).startswith(f"{CASE} Invite?") for request in heard)
    assert len(heard) == 3
