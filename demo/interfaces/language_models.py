"""Protocols of language models: OpenAI's completions and chats, Hugging Face's inference, TGI and Ollama.

The interfaces have the form described in `demo.interfaces.predictors`. A model's options are the lines of its
prompt that begin with "A.", "B." and so on.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from assay.document import Json, JsonObject
from demo.interfaces.libretranslate import BadRequest, model_name, require, unsupported
from demo.language_models.models import REFUSAL, LanguageModel, Token
from demo.language_models.screeners import Screener
from demo.predictors.prediction import Predictor

MOST_PROMPTS = 1000
"""Maximum number of prompts in a request."""

MASK = "[MASK]"

LEAST_OPTIONS = 2

_OPTION = re.compile(r"^([A-Z])[.)] (.+)$", re.MULTILINE)

LEAST_SHARE = 1e-6
"""Least probability of an answer that is written as a log-probability."""

SURE, UNSURE = -0.1, -4.0
"""Log-probability of the first token of an answer, and of any other possible first token."""

WITHOUT_TARGETS = ("the", "it", "one", "they", "people")
"""Words that a masked model fills in if the request names no words."""

LogProbabilities = Mapping[str, float]
"""Tokens with their log-probabilities, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a model to a prompt."""

    text: str
    """The answer."""
    first: LogProbabilities
    """Possible first tokens with their log-probabilities."""


def say(model: LanguageModel, prompt: str, number: int) -> Answer:
    """Choose an option if the prompt has options; otherwise write text `number` of the prompt's possible texts."""
    options = options_in(prompt)
    if len(options) < LEAST_OPTIONS:
        text = model.writes(prompt, number)
        return Answer(text, {text.split(maxsplit=1)[0]: SURE})  # of the first word only
    log_probabilities = model.choose(prompt, options)
    if log_probabilities is None:
        return Answer(REFUSAL, {"Sorry": SURE, "Well": UNSURE})  # possible first words
    by_letter = {chr(ord("A") + index): log_probability for index, log_probability in enumerate(log_probabilities)}
    ranked_letters = dict(sorted(by_letter.items(), key=lambda entry: -entry[1]))
    return Answer(next(iter(ranked_letters)), ranked_letters)


def decide(screener: Screener, prompt: str) -> Answer:
    """Answer yes or no, or the letter of that option, about a prompt's case; with log-probabilities if `likely`."""
    options, case = options_in(prompt), _OPTION.split(prompt, maxsplit=1)[0]  # the case is above the options
    probability = screener.invites(case)
    if probability is None:
        return Answer(REFUSAL, {"I": SURE})
    # by option: its letter or, without options in the prompt, the word itself
    replies = {option: chr(ord("A") + index) for index, option in enumerate(options)} or {"yes": "yes", "no": "no"}
    if screener.first:  # it always chooses the first option
        return Answer(next(iter(replies.values())), {})
    shares = {"yes": probability, "no": 1 - probability}
    labels = sorted(shares, key=lambda label: -shares[label])
    tokens = {replies[label]: math.log(max(shares[label], LEAST_SHARE)) for label in labels} if screener.likely else {}
    return Answer(replies[labels[0]], tokens)


def options_in(prompt: str) -> tuple[str, ...]:
    """Find the lettered options of a prompt, A first."""
    matches = _OPTION.findall(prompt)
    expected = [chr(ord("A") + index) for index in range(len(matches))]
    return tuple(option for _, option in matches) if [letter for letter, _ in matches] == expected else ()


