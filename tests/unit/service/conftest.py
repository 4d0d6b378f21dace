"""Fixtures: a service with a SQLite file, a worker whose steps a test calls, and a validator with a few protocols."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from assay.errors import SpecificationError, UnknownName
from assay.model import Failure, Kind, Observation, Probe, Reply, Translate
from service.app import create_app
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import Claim, LedgerEntry
from store.ratings.standing import Description
from store.security import keys
from tests.support.new_ratings import new_rating
from web.site import add_pages


@dataclass(frozen=True)
class NoSettings:
    """Settings of a protocol without settings."""


@dataclass(frozen=True)
class ModelSettings:
    """Settings of a protocol that needs a model."""

    model: str = "base"


@dataclass(frozen=True, kw_only=True)
class AuthSettings:
    path: str = "/"
    auth: str = "header"
    auth_name: str = "Authorization"
    auth_value: str = "Bearer {secret}"


@dataclass(frozen=True)
class Protocol:
    name: str
    summary: str = "speaks"
    kinds: frozenset[Kind] = frozenset({Kind.TRANSLATOR})
    needs_url: bool = True
    needs_secret: bool = False
    reproducible: bool = True
    settings_type: type = NoSettings


class FewProtocols:
    """A target validator with a few protocols."""

    PROTOCOLS = (
        Protocol("libretranslate"),
        Protocol("deepl", needs_secret=True),
        Protocol("tei", kinds=frozenset({Kind.EMBEDDER}), settings_type=ModelSettings),
        Protocol("openai-chat", kinds=frozenset({Kind.LANGUAGE_MODEL}), settings_type=ModelSettings),
        Protocol("openai-completions", kinds=frozenset({Kind.LANGUAGE_MODEL}), settings_type=ModelSettings),
        Protocol("own-interface", settings_type=AuthSettings),
        Protocol("mlflow", kinds=frozenset({Kind.CLASSIFIER})),
        Protocol("hf-inference", kinds=frozenset({Kind.IMAGE_CLASSIFIER})),
    )

    def protocols(self) -> Sequence[Protocol]:
        return self.PROTOCOLS

    def check(self, target: Mapping[str, Any]) -> None:
        known = {one.name: one for one in self.PROTOCOLS}
        if target["protocol"] not in known:
            raise UnknownName("protocol", target["protocol"], known, "protocol")
        protocol = known[target["protocol"]]
        if target["kind"] not in protocol.kinds:
            raise SpecificationError(f"{protocol.name} reaches another kind", "kind")
        if protocol.needs_secret and target.get("secret", "saved") is None:
            raise SpecificationError(f"the protocol {protocol.name} needs a secret", "secret")
        if protocol.needs_url and not target["base_url"]:
            raise SpecificationError(f"the protocol {target['protocol']} needs base_url", "base_url")
        if "model" in target["settings"] and not isinstance(target["settings"]["model"], str):
            raise SpecificationError("model must be text", "settings.model")

    def questions_per_call(self, target: Mapping[str, Any]) -> int:
        return int(target["settings"].get("batch_maximum", 1))

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        if "private" in url:
            raise SpecificationError(f"{url} leads to a private address", field)


@dataclass
class Rings:
    """Fake doorbell that records the ids of new jobs; if `broken`, it raises as the client of a broker does."""

    heard: list[str] = field(default_factory=list)
    broken: bool = False

    def __call__(self, job_id: str) -> None:
        if self.broken:
            raise ConnectionError("no broker")
        self.heard.append(job_id)


def rating_document(letter: str | None = "DSBS", visibility: str = "private", **changes: Any) -> dict[str, Any]:
    """Return a small but complete rating document."""
    probabilities = None if letter is None else {"BS": 0.004, "DSBS": 0.996, "UCS": 0.0}
    component = {
        "name": "es",
        "letter": letter,
        "declared": True,
        "probabilities": probabilities,
        "effects": {"step_1": {"estimate": 0.01, "low": 0.0, "high": 0.04}, "step_2": None},
        "transitions": {"he": {"he": 79, "she": 1, "other": 0}},
        "usable": 240,
        "unusable": 0,
        "failed": 0,
        "reasons": [],
        "published": {},
    }
    return {
        "letter": letter,
        "declared": True,
        "probabilities": probabilities,
        "method": "round-trip",
        "attribute": "gender",
        "confidence": 0.95,
        "delta": 0.1,
        "target": {
            "name": "T",
            "kind": "translator",
            "protocol": "libretranslate",
            "url": "http://127.0.0.1:5000",
            "digest": "sha256:00",
        },
        "components": [component],
        "published": {"kl": "DSBS"},
        "reasons": [{"code": "follows-biased-input", "text": "It follows its input.", "facts": {}, "component": "es"}],
        "counts": {"asked": 240, "failed": 0, "usable": 60, "unusable": 0},
        "methodology": {"version": "1.3.0", "digest": "sha256:00"},
        "engine_version": "0.1.0",
        "seed": 7,
        "calls": 240,
        "evidence_digest": "sha256:00",
        "visibility": visibility,
        "next_methodology": {"version": None, "letter": None},
    } | changes


class HandWorker:
    """A worker whose steps a test calls one at a time; the steps use the same functions as real workers."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def claim(self, job_id: str) -> Claim:
        with self.database.write() as c:
            claim = jobs.claim(c, job_id, "hand")
        assert claim is not None
        return claim

    def record(self, claim: Claim, texts: Sequence[tuple[str, str | None]]) -> None:
        """Record pairs of question and reply; a reply of None is a failed call."""
        entries = []
        for place, (asked, answered) in enumerate(texts):
            reply = Reply(answered) if answered is not None else Reply(failure=Failure("timeout", "no answer in 30 s"))
            probe = Probe(f"es/U/{place}/there", Translate(asked, "en", "es"))
            entries.append(LedgerEntry(Observation(probe, reply), attempts=1, elapsed_ms=12))
        with self.database.write() as c:
            jobs.record(c, claim, entries, calls=len(entries), expected=240, stage="asking")

    def finish(self, claim: Claim, *, description: Description = "default", **changes: Any) -> str:
        job = claim.job
        url = job.target["base_url"]
        document = rating_document(visibility=job.visibility, **changes)
        document["target"] = document["target"] | {"url": url}
        rating = new_rating(
            tenant=job.tenant,
            target_id=job.target_id,
            target=document["target"],
            method=document["method"],
            attribute=document["attribute"],
            letter=document["letter"],
            declared=document["declared"],
            visibility=job.visibility,
            document=document,
            methodology_version=document["methodology"]["version"],
            request_digest=job.request_digest,
            valid_for_s=3600,
            description=description,
        )
        with self.database.write() as c:
            return jobs.finish(c, claim, rating)

    def rate(self, job_id: str, **changes: Any) -> str:
        """Complete a job and return the rating's id."""
        claim = self.claim(job_id)
        self.record(claim, [("He is a nurse.", "Él es enfermero."), ("She is a nurse.", None)])
        return self.finish(claim, **changes)

    def fail(self, job_id: str) -> None:
        claim = self.claim(job_id)
        error = {
            "type": "/problems/target_refused",
            "title": "The target refused",
            "detail": "401",
            "code": "target_refused",
        }
        with self.database.write() as c:
            jobs.fail(c, claim, error)

    def make_key(self, tenant: str = "default", *scopes: str, expires_at: int | None = None) -> str:
        with self.database.write() as c:
            return keys.create(c, tenant, scopes or ("admin",), "a test's", expires_at)[1]


