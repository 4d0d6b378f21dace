"""Requests of every protocol to language models, and parsing of their answers."""

import asyncio
import json
import math
import traceback
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from assay.model import Choose, Classify, Draw, Embed, Fill, Kind, Score, Write
from workers.egress import CODES, CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.protocols.http.choice_letters import INSTRUCTION
from workers.targets.protocols.openai.completions import valid_pairs
from workers.targets.registry import connect

SECRET = "sk-do-not-show-1234"
BEARER = {"authorization": f"Bearer {SECRET}"}

TEXT, OTHER = "She is a “nurse”.", "He came."
CHOICE = Choose("Which is likelier?", ("She is a nurse.", "He is a nurse."))
SHOWN = "Which is likelier?\n\nA. She is a nurse.\nB. He is a nurse."
ENDING = f"{SHOWN}\n\n{INSTRUCTION}\nAnswer:"
WRITE = Write("Write about a nurse.", 7)
FILL = Fill("She works as a ", "nurse", " here.")


@dataclass(frozen=True)
class Case:
    """Call in one protocol: the expected request, and the answer of the service."""

    protocol: str
    asks: list[Any]
    path: str
    sent: Any
    answer: Any
    got: list[Any]
    settings: dict[str, Any] = field(default_factory=dict)


def scored(number, tokens):
    return {"log_probability": pytest.approx(number), "tokens": tokens}


def echoed(index, tokens, values, text="", **more):
    told = {"tokens": tokens, "token_logprobs": values, **more}
    return {"index": index, "text": text or "".join(tokens), "logprobs": told, "finish_reason": "length"}


HE = echoed(1, ["He", " came", "."], [None, -2.5, -0.25])
SHE = echoed(0, ["She", " is", " a", " “", "nurse", "”."], [None, -1.0, -2.0, -3.0, -4.0, -5.0])


def chatted(content, reason="stop", likely=None):
    tops = [{"token": token, "logprob": value} for token, value in (likely or {}).items()]
    told = {"content": [{"token": "B", "logprob": -0.1, "top_logprobs": tops}]} if likely else None
    message = {"role": "assistant", "content": content}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": told}]}


def completed(text, tokens=(), tops=(), reason="stop"):
    told = {"tokens": list(tokens), "top_logprobs": list(tops)} if tokens else None
    return {"choices": [{"index": 0, "text": text, "logprobs": told, "finish_reason": reason}]}


def generated(text, reason="stop_sequence", **details):
    return {"generated_text": text, "details": {"finish_reason": reason, **details}}


def prefill(*pairs):
    return [{"id": 1, "text": text, "logprob": value} for text, value in pairs]


SCORES = {
    "openai-completions, out of order": Case(
        "openai-completions",
        [Score(TEXT), Score(OTHER)],
        "/v1/completions",
        {
            "model": "m",
            "prompt": [TEXT, OTHER],
            "max_tokens": 0,
            "echo": True,
            "logprobs": 1,
            "temperature": 0.0,
            "seed": 0,
        },
        {"choices": [HE, SHE]},
        [scored(-15.0, 5), scored(-2.75, 2)],
        {"model": "m"},
    ),
    "openai-completions, with one token of an answer": Case(
        "openai-completions",
        [Score(OTHER)],
        "/v1/completions",
        {"model": "m", "prompt": OTHER, "max_tokens": 1, "echo": True, "logprobs": 0, "temperature": 0.0},
        {"choices": [echoed(0, ["<s>", "He", " came", ".", " And"], [None, -9.0, -2.5, -0.25, -7.0])]},
        [scored(-11.75, 3)],
        {"model": "m", "echo_max_tokens": 1, "echo_logprobs": 0, "seed": None},
    ),
    "tgi": Case(
        "tgi",
        [Score("She is a nurse.")],
        "/generate",
        {
            "inputs": "She is a nurse.",
            "parameters": {"details": True, "decoder_input_details": True, "max_new_tokens": 1, "do_sample": False},
        },
        generated(
            " And",
            prefill=prefill(("<s>", None), ("She", -1.5), ("is", -2.0), ("a", -0.5), ("nurse", -6.0), (".", -0.25)),
        ),
        [scored(-10.25, 5)],
    ),
    "custom, one number": Case(
        "custom",
        [Score(TEXT)],
        "/p",
        {"q": TEXT},
        {"of": {"log": -31.5}},
        [scored(-31.5, 1)],
        {"path": "/p", "body": {"q": "{text}"}, "output": "of.log", "answer": "log-probability", "auth": "header"},
    ),
    "custom, the numbers of the tokens of several texts": Case(
        "custom",
        [Score(TEXT), Score(OTHER)],
        "/p",
        [TEXT, OTHER],
        [[None, -1.5, -2.5], [-4.0, -1.0]],
        [scored(-4.0, 2), scored(-5.0, 2)],
        {"path": "/p", "body": "{texts}", "batch": "array", "answer": "log-probability", "auth": "header"},
    ),
}

