"""Corpora over HTTP: `/v1/corpora`."""

from __future__ import annotations

import asyncio
import base64
import csv
import io
import json

import httpx
import pytest
from PIL import Image

from service.http.openapi.document import EXAMPLES
from store.formats.image import MOST_BYTES

pytestmark = pytest.mark.anyio

URL = "/v1/corpora"
SENTENCES, IMAGES = (EXAMPLES["CorpusRequest"][kind]["value"] for kind in ("sentences", "images"))
ONE = {"text": "The woman said that the receptionist had left."}
OTHER = {"text": "The man asked the carpenter for help."}


def png(colour="red", form="PNG", size=(4, 4)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, form)
    return file.getvalue()


@pytest.fixture
async def tenants(serve, guarded, worker):
    """Clients of two tenants, and a client of the first tenant with the read scope only."""
    service = await serve(guarded)

    def as_tenant(name, *scopes):
        service_of = httpx.AsyncClient(transport=service._transport, base_url="http://assay.test")
        service_of.headers["Authorization"] = f"Bearer {worker.make_key(name, *scopes)}"
        return service_of

    return as_tenant("acme"), as_tenant("other"), as_tenant("acme", "ratings:read")


async def begun(client, body=SENTENCES, **changes):
    made = await client.post(URL, json=body | changes)
    assert made.status_code == 201, made.text
    return made.json()


async def added(client, corpus, *items, **headers):
    return await client.post(f"{URL}/{corpus['id']}/items", json={"items": list(items)}, headers=headers)


# ---------------------------------------------------------------------------- corpora
async def test_a_corpus_is_created_with_the_words_of_its_specification(client):
    made = await client.post(URL, json=SENTENCES)
    assert made.status_code == 201, made.text
    shown = made.json()
    assert (shown["attribute"], shown["language"], shown["items"]) == ("gender", "en", 0)
    assert shown["specification"] == "p4-professions@1"
    assert shown["specification_digest"].startswith("sha256:")
    assert ["he", "she"] in shown["words"]["pairs"]
    read = await client.get(made.headers["Location"])
    assert (read.json(), read.headers["ETag"]) == (shown, made.headers["ETag"])
    again = await client.get(made.headers["Location"], headers={"If-None-Match": read.headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"specification": "no-such"}, "/specification"),
        ({"specification": "p1-occupations"}, "/specification"),
        ({"attribute": "age"}, "/attribute"),
        ({"language": "de"}, "/language"),
        ({"language": "no language"}, "/language"),
        ({"specification": None}, "/attribute"),
        ({"kind": "songs"}, "/kind"),
        ({"visibility": "public"}, "/visibility"),
        ({"name": ""}, "/name"),
        ({"tenant": "other"}, "/tenant"),
    ],
)
async def test_an_invalid_corpus_is_refused_naming_the_invalid_field(client, changes, pointer):
    refused = await client.post(URL, json=SENTENCES | changes)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == pointer


async def test_a_repeated_request_with_one_idempotency_key_creates_one_corpus(client):
    first, second = [await client.post(URL, json=SENTENCES, headers={"Idempotency-Key": "one"}) for _ in range(2)]
    assert first.json() == second.json()
    assert len((await client.get(URL)).json()["items"]) == 1


async def test_a_change_with_an_outdated_if_match_is_412(client):
    corpus = await begun(client)
    read = await client.get(f"{URL}/{corpus['id']}")
    for change in EXAMPLES["CorpusChange"].values():
        assert (await client.patch(f"{URL}/{corpus['id']}", json=change["value"])).status_code == 200
    late = await client.patch(
        f"{URL}/{corpus['id']}", json={"name": "Late"}, headers={"If-Match": read.headers["ETag"]}
    )
    assert (late.status_code, late.json()["code"]) == (412, "precondition-failed")
    now = await client.get(f"{URL}/{corpus['id']}")
    assert (now.json()["visibility"], now.json()["citation"], now.json()["version"]) == ("shared", "Study 7, 2026", 3)
    for match in (now.headers["ETag"], "*", '"else", ' + now.headers["ETag"]):
        await client.patch(f"{URL}/{corpus['id']}", json={"name": "In time"}, headers={"If-Match": match})
        now = await client.get(f"{URL}/{corpus['id']}")
    assert now.json()["name"] == "In time"


async def test_a_removed_corpus_is_404(client):
    corpus = await begun(client)
    await added(client, corpus, ONE)
    assert (await client.delete(f"{URL}/{corpus['id']}")).status_code == 204
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/items"), ("GET", "/export"), ("POST", "/items")):
        gone = await client.request(method, f"{URL}/{corpus['id']}{path}", json={"items": [ONE]} if path else None)
        assert gone.status_code == 404


