"""Jobs about recorded decisions: an uploaded table is counted once, and rated without a call."""

from __future__ import annotations

import csv
import io
import json
import re
import threading

import numpy as np
import pytest

from assay.errors import CertificateError, SpecificationError
from assay.methods.outcomes import suppression
from cli.rating.verify import NotVerified, RecordedFile, verify_file
from service.app import create_app
from tests.unit.service.conftest import client_of
from web.site import add_pages
from workers.engine.tasks import open_context
from workers.run_job import run_job
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

EXPERIMENT = {
    "method": "outcomes",
    "by": ["sex"],
    "decision": "hired",
    "favourable": "yes",
    "truth": "stayed",
    "period": "2026-01..2026-06",
}


def table(people: int = 6000, women: float = 0.5) -> bytes:
    """Return a table of people; of those who stay, women are hired with a probability of `women`, men with .8."""
    rng = np.random.default_rng(3)
    lines = ["name,sex,hired,stayed"]
    for number in range(people):
        sex, stayed = ("F", "M")[rng.integers(2)], rng.random() < 0.5
        hired = rng.random() < ((women if sex == "F" else 0.8) if stayed else 0.2)
        lines.append(f"Person {number},{sex},{'yes' if hired else 'no'},{'yes' if stayed else 'no'}")
    return "\n".join(lines).encode()


@pytest.fixture
async def real(settings, rings):
    app = create_app(settings, validator=TargetChecker(settings), doorbell=rings)
    add_pages(app)
    async with app.router.lifespan_context(app), client_of(app) as client:
        yield client


async def upload(client, content: bytes) -> str:
    sent = await client.post(
        "/v1/uploads",
        params={"purpose": "table", "name": "2026"},
        content=content,
        headers={"Content-Type": "text/csv"},
    )
    assert sent.status_code == 201, sent.text
    return sent.json()["id"]


def body(name: str, **changes) -> dict:
    target = {"name": "Hirer 3", "kind": "decision-tool", "protocol": "uploaded", "settings": {"upload": name}}
    return {"target": target, "experiment": EXPERIMENT | changes, "seed": 4}


def work(settings, job_id: str) -> None:
    context = open_context(settings)
    try:
        thread = threading.Thread(target=run_job, args=(job_id, context, "here"))
        thread.start()
        thread.join()
    finally:
        context.database.close()


@pytest.mark.slow
async def test_an_uploaded_table_of_decisions_is_rated_without_calls_and_its_report_outlives_the_upload(real, settings):
    name = await upload(real, table())
    posted = await real.post("/v1/jobs", json=body(name))
    assert posted.status_code == 202, posted.text
    work(settings, posted.json()["id"])
    job = (await real.get(f"/v1/jobs/{posted.json()['id']}")).json()
    assert job["status"] == "succeeded", job
    rating = (await real.get(f"/v1/ratings/{job['rating']['id']}")).json()
    assert (rating["letter"], rating["declared"], rating["calls"]) == ("BS", True, 0)
    assert "Person" not in json.dumps(rating)
    assert rating["aggregation"]["data"]["period"] == "2026-01..2026-06"
    assert sum(row["people"] for row in rating["components"][0]["groups"]) == 6000
    assert (await real.delete(f"/v1/uploads/{name}")).status_code == 204
    report = await real.get(f"/v1/ratings/{job['rating']['id']}/report.html")
    assert report.status_code == 200
    assert "Impact ratio" in report.text
    assert "Error rates by sex" in report.text
    address = f"/v1/ratings/{rating['id']}"
    audit = await real.get(f"{address}/ll144.csv")
    assert audit.headers["content-type"] == "text/csv; charset=utf-8"
    assert [row["Category"] for row in csv.DictReader(io.StringIO(audit.text))] == ["M", "F"]


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"by": ["gender"]}, "/experiment", "no column of the file is called 'gender'"),
        ({"favourable": "Y"}, "/experiment/favourable", "no value of hired is called 'Y'; known: no, yes"),
        ({"score": "name"}, "/experiment", "line 2, column 'name': 'Person 0' is not a number"),
        ({"by": []}, "/experiment/by", "name the columns with the groups of people"),
    ],
)
async def test_an_unknown_column_or_value_is_a_problem_that_lists_the_known_ones(real, changes, pointer, detail):
    name = await upload(real, table(200))
    refused = await real.post("/v1/jobs", json=body(name, **changes))
    assert refused.status_code == 422, refused.text
    (error,) = refused.json()["errors"]
    assert detail in error["detail"]
    assert error["pointer"] == pointer


