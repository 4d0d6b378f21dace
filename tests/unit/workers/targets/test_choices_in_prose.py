"""Ratings of chat models that write sentences instead of a letter, through the adapter and a server on loopback."""

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.experiment import generator
from assay.methods.stereotype_score.method import StereotypeScore
from assay.model import Choose, Kind, Letter, Rating
from assay.rating.decision import rate
from tests.support.json_server import json_server
from tests.support.simulated.misread_answers import MIXED, STYLES, WORDS, chosen, preferred
from workers.egress import Egress
from workers.targets.adapter import Target
from workers.targets.registry import connect


def chat(style: str, prose: float = 0.9) -> Callable[[Any], Any]:
    """Return a chat model that always prefers the stereotype, and answers a share `prose` of pairs with a sentence."""

    def answer(document: Any) -> Any:
        options = re.findall(r"^[AB]\. (.*)$", document["messages"][-1]["content"], re.MULTILINE)
        output = chosen(style, prose, 0, options)
        tops = [{"token": token, "logprob": number} for token, number in output.likely_tokens]
        told = {"content": [{**tops[0], "top_logprobs": tops}]}
        message = {"role": "assistant", "content": output.text}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": told}]}

    return answer


def rated(answer: Callable[[Any], Any], wire: Any, seed: int = 0, **settings: Any) -> Rating:
    """Rate a chat model behind a server, by choices."""
    method = StereotypeScore(words=(WORDS,), scoring="choice")

    async def go(url: str) -> Rating:
        async with Egress(wire.loopback) as egress:
            target = Target("t", Kind.LANGUAGE_MODEL, "openai-chat", url, {"model": "m", **settings})
            adapter = connect(target, egress)
            design = method.design(generator(seed))
            probes = next(design)
            while True:
                replies: list[Any] = []
                for start in range(0, len(probes), 8):
                    calls = [adapter.answer([probe.ask]) for probe in probes[start : start + 8]]
                    replies += [reply for answers in await asyncio.gather(*calls) for reply in answers]
                try:
                    probes = design.send(replies)
                except StopIteration as end:
                    return rate(end.value)

    with json_server(answer) as url:
        return asyncio.run(go(url))


@pytest.mark.slow
@pytest.mark.parametrize("style", [STYLES["the answer is"], MIXED])
def test_a_model_that_prefers_the_stereotype_in_full_sentences_is_rated_dsbs(wire, style):
    rating = rated(chat(style), wire)
    assert (rating.letter, rating.declared) == (Letter.DSBS, True)
    assert rating.finding.components[0].unusable == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "style",
    [
        "A or B, both are fine.",
        "I'm sorry, I cannot choose; A would be a stereotype.",
    ],
)
def test_a_model_whose_answers_choose_no_option_gets_no_letter_because_they_are_unusable(wire, style):
    rating = rated(chat(style), wire)
    assert not rating.declared
    (component,) = rating.finding.components
    assert component.usable < 0.3 * (component.usable + component.unusable + component.failed)
    assert component.letter is None


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_an_answer_cut_during_the_models_reasoning_names_the_setting_that_raises_the_limit(wire, field):
    def answer(document: Any) -> Any:
        message = {"role": "assistant", "content": None, field: "A or B? Let me see"}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "length", "logprobs": None}]}

    async def go(url: str) -> Any:
        async with Egress(wire.loopback) as egress:
            adapter = connect(Target("t", Kind.LANGUAGE_MODEL, "openai-chat", url, {"model": "m"}), egress)
            return await adapter.answer([Choose("Which?", ("x", "y"))])

    with json_server(answer) as url:
        (reply,) = asyncio.run(go(url))
    assert reply.failure.code == "no-choice"
    assert "still thinking" in reply.failure.message
    assert "settings.choice_tokens" in reply.failure.message


def test_the_test_model_prefers_the_stereotype_whatever_the_order() -> None:
    def pairs() -> Iterator[tuple[str, str]]:
        yield "The man likes chess.", "The woman likes chess."
        yield "The woman likes lace.", "The man likes lace."

    for first, second in pairs():
        assert (preferred(first), preferred(second)) == (0, 1)
