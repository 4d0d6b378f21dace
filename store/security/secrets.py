"""Targets' secrets at rest: AES-256-GCM, bound to the row they were given for.

The tenant, the row and the field are authenticated with each secret, so that a ciphertext copied
to another row does not open there. The key's own id travels along, so that keys can be rotated.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from store.core.columns import SealedSecret
from store.core.errors import SecretLost, SecretMoved
from store.core.settings import Settings

KEY_BYTES = 32
NONCE_BYTES = 12
SHOWN_CHARACTERS = 4
KEY_FILE = "secret.key"


class Vault:
    """Seals and opens secrets.

    Parameters
    ----------
    key : bytes
        32 bytes, with which new secrets are sealed.
    key_id : str
        Its name, stored with each of them.
    older : mapping of str to bytes
        Keys that are no longer used to seal, by id.
    """

    def __init__(self, key: bytes, key_id: str, older: Mapping[str, bytes] | None = None) -> None:
        self._key_id = key_id
        self._ciphers = {each: AESGCM(one) for each, one in {**(older or {}), key_id: key}.items()}

    @classmethod
    def from_settings(cls, settings: Settings) -> Vault:
        """Use ``ASSAY_SECRET_KEY``, or else a key file in the data directory, made on first use."""
        written = (
            settings.secret_key.get_secret_value() if settings.secret_key else _key_file(settings.data_dir.expanduser())
        )
        older = [_derive(each) for each in settings.older_secret_keys]
        key = _derive(written)
        return cls(key, key_id_of(key), {key_id_of(each): each for each in older})

    @property
    def key_id(self) -> str:
        """Name of the key that seals."""
        return self._key_id

    def seal(self, plain: str, *, tenant: str, target: str, field: str) -> SealedSecret:
        """Encrypt a secret for one field of one row.

        Parameters
        ----------
        plain : str
            The secret.
        tenant, target, field : str
            Where it belongs. For a secret sent with a job, `target` is the job's id.
        """
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self._key_id].encrypt(nonce, _bytes(plain), _place(tenant, target, field))
        return SealedSecret(sealed, nonce, self._key_id, _tail(plain))

    def open(self, sealed: SealedSecret, *, tenant: str, target: str, field: str) -> str:
        """Decrypt a secret where it belongs.

        Raises
        ------
        SecretLost
            If the key that sealed it is not configured.
        SecretMoved
            If it was sealed for another place, or altered.
        """
        cipher = self._ciphers.get(sealed.key_id)
        if cipher is None:
            raise SecretLost(sealed.key_id)
        try:
            plain = cipher.decrypt(sealed.nonce, sealed.ciphertext, _place(tenant, target, field))
        except InvalidTag:
            raise SecretMoved(target, field) from None
        return plain.decode("utf-8", "surrogatepass")


def key_id_of(key: bytes) -> str:
    """Name a key without telling it: eight hexadecimal digits of its digest."""
    return hashlib.sha256(b"assay key id\x00" + key).hexdigest()[:8]


def _tail(plain: str) -> str:
    shown = min(SHOWN_CHARACTERS, len(plain) // 4)  # of a short secret, never more than a quarter
    return plain[len(plain) - shown :]


def _place(tenant: str, target: str, field: str) -> bytes:
    # lengths first: no two places may be written the same way
    return b"".join(len(part).to_bytes(4, "big") + part for part in map(_bytes, (tenant, target, field)))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _derive(written: str) -> bytes:
    """Stretch what the operator wrote, of any form, to a key of the right length (RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"assay secrets v1").derive(_bytes(written))


def _key_file(directory: Path) -> str:
    """Read the data directory's key; make it where there is none, readable by its owner only."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / KEY_FILE
    if not path.exists():
        fresh = directory / f".{KEY_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
        fresh.touch(mode=0o600, exist_ok=False)
        fresh.write_text(os.urandom(KEY_BYTES).hex())
        try:
            os.link(fresh, path)  # whole or not at all, and only the first of several processes
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text().strip()