async def test_a_job_about_a_table_that_was_never_uploaded_is_refused(real):
    refused = await real.post("/v1/jobs", json=body("upl_nothing"))
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/target/settings/upload"


async def test_recorded_decisions_can_be_rated_by_the_method_outcomes_only(real):
    name = await upload(real, table(200))
    wrong = body(name) | {"experiment": {"method": "alternation", "attribute": "gender"}}
    refused = await real.post("/v1/jobs", json=wrong)
    assert refused.status_code == 422
    assert "alternation rates a classifier or a regressor, and this target is a decision-tool" in refused.text


async def test_equal_requests_about_equal_tables_join_one_job(real):
    name = await upload(real, table(200))
    first = await real.post("/v1/jobs", json=body(name))
    second = await real.post("/v1/jobs", json=body(name))
    assert first.json()["id"] == second.json()["id"]


# ---------------------------------------------------------------------------- public ratings
def small_table() -> bytes:
    """Return people of whom 3 of 700 women are hired, and one of two people of another sex."""
    rows = ["F,yes,yes"] * 3 + ["F,no,yes"] * 400 + ["F,no,no"] * 297
    rows += ["M,yes,yes"] * 311 + ["M,no,yes"] * 97 + ["M,no,no"] * 203 + ["M,yes,no"] * 89
    rows += ["X,yes,yes", "X,no,no"]
    return "\n".join(["sex,hired,stayed", *rows]).encode()


async def test_a_rating_whose_counts_cost_too_much_to_mask_stays_private_with_a_reason(real, settings, monkeypatch):
    monkeypatch.setattr(suppression, "LARGEST_SEARCH", 1)
    name = await upload(real, small_table())
    posted = await real.post("/v1/jobs", json=body(name) | {"visibility": "public"})
    work(settings, posted.json()["id"])
    job = (await real.get(posted.headers["Location"])).json()
    address = f"/v1/ratings/{job['rating']['id']}"
    assert (await real.get(address)).json()["visibility"] == "private"
    refused = await real.post(f"{address}/visibility", json={"visibility": "unlisted"})
    assert (refused.status_code, refused.json()["code"]) == (409, "holds-people")
    assert "fewer columns or intersections" in refused.json()["detail"]


PUBLIC_FILES = (
    *("", "/report.html", "/report.md", "/report.html?summary=true", "/export.jsonl", "/attestation.json"),
    *("/ll144.html", "/ll144.csv", "/eeoc.csv", "/eeoc.html", "/ai-act.html", "/tr-24027.csv", "/outcome-audit.json"),
    *("/badge.svg", "/badge.json", "/observations", "/observations.csv", "/methodologies"),
)
"""Representations of a rating, all of which others may read once it is published."""


@pytest.fixture
async def published(guarded, rings, worker):
    """Rate the small table for a tenant and publish it; return the client, the owner's headers and the rating's id."""
    app = create_app(guarded, validator=TargetChecker(guarded), doorbell=rings)
    add_pages(app)
    async with app.router.lifespan_context(app), client_of(app) as client:
        owner = {"Authorization": f"Bearer {worker.make_key('owner')}"}
        sent = await client.post(
            "/v1/uploads",
            params={"purpose": "table", "name": "small"},
            content=small_table(),
            headers={"Content-Type": "text/csv", **owner},
        )
        upload_id = sent.json()["id"]
        posted = await client.post("/v1/jobs", json=body(upload_id) | {"visibility": "public"}, headers=owner)
        assert posted.status_code == 202, posted.text
        assert (await client.delete(f"/v1/uploads/{upload_id}", headers=owner)).status_code == 204
        work(guarded, posted.json()["id"])
        job = (await client.get(f"/v1/jobs/{posted.json()['id']}", headers=owner)).json()
        assert job["status"] == "succeeded", job
        yield client, owner, job["rating"]["id"]


