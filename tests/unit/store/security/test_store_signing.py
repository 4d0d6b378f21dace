"""Signing keys: one that signs, made once however many ask for it; all that ever signed, to check with."""

import asyncio
import threading

import pytest

from store.core.database import AsyncDatabase
from store.core.errors import SecretLost, SecretMoved
from store.security import rotation, signing
from store.security.secrets import Vault

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def vault() -> Vault:
    return Vault(OLD, "old")


def test_the_key_is_made_on_first_use_and_stays(database, vault):
    with database.write() as c:
        first = signing.current(c, vault)
    with database.write() as c:
        again = signing.current(c, vault)
        assert [each.id for each in signing.every(c)] == [first.id]
    assert (again.id, again.public_key) == (first.id, first.public_key)
    assert again.sign(b"word") == first.sign(b"word"), "the same private key"
    assert len(first.public_key) == 32
    assert "private" not in repr(first)


def test_a_signature_is_checked_with_the_public_key_and_the_very_message(database, vault):
    with database.write() as c:
        key = signing.current(c, vault)
        other = signing.rotate(c, vault)
    signature = key.sign(b"word")
    assert signing.is_signature(key.public_key, signature, b"word")
    assert not signing.is_signature(key.public_key, signature, b"Word")
    assert not signing.is_signature(other.public_key, signature, b"word")
    assert not signing.is_signature(key.public_key, signature[:-1], b"word")
    assert not signing.is_signature(b"short", signature, b"word")


def test_processes_that_ask_at_once_get_the_same_key(database, vault):
    start, got = threading.Barrier(4), []

    def ask() -> None:
        start.wait()
        with database.write() as c:
            got.append(signing.current(c, vault).id)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(got) == 4
    assert len(set(got)) == 1


def test_the_service_s_own_door_gives_the_same_key(database, database_url, vault):
    async def ask() -> list[signing.SigningKey | None]:
        service = AsyncDatabase(database_url)
        try:
            reads = await service.read(signing.find, vault), await service.write(signing.current, vault)
            return [*reads, await service.read(signing.find, vault)]
        finally:
            await service.close()

    before, made, after = asyncio.run(ask())
    assert before is None
    with database.write() as c:
        assert signing.current(c, vault).id == made.id == after.id


def test_a_retired_key_signs_nothing_new_and_is_still_published(database, vault):
    with database.write() as c:
        first = signing.current(c, vault)
    with database.write() as c:
        second = signing.rotate(c, vault)
    with database.write() as c:
        assert signing.current(c, vault).id == second.id
        keys = {each.id: each for each in signing.every(c)}
    assert keys[first.id].retired_at is not None
    assert keys[second.id].retired_at is None
    assert keys[first.id].public_key == first.public_key
    assert set(keys[second.id].as_jwk()) == {"alg", "crv", "created_at", "kid", "kty", "use", "x"}
    assert "retired_at" in keys[first.id].as_jwk()


def test_nothing_of_the_private_key_is_kept_in_plain_sight(database, vault):
    from sqlalchemy import select

    from assay.evidence.jwks import encode
    from store.core.agency_schema import signing_keys

    with database.write() as c:
        key = signing.current(c, vault)
        row = c.execute(select(signing_keys)).mappings().one()
    assert row["secret_last4"] == encode(key.public_key)[-2:] + '"}'


def test_signing_keys_move_with_the_other_secrets_when_the_master_key_is_changed(database, vault):
    with database.write() as c:
        retired = signing.current(c, vault)
        key = signing.rotate(c, vault)
    both, new_alone = Vault(NEW, "new", {"old": OLD}), Vault(NEW, "new")
    with database.write() as c:
        assert rotation.count_old(c, both) == 1, "a retired key signs no more and needs no moving"
        holder = [each.table.name for each in rotation.HOLDERS].index("signing_keys")
        assert rotation.reseal(c, both, holder).resealed == 1
        assert rotation.count_old(c, both) == 0
    with database.write() as c:
        moved = signing.current(c, new_alone)
        assert {each.id for each in signing.every(c)} == {key.id, retired.id}
    assert moved.sign(b"word") == key.sign(b"word")


def test_a_key_that_the_vault_cannot_open_is_told_and_can_be_replaced(database, vault):
    stranger = Vault(NEW, "new")
    with database.write() as c:
        signing.current(c, vault)
    with database.write() as c, pytest.raises(SecretLost):
        signing.current(c, stranger)
    with database.write() as c:
        made = signing.rotate(c, stranger)
        assert signing.current(c, stranger).id == made.id


def test_a_key_copied_to_another_row_does_not_open(database, vault):
    from sqlalchemy import update

    from store.core.agency_schema import signing_keys

    with database.write() as c:
        first = signing.current(c, vault)
        second = signing.rotate(c, vault)
        columns = ("secret_ciphertext", "secret_nonce")
        row = c.execute(signing_keys.select().where(signing_keys.c.id == first.id)).mappings().one()
        copied = {name: row[name] for name in columns}
        c.execute(update(signing_keys).where(signing_keys.c.id == second.id).values(copied))
    with database.write() as c, pytest.raises(SecretMoved):
        signing.current(c, vault)