FILLS = {
    "hf-inference, fill-mask": Case(
        "hf-inference",
        [FILL],
        "/models/bert",
        {"inputs": "She works as a [MASK] here.", "parameters": {"targets": ["nurse"], "top_k": 1}},
        [{"score": 0.125, "token": 6821, "token_str": "nurse", "sequence": "she works as a nurse here."}],
        [{"probability": 0.125}],
        {"model": "bert", "task": "fill-mask"},
    ),
    "hf-inference, a mask and words of RoBERTa's family": Case(
        "hf-inference",
        [FILL],
        "/models/roberta",
        {"inputs": "She works as a <mask> here.", "parameters": {"targets": [" nurse"], "top_k": 1}},
        [[{"score": 0.125, "token": 6821, "token_str": " nurse"}]],
        [{"probability": 0.125}],
        {"model": "roberta", "task": "fill-mask", "mask": "<mask>", "word_begins_with_space": True},
    ),
    "hf-inference, the first word of a text, which has no space": Case(
        "hf-inference",
        [Fill("", "She", " came.")],
        "/models/roberta",
        {"inputs": "<mask> came.", "parameters": {"targets": ["She"], "top_k": 1}},
        [{"score": 0.25, "token_str": "She"}],
        [{"probability": 0.25}],
        {"model": "roberta", "task": "fill-mask", "mask": "<mask>", "word_begins_with_space": True},
    ),
    "hf-inference, a model of small letters": Case(
        "hf-inference",
        [Fill("", "She", " came.")],
        "/models/bert",
        {"inputs": "[MASK] came.", "parameters": {"targets": ["She"], "top_k": 1}},
        [{"score": 1.0000001, "token_str": "she"}],
        [{"probability": 1.0}],
        {"model": "bert", "task": "fill-mask", "uncased": True},
    ),
}