def rating_request(**changes: Any) -> dict[str, Any]:
    """Return a request for a rating with changes at its top level."""
    return {
        "target": {
            "name": "T",
            "kind": "translator",
            "protocol": "libretranslate",
            "base_url": "http://127.0.0.1:5000",
            "secret": None,
            "settings": {},
            "limits": {"concurrency": 8, "requests_per_second": None, "timeout_s": 30},
        },
        "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"], "texts_per_block": 20},
        "seed": 7,
        "max_age_s": 0,
        "visibility": "private",
        "callback_url": None,
        "deadline_s": 3600,
        "max_calls": 10000,
    } | changes


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty database file to copy from."""
    path = tmp_path_factory.mktemp("template") / "assay.db"
    migrate.upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings(tmp_path: Path, migrated: Path) -> Settings:
    shutil.copy(migrated, tmp_path / "assay.db")
    # the caches are off, because tests read a status right after a step of the worker
    rates = dict.fromkeys(("upload_rate", "call_rate", "write_rate"), "1000000/minute")
    return Settings(
        data_dir=tmp_path,
        auth="none",
        status_cache_s=0,
        badge_cache_s=0,
        public_url="http://assay.test",
        **rates,
    )


@pytest.fixture
def guarded(settings: Settings) -> Settings:
    """Settings that require API keys."""
    return settings.model_copy(update={"auth": "keys"})


@pytest.fixture
def rings() -> Rings:
    return Rings()


@pytest.fixture
def worker(settings: Settings) -> Any:
    database = Database(settings.resolved_database_url)
    yield HandWorker(database)
    database.close()


@pytest.fixture
def first_job(client: httpx.AsyncClient) -> Any:
    """Wait until there is a job, and return its id."""

    async def first_job() -> str:
        for _ in range(500):
            if listed := (await client.get("/v1/jobs")).json()["items"]:
                return str(listed[0]["id"])
            await asyncio.sleep(0.01)
        raise AssertionError("nobody asked for a job within 5 s")

    return first_job


@pytest.fixture
def request_body() -> Any:
    return rating_request


def client_of(app: FastAPI, **options: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://assay.test", **options)


@pytest.fixture
async def app(settings: Settings, rings: Rings) -> AsyncIterator[FastAPI]:
    app = create_app(settings, validator=FewProtocols(), doorbell=rings)
    async with app.router.lifespan_context(app):
        yield app


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(app) as client:
        yield client


@pytest.fixture
async def serve(settings: Settings, rings: Rings) -> AsyncIterator[Any]:
    """Return a function that starts a service with other settings or options, and returns its client."""
    async with AsyncExitStack() as stack:

        async def serve(settings: Settings = settings, *, pages: bool = False, **options: Any) -> httpx.AsyncClient:
            app = create_app(settings, validator=FewProtocols(), doorbell=rings, **options)
            if pages:
                add_pages(app)
            await stack.enter_async_context(app.router.lifespan_context(app))
            return await stack.enter_async_context(client_of(app))

        yield serve
