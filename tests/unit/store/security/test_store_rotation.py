"""Tests of key rotation: re-encryption of stored secrets with the current key."""

import pytest

from store.jobs import jobs
from store.security import rotation
from store.security.secrets import Vault
from store.targets import targets
from store.targets.targets import NewTarget
from tests.support.secrets import count_old

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def old() -> Vault:
    return Vault(OLD, "old")


@pytest.fixture
def both() -> Vault:
    return Vault(NEW, "new", {"old": OLD})


def keep(c, vault: Vault, target_id: str) -> None:
    sealed = vault.seal(f"secret of {target_id}", tenant="acme", target=target_id, field="secret")
    new = NewTarget(
        tenant="acme",
        name="t",
        kind="translator",
        protocol="deepl",
        base_url="http://x",
        settings={},
        limits={},
        visibility="private",
        sealed_secret=sealed,
        id=target_id,
    )
    targets.add(c, new)


def rotate_all(database, vault: Vault, holder: int) -> tuple[int, list[str]]:
    after, resealed, lost = None, 0, []
    while True:
        with database.write() as c:
            done = rotation.reseal(c, vault, holder, after)
        resealed, lost = resealed + done.resealed, lost + list(done.lost)
        if done.last_id is None:
            return resealed, lost
        after = done.last_id


def test_rotation_re_encrypts_every_secret_with_the_new_key(database, old, both, monkeypatch):
    monkeypatch.setattr(rotation, "BATCH", 3)
    with database.write() as c:
        for number in range(8):
            keep(c, old, f"tgt_{number}")
        assert count_old(c, both) == 8
    assert rotate_all(database, both, 0) == (8, [])
    new_alone = Vault(NEW, "new")
    with database.read() as c:
        assert count_old(c, both) == 0
        for number in range(8):
            kept = targets.find(c, f"tgt_{number}", "acme")
            place = {"tenant": "acme", "target": kept.id, "description": targets.descriptor(kept)}
            assert new_alone.open_for_target(kept.sealed_secret, **place) == f"secret of {kept.id}"
    assert rotate_all(database, both, 0) == (0, []), "a second rotation changes nothing"


def test_key_rotation_reports_a_secret_that_was_encrypted_with_an_unknown_key_and_leaves_it_unchanged(database, both):
    with database.write() as c:
        keep(c, Vault(b"x" * 32, "unknown"), "tgt_lost")
        keep(c, Vault(OLD, "old"), "tgt_kept")
    assert rotate_all(database, both, 0) == (1, ["tgt_lost"])
    with database.read() as c:
        assert targets.find(c, "tgt_lost", "acme").sealed_secret.key_id == "unknown"


def test_rotation_re_encrypts_secrets_of_unfinished_jobs_only(database, a_job, old, both):
    with database.write() as c:
        for each in ("job_waits", "job_ended"):
            sealed = old.seal("a secret", tenant="acme", target=each, field="secret")
            jobs.add(c, a_job(id=each, sealed_secret=sealed))
        jobs.request_cancel(c, "job_ended", None)
    assert rotate_all(database, both, 1) == (1, [])
    with database.read() as c:
        waiting = jobs.find(c, "job_waits", None)
        place = {"tenant": "acme", "target": "job_waits", "description": waiting.target}
        assert Vault(NEW, "new").open_for_target(waiting.sealed_secret, **place) == "a secret"
