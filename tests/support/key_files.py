"""Private keys of any size and kind in PEM, made in milliseconds: their primes are Mersenne primes."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

USABLE = (2203, 1279)
"""Exponents of the Mersenne primes of an RSA key of 3,482 bits."""

TOO_LARGE = (4423, 4253)
"""Exponents of the Mersenne primes of an RSA key of 8,676 bits: a test of its primes takes seconds."""


def rsa_key(exponents: Sequence[int], **changed: int) -> str:
    """Return an RSA key with two Mersenne primes as PEM; `changed` replaces some of its numbers."""
    p, q = ((1 << exponent) - 1 for exponent in exponents)
    d = pow(65537, -1, (p - 1) * (q - 1))
    numbers = {"n": p * q, "e": 65537, "d": d, "p": p, "q": q}
    numbers |= {"dmp1": d % (p - 1), "dmq1": d % (q - 1), "iqmp": pow(q, -1, p)}
    key = sequence(0, *(numbers | changed).values())
    return pem("PRIVATE KEY", pkcs8("2a864886f70d010101", b"\x05\x00", key))


def service_account(private_key: str) -> str:
    """Return the JSON key file of a service account."""
    return json.dumps({"type": "service_account", "client_email": "a@b.example", "private_key": private_key})


def pem(label: str, der: bytes) -> str:
    """Return DER as PEM."""
    return f"-----BEGIN {label}-----\n{base64.encodebytes(der).decode()}-----END {label}-----\n"


def pkcs8(algorithm: str, parameters: bytes, key: bytes) -> bytes:
    """Return a private key as PKCS#8; `algorithm` is its object identifier in hexadecimal digits."""
    return _tagged(0x30, integer(0), _tagged(0x30, _tagged(6, bytes.fromhex(algorithm)), parameters), _tagged(4, key))


def sequence(*numbers: int) -> bytes:
    """Return a DER sequence of numbers."""
    return _tagged(0x30, *map(integer, numbers))


def integer(number: int) -> bytes:
    """Return a DER integer."""
    return _tagged(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _tagged(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    length = len(content).to_bytes(3, "big").lstrip(b"\0")
    return bytes([tag]) + (length or b"\0" if len(content) < 128 else bytes([0x80 | len(length)]) + length) + content
