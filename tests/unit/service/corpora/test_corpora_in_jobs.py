"""Jobs that write sentences into corpora, ratings that use them, and the CSV table of a rating's sentences."""

from __future__ import annotations

import csv
import io

import httpx
import pytest
from sqlalchemy import select

from service.http.openapi.document import EXAMPLES
from store.jobs.tables import jobs

pytestmark = pytest.mark.anyio

URL = "/v1/corpora"
WORDS = {
    "attribute": "age",
    "first": "old",
    "second": "young",
    "pairs": [["grandfather", "grandson"]],
    "first_terms": ["frail"],
    "second_terms": ["rash"],
    "neutral": ["tall"],
    "name": "ages",
}
AGES = {"name": "ages", "title": "Ages", "kind": "stereotype", "language": "en", "citation": "Ours", "words": WORDS}
TEXT = "My grandfather is frail."
MODEL = {"name": "M", "kind": "language-model", "protocol": "openai-chat", "base_url": "http://127.0.0.1:5001"}


@pytest.fixture
async def agency(serve, guarded, worker):
    """Return a function that makes a client for a tenant."""
    service = await serve(guarded)

    def as_tenant(name="acme"):
        headers = {"Authorization": f"Bearer {worker.make_key(name)}"}
        return httpx.AsyncClient(transport=service._transport, base_url="http://assay.test", headers=headers)

    return as_tenant


async def begun(client, *texts, **changes):
    await client.post("/v1/specifications", json=AGES)
    made = await client.post(URL, json={"name": "Ages", "specification": "ages"} | changes)
    assert made.status_code == 201, made.text
    if texts:
        added = await client.post(f"{URL}/{made.json()['id']}/items", json={"items": [{"text": one} for one in texts]})
        assert added.status_code == 201, added.text
    return made.json()["id"]


# ---------------------------------------------------------------------------- jobs that write sentences
async def test_a_job_that_writes_sentences_has_the_author_as_its_target_and_does_not_show_its_secret(agency):
    client = agency()
    corpus = await begun(client)
    asked = await client.post(f"{URL}/{corpus}/writing", json={"author": MODEL | {"secret": "s3cret"}, "per_term": 4})
    assert asked.status_code == 202, asked.text
    job = asked.json()
    assert asked.headers["Location"] == f"/v1/jobs/{job['id']}"
    assert (job["kind"], job["target"]["name"], job["author"]) == ("writing", "M", None)
    told = job["experiment"]
    assert (told["corpus"], told["specification"], told["per_term"], job["expected"]) == (corpus, "ages@1", 4, 12)
    assert told["words"]["pairs"] == WORDS["pairs"]
    assert "s3cret" not in asked.text
    again = await client.post(f"{URL}/{corpus}/writing", json={"author": MODEL | {"secret": "s3cret"}, "per_term": 4})
    assert again.json()["id"] == job["id"], "the same that is under way is joined"
    other = await client.post(f"{URL}/{corpus}/writing", json={"author": MODEL, "per_term": 5})
    assert other.json()["id"] != job["id"]


