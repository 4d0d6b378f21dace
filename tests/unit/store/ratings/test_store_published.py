import time

import pytest
from sqlalchemy import text

from store.core.clock import read_clock
from store.ratings import published as seen
from store.targets import targets
from store.targets.targets import NewTarget

MIRROR = "http://mirror"


@pytest.fixture
def target(database):
    """Save a target; gives its id."""

    def save(target_id="tgt_1", tenant="acme"):
        new = NewTarget(
            id=target_id,
            tenant=tenant,
            name="Mirror",
            kind="translator",
            protocol="libretranslate",
            base_url=MIRROR,
            settings={},
            limits={},
            visibility="private",
            sealed_secret=None,
        )
        with database.write() as c:
            return targets.add(c, new).id

    return save


def newest(database, look, *args, **narrowed):
    with database.read() as c:
        found = look(c, *args, **narrowed).rating
        return None if found is None else found.id


def withdraw(database, rating_id):
    with database.write() as c:
        c.execute(
            text("UPDATE ratings SET withdrawn_at = 1, withdrawn_why = 'wrong' WHERE id = :id"), {"id": rating_id}
        )


def test_by_address_only_public_ratings_are_seen_whoever_asks(database, published):
    published(visibility="private"), published(visibility="unlisted")
    assert newest(database, seen.of_address, MIRROR) is None
    public = published(visibility="public")
    time.sleep(0.002)
    published(visibility="private")
    assert newest(database, seen.of_address, MIRROR) == public


def test_the_newest_is_seen_and_can_be_asked_for_by_method_and_attribute(database, published):
    old = published(visibility="public", attribute="age")
    time.sleep(0.002)
    new = published(visibility="public", method="one-hop")
    assert newest(database, seen.of_address, MIRROR) == new
    assert newest(database, seen.of_address, MIRROR, attribute="age") == old
    assert newest(database, seen.of_address, MIRROR, method="one-hop") == new
    assert newest(database, seen.of_address, MIRROR, method="one-hop", attribute="age") is None
    assert newest(database, seen.of_address, "http://elsewhere") is None


def test_a_rating_that_was_withdrawn_does_not_bring_an_older_one_out(database, published):
    published(visibility="public")
    time.sleep(0.002)
    bad = published(visibility="public", letter="BS")
    withdraw(database, bad)
    assert newest(database, seen.of_address, MIRROR) == bad


def test_by_target_unlisted_ratings_are_seen_too(database, published, target):
    mine = target()
    published(visibility="private", target_id=mine)
    assert newest(database, seen.of_target, mine) is None
    unlisted = published(visibility="unlisted", target_id=mine)
    assert newest(database, seen.of_target, mine) == unlisted
    assert newest(database, seen.of_target, mine, attribute="age") is None
    assert newest(database, seen.of_target, "tgt_nobodys") is None


def test_a_target_shows_its_own_ratings_only(database, published, target):
    mine, theirs = target(), target("tgt_2", "rival")
    published(visibility="public")  # of the same address, but of no target
    assert newest(database, seen.of_target, mine) is None
    rating = published(visibility="public", target_id=theirs, tenant="rival")
    assert newest(database, seen.of_target, mine) is None
    assert newest(database, seen.of_target, theirs) == rating


def test_a_target_that_was_removed_still_shows_what_was_published(database, published, target):
    mine = target()
    rating = published(visibility="public", target_id=mine)
    with database.write() as c:
        assert targets.remove(c, mine, "acme")
    assert newest(database, seen.of_target, mine) == rating


def test_a_private_rating_is_seen_by_its_tenant(database, published):
    rating = published(visibility="private")
    assert newest(database, seen.rating, rating, "acme") == rating
    assert newest(database, seen.rating, rating, "rival") is None
    assert newest(database, seen.rating, rating, "") is None


def test_what_is_seen_is_dated_by_the_database(database, published):
    published(visibility="public")
    with database.read() as c:
        before = read_clock(c)
        at = seen.of_address(c, MIRROR).at
        assert before <= at <= read_clock(c)


def test_looking_a_rating_up_uses_an_index(database, published, target):
    if database._reader.dialect.name != "sqlite":
        pytest.skip("what Postgres plans depends on how much there is")
    with database.read() as c:
        query = (
            "EXPLAIN QUERY PLAN SELECT ratings.id FROM ratings JOIN targets ON targets.tenant = ratings.tenant AND "
            "targets.base_url = ratings.target_url AND targets.id = ratings.target_id WHERE targets.id = 'x' "
            "AND ratings.visibility IN ('public', 'unlisted') ORDER BY ratings.created_at DESC, ratings.id DESC LIMIT 1"
        )
        plan = " ".join(row[-1] for row in c.execute(text(query)))
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
