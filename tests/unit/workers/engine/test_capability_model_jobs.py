"""Dry runs of language models list the kinds of question that work; a model that answers none of them is not rated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from store.core.database import Database
from store.core.settings import Settings
from store.jobs.jobs import Job
from store.security.secrets import Vault
from tests.support.jobs import new_job, run_to_end
from tests.support.json_server import json_server
from workers.engine.worker_context import WorkerContext


def echoing(body: dict[str, Any]) -> dict[str, Any]:
    """Score a text by the lengths of its words; choose the letter B."""
    if not body.get("echo"):
        return {"choices": [{"index": 0, "text": " B", "finish_reason": "stop"}]}
    choices = []
    for at, prompt in enumerate(body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]):
        words = [word if not place else f" {word}" for place, word in enumerate(prompt.split(" "))]
        told = {"tokens": words, "token_logprobs": [None, *(-0.5 * len(word) for word in words[1:])]}
        choices.append({"index": at, "text": prompt, "logprobs": told, "finish_reason": "length"})
    return {"choices": choices}


def chattering(_: dict[str, Any]) -> dict[str, Any]:
    """Answer everything with small talk, without probabilities."""
    return {"choices": [{"index": 0, "text": " Hello there!", "logprobs": None, "finish_reason": "stop"}]}


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[dict[str, Any]], Any]], str]]:
    with ExitStack() as serving:
        yield lambda answer: serving.enter_context(json_server(answer)) + "/v1"


def probe(database_url: str, folder: Path, url: str) -> Job:
    settings = Settings(data_dir=folder, database_url=database_url, egress_allow="127.0.0.0/8", call_attempts=1)
    target = {
        "name": "T",
        "kind": "language-model",
        "protocol": "openai-completions",
        "base_url": url,
        "settings": {"model": "m"},
    }
    new = new_job(kind="probe", target=target, experiment=None, request_digest="probe of a model", max_calls=100)
    with closing(Database(database_url)) as database:
        return run_to_end(WorkerContext(database, Vault.from_settings(settings), settings), new)


def test_dry_run_lists_the_kinds_of_question_that_a_language_model_answers(database_url, tmp_path, serve):
    ended = probe(database_url, tmp_path, serve(echoing))
    assert (ended.status, ended.error) == ("succeeded", None)
    assert ended.result is not None
    assert (ended.result["rungs"], ended.result["order_kept"]) == (["score", "choose"], True)


def test_model_that_answers_no_kind_of_question_is_refused_with_the_reasons(database_url, tmp_path, serve):
    ended = probe(database_url, tmp_path, serve(chattering))
    assert (ended.status, ended.result["code"], ended.result["capability"]) == ("succeeded", "no-echo", None)
    assert "gave no tokens with their log-probabilities" in ended.result["cause"]
