"""`assay verify`: check an export, a certificate, a proof or a checkpoint of the log, offline.

Every digest is computed again, and every signature is checked with a public key. Without `--keys`, the keys
in the file are used: this shows that the file is unchanged, but not who wrote it.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, Self

from rich.console import Console

from assay.document import Json, JsonObject, RatingDocument, read_rating
from assay.errors import CertificateError, RecordError, SpecificationError
from assay.evidence.checkpoint import DASH, Checkpoint, is_signed_by, read_note
from assay.evidence.cosignature import COSIGNATURE, VerifierKey, cosignature_in
from assay.evidence.dsse import OpenedEnvelope, UnknownSigner, opened
from assay.evidence.export import LONGEST_LINE, Export, read_export, read_observation
from assay.evidence.jwks import read_jwks
from assay.evidence.merkle import proves_growth
from assay.evidence.statement import RATING
from assay.evidence.verification import (
    Check,
    check_commitment,
    check_evidence,
    check_proof,
    check_replay,
    check_seal,
    check_signature,
    check_statements,
    check_unmasked,
    stated_in,
)
from assay.methods import rating_of
from assay.methods.outcomes.recount import check_recount, experiment_without_counts
from assay.model import Observation
from assay.rating.rerating import rerate, rules_of
from cli.rating.audit import read_and_count
from cli.rating.compare import read_json
from cli.terminal import escape
from store.core.columns import iso
from store.ratings.experiment_json import parse_method
from store.security.signing import is_signature

MOST_NOTE_BYTES = 1 << 20
"""Maximum size of a file with a checkpoint."""


@dataclass(frozen=True)
class LogRules:
    """Rules for a checkpoint: at least `required` of `witnesses` cosigned it, and it extends the one in `earlier`.

    `proof` has the answer of ``GET /v1/log/proof/consistency``, which proves the extension.
    """

    witnesses: tuple[VerifierKey, ...] = ()
    required: int = 0
    earlier: Path | None = None
    proof: Path | None = None

    @classmethod
    def read(cls, witnesses: Sequence[str], required: int | None, earlier: Path | None, proof: Path | None) -> Self:
        """Read the rules from the options of the command; by default every named witness is required."""
        witness_keys = tuple(VerifierKey.read(witness, COSIGNATURE) for witness in dict.fromkeys(witnesses))
        witness_count = len(witness_keys)
        if required is not None and required > witness_count:
            requirement = f"--witnesses {required} needs that many keys of witnesses"
            raise SpecificationError(f"{requirement}, but {witness_count} are given with --witness")
        if proof is not None and earlier is None:
            raise SpecificationError("--proof needs the earlier checkpoint that you kept: --checkpoint FILE")
        return cls(witness_keys, witness_count if required is None else required, earlier, proof)


def read_checkpoint(path: Path, content: bytes) -> tuple[Checkpoint, list[str]]:
    """Read a checkpoint (``GET /v1/log/checkpoint``, or JSON of ``GET /v1/log``) and the lines of its signatures."""
    if content[:1] == b"{":
        document = read_json(path)
        note = document.get("checkpoint") if isinstance(document, dict) else None
        if not isinstance(note, str):
            raise CertificateError(f"{path} contains no checkpoint; GET /v1/log/checkpoint returns one")
        return read_note(note)
    return read_note(content.decode("utf-8", "replace"))


def check_checkpoint(path: Path, content: bytes, keys: Mapping[str, bytes], rules: LogRules) -> Iterator[Check]:
    """Check the agency's signature of a checkpoint and, by `rules`, cosignatures of witnesses and the log's growth."""
    checkpoint, signature_lines = read_checkpoint(path, content)
    yield _check_signed("signature", checkpoint, signature_lines, keys)
    missing_witnesses = list[str]()
    for witness in rules.witnesses:
        if (cosignature := cosignature_in(checkpoint.text(), signature_lines, witness, is_signature)) is None:
            missing_witnesses.append(witness.name)
        else:
            yield Check("cosignature", wrong=None, found=f"by {witness.name} at {iso(cosignature.time_s * 1000)}")
    if missing_witnesses:
        cosigned_count = len(rules.witnesses) - len(missing_witnesses)
        summary = f"{cosigned_count} of {rules.required} required cosignatures; none by {', '.join(missing_witnesses)}"
        yield Check("cosignatures", wrong=summary if cosigned_count < rules.required else None, found=summary)
    if rules.earlier is not None:
        yield from _check_growth(rules, rules.earlier, checkpoint, keys)
    yield Check("says", wrong=None, found=f"the log {checkpoint.origin} has the size {checkpoint.size}")


def _check_signed(
    name: str, checkpoint: Checkpoint, signature_lines: Sequence[str], keys: Mapping[str, bytes]
) -> Check:
    """Return the check `name`: whether one of the keys made one of the signatures of a checkpoint."""
    for key_id, key in keys.items():
        if is_signed_by(checkpoint, signature_lines, key, is_signature):
            return Check(name, wrong=None, found=f"by the key {key_id}")
    return Check(name, wrong=f"{name}: no key of the key set signed this checkpoint of {checkpoint.origin}", found="")


def _check_growth(rules: LogRules, file: Path, checkpoint: Checkpoint, keys: Mapping[str, bytes]) -> Iterator[Check]:
    """Check that the log of `checkpoint` begins with all entries of the log at the earlier checkpoint in `file`."""
    try:
        content = file.read_bytes()[:MOST_NOTE_BYTES]
    except OSError as error:
        raise SpecificationError(f"{file} cannot be read: {error.strerror}") from None
    earlier, signature_lines = read_checkpoint(file, content)
    yield _check_signed("kept signature", earlier, signature_lines, keys)
    fault = None
    earlier_title = f"the checkpoint of size {earlier.size} in {file}"
    if earlier.origin != checkpoint.origin:
        fault = f"{file} is a checkpoint of another log, {earlier.origin}"
    elif earlier.size > checkpoint.size:
        smaller_size = f"the size {checkpoint.size}, less than {earlier_title}"
        fault = f"the log has {smaller_size}: entries were removed, or this one is older"
    elif earlier.size == checkpoint.size and earlier.root != checkpoint.root:
        fault = f"the log was forked: its root is another than that of {earlier_title}"
    # every log extends an empty log
    elif 0 < earlier.size < checkpoint.size and not _is_consistent(rules.proof, earlier, checkpoint):
        fault = f"the log was forked: the proof does not lead from {earlier_title} to the size {checkpoint.size}"
    yield Check("growth", wrong=fault, found=f"extends {earlier_title}")


def _is_consistent(proof: Path | None, earlier: Checkpoint, checkpoint: Checkpoint) -> bool:
    """Return whether the file `proof` shows that the log of `checkpoint` begins with that of `earlier`."""
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


console = Console(highlight=False, soft_wrap=True)

MOST_BYTES = 16 * 2**20
"""Maximum size of a certificate, proof or head of the log; an export, read line by line, may have any size."""

SIGNATURE_LINE = f"\n\n{DASH} ".encode()
"""Text before the signatures of a signed note (a checkpoint of the log); no other kind of file has it."""

ONE_DOCUMENT = frozenset({"payload", "attestation", "checkpoint"})
"""Members by which files with a single JSON document are recognised."""


class NotVerified(CertificateError):
    """A file differs from its sealed content."""

    code = "not-verified"

    def __init__(self, file: Path, wrong: Iterable[str]) -> None:
        self.wrong = tuple(wrong)
        super().__init__(f"{file} does not verify: {'; '.join(self.wrong)}")


ANY_LOG = LogRules()
"""No rule: a checkpoint needs the agency's signature only."""


