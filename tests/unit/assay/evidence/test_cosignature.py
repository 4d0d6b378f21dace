"""Tests of cosignatures: the example of the specification, and bytes made with `cryptography` alone."""

from __future__ import annotations

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.errors import SpecificationError
from assay.evidence.checkpoint import ED25519, BadCheckpoint, Checkpoint, is_signed_by, read_note
from assay.evidence.cosignature import (
    COSIGNATURE,
    AddCheckpoint,
    VerifierKey,
    cosign,
    cosignature_in,
)
from store.security.signing import is_signature

LOG, WITNESS = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"l", b"w"))
LOGS, WITNESSES = (each.public_key().public_bytes_raw() for each in (LOG, WITNESS))
NAME, TIME_S = "witness.example/w1", 1_679_315_147
ROOT = hashlib.sha256(b"root").digest()
TEXT = f"agency.example/v1/log\n7\n{base64.b64encode(ROOT).decode()}\n"
KEY = VerifierKey(NAME, COSIGNATURE, WITNESSES)

EXAMPLE = """example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

\u2014 example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
"""  # noqa: E501
"""The example checkpoint of the C2SP specification tlog-cosignature."""


def by_hand(text: str = TEXT, time_s: int = TIME_S, signer: Ed25519PrivateKey = WITNESS) -> str:
    """Make a cosignature line as the specification describes it, without our code."""
    signature = signer.sign(f"cosignature/v1\ntime {time_s}\n{text}".encode())
    hint = hashlib.sha256(NAME.encode() + b"\n\x04" + WITNESSES).digest()[:4]
    return f"\u2014 {NAME} {base64.b64encode(hint + time_s.to_bytes(8, 'big') + signature).decode()}"


def test_a_cosignature_has_the_bytes_that_the_specification_describes():
    assert cosign(TEXT, KEY, WITNESS.sign, TIME_S) == by_hand() + "\n"
    found = cosignature_in(TEXT, ["\u2014 other.example AAAA", by_hand()], KEY, is_signature)
    assert found is not None
    assert (found.time_s, found.line) == (TIME_S, by_hand())


def test_the_example_cosignature_of_the_specification_is_read_with_its_time():
    shown, lines = read_note(EXAMPLE)
    assert (shown.origin, shown.size, len(lines)) == ("example.com/behind-the-sofa", 20852163, 2)
    assert shown.text() == EXAMPLE.partition("\n\n")[0] + "\n"
    signed = base64.b64decode(lines[1].split(" ")[2])
    assert (len(signed), int.from_bytes(signed[4:12], "big")) == (4 + 8 + 64, TIME_S)


@pytest.mark.parametrize(
    "line",
    [by_hand(TEXT.replace("7", "8")), by_hand(signer=LOG), by_hand(time_s=TIME_S)[:-8] + "AAAAAAA="],
    ids=["another checkpoint", "another key", "another signature"],
)
def test_a_forged_cosignature_in_the_name_of_a_known_key_is_refused(line):
    with pytest.raises(BadCheckpoint, match="does not belong to this checkpoint"):
        cosignature_in(TEXT, [line], KEY, is_signature)


def test_cosignatures_of_unknown_keys_are_ignored():
    stranger = VerifierKey(NAME, COSIGNATURE, LOGS)
    assert cosignature_in(TEXT, [by_hand()], stranger, is_signature) is None
    assert cosignature_in(TEXT, [], KEY, is_signature) is None


def test_extension_lines_of_a_checkpoint_are_read_and_verified():
    extended = Checkpoint("other.example/log", 3, ROOT, "extra 1\nextra 2\n")
    note = extended.signed(LOGS, LOG.sign)
    shown, lines = read_note(note)
    assert shown == extended
    assert is_signed_by(shown, lines, LOGS, is_signature)
    changed, lines = read_note(note.replace("extra 1", "extra 9"))
    assert not is_signed_by(changed, lines, LOGS, is_signature)


# ---------------------------------------------------------------------------- verifier keys
def test_a_verifier_key_is_written_as_name_id_and_key_with_type_byte():
    key_id = hashlib.sha256(NAME.encode() + b"\n\x04" + WITNESSES).digest()[:4]
    written = f"{NAME}+{key_id.hex()}+"
    written += base64.b64encode(b"\x04" + WITNESSES).decode()
    assert str(KEY) == written
    assert VerifierKey.read(written, COSIGNATURE) == KEY
    log = VerifierKey("agency.example/v1/log", ED25519, LOGS)
    assert VerifierKey.read(str(log), ED25519) == log


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "not a verifier key"),
        ("name", "not a verifier key"),
        (str(KEY).replace("w1+", "w2+"), "not a verifier key"),
        (str(KEY)[:-4] + "AAA=", "not a verifier key"),
        (str(KEY)[:-4], "not a verifier key"),
        (str(VerifierKey(NAME, ED25519, WITNESSES)), "of type 01 and not 04"),
    ],
)
def test_a_malformed_verifier_key_is_refused_with_the_reason(written, why):
    with pytest.raises(SpecificationError, match=why):
        VerifierKey.read(written, COSIGNATURE)


# ---------------------------------------------------------------------------- requests to witnesses
def test_an_add_checkpoint_request_has_the_old_size_the_proof_an_empty_line_and_the_note():
    asked = AddCheckpoint(3, (ROOT, bytes(32)), EXAMPLE)
    lines = ["old 3", base64.b64encode(ROOT).decode(), base64.b64encode(bytes(32)).decode(), "", EXAMPLE]
    assert asked.written() == "\n".join(lines)
    assert AddCheckpoint.read(asked.written().encode()) == asked
    first = AddCheckpoint(0, (), EXAMPLE)
    assert first.written() == "old 0\n\n" + EXAMPLE
    assert AddCheckpoint.read(first.written().encode()) == first


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "begins with the line"),
        (b"old 01\n\n", "begins with the line"),
        (b"old -1\n\n", "begins with the line"),
        (b"old " + b"9" * 30 + b"\n\n", "begins with the line"),
        (b"old 1\nAAAA\n\n", "does not have 32 bytes"),
        (b"old 1\n?\n\n", "not base64"),
        (b"old 1\n" + b"AAAA\n" * 64 + b"\n", "at most 63"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_malformed_add_checkpoint_request_is_refused_with_the_reason(body, why):
    with pytest.raises(BadCheckpoint, match=why):
        AddCheckpoint.read(body)