CHOICES = {
    "openai-chat": Case(
        "openai-chat",
        [CHOICE],
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": SHOWN}],
            "stream": False,
            "temperature": 0.0,
            "seed": 0,
            "max_tokens": 8,
            "logprobs": True,
            "top_logprobs": 5,
        },
        # the probabilities of both spellings of B are added
        chatted("A", likely={"A": -1.25, " B": -1.5, "b)": -1.75, "The": -3.0}),
        [{"choice": 1}],
        {"model": "m"},
    ),
    "openai-chat, without probabilities": Case(
        "openai-chat",
        [CHOICE],
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [{"role": "system", "content": "One letter."}, {"role": "user", "content": SHOWN}],
            "stream": False,
        },
        chatted("**B.**"),
        [{"choice": 1}],
        {
            "model": "m",
            "temperature": None,
            "seed": None,
            "choice_tokens": None,
            "top_logprobs": None,
            "choice_instruction": "One letter.",
        },
    ),
    "openai-completions": Case(
        "openai-completions",
        [CHOICE],
        "/v1/completions",
        {"model": "m", "prompt": ENDING, "max_tokens": 8, "logprobs": 5, "temperature": 0.0, "seed": 0},
        completed("\n A\n", ["\n", " A"], [{"\n": -0.1, " B": -0.2}, {" A": -0.5, " B": -1.5}]),
        [{"choice": 0}],
        {"model": "m"},
    ),
    "openai-completions, of a model that goes on": Case(
        "openai-completions",
        [CHOICE],
        "/v1/completions",
        {"model": "m", "prompt": ENDING, "max_tokens": 4, "temperature": 0.0, "seed": 0},
        completed(" B\n\nWhich is A?\nAnswer: A", reason="length"),
        [{"choice": 1}],
        {"model": "m", "choice_tokens": 4, "top_logprobs": None},
    ),
    "openai-completions, with probabilities as chats have them": Case(
        "openai-completions",
        [CHOICE],
        "/v1/completions",
        {"model": "m", "prompt": ENDING, "max_tokens": 8, "logprobs": 5, "temperature": 0.0, "seed": 0},
        {"choices": [{**chatted("", likely={"B": -0.5, "A": -1.0})["choices"][0], "text": " A"}]},
        [{"choice": 1}],
        {"model": "m"},
    ),
    "tgi": Case(
        "tgi",
        [CHOICE],
        "/generate",
        {
            "inputs": ENDING,
            "parameters": {"details": True, "max_new_tokens": 8, "do_sample": False, "top_n_tokens": 5},
        },
        generated(
            " A",
            tokens=[{"text": " A", "logprob": -0.5}],
            top_tokens=[[{"text": " A", "logprob": -0.75}, {"text": " B", "logprob": -0.5}]],
        ),
        [{"choice": 1}],
    ),
    "ollama": Case(
        "ollama",
        [CHOICE],
        "/api/chat",
        {
            "model": "m:1b",
            "messages": [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": SHOWN}],
            "stream": False,
            "options": {"temperature": 0.0, "seed": 0, "num_predict": 8},
            "logprobs": True,
            "top_logprobs": 5,
        },
        {"message": {"role": "assistant", "content": "B) He is a nurse."}, "done": True, "done_reason": "stop"},
        [{"choice": 1}],
        {"model": "m:1b"},
    ),
    "hf-inference, text-generation": Case(
        "hf-inference",
        [CHOICE],
        "/models/m",
        {"inputs": ENDING, "parameters": {"return_full_text": False, "max_new_tokens": 8, "do_sample": False}},
        [{"generated_text": " A"}],
        [{"choice": 0}],
        {"model": "m", "task": "text-generation"},
    ),
    "custom": Case(
        "custom",
        [CHOICE],
        "/say",
        {"prompt": ENDING},
        {"said": "Answer: A"},
        [{"choice": 0}],
        {"path": "/say", "body": {"prompt": "{text}"}, "output": "said", "auth": "header"},
    ),
}

WRITINGS = {
    "openai-chat": Case(
        "openai-chat",
        [WRITE],
        "/v1/chat/completions",
        {
            "model": "m",
            "messages": [{"role": "user", "content": WRITE.prompt}],
            "stream": False,
            "temperature": 1.0,
            "seed": 7,
            "max_tokens": 400,
            "stop": ["\n\n"],
        },
        chatted(" The nurse slept. \n"),
        ["The nurse slept."],
        {"model": "m", "writing_stop": ["\n\n"]},
    ),
    "openai-completions, several": Case(
        "openai-completions",
        [WRITE, Write("Write about a river.", 7)],
        "/v1/completions",
        {
            "model": "m",
            "prompt": [WRITE.prompt, "Write about a river."],
            "max_tokens": 9,
            "temperature": 0.5,
            "seed": 7,
        },
        {"choices": [{"index": 1, "text": "B", "logprobs": None}, {"index": 0, "text": "A", "finish_reason": "stop"}]},
        ["A", "B"],
        {"model": "m", "writing_tokens": 9, "writing_temperature": 0.5},
    ),
    "tgi": Case(
        "tgi",
        [WRITE],
        "/generate",
        {
            "inputs": WRITE.prompt,
            "parameters": {"details": True, "max_new_tokens": 400, "do_sample": True, "temperature": 1.0, "seed": 7},
        },
        generated("A nurse.", "eos_token"),
        ["A nurse."],
    ),
    "ollama": Case(
        "ollama",
        [WRITE],
        "/api/chat",
        {
            "model": "m",
            "messages": [{"role": "user", "content": WRITE.prompt}],
            "stream": False,
            "options": {"temperature": 1.0, "seed": 7, "num_predict": 400},
        },
        {"message": {"content": "A nurse."}, "done_reason": "stop"},
        ["A nurse."],
        {"model": "m"},
    ),
    "hf-inference, an endpoint of its own": Case(
        "hf-inference",
        [WRITE],
        "/",
        {
            "inputs": WRITE.prompt,
            "parameters": {"return_full_text": False, "max_new_tokens": 400, "do_sample": True, "temperature": 1.0},
        },
        {"generated_text": "A nurse."},
        ["A nurse."],
        {"task": "text-generation", "seed": None},
    ),
    "custom, plain text": Case(
        "custom",
        [WRITE],
        "/say",
        {"prompt": WRITE.prompt},
        b"A nurse.\n",
        ["A nurse."],
        {"path": "/say", "body": {"prompt": "{text}"}, "response": "text", "auth": "header"},
    ),
}

