"""Tests of the signing worker: ratings are signed without a request, and witnesses over loopback cosign the log's head.

Row 84 of docs/reliability.md: at c37b512 a copy of the database sufficed to sign ratings, and the log had no witnesses.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select, update

from assay.evidence.checkpoint import read_note
from assay.evidence.cosignature import COSIGNATURE, AddCheckpoint, VerifierKey, cosign
from assay.evidence.dsse import opened, signer_of
from assay.evidence.jwks import thumbprint
from assay.evidence.merkle import proves_growth
from assay.evidence.statement import RATING
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.ratings import certificates, log, witnessing
from store.ratings.tables import certificates as certificate_rows
from store.ratings.tables import ratings, unsigned_ratings
from store.security import signing
from store.security.secrets import Vault
from tests.support.checkpoints import open_checkpoint
from tests.support.jobs import new_job
from tests.support.new_ratings import new_rating
from tests.support.signing import private_pem, public_pem, signing_program, stated_document
from workers.engine.worker_context import WorkerContext
from workers.maintenance.signing_worker import SigningWorker, sign_due

AGENCY, WITNESS, OTHER = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"a", b"w", b"o"))
KEY = VerifierKey("w.example/v1/witness", COSIGNATURE, WITNESS.public_key().public_bytes_raw())
ORIGIN = "agency.example/v1/log"
DOCUMENT = stated_document()


@pytest.fixture
def database(database_url):
    one = Database(database_url)
    yield one
    one.close()


@pytest.fixture
def finished(database) -> Callable[..., str]:
    """Finish a job with a rating, as a worker does, and return the rating's id."""

    def finished(**changes) -> str:
        document = DOCUMENT | changes
        new = new_rating(
            tenant="default",
            target_id=None,
            target=document["target"],
            method="round-trip",
            attribute="gender",
            letter="DSBS",
            declared=True,
            visibility="public",
            document=document,
            methodology_version="1.1.0",
            request_digest="sha256:1",
            valid_for_s=3600,
            description="default",
        )
        with database.write() as c:
            job = jobs.add(c, new_job(visibility="public"))
            claim = jobs.claim(c, job.id, "a worker", 30)
            return jobs.finish(c, claim, new)

    return finished


@pytest.fixture
def settings_with(tmp_path, database_url):
    def settings_with(**changes) -> Settings:
        return Settings(
            data_dir=tmp_path,
            database_url=database_url,
            public_url="https://agency.example",
            egress_allow="127.0.0.0/8",
            secret_key="s" * 32,
            reconcile_s=0.05,
            **changes,
        )

    return settings_with


def hurry(database: Database) -> None:
    """Make all waiting signatures due now."""
    with database.write() as c:
        c.execute(update(unsigned_ratings).values(next_attempt_at=0))


def waiting(database: Database) -> list[str]:
    with database.read() as c:
        return list(c.execute(select(unsigned_ratings.c.rating_id)).scalars())


# ---------------------------------------------------------------------------- signatures of ratings
def test_a_finished_rating_is_signed_without_a_request(database, settings_with, finished):
    """Earlier, a certificate was signed when it was first requested, so an unread rating had no signature."""
    vault, ids = Vault.from_settings(settings_with()), [finished(), finished()]
    assert sorted(waiting(database)) == sorted(ids)
    assert sign_due(database, vault) == 2
    assert (waiting(database), sign_due(database, vault)) == ([], 0)
    with database.read() as c:
        keys = {each.id: each.public_key for each in signing.all_keys(c)}
        for rating_id in ids:
            envelope = opened(certificates.find(c, rating_id).envelopes[RATING])
            assert signer_of(envelope, lambda key_id, *signed: signing.is_signature(keys[key_id], *signed)) in keys


def test_a_rating_whose_signing_failed_is_signed_later(database, settings_with, finished, tmp_path):
    down, public = tmp_path / "down", tmp_path / "public.pem"
    public.write_bytes(public_pem(AGENCY))
    command = signing_program(tmp_path, AGENCY, f"import os\nif os.path.exists({str(down)!r}): sys.exit(1)")
    settings = settings_with(signing_command=" ".join(command), signing_public_key_file=public)
    rating_id = finished()
    down.touch()
    assert sign_due(database, Vault.from_settings(settings)) == 0
    assert waiting(database) == [rating_id]
    assert sign_due(database, Vault.from_settings(settings)) == 0, "the next attempt is a minute later"
    down.unlink()
    hurry(database)
    assert sign_due(database, Vault.from_settings(settings)) == 1
    with database.read() as c:
        assert certificates.find(c, rating_id).key_id == thumbprint(AGENCY.public_key().public_bytes_raw())


@pytest.mark.slow
def test_a_rating_that_cannot_be_certified_does_not_stop_the_signing_of_others(database, settings_with, finished):
    broken, good = finished(), finished()
    with database.write() as c:
        c.execute(update(ratings).where(ratings.c.id == broken).values(document=[]))
    assert sign_due(database, Vault.from_settings(settings_with())) == 1
    assert waiting(database) == [broken]
    with database.read() as c:
        assert certificates.find(c, good) is not None


