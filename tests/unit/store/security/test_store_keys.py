import pytest
from sqlalchemy import update

from store.core import schema
from store.core.clock import read_clock
from store.security import keys


@pytest.fixture
def made(database):
    with database.write() as c:
        return keys.create(c, "acme", ["jobs:write", "ratings:read"], "ci")


def test_a_key_is_recognised_with_its_tenant_and_scopes(database, made):
    key, plain = made
    with database.write() as c:
        seen = keys.verify(c, plain)
    assert (seen.id, seen.tenant, seen.scopes) == (key.id, "acme", ("jobs:write", "ratings:read"))
    assert plain.startswith(f"assay_{key.short}_")
    assert len(plain) == 6 + 8 + 1 + 43 + 8


@pytest.mark.parametrize(
    "garble",
    [
        lambda plain: "",
        lambda plain: plain[:-1],
        lambda plain: plain + "0",
        lambda plain: plain + "\n",
        lambda plain: plain.upper(),
        lambda plain: plain[:20] + ("A" if plain[20] != "A" else "B") + plain[21:],
        lambda plain: plain[:-1] + ("0" if plain[-1] != "0" else "1"),
        lambda plain: plain.replace("assay", "essay"),
        lambda plain: "assay_" + "é" * 59,
        lambda plain: "\0\ud800",
    ],
)
def test_a_garbled_key_is_refused(database, made, garble):
    with database.read() as c:
        assert keys.verify(c, garble(made[1])) is None


def test_a_well_formed_key_that_was_never_made_is_refused(database, made):
    import zlib

    forged = made[1][:15] + "A" * 43
    with database.read() as c:
        assert keys.verify(c, forged + f"{zlib.crc32(forged.encode()):08x}") is None


def test_a_revoked_key_is_refused(database, made):
    key, plain = made
    with database.write() as c:
        assert not keys.revoke(c, key.id, "rival")
        assert keys.revoke(c, key.id, "acme")
        assert not keys.revoke(c, key.id, "acme")
        assert keys.verify(c, plain) is None
        assert keys.page(c, "acme")[0].revoked_at is not None


def test_an_expired_key_is_refused(database):
    with database.write() as c:
        _, gone = keys.create(c, "acme", [], "old", expires_at=read_clock(c) - 1)
        _, good = keys.create(c, "acme", [], "new", expires_at=read_clock(c) + 60_000)
        assert keys.verify(c, gone) is None
        assert keys.verify(c, good).name == "new"


def test_a_key_s_use_is_noted_once_a_minute(database, made):
    _, plain = made

    def last_used(c):
        return keys.page(c, "acme")[0].last_used_at

    with database.read() as c:
        keys.verify(c, plain)
        first = last_used(c)
        assert first is not None
        keys.verify(c, plain)
        assert last_used(c) == first
    with database.write() as c:
        c.execute(update(schema.api_keys).values(last_used_at=first - 61_000))
        keys.verify(c, plain)
        assert last_used(c) >= first


def test_the_plain_key_is_not_in_the_database(database, made):
    _, plain = made
    with database.read() as c:
        row = c.execute(schema.api_keys.select()).one()
    assert plain[15:] not in repr(row)


def test_keys_are_paged_and_all_tenants_are_seen_by_the_operator(database, made):
    with database.write() as c:
        keys.create(c, "rival", [], "other")
        assert len(keys.page(c, None)) == 2
        (mine,) = keys.page(c, "acme", limit=1)
        assert keys.page(c, "acme", before=(mine.created_at, mine.id)) == []
