"""Tests of signing keys: creation, rotation, encryption at rest, and verification."""

import asyncio

import pytest

from store.core.database import AsyncDatabase
from store.core.errors import SecretLost, SecretMoved
from store.security import rotation, signing
from store.security.secrets import Vault
from tests.support.concurrency import run_concurrently
from tests.support.secrets import count_old

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def vault() -> Vault:
    return Vault(OLD, "old")


def test_signing_key_is_created_on_first_use_and_reused(database, vault):
    with database.write() as c:
        first = signing.current(c, vault)
    with database.write() as c:
        again = signing.current(c, vault)
        assert [each.id for each in signing.all_keys(c)] == [first.id]
    assert (again.id, again.public_key) == (first.id, first.public_key)
    assert again.sign(b"word") == first.sign(b"word"), "the same private key"
    assert len(first.public_key) == 32
    assert "private" not in repr(first)


def test_signature_is_valid_only_for_its_key_and_message(database, vault):
    with database.write() as c:
        key = signing.current(c, vault)
        other = signing.rotate(c, vault)
    signature = key.sign(b"word")
    assert signing.is_signature(key.public_key, signature, b"word")
    assert not signing.is_signature(key.public_key, signature, b"Word")
    assert not signing.is_signature(other.public_key, signature, b"word")
    assert not signing.is_signature(key.public_key, signature[:-1], b"word")
    assert not signing.is_signature(b"short", signature, b"word")


def test_concurrent_transactions_create_one_signing_key(database, vault):
    def read_key(_) -> str:
        with database.write() as c:
            return signing.current(c, vault).id

    assert len(set(run_concurrently(4, read_key))) == 1


def test_async_database_returns_the_same_signing_key(database, database_url, vault):
    async def read_keys() -> list[signing.SigningKey | None]:
        service = AsyncDatabase(database_url)
        try:
            reads = await service.read(signing.find, vault), await service.write(signing.current, vault)
            return [*reads, await service.read(signing.find, vault)]
        finally:
            await service.close()

    before, made, after = asyncio.run(read_keys())
    assert before is None
    with database.write() as c:
        assert signing.current(c, vault).id == made.id == after.id


def test_retired_signing_key_is_not_used_but_still_published(database, vault):
    with database.write() as c:
        first = signing.current(c, vault)
    with database.write() as c:
        second = signing.rotate(c, vault)
    with database.write() as c:
        assert signing.current(c, vault).id == second.id
        keys = {each.id: each for each in signing.all_keys(c)}
    assert keys[first.id].retired_at is not None
    assert keys[second.id].retired_at is None
    assert keys[first.id].public_key == first.public_key
    assert set(keys[second.id].as_jwk()) == {"alg", "crv", "created_at", "kid", "kty", "use", "x"}
    assert "retired_at" in keys[first.id].as_jwk()


def test_stored_last_four_characters_reveal_nothing_of_the_private_key(database, vault):
    from sqlalchemy import select

    from assay.evidence.jwks import encode
    from store.security.tables import signing_keys

    with database.write() as c:
        key = signing.current(c, vault)
        row = c.execute(select(signing_keys)).mappings().one()
    assert row["secret_last4"] == encode(key.public_key)[-2:] + '"}'


def test_key_rotation_re_encrypts_the_current_signing_key(database, vault):
    with database.write() as c:
        retired = signing.current(c, vault)
        key = signing.rotate(c, vault)
    both, new_alone = Vault(NEW, "new", {"old": OLD}), Vault(NEW, "new")
    with database.write() as c:
        assert count_old(c, both) == 1, "a retired key does not sign and is not re-encrypted"
        holder = [each.table.name for each in rotation.HOLDERS].index("signing_keys")
        assert rotation.reseal(c, both, holder).resealed == 1
        assert count_old(c, both) == 0
    with database.write() as c:
        moved = signing.current(c, new_alone)
        assert {each.id for each in signing.all_keys(c)} == {key.id, retired.id}
    assert moved.sign(b"word") == key.sign(b"word")


def test_signing_key_that_cannot_be_decrypted_can_be_replaced(database, vault):
    stranger = Vault(NEW, "new")
    with database.write() as c:
        signing.current(c, vault)
    with database.write() as c, pytest.raises(SecretLost):
        signing.current(c, stranger)
    with database.write() as c:
        made = signing.rotate(c, stranger)
        assert signing.current(c, stranger).id == made.id


def test_signing_key_copied_to_another_row_cannot_be_decrypted(database, vault):
    from sqlalchemy import update

    from store.security.tables import signing_keys

    with database.write() as c:
        first = signing.current(c, vault)
        second = signing.rotate(c, vault)
        columns = ("secret_ciphertext", "secret_nonce")
        row = c.execute(signing_keys.select().where(signing_keys.c.id == first.id)).mappings().one()
        copied = {name: row[name] for name in columns}
        c.execute(update(signing_keys).where(signing_keys.c.id == second.id).values(copied))
    with database.write() as c, pytest.raises(SecretMoved):
        signing.current(c, vault)
