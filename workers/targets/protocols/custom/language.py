"""Language models behind an interface that the job declares: what they can be asked, and what their answers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.model import Ask, Choose, Failure, Fill, Reply, Score, Write
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import Misread, number_of
from workers.targets.parsing.echoed_tokens import NotEchoed, total_of
from workers.targets.protocols.custom.settings import CustomSettings
from workers.targets.protocols.http.choice_letters import completed_by_letter
from workers.targets.protocols.http.language_model import Said, accept_worded


def asked_of(settings: CustomSettings) -> tuple[type[Ask], ...]:
    """Say which kinds of question a declared language model can be asked: its answer is one thing or the other."""
    return (Score,) if settings.answer == "log-probability" else (Choose, Write)


def prompts_in(asks: Sequence[Worded], settings: CustomSettings) -> list[str]:
    """Give the text of each question."""
    return [_prompt(ask, settings) for ask in asks]


def _prompt(ask: Worded, settings: CustomSettings) -> str:
    match ask:
        case Choose():
            return completed_by_letter(ask, settings.choice_instruction)
        case Write(prompt=prompt):
            return prompt
        case Score(text=text):
            return text
        case Fill():  # pragma: no cover - refused before
            raise AssertionError(ask.asks)


def accept_declared(said: Any, ask: Worded, place: str) -> Reply:
    """Read an answer: a text, or a log-probability as one number or as those of the text's tokens."""
    if not isinstance(ask, Score):
        return accept_worded(Said(said), ask, place)
    try:
        values = said if isinstance(said, list) else [number_of(said)]
        if values in ([0], []):
            raise NotEchoed("gave no log-probability, or 0, for a whole text")
        return Reply(total_of(values))
    except NotEchoed as wrong:
        return Reply(failure=Failure("no-echo", f"{place} {wrong}"))
    except Misread as wrong:
        return Reply(failure=Failure("wrong-shape", f"{place} {wrong}"))
