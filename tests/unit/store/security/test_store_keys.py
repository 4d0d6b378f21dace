import pytest
from sqlalchemy import update

from store.core.columns import read_clock
from store.security import keys, tables


@pytest.fixture
def made(database):
    with database.write() as c:
        return keys.create(c, "acme", ["jobs:write", "ratings:read"], "ci")


def test_a_valid_api_key_is_verified_with_its_tenant_and_scopes(database, made):
    key, plain = made
    with database.write() as c:
        seen = keys.verify(c, plain)
    assert (seen.id, seen.tenant, seen.scopes) == (key.id, "acme", ("jobs:write", "ratings:read"))
    assert plain.startswith(f"assay_{key.short}_")
    assert len(plain) == 6 + 8 + 1 + 43 + 8


@pytest.mark.parametrize(
    "change",
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
def test_a_malformed_api_key_is_refused(database, made, change):
    with database.read() as c:
        assert keys.verify(c, change(made[1])) is None


def test_an_unknown_api_key_with_a_valid_checksum_is_refused(database, made):
    import zlib

    forged = made[1][:15] + "A" * 43
    with database.read() as c:
        assert keys.verify(c, forged + f"{zlib.crc32(forged.encode()):08x}") is None


def test_a_revoked_api_key_is_refused(database, made):
    key, plain = made
    with database.write() as c:
        assert not keys.revoke(c, key.id, "rival")
        assert keys.revoke(c, key.id, "acme")
        assert not keys.revoke(c, key.id, "acme")
        assert keys.verify(c, plain) is None
        assert keys.page(c, "acme")[0].revoked_at is not None


def test_an_expired_api_key_is_refused(database):
    with database.write() as c:
        _, gone = keys.create(c, "acme", [], "old", expires_at=read_clock(c) - 1)
        _, good = keys.create(c, "acme", [], "new", expires_at=read_clock(c) + 60_000)
        assert keys.verify(c, gone) is None
        assert keys.verify(c, good).name == "new"


def test_last_use_of_a_key_is_recorded_at_most_once_a_minute(database, made):
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
        c.execute(update(tables.api_keys).values(last_used_at=first - 61_000))
        keys.verify(c, plain)
        assert last_used(c) >= first


def test_plain_text_of_a_key_is_not_stored(database, made):
    _, plain = made
    with database.read() as c:
        row = c.execute(tables.api_keys.select()).one()
    assert plain[15:] not in repr(row)


def test_operator_can_list_api_keys_of_all_tenants(database, made):
    with database.write() as c:
        keys.create(c, "rival", [], "other")
        assert len(keys.page(c, None)) == 2
        (mine,) = keys.page(c, "acme", limit=1)
        assert keys.page(c, "acme", before=(mine.created_at, mine.id)) == []
