"""A probe of a language model tells which ways to ask it work; one that answers in no way is not rated."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from store import jobs
from store.database import Database
from store.jobs import Job, NewJob
from store.secrets import Vault
from store.settings import Settings
from workers.run_job import run_job
from workers.workplace import Workplace


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
    """Answer everything with small talk, and no probabilities."""
    return {"choices": [{"index": 0, "text": " Hello there!", "logprobs": None, "finish_reason": "stop"}]}


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[dict[str, Any]], Any]], str]]:
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(answer: Callable[[dict[str, Any]], Any]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.dumps(answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}/v1"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join(10)


def probe(database_url: str, folder: Path, url: str) -> Job:
    settings = Settings(data_dir=folder, database_url=database_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(database_url)
    target = {
        "name": "T",
        "kind": "language-model",
        "protocol": "openai-completions",
        "base_url": url,
        "settings": {"model": "m"},
    }
    new = NewJob(
        tenant="default",
        kind="probe",
        target_id=None,
        target=target,
        sealed_secret=None,
        experiment=None,
        request_digest="probe of a model",
        seed=7,
        visibility="private",
        callback_url=None,
        max_calls=100,
        deadline_s=600,
        expected=10,
        key_id=None,
    )
    with database.write() as connection:
        job = jobs.add(connection, new)
    run_job(job.id, Workplace(database, Vault.from_settings(settings), settings), "here")
    with database.read() as connection:
        ended = jobs.find(connection, job.id, None)
    database.close()
    assert ended is not None
    return ended


def test_a_probe_says_which_ways_to_ask_a_language_model_work(database_url, tmp_path, serve):
    ended = probe(database_url, tmp_path, serve(echoing))
    assert (ended.status, ended.error) == ("succeeded", None)
    assert ended.result is not None
    assert (ended.result["rungs"], ended.result["order_kept"]) == (["score", "choose"], True)


def test_a_model_that_answers_in_no_way_is_refused_with_the_reasons(database_url, tmp_path, serve):
    ended = probe(database_url, tmp_path, serve(chattering))
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "target_unfit", "no-echo")
    assert "neither to score, nor to fill, nor to choose" in ended.error["detail"]
    assert "author" in ended.error["detail"]
