"""Tests of webhook endpoints and the rotation of their secrets.

Row 93 of docs/reliability.md: at ffe18d3c 120 requests made 6,000 posts to one host.
"""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from store.core.errors import TooManyWebhooks
from store.security import rotation
from store.security.secrets import Vault
from store.webhooks import fan_out, tables, webhooks
from store.webhooks.webhooks import MOST_OF_HOST, MOST_WEBHOOKS, NewWebhook
from tests.support.concurrency import run_concurrently
from tests.support.secrets import count_old

OLD, NEW = b"o" * 32, b"n" * 32


@pytest.fixture
def vault() -> Vault:
    return Vault(OLD, "old")


@pytest.fixture
def kept(database, vault):
    """Factory of stored endpoints."""

    def add(webhook_id="whk_1", tenant="acme", plain="whsec_c2VjcmV0", **special):
        described = {"url": "http://127.0.0.1:9/", "description": "", "events": (), "envelope": "standard"} | special
        sealed = webhooks.seal(vault, plain, tenant, webhook_id)
        with database.write() as c:
            return webhooks.add(c, NewWebhook(id=webhook_id, tenant=tenant, sealed_secret=sealed, **described))

    return add


def test_endpoints_are_found_only_by_their_tenant_and_listed_newest_first(database, kept):
    first, second = kept("whk_1"), kept("whk_2")
    kept("whk_3", tenant="other")
    with database.read() as c:
        assert webhooks.find(c, "whk_1", "acme") == first
        assert webhooks.find(c, "whk_1", "other") is None
        assert [one.id for one in webhooks.page(c, "acme", limit=9)] == ["whk_2", "whk_1"]
        key = (second.created_at, second.id)
        assert [one.id for one in webhooks.page(c, "acme", before=key, limit=9)] == ["whk_1"]


def test_endpoint_without_a_filter_subscribes_to_every_event(kept):
    assert kept("whk_1").wants("rating.changed")
    chosen = kept("whk_2", events=("job.failed", "job.failed"))
    assert chosen.events == ("job.failed",)
    assert chosen.wants("job.failed")
    assert not chosen.wants("job.succeeded")


def test_number_of_endpoints_per_tenant_is_limited(database, kept, monkeypatch):
    monkeypatch.setattr(webhooks, "MOST_WEBHOOKS", 2)
    assert MOST_WEBHOOKS >= 10
    assert kept("whk_1") is not None
    assert kept("whk_2") is not None
    with pytest.raises(TooManyWebhooks, match="2 endpoints already"):
        kept("whk_3")
    assert kept("whk_4", tenant="other") is not None
    with database.write() as c:
        assert webhooks.remove(c, "whk_1", "acme")
    assert kept("whk_5") is not None


def test_number_of_endpoints_at_one_host_is_limited_for_new_and_changed_endpoints(database, kept):
    # earlier, 100 endpoints at one host turned 120 requests into 6,000 posts
    for number in range(MOST_OF_HOST):
        kept(f"whk_{number}", url=f"http://victim.example/{number}")
    with pytest.raises(TooManyWebhooks, match=r"5 endpoints at victim.example"):
        kept("whk_more", url="http://VICTIM.example:80/more")
    kept("whk_other", url="http://other.example/")
    described = {"description": "", "events": (), "envelope": "standard"}
    with pytest.raises(TooManyWebhooks), database.write() as c:
        webhooks.replace(c, "whk_other", "acme", url="http://victim.example/moved", **described)
    with database.write() as c:
        assert webhooks.replace(c, "whk_0", "acme", url="http://victim.example/0/new", **described) is not None


def test_concurrent_requests_cannot_create_more_webhook_endpoints_at_a_host_than_allowed(kept):
    def add(number: int) -> bool:
        try:
            kept(f"whk_{number}", url=f"http://victim.example/{number}")
        except TooManyWebhooks:
            return False
        return True

    assert run_concurrently(12, add).count(True) == MOST_OF_HOST


def test_secrets_are_random_and_in_the_format_of_standard_webhooks():
    made = {webhooks.new_secret() for _ in range(50)}
    assert len(made) == 50
    assert {(one[:6], len(one)) for one in made} == {("whsec_", 6 + 44)}


def test_current_and_previous_secret_can_be_decrypted_after_rotations(database, vault, kept):
    kept(plain="whsec_b25l")
    for plain in ("whsec_dHdv", "whsec_dGhyZWU="):
        with database.write() as c:
            rotated = webhooks.rotate(c, "whk_1", "acme", webhooks.seal(vault, plain, "acme", "whk_1"))
    opened = [webhooks.reveal(vault, one, "acme", "whk_1") for one in (rotated.sealed_secret, rotated.previous_secret)]
    assert opened == ["whsec_dGhyZWU=", "whsec_dHdv"]
    assert rotated.previous_until - rotated.updated_at == pytest.approx(86_400_000, abs=2000)


def test_removing_an_endpoint_deletes_its_secrets_and_gives_up_its_deliveries(database, vault, kept):
    webhook = kept()
    with database.write() as c:
        fan_out.ping(c, webhook)
        assert webhooks.remove(c, "whk_1", "acme")
        assert not webhooks.remove(c, "whk_1", "acme")
        row = c.execute(select(tables.webhooks)).mappings().one()
        assert (bytes(row["secret_ciphertext"]), row["previous_ciphertext"], row["secret_last4"]) == (b"", None, "")
        assert c.execute(select(tables.deliveries.c.state)).scalars().all() == ["given-up"]
        assert webhooks.find(c, "whk_1", "acme") is None


def test_waiting_deliveries_are_sent_to_the_new_url_of_an_endpoint(database, kept):
    webhook = kept()
    with database.write() as c:
        fan_out.ping(c, webhook)
        changed = webhooks.replace(
            c, "whk_1", "acme", url="http://127.0.0.1:10/", description="x", events=("job.failed",), envelope="standard"
        )
        assert (changed.url, changed.version) == ("http://127.0.0.1:10/", 2)
        assert c.execute(select(tables.deliveries.c.url)).scalars().all() == ["http://127.0.0.1:10/"]
        assert webhooks.replace(c, "whk_1", "other", url="", description="", events=(), envelope="standard") is None


def test_key_rotation_re_encrypts_both_secrets_of_an_endpoint(database, vault, kept):
    kept(plain="whsec_b25l")
    with database.write() as c:
        webhooks.rotate(c, "whk_1", "acme", webhooks.seal(vault, "whsec_dHdv", "acme", "whk_1"))
        kept_hint = webhooks.find(c, "whk_1", "acme").sealed_secret.last4
    both = Vault(NEW, "new", {"old": OLD})
    with database.write() as c:
        assert count_old(c, both) == 2
        resealed = [rotation.reseal(c, both, place).resealed for place in range(len(rotation.HOLDERS))]
        assert (sum(resealed), count_old(c, both)) == (2, 0)
        row = webhooks.find(c, "whk_1", "acme")
    alone = Vault(NEW, "new")
    opened = [webhooks.reveal(alone, one, "acme", "whk_1") for one in (row.sealed_secret, row.previous_secret)]
    assert opened == ["whsec_dHdv", "whsec_b25l"]
    assert row.sealed_secret.last4 == kept_hint


def test_expired_previous_secret_is_not_re_encrypted(database, vault, kept):
    kept()
    with database.write() as c:
        webhooks.rotate(c, "whk_1", "acme", webhooks.seal(vault, "whsec_dHdv", "acme", "whk_1"))
        c.execute(update(tables.webhooks).values(previous_until=1))
        assert count_old(c, Vault(NEW, "new", {"old": OLD})) == 1
