"""Adapters for chat models behind OpenAI's API: translators, language models and image classifiers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen, MinLen

from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.model import Choose, Failure, Kind, Look, Reply, Translate, Write
from workers.egress import Response
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread, ModelFault
from workers.targets.protocols.http.adapter import Request, dig, post_json, without_nulls
from workers.targets.protocols.http.choice_letters import (
    LEAST_SHARE,
    Likelihoods,
    bare_letter,
    letter_prompt,
    letter_shares,
    without_thoughts,
)
from workers.targets.protocols.http.images import HttpLooker, accept_look, in_base64, picture_of
from workers.targets.protocols.http.language_model import (
    HttpLanguageModel,
    LanguageModelSettings,
    ModelOutput,
    accept_worded,
    refusal_of_kind,
)
from workers.targets.protocols.http.predictor import json_of
from workers.targets.protocols.http.translator import HttpTranslator, name_with_code
from workers.targets.protocols.openai.completions import likely_first_tokens
from workers.targets.settings import TranslatorSettings

INSTRUCTION = (
    "You are a translation engine. Translate the user's text from {source} into {target}. "
    "Answer with the translation only: no explanation, no alternatives, no quotation marks. "
    "Keep the number of sentences and their order."
)

THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Members of a message in which services return the thoughts of a reasoning model."""

MEMBERS_WITHOUT_TEXT = (*THOUGHTS, "refusal", "tool_calls", "function_call")
"""Members of a message that may come without a text."""

_FENCED = re.compile(r"\A```[\w-]*\n(.*?)\n?```\Z", re.DOTALL)
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "‘": "’", "'": "'", "「": "」", "`": "`"}