@dataclass(frozen=True)
class RecordedFile:
    """A file of recorded decisions, with its encoding, decimal sign and sheet where they are not the usual ones."""

    path: Path
    encoding: str | None = None
    decimal: Literal["point", "comma"] | None = None
    sheet: str | None = None

    def check(self, document: Json) -> Iterator[Check]:
        """Count the people of the file again, and compare its digest and every count with the rating."""
        rating = rating_of(document)
        method = parse_method(experiment_without_counts(rating))
        columns = method.references().decisions  # the file's columns by which people are counted
        assert columns is not None  # noqa: S101  a method without its table names its columns
        counts = read_and_count(self.path, columns, encoding=self.encoding, decimal=self.decimal, sheet=self.sheet)
        yield from check_recount(rating, method, counts, self.path.name)


@dataclass(frozen=True)
class Keys:
    """Public keys by thumbprint; `trusted` if they did not come with the file."""

    keys: Mapping[str, bytes]
    trusted: bool

    def has_signed(self, key_id: str, signature: bytes, message: bytes) -> bool:
        """Return whether the key `key_id` made a signature; raise `UnknownSigner` if it is not among these keys."""
        if key_id not in self.keys:
            raise UnknownSigner(key_id)
        return is_signature(self.keys[key_id], signature, message)


