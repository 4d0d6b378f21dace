"""Private keys in the secrets of untrusted users: service accounts and client certificates.

Loading a key can take seconds of processor time while no other thread runs: a test of the primes of an RSA key takes
0.2 s for 4,096 bits and 9 s for 9,216, and a key derived from a password takes as long as its file demands. Therefore
kinds and sizes are limited, and primes are not tested (`docs/decisions/0051-limits-on-untrusted-input.md`).
"""

import re
from binascii import a2b_base64

from cryptography.exceptions import InternalError, InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

MOST_BITS = 4096
"""Largest modulus of an RSA key, in bits."""

MAX_KEY_CHARACTERS = 8192
"""Maximum number of characters of a key file."""

MOST_EXPONENT_BITS = 32
"""Largest public exponent of an RSA key, in bits; the usual exponent is 65537."""

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey | Ed448PrivateKey

_LOADING_ERRORS = (ValueError, TypeError, InternalError, UnsupportedAlgorithm)
"""Exceptions of the library for keys that it cannot load; `InternalError` is no `ValueError`."""

_LABEL = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY)-----")
_LABELS_WITH_ALGORITHM = frozenset({"RSA PRIVATE KEY", "EC PRIVATE KEY"})
_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..)"
_PKCS8 = re.compile(
    rb"\x30" + _LENGTH + rb"\x02\x01[\x00\x01]\x30" + _LENGTH + rb"\x06(?:"
    rb"\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01"  # rsaEncryption
    rb"|\x07\x2a\x86\x48\xce\x3d\x02\x01"  # ecPublicKey
    rb"|\x03\x2b\x65[\x70\x71])",  # Ed25519, Ed448
    re.DOTALL,
)
"""Beginning of an unencrypted PKCS#8 key of an accepted kind: version and algorithm."""


class UnusableKey(ValueError):
    """A key file holds no private key that can be used; the message never quotes the file."""


def load_private_key(pem: str) -> PrivateKey:
    """Load the private key in a PEM text; checks are limited, so that no key takes long to load.

    Raise `UnusableKey` if there is not exactly one unencrypted key in PEM, of RSA with at most 4,096 bits or of an
    elliptic curve.
    """
    labels = _LABEL.findall(pem) if len(pem) <= MAX_KEY_CHARACTERS else []
    if len(labels) != 1:
        raise UnusableKey(f"it must hold one private key as PEM, in at most {MAX_KEY_CHARACTERS} characters")
    label = labels[0]
    body = pem.partition(f"-----BEGIN {label}-----")[2].partition("-----END")[0]
    block = f"-----BEGIN {label}-----{body}-----END {label}-----\n".encode()  # without the rest of the text
    try:
        if label not in _LABELS_WITH_ALGORITHM and not (label == "PRIVATE KEY" and _PKCS8.match(a2b_base64(body))):
            raise UnusableKey("the private key must be unencrypted, of RSA or of an elliptic curve")
        # the sizes of the numbers are unknown before they are parsed, and their parsing without tests is quick
        key = load_pem_private_key(block, password=None, unsafe_skip_rsa_key_validation=True)
    except _LOADING_ERRORS as error:  # among them `UnusableKey`, which is a `ValueError`
        raise error if isinstance(error, UnusableKey) else UnusableKey("the private key cannot be read") from None
    if isinstance(key, RSAPrivateKey) and _is_too_large(key):
        raise UnusableKey(f"an RSA key may have at most {MOST_BITS:,} bits")
    if not isinstance(key, PrivateKey):
        raise UnusableKey("the private key must be of RSA or of an elliptic curve")
    return key


def check_private_key(key: PrivateKey) -> None:
    """Raise `UnusableKey` if an RSA key makes no valid signature; the library checks other keys when it loads them."""
    if not isinstance(key, RSAPrivateKey):
        return
    message = b"a message to sign"
    try:
        key.public_key().verify(key.sign(message, PKCS1v15(), SHA256()), message, PKCS1v15(), SHA256())
    except (InvalidSignature, *_LOADING_ERRORS):
        raise UnusableKey("the numbers of the RSA key do not belong together") from None


def _is_too_large(key: RSAPrivateKey) -> bool:
    numbers = key.private_numbers()
    modulus, exponent = numbers.public_numbers.n, numbers.public_numbers.e
    long_numbers = (modulus, numbers.d, numbers.p, numbers.q, numbers.dmp1, numbers.dmq1, numbers.iqmp)
    return max(number.bit_length() for number in long_numbers) > MOST_BITS or exponent.bit_length() > MOST_EXPONENT_BITS
