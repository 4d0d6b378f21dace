"""Publishing, withdrawing, histories and the census, in both databases."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from assay.canonical import rating_digest
from assay.evidence import merkle
from store.core.database import AsyncDatabase
from store.core.errors import AlreadyWithdrawn, LeaseLost, PublishedForGood
from store.jobs.jobs import finish
from store.ratings import history, log, rating_statistics, ratings, registry
from store.webhooks import outbox

URL = "http://mirror"


def described(kind="translator", digest="d", **special):
    return {"name": "Mirror", "kind": kind, "protocol": "x", "url": URL, "digest": digest} | special


@pytest.fixture
def events(database):
    """What the log says happened."""

    def events():
        with database.read() as c:
            return [(entry.event, entry.rating_id) for entry in log.entries(c, 0, 99)]

    return events


def test_only_a_ratings_own_tenant_changes_its_standing(database, published, events):
    rating_id = published(visibility="public")
    with database.write() as c:
        assert registry.set_visibility(c, rating_id, "rival", "public") is None
        assert registry.withdraw(c, rating_id, "rival", "spite") is None
        assert registry.withdraw(c, "rat_nope", "acme", "spite") is None
    assert events() == [("published", rating_id)]


def test_the_transaction_that_finishes_a_public_job_logs_its_rating(database, published, events):
    published(), published(visibility="unlisted")
    assert events() == []
    rating_id = published(visibility="public")
    assert events() == [("published", rating_id)]


def test_a_finish_that_fails_logs_nothing(database, claimed, a_rating, events):
    claim = claimed()
    with database.write() as c:
        finish(c, claim, a_rating(), ())
    with pytest.raises(LeaseLost), database.write() as c:
        finish(c, claim, a_rating(visibility="public"), ())
    assert events() == []


def test_what_is_logged_is_public_and_names_the_sealed_document(database, published):
    rating_id = published(visibility="public", target=described(settings={"model": "m"}))
    with database.read() as c:
        entry = log.entries(c, 0, 1)[0].entry
        rating = ratings.find(c, rating_id, None)
    assert set(entry) == {
        "rating", "event", "logged_at", "document_digest", "target", "method", "attribute", "letter", "declared",
        "methodology_version", "rated_at", "expires_at",
    }  # fmt: skip
    assert entry["document_digest"] == rating_digest(rating.document) == rating_digest(rating.shown)
    assert "acme" not in json.dumps(entry)
    assert "settings" not in entry["target"]


def test_a_sealed_digest_survives_publishing_and_withdrawal(database, published):
    rating_id = published()
    with database.write() as c:
        private = ratings.find(c, rating_id, "acme")
        public = registry.set_visibility(c, rating_id, "acme", "public")
        withdrawn = registry.withdraw(c, rating_id, "acme", "mistaken")
    assert [one.shown["visibility"] for one in (private, public, withdrawn)] == ["private", "public", "public"]
    assert withdrawn.shown["withdrawn"]["reason"] == "mistaken"
    assert len({rating_digest(one.shown) for one in (private, public, withdrawn)}) == 1


def test_a_public_rating_stays_public(database, published):
    rating_id = published(visibility="public")
    for visibility in ("private", "unlisted"):
        with pytest.raises(PublishedForGood), database.write() as c:
            registry.set_visibility(c, rating_id, "acme", visibility)


def test_two_who_withdraw_at_once_withdraw_once(database, published, events):
    rating_id = published(visibility="public")
    refused = []

    def withdraw() -> None:
        try:
            with database.write() as c:
                registry.withdraw(c, rating_id, "acme", "mistaken")
        except AlreadyWithdrawn as error:
            refused.append(error)

    both = [threading.Thread(target=withdraw) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(refused) == 1
    assert events() == [("published", rating_id), ("withdrawn", rating_id)]


def test_a_withdrawn_rating_is_not_fresh_nor_the_latest(database, published):
    rating_id = published(request_digest="sha256:same")
    with database.write() as c:
        registry.withdraw(c, rating_id, "acme", "mistaken")
        assert ratings.fresh(c, "acme", "sha256:same", 60) is None
        assert ratings.latest(c, "acme", URL) == []
        assert ratings.page(c, "acme", limit=9) == []
        assert [one.id for one in ratings.page(c, "acme", state="withdrawn", limit=9)] == [rating_id]
        assert ratings.find(c, rating_id, "acme").withdrawn_why == "mistaken"


# ---------------------------------------------------------------------------- what its tenant is told
@pytest.fixture
def told(database):
    """The notices of ratings that wait, in order."""

    def told():
        with database.read() as c:
            return [(one.kind, one.data["visibility"]) for one in outbox.due(c) if one.kind.startswith("rating.")]

    return told


def test_a_rating_is_announced_when_others_can_read_it_and_only_the_first_time(database, published, told):
    rating_id = published()
    assert told() == []
    for visibility in ("unlisted", "private", "unlisted", "public", "public"):
        with database.write() as c:
            registry.set_visibility(c, rating_id, "acme", visibility)
    assert told() == [("rating.published", "unlisted")]


@pytest.mark.parametrize("visibility", ["unlisted", "public"])
def test_a_job_that_ends_with_a_visible_rating_announces_it_at_once(published, told, visibility):
    published(visibility=visibility)
    assert told() == [("rating.published", visibility)]


def test_a_withdrawal_is_announced_with_its_reason_also_of_a_private_rating(database, published, told):
    rating_id = published()
    with database.write() as c:
        registry.withdraw(c, rating_id, "acme", "mistaken")
        notice = next(one for one in outbox.due(c) if one.kind == "rating.withdrawn")
    assert told() == [("rating.withdrawn", "private")]
    assert (notice.data["rating_id"], notice.data["job_id"], notice.data["letter"], notice.data["reason"]) == (
        rating_id, notice.job_id, "DSBS", "mistaken",
    )  # fmt: skip


# ---------------------------------------------------------------------------- histories
@pytest.fixture
def one_after_another(published):
    """Publish ratings at different moments."""

    def make(*each):
        made = []
        for special in each:
            time.sleep(0.002)
            made.append(published(**special))
        return made

    return make


def pairs(steps):
    return [(step.rating.id, step.previous and step.previous.id) for step in steps]


def test_each_rating_follows_the_last_that_stood_of_its_question(database, one_after_another):
    first, gone, other, last = one_after_another({}, {}, {"attribute": "age"}, {})
    with database.write() as c:
        registry.withdraw(c, gone, "acme", "mistaken")
        steps = history.of_url(c, "acme", URL, limit=9)
        assert pairs(steps) == [(last, first), (other, None), (gone, None), (first, None)]
        assert pairs(history.of_url(c, "acme", URL, attribute="age", limit=9)) == [(other, None)]


def test_a_page_of_history_knows_what_came_before_it(database, one_after_another):
    made = one_after_another({}, {}, {})
    with database.read() as c:
        page = history.of_url(c, "acme", URL, limit=2)
        assert pairs(page) == [(made[2], made[1]), (made[1], made[0])]
        last = page[-1].rating
        assert pairs(history.of_url(c, "acme", URL, before=(last.created_at, last.id), limit=2)) == [(made[0], None)]


def test_nobodys_history_has_anothers_private_ratings(database, one_after_another):
    secret, public, own = one_after_another({}, {"visibility": "public"}, {"tenant": "rival", "target_id": "tgt_1"})
    with database.read() as c:
        assert pairs(history.of_url(c, "rival", URL, limit=9)) == [(own, public), (public, None)]
        assert pairs(history.of_url(c, None, URL, limit=9)) == [(public, None)]
        assert pairs(history.of_target(c, "rival", "tgt_1", limit=9)) == [(own, None)]
        assert history.of_target(c, "acme", "tgt_1", limit=9) == []
    assert secret not in {public, own}


# ---------------------------------------------------------------------------- the census
def test_the_census_counts_targets_once_by_their_newest_public_rating(database, one_after_another):
    made = one_after_another(
        {"visibility": "public", "letter": "UCS"},
        {"visibility": "public", "letter": "BS"},
        {"visibility": "public", "letter": "DSBS", "declared": False, "target": described(digest="e")},
        {"visibility": "public", "letter": None, "declared": False, "target": described(digest="f")},
        {"visibility": "public", "letter": "BS", "target": described("classifier", "g", settings={"kind": "other"})},
        {"visibility": "public", "letter": "UCS", "target": described(digest="h"), "valid_for_s": 0},
        {"visibility": "unlisted", "letter": "UCS", "target": described(digest="i")},
        {"visibility": "public", "letter": "UCS", "target": described(digest="j")},
    )
    with database.write() as c:
        registry.withdraw(c, made[-1], "acme", "mistaken")
        counted = rating_statistics.distribution(c)
        assert rating_statistics.distribution(c, kind="classifier") == counted[:1]
        assert rating_statistics.distribution(c, attribute="age") == []
    assert [(one.kind, one.letter, one.count) for one in counted] == [
        ("classifier", "BS", 1),
        ("translator", "BS", 1),
        ("translator", "inconclusive", 2),
    ]


def test_the_census_pages_through_what_is_public_and_stands(database, one_after_another):
    made = one_after_another(*({"visibility": "public"},) * 4, {})
    with database.write() as c:
        registry.withdraw(c, made[1], "acme", "mistaken")
        first = rating_statistics.page(c, None, 2)
        rest = rating_statistics.page(c, (first[-1].created_at, first[-1].id), 2)
        assert [one.id for one in first + rest] == [made[0], made[2], made[3]]
        assert rating_statistics.methodologies(c) == ["1.0.0"]


def test_the_event_loops_driver_writes_and_reads_the_same(database_url, one_after_another):
    first, second = one_after_another({"visibility": "public"}, {})

    async def through_the_loop():
        there = AsyncDatabase(database_url)
        try:
            await there.write(registry.set_visibility, second, "acme", "public")
            await there.write(registry.withdraw, second, "acme", "mistaken")
            steps = await there.read(history.of_url, None, URL, limit=9)
            tallies = await there.read(rating_statistics.distribution, kind="translator")
            pages = [
                await there.read(rating_statistics.page, None, 9),
                await there.read(rating_statistics.page, (1, ""), 9),
            ]
            proofs = [await there.read(log.inclusion, 1), await there.read(log.consistency, 2, 3)]
            return pairs(steps), tallies, pages, proofs
        finally:
            await there.close()

    steps, tallies, pages, (included, grown) = asyncio.run(through_the_loop())
    assert steps == [(second, None), (first, None)]
    assert [(one.letter, one.count) for one in tallies] == [("DSBS", 1)]
    assert [[one.id for one in page] for page in pages] == [[first], [first]]
    assert merkle.proves_inclusion(included.leaf, 1, 3, included.path, grown.second.root)
    assert merkle.proves_growth(2, 3, grown.first.root, grown.second.root, grown.path)