@pytest.mark.slow
async def test_no_public_page_or_file_of_a_published_rating_contains_a_masked_count(published):
    client, owner, rating_id = published
    whole = (await client.get(f"/v1/ratings/{rating_id}", headers=owner)).json()
    assert {row["group"]: row["people"] for row in whole["components"][0]["groups"]}["F"] == 700
    public = (await client.get(f"/v1/ratings/{rating_id}")).json()
    assert (public["visibility"], public["letter"]) == ("public", whole["letter"])
    groups = {row["group"]: row for row in public["components"][0]["groups"]}
    assert {name: row.get("people") for name, row in groups.items()} == {"F": None, "M": 700, "X": None}
    read = {}
    for file in PUBLIC_FILES:
        answer = await client.get(f"/v1/ratings/{rating_id}{file}")
        assert answer.status_code in {200, 304}, (file, answer.text)
        read[file] = answer.text
    for address in ("/v1/ratings?fields=full", "/v1/registry", "/v1/log/entries", "/v1/registry/dump.jsonl"):
        read[address] = (await client.get(address)).text
    for page in ("", "/evidence", "/history", "/provenance", "/certificate"):
        answer = await client.get(f"/r/{rating_id}{page}", headers={"Accept": "text/html"})
        assert answer.status_code == 200, (page, answer.text)
        read[f"page {page}"] = answer.text
    read["difference"] = (await client.get(f"/v1/ratings/{rating_id}/difference?other={rating_id}")).text
    assert whole["commitment"] is not None
    assert public.get("commitment") is None
    for address, text in read.items():
        for secret in (whole["salt"], '"counts":[', "0.00428", "0.0043"):
            assert secret not in text, (address, secret)
        assert re.search(r"\b697\b", text) is None, address


@pytest.mark.slow
async def test_a_recount_of_a_file_uses_exact_counts_for_the_owner_and_masked_counts_for_others(published, worker):
    client, owner, rating_id = published
    other = {"Authorization": f"Bearer {worker.make_key('other')}"}

    async def recounted(content: bytes, headers: dict) -> dict:
        sent = await client.post(
            "/v1/uploads",
            params={"purpose": "table", "name": "again.csv"},
            content=content,
            headers={"Content-Type": "text/csv", **headers},
        )
        params = {"upload": sent.json()["id"]}
        answer = await client.get(f"/v1/ratings/{rating_id}/recount", params=params, headers=headers)
        assert answer.status_code == 200, answer.text
        foreign = await client.get(
            f"/v1/ratings/{rating_id}/recount", params=params, headers=owner if headers is other else other
        )
        assert (foreign.status_code, "no upload" in foreign.text) == (422, True)
        return answer.json()

    for headers in (owner, other):
        same = await recounted(small_table(), headers)
        assert (same["verified"], [check["ok"] for check in same["checks"]]) == (True, [True, True])
        changed = await recounted(small_table().replace(b"M,yes,no", b"M,no,no", 1), headers)
        assert not changed["verified"]
        assert "sex M: 399 of 700" in changed["checks"][1]["detail"]
    masked = small_table().replace(b"F,yes,yes", b"F,no,yes", 1)  # 2 of 700 women
    assert "sex F: 2 of 700" in (await recounted(masked, owner))["checks"][1]["detail"]
    answer = await recounted(masked, other)
    assert not answer["verified"]
    assert [check["ok"] for check in answer["checks"]] == [False, True], "a masked count is not compared"
    assert (await client.get(f"/v1/ratings/{rating_id}/recount?upload=upl_none")).status_code == 401


@pytest.mark.slow
async def test_the_owner_and_the_public_get_different_etags_and_never_a_cached_copy_of_each_other(published):
    client, owner, rating_id = published
    for file in ("", "/report.html", "/report.md"):
        address = f"/v1/ratings/{rating_id}{file}"
        mine, public = await client.get(address, headers=owner), await client.get(address)
        assert mine.headers["ETag"] != public.headers["ETag"]
        assert mine.headers["Cache-Control"].startswith("private")
        assert public.headers["Cache-Control"].startswith("public")
        assert mine.text != public.text
        stale = await client.get(address, headers={"If-None-Match": mine.headers["ETag"]})
        assert stale.status_code == 200


