"""Tests of domains (proofs that a tenant owns a host) and of replies to ratings."""

import pytest
from sqlalchemy import update

from store.core.errors import NotTheOwner
from store.ratings import ratings, replies
from store.targets import domains
from store.targets.domains import DAY_MS, PROOF_DAYS, host_of
from store.targets.tables import domains as rows


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Api.Example.com/v1", "api.example.com"),
        ("http://api.example.com.:80/", "api.example.com"),
        ("https://api.example.com:443", "api.example.com"),
        ("http://api.example.com:443", "api.example.com:443"),
        ("http://127.0.0.1:5000/x", "127.0.0.1:5000"),
        ("https://[2001:DB8:0::1]/", "[2001:db8::1]"),
        ("https://[2001:db8::1]:8443/", "[2001:db8::1]:8443"),
        ("ftp://example.com", None),
        ("https://", None),
        ("https://a:b", None),
        ("", None),
        ("upload:upl_1", None),
    ],
)
def test_host_of_a_url_includes_only_a_non_default_port(url, host):
    assert host_of(url) == host


@pytest.fixture
def prove(database):
    """Function that adds a tenant's domain and records a check."""

    def add_and_check(tenant, host="mirror", failure=None):
        with database.write() as c:
            added, _ = domains.add(c, tenant, host)
            return domains.record_check(c, added.id, failure)

    return add_and_check


@pytest.fixture
def rating(database, published):
    def make(**changes):
        rating_id = published(**changes)
        with database.read() as c:
            return ratings.find(c, rating_id, changes.get("tenant", "acme"))

    return make


def put(database, rating, tenant, text="we have fixed it", link=None):
    with database.write() as c:
        return replies.put(c, rating, tenant, text, link)


def age(database, days):
    """Make every proof older by a number of days."""
    with database.write() as c:
        c.execute(update(rows).values(verified_at=rows.c.verified_at - days * DAY_MS))


def test_claiming_a_host_twice_returns_the_same_token_but_other_tenants_get_another_token(database):
    with database.write() as c:
        first, new = domains.add(c, "acme", "mirror")
        again, newly = domains.add(c, "acme", "mirror")
        other, _ = domains.add(c, "other", "mirror")
    assert (new, newly, again) == (True, False, first)
    assert other.token != first.token
    assert len(first.token) > 40


def test_another_tenant_can_neither_read_nor_remove_a_domain(database):
    with database.write() as c:
        mine, _ = domains.add(c, "acme", "mirror")
        assert domains.find(c, mine.id, "other") is None
        assert domains.page(c, "other", limit=10) == []
        assert not domains.remove(c, mine.id, "other")
        assert domains.find(c, mine.id, None) == mine
        assert domains.remove(c, mine.id, "acme")
        assert domains.page(c, "acme", limit=10) == []
        assert domains.record_check(c, mine.id, None) is None


def test_pages_of_domains_are_newest_first(database):
    with database.write() as c:
        made = [domains.add(c, "acme", f"h{place}")[0] for place in range(3)]
    with database.read() as c:
        page = domains.page(c, "acme", limit=2)
        rest = domains.page(c, "acme", before=(page[-1].created_at, page[-1].id), limit=2)
    newest_first = sorted(made, key=lambda one: (one.created_at, one.id), reverse=True)
    assert [one.id for one in [*page, *rest]] == [one.id for one in newest_first]


def test_a_failed_check_of_a_host_ends_its_proof_of_ownership_and_stores_the_reason(database, prove):
    assert prove("acme").proven
    lost = prove("acme", failure="gone")
    assert (lost.state, lost.failure, lost.proven, lost.proven_until) == ("failed", "gone", False, None)


def test_owner_can_reply_and_replace_the_reply(database, prove, rating):
    one = rating()
    prove("owner")
    reply, new = put(database, one, "owner", link="https://mirror/notes")
    assert (new, reply.host, reply.text, reply.link) == (True, "mirror", "we have fixed it", "https://mirror/notes")
    again, new = put(database, one, "owner", "again")
    assert (new, again.text, again.link) == (False, "again", None)
    with database.read() as c:
        assert replies.find(c, one.id) == again
        assert replies.of_ratings(c, [one.id, "rat_none"]) == {one.id: again}
        assert replies.of_ratings(c, []) == {}


def test_a_tenant_that_has_not_proved_ownership_of_the_rated_host_cannot_reply_to_a_rating(database, prove, rating):
    one = rating()
    prove("waiting", failure="no file")
    prove("neighbour", host="mirror:8080")
    for tenant in ("stranger", "waiting", "neighbour", "acme"):
        with pytest.raises(NotTheOwner, match="mirror") as refused:
            put(database, one, tenant)
        assert refused.value.host == "mirror"


def test_rating_of_a_target_without_an_address_cannot_be_replied_to(database, rating):
    target = {"name": "m", "kind": "embedder", "protocol": "uploaded", "url": "", "digest": "d"}
    with pytest.raises(NotTheOwner, match="no address") as refused:
        put(database, rating(target=target), "owner")
    assert refused.value.host is None


def test_a_reply_to_a_rating_stays_but_cannot_be_changed_after_the_proof_of_ownership_expires(database, prove, rating):
    one = rating()
    prove("owner")
    put(database, one, "owner")
    age(database, PROOF_DAYS)
    with pytest.raises(NotTheOwner):
        put(database, one, "owner", "too late")
    with database.read() as c:
        assert replies.find(c, one.id).text == "we have fixed it"


def test_of_two_proven_owners_of_a_host_only_the_newer_can_replace_a_reply_to_a_rating(database, prove, rating):
    one = rating()
    prove("first")
    put(database, one, "first", "first")
    age(database, 1)
    prove("second")
    assert put(database, one, "second", "second")[0].text == "second"
    with pytest.raises(NotTheOwner, match="another tenant"):
        put(database, one, "first", "first again")


def test_a_new_owner_of_a_host_can_replace_a_reply_by_a_tenant_whose_ownership_proof_expired(database, prove, rating):
    one = rating()
    prove("first")
    put(database, one, "first")
    age(database, PROOF_DAYS + 1)
    prove("second")
    assert put(database, one, "second", "second")[0].tenant == "second"


def test_reply_can_be_deleted_only_by_its_author(database, prove, rating):
    one = rating()
    prove("owner")
    put(database, one, "owner")
    with database.write() as c:
        assert not replies.remove(c, one.id, "acme")
        assert replies.remove(c, one.id, "owner")
        assert not replies.remove(c, one.id, "owner")
        assert replies.find(c, one.id) is None
