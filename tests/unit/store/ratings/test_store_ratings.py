import time

from store.jobs import jobs
from store.ratings import ratings
from tests.support.jobs import new_job


def test_private_rating_is_found_only_by_its_tenant(database, published):
    rating_id = published()
    with database.read() as c:
        assert ratings.find(c, rating_id, "acme").letter == "DSBS"
        assert ratings.find(c, rating_id, "rival") is None
        assert ratings.find(c, rating_id, None) is None
        assert ratings.page(c, "rival", limit=9) == []


def test_unlisted_rating_is_found_by_id_but_listed_only_for_its_tenant(database, published):
    rating_id = published(visibility="unlisted")
    with database.read() as c:
        assert ratings.find(c, rating_id, None).id == rating_id
        assert ratings.page(c, "rival", limit=9) == []
        assert [rating.id for rating in ratings.page(c, "acme", limit=9)] == [rating_id]


def test_public_rating_is_listed_for_every_tenant(database, published):
    rating_id = published(visibility="public")
    with database.read() as c:
        assert [rating.id for rating in ratings.page(c, None, limit=9)] == [rating_id]
        assert [rating.id for rating in ratings.latest(c, "rival", "http://mirror")] == [rating_id]


def test_ratings_are_listed_newest_first_with_filters(database, published):
    made = [published(letter=letter, declared=letter != "BS") for letter in ("BS", "UCS", "BS")]
    time.sleep(0.002)
    other = published(method="one-hop", attribute="age", letter=None)
    with database.read() as c:
        assert ratings.page(c, "acme", limit=1)[0].id == other
        assert {rating.id for rating in ratings.page(c, "acme", letter="BS", limit=9)} == {made[0], made[2]}
        assert {rating.id for rating in ratings.page(c, "acme", declared=False, limit=9)} == {made[0], made[2]}
        assert [rating.id for rating in ratings.page(c, "acme", method="one-hop", attribute="age", limit=9)] == [other]
        assert ratings.page(c, "acme", target_url="http://elsewhere", limit=9) == []


def test_pages_of_ratings_ignore_ratings_added_later(database, published):
    old = {published() for _ in range(3)}
    with database.read() as c:
        first = ratings.page(c, "acme", limit=2)
        published()
        rest = ratings.page(c, "acme", limit=9, before=(first[-1].created_at, first[-1].id))
    assert {rating.id for rating in first + rest} == old


def test_for_a_target_url_the_newest_rating_of_each_method_and_attribute_is_found(database, published):
    published(), published(method="one-hop")
    time.sleep(0.002)
    newest = [published(), published(method="one-hop"), published(attribute="age")]
    with database.read() as c:
        assert {rating.id for rating in ratings.latest(c, "acme", "http://mirror")} == set(newest)
        assert [rating.id for rating in ratings.latest(c, "acme", "http://mirror", attribute="age")] == newest[2:]
        assert [rating.id for rating in ratings.latest(c, "acme", "http://mirror", method="one-hop")] == [newest[1]]


def test_rating_is_fresh_until_it_is_too_old_or_expired(database, published):
    rating_id = published(request_digest="sha256:same")
    published(request_digest="sha256:short", valid_for_s=0)
    with database.read() as c:
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:same"), 60, 1).rating_id == rating_id
        assert jobs.existing_work(c, new_job(tenant="rival", request_digest="sha256:same"), 60, 1).rating_id is None
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:same"), 0, 1).rating_id is None
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:short"), 60, 1).rating_id is None
        time.sleep(1.01)
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:same"), 1, 1).rating_id is None


def test_a_rating_has_the_id_of_its_job_and_the_job_the_id_of_its_rating(database, published):
    rating_id = published()
    with database.read() as c:
        rating = ratings.find(c, rating_id, "acme")
        assert jobs.find(c, rating.job_id, "acme").rating_id == rating_id
