"""Jobs whose target is a chain: each link gets its own saved secret, unless its address changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.methods import RoundTrip
from demo.translators.behaviours import BEHAVIOURS
from store.core.columns import new_id
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.ratings import ratings
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from store.targets import targets
from store.targets.targets import NewTarget, descriptor
from tests.support.jobs import new_job
from workers.engine.worker_context import WorkerContext
from workers.run_job import run_job

SECRET = "sk-of-the-first-link-0815"


@pytest.fixture
def context(sqlite_url: str, tmp_path: Path) -> Iterator[WorkerContext]:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, egress_allow="127.0.0.0/8", call_attempts=1)
    database = Database(sqlite_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


def faithful(wire, wanted):
    """Translator that keeps every pronoun and refuses requests without its key."""

    def answer(heard):
        if heard.method == "GET":
            return wire.as_json([{"code": code, "targets": ["en", "es"]} for code in ("en", "es")])
        asked = heard.json
        if asked.get("api_key") != wanted:
            return wire.as_json({}, "403 Forbidden")
        texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
        said = [BEHAVIOURS["faithful"].translate(text, asked["source"], asked["target"]) for text in texts]
        return wire.as_json({"translatedText": said if isinstance(asked["q"], list) else said[0]})

    return answer


def save(context, url):
    """Save a target with its secret."""
    name = new_id("tgt")
    sealed = context.vault.seal(SECRET, tenant="acme", target=name, field="secret")
    new = NewTarget("acme", "first", "translator", "libretranslate", url, {}, {}, sealed_secret=sealed, id=name)
    with context.database.write() as connection:
        return targets.add(connection, new)


def post(context, links, tenant="acme"):
    target = {"name": "c", "kind": "translator", "protocol": "chain", "base_url": "", "limits": {}}
    new = new_job(
        tenant=tenant, target=target | {"settings": {"links": links}}, experiment=dump_method(RoundTrip("gender"))
    )
    with context.database.write() as connection:
        return jobs.add(connection, new)


def run(context, job):
    run_job(job.id, context, "here")
    with context.database.read() as connection:
        ended = jobs.find(connection, job.id, None)
        rating = ratings.find(connection, ended.rating_id, ended.tenant) if ended.rating_id else None
    return ended, rating


def rated(wire, context, change=None, tenant="acme"):
    """Run a job of a chain whose first link is saved; `change` may replace that target's address first."""

    async def inner():
        async with wire.listening(faithful(wire, SECRET)) as one, wire.listening(faithful(wire, None)) as two:
            saved = save(context, one.url)
            link = {"id": saved.id, **descriptor(saved), "path": ["en", "*", "en"]}
            other = {"name": "second", "kind": "translator", "protocol": "libretranslate", "base_url": two.url}
            if change is not None:
                new = NewTarget("acme", "first", "translator", "libretranslate", change, {}, {})
                with context.database.write() as connection:
                    targets.replace(connection, saved.id, "acme", new, keep_secret=True)
            job = post(context, [link, other], tenant)
            return await asyncio.to_thread(run, context, job)

    return asyncio.run(inner())


def test_each_link_is_sent_its_own_secret_and_the_rating_holds_none(wire, context):
    ended, rating = rated(wire, context)
    assert (ended.status, rating.letter) == ("succeeded", "DSBS")
    assert SECRET not in str(rating.document) + str(ended.target)
    assert rating.document["target"]["settings"]["links"][0]["base_url"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    "other", [{"change": "http://127.0.0.1:9"}, {"tenant": "rival"}], ids=["moved", "another tenant"]
)
def test_secret_is_not_sent_to_an_old_address_or_for_another_tenant(wire, context, other):
    ended, rating = rated(wire, context, **other)
    assert (ended.status, rating) == ("failed", None)
    assert ended.error["code"] == "target_refused"
    assert "Link 1 of 2 (first)" in ended.error["detail"]
