"""Cases of a rating over HTTP: pages, kinds, order, search, and the raw exchange of one case."""

from __future__ import annotations

import pytest

from assay.model import Failure, Observation, Probe, Reply, Translate
from store.jobs import jobs
from store.jobs.jobs import LedgerEntry

pytestmark = pytest.mark.anyio


def sent(number, text, block="U"):
    return Probe(f"es/{block}/{number}/out", Translate(text, "en", "es"))


def returned(number, middle, block="U"):
    return Probe(f"es/{block}/{number}/back", Translate(middle, "es", "en"))


FACTS = [
    (sent("0001", "She is a typist."), Reply("Es mecanógrafo.")),
    (sent("0002", "He is a judge."), Reply("Él es juez.")),
    (sent("0003", "She is a baker."), Reply(failure=Failure("timeout", "no answer in 30 s"))),
    (sent("0004", "He is a cook."), Reply(failure=Failure("http-403", "the service refused"))),
    (sent("0005", "She is a nurse."), Reply("I'm sorry, but I cannot translate this.")),
    (sent("0006", "She is a poet."), Reply("")),
    (returned("0001", "Es mecanógrafo."), Reply("He is a typist.")),
    (returned("0002", "Él es juez."), Reply("He is a judge.")),
]
KINDS = {"changed": 1, "kept": 1, "refused": 2, "failed": 1, "not-understood": 1}


@pytest.fixture
def rated(client, request_body, worker):
    async def rated(facts=FACTS, visibility="private", headers=None, on=client):
        body = request_body(visibility=visibility)
        claim = worker.claim((await on.post("/v1/jobs", json=body, headers=headers)).json()["id"])
        entries = [LedgerEntry(Observation(probe, reply), 1, 12) for probe, reply in facts]
        with worker.database.write() as c:
            jobs.record(c, claim, entries, calls=len(entries), expected=240, stage="asking")
        return worker.finish(claim)

    return rated


async def cases(client, rating_id, query="", **options):
    answer = await client.get(f"/v1/ratings/{rating_id}/cases{query}", **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_sentence_translation_and_back_translation_form_one_case_and_the_case_counts_add_up(client, rated):
    page = await cases(client, await rated())
    assert (page["counts"], page["observations"], page["copied"]) == (KINDS, len(FACTS), 0)
    assert len(page["items"]) == sum(KINDS.values())
    first = page["items"][0]
    assert (first["id"], first["kind"], first["side"], first["observations"]) == (1, "changed", "he", [1, 7])
    texts = [(text["name"], text["text"], text["lang"]) for text in first["texts"]]
    assert texts == [
        ("sent", "She is a typist.", "en"),
        ("translated", "Es mecanógrafo.", "es"),
        ("back", "He is a typist.", "en"),
    ]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("?order=recorded", [1, 2, 3, 4, 5, 6]),
        ("?kind=changed", [1]),
        ("?kind=refused&order=recorded", [4, 5]),
        ("?kind=canary", []),
        ("?q=typist", [1]),
        ("?q=BAKER", [3]),
        ("?q=nobody", []),
        ("?question=She is a baker.", [3]),
        ("?question=baker", []),
    ],
)
async def test_the_cases_of_a_rating_can_be_filtered_by_kind_text_and_question(client, rated, query, ids):
    assert [case["id"] for case in (await cases(client, await rated(), query))["items"]] == ids


@pytest.mark.parametrize("query", ["", "&kind=refused", "&q=is a"])
async def test_the_pages_of_a_list_of_cases_contain_every_case_once(client, rated, query):
    rating_id = await rated()
    whole = [case["id"] for case in (await cases(client, rating_id, f"?limit=200{query}"))["items"]]
    ids, address = [], f"/v1/ratings/{rating_id}/cases?limit=1{query}"
    while address:
        answer = await client.get(address)
        ids += [case["id"] for case in answer.json()["items"]]
        address = answer.links["next"]["url"] if "next" in answer.links else None
    assert ids == whole


async def test_a_case_has_its_recorded_answers_and_the_ids_of_the_previous_and_next_case(client, rated):
    rating_id = await rated()
    order = [case["id"] for case in (await cases(client, rating_id))["items"]]
    answer = (await client.get(f"/v1/ratings/{rating_id}/cases/{order[1]}")).json()
    assert (answer["previous"], answer["position"], answer["next"]) == (order[0], 2, order[2])
    typist = (await client.get(f"/v1/ratings/{rating_id}/cases/1?kind=changed")).json()
    assert [exchange["value"] for exchange in typist["exchanges"]] == ["Es mecanógrafo.", "He is a typist."]
    assert (typist["previous"], typist["position"], typist["next"]) == (None, 1, None)
    apart = (await client.get(f"/v1/ratings/{rating_id}/cases/1?kind=failed")).json()
    assert (apart["previous"], apart["position"], apart["next"]) == (None, None, None)
    for number in (7, 99, 2**31 - 1):
        assert (await client.get(f"/v1/ratings/{rating_id}/cases/{number}")).status_code == 404


async def test_only_callers_that_can_read_a_rating_can_read_its_cases(serve, guarded, worker, rated):
    client = await serve(guarded)
    mine, theirs = ({"Authorization": f"Bearer {worker.make_key(name)}"} for name in ("mine", "theirs"))
    private = await rated(headers=mine, on=client)
    assert len((await cases(client, private, headers=mine))["items"]) == 6
    for path in ("cases", "cases/1"):
        assert (await client.get(f"/v1/ratings/{private}/{path}", headers=theirs)).status_code == 404
        assert (await client.get(f"/v1/ratings/{private}/{path}")).status_code in {401, 404}
    public = await rated(headers=mine, on=client, visibility="public")
    assert len((await cases(client, public))["items"]) == 6


async def test_answers_with_question_names_of_unknown_format_are_still_counted_as_cases(client, rated):
    facts = [(Probe(unit, Translate("She is a typist.", "en", "es")), Reply("x")) for unit in ("a", "b/c", "d/e/f/g/h")]
    assert sum((await cases(client, await rated(facts)))["counts"].values()) == 3


@pytest.mark.parametrize(("query", "total"), [("", 6), ("?kind=refused&limit=1", 2), ("?q=typist", None)])
async def test_a_list_of_cases_has_its_total_number_unless_it_is_a_text_search(client, rated, query, total):
    assert (await cases(client, await rated(), query))["total"] == total


async def test_a_case_describes_in_words_how_its_answers_differ(client, rated):
    page = await cases(client, await rated())
    words = {case["id"]: case["in_words"] for case in page["items"]}
    assert words[1] == "100 % of its sentences came back with another value: he"
    assert words[2] == "every sentence came back with its value"
    assert words[3] is None
