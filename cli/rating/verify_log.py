"""Verification of a checkpoint of the log: its signature, the cosignatures of witnesses, and its growth, offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from assay.errors import CertificateError, SpecificationError
from assay.evidence.checkpoint import Checkpoint, is_signed_by, read_note
from assay.evidence.cosignature import COSIGNATURE, VerifierKey, cosignature_in
from assay.evidence.merkle import proves_growth
from assay.evidence.verification import Check
from cli.rating.compare import read_json
from store.core.clock import iso
from store.security.signing import is_signature

MOST_NOTE_BYTES = 1 << 20
"""Maximum size of a file with a checkpoint."""


@dataclass(frozen=True)
class LogRules:
    """Rules for a checkpoint: `required` of the `witnesses` cosigned it, and it extends the checkpoint in `earlier`.

    `proof` has the answer of ``GET /v1/log/proof/consistency``, which proves the extension.
    """

    witnesses: tuple[VerifierKey, ...] = ()
    required: int = 0
    earlier: Path | None = None
    proof: Path | None = None

    @classmethod
    def read(cls, witnesses: Sequence[str], required: int | None, earlier: Path | None, proof: Path | None) -> Self:
        """Read the rules from the options of the command; by default every named witness is required."""
        keys = tuple(VerifierKey.read(witness, COSIGNATURE) for witness in dict.fromkeys(witnesses))
        if required is not None and required > len(keys):
            raise SpecificationError(
                f"--witnesses {required} needs that many keys of witnesses, but {len(keys)} are given with --witness"
            )
        if proof is not None and earlier is None:
            raise SpecificationError("--proof needs the earlier checkpoint that you kept: --checkpoint FILE")
        return cls(keys, len(keys) if required is None else required, earlier, proof)


def read_checkpoint(path: Path, content: bytes) -> tuple[Checkpoint, list[str]]:
    """Read a checkpoint from ``GET /v1/log/checkpoint``, or from the JSON of ``GET /v1/log``; raise `BadCheckpoint`."""
    if content[:1] == b"{":
        document = read_json(path)
        note = document.get("checkpoint") if isinstance(document, dict) else None
        if not isinstance(note, str):
            raise CertificateError(f"{path} contains no checkpoint; GET /v1/log/checkpoint returns one")
        return read_note(note)
    return read_note(content.decode("utf-8", "replace"))


def check_checkpoint(path: Path, content: bytes, keys: Mapping[str, bytes], rules: LogRules) -> Iterator[Check]:
    """Check that the agency signed a checkpoint, that witnesses cosigned it, and that the log only grew."""
    checkpoint, lines = read_checkpoint(path, content)
    yield _signed("signature", checkpoint, lines, keys)
    missing = list[str]()
    for witness in rules.witnesses:
        cosignature = cosignature_in(checkpoint.text(), lines, witness, is_signature)
        if cosignature is None:
            missing.append(witness.name)
        else:
            yield Check("cosignature", None, f"by {witness.name} at {iso(cosignature.time_s * 1000)}")
    if missing:
        count = len(rules.witnesses) - len(missing)
        summary = f"{count} of {rules.required} required cosignatures; none by {', '.join(missing)}"
        yield Check("cosignatures", summary if count < rules.required else None, summary)
    if rules.earlier is not None:
        yield from _growth(rules, rules.earlier, checkpoint, keys)
    yield Check("says", None, f"the log {checkpoint.origin} has the size {checkpoint.size}")


def _signed(name: str, checkpoint: Checkpoint, lines: Sequence[str], keys: Mapping[str, bytes]) -> Check:
    for key_id, key in keys.items():
        if is_signed_by(checkpoint, lines, key, is_signature):
            return Check(name, None, f"by the key {key_id}")
    return Check(name, f"{name}: no key of the key set signed this checkpoint of {checkpoint.origin}", "")


def _growth(rules: LogRules, kept_file: Path, checkpoint: Checkpoint, keys: Mapping[str, bytes]) -> Iterator[Check]:
    """Check that the log of a checkpoint begins with the log of the kept checkpoint."""
    try:
        content = kept_file.read_bytes()[:MOST_NOTE_BYTES]
    except OSError as unreadable:
        raise SpecificationError(f"{kept_file} cannot be read: {unreadable.strerror}") from None
    earlier, lines = read_checkpoint(kept_file, content)
    yield _signed("kept signature", earlier, lines, keys)
    wrong, before = None, f"the checkpoint of size {earlier.size} in {kept_file}"
    if earlier.origin != checkpoint.origin:
        wrong = f"{kept_file} is a checkpoint of another log, {earlier.origin}"
    elif earlier.size > checkpoint.size:
        wrong = (
            f"the log has the size {checkpoint.size}, less than {before}: entries were removed, or this one is older"
        )
    elif earlier.size == checkpoint.size and earlier.root != checkpoint.root:
        wrong = f"the log was forked: its root is another than that of {before}"
    elif 0 < earlier.size < checkpoint.size and not _proved(rules.proof, earlier, checkpoint):
        wrong = f"the log was forked: the proof does not lead from {before} to the size {checkpoint.size}"
    yield Check("growth", wrong, f"extends {before}")


def _proved(proof: Path | None, earlier: Checkpoint, checkpoint: Checkpoint) -> bool:
    if proof is None:
        raise SpecificationError(
            "the log has grown since; give the proof with --proof FILE: "
            f"GET /v1/log/proof/consistency?first={earlier.size}&second={checkpoint.size}"
        )
    document = read_json(proof)
    try:
        path = [bytes.fromhex(step.removeprefix("sha256:")) for step in document["path"]]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise SpecificationError(f"{proof} is not a proof of GET /v1/log/proof/consistency") from None
    return proves_growth(earlier.size, checkpoint.size, earlier.root, checkpoint.root, path)
