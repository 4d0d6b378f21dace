"""Reader of checkpoints (signed heads) of a log, as a witness reads them."""

from __future__ import annotations

from assay.evidence.checkpoint import BadCheckpoint, Checkpoint, IsSignature, is_signed_by, read_note


def open_checkpoint(note: str, public_key: bytes, is_signature: IsSignature) -> Checkpoint:
    """Read a signed note and verify its signature.

    Parameters
    ----------
    note : str
        As `Checkpoint.signed` writes it; signatures of others (witnesses) may follow.

    Raises
    ------
    BadCheckpoint
        If the note is not a checkpoint, or is not signed by the key.
    """
    checkpoint, lines = read_note(note)
    if not is_signed_by(checkpoint, lines, public_key, is_signature):
        raise BadCheckpoint(f"the checkpoint of {checkpoint.origin} has no signature by the given key")
    return checkpoint