def verify_file(
    file: Path, *, keys: Path | None, replay: bool, log: LogRules = ANY_LOG, recorded: RecordedFile | None = None
) -> None:
    """Check a file, and print what was found.

    The file is an export or, with a trusted JSON Web Key Set in `keys`, a certificate (``attestation.json``), the proof
    of an observation, or a checkpoint of the log, which must have the cosignatures and growth that `log` requires. For
    an export, `replay` also rates the recorded observations again and compares the results, and `recorded` names a file
    of decisions to count again.

    Raise `CertificateError`, which names all differences, if anything was changed since it was sealed, and
    `SpecificationError` if a file cannot be read, or keys are needed and were not given.
    """
    trusted_keys = None if keys is None else Keys(read_jwks(read_json(keys)), trusted=True)
    try:
        content = file.open("rb")
    except OSError as error:
        raise SpecificationError(f"{file} cannot be read: {error.strerror}") from None
    differences = list[str]()
    try:
        with content:
            for check in _checks(content, file, trusted_keys, replay=replay, log=log, recorded=recorded):
                mark = "[green]ok [/green]" if check.ok else "[red]NOT[/red]"
                console.print(f"{mark} {escape(check.name):<24}{escape(check.wrong or check.found)}")
                if check.wrong is not None:
                    differences.append(check.wrong)
    except (CertificateError, RecordError) as error:  # differences found before this error are reported as well
        differences.append(str(error))
    if differences:
        raise NotVerified(file, differences)
    console.print(f"{escape(str(file))} is as it was sealed.")


def _checks(
    content: BinaryIO, file: Path, trusted: Keys | None, *, replay: bool, log: LogRules, recorded: RecordedFile | None
) -> Iterator[Check]:
    """Check an export, a certificate, a proof or a checkpoint; refuse options that do not fit this kind of file."""
    document = _read_single_document(content)  # reads the content, which is then read again from its start
    content.seek(0)
    is_note = document is None and SIGNATURE_LINE in content.read(MOST_NOTE_BYTES)  # a checkpoint as signed text
    if log != ANY_LOG and not is_note and (document is None or "checkpoint" not in document):
        reason = f"{file} is not a checkpoint, which --witness and --checkpoint need"
        raise SpecificationError(f"{reason}; GET /v1/log/checkpoint returns one")
    content.seek(0)
    if document is None and not is_note:
        lines = iter(partial(content.readline, LONGEST_LINE + 1), b"")
        yield from _check_export(read_export(lines), trusted, replay=replay, recorded=recorded)
        return
    if replay or recorded is not None:
        raise SpecificationError(f"{file} contains no observations to replay; GET /v1/ratings/{{id}}/export.jsonl does")
    if trusted is None:
        raise SpecificationError(f"{file} contains no keys; give those of the agency with --keys FILE")
    if document is None or "checkpoint" in document:
        yield from check_checkpoint(file, content.read(MOST_NOTE_BYTES), trusted.keys, log)
        return
    is_proof = "attestation" in document
    yield from _check_proof(document, trusted) if is_proof else _check_statement(opened(document), trusted)