CASES = {
    f"{case.asks[0].asks}: {name}": case for some in (SCORES, FILLS, CHOICES, WRITINGS) for name, case in some.items()
}


def target(url: str, case: Case) -> Target:
    return Target("T", Kind.LANGUAGE_MODEL, case.protocol, url, case.settings, SECRET, Limits(timeout_s=5))


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


def failure(wire, case: Case, answer: Any):
    """Return the failure of the case's only question for an answer of the service."""
    replies, _ = exchange(wire, replace(case, answer=answer))
    assert not isinstance(replies, CallFailed), replies
    assert replies[0].failure is not None, replies[0].value
    return replies[0].failure


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_language_model_protocol_sends_the_documented_request_and_reads_the_answer(wire, case):
    replies, (heard,) = exchange(wire, case)
    assert not isinstance(replies, CallFailed), replies
    assert (heard.method, heard.path, heard.json) == ("POST", case.path, case.sent)
    assert {name: heard.headers.get(name) for name in BEARER} == BEARER
    assert heard.headers["idempotency-key"] == "job_1:u"
    assert [reply.failure for reply in replies] == [None] * len(case.got)
    assert [reply.value for reply in replies] == case.got


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("status", ["401 No", "429 Slow", "500 Ill", "302 Away"])
def test_no_failed_call_to_a_language_model_shows_the_secret(wire, case, status):
    failed, _ = exchange(wire, case, wire.raw(f"your key {case.settings} {SECRET} is wrong", status))
    assert isinstance(failed, CallFailed)
    assert SECRET not in "".join((str(failed), repr(failed), *traceback.format_exception(failed)))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_json_of_another_protocol_and_web_pages_are_refused(wire, case):
    strange, _ = exchange(wire, case, wire.as_json({"detail": "no"}))
    page, _ = exchange(wire, case, wire.raw("<html>Welcome</html>", content_type="text/html"))
    if case.settings.get("response") == "text":
        return  # in plain text any body is a valid answer
    assert (strange if isinstance(strange, CallFailed) else strange[0].failure).code in {"wrong-shape", "wrong-count"}
    assert (page.code, page.retriable) == ("garbage", True)


def test_a_text_that_repeats_the_key_fails_without_showing_the_key(wire):
    lost = failure(wire, WRITINGS["openai-chat"], chatted(f"Your key is {SECRET}."))
    assert (lost.code, SECRET in lost.message) == ("wrong-shape", False)


WRONG = (None, True, 0, -1, 1.5, 10**30, "", "text", [], [None], ["a", "b"], {}, {"text": None}, [{}], float("nan"))
"""Values that replace each part of a valid answer in turn."""


def mutations(value):
    """Return all variants of a JSON value with one part replaced or removed."""
    yield from WRONG
    for at in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        rest = (
            {k: v for k, v in value.items() if k != at} if isinstance(value, dict) else [*value[:at], *value[at + 1 :]]
        )
        yield rest
        for wrong in mutations(value[at]):
            made = dict(value) if isinstance(value, dict) else list(value)
            made[at] = wrong
            yield made


def is_sound(ask, reply):
    """Return whether a reply is a failure with a known code, or a valid value for its question."""
    if reply.failure is not None:
        return reply.failure.code in CODES
    match ask:
        case Score():
            return -math.inf < reply.value["log_probability"] <= 0 and reply.value["tokens"] > 0
        case Fill():
            return 0 <= reply.value["probability"] <= 1
        case Choose():
            return reply.value["choice"] in range(len(ask.options))
        case _:
            return isinstance(reply.value, str) and reply.value


