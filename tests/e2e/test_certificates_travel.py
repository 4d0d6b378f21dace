"""Offline verification of a certificate: no network, no database, only the exported file."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

REQUEST = {
    "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"], "texts_per_block": 20},
    "seed": 7,
}


def download(agency: str, path: str, file: Path) -> Path:
    with urllib.request.urlopen(agency + path) as answer:
        file.write_bytes(answer.read())
    return file


@pytest.fixture(scope="module")
def carried(shared_agency, services, tmp_path_factory) -> tuple[Path, Path, Path]:
    """Rate a service at a running agency; return the export, the keys and the proof of one observation."""
    target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "base_url": services.url("faithful")}
    job = shared_agency.agency.post("/v1/jobs", {**REQUEST, "target": target})
    rating = f"/v1/ratings/{shared_agency.finished(job['id'])['rating']['id']}"
    agency, folder = f"http://127.0.0.1:{shared_agency.port}", tmp_path_factory.mktemp("carried")
    export = download(agency, f"{rating}/export.jsonl", folder / "export.jsonl")
    keys = download(agency, "/.well-known/jwks.json", folder / "jwks.json")
    return export, keys, download(agency, f"{rating}/observations/5/proof", folder / "proof.json")


def test_an_export_verifies_and_replays_without_network_or_database(carried, elsewhere):
    export, keys, proof = carried
    told = elsewhere("verify", export, "--keys", keys, "--replay")
    assert told.returncode == 0, told.stderr
    assert "is as it was sealed" in told.stdout
    assert "the same to the last bit" in told.stdout
    assert elsewhere("verify", proof, "--keys", keys).returncode == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[:-100], "cut short"),
        (lambda content: content[: len(content) // 2], "cut short"),
        (lambda content: content.replace(b'"letter":"DSBS"', b'"letter":"UCS"', 1), "the rating digest is"),
        (lambda content: content.replace(b"He ", b"She ", 1), "another digest"),
    ],
)
def test_an_altered_export_is_refused_with_one_line(carried, elsewhere, tmp_path, change, said):
    export, keys, _ = carried
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(change(export.read_bytes()))
    told = elsewhere("verify", changed, "--keys", keys)
    assert told.returncode == 65
    assert told.stderr.startswith("assay: ")
    assert told.stderr.count("\n") == 1
    assert said in told.stderr
