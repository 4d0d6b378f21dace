"""Tests of `assay archive` on SQLite and Postgres: moving evidence into files, reading it there, and restoring it.

Row 109 of docs/reliability.md: at 97ee5299 the evidence of years could not leave the database.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
import sys
import tarfile
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select, update

from assay.errors import CertificateError, SpecificationError
from assay.methods import RoundTrip
from assay.rating.methodology import Methodologies, shipped
from cli.agency.archive import archive, restore
from cli.exits import Exit
from cli.rating.rerate import rerate_database
from cli.rating.verify import verify_file
from service.app import create_app
from store.archive import months, places
from store.core.database import Database
from store.core.errors import EvidenceArchived
from store.core.settings import Settings
from store.formats.refusal import NotInstalled
from store.jobs import jobs
from store.jobs.tables import archived, observations
from store.jobs.tables import jobs as job_rows
from store.ratings import certificates, log, rerated
from store.ratings.rerated import any_rating
from store.security import signing
from store.security.secrets import Vault
from tests.support.jobs import new_job
from tests.support.recorded_runs import recorded_run, store_run
from web.site import add_pages
from workers.targets.registry import TargetChecker

JANUARY, FEBRUARY = 1_768_478_400_000, 1_771_156_800_000  # the 15th of each, 2026
MONTH, NEXT_MONTH = datetime(2026, 1, 1), datetime(2026, 2, 1)  # noqa: DTZ001  as the command line reads them
NEXT = replace(
    shipped().current,
    version="2.0.0",
    digest="sha256:2",
    status="next",
    amend=lambda method: replace(method, delta=0.6),
)
WITH_NEXT = Methodologies((*shipped().versions, NEXT))


@pytest.fixture(scope="module")
def run():
    return recorded_run(RoundTrip("gender", languages=("es",), texts_per_block=4, max_texts_per_block=8))


@pytest.fixture
def settings(database_url, tmp_path) -> Settings:
    return Settings(data_dir=tmp_path, database_url=database_url, auth="none", public_url="http://assay.test")


@pytest.fixture
def database(database_url):
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def stored(database, run) -> list[tuple[str, str]]:
    """Store two ratings of January and one of February; return the ids of their jobs and ratings."""
    with database.write() as c:
        return [store_run(c, run, at_ms) for at_ms in (JANUARY, JANUARY, FEBRUARY)]


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


def rows_of(database, job_id=None):
    query = select(observations).order_by(observations.c.job_id, observations.c.seq)
    with database.read() as c:
        rows = [dict(row) for row in c.execute(query).mappings()]
    return [json.dumps(row) for row in rows if job_id in {None, row["job_id"]}]


def archived_jobs(database):
    with database.read() as c:
        return list(c.execute(select(archived.c.job_id).order_by(archived.c.job_id)).scalars())


def answers(settings, *paths):
    """Request paths of the agency's API; return the answers."""

    async def request():
        app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
        add_pages(app)
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://assay.test") as client,
        ):
            return [await client.get(path) for path in paths]

    return asyncio.run(request())


def test_evidence_of_old_jobs_moves_into_one_file_whose_name_has_its_digest(settings, database, stored, folder, capsys):
    archive(settings, NEXT_MONTH, str(folder), compact=True)
    (file,) = folder.iterdir()
    assert file.name == f"2026-01-{hashlib.sha256(file.read_bytes()).hexdigest()}.tar"
    assert archived_jobs(database) == [job_id for job_id, _ in stored[:2]]
    assert rows_of(database) == rows_of(database, stored[2][0]) != []
    printed = capsys.readouterr().out
    assert f"{file.name}: 2 jobs" in printed
    assert " MB before, " in printed
    archive(settings, NEXT_MONTH, str(folder), compact=False)  # again: nothing is left to do
    assert list(folder.iterdir()) == [file]


def test_exports_in_an_archive_file_verify_and_replay_with_published_keys(settings, database, stored, folder, tmp_path):
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    with database.read() as c:
        keys = {"keys": [key.as_jwk() for key in signing.all_keys(c)]}
    (tmp_path / "jwks.json").write_text(json.dumps(keys))
    with tarfile.open(next(folder.iterdir())) as tar:
        members = {member.name: tar.extractfile(member).read() for member in tar}
    for _, rating_id in stored[:2]:
        (tmp_path / "export.jsonl").write_bytes(gzip.decompress(members[f"{rating_id}.export.jsonl.gz"]))
        verify_file(tmp_path / "export.jsonl", keys=tmp_path / "jwks.json", replay=True)
    manifest = json.loads(members["MANIFEST.json"])
    content = next(folder.iterdir()).read_bytes()
    assert (manifest["month"], len(manifest["jobs"])) == ("2026-01", 2)
    for part in manifest["jobs"]:
        assert hashlib.sha256(content[part["start"] :][: part["size"]]).hexdigest() == part["digest"]


