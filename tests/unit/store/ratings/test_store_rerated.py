"""Tests of re-ratings, one row per rating and methodology version."""

import pytest

from assay.methods import rating_of
from store.ratings import rerated


def document(letter="UCS", version="2.0.0", **more):
    return {"letter": letter, "declared": True, "methodology": {"version": version, "digest": "d"}} | more


@pytest.fixture
def keep(database):
    def keep(rating_id, **special):
        with database.write() as c:
            return rerated.keep(c, rating_id, rating_of(document(**special)))

    return keep


def test_stored_rerating_is_read_back_unchanged(database, published, keep):
    rating_id = published()
    kept = keep(rating_id)
    with database.read() as c:
        assert rerated.of_rating(c, rating_id) == [kept]
        assert rerated.of_rating(c, "rat_other") == []
    assert (kept.letter, kept.declared, kept.document["methodology"]["version"]) == ("UCS", True, "2.0.0")


def test_rerating_replaces_only_the_earlier_rerating_of_the_same_version(database, published, keep):
    rating_id = published()
    keep(rating_id)
    keep(rating_id, letter=None, declared=False)
    keep(rating_id, letter="BS", version="3.0.0")
    with database.read() as c:
        kept = rerated.of_rating(c, rating_id)
    assert {one.methodology_version: (one.letter, one.declared) for one in kept} == {
        "2.0.0": (None, False),
        "3.0.0": ("BS", True),
    }


def test_only_ratings_rated_again_by_a_methodology_version_have_a_letter_under_it(database, published, keep):
    first, second, third = published(), published(), published()
    keep(first)
    keep(second, letter=None)
    keep(third, version="3.0.0")
    with database.read() as c:
        assert rerated.letters(c, [first, second, third], "2.0.0") == {first: "UCS", second: None}
        assert rerated.letters(c, [], "2.0.0") == {}


def test_ratings_of_all_tenants_not_yet_rerated_by_a_version_are_listed_in_pages(database, published, keep):
    expected = [published(), published(tenant="other"), published(visibility="public")]
    keep(published())
    published(methodology_version="2.0.0")
    published(method="association")
    found, after = [], ""
    with database.read() as c:
        while page := rerated.lacking(c, "2.0.0", ["round-trip"], after=after, limit=2):
            found += page
            after = page[-1]
    assert found == sorted(expected)


def test_operator_can_read_a_rating_of_any_tenant(database, published):
    rating_id = published(tenant="other")
    with database.read() as c:
        assert rerated.any_rating(c, rating_id).tenant == "other"
        assert rerated.any_rating(c, "rat_none") is None