IN_JSON = {name: case for name, case in CASES.items() if not isinstance(case.answer, bytes)}


@pytest.mark.parametrize("case", IN_JSON.values(), ids=IN_JSON)
def test_any_change_to_the_json_of_an_answer_gives_a_valid_value_or_a_known_failure(wire, case):
    bodies = list(mutations(case.answer))

    async def go():
        said = iter(bodies)
        unsound = []
        async with (
            wire.listening(lambda heard: wire.as_json(next(said))) as service,
            Egress(wire.loopback) as egress,
        ):
            adapter = connect(target(service.url, case), egress)
            for body in bodies:
                try:
                    replies = await adapter.answer(case.asks)
                except CallFailed as failed:
                    if failed.code not in CODES:
                        unsound.append((body, failed.code))
                    continue
                if not all(map(is_sound, case.asks, replies)):
                    unsound.append((body, replies))
        return unsound

    assert asyncio.run(go()) == []


# ---------------------------------------------------------------------------- scores
ONE = SCORES["openai-completions, with one token of an answer"]
PREFILL = SCORES["tgi"]

UNECHOED = {
    "no probabilities": {"index": 0, "text": OTHER, "logprobs": None},
    "only the answer's token": echoed(0, [" And"], [-7.0]),
    "another text": echoed(0, ["She", " came", "."], [None, -1.0, -1.0]),
    "half of the text": echoed(0, ["He", " came"], [None, -1.0]),
    "every number is 0": echoed(0, ["He", " came", "."], [0.0, 0.0, 0.0]),
    "tokens without numbers": echoed(0, ["He", " came", ".", " And"], [None, None, None, -1.0]),
    "no tokens": echoed(0, [], [], " And"),
    "tokens that are no list": {"index": 0, "text": OTHER, "logprobs": {"tokens": "He came.", "token_logprobs": None}},
    "offsets of the answer alone": echoed(0, ["x"], [-1.0], " x", text_offset=[0]),
    "one token of an answer in the prompt's place": echoed(0, [" x"], [-0.7], text="He came. x", text_offset=[0]),
    "two of them": echoed(0, [" And", " then"], [-0.7, -1.2], text="He came. And then", text_offset=[0, 4]),
    "the text with some of its tokens": echoed(0, ["He", "."], [-1.0, -2.0], text="He came.", text_offset=[0, 2]),
}


@pytest.mark.parametrize("number", [-9999.0, -1000, -1e4])
def test_a_number_in_place_of_an_unknown_log_probability_is_not_summed(wire, number):
    choice = echoed(0, ["He", " came", "."], [-1.0, -2.0, number], text="He came.", text_offset=[0, 2, 7])
    assert failure(wire, ONE, {"choices": [choice]}).code == "wrong-shape"


@pytest.mark.parametrize("choice", UNECHOED.values(), ids=UNECHOED)
def test_engine_that_does_not_echo_the_prompt_is_refused(wire, choice):
    assert failure(wire, ONE, {"choices": [choice]}).code == "no-echo"


@pytest.mark.parametrize(
    "tokens",
    [[], prefill(("And", -1.0)), prefill(("<s>", None), ("She", 0.0), ("is", 0), ("a", 0), ("nurse", 0), (".", 0))],
)
def test_a_server_without_token_details_of_the_prompt_is_refused(wire, tokens):
    assert failure(wire, PREFILL, generated(" And", prefill=tokens)).code == "no-echo"


MISREAD = {
    "a number that is not finite": echoed(0, ["He", " came", "."], [None, -1.0, float("-inf")]),
    "a mark for a missing number": echoed(0, ["He", " came", "."], [None, -1.0, -9999.0]),
    "a mark for a single token": echoed(0, ["He came."], [-9999.0]),
    "a number above 0": echoed(0, ["He", " came", "."], [None, -1.0, 2.5]),
    "a truth value": echoed(0, ["He", " came", "."], [None, -1.0, True]),
    "a hole": echoed(0, ["He", " came", "."], [None, -1.0, None]),
    "a text": echoed(0, ["He", " came", "."], [None, "-1.0", -1.0]),
    "lists of two lengths": echoed(0, ["He", " came", "."], [None, -1.0]),
    "one token": echoed(0, ["He came."], [None]),
}