def test_archiving_evidence_changes_no_rating_no_certificate_and_no_log_entry(settings, database, stored, folder):
    with database.write() as c:
        rating = any_rating(c, stored[0][1])
        key = signing.current(c, Vault.from_settings(settings))
        certificates.keep(c, rating.id, key.id, certificates.envelopes_of(key, rating))

    def published():
        with database.read() as c:
            ids = [rating_id for _, rating_id in stored]
            return [any_rating(c, each) for each in ids], [certificates.find(c, each) for each in ids], log.head(c)

    before = published()
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert published() == before
    assert before[2].size == 3


def test_a_request_for_archived_evidence_is_409_and_names_the_archive_file(settings, database, stored, folder):
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    (file,) = folder.iterdir()
    job_id, rating_id = stored[0]
    rating = f"/v1/ratings/{rating_id}"
    evidence = [f"{rating}/{part}" for part in ("export.jsonl", "observations", "observations.csv", "cases")]
    evidence += [f"{rating}/observations/1/proof"]
    evidence += [f"/v1/jobs/{job_id}/{part}" for part in ("observations", "observations.csv", "observations.jsonl")]
    for answer in answers(settings, *evidence):
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (409, "evidence-archived"), answer.url
        assert (problem["file"], problem["month"]) == (file.name, "2026-01")
        assert "`assay archive --restore 2026-01`" in problem["detail"]
        assert str(folder) not in answer.text  # where the operator keeps archives is not public
    for answer in answers(
        settings, rating, f"{rating}/attestation.json", f"{rating}/report.html", f"/v1/jobs/{job_id}"
    ):
        assert answer.status_code == 200, answer.text
    restore(settings, MONTH)
    for answer in answers(settings, *evidence):
        assert answer.status_code == 200, answer.text


def test_only_the_evidence_page_of_an_archived_rating_is_unavailable_and_it_names_the_archive_file(
    settings, database, stored, folder
):
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    (file,) = folder.iterdir()
    job_id, rating_id = stored[0]
    parts = ("", "/history", "/provenance", "/certificate")
    pages = [f"/ratings/{rating_id}{part}" for part in parts] + [f"/jobs/{job_id}", "/ratings", "/"]
    for page in answers(settings, *pages):
        assert page.status_code in {200, 303}, (page.url, page.text)
    (page,) = answers(settings, f"/ratings/{rating_id}/evidence")
    assert page.status_code == 409
    assert "The evidence is in an archive" in page.text
    assert file.name in page.text


def test_archived_evidence_can_be_rated_again_without_being_restored(settings, database, stored, folder):
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == 0
    letters = set()
    for _, rating_id in stored:
        with database.read() as c:
            (rerating,) = rerated.of_rating(c, rating_id)
        letters.add((rerating.letter, json.dumps(rerating.document["probabilities"])))
    assert len(letters) == 1  # from the archive as from the database


def test_observations_restored_from_an_archive_equal_the_archived_ones(settings, database, stored, folder, capsys):
    before = rows_of(database)
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    restore(settings, MONTH)
    assert f"{len(before) * 2 // 3} observations" in capsys.readouterr().out
    assert rows_of(database) == before
    assert archived_jobs(database) == []
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert len(list(folder.iterdir())) == 1  # the same file again


def test_archiving_and_restoring_preserve_the_order_of_json_keys_in_a_reply(settings, database, stored, folder):
    # the export sorts keys, so the rows must not be restored from it
    reply = {"value": {"b": 1, "a": "\ud800 \u0000 é\r\n"}, "failure": None}
    with database.write() as c:
        first = observations.c.job_id == stored[0][0], observations.c.seq == 1
        c.execute(update(observations).where(*first).values(reply=reply))
    before = rows_of(database)
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    restore(settings, MONTH)
    assert rows_of(database) == before


@pytest.mark.parametrize("interrupted", ["put", "_verified_row_count", "_delete_observations"])
def test_interrupted_archiving_deletes_no_observation_and_can_be_repeated(
    settings, database, stored, folder, monkeypatch, interrupted
):
    before = rows_of(database)

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(places if interrupted == "put" else months, interrupted, crash)
        with pytest.raises(KeyboardInterrupt):
            archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert rows_of(database) == before
    assert archived_jobs(database) == []
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert len(list(folder.iterdir())) == 1
    restore(settings, MONTH)
    assert rows_of(database) == before


