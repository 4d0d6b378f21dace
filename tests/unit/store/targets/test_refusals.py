"""Refusals of ratings by hosts and their owners, on both databases. Earlier, neither could refuse.

Row 73 of docs/reliability.md: at c37b512 the calls of several tenants to one host added up, and no host could refuse.
"""

import pytest

from store.core.errors import NotTheOwner, RatingsRefused
from store.targets import domains

URL, FILE = "https://api.example.com/v1", "https://api.example.com/.well-known/assay.txt"


@pytest.fixture
def prove(database):
    """Function that records a tenant's proof that it owns the host, and its policy on ratings."""

    def prove(tenant, ratings="refused", host="api.example.com"):
        with database.write() as c:
            claimed, _ = domains.add(c, tenant, host)
            verified = domains.record_check(c, claimed.id, None)
            return domains.set_policy(c, verified, ratings)

    return prove


def standing(database, tenant="acme", url=URL):
    with database.read() as c:
        return domains.standing(c, tenant, url)


def some_exist(database):
    return bool(database.value_of(domains.EXIST))


@pytest.mark.parametrize(
    ("url", "file"),
    [
        (URL, FILE),
        ("HTTPS://API.Example.com.:443/x?y", FILE),
        ("http://api.example.com:80", FILE.replace("https", "http")),
        ("http://[::1]:8000/x", "http://[::1]:8000/.well-known/assay.txt"),
    ],
)
def test_refusal_file_is_at_the_well_known_path_of_the_host(url, file):
    assert domains.file_of(url) == file


def test_no_host_refuses_ratings_by_default(database):
    assert standing(database) == domains.Standing(False, None, False)
    assert not some_exist(database)


def test_owner_of_a_host_refuses_ratings_by_other_tenants_but_not_its_own(database, prove):
    assert prove("owner").ratings == "refused"
    assert some_exist(database)
    assert standing(database).refusal.who == "owner"
    own = standing(database, "owner")
    assert (own.proven, own.refusal) == (True, None)
    prove("owner", "allowed")
    assert standing(database).refusal is None
    assert not some_exist(database)


def test_an_owners_refusal_of_ratings_ends_when_its_proof_of_ownership_ends(database, prove):
    refused = prove("owner")
    with database.write() as c:
        domains.record_check(c, refused.id, "the token is gone")
    assert standing(database).refusal is None
    assert not some_exist(database)


def test_only_the_tenant_with_the_newest_proof_of_ownership_can_refuse_ratings(database, prove):
    former = prove("former owner")
    with database.write() as c:
        c.exec_driver_sql("UPDATE domains SET verified_at = verified_at - 1000")
    prove("owner", "allowed")
    assert standing(database).refusal is None
    with database.write() as c, pytest.raises(NotTheOwner, match="older than that of another tenant"):
        domains.set_policy(c, former, "refused")


def test_tenant_without_a_valid_proof_of_ownership_cannot_refuse_ratings(database):
    with database.write() as c:
        claimed, _ = domains.add(c, "stranger", "api.example.com")
        with pytest.raises(NotTheOwner, match="missing or expired"):
            domains.set_policy(c, claimed, "refused")


def test_content_of_a_refusal_file_is_cached_for_an_hour(database):
    with database.write() as c:
        domains.keep(c, FILE, True)
    seen = standing(database)
    assert (seen.refusal.who, seen.refusal.where, seen.file_read) == ("file", FILE, True)
    with database.write() as c:
        domains.keep(c, FILE, False)
    assert standing(database) == domains.Standing(False, None, True)
    with database.write() as c:
        c.exec_driver_sql("UPDATE refusal_files SET read_at = read_at - 3600001")
    assert not standing(database).file_read


def test_refusal_also_applies_to_links_of_a_chain_and_to_authors(database, prove):
    prove("owner")
    free, refusing = {"base_url": "https://free.example"}, {"base_url": URL}
    chain = {"base_url": "", "settings": {"links": [free, refusing]}}
    with database.read() as c:
        domains.check(c, "acme", free, None)
        domains.check(c, "owner", chain, refusing)
        for called in ((refusing, None), (chain, None), (free, refusing)):
            with pytest.raises(RatingsRefused, match=r"api\.example\.com must not be rated"):
                domains.check(c, "acme", *called)
