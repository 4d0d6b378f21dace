"""Encryption of secrets at rest with AES-256-GCM, bound to their row.

Tenant, row and field are authenticated with each secret, so a ciphertext copied to another row cannot be
decrypted. The id of the key is stored too, so that keys can be rotated.
"""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from assay.document import Json
from store.core.columns import SealedSecret
from store.core.data_folder import FOLDER_MODE
from store.core.errors import SecretLost, SecretMoved
from store.core.settings import Settings
from store.security.outside_key import SigningKey, outside_key

KEY_BYTES = 32
NONCE_BYTES = 12
SHOWN_CHARACTERS = 4
KEY_FILE = "secret.key"
TARGET_FIELD = "secret"
AUTHENTICATION = ("auth", "auth_name", "auth_value", "translator", "version")
"""Settings of protocols that decide where a request contains the target's secret, or who receives the secret."""
DEFAULT_PORTS = {"http": 80, "https": 443}


class Vault:
    """Encrypts and decrypts secrets.

    `key` is the encryption key of 32 bytes; `key_id`, its id, is stored with each secret. `older` keys, by id, are used
    only for decryption. `outside` is the agency's signing key, if it is kept outside the database.
    """

    def __init__(
        self, key: bytes, key_id: str, older: Mapping[str, bytes] | None = None, outside: SigningKey | None = None
    ) -> None:
        self.key_id, self.outside = key_id, outside
        keys_by_id = {**(older or {}), key_id: key}
        self._ciphers = {cipher_id: AESGCM(cipher_key) for cipher_id, cipher_key in keys_by_id.items()}
        self._marking_key = hashlib.sha256(b"assay marks\x00" + key).digest()  # the key of `mark`

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """Build a vault with ``ASSAY_SECRET_KEY``, or with a key file in the data directory, created on first use."""
        configured = settings.secret_key
        key_text = configured.get_secret_value() if configured else _read_key_file(settings.data_dir.expanduser())
        older_keys = [_derive_key(older_text) for older_text in settings.older_secret_keys]
        key = _derive_key(key_text)
        older_by_id = {key_id_of(older_key): older_key for older_key in older_keys}
        return cls(key, key_id_of(key), older=older_by_id, outside=outside_key(settings))

    def mark(self, text: str) -> str:
        """Return an HMAC-SHA256 of a text in base64url (43 characters); its key derives from the encryption key."""
        return base64.urlsafe_b64encode(hmac.digest(self._marking_key, _encode(text), "sha256")).decode().rstrip("=")

    def seal(self, plain_text: str, *, tenant: str, target: str, field: str) -> SealedSecret:
        """Encrypt a secret for one field of one row; `target` is the row's id (a job's, for a secret of a job)."""
        nonce = os.urandom(NONCE_BYTES)
        associated_data = _associated_data(tenant, target, field)
        ciphertext = self._ciphers[self.key_id].encrypt(nonce, _encode(plain_text), associated_data)
        # the last characters, at most a quarter of all, stay readable, so that people recognise the secret
        tail_start = len(plain_text) - min(SHOWN_CHARACTERS, len(plain_text) // 4)
        return SealedSecret(ciphertext, nonce, self.key_id, plain_text[tail_start:])

    def open(self, sealed: SealedSecret, *, tenant: str, target: str, field: str) -> str:
        """Decrypt a secret of one field of one row, whose id is `target`.

        Raise `SecretLost` if the encryption key is not configured, and `SecretMoved` if the secret was encrypted for
        another row or field, or altered.
        """
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise SecretLost(sealed.key_id)
        try:
            plain_text = cipher.decrypt(sealed.nonce, sealed.ciphertext, _associated_data(tenant, target, field))
        except InvalidTag:
            raise SecretMoved(target, field) from None
        return plain_text.decode("utf-8", "surrogatepass")

    def seal_for_target(self, plain_text: str, *, tenant: str, target: str, description: Json) -> SealedSecret:
        """Encrypt a target's secret for its destination; `target` is the id of the target, or of a job.

        `description` is that of the target, with `protocol`, `base_url` and `settings`.
        """
        field = f"{TARGET_FIELD} {destination_of(description)}"
        return self.seal(plain_text, tenant=tenant, target=target, field=field)

    def open_for_target(self, sealed: SealedSecret, *, tenant: str, target: str, description: Mapping[str, Any]) -> str:
        """Decrypt a target's secret, unless it was encrypted for another destination.

        Secrets that were stored before destinations were authenticated are opened as well, until they are resealed.

        Raise `SecretLost` and `SecretMoved` as `open` does.
        """
        field = f"{TARGET_FIELD} {destination_of(description)}"
        try:
            return self.open(sealed, tenant=tenant, target=target, field=field)
        except SecretMoved:
            return self.open(sealed, tenant=tenant, target=target, field=TARGET_FIELD)


def destination_of(description: Json) -> str:
    """Return the destination of a target's secret as JSON: protocol, scheme, host, port and authentication."""
    base_url, settings = description.get("base_url") or "", description.get("settings") or {}
    try:
        address = urlsplit(base_url)
        origin = [address.scheme, address.hostname, address.port or DEFAULT_PORTS.get(address.scheme)]
    except ValueError:  # the URL is invalid, so it is never called
        origin = [base_url]
    authentication = {name: settings.get(name) for name in AUTHENTICATION}
    return json.dumps([description["protocol"], origin, authentication], sort_keys=True)


def key_id_of(key: bytes) -> str:
    """Return a key's id: eight hexadecimal digits of its digest."""
    return hashlib.sha256(b"assay key id\x00" + key).hexdigest()[:8]


def _associated_data(tenant: str, target: str, field: str) -> bytes:
    # length prefixes make the encoding unambiguous
    return b"".join(len(part).to_bytes(4, "big") + part for part in map(_encode, (tenant, target, field)))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _derive_key(text: str) -> bytes:
    """Derive a 32-byte key from the operator's text with HKDF (RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"assay secrets v1").derive(_encode(text))


def _read_key_file(directory: Path) -> str:
    """Read the key file of the data directory; create it, readable by its owner only, if it is missing."""
    directory.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    path = directory / KEY_FILE
    if not path.exists():
        new_file = directory / f".{KEY_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
        new_file.touch(mode=0o600, exist_ok=False)
        new_file.write_text(os.urandom(KEY_BYTES).hex())
        try:
            os.link(new_file, path)  # atomic: only the first of several processes creates the file
        except FileExistsError:
            pass  # another process was first; its key is read below
        finally:
            new_file.unlink()
    return path.read_text().strip()
