"""Certificates over HTTP: statements, exports and proofs, and their access control.

Row 101 of docs/reliability.md: at cc0db38c each proof of a rating of 25,000 observations took 1.2 s of processor time.
"""

from __future__ import annotations

import asyncio
import base64
import json

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.canonical import target_digest
from assay.document import ServiceDocument, read_json
from assay.evidence.dsse import opened, signer_of
from assay.evidence.jwks import read_jwks
from assay.experiment import Session, generator
from assay.explain import Vocabulary
from assay.model import Reply
from assay.rating.decision import rate
from assay.rating.document import rating_document
from cli.rating.verify import verify_file
from service.certificates import service
from store.jobs import jobs
from store.jobs.jobs import LedgerEntry
from store.ratings.experiment_json import dump_method, parse_method
from store.ratings.ratings import NewRating
from store.security.signing import is_signature
from tests.support.signing import public_pem, signing_program

pytestmark = pytest.mark.anyio

EXPERIMENT = {"method": "round-trip", "attribute": "gender", "languages": ["es"], "texts_per_block": 4}


@pytest.fixture
def rated(client, request_body, worker):
    """Rate a service that echoes its input, and return the rating's id."""

    async def rated(on=client, headers=None, answers=True, **changes) -> str:
        body = request_body(experiment=EXPERIMENT | {"max_texts_per_block": 8}, **changes)
        job = (await on.post("/v1/jobs", json=body, headers=headers)).json()
        claim = worker.claim(job["id"])
        method = parse_method(claim.job.experiment)
        session = Session(method.design(generator(claim.job.seed)))
        shuffle = np.random.default_rng(3)
        while session.finding is None:
            made = list(session.unrecorded)
            for probe in session.missing:
                made += session.accept(probe, Reply(probe.ask.text))
            entries = [LedgerEntry(made[place], 1, 5) for place in shuffle.permutation(len(made))]
            with worker.database.write() as c:
                jobs.record(c, claim, entries if answers else [], calls=9, expected=9, stage="asking")
            session.advance()
        target = {"name": "T", "kind": "translator", "protocol": "libretranslate", "url": "http://t", "settings": {}}
        document = rating_document(
            rate(session.finding),
            vocabulary=Vocabulary.of(method),
            experiment=dump_method(method),
            target=read_json(ServiceDocument, target | {"digest": target_digest(target)}),
            seed=claim.job.seed,
            calls=session.asked,
            failed_calls=session.failed,
            evidence_digest=session.evidence.head(),
            visibility=claim.job.visibility,
        )
        new = NewRating(
            tenant=claim.job.tenant,
            target_id=None,
            rating=document,
            request_digest=claim.job.request_digest,
            valid_for_s=3600,
            description="default",
        )
        with worker.database.write() as c:
            return jobs.finish(c, claim, new)

    return rated


async def saved(client, path, url):
    """Download a URL into a file."""
    answer = await client.get(url)
    assert answer.status_code == 200, answer.text
    path.write_bytes(answer.content)
    return path


async def test_an_export_verifies_and_replays_with_the_published_keys(client, rated, tmp_path):
    url = f"/v1/ratings/{await rated()}"
    export = await saved(client, tmp_path / "export.jsonl", f"{url}/export.jsonl")
    keys = await saved(client, tmp_path / "jwks.json", "/.well-known/jwks.json")
    verify_file(export, keys=keys, replay=True)


async def test_an_export_still_verifies_after_the_signing_key_was_rotated(client, rated, tmp_path, worker):
    rating_id = await rated(visibility="unlisted")
    before = await saved(client, tmp_path / "before.jsonl", f"/v1/ratings/{rating_id}/export.jsonl")
    assert (await client.post("/v1/signing-keys/rotate")).status_code == 201
    after = await saved(client, tmp_path / "after.jsonl", f"/v1/ratings/{rating_id}/export.jsonl")
    keys = await saved(client, tmp_path / "jwks.json", "/.well-known/jwks.json")
    for each in (before, after):
        verify_file(each, keys=keys, replay=False)
    certificates = [each.read_bytes().splitlines()[2] for each in (before, after)]
    assert certificates[0] == certificates[1], "the certificate does not change with the key"