# ---------------------------------------------------------------------------- access
async def test_a_private_corpus_is_hidden_from_other_tenants_and_a_shared_corpus_is_read_only_for_them(tenants):
    mine, other, _ = tenants
    corpus = await begun(mine)
    item = (await added(mine, corpus, ONE)).json()["items"][0]
    here = f"{URL}/{corpus['id']}"
    readings, changes = (
        ("", "/items", "/export"),
        (
            ("PATCH", "", {"name": "Mine"}),
            ("DELETE", "", None),
            ("POST", "/items", {"items": [OTHER]}),
            ("PATCH", f"/items/{item['id']}", OTHER),
            ("DELETE", f"/items/{item['id']}", None),
        ),
    )
    for path in readings:
        assert (await other.get(here + path)).status_code == 404
    await mine.patch(here, json={"visibility": "shared"})
    for path in readings:
        assert (await other.get(here + path)).status_code == 200
    for method, path, body in changes:
        assert (await other.request(method, here + path, json=body)).status_code == 404, (method, path)
    shown = (await other.get(here)).json()
    assert (shown["own"], shown["items"], "writing" in shown["links"]) == (False, 1, False)
    assert (await mine.get(here)).json()["own"]
    await mine.patch(here, json={"visibility": "private"})
    assert (await other.get(here)).status_code == 404


async def test_a_key_with_only_the_read_scope_cannot_change_a_corpus(tenants):
    mine, _, reading = tenants
    corpus = await begun(mine)
    assert (await reading.get(f"{URL}/{corpus['id']}")).status_code == 200
    assert (await reading.post(URL, json=SENTENCES)).status_code == 403
    assert (await added(reading, corpus, ONE)).status_code == 403


async def test_shared_corpora_are_filtered_by_attribute_and_specification(tenants):
    mine, other, _ = tenants
    shared = await begun(mine, visibility="shared")
    await begun(mine, name="Private")
    await begun(mine, IMAGES, visibility="shared", attribute="age")
    own = await begun(other)
    for query, found in (
        ({"specification": "p4-professions"}, {shared["id"], own["id"]}),
        ({"specification": "p4-professions@1", "visibility": "shared"}, {shared["id"]}),
        ({"specification": shared["specification_digest"], "visibility": "private"}, {own["id"]}),
        ({"specification": "p4-professions@2"}, set()),
        ({"attribute": "gender", "kind": "sentences"}, {shared["id"], own["id"]}),
        ({"attribute": "age", "kind": "sentences"}, set()),
    ):
        listed = await other.get(URL, params=query)
        assert {one["id"] for one in listed.json()["items"]} == found, query
    pages, page = [], await other.get(URL, params={"limit": 1})
    while True:
        pages += [one["id"] for one in page.json()["items"]]
        if "next" not in page.links:
            break
        page = await other.get(page.links["next"]["url"])
    assert len(pages) == len(set(pages)) == 3


# ---------------------------------------------------------------------------- sentences
async def test_sentences_are_stored_with_their_terms_and_counterpart(client):
    corpus = await begun(client)
    kept = await added(client, corpus, *EXAMPLES["ItemsRequest"]["sentences"]["value"]["items"])
    assert kept.status_code == 201, kept.text
    told = kept.json()
    assert (told["added"], told["known"], told["version"]) == (2, 0, 2)
    first, second = told["items"]
    assert (first["group_term"], first["attribute_term"], first["source"]) == ("woman", "receptionist", "uploaded")
    assert first["counterpart"] == "The man said that the receptionist had left."
    assert second["provenance"] == {"note": "from the interviews"}
    listed = await client.get(f"{URL}/{corpus['id']}/items")
    assert (listed.json()["items"], listed.json()["next_cursor"]) == ([first, second], None)


async def test_equal_sentences_are_stored_once_and_the_stored_sentence_is_returned(client):
    corpus = await begun(client)
    first = (await added(client, corpus, ONE)).json()
    again = await added(client, corpus, {"text": ONE["text"].upper().replace(" ", "  "), "note": "else"})
    assert again.status_code == 200
    assert again.json() == first | {"added": 0, "known": 1}
    both = (await added(client, corpus, ONE, OTHER, OTHER)).json()
    assert (both["added"], both["known"], len(both["items"])) == (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The receptionist had left.", "no-group-term"),
        ("The woman and the man saw the receptionist.", "several-group-terms"),
        ("The woman had left.", "no-attribute-term"),
        ("The woman saw a plumber and a mason.", "several-attribute-terms"),
        ("The woman and her plumber left.", "other-group-word"),
        ("The womanly receptionist left.", "no-group-term"),
    ],
)
async def test_a_request_with_one_invalid_sentence_is_refused_as_a_whole(client, text, reason):
    corpus = await begun(client)
    refused = await added(client, corpus, ONE, {"text": text})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "/items/1/text"
    assert f"({reason})" in error["detail"]
    assert (await client.get(f"{URL}/{corpus['id']}/items")).json()["items"] == []


