"""Protocols of language models: OpenAI's completions and chats, Hugging Face's inference, TGI and Ollama.

The interfaces have the form described in `demo.interfaces.predictors`. A model's options are the lines of its
prompt that begin with "A.", "B." and so on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demo.interfaces.libretranslate import BadOrder, model_name, not_spoken, required
from demo.language_models.models import REFUSAL, LanguageModel, Token
from demo.predictors.prediction import Predictor

MOST_PROMPTS = 1000
"""Maximum number of prompts in a request."""

MASK = "[MASK]"

LEAST_OPTIONS = 2

_OPTION = re.compile(r"^([A-Z])[.)] (.+)$", re.MULTILINE)

UNSURE = -4.0
"""Log-probability of any other possible first token."""

WITHOUT_TARGETS = ("the", "it", "one", "they", "people")
"""Words that a masked model fills in if the request names no words."""

Likely = Mapping[str, float]
"""Tokens with their log-probabilities, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a model to a prompt.

    Attributes
    ----------
    text : str
        The answer.
    first : mapping of str to float
        Possible first tokens with their log-probabilities.
    """

    text: str
    first: Likely


def say(one: LanguageModel, prompt: str, number: int) -> Answer:
    """Choose an option if the prompt has options; write a text otherwise."""
    options = options_in(prompt)
    if len(options) < LEAST_OPTIONS:
        text = one.writes(prompt, number)
        return Answer(text, {text.split(maxsplit=1)[0]: -0.1})
    weights = one.options(options)
    if weights is None:
        return Answer(REFUSAL, {"Sorry": -0.1, "Well": UNSURE})
    letters = {chr(ord("A") + place): weight for place, weight in enumerate(weights)}
    ranked = dict(sorted(letters.items(), key=lambda each: -each[1]))
    return Answer(next(iter(ranked)), ranked)


def options_in(prompt: str) -> tuple[str, ...]:
    """Find the lettered options of a prompt, A first."""
    found = _OPTION.findall(prompt)
    due = [chr(ord("A") + place) for place in range(len(found))]
    return tuple(option for _, option in found) if [letter for letter, _ in found] == due else ()


# ---------------------------------------------------------------------------- openai-completions
def completions(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /v1/completions``: one prompt or several, with the prompts' tokens if ``echo`` asks for them."""
    model = _speaking(one, "openai-completions")
    name = model_name(body)
    prompts = _prompts(body)
    echo, likely, most = body.get("echo") or False, body.get("logprobs"), body.get("max_tokens", 16)
    if type(echo) is not bool or not (likely is None or type(likely) is int) or type(most) is not int or most < 0:
        raise BadOrder("'echo' must be true or false, 'logprobs' and 'max_tokens' whole numbers from 0")
    if echo and model.echo == "refused":
        raise BadOrder("echo is not supported")
    number = _number(body.get("seed"))
    echoed = echo and model.echo == "given"
    choices = [
        _completed(model, prompt, index, echoed=echoed, likely=likely, writing=most > 0 or not echoed, number=number)
        for index, prompt in enumerate(prompts)
    ]
    return {"id": "cmpl-demo", "object": "text_completion", "created": 0, "model": name, "choices": choices}


def _completed(
    one: LanguageModel, prompt: str, index: int, *, echoed: bool, likely: int | None, writing: bool, number: int
) -> dict[str, Any]:
    tokens: list[Token] = list(one.tokens(prompt)) if echoed else []
    first: dict[int, Likely] = {}
    if writing and not echoed:
        answer = say(one, prompt, number)
        first[0] = answer.first
        tokens.append((f" {answer.text}", max(answer.first.values())))
    elif writing:
        tokens.append((" And", -1.0))  # a placeholder, because clients that score a text ignore the tokens after it
    return {
        "text": "".join(token for token, _ in tokens),
        "index": index,
        "finish_reason": "stop" if writing else "length",
        "logprobs": None if likely is None else _logprobs(tokens, first, likely),
    }


