"""Tests of `assay rerate` over a database and over an export."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from assay.canonical import digest_of
from assay.errors import CertificateError, SpecificationError, UnknownName
from assay.evidence.export import ExportWriter
from assay.experiment import Session, generator
from assay.methods import RoundTrip
from assay.model import Reply
from assay.rating.methodology import Methodologies, shipped
from assay.rating.rerating import MethodologyRemoved
from cli.rating.rerate import rerate_database, rerate_export
from cli.rating.verify import verify_file
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import LedgerEntry
from store.jobs.tables import observations
from store.ratings import ratings, rerated
from store.ratings.experiment_json import dump_method
from store.ratings.tables import ratings as rows
from tests.support.jobs import new_job
from tests.support.new_ratings import new_rating
from tests.support.reports import document_of

METHOD = RoundTrip("gender")
NEXT = replace(
    shipped().current,
    version="2.0.0",
    digest="sha256:2",
    status="next",
    amend=lambda method: replace(method, delta=0.6),
)
WITH_NEXT = Methodologies((*shipped().versions, NEXT))


def translate(probe) -> Reply:
    """Simulate a translator: on the way out it puts "x" before each word, on the way back it says "he" for everyone."""
    words = probe.ask.text.split(" ")
    if probe.ask.source == "en":
        return Reply(" ".join(f"x{word}" for word in words))
    said = {"she": "he", "She": "He", "her": "his", "Her": "His", "herself": "himself"}
    return Reply(" ".join(said.get(word.removeprefix("x"), word.removeprefix("x")) for word in words))


@pytest.fixture(scope="module")
def run():
    """Return a rating document, and its observations in the order of the evidence."""
    session, record = Session(METHOD.design(generator(7))), []
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, translate(probe))
        session.advance()
    document = document_of(
        session.finding,
        experiment=dump_method(METHOD),
        target={"name": "He", "kind": "translator", "protocol": "x", "url": "http://he", "digest": "sha256:0"},
        seed=7,
        calls=session.asked,
        failed_calls=session.failed,
        evidence_digest=session.evidence.head(),
    )
    return document, record


@pytest.fixture
def kept(sqlite_url: str, tmp_path: Path, run):
    """Store the rating and its evidence in a database; yield the settings, the database and the rating's id."""
    document, record = run
    new = new_job(tenant="acme", target={"name": "He", "base_url": "http://he"}, experiment=document["experiment"])
    rating = new_rating(
        tenant="acme",
        target_id=None,
        target=document["target"],
        method="round-trip",
        attribute="gender",
        letter=document["letter"],
        declared=document["declared"],
        visibility="private",
        document=document,
        methodology_version=document["methodology"]["version"],
        request_digest="sha256:1",
        valid_for_s=1000,
        description="default",
    )
    database = Database(sqlite_url)
    with database.write() as c:
        job = jobs.add(c, new)
    with database.write() as c:
        claim = jobs.claim(c, job.id, "hand")
    with database.write() as c:
        entries = [LedgerEntry(each, 1, 1) for each in record]
        jobs.record(c, claim, entries, calls=len(entries), expected=120, stage="asking")
        rating_id = jobs.finish(c, claim, rating)
    yield Settings(data_dir=tmp_path, database_url=sqlite_url), database, rating_id
    database.close()


@pytest.fixture
def exported(tmp_path: Path, run) -> Path:
    """Write the rating and its observations to an unsigned export file."""
    document, record = run
    writer, file = ExportWriter(), tmp_path / "export.jsonl"
    parts = [writer.opening(document | {"id": "rat_1"}), *(writer.observation(each.as_json()) for each in record)]
    file.write_bytes(b"".join([*parts, writer.closing({})]))
    return file


def test_rerate_stores_and_prints_the_letter_of_every_rating_not_yet_rated_by_the_given_version(kept, capsys):
    settings, database, rating_id = kept
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == 0
    told = capsys.readouterr().out
    assert rating_id in told
    assert "BS" in told
    assert "UCS" in told
    with database.read() as c:
        (one,) = rerated.of_rating(c, rating_id)
        assert ratings.find(c, rating_id, "acme").letter == "BS"
    assert (one.methodology_version, one.letter) == ("2.0.0", "UCS")


@pytest.mark.slow
def test_ratings_already_rated_by_the_given_version_are_skipped_unless_named(kept, capsys):
    settings, _, rating_id = kept
    rerate_database(settings, "2.0.0", [], WITH_NEXT)
    capsys.readouterr()
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == 0
    assert rating_id not in capsys.readouterr().out
    assert rerate_database(settings, "2.0.0", [rating_id], WITH_NEXT) == 0
    assert rating_id in capsys.readouterr().out


def test_rerating_exits_with_69_if_a_reply_is_missing_from_the_evidence(kept, capsys):
    settings, database, rating_id = kept
    with database.write() as c:
        c.execute(observations.delete().where(observations.c.seq == 1))
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == 69
    assert "could not be rated again" in capsys.readouterr().out
    with database.read() as c:
        assert rerated.of_rating(c, rating_id) == []


