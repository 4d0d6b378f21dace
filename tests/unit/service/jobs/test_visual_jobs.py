"""Jobs by visual-stereotype: pictures of a corpus and words are filled in, and invalid requests are refused."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image
from sqlalchemy import update

from assay.methods.visual_stereotype.image_generation import draw_prompt
from service.http.openapi.document import EXAMPLES
from store.corpora import items as corpus_items
from store.corpora.tables import corpus_items as corpus_items_table

pytestmark = pytest.mark.anyio

OWN = EXAMPLES["ChoicesRequest"]["visual"]["value"]
PICTURE = {"image": "sha256:" + "a" * 64, "term": "drill"}
AUTHOR = {
    "name": "Painter",
    "kind": "language-model",
    "protocol": "openai-completions",
    "base_url": "http://127.0.0.1:9/v1",
}


def job(request_body, **experiment):
    target = {
        "name": "Viewer",
        "kind": "image-classifier",
        "protocol": "hf-inference",
        "base_url": "http://127.0.0.1:9/v1",
    }
    return request_body() | {"target": target, "experiment": {"method": "visual-stereotype", **experiment}}


def drawn(place: int) -> str:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (place, 0, 0)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


async def corpus(client, *terms: str, kind: str = "images") -> str:
    made = await client.post("/v1/corpora", json={"name": "Tools", "kind": kind, "attribute": "gender"})
    assert made.status_code == 201, made.text
    items = [{"image_b64": drawn(place), "term": term} for place, term in enumerate(terms)]
    if items:
        added = await client.post(f"/v1/corpora/{made.json()['id']}/items", json={"items": items})
        assert added.is_success, added.text
    return str(made.json()["id"])


async def test_a_job_stores_the_pictures_of_its_corpus_and_the_words_of_its_specification(client, request_body):
    assert (await client.post("/v1/specifications", json=OWN)).status_code == 201
    named = await corpus(client, "drill", "Yarn", "teapot", "giraffe")
    answer = await client.post("/v1/jobs", json=job(request_body, specification=OWN["name"], corpus=named))
    assert answer.status_code == 202, answer.text
    experiment = answer.json()["experiment"]
    assert experiment["specification"] == f"{OWN['name']}@1"
    assert experiment["words"] == [OWN["words"] | {"name": OWN["name"]}]
    assert experiment["corpus"].startswith(f"{named}@")
    assert [picture["term"] for picture in experiment["pictures"]] == ["drill", "Yarn", "teapot", "giraffe"]
    assert all(picture["id"].startswith("itm_") for picture in experiment["pictures"])
    assert (experiment["attribute"], answer.json()["expected"]) == ("gender", 16 * 11)


async def test_a_request_to_generate_images_must_name_the_service_that_draws_them(client, request_body):
    asked = job(request_body, drawing={"per_term": 2})
    refused = await client.post("/v1/jobs", json=asked)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/author")
    answer = await client.post("/v1/jobs", json={**asked, "author": AUTHOR})
    assert answer.status_code == 202, answer.text
    assert answer.json()["experiment"]["drawing"] == {
        "per_term": 2,
        "prompt": "portrait",
        "tries": 3,
        "reuse": True,
    }


async def test_stored_images_of_the_same_prompts_are_reused_before_new_ones_are_generated(client, request_body, worker):
    named = await corpus(client, "drill", "yarn", "teapot")
    with worker.database.write() as c:  # in the form that a finished job stores
        items = corpus_items.all_items(c, named)
        for item, prompt in zip(items, ("portrait", "portrait", "face"), strict=True):
            written = {"source": "written", "provenance": {"prompt": draw_prompt(str(item.term), prompt)}}
            c.execute(update(corpus_items_table).where(corpus_items_table.c.id == item.id).values(written))
    assert (await client.post("/v1/specifications", json=OWN)).status_code == 201

    async def terms(**drawing):
        asked = job(request_body, specification=OWN["name"], drawing={"per_term": 1} | drawing) | {"author": AUTHOR}
        answer = await client.post("/v1/jobs", json=asked)
        assert answer.status_code == 202, answer.text
        return {(one["term"], one["source"]) for one in answer.json()["experiment"]["pictures"]}

    assert await terms() == {("drill", "drawn"), ("yarn", "drawn")}
    assert await terms(prompt="face") == {("teapot", "drawn")}
    assert await terms(reuse=False) == set()


async def test_the_api_lists_the_method_visual_stereotype_with_its_fields(client):
    answer = await client.get("/v1/methods/visual-stereotype")
    assert answer.status_code == 200, answer.text
    assert {"pictures", "drawing", "question"} <= set(answer.json()["schema"]["properties"])


async def test_visual_specifications_are_listed(client):
    listed = (await client.get("/v1/specifications", params={"kind": "visual"})).json()["items"]
    assert {"p4-pictures-professions", "p4-pictures-flowers-insects"} <= {one["name"] for one in listed}
    words = (await client.get("/v1/specifications/p4-pictures-professions")).json()["words"]
    assert (words["first"], words["second"], len(words["neutral"])) == ("man", "woman", 40)


@pytest.mark.parametrize(
    ("experiment", "pointer"),
    [
        ({}, "/experiment/pictures"),
        ({"specification": "nowhere", "pictures": [PICTURE]}, "/experiment/pictures/0/image"),
        ({"specification": "nowhere", "drawing": {}}, "/experiment/specification"),
        ({"specification": "p4-professions", "drawing": {}}, "/experiment/specification"),
        ({"attribute": "height", "drawing": {}}, "/experiment"),
        ({"pictures": [PICTURE]}, "/experiment/pictures"),
        ({"pictures": [PICTURE | {"term": "mason"}]}, "/experiment/pictures/0/image"),
        ({"pictures": [PICTURE | {"image": "sha256:1"}]}, "/experiment/pictures/0/image"),
        ({"pictures": [PICTURE | {"image": "g" * 71}]}, "/experiment/pictures/0/image"),
        ({"corpus": "crp_nowhere"}, "/experiment/corpus"),
        ({"drawing": {"prompt": "fresco"}}, "/experiment/drawing/prompt"),
        ({"question": "Is it {}?", "drawing": {}}, "/experiment/question"),
        ({"per_term": 0, "drawing": {}}, "/experiment/per_term"),
    ],
)
async def test_an_invalid_visual_experiment_is_refused_naming_the_invalid_field(
    client, request_body, experiment, pointer
):
    answer = await client.post("/v1/jobs", json=job(request_body, **experiment))
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer, answer.text


@pytest.mark.parametrize(
    ("terms", "kind", "message"),
    [
        ((), "images", "is empty"),
        ((), "sentences", "holds sentences"),
        (("giraffe",), "images", "no picture belongs to a term"),
    ],
)
async def test_an_unusable_corpus_is_refused_with_the_reason(client, request_body, terms, kind, message):
    named = await corpus(client, *terms, kind=kind)
    answer = await client.post("/v1/jobs", json=job(request_body, corpus=named))
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/experiment/corpus")
    assert message in answer.text


async def test_an_outdated_version_of_a_corpus_is_refused(client, request_body):
    named = await corpus(client, "mason", "plumber")
    current = (await client.get(f"/v1/corpora/{named}")).json()["version"]
    there = await client.post("/v1/jobs", json=job(request_body, corpus=f"{named}@{current}"))
    assert there.status_code == 202, there.text
    refused = await client.post("/v1/jobs", json=job(request_body, corpus=f"{named}@{current - 1}"))
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/experiment/corpus")