def test_a_crash_during_archiving_never_leaves_half_of_a_jobs_answers(settings, database, stored, folder, monkeypatch):
    before, delete = rows_of(database), months._delete_observations
    monkeypatch.setattr(months, "JOBS_A_TRANSACTION", 1)
    calls = []

    def crash_at_the_second(c, *jobs_and_counts):
        delete(c, *jobs_and_counts)
        calls.append(c)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(months, "_delete_observations", crash_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert archived_jobs(database) == [stored[0][0]]
    assert rows_of(database, stored[0][0]) == []
    assert rows_of(database, stored[1][0]) != []
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert archived_jobs(database) == [job_id for job_id, _ in stored[:2]]
    restore(settings, MONTH)
    assert rows_of(database) == before


@pytest.mark.parametrize("place", [600, -1500], ids=["a job", "the manifest"])
def test_if_the_written_archive_file_is_damaged_archiving_fails_and_deletes_no_observation(
    settings, database, stored, folder, monkeypatch, place
):
    before, put = rows_of(database), places.put

    def damage(location, name, content):
        changed = bytearray(content.read())
        changed[place] ^= 1
        put(location, name, io.BytesIO(changed))

    monkeypatch.setattr(places, "put", damage)
    with pytest.raises((CertificateError, EvidenceArchived)) as refused:
        archive(settings, NEXT_MONTH, str(folder), compact=False)
    assert Exit.of(refused.value) == Exit.NOT_VERIFIED
    assert rows_of(database) == before
    assert archived_jobs(database) == []


def test_a_damaged_or_missing_archive_file_is_reported_and_not_restored(settings, database, stored, folder, capsys):
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    left = rows_of(database)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:700] + b"?" + content[701:])
    with pytest.raises(EvidenceArchived, match="which was altered"):
        restore(settings, MONTH)
    file.unlink()
    with pytest.raises(EvidenceArchived, match=r"which cannot be read \(FileNotFoundError\)"):
        restore(settings, MONTH)
    assert rows_of(database) == left
    capsys.readouterr()
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == Exit.UNAVAILABLE
    printed = " ".join(capsys.readouterr().out.split())
    assert "2 of 3 could not be rated again" in printed
    assert len(archived_jobs(database)) == 2


def test_jobs_without_a_complete_rating_are_archived_without_an_export(settings, database, stored, folder, run):
    with database.write() as c:
        job = jobs.add(c, new_job())
        claim = jobs.claim(c, job.id, "hand", 30)
        entries = [jobs.LedgerEntry(observation, 1, 5) for observation in run.record[:3]]
        jobs.record(c, claim, entries, calls=3, expected=3, stage="asking")
        jobs.fail(c, claim, {"type": "about:blank", "title": "t", "detail": "d", "code": "internal_error"})
        c.execute(update(job_rows).where(job_rows.c.id == job.id).values(created_at=JANUARY, finished_at=JANUARY))
        c.execute(observations.delete().where(observations.c.job_id == stored[0][0], observations.c.seq == 5))
    before = rows_of(database)
    archive(settings, NEXT_MONTH, str(folder), compact=False)
    with tarfile.open(next(folder.iterdir())) as tar:
        names = [name.partition(".") for name in tar.getnames()]
    assert [name for name, _, kind in names if kind == "export.jsonl.gz"] == [stored[1][1]]
    assert {name for name, _, kind in names if kind == "ledger.jsonl.gz"} == {stored[0][0], stored[1][0], job.id}
    restore(settings, MONTH)
    assert rows_of(database) == before


def test_archiving_skips_running_jobs_and_splits_a_large_month(settings, database, stored, folder, run, monkeypatch):
    monkeypatch.setattr(months, "BYTES_A_FILE", 1)
    with database.write() as c:
        job = jobs.add(c, new_job())
        claim = jobs.claim(c, job.id, "hand", 30)
        entries = [jobs.LedgerEntry(observation, 1, 5) for observation in run.record[:3]]
        jobs.record(c, claim, entries, calls=3, expected=3, stage="asking")
        c.execute(update(job_rows).where(job_rows.c.id == job.id).values(created_at=JANUARY))
    archive(settings, datetime(2026, 3, 1), str(folder), compact=False)  # noqa: DTZ001
    assert sorted(file.name[:7] for file in folder.iterdir()) == ["2026-01", "2026-01", "2026-02"]
    assert rows_of(database) == rows_of(database, job.id) != []


def test_archiving_to_a_folder_that_does_not_exist_is_refused_and_changes_nothing(settings, database, stored, tmp_path):
    before = rows_of(database)
    with pytest.raises(SpecificationError, match="neither a folder that exists nor s3://bucket/prefix"):
        archive(settings, NEXT_MONTH, str(tmp_path / "none"), compact=False)
    assert rows_of(database) == before


def test_a_missing_package_for_s3_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(NotInstalled, match=r"install assay\[s3\]"):
        places.read("s3://bucket/prefix", "file", 0, 1)


@pytest.fixture
def bucket(monkeypatch) -> str:
    """A bucket of a real server on loopback (moto)."""
    pytest.importorskip("obstore", reason="needs the extra s3")
    server_of = pytest.importorskip("moto.server", reason="needs moto[s3], flask and flask-cors")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    assert httpx.put(f"{address}/evidence", trust_env=False).status_code == 200
    yield "s3://evidence/assay/2026"
    server.stop()


def test_an_s3_compatible_store_holds_archives(settings, database, stored, bucket):
    before = rows_of(database)
    archive(settings, NEXT_MONTH, bucket, compact=False)
    assert len(archived_jobs(database)) == 2
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == 0
    restore(settings, MONTH)
    assert rows_of(database) == before
    with pytest.raises(OSError, match="nowhere"):
        archive(settings, NEXT_MONTH, "s3://nowhere/assay", compact=False)
    assert rows_of(database) == before
