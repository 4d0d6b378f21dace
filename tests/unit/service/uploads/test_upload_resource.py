"""Uploads over HTTP: `/v1/uploads`."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from assay.errors import SpecificationError
from assay.experiment import generator
from assay.methods import Alternation, ForcedChoice
from assay.methods.shared.profiles import RecordProfiles
from service.http.openapi.document import EXAMPLES
from service.http.problems import Problem
from service.jobs.inputs import with_named_inputs
from service.targets.service import check_uploaded
from service.uploads.service import rows_of, trials_of
from store.formats import XLSX
from store.jobs import jobs
from tests.support.workbooks import workbook

pytestmark = pytest.mark.anyio

CSV, NPZ, TEXT = "text/csv", "application/octet-stream", "text/plain"
CENSUS = b"age,sex,zip,wage\n41,female,01234,20.5\n,male,99999,7\n"
DATA = Path(__file__).resolve().parents[5] / "shared" / "data"


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


SMALL = npz(words=np.array(["he", "she"]), vectors=np.eye(2, dtype=np.float32))


async def send(client, content=CENSUS, purpose="table", media_type=CSV, name="mine"):
    return await client.post(
        "/v1/uploads",
        params={"purpose": purpose, "name": name},
        content=content,
        headers={"Content-Type": media_type},
    )


async def test_a_table_is_stored_with_a_summary_of_its_columns(client):
    sent = await send(client)
    assert sent.status_code == 201, sent.text
    shown = await client.get(sent.headers["Location"])
    assert shown.json() == sent.json()
    assert (shown.json()["bytes"], shown.json()["summary"]["rows"]) == (len(CENSUS), 2)
    told = [(one["name"], one["type"], one["missing"]) for one in shown.json()["summary"]["columns"]]
    assert told == [("age", "integer", 1), ("sex", "text", 0), ("zip", "text", 0), ("wage", "number", 0)]
    assert shown.json()["summary"]["columns"][1]["values"] == [
        {"value": "female", "count": 1},
        {"value": "male", "count": 1},
    ]


async def test_equal_uploads_for_the_same_purpose_are_stored_once(client):
    trials = b"concept,level,chose\nnurse,0.5,first\n"
    first = await send(client, trials)
    again = await send(client, trials, name="another name")
    assert (again.status_code, again.json()) == (200, first.json())
    other = await send(client, trials, "trials")
    assert (other.status_code, other.json()["id"] == first.json()["id"]) == (201, False)
    assert other.json()["digest"] == first.json()["digest"]


async def test_an_uploaded_table_is_read_with_the_encoding_and_decimal_sign_stated_by_its_sender(app, client):
    content = 'name;pay\nJosé;"1,234"\n'.encode("cp1252")
    for media_type, query, wrong in (
        ("text/csv", {"decimal": "comma"}, "UTF-8"),
        ("text/csv; charset=windows-1252", {}, "may be 1234 or 1.234"),
        ("text/csv; charset=zip", {"decimal": "comma"}, "not accepted"),
    ):
        refused = await client.post(
            "/v1/uploads", params={"purpose": "table", "name": "x", **query}, content=content,
            headers={"Content-Type": media_type},
        )  # fmt: skip
        assert (refused.status_code, wrong in refused.text) == (422, True), refused.text
    rows, statuses, ids = [], [], set()
    for decimal in ("comma", "point", "point"):
        sent = await client.post(
            "/v1/uploads", params={"purpose": "table", "name": "x", "decimal": decimal}, content=content,
            headers={"Content-Type": "text/csv; charset=windows-1252"},
        )  # fmt: skip
        statuses.append(sent.status_code)
        ids.add(sent.json()["id"])
        rows += await rows_of(app.state.service, "default", sent.json()["id"], rng=generator(0))
    assert (statuses, len(ids)) == ([201, 200, 200], 1)
    assert rows == [{"name": "José", "pay": 1.234}, {"name": "José", "pay": 1234}, {"name": "José", "pay": 1234}]
    assert "the encoding is cp1252" in sent.json()["summary"]["notes"]


async def test_an_uploaded_spreadsheet_is_read_from_the_sheet_stated_by_its_sender(app, client):
    content = workbook({"Notes": [["about"], ["pay"]], "People": [["name", "pay"], ["José", 1.5], ["Ana", 2]]})
    query, headers = {"purpose": "table", "name": "pay"}, {"Content-Type": XLSX}
    asked = await client.post("/v1/uploads", params=query, content=content, headers=headers)
    assert (asked.status_code, asked.json()["code"]) == (422, "unreadable-upload")
    assert "'Notes', 'People'" in asked.json()["detail"]
    named = await client.post("/v1/uploads", params=query | {"sheet": "People"}, content=content, headers=headers)
    assert named.status_code == 201, named.text
    summary = named.json()["summary"]
    assert (summary["sheet"], summary["first"]) == ("People", [["José", "1.5"], ["Ana", "2"]])
    rows = await rows_of(app.state.service, "default", named.json()["id"], rng=generator(1))
    assert rows == [{"name": "José", "pay": 1.5}, {"name": "Ana", "pay": 2.0}]
    for media_type, purpose in ((CSV, "table"), (XLSX, "trials")):
        refused = await client.post(
            "/v1/uploads",
            params={"purpose": purpose, "name": "x", "sheet": "People"},
            content=content,
            headers={"Content-Type": media_type},
        )
        assert (refused.status_code, "a sheet can be given" in refused.text) == (422, True)


async def test_an_embedding_is_stored_with_a_summary_of_its_words_and_dimensions(client):
    sent = await send(client, SMALL, "embedding", NPZ)
    assert sent.json()["summary"] == {"words": 2, "dims": 2, "zero_vectors": 0, "sample": ["he", "she"]}
    text = await send(client, b"2 3\nhe 1 0 0\nice cream 0 0 0\n", "embedding", TEXT)
    assert text.json()["summary"] == {"words": 2, "dims": 3, "zero_vectors": 1, "sample": ["he", "ice cream"]}


async def test_an_unsupported_media_type_is_415_with_the_supported_media_types(client):
    answer = await send(client, SMALL, "embedding", CSV)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-upload-type")
    assert answer.headers["Accept"] == "application/octet-stream, text/plain"
    for purpose in ("picture", ""):
        refused = await send(client, purpose=purpose)
        assert (refused.status_code, refused.json()["errors"][0]["parameter"]) == (422, "purpose")


@pytest.mark.parametrize(
    ("content", "purpose", "media_type", "place"),
    [
        (b"a,b\n1,2\n3\n", "table", CSV, {"line": 3}),
        (b"a,b\n1,=cmd|' /C calc'!A0\n", "table", CSV, {"line": 2, "column": "b"}),
        (b"a,a\n1,2\n", "table", CSV, {"line": 1, "column": "a"}),
        (b"a,b\n1,\xe9\n", "table", CSV, {"line": 2}),
        (b"", "table", CSV, {}),
        (b"PK\x03\x04 a spreadsheet", "table", CSV, {}),
        (b"PAR1", "table", "application/vnd.apache.parquet", {}),
        (b"concept,level,chose\nnurse,0.5,maybe\n", "trials", CSV, {"line": 2, "column": "chose"}),
        (b"he 1 0\nhe 0 1\n", "embedding", TEXT, {}),
        (b"he 1 0\nshe 0\n", "embedding", TEXT, {"line": 2}),
        (b"no archive", "embedding", NPZ, {}),
    ],
)
async def test_an_invalid_file_is_refused_with_its_line_and_column(client, content, purpose, media_type, place):
    answer = await send(client, content, purpose, media_type)
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable-upload"), answer.text
    (told,) = answer.json()["errors"]
    assert {name: value for name, value in told.items() if name != "detail"} == place
    assert (await client.get("/v1/uploads")).json()["items"] == []


async def test_a_file_above_the_size_limit_is_refused_by_its_declared_length_or_while_streaming(serve, settings):
    client = await serve(settings.model_copy(update={"max_upload_bytes": 1_000}))

    async def drip():
        for _ in range(20):
            yield b"1,2,3,4,5\n" * 10

    for content in (b"x" * 1_001, drip()):
        answer = await send(client, content)
        assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")


async def test_an_upload_may_exceed_the_size_limit_of_json_bodies(client, settings):
    rows = b"a,b\n" + b"1,some text that repeats\n" * 50_000
    assert len(rows) > settings.max_body_bytes
    assert (await send(client, rows)).json()["summary"]["rows"] == 50_000


async def test_an_upload_in_use_cannot_be_removed(client, worker, request_body):
    upload = (await send(client)).json()
    named = request_body()
    named["target"]["settings"] = {"upload": upload["digest"]}
    job = (await client.post("/v1/jobs", json=named)).json()
    refused = await client.delete(f"/v1/uploads/{upload['id']}")
    assert (refused.status_code, refused.json()["code"], refused.json()["job"]) == (409, "upload-in-use", job["id"])
    with worker.database.write() as c:
        jobs.request_cancel(c, job["id"], "default")
    assert (await client.delete(f"/v1/uploads/{upload['id']}")).status_code == 204
    assert (await client.get(f"/v1/uploads/{upload['id']}")).status_code == 404


async def test_requests_about_one_table_read_with_another_decimal_sign_create_different_jobs(client, request_body):
    content = "sex;pay\n" + "".join(f'{"mf"[number % 2]};"1,{number:03}"\n' for number in range(100, 300))
    job_ids = []
    for decimal in ("comma", "point", "point"):
        query = {"purpose": "table", "name": "pay", "decimal": decimal}
        headers = {"Content-Type": CSV}
        upload = (await client.post("/v1/uploads", params=query, content=content, headers=headers)).json()
        body = request_body()
        body["target"] |= {"kind": "classifier", "protocol": "mlflow", "settings": {}}
        records = {"upload": upload["id"], "column": "sex", "values": ["m", "f"]}
        body["experiment"] = {"method": "alternation", "attribute": "sex", "records": records}
        answer = await client.post("/v1/jobs", json=body)
        assert answer.status_code == 202, answer.text
        job_ids.append(answer.json()["id"])
    assert job_ids[0] != job_ids[1] == job_ids[2]


async def test_the_field_truth_must_name_a_column_of_the_table_or_the_error_names_that_field(client, request_body):
    content = "sex,pay,stayed\n" + "".join(f"{'mf'[number % 2]},{number},{number % 3 % 2}\n" for number in range(200))
    query = {"purpose": "table", "name": "people"}
    upload = (await client.post("/v1/uploads", params=query, content=content, headers={"Content-Type": CSV})).json()
    body = request_body()
    body["target"] |= {"kind": "classifier", "protocol": "mlflow", "settings": {}}
    experiment = {
        "method": "alternation",
        "attribute": "sex",
        "records": {"upload": upload["id"], "column": "sex", "values": ["m", "f"]},
        "truth": "stayed",
        "favourable": "hire",
        "truth_favourable": 1,
    }
    for wrong, field in (
        ({"truth": "stay"}, "truth"),
        ({"truth_favourable": 2}, "truth_favourable"),
        ({"truth": "pay"}, "truth"),
        ({"favourable": ""}, "favourable"),
    ):
        answer = await client.post("/v1/jobs", json={**body, "experiment": {**experiment, **wrong}})
        assert answer.status_code == 422, answer.text
        assert any(error["pointer"].endswith(f"/{field}") for error in answer.json()["errors"]), answer.text
    answer = await client.post("/v1/jobs", json={**body, "experiment": experiment})
    assert answer.status_code == 202, answer.text


async def test_only_its_owner_can_read_an_upload(serve, guarded, worker):
    client = await serve(guarded)
    mine = {"Authorization": f"Bearer {worker.make_key('mine')}"}
    theirs = {"Authorization": f"Bearer {worker.make_key('theirs')}"}
    client.headers.update(mine)
    url = (await send(client)).headers["Location"]
    client.headers.update(theirs)
    for method in ("GET", "DELETE"):
        assert (await client.request(method, url)).status_code == 404
    assert (await send(client)).status_code == 201
    assert len((await client.get("/v1/uploads")).json()["items"]) == 1


async def test_uploads_are_paged_and_filtered(client):
    made = [(await send(client, b"a\n%d\n" % number)).json()["id"] for number in range(3)]
    await send(client, SMALL, "embedding", NPZ)
    page = await client.get("/v1/uploads", params={"limit": 2, "purpose": "table"})
    rest = await client.get(page.links["next"]["url"])
    assert [one["id"] for one in page.json()["items"] + rest.json()["items"]] == made[::-1]
    assert "summary" not in page.json()["items"][0]


async def test_an_unchanged_upload_is_304(client):
    sent = await send(client)
    held = {"If-None-Match": sent.headers["ETag"]}
    assert (await client.get(sent.headers["Location"], headers=held)).status_code == 304


# ---------------------------------------------------------------------------- use in jobs
async def test_rows_of_a_stored_table_are_read_back_with_their_types(app, client):
    upload = (await send(client)).json()
    for named in (upload["id"], upload["digest"]):
        assert await rows_of(app.state.service, "default", named, rng=generator(0)) == [
            {"age": 41, "sex": "female", "zip": "01234", "wage": 20.5},
            {"age": None, "sex": "male", "zip": "99999", "wage": 7.0},
        ]


async def test_rows_of_a_large_table_are_sampled_by_the_seed_and_stay_in_table_order(app, client, monkeypatch):
    monkeypatch.setattr("service.uploads.service.MAX_ROWS_OF_A_JOB", 100)
    upload = (await send(client, b"n\n" + b"".join(b"%d\n" % number for number in range(1_000)))).json()
    first, again, other = [
        await rows_of(app.state.service, "default", upload["id"], rng=generator(seed)) for seed in (1, 1, 2)
    ]
    assert first == again != other
    drawn = [row["n"] for row in first]
    assert len(drawn) == 100
    assert drawn == sorted(set(drawn))


async def test_a_job_cannot_use_an_upload_of_another_tenant_or_of_another_purpose(app, client):
    upload = (await send(client)).json()
    for tenant, reading in (("rival", rows_of), ("default", trials_of)):
        more = {"rng": generator(0)} if reading is rows_of else {}
        with pytest.raises(SpecificationError, match="POST /v1/uploads") as caught:
            await reading(app.state.service, tenant, upload["id"], **more)
        assert caught.value.field == "upload"


async def test_a_target_that_names_another_tenants_embedding_is_refused(app, client):
    service, table = app.state.service, (await send(client)).json()
    vectors = (await send(client, SMALL, "embedding", NPZ)).json()
    target = {"kind": "embedder", "protocol": "uploaded", "settings": {"upload": vectors["id"]}}
    await check_uploaded(service, "default", target)
    await check_uploaded(service, "default", {"kind": "embedder", "protocol": "tei", "settings": {}})
    for tenant, named in (("rival", vectors["id"]), ("default", table["id"])):
        with pytest.raises(SpecificationError) as caught:
            await check_uploaded(service, tenant, target | {"settings": {"upload": named}})
        assert caught.value.field == "settings.upload"


async def test_an_uploaded_table_of_choices_is_read_back_as_counts_of_choices(app, client):
    one_each = b"concept,level,chose,subject\nnurse,0.5,first,a\nnurse,0.5,second,a\nnurse,1,second,b\n"
    upload = (await send(client, one_each, "trials")).json()
    assert upload["summary"]["subjects"] == 2
    assert await trials_of(app.state.service, "default", upload["id"]) == [
        {"subject": "a", "concept": "nurse", "level": 0.5, "chose_second": 1, "trials": 2},
        {"subject": "b", "concept": "nurse", "level": 1.0, "chose_second": 1, "trials": 1},
    ]


@pytest.mark.parametrize("own", [False, True])
async def test_uploaded_answers_can_be_rated_with_default_words_or_with_own_words(app, client, own):
    target = await uploaded_answers(client, b"concept,level,chose\nnurse,0.5,first\nnurse,1,second\n")
    specification = EXAMPLES["ChoicesRequest"]["choices"]["value"]
    assert (await client.post("/v1/specifications", json=specification)).status_code == 201
    asked = ForcedChoice(specification=specification["name"]) if own else ForcedChoice()
    method = await with_named_inputs(app.state.service, "default", asked, target)
    assert [(one.concept, one.level) for one in method.trials] == [("nurse", 0.5), ("nurse", 1.0)]
    assert method.specification == (f"{specification['name']}@1" if own else None)


@pytest.mark.parametrize("own_rows", [False, True])
async def test_uploaded_answers_can_only_be_rated_by_forced_choice(app, client, own_rows):
    target = await uploaded_answers(client, b"concept,level,chose\nnurse,0.5,first\n")
    asked = Alternation("gender")
    if own_rows:
        table = (await send(client)).json()["id"]
        asked = Alternation("sex", records=RecordProfiles("sex", ("female", "male"), upload=table))
    with pytest.raises(Problem, match="for forced-choice; alternation asks its own") as caught:
        await with_named_inputs(app.state.service, "default", asked, target)
    assert caught.value.errors[0]["pointer"] == "/target/kind"


async def uploaded_answers(client, trials: bytes) -> dict:
    upload = (await send(client, trials, "trials")).json()["id"]
    return {"kind": "classifier", "protocol": "uploaded", "settings": {"upload": upload}}


# ---------------------------------------------------------------------------- hostile archives
def archive(**parts: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as writing:
        for name, content in parts.items():
            writing.writestr(f"{name}.npy", content)
    return file.getvalue()


def bomb(size: int) -> bytes:
    """Return an archive of two files that expand to `size` bytes in total."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as writing:
        for name in ("words.npy", "vectors.npy"):
            with writing.open(name, "w") as part:
                for _ in range(size >> 21):
                    part.write(bytes(1 << 20))
    return file.getvalue()