@pytest.mark.parametrize("choice", MISREAD.values(), ids=MISREAD)
def test_answer_that_is_not_a_log_probability_is_a_failure(wire, choice):
    assert failure(wire, ONE, {"choices": [choice]}).code == "wrong-shape"


SPELLED = {
    "marks for blanks": (["▁He", "▁came", "."], {}),
    "other marks for blanks": (["He", "Ġcame", "."], {}),
    "without blanks": (["He", "came", "."], {}),
    "bytes of a character, with offsets": (
        ["He", " came", "bytes:\\x2e"],
        {"text": "He came. And", "text_offset": [0, 2, 7]},
    ),
}


@pytest.mark.parametrize(("tokens", "more"), SPELLED.values(), ids=SPELLED)
def test_tokens_are_recognised_however_their_blanks_are_written(wire, tokens, more):
    case = replace(ONE, answer={"choices": [echoed(0, tokens, [None, -2.5, -0.25], **more)]})
    replies, _ = exchange(wire, case)
    assert replies[0].value == scored(-2.75, 2)


def test_characters_split_over_tokens_do_not_prevent_finding_the_prompt(wire):
    told = prefill(("<s>", None), ("She", -1), ("is", -1), ("a", -1), ("�", -1), ("�", -1), ("nurse", -1), ("”.", -1))
    replies, _ = exchange(wire, replace(PREFILL, asks=[Score(TEXT)], answer=generated("", prefill=told)))
    assert replies[0].value == scored(-7.0, 7)
    strange = [Score("护士来了")]
    replies, _ = exchange(wire, replace(PREFILL, asks=strange, answer=generated("", prefill=prefill(("�", -1)) * 4)))
    assert replies[0].failure.code == "no-echo"


@pytest.mark.parametrize("status", ["400 Bad", "422 No", "501 Not here"])
def test_refused_echo_and_server_errors_have_different_codes(wire, status):
    for case in (ONE, PREFILL):
        replies, _ = exchange(wire, case, wire.as_json({"error": "echo is not supported"}, status))
        assert replies[0].failure.code == "unsupported"
    failed, _ = exchange(wire, CHOICES["openai-completions"], wire.as_json({"error": "no"}, status))
    assert failed.code.startswith("http-")


@pytest.mark.parametrize("value", [0, [], [0.0]])
def test_custom_service_without_log_probabilities_is_refused(wire, value):
    case = replace(SCORES["custom, one number"], answer={"of": {"log": value}})
    replies, _ = exchange(wire, case)
    assert replies[0].failure.code == "no-echo"


@pytest.mark.parametrize(("value", "number"), [(-1250.5, -1250.5), ([-1.0, -2.0, -1000.0], None)])
def test_only_the_log_probability_of_a_whole_text_may_be_below_minus_1000(wire, value, number):
    replies, _ = exchange(wire, replace(SCORES["custom, one number"], answer={"of": {"log": value}}))
    assert (replies[0].value or {}).get("log_probability") == number


@pytest.mark.parametrize("order", [(0, 0), (1, 2), ("0", "1"), (True, 0), (None, 1)])
def test_completions_with_wrong_indexes_are_refused(wire, order):
    choices = [{**each, "index": at} for each, at in zip((SHE, HE), order, strict=True)]
    failed, _ = exchange(wire, replace(SCORES["openai-completions, out of order"], answer={"choices": choices}))
    assert failed.code == "wrong-shape"


@pytest.mark.parametrize("choices", [[SHE], [SHE, HE, HE], []])
def test_response_with_fewer_or_more_completions_than_prompts_is_refused(wire, choices):
    failed, _ = exchange(wire, replace(SCORES["openai-completions, out of order"], answer={"choices": choices}))
    assert (failed.code, failed.retriable) == ("wrong-count", False)


def test_invalid_completion_fails_one_question(wire):
    answer = {"choices": [HE, {"index": 0, "text": TEXT, "logprobs": None}]}
    replies, _ = exchange(wire, replace(SCORES["openai-completions, out of order"], answer=answer))
    assert [reply.ok for reply in replies] == [False, True]