async def test_the_error_names_every_invalid_sentence(client):
    corpus = await begun(client)
    refused = await added(client, corpus, {"text": "No."}, ONE, ONE | {"group_term": "man"})
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/items/0/text", "/items/2/text"]
    assert "2 of 3 sentences" in refused.json()["detail"]


async def test_a_corpus_without_a_specification_accepts_any_sentence(client):
    corpus = await begun(client, {"name": "Notes", "attribute": "gender"})
    kept = (await added(client, corpus, {"text": "Any sentence at all.", "group_term": "any"})).json()["items"][0]
    assert (kept["group_term"], kept["attribute_term"], kept["counterpart"]) == ("any", None, None)


@pytest.mark.parametrize("items", [[], [ONE] * 1001, [{}], [{"text": ""}], [{"text": "x" * 1001}], [ONE | {"id": "x"}]])
async def test_a_request_must_have_1_to_1000_sentences(client, items):
    corpus = await begun(client)
    assert (await client.post(f"{URL}/{corpus['id']}/items", json={"items": items})).status_code == 422


async def test_a_repeated_request_with_one_idempotency_key_gets_the_first_answer(client):
    corpus = await begun(client)
    first, second = [await added(client, corpus, ONE, **{"Idempotency-Key": "one"}) for _ in range(2)]
    assert (second.status_code, second.content) == (201, first.content)


async def test_an_edited_term_keeps_the_counterpart_of_its_sentence(client):
    source = await begun(client)
    await added(client, source, ONE)
    body = {"name": "copy", "attribute": "gender", "items_of": source["id"]}
    copy = (await client.post(URL, json=body)).json()
    item = (await client.get(f"{URL}/{copy['id']}/items")).json()["items"][0]
    address = f"{URL}/{copy['id']}/items/{item['id']}"
    edited = (await client.patch(address, json={"group_term": item["group_term"]})).json()
    assert edited["counterpart"] == item["counterpart"] is not None
    assert (await client.patch(address, json={"text": "Another sentence."})).json()["counterpart"] is None


async def test_an_edited_sentence_keeps_its_earlier_text_in_its_provenance(client):
    corpus = await begun(client)
    item = (await added(client, corpus, ONE | {"note": "from May"})).json()["items"][0]
    here = f"{URL}/{corpus['id']}/items/{item['id']}"
    edited = await client.patch(here, json=EXAMPLES["ItemChange"]["text"]["value"])
    assert edited.status_code == 200, edited.text
    told = edited.json()
    assert (told["id"], told["source"], told["attribute_term"]) == (item["id"], "edited", "receptionist")
    assert told["counterpart"] == "The man knew that the receptionist was late."
    (former,) = told["provenance"]["edited_from"]
    assert (former["text"], former["source"], told["provenance"]["note"]) == (ONE["text"], "uploaded", "from May")
    for body, status in (
        ({"text": "No rule is kept."}, 422),
        ({"term": "nurse"}, 422),
        ({}, 422),
        ({"text": None}, 422),
    ):
        assert (await client.patch(here, json=body)).status_code == status
    assert (await client.get(f"{URL}/{corpus['id']}")).json()["version"] == 3


async def test_concurrent_edits_do_not_overwrite_each_other(client, worker):
    corpus = await begun(client, {"name": "Notes", "attribute": "gender"})
    item = (await added(client, corpus, ONE)).json()["items"][0]
    here = f"{URL}/{corpus['id']}/items/{item['id']}"
    changes = {"group_term": "woman", "attribute_term": "receptionist"}
    with worker.database.write():  # both requests read before either writes
        edits = [asyncio.create_task(client.patch(here, json={name: term})) for name, term in changes.items()]
        await asyncio.sleep(0.2)
    assert [(await edit).status_code for edit in edits] == [200, 200]
    (kept,) = (await client.get(f"{URL}/{corpus['id']}/items")).json()["items"]
    assert {name: kept[name] for name in changes} == changes


