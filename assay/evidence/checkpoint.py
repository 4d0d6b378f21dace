"""Checkpoint of the transparency log of ratings: its size and head hash as a signed note, which witnesses can verify.

The text has three lines (the log's name, its size, its root), an empty line, and one line for each
signature. Monitors of other transparency logs can read it without knowing anything of ratings.

References
----------
.. [1] C2SP tlog-checkpoint and signed-note, https://c2sp.org/tlog-checkpoint, https://c2sp.org/signed-note
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.errors import RecordError
from assay.evidence.dsse import Sign
from assay.evidence.merkle import HASH_BYTES

DASH = "\u2014"
"""A signature's line begins with an em dash."""

ED25519 = b"\x01"
"""Type byte of an Ed25519 signature; it is part of the hash that identifies a key."""

HINT_BYTES = 4

MOST_DIGITS = 18
"""Maximum number of digits of a size, so that it fits into the integers of databases."""

_CONTROL_CHARACTER = re.compile(r"[\x00-\x09\x0b-\x1f]")

IsSignature = Callable[[bytes, bytes, bytes], bool]
"""Function that verifies a signature: ``is_signature(public_key, signature, message)`` returns whether it is valid."""


class BadCheckpoint(RecordError):
    """The note is not a checkpoint of this log, or lacks a valid signature."""

    code = "bad-checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """State of a log: its name, number of entries, and head hash (32 bytes).

    `extension` has further lines, each with its line end; our own log has none.
    """

    origin: str
    size: int
    root: bytes
    extension: str = ""

    def text(self) -> str:
        """Return the text that is signed: the lines with the name, the size and the root, and any extension."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n{self.extension}"

    def signed(self, public_key: bytes, sign: Sign) -> str:
        """Return the note with its Ed25519 signature (`sign` returns 64 bytes)."""
        signature = key_hint(self.origin, public_key) + sign(self.text().encode())
        return f"{self.text()}\n{DASH} {self.origin} {base64.b64encode(signature).decode()}\n"


def key_hint(name: str, public_key: bytes, kind: bytes = ED25519) -> bytes:
    """Return the four bytes that identify the signing key in a note; `kind` is the type byte of its signatures."""
    return hashlib.sha256(name.encode() + b"\n" + kind + public_key).digest()[:HINT_BYTES]


def read_note(note: str) -> tuple[Checkpoint, list[str]]:
    """Read a note without verifying it: the checkpoint, and its signature lines without line ends.

    Raise `BadCheckpoint` if the note is not a checkpoint.
    """
    if _CONTROL_CHARACTER.search(note):
        raise BadCheckpoint("a note must not contain control characters other than line ends")
    text, _, signatures = note.partition("\n\n")
    return _parse_checkpoint(text), [line for line in signatures.split("\n") if line.startswith(f"{DASH} ")]


def is_signed_by(checkpoint: Checkpoint, lines: Sequence[str], public_key: bytes, is_signature: IsSignature) -> bool:
    """Return whether one of a note's signature `lines` signs the checkpoint in its log's name, with the given key."""
    line_start = f"{DASH} {checkpoint.origin} "
    for line in lines:
        if line.startswith(line_start):
            signature_bytes = decode_base64(line.removeprefix(line_start))
            hint, signature = signature_bytes[:HINT_BYTES], signature_bytes[HINT_BYTES:]  # the hint names the key
            hint_matches = hint == key_hint(checkpoint.origin, public_key)
            if hint_matches and is_signature(public_key, signature, checkpoint.text().encode()):
                return True
    return False


def _parse_checkpoint(text: str) -> Checkpoint:
    """Parse the signed text of a note; raise `BadCheckpoint` if it is not exactly the text of a checkpoint."""
    lines = text.split("\n")
    if len(lines) < 3 or not (lines[1].isascii() and lines[1].isdigit()):
        raise BadCheckpoint("a checkpoint has three lines: the log's name, its size and its root in base64")
    root = decode_base64(lines[2])
    if len(root) != HASH_BYTES:
        raise BadCheckpoint(f"the root has {len(root)} bytes and not {HASH_BYTES}")
    extension = "".join(f"{line}\n" for line in lines[3:])
    checkpoint = Checkpoint(lines[0], int(lines[1][:MOST_DIGITS]), root, extension)  # a longer size is refused below
    if not checkpoint.origin or checkpoint.text() != text + "\n":
        raise BadCheckpoint("the checkpoint is not in the form that was signed; was a line or a space added?")
    return checkpoint


def decode_base64(text: str) -> bytes:
    """Decode base64 of a note; raise `BadCheckpoint` if the text is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadCheckpoint(f"{text[:60]!r} is not base64") from None
