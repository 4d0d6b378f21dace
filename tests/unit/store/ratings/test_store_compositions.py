"""Tests of compositions and access to the ratings that they show."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from store.ratings import compositions
from store.ratings.compositions import NewComposition
from store.ratings.ratings import find_all
from store.ratings.tables import ratings
from store.targets import targets
from store.targets.targets import NewTarget


def new(*rating_ids, **changes):
    document = {"letter": "BS", "chain": [{"rating": {"id": one}} for one in rating_ids]}
    return NewComposition(**{"tenant": "acme", "visibility": "private", "request": {}, "document": document, **changes})


def test_private_composition_can_be_read_only_by_its_tenant(database, published):
    one = published()
    with database.write() as c:
        kept = compositions.add(c, new(one))
        assert compositions.find(c, kept.id, "acme") == kept
        for stranger in ("rival", None):
            assert compositions.find(c, kept.id, stranger) is None
        assert compositions.page(c, "rival", limit=5) == []


def test_unlisted_composition_is_hidden_when_one_of_its_ratings_becomes_private(database, published):
    one, other = published(visibility="public"), published(visibility="unlisted", request_digest="sha256:2")
    with database.write() as c:
        kept = compositions.add(c, new(one, other, one, visibility="unlisted"))
        assert compositions.find(c, kept.id, "rival") == kept
        c.execute(update(ratings).where(ratings.c.id == other).values(visibility="private"))
        assert compositions.find(c, kept.id, "rival") is None
        assert compositions.find(c, kept.id, "acme") == kept


def test_pages_of_compositions_are_newest_first(database):
    with database.write() as c:
        kept = [compositions.add(c, new()) for _ in range(3)]
    listed = sorted(kept, key=lambda row: (row.created_at, row.id), reverse=True)
    with database.read() as c:
        first = compositions.page(c, "acme", limit=2)
        rest = compositions.page(c, "acme", before=(first[-1].created_at, first[-1].id), limit=2)
    assert [*first, *rest] == listed


def test_private_ratings_of_a_composition_are_left_out_for_other_tenants(database, published):
    private, unlisted = published(), published(visibility="unlisted", request_digest="sha256:2")
    with database.read() as c:
        assert set(find_all(c, [private, unlisted, "rat_none"], "acme")) == {private, unlisted}
        assert set(find_all(c, [private, unlisted], "rival")) == {unlisted}
        assert set(find_all(c, [private, unlisted], None)) == {unlisted}
        assert find_all(c, [], "acme") == {}


@pytest.fixture
def saved(database):
    def save(tenant="acme", url="http://mirror"):
        made = NewTarget(tenant, "Mirror", "translator", "x", url, {}, {})
        with database.write() as c:
            return targets.add(c, made)

    return save


def latest(c, tenant, *rows, digest="d", **filters):
    digests = {row.id: digest if row.base_url == "http://mirror" else "of another address" for row in rows}
    return compositions.latest_of_targets(c, tenant, digests, rows, **filters)


def test_a_tenant_finds_only_its_own_saved_targets_that_were_not_removed(database, saved):
    ours, theirs, gone = saved(), saved("rival"), saved()
    with database.write() as c:
        targets.remove(c, gone.id, "acme")
        found = targets.find_by_ids(c, "acme", [ours.id, theirs.id, gone.id])
    assert found == {ours.id: ours}


def test_the_newest_rating_of_a_saved_target_is_found_by_its_id_or_by_its_equal_description(database, saved, published):
    one, twin, other = saved(), saved(), saved(url="http://other")
    by_description = published()
    by_id = published(target_id=one.id, request_digest="sha256:2")
    with database.read() as c:
        found = latest(c, "acme", one, other, twin)
        assert {name: rating.id for name, rating in found.items()} == {one.id: by_id, twin.id: by_id}
        elsewhere = latest(c, "acme", one, twin, digest="another")
        assert {name: rating.id for name, rating in elsewhere.items()} == {one.id: by_id}
    assert by_description != by_id


def test_newest_rating_is_neither_withdrawn_nor_private_to_another_tenant_nor_for_another_attribute(
    database, saved, published
):
    mine = saved("rival")
    private = published()
    race = published(visibility="public", attribute="race", request_digest="sha256:2")
    withdrawn = published(visibility="public", request_digest="sha256:3")
    with database.write() as c:
        c.execute(update(ratings).where(ratings.c.id == withdrawn).values(withdrawn_at=1, withdrawn_why="a mistake"))
        assert latest(c, "rival", mine, attribute="gender") == {}
        assert latest(c, "rival", mine)[mine.id].id == race
        assert latest(c, "acme", mine, attribute="gender")[mine.id].id == private
