"""Private keys of strangers: their kinds and sizes are limited before anything slow is computed with them.

Row 87 of docs/reliability.md: ffe18d3c read an RSA key of 9,216 bits on the event loop for 8.8 s, again at every job.
"""

from __future__ import annotations

import re
import time
from ipaddress import ip_network
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from assay.errors import SpecificationError
from tests.support.key_files import TOO_LARGE, USABLE, pem, pkcs8, rsa_key, sequence, service_account
from workers.targets.auth.private_keys import UnusableKey, check_private_key, load_private_key
from workers.targets.auth.schemes import client_certificate
from workers.targets.registry import check_target

ROOT = Path(__file__).resolve().parents[5]
DH, DSA = "2a864886f70d010301", "2a8648ce380401"
MERSENNE = (1 << 11213) - 1
LONG_LIVED = (1 << 2000) + 1


def written(key, layout=PrivateFormat.PKCS8, encryption=None):
    return key.private_bytes(Encoding.PEM, layout, encryption or NoEncryption()).decode()


def processor_s(work):
    began = time.thread_time()
    work()
    return time.thread_time() - began


REFUSED = {
    "RSA of 8,676 bits": rsa_key(TOO_LARGE),
    "a prime larger than the modulus": rsa_key(USABLE, p=(1 << 9689) - 1),
    "a private exponent larger than the modulus": rsa_key(USABLE, d=1 << 9000),
    "Diffie-Hellman of 11,213 bits": pem("PRIVATE KEY", pkcs8(DH, sequence(MERSENNE, 2), sequence(LONG_LIVED)[4:])),
    "DSA of 11,213 bits": pem("PRIVATE KEY", pkcs8(DSA, sequence(MERSENNE, 3, 2), sequence(LONG_LIVED)[4:])),
    "a traditional DSA key": pem("DSA PRIVATE KEY", sequence(0, MERSENNE, 3, 2, 2, 1)),
    "encrypted": written(rsa.generate_private_key(65537, 1024), encryption=BestAvailableEncryption(b"x")),
    "encrypted traditional": written(
        ec.generate_private_key(ec.SECP256R1()), PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"x")
    ),
    "OpenSSH": written(ed25519.Ed25519PrivateKey.generate(), PrivateFormat.OpenSSH),
    "two keys": rsa_key(USABLE) + written(ed25519.Ed25519PrivateKey.generate()),
    "no key": "-----BEGIN NOTHING-----",
    "no base64": "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----\n",
    "an unfinished file": "-----BEGIN PRIVATE KEY-----",
    "a key of a million characters": pem("PRIVATE KEY", bytes(750_000)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_key_that_would_be_slow_to_use_is_refused_in_milliseconds_and_not_quoted(what):
    def load():
        with pytest.raises(UnusableKey) as refused:
            load_private_key(REFUSED[what])
        assert not re.search(r"[A-Za-z0-9+/]{30}", str(refused.value))

    assert processor_s(load) < 0.1


@pytest.mark.parametrize("layout", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
@pytest.mark.parametrize("kind", ["RSA", "P-256", "P-521"])
def test_usual_kinds_and_sizes_of_private_keys_are_accepted(kind, layout):
    made = {
        "RSA": lambda: rsa.generate_private_key(65537, 2048),
        "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    }[kind]()
    loaded = load_private_key("a comment before the key\n" + written(made, layout))
    check_private_key(loaded)
    assert loaded.public_key() == made.public_key()


def test_a_key_of_4096_bits_is_checked_within_a_tenth_of_a_second():
    # the library's own check, with a test of the primes, takes 0.2 s, in which no other thread runs
    key = written(rsa.generate_private_key(65537, 4096))
    assert processor_s(lambda: check_private_key(load_private_key(key))) < 0.1


@pytest.mark.parametrize("changed", [{"n": (1 << 3217) - 1}, {"e": 3}, {"dmp1": 4, "d": 8}])
def test_a_key_whose_signatures_do_not_verify_is_refused(changed):
    with pytest.raises(SpecificationError, match="the numbers of the RSA key do not belong together"):
        check(service_account(rsa_key(USABLE, **changed)))


def check(secret, auth="gcp-service-account"):
    described = {
        "name": "x",
        "kind": "translator",
        "protocol": "deepl",
        "base_url": "http://127.0.0.1:9",
        "settings": {"auth": auth},
        "limits": {},
        "secret": secret,
    }
    check_target(described, [ip_network("127.0.0.0/8")])


@pytest.mark.parametrize("auth", ["gcp-service-account", "mtls"])
def test_a_target_with_a_key_of_8676_bits_is_refused_in_milliseconds(auth):
    # loading it took more than a second of the event loop
    key = rsa_key(TOO_LARGE)

    def name():
        with pytest.raises(SpecificationError, match="an RSA key may have at most 4,096 bits") as refused:
            check(service_account(key) if auth != "mtls" else key, auth)
        assert refused.value.field == "secret"

    assert processor_s(name) < 0.5


def test_a_key_file_nested_8000_deep_is_refused():
    with pytest.raises(SpecificationError, match="the JSON file of its RSA key"):
        check("[" * 8000)


def test_a_client_certificate_file_with_more_than_one_private_key_is_refused():
    with pytest.raises(SpecificationError, match="one private key"):
        client_certificate(REFUSED["encrypted"] + rsa_key(USABLE))


def test_private_keys_and_certificates_are_loaded_by_listed_modules_only():
    # each of these bounds what it loads, or loads what only the operator can write
    loaders = re.compile(
        r"load_(?:pem|der|ssh)_|load_pkcs12|load_key_and_certificates|load_cert_chain|load_verify_locations|"
        r"import_key|from_jwk|\.private_key\(|RSAPublicNumbers|from_public_numbers"
    )
    places = {
        path.relative_to(ROOT).as_posix()
        for package in ("assay", "store", "service", "web", "workers", "cli")
        for path in (ROOT / package).rglob("*.py")
        if loaders.search(path.read_text(encoding="utf-8"))
    }
    assert places == {
        "store/security/outside_key.py",  # the operator's file
        "web/sign_in/provider.py",  # the operator's provider of accounts, over TLS
        "workers/egress/transport.py",  # what `client_certificate` returned
        "workers/targets/auth/private_keys.py",
        "workers/targets/auth/schemes.py",  # certificates: the library parses them without a test
    }
