"""An agency signs with a key outside its database, a second agency witnesses its log, and `assay verify` checks both.

Row 84 of docs/reliability.md: at c37b512 a copy of the database sufficed to sign ratings in the agency's name, a
rating had no signature until it was first requested, and the log had no witnesses.
"""

from __future__ import annotations

import json
import sqlite3
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.evidence.checkpoint import ED25519
from assay.evidence.cosignature import COSIGNATURE, VerifierKey
from assay.evidence.jwks import jwk
from tests.support.signing import private_pem, public_pem, signing_program

AGENCY, WITNESS, STRANGER = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"a", b"w", b"s"))
PUBLIC, WITNESSES, STRANGERS = (each.public_key().public_bytes_raw() for each in (AGENCY, WITNESS, STRANGER))
LOG = VerifierKey("agency.example/v1/log", ED25519, PUBLIC)
COSIGNER = VerifierKey("witness.example/v1/witness", COSIGNATURE, WITNESSES)
NOBODY = VerifierKey("nobody.example/witness", COSIGNATURE, STRANGERS)


@dataclass(frozen=True)
class Files:
    """Downloads: an export, keys, two checkpoints and the proof between them, and those of a forked log."""

    export: Path
    keys: Path
    first: Path
    second: Path
    proof: Path
    forked: Path
    forked_proof: Path
    signed_before_asked: int


def download(agency, path: str, file: Path) -> Path:
    with urllib.request.urlopen(f"http://127.0.0.1:{agency.port}{path}") as answer:
        file.write_bytes(answer.read())
    return file


def rate(agency, services, seed: int) -> str:
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": services.url("faithful")}
    experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es"], "texts_per_block": 4}
    body = {"target": target, "experiment": experiment, "seed": seed, "visibility": "public"}
    return agency.finished(agency.agency.post("/v1/jobs", body)["id"])["rating"]["id"]


def certificates(agency) -> int:
    with sqlite3.connect(agency.data / "assay.db") as database:
        return int(database.execute("SELECT count(*) FROM certificates").fetchone()[0])


