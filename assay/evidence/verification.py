"""Verification of a certificate: recompute every digest and verify every signature.

Each check has its own result, so that the reader knows which digest differs. The caller supplies the keys
and the cryptography.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.canonical import canonical_json, commitment_of, leaf_hash, rating_digest, sealed_part, target_digest
from assay.document import Json, RatingDocument, as_json, read_rating
from assay.errors import CertificateError
from assay.evidence import statement
from assay.evidence.dsse import IsSignature, OpenedEnvelope, signer_of
from assay.evidence.export import Export
from assay.evidence.merkle import proves_inclusion

BESIDE_THE_EVIDENCE = frozenset({"id", "rated_at", "expires_at", "engine_version", "rerated_from", "salt"})
"""Keys of a rating document that do not follow from the evidence, so that a replay cannot reproduce them."""

PROOF_KEYS = ("rating", "seq", "observation", "leaf_index", "tree_size", "proof", "evidence_digest", "attestation")
"""Keys of the proof of an observation; `seq` is not signed, and ``proof`` has hashes in hexadecimal."""

ROUNDING = 1e-9
"""Tolerated difference of two numbers (relative if they are above 1), because processors round differently."""


LARGEST_FLOAT = sys.float_info.max
"""Limit above which an integer of JSON has no difference to a float."""


@dataclass(frozen=True)
class Check:
    """Result of one check of a certificate or an export."""

    name: str
    wrong: str | None
    """Sentence that says what differs; ``None`` if the check passed."""
    found: str
    """The digest, key or value that was checked, as users see it; empty if the check failed."""

    @property
    def ok(self) -> bool:
        """Whether the check passed."""
        return self.wrong is None


def check_statements(rating: Json, envelopes: Sequence[OpenedEnvelope], is_signature: IsSignature) -> Iterator[Check]:
    """Check each statement's signature, that statements and rating agree, and the digests of rating and target."""
    for number, envelope in enumerate(envelopes, start=1):
        yield check_signature(f"signature {number}", envelope, is_signature)
    yield _check_target(rating)
    statements = [stated_in(envelope) for envelope in envelopes]
    rating_statement = next((claim for claim in statements if claim.get("predicateType") == statement.RATING), None)
    if rating_statement is not None:
        yield _check_digest("rating", rating_digest(rating), rating_statement["predicate"].get("rating_digest"))
    if statements and statements != _read_statements(rating):
        yield Check("statements", wrong="the certificate states something else than the rating's document", found="")


def check_signature(name: str, envelope: OpenedEnvelope, is_signature: IsSignature) -> Check:
    """Verify that one of the keys that claim to have signed an envelope did so."""
    try:
        return Check(name, wrong=None, found=f"by the key {signer_of(envelope, is_signature)}")
    except CertificateError as error:
        return Check(name, wrong=f"{name}: {error}", found="")


def stated_in(envelope: OpenedEnvelope) -> Json:
    """Return the in-toto statement in an envelope; raise `CertificateError` if there is none."""
    try:
        parsed_statement = json.loads(envelope.payload)
    except (ValueError, RecursionError):
        parsed_statement = None
    is_statement = isinstance(parsed_statement, dict) and isinstance(parsed_statement.get("predicate"), dict)
    if envelope.payload_type != statement.PAYLOAD_TYPE or not is_statement:
        raise CertificateError("an envelope of the certificate does not contain an in-toto statement")
    return dict(parsed_statement)


def check_commitment(rating: Json) -> Check | None:
    """Check that experiment and seed are those to which the job committed beforehand; ``None`` if it did not commit."""
    commitment = rating.get("commitment")
    if not isinstance(commitment, Mapping):
        return None
    digest = commitment_of(rating.get("experiment"), rating.get("seed"), str(commitment.get("nonce")))
    mismatch = (
        f"experiment, seed and nonce have the digest {digest}, and the job committed to {commitment.get('digest')}"
    )
    return Check("commitment", wrong=None if digest == commitment.get("digest") else mismatch, found=digest)


def check_unmasked(rating: Json, unmasked: Json) -> Check:
    """Check the unmasked rating (for its owner) against the digest that the signed, masked rating states."""
    mask = rating.get("masked")
    stated_digest = mask.get("unmasked") if isinstance(mask, Mapping) else None
    return _check_digest("unmasked rating", rating_digest(unmasked), stated_digest)


def check_evidence(export: Export) -> Check:
    """Compare the digest of all observations with the digest in the rating."""
    check = _check_digest("evidence", export.evidence.head(), export.rating.get("evidence_digest"))
    return check if check.wrong else replace(check, found=f"{check.found} over {export.evidence.size} observations")