def test_an_unknown_rating_or_version_exits_with_64(kept):
    settings, _, _ = kept
    with pytest.raises(UnknownName, match="rating"):
        rerate_database(settings, "1.3.0", ["rat_none"])
    with pytest.raises(UnknownName, match=r"1\.3\.0"):
        rerate_database(settings, "9.9.9", [])


def test_an_export_is_rated_again_without_a_database(exported, capsys):
    assert rerate_export(exported, "2.0.0", WITH_NEXT) == 0
    told = capsys.readouterr().out
    assert "rat_1" in told
    assert "UCS" in told


@pytest.mark.slow
def test_letters_of_all_versions_are_printed_side_by_side(kept, exported, capsys):
    settings, database, rating_id = kept
    assert rerate_database(settings, "all", [rating_id], WITH_NEXT) == rerate_export(exported, "all", WITH_NEXT) == 0
    told = capsys.readouterr().out
    assert all(told.count(f"by {version}") == 2 for version in ("1.3.0", "2.0.0"))
    assert (len(re.findall(r"\bBS", told)), told.count("UCS")) == (4, 2)
    with database.read() as c:
        assert {one.methodology_version for one in rerated.of_rating(c, rating_id)} == {"1.3.0", "2.0.0"}


def test_a_rating_by_a_removed_version_is_reported_and_not_re_rated(kept, capsys):
    settings, database, rating_id = kept
    with database.write() as c:
        old = {"version": "1.2.0", "digest": "sha256:12"}
        document = ratings.find(c, rating_id, "acme").document
        c.execute(rows.update().values(document={**document, "methodology": old}, methodology_version="1.2.0"))
    assert rerate_database(settings, "2.0.0", [], WITH_NEXT) == 69
    told = " ".join(capsys.readouterr().out.split())
    assert rating_id[:12] in told
    assert "old rules removed" in told
    assert "1 of 1 could not be rated again" in told
    with database.read() as c:
        assert rerated.of_rating(c, rating_id) == []


def test_an_export_with_an_incomplete_rating_is_refused(tmp_path):
    writer, file = ExportWriter(), tmp_path / "export.jsonl"
    file.write_bytes(writer.opening({"id": "rat_1"}) + writer.closing({}))
    with pytest.raises(SpecificationError, match="lacks evidence_digest, experiment"):
        rerate_export(file, "1.3.0")


def test_the_owners_export_of_a_masked_rating_is_rated_again(run, tmp_path, capsys):
    document, record = run
    complete = document | {"id": "rat_1"}
    masked = {name: value for name, value in complete.items() if name not in {"seed", "experiment"}}
    writer, file = ExportWriter(), tmp_path / "export.jsonl"
    parts = [writer.opening(masked, unmasked=complete), *(writer.observation(each.as_json()) for each in record)]
    file.write_bytes(b"".join([*parts, writer.closing({})]))
    assert rerate_export(file, "2.0.0", WITH_NEXT) == 0
    assert "UCS" in capsys.readouterr().out


@pytest.mark.parametrize("observation", [{}, {"unit": "1", "ask": 5}])
def test_an_export_with_an_observation_of_unknown_form_is_refused(run, tmp_path, observation):
    writer, file = ExportWriter(), tmp_path / "export.jsonl"
    parts = [writer.opening(run[0] | {"id": "rat_1"}), writer.observation(observation), writer.closing({})]
    file.write_bytes(b"".join(parts))
    with pytest.raises(CertificateError, match="a form that this version does not know"):
        rerate_export(file, "current")


def test_an_altered_export_or_another_file_is_refused(exported, tmp_path):
    written = exported.read_bytes()
    altered = written.replace(b"She ", b"He ", 1)
    assert altered != written
    exported.write_bytes(altered)
    with pytest.raises(CertificateError):
        rerate_export(exported, "1.3.0")
    with pytest.raises(SpecificationError, match="cannot be read"):
        rerate_export(tmp_path / "none", "1.3.0")


def test_an_export_of_a_removed_version_verifies_but_can_neither_be_replayed_nor_rated_again(run, tmp_path):
    document, record = run
    old = document | {
        "id": "rat_1",
        "methodology": {"version": "1.2.0", "digest": "sha256:12"},
        "target": {"name": "He", "digest": digest_of({})},
    }
    writer, file = ExportWriter(), tmp_path / "export.jsonl"
    parts = [writer.opening(old), *(writer.observation(each.as_json()) for each in record)]
    file.write_bytes(b"".join([*parts, writer.closing({})]))
    with pytest.raises(MethodologyRemoved, match=r"made under methodology 1\.2\.0"):
        rerate_export(file, "current")
    with pytest.raises(MethodologyRemoved, match=r"made under methodology 1\.2\.0"):
        verify_file(file, keys=None, replay=True)
    verify_file(file, keys=None, replay=False)
