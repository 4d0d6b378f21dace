"""Parsing of answers of language models behind an HTTP interface that a job describes."""

from __future__ import annotations

from typing import Any

from assay.model import Reply, Score
from workers.targets.adapter import Worded
from workers.targets.parsing.answer_parsing import number_of, reply_of
from workers.targets.parsing.echoed_tokens import NotEchoed, total_of
from workers.targets.protocols.http.language_model import Said, accept_worded


def accept_declared(answer: Any, ask: Worded, origin: str) -> Reply:
    """Parse an answer: a text, or a log-probability as one number or as the list of the tokens' numbers."""
    if not isinstance(ask, Score):
        return accept_worded(answer if isinstance(answer, Said) else Said(answer), ask, origin)
    return reply_of(lambda: _total(answer), origin)


def _total(answer: Any) -> dict[str, Any]:
    values = answer if isinstance(answer, list) else [number_of(answer)]
    if values in ([0], []):
        raise NotEchoed("gave no log-probability, or 0, for a whole text")
    return total_of(values)