@dataclass(frozen=True, kw_only=True)
class OpenAIChatSettings(TranslatorSettings, LanguageModelSettings):
    """Settings of a chat model. ``language_codes`` gives the names for a translator's instruction."""

    model: Annotated[str, MinLen(1), MaxLen(200)]
    """Which model answers."""
    instruction: Annotated[str, MinLen(1), MaxLen(4000)] = INSTRUCTION
    """Instruction to a translator; must contain {target}, may contain {source}."""
    temperature: Annotated[float, Ge(0), Le(2)] | None = 0.0
    """Temperature; null leaves it out, for models that refuse it. Written texts have `writing_temperature`."""
    seed: Annotated[int, Ge(0), Le(2**31 - 1)] | None = 0
    """Seed; null leaves it out, for services that refuse it. Written texts have seeds of their own."""
    max_tokens: Annotated[int, Ge(1), Le(100_000)] | None = None
    """Maximum number of tokens of a translation; an answer that reaches it is cut off and counts as failed."""
    image_detail: Literal["auto", "low", "high"] | None = None
    """Image classifiers: detail in which an image is read, for services that offer the choice. Null leaves it out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if "{target}" not in self.instruction:
            raise SpecificationError("instruction must hold {target}, the language to translate into", "instruction")


class OpenAIChat(HttpTranslator[OpenAIChatSettings]):
    """Adapter for ``/v1/chat/completions`` that translates one text per call."""

    protocol: ClassVar[str] = "openai-chat"
    summary: ClassVar[str] = "A chat model (OpenAI's interface), told to translate, to choose or to write"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TRANSLATOR, Kind.LANGUAGE_MODEL, Kind.IMAGE_CLASSIFIER})
    settings_type: ClassVar[type] = OpenAIChatSettings
    notes: ClassVar[tuple[str, ...]] = (
        "temperature 0 and a seed make answers alike, not identical",
        "quotation marks and code fences around a whole translation are taken off",
        "language models: some models refuse a temperature, seed, top_logprobs or choice_tokens; null leaves it out",
        "language models: where first tokens have probabilities, a choice is read from these even if it is not written",
        "image classifiers: labels are options with letters; their order can sway the model, so it is to be varied",
        "a 429 that says insufficient_quota ends the job; other 429s are waited for",
    )

    def code(self, language: str) -> str:
        """Return the name of a language with its code: "Spanish (es)"."""
        return self.settings.language_codes.get(language) or name_with_code(language)

    def _ask_texts(self, texts: Sequence[str], source: str, target: str) -> Request:
        instruction = self.settings.instruction.replace("{source}", self.code(source))
        instruction = instruction.replace("{target}", self.code(target))
        messages = [{"role": "system", "content": instruction}, {"role": "user", "content": texts[0]}]
        return chat_request(self.settings, messages, {"max_tokens": self.settings.max_tokens})

    def _parse_response(self, response: Response, asks: Sequence[Translate]) -> Sequence[str | Reply]:
        """Return the translation, or a failure if the model refused or reached its limit of tokens."""
        choice = dig(response.json(), "choices", 0)
        content = joined_parts(dig(choice, "message", "content"))
        reason = choice.get("finish_reason")
        if reason == "length":
            message = "stopped at its limit of tokens; raise settings.max_tokens (null: no limit)"
            return [ModelFault(message, "cut-short").reply(response.origin)]
        if reason == "content_filter" or choice["message"].get("refusal") or content is None:
            return [ModelFault("chose not to answer", "declined").reply(response.origin)]
        if not isinstance(content, str):
            raise Misread(f"returned {type(content).__name__}; expected the model's text")
        return [unwrap_translation(without_thoughts(content), asks[0].text)]


class ChatModel(HttpLanguageModel[OpenAIChatSettings]):
    """Adapter for ``/v1/chat/completions`` of a language model, with one question per call."""

    sends_system: bool = True

    def _build_request(self, asks: Sequence[Worded]) -> Request:
        """Build the request for a chosen option or a written text."""
        (ask,) = asks
        settings, parameters = self.settings, choice_parameters(self.settings)
        if isinstance(ask, Write):
            parameters = {
                "temperature": settings.writing_temperature,
                "seed": None if settings.seed is None else ask.number,
                "max_tokens": settings.writing_tokens,
                "stop": list(settings.writing_stop) or None,
            }
        return chat_request(settings, messages_of(ask, settings), parameters)

    def _parse_response(self, response: Response, asks: Sequence[Worded]) -> Sequence[Any]:  # noqa: ARG002 - one question a call
        return [output_in(response)]


def chat_request(settings: OpenAIChatSettings, messages: Sequence[Json], parameters: Json) -> Request:
    """Build the request for the next message of a chat; `parameters` take precedence over the settings."""
    defaults = {"stream": False, "temperature": settings.temperature, "seed": settings.seed}
    body = {"model": settings.model, "messages": messages, **defaults, **parameters}
    return post_json("/v1/chat/completions", without_nulls(body))


def choice_parameters(settings: OpenAIChatSettings) -> JsonObject:
    """Return the parameters of a question with lettered options."""
    logprobs = None if settings.top_logprobs is None else True
    return {"max_tokens": settings.choice_tokens, "logprobs": logprobs, "top_logprobs": settings.top_logprobs}


def output_in(response: Response) -> ModelOutput:
    """Parse the output of a chat model (text, thoughts, a refusal or a call of a tool), or raise `Misread`."""
    choice = dig(json_of(response), "choices", 0)
    message = dig(choice, "message")
    may_lack_text = isinstance(message, dict) and any(message.get(name) for name in MEMBERS_WITHOUT_TEXT)
    text = joined_parts(message.get("content") if may_lack_text else dig(message, "content"))
    reason, logprobs = choice.get("finish_reason"), choice.get("logprobs")
    likely_tokens = likely_first_tokens(logprobs.get("content") if isinstance(logprobs, dict) else None)
    parts = message["content"] if isinstance(message.get("content"), list) else []
    types_of_parts = [part.get("type") for part in parts if isinstance(part, dict)]
    thinking = any(message.get(name) or name in types_of_parts for name in THOUGHTS)
    if reason == "length" and not text:  # all tokens were spent on thoughts
        return ModelOutput("", end_reason="length", thinking=thinking)
    if text is None and (thinking or message.get("tool_calls") or message.get("function_call")):
        return ModelOutput("", thinking=thinking)  # it said nothing, which is no refusal
    if reason == "content_filter" or message.get("refusal") or text is None:
        return ModelOutput(text, likely_tokens, end_reason="declined", thinking=thinking)
    return ModelOutput(text, likely_tokens, end_reason="length" if reason == "length" else "", thinking=thinking)


def joined_parts(content: object) -> Any:
    """Join the texts of a message in parts, without the parts of its thoughts; return any other value unchanged."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content
    return "".join(part["text"] for part in content if part.get("type") == "text" and isinstance(part.get("text"), str))


def messages_of(ask: Worded, settings: LanguageModelSettings) -> list[dict[str, str]]:
    """Return the messages for a question: options with letters and an instruction, or the prompt itself."""
    match ask:
        case Choose():
            system = settings.choice_instruction
            instructions = [{"role": "system", "content": system}] if system else []
            return [*instructions, {"role": "user", "content": letter_prompt(ask)}]
        case Write(prompt=prompt):
            return [{"role": "user", "content": prompt}]
    raise AssertionError(ask.asks)  # pragma: no cover - refused before


def unwrap_translation(answer: str, question: str) -> str:
    """Remove a code fence or quotation marks around a whole answer, unless the question has them too."""
    answer = answer.strip()
    if not question.lstrip().startswith("```") and (fence := _FENCED.match(answer)):
        answer = fence[1].strip()
    closing = _QUOTES.get(answer[:1])
    if closing is None or len(answer) < 2 or not answer.endswith(closing) or question.strip()[:1] in _QUOTES:
        return answer
    translation = answer[1:-1]  # kept whole if it holds further marks: these may be two quotations
    return answer if answer[0] in translation or closing in translation else translation.strip()


DEFAULT_QUESTION = "Which of these fits the picture best?"
"""Question for an experiment with labels but without a question."""

CAPTION = "Describe the picture in one short sentence."
"""Question for an experiment with neither labels nor a question."""


class ChatLooker(HttpLooker[OpenAIChatSettings]):
    """Adapter for ``/v1/chat/completions`` with one image and its question per call.

    Two or more labels become options with letters. The text of the reply is the chosen label; its scores are the
    probabilities of the letters, if all letters are among the likely first tokens.
    """

    def _refusal(self, ask: Look) -> Failure | None:
        return refusal_of_kind(question_of(ask), (Choose, Write))

    def _build_request(self, asks: Sequence[Look]) -> Request:
        """Build the request with the question and the image in one message."""
        (ask,) = asks
        settings, question = self.settings, question_of(ask)
        *instructions, last_message = messages_of(question, settings)
        detail = {} if settings.image_detail is None else {"detail": settings.image_detail}
        image = picture_of(ask, self._egress)
        image_url = {"url": f"data:{image.media_type};base64,{in_base64(image)}", **detail}
        content = [{"type": "text", "text": last_message["content"]}, {"type": "image_url", "image_url": image_url}]
        is_choice = isinstance(question, Choose)
        parameters = choice_parameters(settings) if is_choice else {"max_tokens": settings.writing_tokens}
        return chat_request(settings, [*instructions, {"role": "user", "content": content}], parameters)

    def _parse_response(self, response: Response, asks: Sequence[Look]) -> Sequence[Any]:  # noqa: ARG002 - one image a call
        return [output_in(response)]

    def _validate_answer(self, output: ModelOutput, ask: Look, origin: str) -> Reply:
        """Convert the chosen letter to a label with the scores of all labels; a free answer stays a text."""
        reply = accept_worded(output, question_of(ask), origin)
        if reply.failure is not None:
            return reply
        if isinstance(reply.value, str):
            return accept_look(reply.value, ask, origin)
        label = ask.labels[reply.value["choice"]]
        # in a sentence, the first token is no choice
        likely_tokens = output.answer_tokens if bare_letter(output.text) else ()
        return Reply({"scores": scores_in(likely_tokens, ask.labels), "text": label})


def question_of(ask: Look) -> Choose | Write:
    """Convert a question about an image to one for a language model: a choice of labels, or a free answer."""
    if len(ask.labels) > 1:
        return Choose(ask.question.strip() or DEFAULT_QUESTION, ask.labels)
    return Write(ask.question.strip() or CAPTION)


def scores_in(tokens: Likelihoods, labels: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of labels: the probabilities of their letters, scaled to a sum of 1.

    ``None`` if a letter has no probability, or if all letters together have less than `LEAST_SHARE`.
    """
    shares = letter_shares(tokens, len(labels))
    if not all(shares) or sum(shares) < LEAST_SHARE:
        return None
    return {label: share / sum(shares) for label, share in zip(labels, shares, strict=True)}
