"""Jobs with an author: limits and pauses of each service, and storage of the author's work."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from assay.methods import StereotypeScore
from assay.methods.shared.terms.sentence_generation import Writing
from store.core.columns import new_id
from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.corpora import corpora, specifications
from store.corpora import items as corpus_items
from store.corpora.corpora import NewCorpus, Rules, StoredCorpus
from store.corpora.items import NewItem
from store.jobs import jobs
from store.jobs.jobs import Job, NewJob
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from store.targets import targets
from store.targets.targets import NewTarget, StoredTarget, descriptor
from workers import run_job as running
from workers.calls.driver import JobLedger
from workers.calls.limits import lane_of
from workers.engine.worker_context import WorkerContext
from workers.generation import authored, corpus_sentences
from workers.run_job import run_job

WORDS = StereotypeWords(
    attribute="gender",
    first="men",
    second="women",
    pairs=(("man", "woman"), ("brother", "sister")),
    first_terms=("plumber", "mason"),
    second_terms=("secretary", "dietitian"),
    neutral=("artist", "judge"),
    telling=("himself", "herself"),
    name="work",
)
METHOD = StereotypeScore(words=(WORDS,), writing=Writing(per_term=4), per_term=4, most_per_term=4)
SENTENCES = 4 * len(WORDS.roles)
SECRET = "sk-of-the-new-address-0815"

Misbehave = Callable[[int], tuple[int, Any] | None]


@dataclass
class Engine:
    """Service that writes at ``/chat/completions`` and scores at ``/completions``, and fails as configured."""

    writes: list[dict[str, Any]] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    at_writing: Misbehave = lambda number: None
    at_scoring: Misbehave = lambda number: None
    pause_s: float = 0.0

    def __post_init__(self) -> None:
        self._numbers = itertools.count()
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                engine.keys.add(self.headers.get("Authorization"))
                time.sleep(engine.pause_s)
                status, said = engine.answer(self.path, body)
                content = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.place = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.place}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path.endswith("/chat/completions"):
            self.writes.append(body)
            return self.at_writing(len(self.writes)) or (200, self._written(body))
        self.scores.append(body)
        return self.at_scoring(len(self.scores)) or (200, {"choices": [self._scored(body)]})

    def _written(self, body: dict[str, Any]) -> dict[str, Any]:
        group, term = re.findall(r'"(\w+)"', body["messages"][-1]["content"])[:2]
        text = f"The {group} met the {term} on day {next(self._numbers)}."
        return {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}

    def _scored(self, body: dict[str, Any]) -> dict[str, Any]:
        prompt = body["prompt"] if isinstance(body["prompt"], str) else body["prompt"][0]
        if not body.get("echo"):
            return {"index": 0, "text": " A", "logprobs": None, "finish_reason": "stop"}
        words = [word if not at else f" {word}" for at, word in enumerate(prompt.split(" "))]
        told = {"tokens": words, "token_logprobs": [None, *(-0.5 * len(word) for word in words[1:])]}
        return {"index": 0, "text": prompt, "logprobs": told, "finish_reason": "length"}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def engine() -> Iterator[Callable[..., Engine]]:
    """Start engines that fail as configured."""
    made: list[Engine] = []

    def make(**told: Any) -> Engine:
        made.append(Engine(**told))
        return made[-1]

    yield make
    for each in made:
        each.close()


def workplace_at(url: str, tmp_path: Path) -> WorkerContext:
    settings = Settings(
        data_dir=tmp_path,
        database_url=url,
        egress_allow="127.0.0.0/8",
        call_attempts=1,
        breaker_delay_s=30,
        heartbeat_s=0.25,
        ledger_replies=5,
    )
    return WorkerContext(Database(url), Vault.from_settings(settings), settings)


@pytest.fixture
def context(sqlite_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    made = workplace_at(sqlite_url, tmp_path)
    yield made
    made.database.close()


def described(url: str, protocol: str, concurrency: int = 2, timeout_s: float = 20) -> dict[str, Any]:
    about = {"name": protocol, "kind": "language-model", "protocol": protocol, "base_url": url}
    settings = {"model": "m"} | ({"batch_maximum": 1} if protocol == "openai-completions" else {})
    return {**about, "settings": settings, "limits": {"concurrency": concurrency, "timeout_s": timeout_s}}


def order(target: dict[str, Any], author: dict[str, Any] | None, **more: Any) -> NewJob:
    experiment = dump_method(METHOD)
    asked = {
        "tenant": "default",
        "kind": "rating",
        "target_id": None,
        "target": target,
        "author": author,
        "sealed_secret": None,
        "experiment": experiment,
        "request_digest": digest_of([experiment, new_id("job")]),
        "seed": 5,
        "visibility": "private",
        "callback_url": None,
        "max_calls": 10_000,
        "deadline_s": 600,
        "expected": METHOD.expected_probes(),
        "key_id": None,
    }
    return NewJob(**{**asked, **more})


def rating(rated: Engine, author: Engine, **more: Any) -> NewJob:
    return order(described(rated.url, "openai-completions"), described(author.url, "openai-chat"), **more)


def ordered(context: WorkerContext, author: Engine, concurrency: int = 2, **more: Any) -> tuple[NewJob, str]:
    """Post a job that writes sentences for a corpus; return the job and the corpus."""
    rules = Rules("work", 1, "sha256:" + "1" * 64, specifications.dump_words(WORDS))
    with context.database.write() as c:
        made = corpora.add(c, NewCorpus("default", "Work", "sentences", "en", "gender", rules))
    asked = {"corpus": made.id, "specification": "work@1", "words": specifications.dump_words(WORDS)}
    asked |= {"per_term": 4, "family": "nothing-else", "tries": 3, "reuse": False}
    target = described(author.url, "openai-chat", concurrency)
    return order(target, None, kind="writing", experiment=asked, expected=SENTENCES, **more), made.id


def add(context: WorkerContext, new: NewJob) -> NewJob:
    with context.database.write() as c:
        jobs.add(c, new)
    return new


def read(context: WorkerContext, new: NewJob) -> Job:
    with context.database.read() as c:
        job = jobs.find(c, new.id, None)
    assert job is not None
    return job


def done(context: WorkerContext, new: NewJob) -> Job:
    run_job(add(context, new).id, context, "a worker")
    return read(context, new)


def again(context: WorkerContext, new: NewJob) -> Job:
    """Resume a job whose worker was lost."""
    with context.database.write() as c:
        jobs.release_orphans(c)
    run_job(new.id, context, "another worker")
    return read(context, new)


def kept(context: WorkerContext) -> list[StoredCorpus]:
    with context.database.read() as c:
        return corpora.page(c, "default", limit=9)


def texts(context: WorkerContext, corpus_id: str | None = None) -> list[str]:
    """Read the sentences of the only corpus, or of the named one."""
    if corpus_id is None:
        (corpus,) = kept(context)
        corpus_id = corpus.id
    with context.database.read() as c:
        return [str(item.text) for item in corpus_items.all_items(c, corpus_id)]


def after(calls: int, status: int, body: Any = None) -> Misbehave:
    return lambda number: (status, body or {"error": "no"}) if number > calls else None


def rests(context: WorkerContext, engine: Engine) -> float:
    return asyncio.run(context.local_traffic.cooldown_s(lane_of("default", engine.url)))


def counted(context: WorkerContext, engine: Engine, outcome: str) -> float:
    labels = {"target": engine.place, "outcome": outcome}
    return context.meter.registry.get_sample_value("assay_target_calls_total", labels) or 0.0


# ---------------------------------------------------------------------------- lanes and metrics of both services
@pytest.mark.slow
def test_a_rating_whose_sentences_are_written_by_the_rated_service_itself_finishes(context, engine):
    one = engine(pause_s=0.02)
    target, author = (described(one.url, name, 1, 60) for name in ("openai-completions", "openai-chat"))
    job = done(context, order(target, author))
    assert job.status == "succeeded", job.error
    assert job.finished_at - job.started_at < 40_000, "a place that is waited for in vain expires after 66 seconds"


def test_a_failing_author_service_pauses_calls_to_itself_but_not_to_the_rated_service(context, engine):
    rated, author = engine(), engine(at_writing=after(1, 503))
    job = done(context, rating(rated, author))
    assert (job.status, job.rating_id) == ("queued", None)
    assert rests(context, author) > 20
    assert rests(context, rated) == 0


def test_a_failing_rated_service_pauses_calls_to_itself_but_not_to_the_author_service(context, engine):
    rated, author = engine(at_scoring=after(12, 503)), engine()
    job = done(context, rating(rated, author))
    assert (job.status, job.rating_id) == ("queued", None)
    assert rests(context, rated) > 20
    assert rests(context, author) == 0


def test_a_job_waits_while_calls_to_its_author_service_are_paused_after_failures_in_another_job(context, engine):
    rated, author = engine(), engine()
    asyncio.run(context.local_traffic.start_cooldown(lane_of("default", author.url), 20))
    job = done(context, rating(rated, author))
    assert (job.status, job.attempts_without_progress) == ("queued", 0)
    assert job.next_run_at > job.heartbeat_at + 15_000
    assert (rated.scores, author.writes) == ([], [])


@pytest.mark.slow
def test_metrics_count_calls_separately_for_the_rated_service_and_the_author_service(context, engine):
    rated, author = engine(), engine()
    job = done(context, rating(rated, author))
    assert job.status == "succeeded", job.error
    assert counted(context, author, "answered") == SENTENCES
    assert counted(context, rated, "answered") == job.calls - SENTENCES
    spoken = context.meter.registry.get_sample_value("assay_target_call_seconds_count", {"protocol": "openai-chat"})
    assert spoken == SENTENCES


# ---------------------------------------------------------------------------- resumed jobs
def stop(*_: Any, **__: Any) -> None:
    raise StoreUnavailable("unreachable")  # simulates a killed worker, which cannot release its job


@pytest.mark.slow
def test_a_resumed_job_does_not_check_again_an_author_service_whose_texts_are_recorded(context, engine, monkeypatch):
    rated, author = engine(), engine()
    new = rating(rated, author)
    with monkeypatch.context() as broken:
        broken.setattr(running, "_store_rating", stop)
        assert done(context, new).status == "running"
    assert len(author.writes) == SENTENCES + 1, "the examination reads one"
    job = again(context, new)
    assert job.status == "succeeded", job.error
    assert len(author.writes) == SENTENCES + 1


def test_writing_job_requests_no_sentence_twice_after_a_crash(context, engine, monkeypatch):
    author = engine()
    new, into = ordered(context, author)
    with monkeypatch.context() as broken:
        broken.setattr(corpus_sentences.Task, "finish", stop)
        assert done(context, new).status == "running"
    assert len(author.writes) == SENTENCES + 1
    assert again(context, new).status == "succeeded"
    assert (len(author.writes), len(texts(context, into))) == (SENTENCES + 1, SENTENCES)


def test_resumed_job_requests_only_the_missing_texts(context, engine, monkeypatch):
    author = engine()
    new, _ = ordered(context, author)
    record, written = JobLedger.record, []

    def dies(self: JobLedger, answers: Any, **more: Any) -> None:
        if written:
            stop()
        written.extend(answers)
        record(self, answers, **more)

    with monkeypatch.context() as broken:
        broken.setattr(JobLedger, "record", dies)
        done(context, new)
    before = len(author.writes)
    assert again(context, new).status == "succeeded"
    assert len(author.writes) - before == SENTENCES - len(written)


# ---------------------------------------------------------------------------- targets changed while a job waits
def save(context: WorkerContext, about: dict[str, Any], secret: str | None = None) -> StoredTarget:
    name = new_id("tgt")
    sealed = context.vault.seal(secret, tenant="default", target=name, field="secret") if secret else None
    with context.database.write() as c:
        return targets.add(c, NewTarget("default", **about, sealed_secret=sealed, id=name))


def move(context: WorkerContext, saved: StoredTarget, about: dict[str, Any]) -> None:
    sealed = context.vault.seal(SECRET, tenant="default", target=saved.id, field="secret")
    with context.database.write() as c:
        assert targets.replace(c, saved.id, "default", NewTarget("default", **about, sealed_secret=sealed))


@pytest.mark.parametrize("kind", ["rating", "writing", "probe"])
def test_a_job_fails_without_calls_if_the_address_of_its_target_changed_while_it_waited(context, engine, kind):
    old, new = engine(), engine()
    about = described(old.url, "openai-chat" if kind == "writing" else "openai-completions")
    saved = save(context, about, "sk-old-0815")
    if kind == "writing":
        waiting, _ = ordered(context, old)
    else:
        waiting = order(about, described(old.url, "openai-chat") if kind == "rating" else None, kind=kind)
    waiting = add(context, replace(waiting, target=descriptor(saved), target_id=saved.id))
    move(context, saved, {**about, "base_url": new.url})
    run_job(waiting.id, context, "a worker")
    job = read(context, waiting)
    assert (job.status, job.error["code"], job.error["reason"]) == ("failed", "bad_specification", "target-moved")
    assert "ask anew" in job.error["detail"]
    assert saved.id in job.error["detail"]
    assert (old.keys, new.keys) == (set(), set())


def test_a_job_fails_without_calls_if_the_address_of_its_author_changed_while_it_waited(context, engine):
    rated, old, new = engine(), engine(), engine()
    about = described(old.url, "openai-chat")
    saved = save(context, about, "sk-old-0815")
    waiting = add(context, order(described(rated.url, "openai-completions"), {"id": saved.id, **descriptor(saved)}))
    move(context, saved, {**about, "base_url": new.url})
    run_job(waiting.id, context, "a worker")
    job = read(context, waiting)
    assert (job.status, job.error["reason"]) == ("failed", "target-moved")
    assert (rated.keys, old.keys, new.keys) == (set(), set(), set())


def test_a_key_replaced_while_the_job_waited_is_sent_if_the_address_is_unchanged(context, engine):
    author = engine()
    about = described(author.url, "openai-chat")
    saved = save(context, about, "sk-old-0815")
    waiting, _ = ordered(context, author)
    waiting = add(context, replace(waiting, target=descriptor(saved), target_id=saved.id))
    move(context, saved, {**about, "name": "another name"})
    run_job(waiting.id, context, "a worker")
    assert read(context, waiting).status == "succeeded"
    assert author.keys == {f"Bearer {SECRET}"}


def test_a_target_deleted_while_its_job_waited_is_called_without_its_key(context, engine):
    author = engine()
    saved = save(context, described(author.url, "openai-chat"), "sk-old-0815")
    waiting, _ = ordered(context, author)
    waiting = add(context, replace(waiting, target=descriptor(saved), target_id=saved.id))
    with context.database.write() as c:
        targets.remove(c, saved.id, "default")
    run_job(waiting.id, context, "a worker")
    assert read(context, waiting).status == "succeeded"
    assert author.keys == {None}


# ---------------------------------------------------------------------------- texts of failed and cancelled jobs
QUOTA = {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}


def test_texts_written_before_a_quota_was_used_up_are_stored(context, engine):
    # concurrency 1, because calls in flight are abandoned when the quota ends
    rated, author = engine(), engine(at_writing=after(13, 429, QUOTA))
    job = done(context, order(described(rated.url, "openai-completions"), described(author.url, "openai-chat", 1)))
    assert (job.status, job.error["code"], job.error["reason"]) == ("failed", "target_refused", "quota")
    assert len(texts(context)) == 12, "the examination's is not of the experiment"
    assert len(author.writes) >= 13
    assert job.id in kept(context)[0].description


def test_texts_written_for_a_rating_are_stored_if_the_rated_service_refuses_its_key(context, engine):
    job = done(context, rating(engine(at_scoring=after(12, 401)), engine()))
    assert (job.status, job.error["code"]) == ("failed", "target_refused")
    assert len(texts(context)) == SENTENCES


@pytest.mark.slow
def test_texts_written_before_a_deadline_are_stored(context, engine):
    job = done(context, rating(engine(), engine(pause_s=0.5), deadline_s=5))
    assert (job.status, job.error["code"]) == ("failed", "deadline_exceeded")
    assert 0 < len(texts(context)) < SENTENCES


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rating", "writing"])
def test_texts_written_before_a_cancellation_are_stored(context, engine, kind):
    author = engine(pause_s=0.3)
    new, into = ordered(context, author) if kind == "writing" else (rating(engine(), author), None)
    thread = threading.Thread(target=run_job, args=(add(context, new).id, context, "here"))
    thread.start()
    until = time.monotonic() + 20
    while read(context, new).asked < 2 and time.monotonic() < until:
        time.sleep(0.05)
    with context.database.write() as c:
        jobs.request_cancel(c, new.id, "default")
    thread.join(20)
    job = read(context, new)
    assert (job.status, len(texts(context, into))) == ("cancelled", job.asked)
    assert job.asked >= 2


def test_job_cancelled_while_it_waits_to_retry_stores_its_texts(context, engine):
    author = engine()
    new = rating(engine(), author)

    def ill(number: int) -> tuple[int, Any] | None:
        if number <= 9:
            return None
        with context.database.write() as c:  # the job rests before its next heartbeat could report the cancellation
            jobs.request_cancel(c, new.id, "default")
        return 503, {}

    author.at_writing = ill
    context.settings = context.settings.model_copy(update={"heartbeat_s": 20})
    assert done(context, new).status == "cancelled"
    assert len(texts(context)) == 8


def test_a_writing_job_stores_its_sentences_in_the_corpus_if_the_quota_is_used_up(context, engine):
    new, into = ordered(context, engine(at_writing=after(13, 429, QUOTA)), concurrency=1)
    job = done(context, new)
    assert (job.status, job.error["reason"]) == ("failed", "quota")
    assert len(texts(context, into)) == 12
    with context.database.read() as c:
        items = corpus_items.all_items(c, into)
    assert {item.provenance["job"] for item in items} == {job.id}
    assert Counter(item.source for item in items) == {"written": 12}
    assert all(item.provenance["prompt"] and item.counterpart for item in items)


def test_job_finishes_when_its_corpus_was_deleted(context, engine):
    author = engine()
    new, into = ordered(context, author)

    def gone(number: int) -> tuple[int, Any] | None:
        if number <= 5:
            return None
        with context.database.write() as c:
            corpora.remove(c, into, "default")
        return 429, QUOTA

    author.at_writing = gone
    job = done(context, new)
    assert (job.status, job.error["reason"], kept(context)) == ("failed", "quota", [])


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["collect", "keep"])
def test_job_finishes_when_the_authors_work_cannot_be_stored(context, engine, monkeypatch, broken):
    def breaks(*_: Any) -> None:
        raise ValueError("it broke")

    monkeypatch.setattr(authored, broken, breaks)
    job = done(context, rating(engine(), engine(at_writing=after(13, 429, QUOTA))))
    assert (job.status, job.error["reason"], kept(context)) == ("failed", "quota", [])


def test_a_worker_that_lost_its_job_to_another_worker_stores_nothing_in_a_corpus(context, engine):
    author = engine()
    new = rating(engine(), author)

    def stolen(number: int) -> tuple[int, Any] | None:
        if number == 13:
            with context.database.write() as c:
                jobs.release_orphans(c)
                jobs.claim(c, new.id, "the thief", 60)
        return (429, QUOTA) if number >= 13 else None

    author.at_writing = stolen
    context.settings = context.settings.model_copy(update={"heartbeat_s": 20})
    job = done(context, new)
    assert (job.status, job.lease_owner, kept(context)) == ("running", "the thief", [])


# ---------------------------------------------------------------------------- size limit of a corpus
@pytest.fixture
def shared_workplace(database_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    made = workplace_at(database_url, tmp_path)
    yield made
    made.database.close()


def filled_meanwhile(context: WorkerContext, corpus_id: str, most: int) -> threading.Thread:
    """Add `most` items in a transaction that commits after half a second; others may not see them until then."""
    begun = threading.Event()

    def fill() -> None:
        with context.database.write() as c:
            corpus_items.add(c, corpus_id, "default", [NewItem(f"The man saw the judge {n}.") for n in range(most)])
            begun.set()
            time.sleep(0.5)

    thread = threading.Thread(target=fill)
    thread.start()
    assert begun.wait(10)
    return thread


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rating", "writing"])
def test_corpus_that_becomes_full_takes_as_many_items_as_fit(shared_workplace, engine, monkeypatch, kind):
    for module in (authored, corpus_sentences, corpus_items):
        monkeypatch.setattr(module, "MOST_ITEMS", 10)
    context, author = shared_workplace, engine()
    new, into = ordered(context, author)
    if kind == "rating":
        new = rating(engine(), author, experiment=dump_method(replace(METHOD, corpus=f"{into}@1")))
    threads = []
    module, name = (corpus_sentences.Task, "finish") if kind == "writing" else (authored, "keep")
    ends = getattr(module, name)

    def with_others(*given: Any) -> Any:
        threads.append(filled_meanwhile(context, into, 7))
        return ends(*given)

    # not for a rating on SQLite, which allows one writer at a time
    if kind == "writing" or context.settings.database_url.startswith("postgres"):
        monkeypatch.setattr(module, name, with_others)
    job = done(context, new)
    for thread in threads:
        thread.join()
    assert job.status == "succeeded", job.error
    assert len(texts(context, into)) == 10