@pytest.mark.slow
async def test_masked_and_exact_exports_verify_but_only_the_exact_one_can_be_replayed(published, tmp_path, capsys):
    client, owner, rating_id = published
    await client.get(f"/v1/ratings/{rating_id}/attestation.json")  # signs the rating
    keys = tmp_path / "keys.json"
    keys.write_text((await client.get("/.well-known/jwks.json")).text)
    file = tmp_path / "small.csv"
    file.write_bytes(small_table())
    exports = {}
    for name, headers in (("public", {}), ("owner", owner)):
        exports[name] = tmp_path / f"{name}.jsonl"
        exports[name].write_text((await client.get(f"/v1/ratings/{rating_id}/export.jsonl", headers=headers)).text)
        verify_file(exports[name], keys=keys, replay=False, recorded=RecordedFile(file))
    verify_file(exports["owner"], keys=keys, replay=True)
    with pytest.raises(SpecificationError, match="small counts of people are masked in this export"):
        verify_file(exports["public"], keys=keys, replay=True)
    changed = tmp_path / "changed.csv"
    changed.write_bytes(small_table().replace(b"M,yes,no", b"M,no,no", 1))
    for export in exports.values():
        with pytest.raises(NotVerified, match=r"changed\.csv has the digest .*; sex M: 399 of 700 .* and 400 of"):
            verify_file(export, keys=keys, replay=False, recorded=RecordedFile(changed))
    reordered = tmp_path / "reordered.csv"
    lines = small_table().splitlines()
    reordered.write_bytes(b"\n".join([lines[0], *reversed(lines[1:])]))
    with pytest.raises(NotVerified) as refused:
        verify_file(exports["owner"], keys=keys, replay=False, recorded=RecordedFile(reordered))
    assert "digest" in str(refused.value)
    assert "people" not in str(refused.value)
    forged = exports["owner"].read_text().replace('"counts":[3,', '"counts":[4,')
    exports["owner"].write_text(forged)
    with pytest.raises(CertificateError):
        verify_file(exports["owner"], keys=keys, replay=False)


@pytest.mark.slow
async def test_two_ratings_of_one_table_by_different_columns_cannot_both_be_published(published, guarded):
    client, owner, rating_id = published
    sent = await client.post(
        "/v1/uploads",
        params={"purpose": "table", "name": "again"},
        content=small_table(),
        headers={"Content-Type": "text/csv", **owner},
    )
    request = body(sent.json()["id"], truth="") | {"visibility": "unlisted"}
    posted = await client.post("/v1/jobs", json=request, headers=owner)
    work(guarded, posted.json()["id"])
    second = (await client.get(f"/v1/jobs/{posted.json()['id']}", headers=owner)).json()["rating"]["id"]
    assert (await client.get(f"/v1/ratings/{second}")).status_code == 404
    refused = await client.post(f"/v1/ratings/{second}/visibility", json={"visibility": "public"}, headers=owner)
    assert (refused.status_code, refused.json()["type"].rpartition("/")[2]) == (409, "holds-people")
    assert f"{rating_id} is not private" in refused.json()["detail"]


# ---------------------------------------------------------------------------- suites: several tools in one document
SETTINGS = {name: value for name, value in EXPERIMENT.items() if name != "method"}


async def request_suite(client, *files: bytes, **changes) -> dict:
    targets = []
    for number, content in enumerate(files):
        described = {"name": f"Step {number}", "kind": "decision-tool", "protocol": "uploaded"}
        targets.append(described | {"settings": {"upload": await upload(client, content)}})
    request = {"targets": targets, "attributes": ["sex"], "settings": {"outcomes": SETTINGS}, "seed": 1} | changes
    sent = await client.post("/v1/suites", json=request)
    assert sent.status_code == 202, sent.text
    return sent.json()


def cells_of(suite: dict) -> list[dict]:
    return [cell for profile in suite["services"] for row in profile["rows"] for cell in row["cells"]]