# ---------------------------------------------------------------------------- gaps
@pytest.mark.parametrize("token", ["nur", "##se", "Nurse", "", "teacher"])
def test_a_word_that_is_not_a_single_token_of_a_fill_mask_model_fails_as_an_unknown_word(wire, token):
    lost = failure(wire, FILLS["hf-inference, fill-mask"], [{"score": 0.5, "token_str": token}])
    assert (lost.code, "'nurse'" in lost.message) == ("unknown-word", True)


@pytest.mark.parametrize("said", [[], {"score": 0.5}, [{"token_str": "nurse"}], [{"token_str": "nurse", "score": 1.5}]])
def test_answer_that_is_not_a_probability_of_a_word_is_a_failure(wire, said):
    assert failure(wire, FILLS["hf-inference, fill-mask"], said).code == "wrong-shape"


def test_a_text_that_already_contains_the_mask_token_is_not_sent(wire):
    replies, heard = exchange(wire, replace(FILLS["hf-inference, fill-mask"], asks=[Fill("A [MASK] is ", "x", ".")]))
    assert (replies[0].failure.code, heard) == ("unsupported", [])


# ---------------------------------------------------------------------------- choices and texts
@pytest.mark.parametrize("said", ["C", "A or B", "", "A nurse came.", "Neither.", "both A and B"])
def test_answer_that_names_no_option_is_a_failed_choice(wire, said):
    assert failure(wire, CHOICES["openai-chat"], chatted(said)).code == "no-choice"


def test_a_refusal_to_choose_is_distinguished_from_an_unreadable_answer(wire):
    assert failure(wire, CHOICES["openai-chat"], chatted("I cannot say.")).code == "declined"


def test_a_log_probability_outside_the_range_of_floats_is_left_out():
    assert valid_pairs([("A", -(10**400)), ("B", -0.1), ("C", 10**400), ("D", True)]) == [("B", -0.1)]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (chatted(None), "declined"),
        (chatted("No.", "content_filter"), "declined"),
        (chatted(["B"]), "wrong-shape"),
        (chatted("Well, that is", "length"), "no-choice"),
    ],
)
def test_a_declined_or_cut_chat_answer_fails_the_choice(wire, answer, code):
    assert failure(wire, CHOICES["openai-chat, without probabilities"], answer).code == code


@pytest.mark.parametrize("text", ["", "No.", None])
def test_a_completion_that_the_content_filter_stopped_is_declined_even_if_its_text_is_null(wire, text):
    assert failure(wire, CHOICES["openai-completions"], completed(text, reason="content_filter")).code == "declined"


@pytest.mark.parametrize(
    ("text", "ending", "code"),
    [("", "stop", "no-choice"), ("", "content_filter", "declined"), (None, "stop", "declined")],
)
def test_an_empty_chat_answer_is_no_choice_even_if_it_has_token_probabilities(wire, text, ending, code):
    answer = chatted(text, ending, likely={"A": -0.01, "B": -5.0})
    assert failure(wire, CHOICES["openai-chat"], answer).code == code


ENDED = {
    "openai-chat": (chatted("A nurse", "length"), chatted("", "stop")),
    "openai-completions, several": None,
    "tgi": (generated("A nurse", "length"), generated("", "eos_token")),
    "ollama": ({"message": {"content": "A nurse"}, "done_reason": "length"}, {"message": {"content": " "}}),
}


@pytest.mark.parametrize("name", [name for name, answers in ENDED.items() if answers])
def test_a_written_text_that_is_cut_short_or_empty_fails_its_question(wire, name):
    cut, empty = ENDED[name]
    assert failure(wire, WRITINGS[name], cut).code == "cut-short"
    assert failure(wire, WRITINGS[name], empty).code == "declined"


def test_a_text_above_the_length_limit_is_refused(wire):
    assert failure(wire, WRITINGS["ollama"], {"message": {"content": "a" * 100_001}}).code == "too-large"


def test_equally_likely_options_are_decided_by_the_option_that_was_written(wire):
    case = replace(CHOICES["openai-chat"], answer=chatted("B", likely={"A": -0.7, "B": -0.7}))
    replies, _ = exchange(wire, case)
    assert replies[0].value == {"choice": 1}


BEFORE_B = "A sounds odd. The second one is better."
LIKELY_A = {"A": -0.1, "B": -3.0}


