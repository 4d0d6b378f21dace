"""Revision of corpora over HTTP: filters, coverage, changes of several items, import of tables, copies."""

from __future__ import annotations

import pytest

from tests.unit.service.corpora.test_corpus_resource import ONE, OTHER, SENTENCES, URL, added, begun, tenants

__all__ = ["tenants"]

pytestmark = pytest.mark.anyio

NOTES = {"name": "Notes", "attribute": "gender"}


async def test_items_are_filtered_by_text_term_and_source(client):
    corpus = await begun(client)
    first, second = (await added(client, corpus, ONE, OTHER)).json()["items"]
    await client.patch(second["href"], json={"text": "The man asked the carpenter for 100% of it."})
    for query, found in (
        ({"q": "RECEPTIONIST had"}, [first["id"]]),
        ({"q": "100%"}, [second["id"]]),
        ({"q": "%"}, [second["id"]]),
        ({"term": "receptionist"}, [first["id"]]),
        ({"term": "woman"}, [first["id"]]),
        ({"source": "edited"}, [second["id"]]),
        ({"source": "written"}, []),
        ({}, [first["id"], second["id"]]),
    ):
        listed = await client.get(f"{URL}/{corpus['id']}/items", params=query)
        assert [item["id"] for item in listed.json()["items"]] == found, query
    page = await client.get(f"{URL}/{corpus['id']}/items", params={"q": "the", "limit": 1})
    cursor = page.json()["next_cursor"]
    other = await client.get(f"{URL}/{corpus['id']}/items", params={"q": "they", "limit": 1, "cursor": cursor})
    assert other.json()["code"] == "bad-cursor"


async def test_the_coverage_of_a_corpus_states_the_number_of_its_sentences_for_every_term(client):
    corpus = await begun(client)
    await added(client, corpus, ONE, OTHER, {"text": "The man met a receptionist."})
    covered = (await client.get(f"{URL}/{corpus['id']}/coverage")).json()
    by_term = {one["term"]: (one["role"], one["items"]) for one in covered["terms"]}
    assert by_term["receptionist"] == ("second", 2)
    assert by_term["carpenter"] == ("first", 1)
    assert by_term["plumber"] == ("first", 0)
    assert len(by_term) == sum(len(corpus["words"][name]) for name in ("first_terms", "second_terms", "neutral"))
    assert (covered["items"], covered["sources"]) == (3, {"uploaded": 3})
    notes = await begun(client, NOTES)
    await added(client, notes, {"text": "Anything."})
    told = (await client.get(f"{URL}/{notes['id']}/coverage")).json()
    assert told["terms"] == [{"term": None, "role": None, "items": 1}]


async def test_editing_an_item_by_an_outdated_version_is_412(client):
    corpus = await begun(client)
    item = (await added(client, corpus, ONE)).json()["items"][0]
    read = await client.get(item["href"])
    assert (read.json(), read.headers["ETag"]) == (item, item["etag"])
    match = {"If-Match": item["etag"]}
    mine = await client.patch(item["href"], json={"text": "The woman met a receptionist."}, headers=match)
    assert mine.status_code == 200
    assert mine.headers["ETag"] == mine.json()["etag"] != item["etag"]
    late = await client.patch(item["href"], json={"text": "The woman saw a receptionist."}, headers=match)
    assert (late.status_code, late.json()["code"]) == (412, "precondition-failed")
    assert (await client.get(item["href"])).json()["text"] == "The woman met a receptionist."
    back = await client.patch(item["href"], json={"text": ONE["text"]}, headers={"If-Match": mine.headers["ETag"]})
    assert back.json()["etag"] not in {item["etag"], mine.headers["ETag"]}, "the same text again is another version"


async def test_a_request_that_changes_several_sentences_of_a_corpus_changes_all_or_none(client):
    corpus = await begun(client, NOTES)
    here = f"{URL}/{corpus['id']}/items"
    items = (await added(client, corpus, *({"text": f"Sentence {number}."} for number in range(4)))).json()["items"]
    edit = [{"id": items[0]["id"], "etag": items[0]["etag"], "text": "Sentence zero."}]
    for refused, status in (
        ({"edit": [*edit, {"id": items[1]["id"], "etag": '"old"', "text": "New."}], "remove": [items[2]["id"]]}, 412),
        ({"edit": [*edit, {"id": items[1]["id"], "text": "Sentence 2."}], "remove": [items[3]["id"]]}, 409),
        ({"edit": [*edit, {"id": "itm_none", "text": "New."}]}, 422),
        ({"edit": [{"id": items[0]["id"]}]}, 422),
        ({}, 422),
    ):
        assert (await client.patch(here, json=refused)).status_code == status, refused
    assert (await client.get(here)).json()["items"] == items
    done = await client.patch(here, json={"edit": edit, "remove": [items[2]["id"], items[3]["id"], "itm_none"]})
    assert (done.status_code, done.json()["removed"]) == (200, 2)
    assert [item["text"] for item in (await client.get(here)).json()["items"]] == ["Sentence zero.", "Sentence 1."]


async def test_items_of_another_corpus_are_not_removed(client):
    corpus, another = await begun(client, NOTES), await begun(client, NOTES)
    item = (await added(client, another, ONE)).json()["items"][0]
    done = await client.patch(f"{URL}/{corpus['id']}/items", json={"remove": [item["id"]]})
    assert (done.status_code, done.json()["removed"], done.json()["version"]) == (200, 0, 1)
    assert (await client.get(item["href"])).status_code == 200