def until(true: Callable[[], bool], log: Path, within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


@pytest.fixture(scope="module")
def story(tmp_path_factory, services, agencies) -> Files:
    """Run an agency, its witness and a fork of the agency; return what a reader downloads from them."""
    folder = tmp_path_factory.mktemp("story")
    for name, content in (("agency", private_pem(AGENCY)), ("witness", private_pem(WITNESS))):
        (folder / f"{name}.pem").write_bytes(content)
    (folder / "public.pem").write_bytes(public_pem(AGENCY))
    cosigner = agencies(
        ASSAY_PUBLIC_URL="https://witness.example",
        ASSAY_SIGNING_KEY_FILE=str(folder / "witness.pem"),
        ASSAY_WITNESSED_LOGS=str(LOG),
    )
    of_agency = {
        "ASSAY_PUBLIC_URL": "https://agency.example",
        "ASSAY_WITNESSES": f"http://127.0.0.1:{cosigner.port}/v1/witness {COSIGNER}",
        "ASSAY_RECONCILE_S": "0.2",
    }
    agency = agencies(
        **of_agency,
        ASSAY_SIGNING_COMMAND=" ".join(signing_program(folder, AGENCY)),
        ASSAY_SIGNING_PUBLIC_KEY_FILE=str(folder / "public.pem"),
    )

    def cosigned(size: int) -> bool:
        note = agency.agency.text("/v1/log/checkpoint")
        return note.split("\n")[1] == str(size) and f"\u2014 {COSIGNER.name} " in note

    rating = rate(agency, services, 1)
    until(lambda: certificates(agency) == 1, agency.log)
    signed_before_asked = certificates(agency)
    until(lambda: cosigned(1), agency.log)
    first = download(agency, "/v1/log/checkpoint", folder / "first.txt")
    rate(agency, services, 2)
    until(lambda: cosigned(2), agency.log)
    consistency = "/v1/log/proof/consistency?first=1&second=2"
    # a fork of the log: the same key and name with another history
    fork = agencies(**of_agency, ASSAY_SIGNING_KEY_FILE=str(folder / "agency.pem"))
    rate(fork, services, 3)
    until(lambda: "witness did not cosign" in fork.log.read_text(), fork.log)
    rate(fork, services, 4)
    return Files(
        export=download(agency, f"/v1/ratings/{rating}/export.jsonl", folder / "export.jsonl"),
        keys=download(agency, "/.well-known/jwks.json", folder / "jwks.json"),
        first=first,
        second=download(agency, "/v1/log/checkpoint", folder / "second.txt"),
        proof=download(agency, consistency, folder / "proof.json"),
        forked=download(fork, "/v1/log/checkpoint", folder / "forked.txt"),
        forked_proof=download(fork, consistency, folder / "forked-proof.json"),
        signed_before_asked=signed_before_asked,
    )


@pytest.fixture
def refused(elsewhere):
    """Run `assay verify`, which must refuse; return its one line of error output."""

    def refused(*arguments: str | Path, code: int = 65) -> str:
        told = elsewhere("verify", *arguments)
        assert told.returncode == code, told.stdout + told.stderr
        assert told.stderr.startswith("assay: ")
        assert told.stderr.count("\n") == 1
        return told.stderr

    return refused


def test_a_finished_rating_is_signed_immediately_by_a_key_that_is_not_in_the_database(story, elsewhere):
    assert story.signed_before_asked == 1
    told = elsewhere("verify", story.export, "--keys", story.keys, "--replay")
    assert told.returncode == 0, told.stderr


def test_a_cosigned_checkpoint_verifies_with_a_proof_that_it_extends_a_stored_checkpoint(story, elsewhere):
    told = elsewhere(
        *("verify", story.second, "--keys", story.keys, "--witness", COSIGNER),
        *("--checkpoint", story.first, "--proof", story.proof),
    )
    assert told.returncode == 0, told.stderr
    assert f"by {COSIGNER.name} at 20" in told.stdout
    assert f"extends the checkpoint of size 1 in {story.first}" in told.stdout
    assert "agency.example/v1/log has the size 2" in told.stdout
    assert elsewhere("verify", story.second, "--keys", story.keys).returncode == 0, "nothing was required"


def test_a_checkpoint_that_one_of_two_witnesses_cosigned_verifies_if_one_is_required(story, elsewhere):
    both = ("--witness", COSIGNER, "--witness", NOBODY)
    told = elsewhere("verify", story.second, "--keys", story.keys, *both, "--witnesses", "1")
    assert told.returncode == 0, told.stderr
    assert f"none by {NOBODY.name}" in told.stdout


def test_verify_refuses_an_export_with_a_changed_letter(story, refused, tmp_path):
    changed = tmp_path / "changed.jsonl"
    letter = next(each for each in (b"BS", b"DSBS", b"UCS") if b'"letter":"%s"' % each in story.export.read_bytes())
    other = b'"letter":"UCS"' if letter != b"UCS" else b'"letter":"BS"'
    changed.write_bytes(story.export.read_bytes().replace(b'"letter":"%s"' % letter, other, 1))
    assert "the rating digest is" in refused(changed, "--keys", story.keys)


def test_verify_refuses_an_export_with_a_changed_observation(story, refused, tmp_path):
    changed = tmp_path / "changed.jsonl"
    lines = story.export.read_bytes().splitlines(keepends=True)
    place = next(place for place, each in enumerate(lines) if b'"part":"observation"' in each)
    lines[place] = lines[place].replace(b'"text":"', b'"text":"X', 1)
    changed.write_bytes(b"".join(lines))
    assert "the file was altered" in refused(changed, "--keys", story.keys)


def test_verify_refuses_signatures_of_an_unknown_key(story, refused, tmp_path):
    others = tmp_path / "others.json"
    others.write_text(json.dumps({"keys": [jwk(STRANGERS)]}))
    assert "which is unknown: it is not in the key set" in refused(story.export, "--keys", others)
    assert "no key of the key set signed this checkpoint" in refused(story.first, "--keys", others)


def test_verify_refuses_a_checkpoint_without_a_required_cosignature(story, refused):
    told = refused(story.second, "--keys", story.keys, "--witness", COSIGNER, "--witness", NOBODY)
    assert f"1 of 2 required cosignatures; none by {NOBODY.name}" in told
    assert "0 of 1 required" in refused(story.forked, "--keys", story.keys, "--witness", COSIGNER)


def test_verify_refuses_a_cosignature_copied_from_another_checkpoint(story, refused, tmp_path):
    forged, start = tmp_path / "forged.txt", f"\u2014 {COSIGNER.name} "
    mine = next(line for line in story.first.read_text().split("\n") if line.startswith(start))
    body = story.second.read_text().partition(start)[0]
    forged.write_text(f"{body}{mine}\n")
    told = refused(forged, "--keys", story.keys, "--witness", COSIGNER)
    assert "does not belong to this checkpoint" in told


def test_verify_refuses_a_checkpoint_of_a_forked_log(story, refused):
    kept = ("--keys", story.keys, "--checkpoint")
    forked = refused(story.forked, *kept, story.second)
    assert "the log was forked: its root is another" in forked
    assert "the log was forked: the proof does not lead" in refused(
        story.forked, *kept, story.first, "--proof", story.forked_proof
    )
    assert "less than the checkpoint of size 2" in refused(story.first, *kept, story.second)


def test_unusable_options_of_verify_are_refused_as_a_usage_error(story, refused):
    keys = ("--keys", story.keys)
    assert "give the proof with --proof" in refused(story.second, *keys, "--checkpoint", story.first, code=64)
    assert "needs that many keys of witnesses" in refused(story.second, *keys, "--witnesses", "1", code=64)
    assert "is not a checkpoint" in refused(story.export, *keys, "--witness", COSIGNER, code=64)
    assert "of type 01 and not 04" in refused(story.second, *keys, "--witness", LOG, code=64)
