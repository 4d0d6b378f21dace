"""Pictures of a rating over HTTP: shown only to permitted callers, and never stored in a shared cache."""

from __future__ import annotations

import base64
import io
from hashlib import sha256

import pytest
from PIL import Image

from assay.model import Look, Observation, Probe, Reply
from store.jobs import jobs
from store.jobs.jobs import LedgerEntry

pytestmark = pytest.mark.anyio


@pytest.fixture
async def agency(serve, guarded, worker):
    """A client of an agency with keys, and the headers of the owner of the pictures."""
    return await serve(guarded), {"Authorization": f"Bearer {worker.make_key('mine')}"}


@pytest.fixture
def report(agency, request_body, worker):
    """Add a picture to a corpus, rate a service with the picture, and return the address of the public report."""
    client, mine = agency

    async def report(corpus: str) -> str:
        async def post(path: str, body: dict[str, object]) -> dict[str, str]:
            answer = await client.post(path, json=body, headers=mine)
            assert answer.is_success, answer.text
            return answer.json()

        file = io.BytesIO()
        Image.new("RGB", (200, 100), (200, 0, 0)).save(file, "PNG")
        made = await post("/v1/corpora", {"name": "P", "kind": "images", "attribute": "gender", "visibility": corpus})
        item = {"image_b64": base64.b64encode(file.getvalue()).decode(), "term": "nurse"}
        await post(f"/v1/corpora/{made['id']}/items", {"items": [item]})
        image = f"sha256:{sha256(file.getvalue()).hexdigest()}"
        row = {"image": image, "term": "nurse", "list": "neutral", "towards": 1.0, "says": "woman"}
        job = await post("/v1/jobs", request_body(visibility="public"))
        part = {"name": "words", "letter": "DSBS", "declared": True, "images": [row], "values": ["woman", "man"]}
        claim = worker.claim(job["id"])
        asked = Observation(Probe("words/1", Look(image, ("woman", "man"))), Reply({"scores": None, "text": "a woman"}))
        with worker.database.write() as c:
            jobs.record(c, claim, [LedgerEntry(asked, 1, 12)], calls=1, expected=1, stage="asking")
        rating = worker.finish(claim, method="visual-stereotype", components=[part])
        return f"/v1/ratings/{rating}/report.html"

    return report


async def test_the_report_shows_small_pictures_to_the_owner_and_is_not_stored_in_shared_caches(agency, report):
    client, mine = agency
    url = await report("private")
    answer = await client.get(url, headers=mine)
    assert answer.text.count('<img src="data:image/webp;base64,') == 1
    assert "1 of 1 pictures are shown" in answer.text
    assert answer.headers["Cache-Control"].startswith("private")
    assert "img-src data:" in answer.headers["Content-Security-Policy"]
    again = await client.get(url, headers={**mine, "If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


async def test_pictures_of_a_private_corpus_are_not_in_the_public_report(agency, report, worker):
    client, mine = agency
    url = await report("private")
    tag = (await client.get(url, headers=mine)).headers["ETag"]
    for headers in ({}, {"Authorization": f"Bearer {worker.make_key('theirs')}"}):
        answer = await client.get(url, headers={**headers, "If-None-Match": tag})
        assert (answer.status_code, "<img" in answer.text) == (200, False)
        assert "No picture is shown." in answer.text
        assert answer.headers["Cache-Control"].startswith("public")


async def test_pictures_of_a_shared_corpus_are_in_the_public_report(agency, report):
    client, _ = agency
    assert "<img" in (await client.get(await report("shared"))).text


async def first_thumbnail(client, url, headers=None):
    """Return the address of the first observation's thumbnail; ``None`` if it has none."""
    rating = url.removesuffix("/report.html")
    return (await client.get(f"{rating}/observations", headers=headers)).json()["items"][0]["thumbnail"]


@pytest.mark.parametrize("corpus", ["private", "shared"])
async def test_an_observation_links_its_thumbnail_for_permitted_callers(agency, report, worker, corpus):
    client, mine = agency
    url = await report(corpus)
    address = await first_thumbnail(client, url, mine)
    answer = await client.get(address, headers=mine)
    with Image.open(io.BytesIO(answer.content)) as picture:
        assert (picture.format, picture.size) == ("WEBP", (64, 32))
    assert answer.headers["Cache-Control"].startswith("private")
    again = await client.get(address, headers={**mine, "If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    for others in (None, {"Authorization": f"Bearer {worker.make_key('theirs')}"}):
        seen = corpus == "shared"
        assert await first_thumbnail(client, url, others) == (address if seen else None)
        assert (await client.get(address, headers=others)).status_code == (200 if seen else 404)


async def test_the_thumbnail_of_a_picture_that_is_not_stored_is_404(agency, report):
    client, mine = agency
    rating = (await report("shared")).removesuffix("/report.html")
    answer = await client.get(f"{rating}/thumbnails/sha256:{'0' * 64}", headers=mine)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    wrong = await client.get(f"{rating}/thumbnails/0", headers=mine)
    assert (wrong.status_code, wrong.json()["code"]) == (404, "not-found")