async def test_a_request_to_write_sentences_can_supply_words_for_a_corpus_without_a_specification(agency):
    client = agency()
    saved = (await client.post("/v1/targets", json=MODEL)).json()["id"]
    made = await client.post(URL, json={"name": "Notes", "attribute": "age"})
    corpus = made.json()["id"]
    for how, named in (({"words": WORDS}, None), ({"specification": "p4-math-arts"}, "p4-math-arts@1")):
        asked = await client.post(f"{URL}/{corpus}/writing", json={"author": {"id": saved}} | how)
        assert asked.status_code == 202, asked.text
        assert (asked.json()["target_id"], asked.json()["experiment"]["specification"]) == (saved, named)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"author": MODEL | {"kind": "translator"}}, "/author/kind"),
        ({"author": MODEL | {"protocol": "other"}}, "/author/protocol"),
        ({"author": {"id": "tgt_none"}}, "/author/id"),
        ({"author": MODEL, "specification": "p4-math-arts"}, "/specification"),
        ({"author": MODEL, "specification": "p1-occupations"}, "/specification"),
        ({"author": MODEL, "specification": "none"}, "/specification"),
        ({"author": MODEL, "words": WORDS | {"neutral": []}}, "/words"),
        ({"author": MODEL, "specification": "ages", "words": WORDS}, "/words"),
        ({"author": MODEL, "per_term": 201}, "/per_term"),
        ({"author": MODEL, "family": "poem"}, "/family"),
        ({"author": MODEL, "deadline_s": 86_401}, "/deadline_s"),
        ({"author": MODEL, "reuse": "yes"}, "/reuse"),
        ({}, "/author"),
    ],
)
async def test_an_invalid_request_to_write_sentences_is_refused_naming_the_invalid_field(agency, body, pointer):
    client = agency()
    corpus = await begun(client)
    refused = await client.post(f"{URL}/{corpus}/writing", json=body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert (await client.get("/v1/jobs")).json()["items"] == []


async def test_sentences_cannot_be_written_for_another_tenants_corpus_or_for_a_corpus_of_pictures(agency):
    mine, other = agency(), agency("other")
    corpus = await begun(mine, visibility="shared")
    pictures = (await mine.post(URL, json={"name": "P", "kind": "images", "attribute": "age"})).json()["id"]
    assert (await other.post(f"{URL}/{corpus}/writing", json={"author": MODEL})).status_code == 404
    assert (await mine.post(f"{URL}/{pictures}/writing", json={"author": MODEL})).status_code == 422


async def test_writing_more_sentences_than_a_corpus_can_hold_is_refused(agency, monkeypatch):
    client = agency()
    corpus = await begun(client)
    monkeypatch.setattr("service.corpora.writing.MOST_ITEMS", 12)
    refused = await client.post(f"{URL}/{corpus}/writing", json={"author": MODEL, "per_term": 5})
    assert refused.status_code == 422
    assert "at most 4 per term are allowed" in refused.json()["detail"]


async def test_the_documented_examples_of_requests_to_write_sentences_are_valid(agency):
    client = agency()
    corpus = (await client.post(URL, json={"name": "Notes", "attribute": "age"})).json()["id"]
    for example in EXAMPLES["WritingRequest"].values():
        answer = await client.post(f"{URL}/{corpus}/writing", json=example["value"])
        assert "/specification" in (said := answer.text) or "/author/id" in said, "and all else is right"


# ---------------------------------------------------------------------------- ratings
async def rated(client, **experiment):
    return await client.post(
        "/v1/jobs", json={"target": MODEL, "experiment": {"method": "stereotype-score"} | experiment}
    )


async def test_a_job_stores_the_sentences_and_the_version_of_its_corpus(agency):
    client = agency()
    corpus = await begun(client, TEXT, "His grandson is rash.")
    asked = await rated(client, corpus=corpus)
    assert asked.status_code == 202, asked.text
    told = asked.json()["experiment"]
    assert (told["corpus"], told["attribute"], told["specification"]) == (f"{corpus}@2", "age", "ages@1")
    assert [one["text"] for one in told["sentences"]] == [TEXT, "His grandson is rash."]
    assert all(one["id"].startswith("itm_") for one in told["sentences"])
    assert (told["words"][0]["name"], told["words"][0]["pairs"]) == ("ages", WORDS["pairs"])
    same = await rated(client, corpus=f"{corpus}@2")
    assert same.json()["id"] == asked.json()["id"]
    await client.patch(f"{URL}/{corpus}", json={"name": "Renamed"})
    assert (await rated(client, corpus=corpus)).json()["experiment"]["corpus"] == f"{corpus}@3"
    gone = await rated(client, corpus=f"{corpus}@2")
    assert (gone.status_code, gone.json()["errors"][0]["pointer"]) == (422, "/experiment/corpus")


async def test_a_job_on_a_shared_corpus_uses_the_words_of_that_corpus(agency):
    mine, other = agency(), agency("other")
    corpus = await begun(mine, TEXT)
    assert (await rated(other, corpus=corpus)).status_code == 422
    await mine.patch(f"{URL}/{corpus}", json={"visibility": "shared"})
    asked = await rated(other, corpus=corpus)
    assert asked.status_code == 202, asked.text
    assert asked.json()["experiment"]["words"][0]["first"] == "old"


async def test_words_in_the_request_override_those_of_the_corpus(agency):
    client = agency()
    corpus = await begun(client, TEXT)
    narrower = WORDS | {"name": "narrow", "neutral": ["small"]}
    for words in ({"words": [narrower]}, {"specification": "narrow"}):
        if "specification" in words:
            await client.post("/v1/specifications", json=AGES | {"name": "narrow", "words": narrower})
        asked = await rated(client, corpus=corpus, **words)
        assert asked.status_code == 202, asked.text
        told = asked.json()["experiment"]
        assert (told["words"][0]["name"], told["words"][0]["neutral"]) == ("narrow", ["small"])
        assert len(told["sentences"]) == 1


async def test_sentences_in_the_request_come_before_those_of_the_corpus(agency):
    client = agency()
    corpus = await begun(client, TEXT)
    asked = await rated(client, corpus=corpus, sentences=[{"text": "Her grandson is tall."}], words=[WORDS])
    assert [one["text"] for one in asked.json()["experiment"]["sentences"]] == ["Her grandson is tall.", TEXT]


async def test_a_job_on_an_unusable_corpus_is_refused(agency):
    client = agency()
    empty = await begun(client)
    pictures = (await client.post(URL, json={"name": "P", "kind": "images", "attribute": "age"})).json()["id"]
    notes = (await client.post(URL, json={"name": "Notes", "attribute": "gender"})).json()["id"]
    await client.post(f"{URL}/{notes}/items", json={"items": [{"text": "Nothing to the point."}]})
    for corpus, pointer in ((empty, "corpus"), (pictures, "corpus"), ("crp_none", "corpus"), (notes, "sentences")):
        refused = await rated(client, corpus=corpus)
        assert refused.status_code == 422, corpus
        assert refused.json()["errors"][0]["pointer"] == f"/experiment/{pointer}"


async def test_an_invalid_pair_of_words_is_reported_once(agency):
    refused = await rated(agency(), words=[WORDS | {"pairs": [["man", "man"]]}])
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-specification")
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/experiment/words/0/pairs"]


async def test_an_empty_corpus_is_accepted_if_an_author_writes_sentences(agency):
    client = agency()
    corpus = await begun(client)
    body = {
        "target": MODEL,
        "author": MODEL,
        "experiment": {"method": "stereotype-score", "corpus": corpus, "writing": {"per_term": 2}},
    }
    asked = await client.post("/v1/jobs", json=body)
    assert asked.status_code == 202, asked.text
    assert asked.json()["experiment"]["corpus"] == f"{corpus}@1"


async def test_stored_sentences_are_used_before_an_author_is_called(agency):
    client, other = agency(), agency("other")
    await begun(client, TEXT, "A frail grandson sat down.", "My grandson is rash.")
    await begun(other, "My grandfather is tall.", visibility="shared")

    async def sentences(tenant, **writing):
        body = {"target": MODEL, "author": MODEL, "experiment": {"method": "stereotype-score", "specification": "ages"}}
        body["experiment"] |= {"writing": {"per_term": 1} | writing, "sentences": [{"text": "My grandson is tall."}]}
        asked = await tenant.post("/v1/jobs", json=body)
        assert asked.status_code == 202, asked.text
        return [one["text"] for one in asked.json()["experiment"]["sentences"]]

    assert await sentences(client) == ["My grandson is tall.", TEXT, "My grandson is rash."]
    assert await sentences(client, reuse=False) == ["My grandson is tall."]
    assert len(await sentences(client, per_term=2)) == 4, "none of those that another tenant shares"
    assert len(await sentences(other, per_term=2)) == 2


async def test_an_identical_request_joins_the_running_job_after_sentences_were_stored(agency):
    client = agency()
    await client.post("/v1/specifications", json=AGES)
    body = {"target": MODEL, "author": MODEL, "experiment": {"method": "stereotype-score", "specification": "ages"}}
    body["experiment"]["writing"] = {"per_term": 1}
    first = (await client.post("/v1/jobs", json=body)).json()
    await begun(client, TEXT)
    joined = (await client.post("/v1/jobs", json=body)).json()
    assert joined["id"] == first["id"]


async def test_each_run_of_a_schedule_uses_the_sentences_stored_until_then(agency, worker):
    client = agency()
    await client.post("/v1/specifications", json=AGES)
    experiment = {"method": "stereotype-score", "specification": "ages", "writing": {"per_term": 1}}
    request = {"target": MODEL, "author": MODEL, "experiment": experiment}
    made = await client.post("/v1/schedules", json={"name": "weekly", "request": request, "cron": "0 3 * * 1"})
    assert made.status_code == 201, made.text

    async def run():
        ran = await client.post(made.headers["Location"] + "/run")
        job = (await client.get(ran.headers["Location"])).json()
        return job, [one["text"] for one in job["experiment"]["sentences"]]

    assert (await run())[1] == []
    await begun(client, TEXT)
    job, sentences = await run()
    assert sentences == [TEXT]
    with worker.database.read() as c:
        seed = c.execute(select(jobs.c.seed).where(jobs.c.id == job["id"])).scalar_one()
    again = await client.post("/v1/jobs", json=request | {"seed": seed})
    assert again.json()["id"] == job["id"], "the same that a request with its seed would be"


# ---------------------------------------------------------------------------- the table of a rating
async def test_the_sentences_of_a_rating_are_downloaded_as_csv(agency, worker):
    client = agency()
    corpus = await begun(client, TEXT)
    job = (await rated(client, corpus=corpus)).json()["id"]
    rows = [
        {"id": "itm_1", "term": "frail", "list": "first_terms", "first": TEXT, "second": "=My grandson is frail.",
         "first_score": -3.5, "second_score": -4.0, "words": 4, "prefers": "first", "towards": 1.0, "source": "edited"},
    ]  # fmt: skip
    component = {"name": "ages", "letter": None, "declared": False, "probabilities": None, "effects": {}, "usable": 1}
    more = {"unusable": 0, "failed": 0, "published": {}, "reasons": [], "sentences": rows}
    rating = worker.rate(job, method="stereotype-score", attribute="age", components=[component | more])
    table = await client.get(f"/v1/ratings/{rating}/sentences.csv")
    assert table.status_code == 200, table.text
    assert f"{rating}-sentences.csv" in table.headers["Content-Disposition"]
    (row,) = csv.DictReader(io.StringIO(table.text))
    assert (row["component"], row["first"], row["second"]) == ("ages", TEXT, "'=My grandson is frail.")
    assert (float(row["first_score"]), row["prefers"], float(row["towards"])) == (-3.5, "first", 1.0)
    assert (await agency("other").get(f"/v1/ratings/{rating}/sentences.csv")).status_code == 404


async def test_the_sentence_table_of_a_rating_without_sentences_is_404(agency, worker):
    client = agency()
    corpus = await begun(client, TEXT)
    rating = worker.rate((await rated(client, corpus=corpus)).json()["id"])
    missing = await client.get(f"/v1/ratings/{rating}/sentences.csv")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
