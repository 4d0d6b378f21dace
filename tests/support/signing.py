"""Signing keys outside the database: PEM, and a real program that signs as a client of a KMS does."""

from __future__ import annotations

import sys
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PROGRAM = """
import base64, subprocess, sys, time
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(sys.argv[1]))
message = sys.stdin.buffer.read()
out = base64.b64encode(key.sign(message))
{body}
sys.stdout.buffer.write(out)
"""


def signing_program(folder: Path, key: Ed25519PrivateKey, body: str = "") -> list[str]:
    """Write a program that signs its standard input, and return its command; `body` may change `out`."""
    file = folder / "sign.py"
    file.write_text(PROGRAM.format(body=body))
    return [sys.executable, str(file), key.private_bytes_raw().hex()]


def private_pem(key: Ed25519PrivateKey) -> bytes:
    """Return a private key as PKCS#8 in PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key: Ed25519PrivateKey) -> bytes:
    """Return a public key in PEM."""
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