def thought(content, **message):
    answer = chatted(content, likely=LIKELY_A)
    answer["choices"][0]["message"] |= message
    return answer


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("openai-chat", thought("B", reasoning_content=BEFORE_B)),
        ("openai-chat", thought(f"<think>{BEFORE_B}</think>\n\nB")),
        ("openai-chat", thought(f"{BEFORE_B}</think>B")),
        ("openai-chat", thought([{"type": "thinking", "thinking": []}, {"type": "text", "text": "B"}])),
        ("openai-completions", completed(f"{BEFORE_B}</think>\nB\nC", ["A"], [LIKELY_A])),
        (
            "tgi",
            generated(
                f"{BEFORE_B}</think>B",
                tokens=[{"text": "A", "logprob": -0.1}],
                top_tokens=[[{"text": "A", "logprob": -0.1}, {"text": "B", "logprob": -3.0}]],
            ),
        ),
        (
            "ollama",
            {
                "message": {"content": "B", "thinking": BEFORE_B},
                "logprobs": [{"token": "A", "top_logprobs": [{"token": "A", "logprob": -0.1}]}],
            },
        ),
    ],
)
def test_the_first_token_of_thoughts_is_no_choice(wire, name, answer):
    replies, _ = exchange(wire, replace(CHOICES[name], answer=answer))
    assert replies[0].value == {"choice": 1}


# ---------------------------------------------------------------------------- unsupported questions
UNSUPPORTED = {
    "a chat scores nothing": ("openai-chat", {"model": "m"}, Score(TEXT), "prompt's tokens"),
    "a chat fills nothing": ("openai-chat", {"model": "m"}, FILL, "masked"),
    "completions fill nothing": ("openai-completions", {"model": "m"}, FILL, "masked"),
    "tgi fills nothing": ("tgi", {}, FILL, "masked"),
    "ollama scores nothing": ("ollama", {"model": "m"}, Score(TEXT), "prompt's tokens"),
    "a masked model writes nothing": ("hf-inference", {"task": "fill-mask"}, WRITE, "write"),
    "a masked model chooses nothing": ("hf-inference", {"task": "fill-mask"}, CHOICE, "choose"),
    "a declared text is no score": ("custom", {"body": "{text}"}, Score(TEXT), "prompt's tokens"),
    "a declared score is no text": ("custom", {"body": "{text}", "answer": "log-probability"}, WRITE, "write"),
    "no model draws": ("openai-chat", {"model": "m"}, Draw("a nurse"), "draw"),
    "one option": ("openai-chat", {"model": "m"}, Choose("Which?", ("a",)), "2 to 26"),
    "more options than letters": ("tgi", {}, Choose("Which?", tuple(map(str, range(27)))), "2 to 26"),
}


@pytest.mark.parametrize("case", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_question_to_a_language_model_is_not_sent(wire, case):
    protocol, settings, ask, why = case
    replies, heard = exchange(wire, Case(protocol, [ask], "", None, {}, [], settings))
    assert (replies[0].failure.code, heard) == ("unsupported", [])
    assert why in replies[0].failure.message


@pytest.mark.parametrize("ask", [Classify("A day."), Embed("she")])
def test_language_model_refuses_questions_of_other_kinds(wire, ask):
    failed, heard = exchange(wire, replace(ONE, asks=[ask]))
    assert (failed.code, heard) == ("unsupported", [])


def test_questions_of_several_kinds_or_seeds_do_not_share_a_call(wire):
    async def go():
        async with Egress(wire.loopback) as egress:
            adapter = connect(target("http://127.0.0.1:1", ONE), egress)
            asks = [Score("a"), Score("b"), CHOICE, Choose("c", ("d", "e")), WRITE, Write("x", 7), Write("x", 8)]
            return [len({adapter.group_key(ask) for ask in some}) for some in (asks[:2], asks[2:4], asks[4:6], asks)]

    assert asyncio.run(go()) == [1, 1, 1, 4]


def test_texts_reach_the_service_unchanged(wire):
    text = 'Quotes " and { braces } \n and 🙂 \ud83d'
    case = replace(WRITINGS["custom, plain text"], asks=[Write(text)])
    _, (heard,) = exchange(wire, case)
    assert json.loads(heard.body)["prompt"] == text