def test_several_concurrent_workers_sign_a_rating_only_once(database, settings_with, finished):
    vault, rating_id = Vault.from_settings(settings_with()), finished()
    threads = [threading.Thread(target=sign_due, args=(database, vault)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as c:
        assert list(c.execute(select(certificate_rows.c.rating_id)).scalars()) == [rating_id]


# ---------------------------------------------------------------------------- witnesses
class Witness:
    """A small witness on loopback that follows the specification, unless `lie` changes its answers."""

    def __init__(self) -> None:
        self.size, self.root, self.asked = 0, b"", list[AddCheckpoint]()
        self.lie: Callable[[str], tuple[int, str]] | None = None
        witness = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                status, told = witness.answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(status)
                self.send_header("Content-Length", str(len(told.encode())))
                self.end_headers()
                self.wfile.write(told.encode())

            def log_message(self, *args: object) -> None:
                """Log nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/prefix"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def answer(self, path: str, body: bytes) -> tuple[int, str]:
        assert path == "/prefix/add-checkpoint"
        asked = AddCheckpoint.read(body)
        self.asked.append(asked)
        public = AGENCY.public_key().public_bytes_raw()
        shown = open_checkpoint(asked.note, public, signing.is_signature)
        assert shown.origin == ORIGIN
        if self.lie is not None:
            return self.lie(shown.text())
        if asked.old != self.size:
            return 409, f"{self.size}\n"
        if self.size and not proves_growth(self.size, shown.size, self.root, shown.root, asked.proof):
            return 422, ""
        self.size, self.root = shown.size, shown.root
        return 200, "\u2014 stranger.example AAAA\n" + cosign(shown.text(), KEY, WITNESS.sign, int(time.time()))

    def stop(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def witness():
    one = Witness()
    yield one
    one.stop()


@pytest.fixture
def signing_worker(database, settings_with, tmp_path, witness):
    """Build notaries whose agency has a key file; close them afterwards."""
    made: list[SigningWorker] = []
    file = tmp_path / "signing.pem"

    def start() -> SigningWorker:
        file.write_bytes(private_pem(AGENCY))
        settings = settings_with(signing_key_file=file, witnesses=f"{witness.url} {KEY}")
        made.append(SigningWorker(WorkerContext(database, Vault.from_settings(settings), settings)))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.close()


def cosigned(database: Database) -> int:
    with database.read() as c:
        return witnessing.newest_size(c, ORIGIN)


def until(true: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def test_a_witness_cosigns_each_new_log_head_given_a_consistency_proof(database, finished, signing_worker, witness):
    signing_worker()
    for size in (1, 2, 3):
        finished()
        until(lambda size=size: cosigned(database) == size)
    with database.read() as c:
        [line] = witnessing.lines(c, ORIGIN, 3)
        assert log.head(c).root == witness.root
    assert line.startswith(f"\u2014 {KEY.name} ")
    assert [(each.old, read_note(each.note)[0].size) for each in witness.asked] == [(0, 1), (1, 2), (2, 3)]


def test_an_empty_log_is_not_sent_to_the_witness(database, signing_worker, witness):
    signing_worker()
    time.sleep(0.5)
    assert witness.asked == []


def test_a_witness_that_knows_a_larger_log_than_expected_is_asked_again_with_that_size(
    database, finished, signing_worker, witness
):
    """The agency may have lost its record of a cosignature that the witness made."""
    finished()
    finished()
    with database.read() as c:
        witness.size, witness.root = 1, log.head(c, 1).root
    signing_worker()
    until(lambda: cosigned(database) == 2)
    assert [each.old for each in witness.asked] == [0, 1]


@pytest.mark.parametrize(
    "lie",
    [
        lambda text: (200, cosign(text.replace("\n1\n", "\n2\n"), KEY, WITNESS.sign, 1)),
        lambda text: (200, cosign(text, KEY, OTHER.sign, 1)),
        lambda text: (200, cosign(text, VerifierKey("w.example", COSIGNATURE, b"k" * 32), OTHER.sign, 1)),
        lambda _: (200, ""),
        lambda _: (200, "\u2014 " + KEY.name + " ?\n"),
        lambda _: (409, "7\n"),
        lambda _: (409, "9" * 40),
        lambda _: (422, ""),
        lambda _: (500, "x" * 100_000),
    ],
    ids=["of another head", "forged", "of a stranger", "none", "garbage", "longer", "huge", "refused", "broken"],
)
def test_an_answer_without_a_valid_cosignature_is_not_stored_and_the_witness_is_paused(
    database, finished, signing_worker, witness, lie
):
    finished()
    witness.lie = lie
    signing_worker()
    until(lambda: len(witness.asked) == 1)
    time.sleep(0.5)
    assert (cosigned(database), len(witness.asked)) == (0, 1)
