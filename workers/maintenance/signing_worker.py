"""SigningWorker: signs finished ratings, and requests cosignatures of the transparency log from its witnesses.

A worker signs right after each job (`workers.engine.tasks`). The thread retries failed signatures, and asks the
witnesses whenever the log has grown. Any number of processes may run the thread: ratings are claimed in the database,
and a witness answers a repeated request for the same head.
"""

import asyncio
import time

import structlog

from assay.evidence.checkpoint import DASH, BadCheckpoint, Checkpoint
from assay.evidence.cosignature import AddCheckpoint, VerifierKey, cosignature_in
from store.core.database import Database
from store.core.errors import SecretLost, SecretMoved, SigningUnavailable, StoreUnavailable
from store.ratings import certificates, log, witnessing
from store.ratings.log import TreeHead
from store.security import signing
from store.security.secrets import Vault
from store.security.signing import SigningKey, is_signature
from workers.engine.worker_context import BackgroundThread, WorkerContext
from workers.webhooks.delivery_attempt import AttemptResult, call, open_transport

logger = structlog.get_logger()

BATCH = 20
"""Maximum number of ratings that are signed in one round."""

FIRST_REST_S, LONGEST_REST_S = 30.0, 3600.0
"""Pause in seconds after a witness's first failure, doubled after each further failure, and its maximum."""

CONFLICT = 409

UNABLE = (SecretLost, SecretMoved, SigningUnavailable, StoreUnavailable)
"""Errors that may disappear: the signing key or the database is unavailable."""


def sign_due(database: Database, vault: Vault) -> int:
    """Sign the finished ratings that are due; return their number. Failures are logged and retried later."""
    signed_count = 0
    try:
        with database.read() as connection:
            if not certificates.any_unsigned(connection):
                return 0
        with database.write() as connection:
            unsigned_ratings = certificates.take_unsigned(connection, BATCH)
        with database.write() as connection:
            key = signing.current(connection, vault)
        for rating in unsigned_ratings:
            try:
                envelopes = certificates.envelopes_of(key, rating)  # statements about the rating, signed
            except (AttributeError, KeyError, TypeError, ValueError):  # one document must not stop others
                logger.exception("rating cannot be stated", rating=rating.id)
                continue
            with database.write() as connection:
                certificates.keep(connection, rating.id, key.id, envelopes)
            signed_count += 1
    except UNABLE as unable:  # the signing key or the database is unavailable
        logger.warning("ratings not signed", why=str(unable), retry_s=certificates.RETRY_S)
    return signed_count


class SigningWorker(BackgroundThread):
    """Thread that signs ratings and has witnesses cosign the log of ratings, every ``settings.reconcile_s`` seconds."""

    name = "signing"
    join_s = 5.0

    def __init__(self, context: WorkerContext) -> None:
        super().__init__()
        self._database, self._vault, self._settings = context.database, context.vault, context.settings
        self._origin = witnessing.log_name(context.settings.public_url)
        self._pauses = dict[str, tuple[float, float]]()  # by address: end of the pause, length of the next one

    def run(self) -> None:
        """Sign ratings and request cosignatures until closed."""
        while True:
            try:
                sign_due(self._database, self._vault)
                self._ask_witnesses()
            except UNABLE as unable:  # the signing key or the database is unavailable
                logger.warning("signing waits", why=str(unable))
            except Exception:  # an error must not stop all signatures
                logger.exception("signing failed")
            if self._done.wait(self._settings.reconcile_s):
                return

    def _ask_witnesses(self) -> None:
        """Have witnesses (servers that confirm the log of ratings) cosign its head; after failures, wait longer."""
        for url, witness in self._settings.log_witnesses:
            pause_end, pause_s = self._pauses.get(url, (0.0, FIRST_REST_S))
            if self._done.is_set() or time.monotonic() < pause_end:
                continue
            failure = self._ask_witness(url, witness)
            if failure is None:
                self._pauses.pop(url, None)
                continue
            logger.warning("witness did not cosign", witness=witness.name, why=failure, retry_s=pause_s)
            self._pauses[url] = time.monotonic() + pause_s, min(2 * pause_s, LONGEST_REST_S)

    def _ask_witness(self, url: str, witness: VerifierKey) -> str | None:
        """Have a witness cosign the log's head (its size and hash); return the reason of a failure, or ``None``."""
        with self._database.read() as connection:
            old_size = witnessing.newest_size(connection, self._origin, str(witness))  # cosigned before
            head = log.head(connection)
        if head.size == old_size:  # an empty log has nothing to cosign
            return None
        with self._database.write() as connection:
            key = signing.current(connection, self._vault)
        attempt = self._post_head(url, old_size, head, key)
        reply = (attempt.outcome.response or "").strip()
        # the witness may know a newer head than our database, for example after a restored backup, or a lost answer;
        # 18 digits always fit into 64 bits
        if attempt.outcome.status == CONFLICT and reply.isascii() and reply.isdigit() and len(reply) <= 18:
            known_size = int(reply)
            if known_size > head.size:
                return f"it knows {known_size} entries of the log, which has {head.size}: was an old database restored?"
            attempt = self._post_head(url, known_size, head, key)
        if attempt.outcome.failure is not None:
            return attempt.outcome.failure
        return self._store_cosignature(witness, head, attempt.outcome.response or "")

    def _post_head(self, url: str, old_size: int, head: TreeHead, key: SigningKey) -> AttemptResult:
        """Send the log's head to a witness, with the proof that the log's first `old_size` entries are unchanged."""
        proof_path: tuple[bytes, ...] = ()  # no proof is needed for an empty or an equal tree
        if 0 < old_size < head.size:
            with self._database.read() as connection:
                proof_path = log.consistency(connection, old_size, head.size).path
        note = Checkpoint(self._origin, head.size, head.root).signed(key.public_key, key.sign)
        body = AddCheckpoint(old_size, proof_path, note).written().encode()

        async def post() -> AttemptResult:
            transport = open_transport(self._settings)
            try:
                return await call(transport, f"{url}/add-checkpoint", {"Content-Type": "text/plain"}, body)
            finally:
                await transport.aclose()

        return asyncio.run(post())

    def _store_cosignature(self, witness: VerifierKey, head: TreeHead, response: str) -> str | None:
        """Validate and store the cosignature in a response; return the reason of a failure, or ``None``."""
        text = Checkpoint(self._origin, head.size, head.root).text()
        lines = [line for line in response.split("\n") if line.startswith(DASH)]
        try:
            cosignature = cosignature_in(text, lines, witness, is_signature)
        except BadCheckpoint as error:
            return str(error)
        if cosignature is None:
            return f"it answered without a cosignature by {witness.name} with the configured key"
        with self._database.write() as connection:
            witnessing.keep(connection, self._origin, head.size, str(witness), cosignature.line)
        logger.info("log cosigned", witness=witness.name, size=head.size)
        return None
