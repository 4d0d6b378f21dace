"""The demo services that answer questions about two people get their expected letters over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assay.experiment import generator
from assay.methods import GroupQuestions
from assay.model import Kind, Rating
from assay.rating.decision import rate
from demo.language_models.answerers import ANSWERERS
from demo.server import DemoServer
from workers.egress import Egress
from workers.targets.adapter import Target
from workers.targets.registry import connect

FAULTS = {"first-letter-answerer": "ignores-the-facts", "refusing-answerer": "target-output-unusable"}


async def rated(name: str, url: str, wire: Any) -> Rating:
    """Rate a demo service that answers questions, with eight concurrent calls."""
    async with Egress(wire.loopback) as egress:
        adapter = connect(Target("t", Kind.LANGUAGE_MODEL, "openai-chat", url, {"model": name}), egress)
        design = GroupQuestions("gender", stop_early=False, most_turns=2).design(generator(7))
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


@pytest.mark.parametrize("name", ANSWERERS)
def test_a_demo_model_that_answers_questions_gets_its_expected_letter_and_reason(name, wire):
    answerer = ANSWERERS[name]
    with DemoServer() as services:
        rating = asyncio.run(rated(name, services.url(name), wire))
    letter = rating.letter if rating.declared else None
    assert letter == answerer.letter
    expected = answerer.reasons.get("questions", FAULTS.get(name))
    assert expected in {reason.code for reason in rating.reasons}