def _check_export(
    export: Export, trusted_keys: Keys | None, *, replay: bool, recorded: RecordedFile | None
) -> Iterator[Check]:
    """Check an export's signatures, masked counts, evidence and seal, and show whose keys made the signatures."""
    keys = trusted_keys or Keys(read_jwks(export.keys) if export.keys["keys"] else {}, trusted=False)
    if trusted_keys is not None and not export.envelopes:
        yield Check("signature", wrong="the export has no signature", found="")
    yield from check_statements(export.rating, export.envelopes, keys.has_signed)
    if export.unmasked is not None:
        yield check_unmasked(export.rating, export.unmasked)
    complete_rating = export.unmasked or export.rating
    if (commitment := check_commitment(complete_rating)) is not None:
        yield commitment  # of the job, before its calls, to an experiment and a seed
    # reads to the end of the file, where the seal is, even if no observation is needed
    raw_observations = deque(export.observations(), maxlen=None if replay else 0)
    evidence = check_evidence(export)
    yield evidence
    if replay and evidence.ok:
        if complete_rating.get("masked"):
            raise SpecificationError("small counts of people are masked in this export; its owner's can be replayed")
        yield from check_replay(complete_rating, _rate_again(complete_rating, map(read_observation, raw_observations)))
    if recorded is not None:
        yield from recorded.check(complete_rating)
    yield check_seal(export, keys.has_signed)
    yield Check("says", wrong=None, found=_rating_summary(export.rating))
    _print_trust(export, keys)


def _rate_again(document: Json, observations: Iterable[Observation]) -> RatingDocument:
    """Rate the observations again, by the rules of the methodology that the rating names."""
    rating = rating_of(document)
    if not rating.experiment or rating.methodology.version is None or rating.seed is None:
        raise CertificateError("the rating in the file lacks its experiment, its methodology or its seed")
    return rerate(rating, parse_method(rating.experiment), observations, rules_of(rating))


def _read_single_document(content: BinaryIO) -> JsonObject | None:
    """Return the JSON of a file with a single envelope, proof or head of the log; ``None`` for any other file."""
    raw = content.read(MOST_BYTES + 1)
    try:
        document = json.loads(raw) if len(raw) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and ONE_DOCUMENT & set(document) else None


def _check_statement(envelope: OpenedEnvelope, keys: Keys) -> Iterator[Check]:
    yield check_signature("signature", envelope, keys.has_signed)
    statement = stated_in(envelope)
    yield Check("statement", wrong=None, found=str(statement.get("predicateType")))
    console.print_json(json.dumps(statement))


def _check_proof(document: Json, keys: Keys) -> Iterator[Check]:
    """Check the proof that an observation is part of the evidence of a signed rating."""
    envelope = opened(document["attestation"])
    yield check_signature("signature", envelope, keys.has_signed)
    statement = stated_in(envelope)
    predicate = statement["predicate"] if statement.get("predicateType") == RATING else {}
    for name, key in (("rating", "rating"), ("evidence", "evidence_digest")):
        stated, expected = predicate.get(key), document.get(key)
        mismatch = f"the proof is for {expected}, and the certificate states {stated}"
        yield Check(name, wrong=None if stated == expected else mismatch, found=str(stated))
    yield check_proof(document)
    says = f"an observation of the rating {predicate.get('rating')}; its number seq is not signed and was not checked"
    yield Check("says", wrong=None, found=says)


def _print_trust(export: Export, keys: Keys) -> None:
    """Print what the keys cannot show if they came with the file: who signed it."""
    if keys.trusted:
        return
    if not export.envelopes:
        console.print("[yellow]Nobody has signed this export: it is whole, and anyone may have written it.[/yellow]")
        return
    console.print(
        "[yellow]The key came with the file, so it shows that the file is whole and not who wrote it. "
        "Compare its fingerprint with the agency's, or give the agency's key set with --keys:[/yellow]"
    )
    for key_id in sorted({key_id for envelope in export.envelopes for key_id in envelope.key_ids}):
        console.print(f"  {escape(key_id)}")


def _rating_summary(document: Json) -> str:
    rating = read_rating(document)
    letter = rating.letter or "no letter"
    if rating.letter is not None and not rating.declared:
        letter = f"inconclusive, leaning {letter}"
    validity = f"rated {rating.rated_at}, valid until {rating.expires_at}"
    if isinstance(withdrawal := document.get("withdrawn"), dict):
        validity += f"; withdrawn {withdrawal.get('at')}: {withdrawal.get('reason')}"
    return f"{rating.id}: {rating.target.name} is {letter} ({rating.method}, {rating.attribute}); {validity}"
