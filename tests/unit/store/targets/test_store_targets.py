import pytest

from store.security.secrets import Vault
from store.targets import targets
from store.targets.targets import NewTarget


@pytest.fixture
def a_target():
    def make(**changes):
        defaults = {
            "tenant": "acme",
            "name": "Mirror",
            "kind": "translator",
            "protocol": "libretranslate",
            "base_url": "http://mirror",
            "settings": {"format": "text"},
            "limits": {"concurrency": 8},
        }
        return NewTarget(**defaults | changes)

    return make


@pytest.fixture
def vault():
    return Vault(b"k" * 32, "k1")


def test_description_of_a_target_has_no_secret(database, a_target, vault):
    new = a_target(
        id="tgt_1", sealed_secret=vault.seal("hunter2hunter2", tenant="acme", target="tgt_1", field="secret")
    )
    with database.write() as c:
        kept = targets.add(c, new)
    with database.read() as c:
        found = targets.find(c, "tgt_1", "acme")
    assert found == kept
    assert found.secret_last4 == "er2"
    assert targets.descriptor(found) == {
        "name": "Mirror",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": "http://mirror",
        "settings": {"format": "text"},
        "limits": {"concurrency": 8},
    }
    assert "hunter2" not in repr(found)
    assert vault.open(found.sealed_secret, tenant="acme", target="tgt_1", field="secret") == "hunter2hunter2"


def test_another_tenant_can_neither_read_nor_change_a_target(database, a_target):
    with database.write() as c:
        kept = targets.add(c, a_target())
        assert targets.find(c, kept.id, "rival") is None
        assert targets.replace(c, kept.id, "rival", a_target(name="Mine")) is None
        assert not targets.remove(c, kept.id, "rival")
        assert targets.find(c, kept.id, None) == kept


def test_a_target_can_be_replaced_with_its_secret_kept_and_only_at_the_expected_version(database, a_target, vault):
    sealed = vault.seal("a long enough secret", tenant="acme", target="tgt_1", field="secret")
    with database.write() as c:
        targets.add(c, a_target(id="tgt_1", sealed_secret=sealed))
        kept = targets.replace(c, "tgt_1", "acme", a_target(name="Renamed"), keep_secret=True, version=1)
        assert (kept.name, kept.version, kept.sealed_secret) == ("Renamed", 2, sealed)
        assert targets.replace(c, "tgt_1", "acme", a_target(name="Late"), version=1) is None
        assert targets.replace(c, "tgt_1", "acme", a_target()).sealed_secret is None


def test_removed_target_is_hidden_and_has_no_secret(database, a_target, vault):
    sealed = vault.seal("a long enough secret", tenant="acme", target="tgt_1", field="secret")
    with database.write() as c:
        targets.add(c, a_target(id="tgt_1", sealed_secret=sealed))
        assert targets.remove(c, "tgt_1", "acme")
        assert not targets.remove(c, "tgt_1", "acme")
        assert targets.find(c, "tgt_1", "acme") is None
        assert targets.page(c, "acme", limit=9) == []
        assert targets.find(c, "tgt_1", None, removed=True).sealed_secret is None


def test_pages_of_targets_list_each_target_once(database, a_target):
    with database.write() as c:
        made = {targets.add(c, a_target()).id for _ in range(3)}
        targets.add(c, a_target(tenant="rival"))
        first = targets.page(c, "acme", limit=2)
        rest = targets.page(c, "acme", limit=2, before=(first[-1].created_at, first[-1].id))
    assert {target.id for target in first + rest} == made
