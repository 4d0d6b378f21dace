"""Signing key outside the database: in a file, or used through a program such as a client of a KMS or PKCS#11.

A program gets the message on standard input and prints the signature in base64. It is run without a shell, with
limits on its time, its output and the number of runs at a time. Every signature is verified before it is used.
"""

import base64
import binascii
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from assay.errors import SpecificationError
from assay.evidence.jwks import thumbprint
from store.core.child_processes import ending_with_this_process
from store.core.errors import SigningUnavailable
from store.core.settings import Settings

TIMEOUT_S = 10.0
"""Maximum duration of one run of the signing program, in seconds."""

MOST_OUTPUT = 4096
"""Maximum number of bytes that the signing program may print."""

AT_ONCE = 4
"""Maximum number of concurrent runs of the signing program in one process."""

REST_S = 15.0
"""Seconds for which the signing program is not run again after a failed run."""


@dataclass(frozen=True)
class SigningKey:
    """The current signing key. Its private part is excluded from `repr`.

    `sign` returns the 64-byte signature of a message (RFC 8032, deterministic). A key outside the database may block
    for seconds, and raise `SigningUnavailable`.
    """

    id: str
    public_key: bytes
    sign: Callable[[bytes], bytes] = field(repr=False, compare=False)


def is_signature(public_key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether a signature of a message is valid for a public key (32 bytes)."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def outside_key(settings: Settings) -> SigningKey | None:
    """Return the signing key outside the database that the settings name; ``None`` if they name no such key.

    Raise `SpecificationError` if a key file cannot be read, or holds no Ed25519 key in PEM.
    """
    if settings.signing_key_file is not None:
        private_key = _read_private_key(settings.signing_key_file)
        public_key = private_key.public_key().public_bytes_raw()
        return SigningKey(thumbprint(public_key), public_key, private_key.sign)
    if settings.signing_command is None or settings.signing_public_key_file is None:
        return None
    public_key = _read_public_key(settings.signing_public_key_file)
    try:
        command = shlex.split(settings.signing_command)
    except ValueError as error:
        raise SpecificationError(f"ASSAY_SIGNING_COMMAND cannot be split into words: {error}") from None
    return SigningKey(thumbprint(public_key), public_key, SigningProgram(command, public_key).sign)


class SigningProgram:
    """Signer that runs a program, but not for `rest_s` after a failure; `public_key` (32 bytes) verifies signatures."""

    def __init__(
        self, command: Sequence[str], public_key: bytes, *, timeout_s: float = TIMEOUT_S, rest_s: float = REST_S
    ) -> None:
        self._command, self._public_key = list(command), public_key
        self._timeout_s, self._rest_s, self._rests_until = timeout_s, rest_s, 0.0  # after a failure
        self._slots = threading.BoundedSemaphore(AT_ONCE)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature of a message, within twice the timeout, or raise `SigningUnavailable`."""
        if not self._slots.acquire(timeout=self._timeout_s):
            raise SigningUnavailable(f"{AT_ONCE} other signatures are in progress, and none finished in time")
        try:
            if time.monotonic() < self._rests_until:
                raise SigningUnavailable(f"the signing command failed less than {self._rest_s:g} s ago")
            try:
                return self._verified_signature(self._run_command(message), message)
            except SigningUnavailable:
                self._rests_until = time.monotonic() + self._rest_s
                raise
        finally:
            self._slots.release()

    def _run_command(self, message: bytes) -> bytes:
        """Return what the program prints for a message; raise `SigningUnavailable` if it fails or takes too long."""
        try:
            with tempfile.TemporaryFile() as stdin:  # no pipe: a program that does not read it would block this process
                stdin.write(message)
                stdin.seek(0)
                # a separate session, so that the program's own children can be ended with the program
                process = subprocess.Popen(  # noqa: S603  the operator's own command, without a shell
                    self._command,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                    preexec_fn=ending_with_this_process(),  # noqa: PLW1509 - no lock is taken there
                )
        except OSError as error:
            raise SigningUnavailable(f"the signing command cannot be started: {error.strerror}") from None
        deadline_passed = threading.Event()

        def stop() -> None:
            deadline_passed.set()
            _kill_group(process.pid)

        timer = threading.Timer(self._timeout_s, stop)
        timer.start()
        try:
            assert process.stdout is not None  # noqa: S101  it is a pipe
            with process.stdout:
                output = process.stdout.read(MOST_OUTPUT + 1)  # one more byte shows that there is more
            if len(output) > MOST_OUTPUT:
                _kill_group(process.pid)
            status = process.wait()
        finally:
            timer.cancel()
        if deadline_passed.is_set():
            raise SigningUnavailable(f"the signing command did not end within {self._timeout_s:g} s")
        if len(output) > MOST_OUTPUT:
            raise SigningUnavailable(f"the signing command printed more than {MOST_OUTPUT} bytes")
        if status != 0:
            raise SigningUnavailable(f"the signing command ended with status {status}; its errors are in the log")
        return output

    def _verified_signature(self, output: bytes, message: bytes) -> bytes:
        """Decode the program's output, and verify that it is a signature of the message."""
        try:
            # some programs wrap lines of base64
            signature = base64.b64decode(b"".join(output.split()), validate=True)
        except binascii.Error:
            raise SigningUnavailable("the signing command printed something that is not base64") from None
        if not is_signature(self._public_key, signature, message):
            raise SigningUnavailable(
                "the signing command printed a signature that does not verify with ASSAY_SIGNING_PUBLIC_KEY_FILE; "
                "check that both belong to one Ed25519 key"
            )
        return signature


def _kill_group(group_id: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group_id, signal.SIGKILL)


def _read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read an unencrypted Ed25519 key in PEM, or raise `SpecificationError`."""
    content = _read_setting_file(path, "ASSAY_SIGNING_KEY_FILE")
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError):  # TypeError: the key is encrypted with a password
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise SpecificationError(
            f"ASSAY_SIGNING_KEY_FILE: {path} holds no Ed25519 private key in PEM without a password; "
            "make one with `openssl genpkey -algorithm ed25519`"
        )
    return key


def _read_public_key(path: Path) -> bytes:
    """Read the 32 bytes of a public Ed25519 key in PEM, or raise `SpecificationError`."""
    content = _read_setting_file(path, "ASSAY_SIGNING_PUBLIC_KEY_FILE")
    try:
        key = load_pem_public_key(content)
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise SpecificationError(f"ASSAY_SIGNING_PUBLIC_KEY_FILE: {path} holds no Ed25519 public key in PEM")
    return key.public_bytes_raw()


def _read_setting_file(path: Path, setting: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SpecificationError(f"{setting}: {path} cannot be read: {error.strerror}") from None
