"""A document to sign, and signing keys outside the database: PEM, and a program that signs as a client of a KMS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.canonical import target_digest

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
    """Write a program that signs its standard input; return its command. The code `body` may change the output."""
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


TARGET = {"name": "Mirror", "kind": "translator", "protocol": "x", "url": "http://mirror", "settings": {}}


def stated_document(**changes: Any) -> dict[str, Any]:
    """Return a rating's document with every field that a certificate states."""
    return {
        "letter": "DSBS",
        "declared": True,
        "probabilities": {"BS": 0.0, "DSBS": 1.0, "UCS": 0.0},
        "method": "round-trip",
        "attribute": "gender",
        "confidence": 0.95,
        "experiment": {"method": "round-trip"},
        "target": TARGET | {"digest": target_digest(TARGET)},
        "components": [{"name": "es", "letter": "DSBS", "declared": True}],
        "methodology": {"version": "1.1.0", "digest": "sha256:ab"},
        "engine_version": "0.1.0",
        "seed": 7,
        "evidence_digest": "sha256:cd",
        "visibility": "private",
        **changes,
    }