def _logprobs(tokens: Sequence[Token], first: Mapping[int, Likely], likely: int) -> dict[str, Any]:
    offsets = [0]
    for token, _ in tokens:
        offsets.append(offsets[-1] + len(token))
    tops = [
        dict(list({f" {each}": weight for each, weight in first[at].items()}.items())[:likely])
        if at in first
        else None
        if value is None
        else {token: value}
        for at, (token, value) in enumerate(tokens)
    ]
    return {
        "tokens": [token for token, _ in tokens],
        "token_logprobs": [value for _, value in tokens],
        "text_offset": offsets[:-1],
        "top_logprobs": tops if likely else None,
    }


# ---------------------------------------------------------------------------- openai-chat
def chat(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer the user's last message in ``POST /v1/chat/completions``."""
    model = _speaking(one, "openai-chat")
    name = model_name(body)
    _refuse_stream(body, default=False)
    answer = say(model, _last_said(body), _number(body.get("seed")))
    told = _first_of_chat(answer, body.get("top_logprobs") or 0) if body.get("logprobs") else None
    return chat_completion(name, answer.text, told)


def chat_completion(name: str, text: str, first: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a chat answer in OpenAI's format."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": None if first is None else {"content": [first], "refusal": None},
        "finish_reason": "stop",
    }
    return {"id": "chatcmpl-demo", "object": "chat.completion", "created": 0, "model": name, "choices": [choice]}


def _first_of_chat(answer: Answer, likely: Any) -> dict[str, Any]:
    """Return the first token with its alternatives, in the form of OpenAI's `logprobs`."""
    if type(likely) is not int or likely < 0:
        raise BadOrder("'top_logprobs' must be a whole number from 0")
    tops = [{"token": token, "logprob": weight, "bytes": None} for token, weight in answer.first.items()]
    return {**tops[0], "top_logprobs": tops[:likely]}


def _last_said(body: Mapping[str, Any]) -> str:
    messages = required(body, "messages")
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise BadOrder("'messages' must be an array of messages")
    said = [each.get("content") for each in messages if each.get("role") == "user"]
    if not said:
        raise BadOrder("'messages' must hold one of the user")
    parts = said[-1] if isinstance(said[-1], list) else [{"type": "text", "text": said[-1]}]
    said_texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    texts = [text for text in said_texts if isinstance(text, str)]
    if len(texts) != len(parts):
        raise BadOrder("a message must be a text; this model sees no images")
    return "\n".join(texts)


# ---------------------------------------------------------------------------- hf-inference
def inference(one: LanguageModel, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Answer a fill-mask request if the text has a mask, otherwise a text generation."""
    given = required(body, "inputs")
    parameters = body.get("parameters") or {}
    if not isinstance(given, str) or not isinstance(parameters, dict):
        raise BadOrder("'inputs' must be a text, 'parameters' an object")
    if MASK in given:
        return _filled(one, given, parameters)
    text = say(one, given, _number(parameters.get("seed"))).text
    return [{"generated_text": f"{given} {text}" if parameters.get("return_full_text", True) else text}]


def _filled(one: LanguageModel, given: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    if one.fills is None:
        raise BadOrder("this is no masked model")
    if given.count(MASK) != 1:
        raise BadOrder(f"{MASK} must be there once")
    targets = parameters.get("targets") or list(WITHOUT_TARGETS)
    words = [targets] if isinstance(targets, str) else targets
    top_k = parameters.get("top_k", 5)
    if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
        raise BadOrder("'targets' must be a word or an array of words")
    if type(top_k) is not int or top_k < 1:
        raise BadOrder("'top_k' must be a whole number from 1")
    before, after = given.split(MASK)
    scored = [(word, one.fills(before, word, after)) for word in map(str.strip, words)]
    known = [_known(one, before, word, after) if weight is None else (word, weight) for word, weight in scored]
    ranked = sorted(known, key=lambda each: -each[1])[:top_k]
    return [
        {"score": math.exp(weight), "token": len(word), "token_str": word, "sequence": before + word + after}
        for word, weight in ranked
    ]


def _known(one: LanguageModel, before: str, word: str, after: str) -> tuple[str, float]:
    """Return the first known piece of a word that is not one token, as Hugging Face's pipelines do."""
    piece = (re.match(r"[^\W\d_]{1,4}", word) or ["one"])[0]
    weight = None if one.fills is None else one.fills(before, piece, after)
    return piece, UNSURE if weight is None else weight


# ---------------------------------------------------------------------------- tgi
def generate(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /generate``, with the requested details."""
    model = _speaking(one, "tgi")
    prompt, parameters = required(body, "inputs"), body.get("parameters") or {}
    if not isinstance(prompt, str) or not prompt or not isinstance(parameters, dict):
        raise BadOrder("'inputs' must be a text, 'parameters' an object", 422)
    if parameters.get("temperature") == 0:
        raise BadOrder("'temperature' must be strictly positive", 422)
    answer = say(model, prompt, _number(parameters.get("seed")))
    if not parameters.get("details"):
        return {"generated_text": answer.text}
    wanted = bool(parameters.get("decoder_input_details")) and model.echo == "given"
    first = [{"id": 0, "text": token, "logprob": weight, "special": False} for token, weight in answer.first.items()]
    tops = parameters.get("top_n_tokens") or 0
    details = {
        "finish_reason": "eos_token",
        "generated_tokens": 1,
        "seed": parameters.get("seed"),
        "prefill": [{"id": 0, "text": token, "logprob": value} for token, value in model.tokens(prompt)]
        if wanted
        else [],
        "tokens": [{**first[0], "text": answer.text}],
        "top_tokens": [first[:tops]] if tops else None,
    }
    return {"generated_text": answer.text, "details": details}


# ---------------------------------------------------------------------------- ollama
def ollama_chat(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /api/chat`` in one piece."""
    text, rest = _ollama(one, body, _last_said(body))
    return {**rest, "message": {"role": "assistant", "content": text}}


def ollama_generate(one: Predictor, body: Mapping[str, Any]) -> dict[str, Any]:
    """Answer ``POST /api/generate`` in one piece."""
    prompt = required(body, "prompt")
    if not isinstance(prompt, str):
        raise BadOrder("'prompt' must be a text")
    text, rest = _ollama(one, body, prompt)
    return {**rest, "response": text}


def _ollama(one: Predictor, body: Mapping[str, Any], prompt: str) -> tuple[str, dict[str, Any]]:
    """Return an answer in Ollama's format."""
    model = _speaking(one, "ollama")
    name, options = model_name(body), body.get("options") or {}
    _refuse_stream(body, default=True)
    if not isinstance(options, dict):
        raise BadOrder("'options' must be an object")
    answer = say(model, prompt, _number(options.get("seed")))
    told = {"logprobs": [_first_of_chat(answer, body.get("top_logprobs") or 0)]} if body.get("logprobs") else {}
    beside = {"model": name, "created_at": "1970-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
    return answer.text, {**beside, **told}


# ---------------------------------------------------------------------------- table of interfaces
def _speaking(one: Predictor, protocol: str) -> LanguageModel:
    if not isinstance(one, LanguageModel) or protocol not in one.protocols:
        raise not_spoken(one, protocol)
    return one


def _refuse_stream(body: Mapping[str, Any], *, default: bool) -> None:
    if body.get("stream", default) is not False:
        raise BadOrder("answers come in one piece here: 'stream' must be false")


def _prompts(body: Mapping[str, Any]) -> list[str]:
    given = required(body, "prompt")
    prompts = given if isinstance(given, list) else [given]
    if not 0 < len(prompts) <= MOST_PROMPTS or not all(isinstance(each, str) and each for each in prompts):
        raise BadOrder(f"'prompt' must be a text or an array of 1 to {MOST_PROMPTS:,} texts")
    return prompts


def _number(seed: Any) -> int:
    if seed is not None and type(seed) is not int:
        raise BadOrder("a seed must be a whole number")
    return seed or 0