def header_of(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


HOSTILE = {
    "a zip bomb": lambda: bomb(600 << 20),
    "an array that promises more than it holds": lambda: archive(
        words=header_of((), "<U2") + "[]".encode("utf-32-le"), vectors=header_of((10**9, 300))
    ),
    "pickled objects": lambda: npz(words=np.array(["he", 7], dtype=object), vectors=np.eye(2)),
    "no vectors": lambda: npz(words=np.array(["he"])),
    "NaN": lambda: npz(words=np.array(["he"]), vectors=np.array([[np.nan]])),
    "more words than vectors": lambda: npz(words=np.array(["he", "she"]), vectors=np.eye(1)),
    "a word twice": lambda: npz(words=np.array(["he", "he"]), vectors=np.eye(2)),
    "integers": lambda: npz(words=np.array(["he"]), vectors=np.array([[1]])),
    "words that are no list": lambda: npz(words=np.array('{"he": 1}'), vectors=np.eye(1)),
    "deep JSON": lambda: npz(words=np.array("[" * 100_000), vectors=np.eye(1)),
    "a flipped byte": lambda: SMALL[:60] + bytes([SMALL[60] ^ 255]) + SMALL[61:],
    "cut short": lambda: SMALL[:-30],
    "bytes after it": lambda: SMALL + b"more",
    "too many parts": lambda: archive(**{f"part{number}": b"" for number in range(2_000)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", HOSTILE)
async def test_an_embedding_in_a_hostile_archive_is_refused(client, what):
    answer = await send(client, HOSTILE[what](), "embedding", NPZ)
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable-upload"), answer.text


async def test_an_embedding_may_have_words_as_a_json_list_and_vectors_in_fortran_order(client):
    vectors = np.asfortranarray(np.arange(6, dtype=np.float16).reshape(2, 3))
    answer = await send(client, npz(words=np.array('["he", "she"]'), vectors=vectors), "embedding", NPZ)
    assert answer.json()["summary"]["dims"] == 3


async def test_the_google_news_embedding_is_accepted(client):
    file = DATA / "embeddings" / "gnews_wefe_13013x300.npz"
    if not file.exists():
        pytest.skip(f"the shared data {file.name} is not here")
    answer = await send(client, file.read_bytes(), "embedding", NPZ)
    assert (answer.status_code, answer.json()["summary"]["words"]) == (201, 13_013)


@pytest.mark.slow
async def test_concurrent_uploads_of_one_file_are_stored_once(serve, settings, database_url):
    client = await serve(settings.model_copy(update={"database_url": database_url}))
    content = b"a,b\n" + b"1,some text\n" * 120_000
    answers = await asyncio.gather(*(send(client, content) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (await send(client, content)).json() == answers[0].json()
