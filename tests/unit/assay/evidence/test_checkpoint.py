"""Tests of the signed checkpoint: a note checked by hand, and altered notes."""

from __future__ import annotations

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from assay.evidence.checkpoint import BadCheckpoint, Checkpoint, key_hint
from store.security.signing import is_signature
from tests.support.checkpoints import open_checkpoint

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
HEAD = Checkpoint("agency.example/v1/log", 7, hashlib.sha256(b"x").digest())
NOTE = HEAD.signed(PUBLIC, KEY.sign)


def test_a_checkpoint_has_three_lines_an_empty_line_and_a_signature():
    lines = NOTE.split("\n")
    assert lines[:4] == ["agency.example/v1/log", "7", base64.b64encode(HEAD.root).decode(), ""]
    assert lines[4].startswith("\u2014 agency.example/v1/log ")
    assert lines[5:] == [""]


def test_the_signature_holds_the_key_hint_and_covers_the_text_including_its_final_newline():
    signed = base64.b64decode(NOTE.splitlines()[4].split(" ")[2])
    assert (
        signed[:4]
        == hashlib.sha256(b"agency.example/v1/log\n\x01" + PUBLIC).digest()[:4]
        == key_hint(HEAD.origin, PUBLIC)
    )
    KEY.public_key().verify(signed[4:], b"agency.example/v1/log\n7\n" + base64.b64encode(HEAD.root) + b"\n")


def test_a_signed_note_is_read_with_or_without_witness_signatures():
    assert open_checkpoint(NOTE, PUBLIC, is_signature) == HEAD
    assert open_checkpoint(NOTE + "\u2014 witness.example AAAA\n", PUBLIC, is_signature) == HEAD


@given(place=st.integers(0, len(NOTE) - 2), letter=st.sampled_from("A7z\n +"))
def test_a_signed_note_with_an_altered_character_is_refused(place, letter):
    altered = NOTE[:place] + letter + NOTE[place + 1 :]
    try:
        assert open_checkpoint(altered, PUBLIC, is_signature) == HEAD
    except BadCheckpoint:
        assert altered != NOTE


def test_a_note_without_a_signature_of_the_given_key_is_refused():
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    with pytest.raises(BadCheckpoint, match="no signature by the given key"):
        open_checkpoint(NOTE, other, is_signature)


@pytest.mark.parametrize(
    ("note", "why"),
    [
        ("", "three lines"),
        ("a\nseven\nAAAA\n\n", "three lines"),
        ("a\n7\n!\n\n", "not base64"),
        ("a\n7\nAAAA\n\n", "3 bytes"),
        (f"a\n007\n{base64.b64encode(bytes(32)).decode()}\n\n", "not in the form that was signed"),
    ],
)
def test_invalid_checkpoints_are_refused_with_the_reason(note, why):
    with pytest.raises(BadCheckpoint, match=why):
        open_checkpoint(note, PUBLIC, is_signature)