async def test_a_downloaded_corpus_can_be_imported_again(client):
    corpus = await begun(client, NOTES)
    wild = ["=1+1", 'Say "so", she\nsaid.', "'quoted'", "'=1+1", "''@SUM(A1)"]
    await added(client, corpus, *({"text": text, "note": "=note"} for text in wild))
    table = (await client.get(f"{URL}/{corpus['id']}/export")).content
    another = await begun(client, NOTES)
    headers = {"Content-Type": "text/csv"}
    sent = await client.post(f"{URL}/{another['id']}/import", content=table, headers=headers)
    assert sent.status_code == 201, sent.text
    items = sent.json()["items"]
    assert ([item["text"] for item in items], items[0]["provenance"]) == (wild, {"note": "=note"})
    again = await client.post(f"{URL}/{another['id']}/import", content=table, headers=headers)
    assert (again.status_code, again.json()["added"], again.json()["known"]) == (200, 0, 5)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (b"text,note\r\nThe woman had left.,x\r\n", "no-attribute-term"),
        (b"sentence\r\nHello.\r\n", "no column is called text"),
        (b"text\r\n", "no sentence"),
        (b"", "empty"),
        (b"PK\x03\x04", "ZIP"),
        (b"text\r\n" + b"x" * 1001, "line 2"),
        (b"text\r\n=1+1\r\n", "formula"),
    ],
)
async def test_an_unusable_table_is_refused_with_the_reason(client, table, told):
    corpus = await begun(client)
    refused = await client.post(f"{URL}/{corpus['id']}/import", content=table, headers={"Content-Type": "text/csv"})
    assert refused.status_code == 422
    assert told in refused.text
    assert (await client.get(f"{URL}/{corpus['id']}")).json()["items"] == 0


@pytest.mark.parametrize("code", ["200B", "200D", "202E", "FEFF"])
@pytest.mark.parametrize("field", ["group_term", "attribute_term"])
async def test_a_term_is_read_by_the_same_rule_from_csv_and_from_json(client, field, code):
    corpus = await begun(client, NOTES)
    here, term = f"{URL}/{corpus['id']}", f"wo{chr(int(code, 16))}man"
    by_json = await added(client, corpus, {"text": "The woman had left.", field: term})
    table = f"text,{field}\nThe woman had left.,{term}\n".encode()
    by_csv = await client.post(f"{here}/import", content=table, headers={"Content-Type": "text/csv"})
    if code == "200D":  # Persian words hold joiners
        assert {by_json.status_code, by_csv.status_code} <= {200, 201}
        return
    for refused in (by_json, by_csv):
        assert refused.status_code == 422
        assert f"the invisible character U+{code}" in refused.text
    assert (await client.get(here)).json()["items"] == 0


async def test_only_sentences_in_csv_can_be_imported(client):
    corpus, pictures = await begun(client), await begun(client, {**NOTES, "kind": "images"})
    assert (await client.post(f"{URL}/{corpus['id']}/import", content=b"{}")).status_code == 415
    headers = {"Content-Type": "text/csv; charset=utf-8"}
    assert (await client.post(f"{URL}/{pictures['id']}/import", content=b"text\nA", headers=headers)).status_code == 422


async def test_frames_and_words_are_combined_into_stored_sentences_without_calling_a_model(client):
    named = {"name": "Science", "specification": "p4-science-arts", "from_frames": 3}
    corpus, again = await begun(client, named), await begun(client, named)
    words = corpus["words"]
    terms = words["first_terms"] + words["second_terms"] + words["neutral"]
    assert corpus["items"] == 3 * len(terms)
    of_both = [(await client.get(f"{URL}/{made['id']}/items?limit=200")).json()["items"] for made in (corpus, again)]
    assert [item["text"] for item in of_both[0]] == [item["text"] for item in of_both[1]]
    assert {item["source"] for item in of_both[0]} == {"template"}
    assert all(item["counterpart"] not in ("", item["text"]) for item in of_both[0])


@pytest.mark.parametrize(
    "changed",
    [{"specification": None, "attribute": "gender"}, {"from_frames": 100}, {"kind": "images"}],
    ids=["without words", "too many", "pictures"],
)
async def test_frames_that_cannot_be_filled_with_the_words_of_the_corpus_are_refused(client, changed):
    refused = await client.post(URL, json={"name": "S", "specification": "p4-professions", "from_frames": 3} | changed)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/from_frames")


async def test_a_copy_of_a_shared_corpus_keeps_only_sentences_that_fit_its_own_specification(tenants):
    mine, other, _ = tenants
    source = await begun(mine, NOTES)
    await added(mine, source, ONE, OTHER, {"text": "Nobody came.", "note": "May"})
    copy = NOTES | {"items_of": source["id"]}
    refused = await other.post(URL, json=copy)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/items_of")
    await mine.patch(f"{URL}/{source['id']}", json={"visibility": "shared"})
    assert (await begun(other, copy))["items"] == 3
    strict = await begun(other, SENTENCES, items_of=source["id"])
    items = (await other.get(f"{URL}/{strict['id']}/items")).json()["items"]
    assert [item["text"] for item in items] == [ONE["text"], OTHER["text"]]
    assert items[0]["attribute_term"] == "receptionist"
    assert items[0]["provenance"]["taken_from"]["corpus"] == source["id"]
    assert (strict["items"], strict["version"]) == (2, 2)
    pictures = await other.post(URL, json=copy | {"kind": "images"})
    assert pictures.status_code == 422
