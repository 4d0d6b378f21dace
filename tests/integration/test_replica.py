"""Public data is read from a streaming replica of Postgres, and everything else from the primary (docs/scaling.md)."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, closing
from functools import partial

import httpx
import pytest
from sqlalchemy import text

from assay.methods import RoundTrip
from service.app import create_app
from service.http.metrics import Meter
from service.http.replica import ReplicaReader
from store.core import migrate
from store.core.database import AsyncDatabase, Database
from store.core.errors import StoreUnavailable
from store.core.settings import Settings
from store.ratings import log, rating_statistics
from store.ratings.rating_statistics import LogPart
from store.security import keys
from tests.support.postgres import PostgresServer
from tests.support.recorded_runs import TARGET, recorded_run, store_run
from web.frame.visit import COOKIE
from web.site import add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

NAME = "agency"
REPLAY_S = 60
FOREVER_S = 1e9


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def primary():
    with PostgresServer.running() as server:
        server.execute(f"CREATE DATABASE {NAME}")
        migrate.upgrade(server.url(NAME))
        yield server


@pytest.fixture(scope="module")
def replica(primary):
    with primary.replica() as server:
        yield server


@pytest.fixture(scope="module")
def run():
    return recorded_run(RoundTrip("gender", languages=("es",), texts_per_block=10))


@pytest.fixture
def database(primary):
    with closing(Database(primary.url(NAME))) as database:
        yield database


@pytest.fixture
def paused(primary, replica, database):
    """A replica that has all transactions so far, and does not apply later ones during the test."""
    replay(database, replica)
    replica.execute("SELECT pg_wal_replay_pause()")
    yield replica
    replica.execute("SELECT pg_wal_replay_resume()")


def replay(database, replica):
    """Wait until the replica has applied all transactions of the primary."""
    with database.read() as c:
        position = c.execute(text("SELECT pg_current_wal_lsn()::text")).scalar_one()
    with closing(Database(replica.url(NAME))) as copied:
        until = time.monotonic() + REPLAY_S
        while time.monotonic() < until:
            with copied.read() as c:
                if c.execute(text(f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn")).scalar_one():
                    return
            time.sleep(0.02)
    raise TimeoutError("the replica does not replay")


def publish(database, run):
    with database.write() as c:
        _, rating_id = store_run(c, run, 1)
    return rating_id


@asynccontextmanager
async def running(folder, primary, replica, max_lag_s=FOREVER_S):
    """Run an agency that requires keys, and yield a client without one."""
    settings = Settings(
        data_dir=folder,
        database_url=primary.url(NAME),
        replica_url=replica.url(NAME),
        replica_max_lag_s=max_lag_s,
        auth="keys",
        badge_cache_s=0,
        public_url="http://assay.test",
    )
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda job_id: None)
    add_pages(app)
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://assay.test") as client,
    ):
        yield client


@pytest.fixture
def serve(primary, replica, tmp_path):
    """Start an agency with the replica."""
    return partial(running, tmp_path, primary, replica)


@pytest.fixture
def admin(database):
    with database.write() as c:
        return {"Authorization": f"Bearer {keys.create(c, 'default', ['admin'], 'a test', None)[1]}"}


RANKING = "kind=translator&method=round-trip&attribute=gender"
PUBLIC = {
    "list": "/v1/ratings",
    "whole list": "/v1/ratings?fields=full",
    "rating": "/v1/ratings/RATING",
    "report": "/v1/ratings/RATING/report.html",
    "latest": f"/v1/ratings/latest?target_url={TARGET['url']}",
    "badge of the rating": "/v1/ratings/RATING/badge.json",
    "history": f"/v1/registry/history?target_url={TARGET['url']}",
    "service": "/v1/services/RATING",
    "feed of the service": "/v1/services/RATING/feed.atom",
    "badge of the service": "/v1/services/RATING/badge.svg",
    "ranking": f"/v1/services/ranking?{RANKING}",
    "feed of the ranking": f"/v1/services/ranking.atom?{RANKING}",
    "download": "/v1/registry/dump.jsonl",
}


@pytest.mark.parametrize("what", PUBLIC)
async def test_public_answers_come_from_the_replica_but_with_a_key_from_the_primary(
    serve, database, run, paused, admin, what
):
    async with serve() as client:
        rating_id = publish(database, run)
        path = PUBLIC[what].replace("RATING", rating_id)
        visitor, owner = [(await client.get(path, headers=headers)) for headers in ({}, admin)]
    assert owner.status_code == 200
    assert (rating_id in visitor.text and visitor.status_code == 200, visitor.status_code) in {
        (False, 200),
        (False, 404),
    }
    assert visitor.content != owner.content


@pytest.mark.parametrize("path", ["/registry", "/s/RATING", "/r/RATING"])
async def test_public_pages_come_from_the_replica_but_in_a_session_from_the_primary(serve, database, run, paused, path):
    async with serve() as client:
        rating_id = publish(database, run)
        address, session = path.replace("RATING", rating_id), {"Cookie": f"{COOKIE}=a session"}
        person = await client.get(address, headers=session)
        if person.status_code == 303:
            address = person.headers["Location"]
            person = await client.get(address, headers=session)
        visitor = await client.get(address)
    assert (rating_id in person.text, person.status_code) == (True, 200)
    assert visitor.status_code == 404 or rating_id not in visitor.text


async def test_the_letter_counts_that_visitors_see_come_from_the_replica(serve, database, run, paused, admin):
    async with serve() as client:
        await client.get("/v1/registry/distribution")
        with database.write() as c:
            c.execute(text("UPDATE service_ratings SET kind = 'other kind'"))
        visitor, owner = [
            (await client.get("/v1/registry/distribution", headers=headers)).text for headers in ({}, admin)
        ]
        with database.write() as c:
            c.execute(text("UPDATE service_ratings SET kind = 'translator'"))
    assert "other kind" not in visitor
    assert "other kind" in owner


async def test_writes_go_to_the_primary(serve, database, run, replica, admin):
    rating_id = publish(database, run)
    replay(database, replica)
    async with serve() as client:
        withdrawn = await client.post(f"/v1/ratings/{rating_id}/withdraw", json={"reason": "A cache."}, headers=admin)
        made = await client.post("/v1/keys", json={"name": "n", "scopes": ["ratings:read"]}, headers=admin)
        assert (withdrawn.status_code, made.status_code) == (200, 201)
        assert (await client.get(f"/v1/ratings/{rating_id}", headers=admin)).json()["withdrawn"] is not None


async def test_writes_of_the_reader_for_visitors_are_refused_even_on_a_connection_to_the_primary(primary):
    """Here the URL of the replica is that of the primary, as after a failover."""
    database, copied = AsyncDatabase(primary.url(NAME)), AsyncDatabase(primary.url(NAME), read_only=True)
    reader = ReplicaReader(database, copied, primary.url(NAME), FOREVER_S, lambda: None)
    assert not hasattr(reader, "write")
    for refused in (reader.read, copied.write):
        with pytest.raises(StoreUnavailable, match="read-only"):
            await refused(lambda c: c.execute(text("DELETE FROM idempotency")))
    await database.write(lambda c: c.execute(text("DELETE FROM idempotency")))
    for each in (reader, database):
        await each.close()


async def state_and_fallbacks(client, admin):
    ready = await client.get("/readyz")
    metrics = (await client.get("/metrics", headers=admin)).text
    counted = next(line for line in metrics.splitlines() if line.startswith("assay_replica_fallbacks_total "))
    return ready.status_code, ready.json().get("replica"), float(counted.split()[1])


async def test_a_replica_that_lags_behind_is_not_read_and_readiness_reports_it(serve, database, run, paused, admin):
    rating_id = publish(database, run)
    await asyncio.sleep(0.05)
    async with serve(max_lag_s=0.01) as client:
        assert (await client.get(f"/v1/ratings/{rating_id}")).status_code == 200
        status, state, fallbacks = await state_and_fallbacks(client, admin)
    assert (status, state) == (200, "late")
    assert fallbacks >= 2, "the rating and its annotations"


async def test_no_read_falls_back_to_the_primary_while_the_replica_is_current(serve, database, run, replica, admin):
    rating_id = publish(database, run)
    replay(database, replica)
    async with serve(max_lag_s=0.01) as client:
        assert (await client.get(f"/v1/ratings/{rating_id}")).status_code == 200
        assert await state_and_fallbacks(client, admin) == (200, "current", 0)


async def test_a_replica_that_stops_is_replaced_by_the_primary(tmp_path, primary, database, run, admin):
    with primary.replica() as replica:
        rating_id = publish(database, run)
        replay(database, replica)
        async with running(tmp_path, primary, replica) as client:
            assert (await client.get(f"/v1/ratings/{rating_id}")).status_code == 200
            assert await state_and_fallbacks(client, admin) == (200, "current", 0)
            replica.stop(immediately=True)
            answers = [await client.get(f"/v1/ratings/{rating_id}") for _ in range(3)]
            assert [answer.status_code for answer in answers] == [200] * 3
            status, state, fallbacks = await state_and_fallbacks(client, admin)
    assert (status, state) == (200, "unreachable")
    assert fallbacks >= 6


def set_version(database, version):
    with database.write() as c:
        earlier = c.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        c.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))
    return earlier


@pytest.fixture
def older_schema(database, replica):
    """A replica that has not applied a migration of the primary yet."""
    version = set_version(database, "0001")
    replay(database, replica)
    replica.execute("SELECT pg_wal_replay_pause()")
    set_version(database, version)
    yield replica
    replica.execute("SELECT pg_wal_replay_resume()")


@pytest.mark.usefixtures("older_schema")
async def test_a_replica_with_an_older_schema_is_not_read(serve, database, run, admin):
    rating_id = publish(database, run)
    async with serve() as client:
        assert (await client.get(f"/v1/ratings/{rating_id}")).status_code == 200
        assert (await state_and_fallbacks(client, admin))[:2] == (200, "outdated")


async def test_visitors_read_the_replica_while_the_primary_is_down(run, tmp_path):
    with PostgresServer.running() as primary:
        primary.execute(f"CREATE DATABASE {NAME}")
        migrate.upgrade(primary.url(NAME))
        with closing(Database(primary.url(NAME))) as database, primary.replica() as replica:
            rating_id = publish(database, run)
            replay(database, replica)
            async with running(tmp_path, primary, replica) as client:
                primary.stop(immediately=True)
                answer, ready = await client.get(f"/v1/ratings/{rating_id}"), await client.get("/readyz")
    assert (answer.status_code, ready.status_code) == (200, 503)


async def test_a_download_begun_at_the_primary_has_the_ratings_that_the_replica_lacks(primary, paused, database, run):
    rating_id = publish(database, run)
    both = AsyncDatabase(primary.url(NAME)), AsyncDatabase(paused.url(NAME), read_only=True)
    meter = Meter()
    reader = ReplicaReader(*both, paused.url(NAME), FOREVER_S, meter.replica_fallbacks.inc)
    part = LogPart(0, await both[0].read(log.size))
    assert await reader.read(log.size) < part.size
    listed = await reader.read(rating_statistics.changes, part, 0, 1000)
    assert rating_id in [rating.id for _, rating in listed]
    for each in both:
        await each.close()
