import time

import pytest
from sqlalchemy import text

from store.core.columns import read_clock
from store.ratings import published as published_ratings
from store.targets import targets
from store.targets.targets import NewTarget

MIRROR = "http://mirror"


@pytest.fixture
def target(database):
    """Factory of saved targets; it returns their ids."""

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


def newest(database, query, *args, **filters):
    with database.read() as c:
        found = query(c, *args, **filters).rating
        return None if found is None else found.id


def withdraw(database, rating_id):
    with database.write() as c:
        c.execute(
            text("UPDATE ratings SET withdrawn_at = 1, withdrawn_why = 'wrong' WHERE id = :id"), {"id": rating_id}
        )


def test_only_public_ratings_are_found_by_target_url(database, published):
    published(visibility="private"), published(visibility="unlisted")
    assert newest(database, published_ratings.of_address, MIRROR) is None
    public = published(visibility="public")
    time.sleep(0.002)
    published(visibility="private")
    assert newest(database, published_ratings.of_address, MIRROR) == public


def test_newest_public_rating_can_be_filtered_by_method_and_attribute(database, published):
    old = published(visibility="public", attribute="age")
    time.sleep(0.002)
    new = published(visibility="public", method="one-hop")
    assert newest(database, published_ratings.of_address, MIRROR) == new
    assert newest(database, published_ratings.of_address, MIRROR, attribute="age") == old
    assert newest(database, published_ratings.of_address, MIRROR, method="one-hop") == new
    assert newest(database, published_ratings.of_address, MIRROR, method="one-hop", attribute="age") is None
    assert newest(database, published_ratings.of_address, "http://elsewhere") is None


def test_withdrawn_rating_is_shown_instead_of_an_older_rating(database, published):
    published(visibility="public")
    time.sleep(0.002)
    bad = published(visibility="public", letter="BS")
    withdraw(database, bad)
    assert newest(database, published_ratings.of_address, MIRROR) == bad


def test_unlisted_ratings_are_found_by_target_id(database, published, target):
    mine = target()
    published(visibility="private", target_id=mine)
    assert newest(database, published_ratings.of_target, mine) is None
    unlisted = published(visibility="unlisted", target_id=mine)
    assert newest(database, published_ratings.of_target, mine) == unlisted
    assert newest(database, published_ratings.of_target, mine, attribute="age") is None
    assert newest(database, published_ratings.of_target, "tgt_nobodys") is None


def test_ratings_of_the_same_address_but_another_target_are_not_found(database, published, target):
    mine, theirs = target(), target("tgt_2", "rival")
    published(visibility="public")  # same address, but without a target id
    assert newest(database, published_ratings.of_target, mine) is None
    rating = published(visibility="public", target_id=theirs, tenant="rival")
    assert newest(database, published_ratings.of_target, mine) is None
    assert newest(database, published_ratings.of_target, theirs) == rating


def test_published_rating_of_a_removed_target_is_still_found(database, published, target):
    mine = target()
    rating = published(visibility="public", target_id=mine)
    with database.write() as c:
        assert targets.remove(c, mine, "acme")
    assert newest(database, published_ratings.of_target, mine) == rating


def test_private_rating_is_read_only_by_its_tenant(database, published):
    rating = published(visibility="private")
    assert newest(database, published_ratings.rating, rating, "acme") == rating
    assert newest(database, published_ratings.rating, rating, "rival") is None
    assert newest(database, published_ratings.rating, rating, "") is None


def test_published_rating_is_returned_with_the_time_of_the_database_clock(database, published):
    published(visibility="public")
    with database.read() as c:
        before = read_clock(c)
        at = published_ratings.of_address(c, MIRROR).at
        assert before <= at <= read_clock(c)


def test_newest_rating_of_a_target_is_read_with_an_index_and_no_table_scan(database, published, target):
    if database._reader.dialect.name != "sqlite":
        pytest.skip("the plan of Postgres depends on the number of rows")
    with database.read() as c:
        query = (
            "EXPLAIN QUERY PLAN SELECT ratings.id FROM ratings JOIN targets ON targets.tenant = ratings.tenant AND "
            "targets.base_url = ratings.target_url AND targets.id = ratings.target_id WHERE targets.id = 'x' "
            "AND ratings.visibility IN ('public', 'unlisted') ORDER BY ratings.created_at DESC, ratings.id DESC LIMIT 1"
        )
        plan = " ".join(row[-1] for row in c.execute(text(query)))
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan
