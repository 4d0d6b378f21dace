"""Adapter for chat models behind OpenAI's API that classify or describe images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from assay.model import Choose, Failure, Look, Reply, Write
from workers.egress import Response
from workers.targets.protocols.http.adapter import Request, post_json, without_nulls
from workers.targets.protocols.http.choice_letters import LEAST_SHARE, Likelihoods, bare_letter, letter_shares
from workers.targets.protocols.http.images import HttpLooker, accept_look, data_url, picture_of
from workers.targets.protocols.http.language_model import Said, accept_worded, why_unasked
from workers.targets.protocols.openai.chat import OpenAIChat, OpenAIChatSettings, messages_of, said_in

WHICH = "Which of these fits the picture best?"
"""Question for an experiment with labels but without a question."""

CAPTION = "Describe the picture in one short sentence."
"""Question for an experiment with neither labels nor a question."""


class ChatLooker(HttpLooker[OpenAIChatSettings]):
    """Adapter for ``/v1/chat/completions`` with one image and its question per call.

    Two or more labels become options with letters. The text of the reply is the chosen label; its scores are the
    probabilities of the letters, if all letters are among the likely first tokens.
    """

    protocol: ClassVar[str] = OpenAIChat.protocol
    summary: ClassVar[str] = OpenAIChat.summary
    settings_type: ClassVar[type] = OpenAIChatSettings

    def _refuse(self, ask: Look) -> Failure | None:
        return why_unasked(question_of(ask), (Choose, Write))

    def _ask_for(self, asks: Sequence[Look]) -> Request:
        (ask,) = asks
        settings, question = self.settings, question_of(ask)
        *instructions, last = messages_of(question, settings)
        detail = {} if settings.image_detail is None else {"detail": settings.image_detail}
        image = {"url": data_url(picture_of(ask, self._egress)), **detail}
        content = [{"type": "text", "text": last["content"]}, {"type": "image_url", "image_url": image}]
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": [*instructions, {"role": "user", "content": content}],
            "stream": False,
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_tokens": settings.writing_tokens,
        }
        if isinstance(question, Choose):
            logprobs = None if settings.top_logprobs is None else True
            body["max_tokens"] = settings.choice_tokens
            body |= {"logprobs": logprobs, "top_logprobs": settings.top_logprobs}
        return post_json("/v1/chat/completions", without_nulls(body))

    def _read(self, response: Response, asks: Sequence[Look]) -> Sequence[Any]:  # noqa: ARG002 - one image a call
        return [said_in(response)]

    def _accept(self, output: Said, ask: Look, origin: str) -> Reply:
        reply = accept_worded(output, question_of(ask), origin)
        if reply.failure is not None:
            return reply
        if isinstance(reply.value, str):
            return accept_look(reply.value, ask, origin)
        label = ask.labels[reply.value["choice"]]
        # in a sentence, the first token is no choice
        first = output.first if isinstance(output.text, str) and bare_letter(output.text) else ()
        return Reply({"scores": scores_in(first, ask.labels), "text": label})


def question_of(ask: Look) -> Choose | Write:
    """Convert a question about an image to one for a language model: a choice of labels, or a free answer."""
    if len(ask.labels) > 1:
        return Choose(ask.question.strip() or WHICH, ask.labels)
    return Write(ask.question.strip() or CAPTION)


def scores_in(tokens: Likelihoods, labels: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of labels, those of their letters scaled to a sum of 1.

    ``None`` if one is missing, or if the letters are no likely first tokens (`LEAST_SHARE`).
    """
    shares = letter_shares(tokens, len(labels))
    if not all(shares) or sum(shares) < LEAST_SHARE:
        return None
    return {label: share / sum(shares) for label, share in zip(labels, shares, strict=True)}
