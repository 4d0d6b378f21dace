"""Tests of signing keys outside the database: in a file, and behind a real program.

Row 84 of docs/reliability.md: at c37b512 a stolen copy of the database could sign, and no witness cosigned the log.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select

from assay.errors import SpecificationError
from assay.evidence.jwks import thumbprint
from store.core.errors import SigningUnavailable
from store.core.settings import Settings
from store.security import signing
from store.security.outside_key import SigningProgram
from store.security.secrets import Vault
from store.security.tables import signing_keys
from tests.support.secrets import count_old
from tests.support.signing import private_pem, public_pem, signing_program

PRIVATE, OTHER = (Ed25519PrivateKey.from_private_bytes(letter * 32) for letter in (b"k", b"o"))
PUBLIC = PRIVATE.public_key().public_bytes_raw()


@pytest.fixture
def vault_with(tmp_path):
    """Return a function that builds the vault of a process, with or without a signing key file."""

    def vault_with(key: Ed25519PrivateKey | None) -> Vault:
        changes = {}
        if key is not None:
            changes["signing_key_file"] = tmp_path / f"{key.public_key().public_bytes_raw().hex()}.pem"
            changes["signing_key_file"].write_bytes(private_pem(key))
        return Vault.from_settings(Settings(data_dir=tmp_path, secret_key="s" * 32, **changes))

    return vault_with


def program(tmp_path: Path, body: str, **limits: float) -> SigningProgram:
    """Write a Python program that signs its input; the code `body` can change its behaviour."""
    return SigningProgram(signing_program(tmp_path, PRIVATE, body), PUBLIC, **limits)


# ---------------------------------------------------------------------------- in a file
def test_a_key_file_signs_and_only_its_public_key_is_stored(database, vault_with):
    vault = vault_with(PRIVATE)
    with database.read() as c:
        assert signing.find(c, vault) is None
    with database.write() as c:
        key = signing.current(c, vault)
        assert [each.public_key for each in signing.all_keys(c)] == [PUBLIC]
        row = c.execute(select(signing_keys)).mappings().one()
    assert (row["secret_ciphertext"], row["secret_nonce"], row["secret_key_id"]) == (b"", b"", "")
    PRIVATE.public_key().verify(key.sign(b"word"), b"word")
    with database.read() as c:
        assert signing.find(c, vault) == key
        assert count_old(c, Vault(b"x" * 32, "another secret key")) == 0, "nothing of it can be resealed"


def test_a_key_in_the_database_is_retired_by_a_key_file_and_stays_published(database, vault_with):
    with database.write() as c:
        inside = signing.current(c, vault_with(None))
    with database.write() as c:
        signing.current(c, vault_with(PRIVATE))
        listed = {each.id: each.retired_at for each in signing.all_keys(c)}
    assert listed[inside.id] is not None
    assert [each for each, retired_at in listed.items() if retired_at is None] == [signing_id(PRIVATE)]


def test_a_process_with_a_retired_key_cannot_make_it_current_again(database, vault_with):
    for key in (PRIVATE, OTHER):
        with database.write() as c:
            signing.current(c, vault_with(key))
    with database.write() as c, pytest.raises(SigningUnavailable, match="was retired"):
        signing.current(c, vault_with(PRIVATE))
    with database.read() as c:
        assert [each.id for each in signing.all_keys(c) if each.retired_at is None] == [signing_id(OTHER)]


def test_a_process_without_the_key_file_reports_the_missing_setting(database, vault_with):
    with database.write() as c:
        signing.current(c, vault_with(PRIVATE))
    with database.write() as c, pytest.raises(SigningUnavailable, match="set ASSAY_SIGNING_KEY_FILE"):
        signing.current(c, vault_with(None))
    with database.write() as c:
        assert signing.rotate(c, vault_with(None)).id != signing_id(PRIVATE)


def test_a_key_outside_the_database_cannot_be_rotated_by_the_service(database, vault_with):
    with database.write() as c, pytest.raises(SpecificationError, match="ASSAY_SIGNING_KEY_FILE"):
        signing.rotate(c, vault_with(PRIVATE))


def signing_id(key: Ed25519PrivateKey) -> str:
    return thumbprint(key.public_key().public_bytes_raw())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not PEM",
        public_pem(PRIVATE),
        generate_private_key(SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        PRIVATE.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"password"),
        ),
    ],
    ids=["empty", "text", "public", "another kind", "encrypted"],
)
def test_a_key_file_without_a_usable_key_is_refused_at_the_start(tmp_path, content):
    file = tmp_path / "signing.pem"
    file.write_bytes(content)
    with pytest.raises(SpecificationError, match="holds no Ed25519 private key"):
        Vault.from_settings(Settings(data_dir=tmp_path, signing_key_file=file))
    with pytest.raises(SpecificationError, match="cannot be read"):
        Vault.from_settings(Settings(data_dir=tmp_path, signing_key_file=tmp_path / "missing.pem"))


def test_settings_that_name_two_signing_keys_or_only_half_of_a_signing_command_are_refused(tmp_path):
    for changes in (
        {"signing_key_file": "a.pem", "signing_command": "sign", "signing_public_key_file": "b.pem"},
        {"signing_command": "sign"},
        {"signing_public_key_file": "b.pem"},
    ):
        with pytest.raises(ValueError, match="signing_"):
            Settings(data_dir=tmp_path, **changes)


# ---------------------------------------------------------------------------- behind a program
def test_a_signing_program_receives_exactly_the_message_and_signs_it(tmp_path):
    for message in (b"word", b"", b"two\nlines\n", bytes(range(256)) * 4000):
        PRIVATE.public_key().verify(program(tmp_path, "").sign(message), message)


def test_a_signature_in_several_lines_of_base64_is_read(tmp_path):
    PRIVATE.public_key().verify(program(tmp_path, "out = out[:40] + b'\\n' + out[40:] + b'\\n'").sign(b"word"), b"word")


def test_a_signing_command_is_configured_with_its_public_key(tmp_path, database):
    public = tmp_path / "public.pem"
    public.write_bytes(public_pem(PRIVATE))
    command = " ".join(f"'{part}'" for part in signing_program(tmp_path, PRIVATE))
    settings = Settings(data_dir=tmp_path, signing_command=command, signing_public_key_file=public)
    with database.write() as c:
        key = signing.current(c, Vault.from_settings(settings))
    PRIVATE.public_key().verify(key.sign(b"word"), b"word")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("sys.exit(3)", "ended with status 3"),
        ("out = b'!'", "not base64"),
        ("out = b''", "does not verify"),
        ("out = b'A' * 88", "does not verify"),
        ("out = base64.b64encode(key.sign(message + b'.'))", "does not verify"),
        ("out = b'A' * 100_000_000", "more than 4096 bytes"),
    ],
)
def test_an_output_that_is_not_a_valid_signature_is_refused_with_the_reason(tmp_path, body, why):
    with pytest.raises(SigningUnavailable, match=why):
        program(tmp_path, body).sign(b"word")


@pytest.mark.slow
def test_a_signing_program_that_hangs_is_killed_with_its_child_processes(tmp_path):
    mark = tmp_path / "still there"
    child = f"import time; time.sleep(4); open({str(mark)!r}, 'w').close()"
    body = f"subprocess.Popen([sys.executable, '-c', {child!r}]); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(SigningUnavailable, match="did not end within 2 s"):
        program(tmp_path, body, timeout_s=2).sign(b"word")
    assert time.monotonic() - began < 30
    time.sleep(5)
    assert not mark.exists(), "the child of the program was ended too"


def test_a_missing_signing_program_is_reported(tmp_path):
    with pytest.raises(SigningUnavailable, match="cannot be started"):
        SigningProgram([str(tmp_path / "nowhere")], PUBLIC).sign(b"word")


@pytest.mark.slow
def test_a_failed_signing_program_is_not_run_again_at_once(tmp_path):
    """Each request for a certificate would otherwise start a program that fails after its timeout."""
    runs = tmp_path / "runs"
    one = program(tmp_path, f"open({str(runs)!r}, 'a').write('x'); sys.exit(1)", rest_s=3)
    for why in ("ended with status 1", "failed less than 3 s ago", "failed less than 3 s ago"):
        with pytest.raises(SigningUnavailable, match=why):
            one.sign(b"word")
    assert runs.read_text() == "x"
    time.sleep(3.1)
    with pytest.raises(SigningUnavailable, match="ended with status 1"):
        one.sign(b"word")


def test_a_signing_command_is_not_interpreted_by_a_shell(tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(SigningUnavailable):
        SigningProgram([sys.executable, "-c", "pass", f"; touch {mark}", f"$(touch {mark})"], PUBLIC).sign(b"word")
    assert not mark.exists()