def completions(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /v1/completions``: one prompt or several, with the prompts' tokens if ``echo`` asks for them."""
    model = _require_protocol(predictor, "openai-completions")
    name = model_name(body)
    prompts = _read_prompts(body)
    echo, top_n, max_tokens = body.get("echo") or False, body.get("logprobs"), body.get("max_tokens", 16)
    if (
        type(echo) is not bool
        or not (top_n is None or type(top_n) is int)
        or type(max_tokens) is not int
        or max_tokens < 0
    ):
        raise BadRequest("'echo' must be true or false, 'logprobs' and 'max_tokens' whole numbers from 0")
    if echo and model.echo == "refused":
        raise BadRequest("echo is not supported")
    number = _read_seed(body.get("seed"))
    echoed = echo and model.echo == "given"
    choices = [
        _completion_choice(
            model, prompt, index, echoed=echoed, top_n=top_n, writing=max_tokens > 0 or not echoed, number=number
        )
        for index, prompt in enumerate(prompts)
    ]
    return {"id": "cmpl-demo", "object": "text_completion", "created": 0, "model": name, "choices": choices}


def _completion_choice(
    model: LanguageModel, prompt: str, index: int, *, echoed: bool, top_n: int | None, writing: bool, number: int
) -> JsonObject:
    """Return a completion: if `echoed`, the prompt's tokens; if `writing`, an answer (after an echo, a placeholder)."""
    tokens: list[Token] = list(model.tokens(prompt)) if echoed else []
    first_tokens: dict[int, LogProbabilities] = {}  # the answer's, by their index in `tokens`
    if writing and not echoed:
        answer = say(model, prompt, number)
        first_tokens[0] = answer.first
        tokens.append((f" {answer.text}", max(answer.first.values())))
    elif writing:
        tokens.append((" And", -1.0))  # a placeholder, because clients that score a text ignore the tokens after it
    return {
        "text": "".join(token for token, _ in tokens),
        "index": index,
        "finish_reason": "stop" if writing else "length",
        "logprobs": None if top_n is None else _logprobs(tokens, first_tokens, top_n),
    }


def _logprobs(tokens: Sequence[Token], first_tokens: Mapping[int, LogProbabilities], top_n: int) -> JsonObject:
    """Return OpenAI's `logprobs` of tokens; `first_tokens` has the alternatives to answers' first tokens, by index."""
    offsets = list(accumulate((len(token) for token, _ in tokens), initial=0))
    alternatives: list[dict[str, float] | None] = []
    for index, (token, value) in enumerate(tokens):
        if index in first_tokens:
            candidates = [(f" {candidate}", weight) for candidate, weight in first_tokens[index].items()]
            alternatives.append(dict(candidates[:top_n]))
        else:
            alternatives.append(None if value is None else {token: value})
    return {
        "tokens": [token for token, _ in tokens],
        "token_logprobs": [value for _, value in tokens],
        "text_offset": offsets[:-1],
        "top_logprobs": alternatives if top_n else None,
    }


def chat(predictor: Predictor, body: Json) -> JsonObject:
    """Answer the user's last message in ``POST /v1/chat/completions``."""
    name = model_name(body)
    _refuse_stream(body, default=False)
    if isinstance(predictor, Screener):
        answer = decide(predictor, _last_message(body))
    else:
        answer = say(_require_protocol(predictor, "openai-chat"), _last_message(body), _read_seed(body.get("seed")))
    with_logprobs = body.get("logprobs") and answer.first
    logprobs = _chat_logprobs(answer, body.get("top_logprobs") or 0) if with_logprobs else None
    return chat_completion(name, answer.text, logprobs)


def chat_completion(name: str, text: str, first: Json | None) -> JsonObject:
    """Return a chat answer in OpenAI's format; `first` has the log-probabilities of its first token."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, "refusal": None},
        "logprobs": None if first is None else {"content": [first], "refusal": None},
        "finish_reason": "stop",
    }
    return {"id": "chatcmpl-demo", "object": "chat.completion", "created": 0, "model": name, "choices": [choice]}


def _chat_logprobs(answer: Answer, top_n: object) -> JsonObject:
    """Return the first token with its alternatives, in the form of OpenAI's `logprobs`."""
    if type(top_n) is not int or top_n < 0:
        raise BadRequest("'top_logprobs' must be a whole number from 0")
    top_tokens = [{"token": token, "logprob": weight, "bytes": None} for token, weight in answer.first.items()]
    return {**top_tokens[0], "top_logprobs": top_tokens[:top_n]}


def _last_message(body: Json) -> str:
    messages = require(body, "messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise BadRequest("'messages' must be an array of messages")
    contents = [message.get("content") for message in messages if message.get("role") == "user"]
    if not contents:
        raise BadRequest("'messages' must contain a message of the user")
    content_parts = contents[-1] if isinstance(contents[-1], list) else [{"type": "text", "text": contents[-1]}]
    said_texts = (part.get("text") for part in content_parts if isinstance(part, dict) and part.get("type") == "text")
    texts = [text for text in said_texts if isinstance(text, str)]
    if len(texts) != len(content_parts):
        raise BadRequest("a message must be a text; this model takes no images")
    return "\n".join(texts)


def inference(model: LanguageModel, body: Json) -> list[JsonObject]:
    """Answer a fill-mask request if the text has a mask, otherwise a text generation."""
    inputs = require(body, "inputs")
    parameters = body.get("parameters") or {}
    if not isinstance(inputs, str) or not isinstance(parameters, dict):
        raise BadRequest("'inputs' must be a text, 'parameters' an object")
    if MASK in inputs:
        return _fill_mask(model, inputs, parameters)
    text = say(model, inputs, _read_seed(parameters.get("seed"))).text
    return [{"generated_text": f"{inputs} {text}" if parameters.get("return_full_text", True) else text}]


def _fill_mask(model: LanguageModel, text: str, parameters: Json) -> list[JsonObject]:
    """Return the words that may fill the mask in a text, the likeliest first; of a longer word, its first token."""
    if model.fills is None:
        raise BadRequest("this is not a masked model")
    if text.count(MASK) != 1:
        raise BadRequest(f"{MASK} must occur once")
    targets = parameters.get("targets") or list(WITHOUT_TARGETS)
    words = [targets] if isinstance(targets, str) else targets
    top_k = parameters.get("top_k", 5)
    if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
        raise BadRequest("'targets' must be a word or an array of words")
    if type(top_k) is not int or top_k < 1:
        raise BadRequest("'top_k' must be a whole number from 1")
    before, after = text.split(MASK)
    weights = [(word, model.fills(before, word, after)) for word in map(str.strip, words)]  # `None` if not one token
    candidates = [_piece(model, before, word, after) if weight is None else (word, weight) for word, weight in weights]
    return [
        {"score": math.exp(weight), "token": len(word), "token_str": word, "sequence": before + word + after}
        for word, weight in sorted(candidates, key=lambda candidate: -candidate[1])[:top_k]
    ]


def _piece(model: LanguageModel, before: str, word: str, after: str) -> tuple[str, float]:
    """Return the first piece of a word that is not one token (as Hugging Face does), and its log-probability."""
    piece = (re.match(r"[^\W\d_]{1,4}", word) or ["one"])[0]
    weight = None if model.fills is None else model.fills(before, piece, after)
    return piece, UNSURE if weight is None else weight


def generate(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /generate``, with the requested details."""
    model = _require_protocol(predictor, "tgi")
    prompt, parameters = require(body, "inputs"), body.get("parameters") or {}
    if not isinstance(prompt, str) or not prompt or not isinstance(parameters, dict):
        raise BadRequest("'inputs' must be a text, 'parameters' an object", 422)
    if parameters.get("temperature") == 0:
        raise BadRequest("'temperature' must be strictly positive", 422)
    answer = say(model, prompt, _read_seed(parameters.get("seed")))
    if not parameters.get("details"):
        return {"generated_text": answer.text}
    with_input_tokens = bool(parameters.get("decoder_input_details")) and model.echo == "given"
    tokens = [{"id": 0, "text": token, "logprob": weight, "special": False} for token, weight in answer.first.items()]
    top_n = parameters.get("top_n_tokens") or 0
    details = {
        "finish_reason": "eos_token",
        "generated_tokens": 1,
        "seed": parameters.get("seed"),
        "prefill": [{"id": 0, "text": token, "logprob": value} for token, value in model.tokens(prompt)]
        if with_input_tokens
        else [],
        "tokens": [{**tokens[0], "text": answer.text}],
        "top_tokens": [tokens[:top_n]] if top_n else None,
    }
    return {"generated_text": answer.text, "details": details}


def ollama_chat(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /api/chat`` in one piece."""
    text, metadata = _ollama_answer(predictor, body, _last_message(body))
    return {**metadata, "message": {"role": "assistant", "content": text}}


def ollama_generate(predictor: Predictor, body: Json) -> JsonObject:
    """Answer ``POST /api/generate`` in one piece."""
    prompt = require(body, "prompt")
    if not isinstance(prompt, str):
        raise BadRequest("'prompt' must be a text")
    text, metadata = _ollama_answer(predictor, body, prompt)
    return {**metadata, "response": text}


def _ollama_answer(predictor: Predictor, body: Json, prompt: str) -> tuple[str, JsonObject]:
    model = _require_protocol(predictor, "ollama")
    name, options = model_name(body), body.get("options") or {}
    _refuse_stream(body, default=True)
    if not isinstance(options, dict):
        raise BadRequest("'options' must be an object")
    answer = say(model, prompt, _read_seed(options.get("seed")))
    logprobs = {"logprobs": [_chat_logprobs(answer, body.get("top_logprobs") or 0)]} if body.get("logprobs") else {}
    metadata = {"model": name, "created_at": "1970-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
    return answer.text, {**metadata, **logprobs}


def _require_protocol(predictor: Predictor, protocol: str) -> LanguageModel:
    if not isinstance(predictor, LanguageModel) or protocol not in predictor.protocols:
        raise unsupported(predictor, protocol)
    return predictor


def _refuse_stream(body: Json, *, default: bool) -> None:
    if body.get("stream", default) is not False:
        raise BadRequest("streaming is not supported: 'stream' must be false")


def _read_prompts(body: Json) -> list[str]:
    prompt = require(body, "prompt")
    prompts = prompt if isinstance(prompt, list) else [prompt]
    if not 0 < len(prompts) <= MOST_PROMPTS or not all(isinstance(text, str) and text for text in prompts):
        raise BadRequest(f"'prompt' must be a text or an array of 1 to {MOST_PROMPTS:,} texts")
    return prompts


def _read_seed(seed: object) -> int:
    if seed is not None and type(seed) is not int:
        raise BadRequest("a seed must be a whole number")
    return seed or 0
