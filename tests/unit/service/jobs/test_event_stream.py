"""Live events of a job: `/v1/jobs/{id}/events` and `EventStream`.

Row 89 of docs/reliability.md: ffe18d3c wrote 151,484 tracebacks in 30 s without a free descriptor; streams had no
limit.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack

import pytest

from service.http.problems import Problem
from service.http.rate_limit import OpenStreams
from service.jobs.events import EventStream
from store.core.errors import StoreUnavailable
from store.jobs.job import Event

pytestmark = pytest.mark.anyio


def parse(text):
    """Parse server-sent events into a list of (id, type, data)."""
    told = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            told.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return told


async def test_the_stream_sends_all_events_and_ends_with_the_job(client, request_body, worker):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    following = asyncio.create_task(client.get(f"/v1/jobs/{job_id}/events"))
    await asyncio.sleep(0.1)
    rating_id = await asyncio.to_thread(worker.rate, job_id)
    answer = await asyncio.wait_for(following, 10)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    told = parse(answer.text)
    types = [type_ for _, type_, _ in told]
    assert (types[0], types[-1]) == ("queued", "succeeded")
    assert "progress" in types
    assert told[-1][2]["data"]["rating_id"] == rating_id
    assert [id_ for id_, _, _ in told] == sorted(id_ for id_, _, _ in told)


async def test_a_stream_resumes_after_last_event_id(client, request_body, worker):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    worker.rate(job_id)
    told = parse((await client.get(f"/v1/jobs/{job_id}/events")).text)
    rest = await client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": str(told[1][0])})
    assert parse(rest.text) == told[2:]


async def test_a_request_to_resume_an_event_stream_after_its_last_event_is_answered_204(client, request_body, worker):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    worker.rate(job_id)
    last = parse((await client.get(f"/v1/jobs/{job_id}/events")).text)[-1][0]
    assert (await client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": str(last)})).status_code == 204


async def test_an_unknown_event_id_replays_all_events(client, request_body, worker):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    worker.rate(job_id)
    told = parse((await client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": "999999"})).text)
    assert told[0][1] == "queued"


@pytest.mark.parametrize("sent", ["x", "-1", "1" * 21])
async def test_an_event_id_that_is_not_a_number_is_refused(client, request_body, sent):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    answer = await client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": sent})
    assert (answer.status_code, answer.json()["errors"][0]["header"]) == (422, "last-event-id")


async def test_a_head_request_for_an_event_stream_ends_at_once_and_counts_as_no_stream(serve, settings, request_body):
    client = await serve(settings.model_copy(update={"max_streams": 0}))
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    head = await asyncio.wait_for(client.head(f"/v1/jobs/{job_id}/events"), 5)
    assert (head.status_code, head.content) == (200, b"")


async def test_streams_and_waits_of_a_tenant_and_of_a_key_are_limited_and_counted_until_they_end(
    serve, settings, request_body, worker
):
    client = await serve(settings.model_copy(update={"max_streams": 2}))
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    open_ones = [
        asyncio.create_task(client.get(f"/v1/jobs/{job_id}/events")),
        asyncio.create_task(client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=30"})),
    ]
    await asyncio.sleep(0.3)
    for refused in (
        await client.get(f"/v1/jobs/{job_id}/events"),
        await client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=30"}),
        await client.post("/v1/jobs", json=request_body(seed=9), headers={"Prefer": "wait=30"}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (429, "too-many-streams")
        assert refused.headers["Retry-After"] == "5"
    assert len((await client.get("/v1/jobs")).json()["items"]) == 1, "a refused request creates no job"
    assert (await client.get(f"/v1/jobs/{job_id}")).status_code == 200, "reading is not limited"
    await asyncio.to_thread(worker.rate, job_id)
    assert {answer.status_code for answer in await asyncio.wait_for(asyncio.gather(*open_ones), 20)} == {200}
    again = await asyncio.wait_for(client.get(f"/v1/jobs/{job_id}/events"), 10)
    assert parse(again.text)[-1][1] == "succeeded"


async def test_a_key_may_hold_half_of_the_streams_of_its_tenant():
    streams = OpenStreams(4)
    with ExitStack() as held:
        for key in ("one", "one", "two", "two"):
            held.enter_context(streams.count_stream("acme", key))
        with pytest.raises(Problem), streams.count_stream("acme", "three"):
            pass
        with streams.count_stream("rival", "four"):
            pass
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(streams.count_stream("acme", "one"))
        with pytest.raises(Problem) as refused, streams.count_stream("acme", "one"):
            pass
        assert "this key has 2" in refused.value.detail


class Table:
    """An event table that counts its reads."""

    def __init__(self, *types):
        self.rows = [Event(place, "job", type_, {}, 0) for place, type_ in enumerate(types, 1)]
        self.reads, self.broken = 0, 0

    async def read(self, job_id, after, limit):
        self.reads += 1
        if self.broken:
            self.broken -= 1
            raise StoreUnavailable("locked")
        return [row for row in self.rows if row.id > after][:limit]


async def follow(stream, after=0):
    return [event.type async for event in stream.follow("job", after)]


async def test_a_thousand_clients_of_one_event_stream_share_their_database_reads(monkeypatch):
    monkeypatch.setattr("service.jobs.events.POLL_S", 0.01)
    table = Table("queued")
    stream = EventStream(table.read)
    followers = [asyncio.create_task(follow(stream)) for _ in range(1000)]
    await asyncio.sleep(0.1)
    table.rows += [Event(2, "job", "progress", {}, 0), Event(3, "job", "succeeded", {}, 0)]
    assert await asyncio.gather(*followers) == [["queued", "progress", "succeeded"]] * 1000
    assert table.reads < 100


async def test_an_event_stream_continues_after_the_database_was_unreachable(monkeypatch):
    monkeypatch.setattr("service.jobs.events.POLL_S", 0.01)
    table = Table("queued", "failed")
    table.broken = 3
    assert await follow(EventStream(table.read)) == ["queued", "failed"]


async def test_a_client_that_joins_an_event_stream_late_also_gets_the_earlier_events(monkeypatch):
    monkeypatch.setattr("service.jobs.events.POLL_S", 0.01)
    table = Table("queued", "claimed")
    stream = EventStream(table.read)
    early = asyncio.create_task(follow(stream, 2))
    await asyncio.sleep(0.05)
    late = asyncio.create_task(follow(stream, 0))
    await asyncio.sleep(0.05)
    table.rows.append(Event(3, "job", "cancelled", {}, 0))
    assert (await early, await late) == (["cancelled"], ["queued", "claimed", "cancelled"])


async def test_waiting_for_the_events_of_a_job_ends_at_its_timeout():
    stream = EventStream(Table("queued").read)
    await asyncio.wait_for(stream.wait_for_end("job", 0.1), timeout=5)


# ---------------------------------------------------------------------------- shutdown (reliability row 70)
async def test_a_request_that_waits_for_a_job_gets_its_current_status_when_the_service_stops(app, client, request_body):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    waiting = asyncio.create_task(client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=30"}))
    await asyncio.sleep(0.2)
    app.state.service.event_stream.stop_waiting()
    answer = await asyncio.wait_for(waiting, 5)
    assert (answer.status_code, answer.json()["status"]) == (200, "queued")


# Row 70 of docs/reliability.md: at c37b512 a request that waited for a job at SIGTERM got a 500.
async def test_a_stream_ends_with_a_retry_hint_when_the_service_stops(app, client, request_body):
    job_id = (await client.post("/v1/jobs", json=request_body())).json()["id"]
    following = asyncio.create_task(client.get(f"/v1/jobs/{job_id}/events"))
    await asyncio.sleep(0.2)
    app.state.service.event_stream.stop_waiting()
    answer = await asyncio.wait_for(following, 5)
    assert "event: queued" in answer.text
    assert "retry: 2000" in answer.text
