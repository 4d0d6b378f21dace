"""Verifier keys and cosignatures of checkpoints, and the request that asks a witness for a cosignature.

A witness signs a log's head only if it extends the head that it signed before. A log that shows different histories
to different readers therefore cannot get both signed by the same witness.

References
----------
.. [1] C2SP tlog-witness, tlog-cosignature and signed-note, https://c2sp.org
"""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from assay.errors import SpecificationError
from assay.evidence.checkpoint import DASH, HINT_BYTES, BadCheckpoint, IsSignature, decode_base64, key_hint
from assay.evidence.dsse import Sign
from assay.evidence.jwks import KEY_BYTES
from assay.evidence.merkle import HASH_BYTES

COSIGNATURE = b"\x04"
"""Type byte of an Ed25519 cosignature; it is part of the hash that identifies a key."""

TIME_BYTES = 8
MOST_PROOF_LINES = 63
"""Maximum number of hashes of a consistency proof (tlog-witness)."""

_OLD_SIZE = re.compile(r"old (0|[1-9][0-9]{0,17})")


@dataclass(frozen=True)
class VerifierKey:
    """A public key with its name and use, written ``name+id+key`` (signed-note, "vkey").

    `kind` is `ED25519` for the key of a log and `COSIGNATURE` for that of a witness; `public_key` has 32 bytes.
    """

    name: str
    kind: bytes
    public_key: bytes

    @classmethod
    def read(cls, line: str, kind: bytes) -> Self:
        """Parse a verifier key; raise `SpecificationError` if it is malformed, not of `kind`, or has a wrong id."""
        name, _, encoded_key = line.partition("+")
        key_id, _, key_text = encoded_key.partition("+")
        try:
            kind_and_key = base64.b64decode(key_text, validate=True)
        except (binascii.Error, ValueError):
            kind_and_key = b""  # refused below, because it has no key
        verifier = cls(name, kind_and_key[:1], kind_and_key[1:])
        if not name or len(verifier.public_key) != KEY_BYTES or verifier.key_id.hex() != key_id.lower():
            raise SpecificationError(f"{line[:200]!r} is not a verifier key: NAME+ID+KEY, with the id of this key")
        if verifier.kind != kind:
            raise SpecificationError(
                f"the verifier key {line[:200]!r} is of type {verifier.kind.hex()} and not {kind.hex()}; "
                "01 is the key of a log, and 04 that of a witness"
            )
        return verifier

    @property
    def key_id(self) -> bytes:
        """The four bytes that identify the key in a note."""
        return key_hint(self.name, self.public_key, self.kind)

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(self.kind + self.public_key).decode()}"


@dataclass(frozen=True)
class Cosignature:
    """A verified cosignature: its line in the note, and the time that the witness states, in seconds since 1970."""

    line: str
    time_s: int


def cosign(text: str, witness: VerifierKey, sign: Sign, time_s: int) -> str:
    """Return the line, with its line end, by which a witness cosigns a checkpoint's text at `time_s` (s since 1970)."""
    cosignature = witness.key_id + time_s.to_bytes(TIME_BYTES, "big") + sign(_signed_message(text, time_s))
    return f"{DASH} {witness.name} {base64.b64encode(cosignature).decode()}\n"


def cosignature_in(
    text: str, signature_lines: Sequence[str], witness: VerifierKey, is_signature: IsSignature
) -> Cosignature | None:
    """Return the cosignature by a witness among the signature lines of a note; ``None`` if it has none.

    Lines of unknown keys are ignored, as the specification requires. Raise `BadCheckpoint` if a line names the key of
    the witness, and its signature is invalid.
    """
    line_start = f"{DASH} {witness.name} "
    for line in signature_lines:
        cosignature = decode_base64(line.removeprefix(line_start)) if line.startswith(line_start) else b""
        if cosignature[:HINT_BYTES] != witness.key_id:  # another witness, or another key of the same name
            continue
        time_s = int.from_bytes(cosignature[HINT_BYTES : HINT_BYTES + TIME_BYTES], "big")
        if is_signature(witness.public_key, cosignature[HINT_BYTES + TIME_BYTES :], _signed_message(text, time_s)):
            return Cosignature(line, time_s)
        raise BadCheckpoint(f"the cosignature of {witness.name} does not belong to this checkpoint")
    return None


@dataclass(frozen=True)
class AddCheckpoint:
    """Request to a witness for a cosignature: size of the log it last saw, proof that the log grew, signed note."""

    old: int
    proof: tuple[bytes, ...]
    note: str

    def written(self) -> str:
        """Return the request as text, the body of an HTTP POST."""
        return "\n".join([f"old {self.old}", *(base64.b64encode(step).decode() for step in self.proof), "", self.note])

    @classmethod
    def read(cls, body: bytes) -> Self:
        """Parse the body of a request; raise `BadCheckpoint` if it is malformed."""
        try:
            head, _, note = body.decode("utf-8").partition("\n\n")
        except UnicodeDecodeError:
            raise BadCheckpoint("the request is not UTF-8 text") from None
        first_line, *proof_lines = head.split("\n")
        size_match = _OLD_SIZE.fullmatch(first_line)
        if size_match is None:
            raise BadCheckpoint("a request begins with the line `old N`, where N is the size of the older head")
        if len(proof_lines) > MOST_PROOF_LINES:
            raise BadCheckpoint(f"a consistency proof has at most {MOST_PROOF_LINES} lines")
        proof = tuple(map(decode_base64, proof_lines))
        if any(len(node) != HASH_BYTES for node in proof):
            raise BadCheckpoint(f"a hash of the consistency proof does not have {HASH_BYTES} bytes")
        return cls(int(size_match[1]), proof, note)


def _signed_message(text: str, time_s: int) -> bytes:
    return f"cosignature/v1\ntime {time_s}\n{text}".encode()
