"""Observations of a rating over HTTP: pages and filters."""

from __future__ import annotations

import pytest

from assay.model import Classify, Failure, Observation, Probe, Reply
from service.http.rows import make_cursor
from store.jobs import jobs, observations
from store.jobs.jobs import LedgerEntry

pytestmark = pytest.mark.anyio

FACTS = [
    ("es/U/1", Classify("He is a nurse."), Reply({"label": "Yes", "scores": None})),
    ("es/U/2", Classify("She is a nurse."), Reply({"label": "no", "scores": None})),
    ("es/B1/1", Classify("He is a Doctor."), Reply("Él es médico.")),
    ("es/B1/2", Classify("She is a doctor."), Reply(failure=Failure("timeout", "no answer in 30 s"))),
    ("essay/U/1", Classify("He writes."), Reply(failure=Failure("empty", "nothing came"))),
]


@pytest.fixture
def rated(client, request_body, worker):
    async def rated(facts=FACTS, visibility="private", headers=None, on=client):
        body = request_body(visibility=visibility)
        claim = worker.claim((await on.post("/v1/jobs", json=body, headers=headers)).json()["id"])
        entries = [LedgerEntry(Observation(Probe(unit, ask), reply), 1, 12) for unit, ask, reply in facts]
        with worker.database.write() as c:
            jobs.record(c, claim, entries, calls=len(entries), expected=240, stage="asking")
        return worker.finish(claim)

    return rated


async def units(client, rating_id, query="", **options):
    answer = await client.get(f"/v1/ratings/{rating_id}/observations{query}", **options)
    assert answer.status_code == 200, answer.text
    return [one["unit"] for one in answer.json()["items"]]


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("?part=es", [0, 1, 2, 3]),
        ("?part=es/U", [0, 1]),
        ("?part=e", []),
        ("?part=es/%25", []),
        ("?answer=yes", [0]),
        ("?answer=él es médico.", [2]),
        ("?failure=timeout", [3]),
        ("?failure=any", [3, 4]),
        ("?failure=none&part=es/B1", [2]),
        ("?q=doctor", [2, 3]),
        ("?q=médico", [2]),
        ("?q=nobody", []),
    ],
)
async def test_answers_of_a_rating_can_be_filtered_by_component_value_failure_and_text(client, rated, query, places):
    assert await units(client, await rated(), query) == [FACTS[place][0] for place in places]


async def test_pages_of_a_filtered_list_contain_every_match_once(client, rated):
    rating_id = await rated([(f"es/{n}", Classify(f"text {n}"), Reply("odd" if n % 2 else "even")) for n in range(60)])
    found, address = [], f"/v1/ratings/{rating_id}/observations?limit=7&answer=odd"
    while address:
        answer = await client.get(address)
        found += [one["unit"] for one in answer.json()["items"]]
        address = answer.links["next"]["url"] if "next" in answer.links else None
    assert found == [f"es/{n}" for n in range(1, 60, 2)]


async def test_a_search_that_reads_many_rows_continues_on_the_next_page(client, rated, monkeypatch):
    monkeypatch.setattr(observations, "ROWS_A_SEARCH", 500)
    rating_id = await rated([(f"es/{n}", Classify(f"text {n}"), Reply("a")) for n in range(620)])
    first = await client.get(f"/v1/ratings/{rating_id}/observations?q=text 610")
    assert first.json()["items"] == []
    then = await client.get(first.links["next"]["url"])
    assert [one["unit"] for one in then.json()["items"]] == ["es/610"]
    assert then.json()["next_cursor"] is None


@pytest.mark.parametrize("row_id", ["", "x"])
async def test_a_forged_cursor_with_a_number_beyond_the_column_is_refused(client, rated, row_id):
    rating_id = await rated()
    path = f"/v1/ratings/{rating_id}/observations"
    filters = dict.fromkeys(("part", "answer", "failure", "q"))
    largest, beyond = (
        make_cursor((number, row_id), f"observations of {rating_id}", filters) for number in (2**31 - 1, 2**31)
    )
    assert (await client.get(path, params={"cursor": largest})).json()["items"] == []
    refused = await client.get(path, params={"cursor": beyond})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-cursor")


async def test_a_cursor_of_another_filter_is_refused(client, rated):
    rating_id = await rated()
    cursor = (await client.get(f"/v1/ratings/{rating_id}/observations?limit=1")).json()["next_cursor"]
    refused = await client.get(f"/v1/ratings/{rating_id}/observations?limit=1&q=x&cursor={cursor}")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-cursor")


async def test_only_callers_that_can_read_a_rating_can_read_its_observations(serve, guarded, worker, rated):
    client = await serve(guarded)
    mine, theirs = ({"Authorization": f"Bearer {worker.make_key(one)}"} for one in ("mine", "theirs"))
    private = await rated(headers=mine, on=client)
    assert len(await units(client, private, headers=mine)) == len(FACTS)
    assert (await client.get(f"/v1/ratings/{private}/observations", headers=theirs)).status_code == 404
    public = await rated(headers=mine, on=client, visibility="public")
    assert len(await units(client, public)) == len(FACTS)


async def test_a_failed_observation_has_the_message_of_the_rated_service_in_its_own_field(client, rated):
    ask = Classify("She is a doctor.")
    replies = (Failure("http-400", 'x answered 400; it said: "no such model"'), Failure("timeout", "no answer in 30 s"))
    facts = [(f"es/U/{place}", ask, Reply(failure=failure)) for place, failure in enumerate(replies)]
    items = (await client.get(f"/v1/ratings/{await rated(facts)}/observations")).json()["items"]
    assert [one["failure"].get("service_said") for one in items] == ["no such model", None]
    assert items[0]["failure"]["message"].startswith("x answered 400")