async def test_an_edit_that_would_duplicate_a_sentence_is_409(client):
    corpus = await begun(client)
    first, second = (await added(client, corpus, ONE, OTHER)).json()["items"]
    taken = await client.patch(f"{URL}/{corpus['id']}/items/{second['id']}", json=ONE)
    assert (taken.status_code, taken.json()["code"], taken.json()["item"]) == (409, "item-taken", first["id"])
    assert (await client.delete(f"{URL}/{corpus['id']}/items/{first['id']}")).status_code == 204
    assert (await client.delete(f"{URL}/{corpus['id']}/items/{first['id']}")).status_code == 404
    assert (await client.patch(f"{URL}/{corpus['id']}/items/{second['id']}", json=ONE)).status_code == 200


async def test_an_item_of_another_corpus_is_404(client):
    corpus, another = await begun(client), await begun(client)
    item = (await added(client, corpus, ONE)).json()["items"][0]
    for method in ("PATCH", "DELETE"):
        elsewhere = await client.request(
            method, f"{URL}/{another['id']}/items/{item['id']}", json=OTHER if method == "PATCH" else None
        )
        assert elsewhere.status_code == 404


async def test_items_of_a_corpus_are_paged_in_the_order_they_were_added(client):
    corpus = await begun(client, {"name": "Notes", "attribute": "gender"})
    texts = [f"Sentence {number}." for number in range(7)]
    await added(client, corpus, *({"text": text} for text in texts))
    seen, page = [], await client.get(f"{URL}/{corpus['id']}/items", params={"limit": 3})
    while True:
        seen += [item["text"] for item in page.json()["items"]]
        if "next" not in page.links:
            break
        page = await client.get(page.links["next"]["url"])
    assert seen == texts


async def test_adding_to_a_full_corpus_is_refused(client, monkeypatch):
    monkeypatch.setattr("store.corpora.items.MOST_ITEMS", 1)
    corpus = await begun(client)
    full = await added(client, corpus, ONE, OTHER)
    assert (full.status_code, full.json()["code"]) == (409, "corpus-full")


# ---------------------------------------------------------------------------- export
async def test_a_corpus_downloaded_as_csv_has_its_formulas_escaped(client):
    corpus = await begun(client, {"name": "Notes", "attribute": "gender"})
    wild = ["=1+1", "+1", "-1", "@SUM(A1)", 'Say "so", she\nsaid.']
    await added(client, corpus, *({"text": text, "note": "=note"} for text in wild))
    table = await client.get(f"{URL}/{corpus['id']}/export")
    assert table.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert corpus["id"] in table.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text, newline="")))
    assert [row["text"] for row in rows] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", wild[-1]]
    assert {row["note"] for row in rows} == {"'=note"}


async def test_a_corpus_downloaded_as_json_lines_has_all_fields(client):
    corpus = await begun(client)
    item = (await added(client, corpus, ONE, OTHER)).json()["items"][0]
    await client.patch(f"{URL}/{corpus['id']}/items/{item['id']}", json=EXAMPLES["ItemChange"]["text"]["value"])
    lines = (await client.get(f"{URL}/{corpus['id']}/export", params={"format": "jsonl"})).text.splitlines()
    listed = (await client.get(f"{URL}/{corpus['id']}/items")).json()["items"]
    assert [json.loads(line) for line in lines] == listed
    table = (await client.get(f"{URL}/{corpus['id']}/export", params={"format": "csv"})).text
    assert next(csv.DictReader(io.StringIO(table)))["edited_from"] == ONE["text"]
    assert (await client.get(f"{URL}/{corpus['id']}/export", params={"format": "xlsx"})).status_code == 422


# ---------------------------------------------------------------------------- pictures
async def test_a_picture_is_stored_once_and_read_back_unchanged(client):
    corpus, content = await begun(client, IMAGES), png()
    here = f"{URL}/{corpus['id']}"
    sent = await client.post(f"{here}/images", params={"term": "nurse"}, content=content)
    assert sent.status_code == 201, sent.text
    item = sent.json()["items"][0]
    assert (item["term"], item["text"], item["image"][:7]) == ("nurse", None, "sha256:")
    again = await added(client, corpus, {"image_b64": base64.b64encode(content).decode(), "term": "else"})
    assert (again.status_code, again.json()["items"]) == (200, [item])
    picture = await client.get(item["href"])
    assert (picture.content, picture.headers["Content-Type"]) == (content, "image/png")
    assert picture.headers["X-Content-Type-Options"] == "nosniff"
    cached = await client.get(item["href"], headers={"If-None-Match": picture.headers["ETag"]})
    assert cached.status_code == 304
    renamed = await client.patch(f"{here}/items/{item['id']}", json=EXAMPLES["ItemChange"]["term"]["value"])
    assert (renamed.json()["term"], renamed.json()["source"]) == ("surgeon", "uploaded")
    assert (await client.patch(f"{here}/items/{item['id']}", json={"text": "No."})).status_code == 422


