"""The agency as a witness of other logs, and the cosignatures of its own log, over HTTP.

Row 84 of docs/reliability.md: at c37b512 a stolen copy of the database could sign, and no witness cosigned the log.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.evidence import merkle
from assay.evidence.checkpoint import ED25519, Checkpoint
from assay.evidence.cosignature import COSIGNATURE, AddCheckpoint, VerifierKey, cosign
from store.ratings import witnessing
from store.security import signing
from tests.support.checkpoints import open_checkpoint

pytestmark = pytest.mark.anyio

LOG, OTHER = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"l", b"o"))
LOGS, OTHERS = (each.public_key().public_bytes_raw() for each in (LOG, OTHER))
ORIGIN = "other.example/log"
LEAVES, FORK = ([merkle.leaf_hash(b"%s%d" % (kind, place)) for place in range(9)] for kind in (b"leaf", b"fork"))
PATH = "/v1/witness/add-checkpoint"


def asked(size: int, old: int = 0, leaves=LEAVES, signer=LOG, proof=None, origin=ORIGIN, extension="") -> bytes:
    """Return a request for a cosignature of the head of the first `size` leaves."""
    head = Checkpoint(origin, size, merkle.head(leaves[:size]), extension)
    if proof is None:
        spans = merkle.consistency_spans(old, size) if 0 < old < size else []
        proof = [merkle.head(leaves[start:stop]) for start, stop in spans]
    note = head.signed(signer.public_key().public_bytes_raw(), signer.sign)
    return AddCheckpoint(old, tuple(proof), note).written().encode()


@pytest.fixture
async def witness(serve, settings):
    return await serve(settings.model_copy(update={"witnessed_logs": f"{VerifierKey(ORIGIN, ED25519, LOGS)}"}))


async def test_a_log_is_cosigned_each_time_it_grows(witness):
    told = (await witness.get("/v1/witness")).json()
    assert told["name"] == "assay.test/v1/witness"
    assert told["logs"] == [{"origin": ORIGIN, "size": 0}]
    key = base64.b64decode(told["verifier_key"].split("+", 2)[2])
    for old, size in ((0, 3), (3, 3), (3, 8), (8, 9)):
        answer = await witness.post(PATH, content=asked(size, old))
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
        dash, name, signed = answer.text.removesuffix("\n").split(" ")
        assert (dash, name) == ("\u2014", told["name"])
        signed = base64.b64decode(signed)
        # compared byte by byte with the format of C2SP tlog-cosignature
        assert signed[:4] == hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]
        body = f"{ORIGIN}\n{size}\n{base64.b64encode(merkle.head(LEAVES[:size])).decode()}\n"
        message = f"cosignature/v1\ntime {int.from_bytes(signed[4:12], 'big')}\n{body}".encode()
        assert key[:1] == b"\x04"
        assert signing.is_signature(key[1:], signed[12:], message)
    assert (await witness.get("/v1/witness")).json()["logs"] == [{"origin": ORIGIN, "size": 9}]


async def test_an_empty_log_and_a_log_with_extension_lines_are_cosigned(witness):
    assert (await witness.post(PATH, content=asked(0))).status_code == 200
    assert (await witness.post(PATH, content=asked(2, extension="more 1\n"))).status_code == 200


async def test_a_cosignature_request_with_a_wrong_old_size_is_409_with_the_latest_size(witness):
    await witness.post(PATH, content=asked(3))
    for content in (asked(5), asked(5, 2), asked(3, 2)):
        answer = await witness.post(PATH, content=content)
        assert (answer.status_code, answer.text) == (409, "3\n")
        assert answer.headers["Content-Type"] == "text/x.tlog.size"


async def test_a_forked_log_is_never_cosigned(witness):
    await witness.post(PATH, content=asked(3))
    same_size = await witness.post(PATH, content=asked(3, 3, leaves=FORK))
    assert (same_size.status_code, same_size.text) == (409, "3\n")
    grown = await witness.post(PATH, content=asked(5, 3, leaves=FORK))
    assert (grown.status_code, grown.json()["code"]) == (422, "checkpoint-inconsistent")
    assert (await witness.post(PATH, content=asked(5, 3))).status_code == 200, "the true log goes on"


async def test_only_one_of_two_concurrent_forks_is_cosigned(witness):
    """Comparing with the latest head and replacing it must be one atomic step."""
    requests = [asked(4, leaves=leaves) for leaves in (LEAVES, FORK) for _ in range(4)]
    answers = await asyncio.gather(*(witness.post(PATH, content=each) for each in requests))
    assert sorted(each.status_code for each in answers) == [200, *[409] * 7]


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (asked(3, origin="unknown.example/log"), 404, "not-found"),
        (asked(3, signer=OTHER), 403, "checkpoint-not-signed"),
        (asked(3, 4), 400, "malformed-checkpoint"),
        (asked(3, proof=[bytes(32)]), 422, "checkpoint-inconsistent"),
        (asked(3).replace(b"old 0", b"old 00"), 400, "malformed-checkpoint"),
        (asked(3).partition(b"\n\n")[0], 400, "malformed-checkpoint"),
        (b"", 400, "malformed-checkpoint"),
        (b"old 0\n\n" + b"x" * 70_000, 413, "body-too-large"),
    ],
)
async def test_a_refused_checkpoint_has_the_status_that_the_witness_protocol_prescribes(witness, content, status, code):
    answer = await witness.post(PATH, content=content)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert (await witness.get("/v1/witness")).json()["logs"] == [{"origin": ORIGIN, "size": 0}]


async def test_an_agency_without_witnessed_logs_cosigns_nothing(client):
    assert (await client.get("/v1/witness")).json()["logs"] == []
    assert (await client.post(PATH, content=asked(3))).status_code == 404


async def test_a_witness_cosigns_without_an_api_key_of_the_caller(serve, guarded):
    api = await serve(guarded.model_copy(update={"witnessed_logs": f"{VerifierKey(ORIGIN, ED25519, LOGS)}"}))
    assert (await api.post(PATH, content=asked(3))).status_code == 200


async def test_the_newest_cosigned_checkpoint_is_served_as_a_signed_note(client, worker, request_body):
    async def publish(seed: int) -> dict:
        job = (await client.post("/v1/jobs", json=request_body(seed=seed, visibility="public"))).json()
        worker.rate(job["id"])
        return (await client.get("/v1/log")).json()

    first = await publish(1)
    plain = await client.get("/v1/log/checkpoint")
    assert (plain.text, plain.headers["Content-Type"]) == (first["checkpoint"], "text/plain; charset=utf-8")
    text, key = first["checkpoint"].partition("\n\n")[0] + "\n", VerifierKey("w.example", COSIGNATURE, OTHERS)
    line = cosign(text, key, OTHER.sign, 1_700_000_000)
    with worker.database.write() as c:
        witnessing.keep(c, first["origin"], 1, str(key), line.removesuffix("\n"))
    cosigned = await client.get("/v1/log/checkpoint")
    assert cosigned.text == first["checkpoint"] + line
    assert cosigned.headers["ETag"] != plain.headers["ETag"]
    assert (await client.get("/v1/log")).json()["checkpoint"] == cosigned.text
    second = await publish(2)
    assert second["size"] == 2
    assert line not in second["checkpoint"]
    assert (await client.get("/v1/log/checkpoint")).text == cosigned.text, "until a witness cosigned a newer one"
    answer = await client.get("/v1/log/checkpoint", headers={"If-None-Match": cosigned.headers["ETag"]})
    assert answer.status_code == 304
    with worker.database.read() as c:
        [mine] = signing.all_keys(c)
    assert open_checkpoint(cosigned.text, mine.public_key, signing.is_signature).size == 1
    assert second["verifier_key"] == str(VerifierKey(first["origin"], ED25519, mine.public_key))