async def test_a_certificate_never_changes_and_is_signed_by_a_published_key(client, rated):
    url = f"/v1/ratings/{await rated()}/attestation.json"
    answer = await client.get(url)
    assert (await client.get(url)).content == answer.content
    keys = read_jwks((await client.get("/.well-known/jwks.json")).json())
    envelope = opened(answer.json())
    assert signer_of(envelope, lambda key_id, *signed: is_signature(keys[key_id], *signed)) in keys
    assert json.loads(envelope.payload)["subject"][0]["name"] == "T"
    again = await client.get(url, headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    # the rating is private: a copy is used again only after the agency was asked
    assert answer.headers["Cache-Control"] == "private, no-cache"


async def test_only_a_declared_letter_has_an_in_toto_test_result(client, request_body, worker):
    for declared in (True, False):
        job = (await client.post("/v1/jobs", json=request_body(seed=int(declared)))).json()
        rating_id = worker.rate(job["id"], declared=declared)
        url = f"/v1/ratings/{rating_id}/attestation.json"
        answer = await client.get(url, params={"predicate": "test-result"})
        if declared:
            statement = json.loads(base64.b64decode(answer.json()["payload"]))
            assert statement["predicate"]["result"] == "WARNED"
        else:
            assert (answer.status_code, answer.json()["code"]) == (404, "no-test-result")
        assert (await client.get(url)).status_code == 200
    assert (await client.get(url, params={"predicate": "wish"})).status_code == 422
    assert (await client.get(url, params={"other": "1"})).status_code == 422


async def test_a_proof_that_one_observation_belongs_to_a_rating_can_be_verified(client, rated, tmp_path):
    rating_id = await rated()
    keys = tmp_path / "jwks.json"
    for seq in (1, 2, 12):
        proof = await saved(client, tmp_path / "proof.json", f"/v1/ratings/{rating_id}/observations/{seq}/proof")
        await saved(client, keys, "/.well-known/jwks.json")
        verify_file(proof, keys=keys, replay=False)
        assert json.loads(proof.read_bytes())["seq"] == seq
    url = f"/v1/ratings/{rating_id}/observations/1/proof"
    etag = (await client.get(url)).headers["ETag"]
    assert (await client.get(url, headers={"If-None-Match": etag})).status_code == 304


async def test_concurrent_and_later_proofs_of_a_rating_read_its_evidence_once(client, rated, monkeypatch):
    rating_id, readings, original = await rated(), [], service.leaves

    def counted(*arguments):
        readings.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(service, "leaves", counted)
    urls = [f"/v1/ratings/{rating_id}/observations/{seq}/proof" for seq in (1, 2, 3, 1)]
    answers = [*await asyncio.gather(*map(client.get, urls)), await client.get(urls[0])]
    assert ([answer.status_code for answer in answers], len(readings)) == ([200] * 5, 1)


@pytest.mark.parametrize("seq", ["100000", "0", "-1", "01", "x", "2147483648", "9" * 5000, "%D9%A1"])
async def test_the_proof_of_a_missing_observation_is_404(client, rated, seq):
    answer = await client.get(f"/v1/ratings/{await rated()}/observations/{seq}/proof")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_an_export_whose_observations_do_not_fit_the_experiment_is_409(client, rated, request_body, worker):
    other = (await client.post("/v1/jobs", json=request_body(seed=99))).json()
    strange = worker.rate(other["id"])  # a rating whose observations do not fit its experiment
    for path in ("export.jsonl", "observations/1/proof"):
        answer = await client.get(f"/v1/ratings/{strange}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "evidence-out-of-order")


@pytest.mark.parametrize("path", ["attestation.json", "export.jsonl", "observations/1/proof"])
async def test_only_the_owner_can_read_a_private_ratings_certificate(serve, guarded, worker, rated, path):
    api = await serve(guarded)
    mine, theirs = (
        {"Authorization": f"Bearer {worker.make_key(tenant, 'jobs:write', 'ratings:read')}"} for tenant in ("a", "b")
    )
    private = await rated(on=api, headers=mine, seed=1)
    public = await rated(on=api, headers=mine, seed=2, visibility="public")
    assert (await api.get(f"/v1/ratings/{private}/{path}", headers=mine)).status_code == 200
    assert (await api.get(f"/v1/ratings/{private}/{path}", headers=theirs)).status_code == 404
    assert (await api.get(f"/v1/ratings/{private}/{path}")).status_code == 404
    assert (await api.get(f"/v1/ratings/{public}/{path}")).status_code == 200
    assert (await api.get(f"/v1/ratings/rat_nope/{path}", headers=mine)).status_code == 404


async def test_the_agencys_signing_keys_are_public_can_be_cached_and_include_retired_keys(serve, guarded, worker):
    api = await serve(guarded)
    admin = {"Authorization": f"Bearer {worker.make_key('default', 'admin')}"}
    assert (await api.get("/.well-known/jwks.json")).json() == {"keys": []}
    first, second = [(await api.post("/v1/signing-keys/rotate", headers=admin)).json() for _ in range(2)]
    answer = await api.get("/.well-known/jwks.json")
    assert {each["kid"] for each in answer.json()["keys"]} == {first["id"], second["id"]}
    assert [each["kid"] for each in answer.json()["keys"] if "retired_at" in each] == [first["id"]]
    again = await api.get("/.well-known/jwks.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert not any("d" in each for each in answer.json()["keys"]), "the private half stays here"


async def test_only_the_agencys_administrators_can_rotate_the_signing_key(serve, guarded, worker):
    api = await serve(guarded)

    def key(tenant: str, scope: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {worker.make_key(tenant, scope)}"}

    for headers, status in (({}, 401), (key("default", "jobs:write"), 403), (key("acme", "admin"), 403)):
        assert (await api.post("/v1/signing-keys/rotate", headers=headers)).status_code == status
        assert (await api.get("/v1/signing-keys", headers=headers)).status_code == status
    own = key("default", "admin")
    made = await api.post("/v1/signing-keys/rotate", headers=own | {"Idempotency-Key": "once"})
    repeated = await api.post("/v1/signing-keys/rotate", headers=own | {"Idempotency-Key": "once"})
    assert (made.status_code, repeated.json()) == (201, made.json())
    assert (await api.get(made.headers["Location"], headers=own)).json() == {"items": [made.json()]}


async def test_an_undecryptable_signing_key_gives_503_for_new_certificates_but_signed_ones_are_served(
    serve, settings, rated, client
):
    old, new = await rated(seed=1), await rated(seed=2)
    kept = (await client.get(f"/v1/ratings/{old}/attestation.json")).json()
    stranger = await serve(settings.model_copy(update={"secret_key": type(settings)(secret_key="o" * 32).secret_key}))
    assert (await stranger.get(f"/v1/ratings/{old}/attestation.json")).json() == kept
    answer = await stranger.get(f"/v1/ratings/{new}/attestation.json")
    assert (answer.status_code, answer.json()["code"]) == (503, "signing-key-lost")
    assert (await stranger.post("/v1/signing-keys/rotate")).status_code == 201
    assert (await stranger.get(f"/v1/ratings/{new}/attestation.json")).status_code == 200


# Row 84 of docs/reliability.md: at c37b512 a stolen copy of the database could sign, and no witness cosigned the log.
async def test_a_failing_signing_command_gives_503_and_the_rating_stays_readable(serve, settings, rated, tmp_path):
    """The response says when to try again, and shows no detail of the operator's command."""
    key, down, public = Ed25519PrivateKey.generate(), tmp_path / "down", tmp_path / "public.pem"
    public.write_bytes(public_pem(key))
    command = signing_program(tmp_path, key, f"import os\nif os.path.exists({str(down)!r}): sys.exit(1)")
    changes = {"signing_command": " ".join(command), "signing_public_key_file": public}
    down.touch()
    api = await serve(settings.model_copy(update=changes))
    url = f"/v1/ratings/{await rated(on=api)}"
    answer = await api.get(f"{url}/attestation.json")
    assert (answer.status_code, answer.json()["code"]) == (503, "signing-unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert "sign.py" not in answer.text
    assert (await api.get(url)).status_code == 200
    down.unlink()
    again = await serve(settings.model_copy(update=changes))
    assert (await again.get(f"{url}/attestation.json")).status_code == 200
    export = await saved(again, tmp_path / "export.jsonl", f"{url}/export.jsonl")
    verify_file(export, keys=await saved(again, tmp_path / "jwks.json", "/.well-known/jwks.json"), replay=False)
    refused = await again.post("/v1/signing-keys/rotate")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-specification")