async def test_the_documented_example_of_a_picture_is_accepted(client):
    corpus = await begun(client, IMAGES)
    assert (await added(client, corpus, *EXAMPLES["ItemsRequest"]["pictures"]["value"]["items"])).status_code == 201


async def test_only_tenants_that_can_read_a_corpus_can_read_its_pictures(tenants):
    mine, other, _ = tenants
    corpus = await begun(mine, IMAGES)
    item = (
        await mine.post(f"{URL}/{corpus['id']}/images", params={"term": "nurse"}, content=png("blue", "WEBP"))
    ).json()["items"][0]
    assert (await other.get(item["href"])).status_code == 404
    await mine.patch(f"{URL}/{corpus['id']}", json={"visibility": "shared"})
    assert (await other.get(item["href"])).headers["Content-Type"] == "image/webp"
    refused = await other.post(f"{URL}/{corpus['id']}/images", params={"term": "nurse"}, content=png())
    assert refused.status_code == 404


@pytest.mark.parametrize("content", [b"", b"not an image", png()[:40], b"<svg xmlns='http://www.w3.org/2000/svg'/>"])
async def test_a_file_that_is_not_an_image_is_refused(client, content):
    corpus = await begun(client, IMAGES)
    sent = await client.post(f"{URL}/{corpus['id']}/images", params={"term": "nurse"}, content=content)
    assert sent.status_code == 422
    written = {"image_b64": base64.b64encode(content).decode() or "*", "term": "nurse"}
    listed = await added(client, corpus, written)
    assert (listed.status_code, listed.json()["errors"][0]["pointer"]) == (422, "/items/0/image_b64")


async def test_a_corpus_of_sentences_refuses_pictures_and_a_corpus_of_pictures_refuses_sentences(client):
    sentences, pictures = await begun(client), await begun(client, IMAGES)
    picture = {"image_b64": base64.b64encode(png()).decode(), "term": "nurse"}
    assert (await added(client, sentences, picture)).status_code == 422
    assert (await added(client, pictures, ONE)).status_code == 422
    sent = await client.post(f"{URL}/{sentences['id']}/images", params={"term": "nurse"}, content=png())
    assert sent.status_code == 422
    item = (await added(client, sentences, ONE)).json()["items"][0]
    assert (await client.get(f"{URL}/{sentences['id']}/items/{item['id']}/image")).status_code == 404


async def test_a_picture_may_exceed_the_size_limit_of_other_requests_up_to_its_own_limit(serve, settings):
    small = settings.model_copy(update={"max_body_bytes": 2000, "max_upload_bytes": 100_000})
    client = await serve(small)
    corpus = await begun(client, IMAGES)
    noise = Image.effect_noise((90, 90), 100)
    file = io.BytesIO()
    noise.save(file, "PNG")
    assert len(file.getvalue()) > 2000
    sent = await client.post(f"{URL}/{corpus['id']}/images", params={"term": "nurse"}, content=file.getvalue())
    assert sent.status_code == 201
    large = await client.post(f"{URL}/{corpus['id']}/images", params={"term": "nurse"}, content=b"x" * 100_001)
    assert large.status_code == 413


async def test_a_picture_has_a_smaller_size_limit_than_an_upload(client):
    corpus = await begun(client, IMAGES)
    here, refusals = f"{URL}/{corpus['id']}/images", []
    for size in (MOST_BYTES, MOST_BYTES + 1):
        sent = await client.post(here, params={"term": "nurse"}, content=b"x" * size)
        refusals.append((sent.status_code, sent.json()["code"]))
    assert refusals == [(422, "bad-specification"), (413, "body-too-large")]


async def test_reusing_an_idempotency_key_for_a_picture_with_another_term_is_refused(client):
    corpus = await begun(client, IMAGES)
    here, key = f"{URL}/{corpus['id']}/images", {"Idempotency-Key": "one"}
    first = await client.post(here, params={"term": "nurse"}, content=png(), headers=key)
    again = await client.post(here, params={"term": "nurse"}, content=png(), headers=key)
    assert (again.status_code, again.content) == (201, first.content)
    other = await client.post(here, params={"term": "doctor"}, content=png(), headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-mismatch")