def check_seal(export: Export, is_signature: IsSignature) -> Check:
    """Check the signature of an export's seal, whose digest `Export.observations` checked; it may be unsigned."""
    if export.seal is None:
        return Check("seal", wrong="the file was not read to its end", found="")
    if not export.seal.signatures and not export.envelopes:
        return Check("seal", wrong=None, found="by nobody: the file is whole, and anyone may have written it")
    return check_signature("seal", export.seal, is_signature)


def check_replay(rating: Json, replayed: RatingDocument) -> Iterator[Check]:
    """Compare a rating with its replay: letter, probabilities, then the whole document.

    Numbers may differ by `ROUNDING`: processors add up in different orders. The last check says how many differ.
    """
    original, replay = _comparable_part(rating), _comparable_part(as_json(replayed))
    for name in ("letter", "probabilities"):
        agrees = _roundings(original.get(name), replay.get(name)) is not None
        in_file = f"{_brief(rating.get(name))} in the file"
        wrong = None if agrees else f"{in_file}, {_brief(replay.get(name))} replayed"
        yield Check(f"replayed {name}", wrong, found=in_file)
    names = sorted({*original, *replay})
    roundings_by_name = {name: _roundings(original.get(name), replay.get(name)) for name in names}
    differing = [name for name, roundings in roundings_by_name.items() if roundings is None]
    wrong = f"the replay differs in {', '.join(differing)}" if differing else None
    errors = [error for roundings in roundings_by_name.values() if roundings is not None for error in roundings]
    agreement = "the same to the last bit"
    if errors:
        agreement = f"the same but for how this processor rounds: {len(errors)} numbers, by {max(errors):.0e} at most"
    original_version, engine = rating.get("engine_version"), f"engine {replayed.engine_version}"
    if original_version != replayed.engine_version:
        engine += f" here, {original_version} then"
    yield Check("replayed document", wrong, f"{agreement}; {engine}")


def check_proof(proof: Json) -> Check:
    """Check that an observation is in the evidence with the digest in `proof`; raise if `proof` has unknown keys."""
    if unknown_keys := sorted(proof.keys() - PROOF_KEYS):
        raise CertificateError(f"the file has members that no proof has and nobody signed: {', '.join(unknown_keys)}")
    try:
        leaf = leaf_hash(canonical_json(proof["observation"]))
        path = [bytes.fromhex(step) for step in proof["proof"]]
        head = bytes.fromhex(str(proof["evidence_digest"]).removeprefix("sha256:"))
        is_included = proves_inclusion(leaf, int(proof["leaf_index"]), int(proof["tree_size"]), path, head)
    except (KeyError, OverflowError, TypeError, ValueError):
        raise CertificateError("this is not the proof of an observation, as the service returns it") from None
    wrong = None if is_included else f"the hashes do not lead from the observation to {proof['evidence_digest']}"
    return Check("observation", wrong, f"number {proof['leaf_index']} of {proof['tree_size']} in the evidence")


def _check_target(rating: Json) -> Check:
    target = rating.get("target")
    if not isinstance(target, Mapping):
        return Check("target", wrong="the rating names no target", found="")
    return _check_digest("target", target_digest(target), target.get("digest"))


def _check_digest(name: str, digest: str, expected: object) -> Check:
    wrong = None if digest == expected else f"the {name} digest is {digest}, and {str(expected)[:100]} was sealed"
    return Check(name, wrong, digest)


def _comparable_part(document: Json) -> Json:
    """Return the part of a rating document that a replay must reproduce, as plain JSON."""
    compared_fields = {name: value for name, value in sealed_part(document).items() if name not in BESIDE_THE_EVIDENCE}
    return dict(json.loads(canonical_json(compared_fields)))


def _roundings(first: Any, second: Any) -> list[float] | None:
    """Return all rounding differences between two documents; ``None`` if anything else differs."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        inner_roundings = [_roundings(value, second[name]) for name, value in first.items()]
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        inner_roundings = [_roundings(*pair) for pair in zip(first, second, strict=True)]
    elif first == second and isinstance(first, bool) == isinstance(second, bool):
        return []
    elif {type(first), type(second)} in ({float}, {float, int}) and max(abs(first), abs(second)) <= LARGEST_FLOAT:
        difference = abs(first - second) / max(1.0, abs(first), abs(second))
        return [difference] if difference <= ROUNDING else None
    else:
        return None
    if None in inner_roundings:  # a part differs in more than rounding
        return None
    return [difference for part in inner_roundings for difference in part or ()]


def _read_statements(rating: Json) -> list[Json]:
    try:
        return statement.statements(read_rating(rating))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CertificateError("the rating in the file is not the document of a rating") from None


def _brief(value: object) -> str:
    return json.dumps(value, sort_keys=True)[:200]