@pytest.mark.slow
async def test_a_suite_of_several_tables_has_one_audit_document_for_regulators_about_all_tables(real, settings):
    suite = await request_suite(real, table(), table(women=0.8))
    audits = f"/v1/suites/{suite['id']}/audits"
    early = await real.get(f"{audits}/ll144.csv")
    assert (early.status_code, early.json()["code"]) == (404, "no-rating")
    assert "2 of its 2 cells have no rating" in early.json()["detail"]
    assert "ll144.html" not in (await real.get(f"/suites/{suite['id']}")).text
    for cell in cells_of(suite):
        work(settings, cell["job"])
    rows = [*csv.DictReader(io.StringIO((await real.get(f"{audits}/ll144.csv")).text))]
    assert {row["Tool"] for row in rows} == {"Step 0", "Step 1"}
    assert sum(int(row["Favourable"]) for row in rows if row["Tool"] == "Step 0") == table().count(b",yes,")
    data = (await real.get(f"{audits}/outcome-audit.json")).json()
    assert [(audit["tool"], audit["letter"]) for audit in data["audits"]] == [("Step 0", "BS"), ("Step 1", "UCS")]
    page = await real.get(f"{audits}/eeoc.html")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"].startswith("private")
    assert page.text.count("<h2>Audit 1. What was audited") == 1
    assert page.text.count("<h2>Audit 2. What was audited") == 1
    assert page.text.count("Retention:") == 1
    links = re.findall(r'href="(/suites/[^"]+/audits/[^"]+)"', (await real.get(f"/suites/{suite['id']}")).text)
    assert len(links) == 9
    assert (await real.get(next(link for link in links if link.endswith("eeoc.html")))).text == page.text
    unknown = await real.get(f"{audits}/ll145.html")
    assert (unknown.status_code, "ll144.html" in unknown.json()["detail"]) == (404, True)


@pytest.mark.slow
async def test_a_suite_of_one_table_by_two_columns_has_no_audit_that_could_reveal_masked_counts(real, settings):
    rows = table().replace(b",F,", b",X,", 3).decode().splitlines()
    by_two = "\n".join([rows[0] + ",hand", *(row + (",left" if n % 2 else ",right") for n, row in enumerate(rows[1:]))])
    changed = {name: value for name, value in SETTINGS.items() if name != "by"}
    suite = await request_suite(real, by_two.encode(), attributes=["sex", "hand"], settings={"outcomes": changed})
    for cell in cells_of(suite):
        work(settings, cell["job"])
    refused = await real.get(f"/v1/suites/{suite['id']}/audits/ll144.html")
    assert (refused.status_code, refused.json()["code"]) == (409, "holds-people")
    assert "Put all columns into one rating" in refused.json()["detail"]


async def test_a_suite_without_recorded_decisions_has_no_audit_document_for_regulators(real):
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": "http://93.184.216.34"}
    request = {"target": target, "methods": ["round-trip"], "attributes": ["gender"], "languages": ["es"]}
    suite = (await real.post("/v1/suites", json=request)).json()
    missing = await real.get(f"/v1/suites/{suite['id']}/audits/ll144.html")
    assert missing.status_code == 404
    assert "no cell of this method" in missing.json()["detail"]
    other = await real.get("/v1/suites/sui_nothing/audits/ll144.html")
    assert (other.status_code, other.json()["code"]) == (404, "not-found")


# ---------------------------------------------------------------------------- what a rating is used for
@pytest.fixture
async def rated(real, settings):
    """Return the client, and the ids of ratings of an uneven and of an even file."""
    ids = []
    for women in (0.5, 0.8):
        job = (await real.post("/v1/jobs", json=body(await upload(real, table(women=women))))).json()["id"]
        work(settings, job)
        ids.append((await real.get(f"/v1/jobs/{job}")).json()["rating"]["id"])
    return real, ids


@pytest.mark.slow
async def test_ratings_of_recorded_decisions_have_badges_and_differences_but_no_observations_and_fit_no_chain(rated):
    client, (uneven, even) = rated
    assert (await client.get(f"/v1/ratings/{uneven}/observations")).json()["items"] == []
    assert "UCS" in (await client.get(f"/v1/ratings/{even}/badge.svg")).text
    chain = {"chain": [{"rating": even}, {"rating": uneven}]}
    composed = await client.post("/v1/compositions", json=chain)
    assert (composed.status_code, "recorded decisions, which no service can take" in composed.text) == (422, True)
    changed = await client.get(f"/v1/ratings/{even}/difference", params={"with": uneven})
    assert (changed.status_code, changed.json()["letter"]["verdict"]) == (200, "changed")
    assert [row["name"] for row in changed.json()["effects"] if row["apart"]] == ["step_1", "step_2"]
    compared = await client.get(f"/v1/ratings/{even}/comparison", params={"with": uneven})
    assert (compared.status_code, "association" in compared.text) == (422, True)
