"""Tests of publication and withdrawal, histories, and statistics of public ratings."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import chain

import pytest

from assay.canonical import rating_digest
from assay.evidence import merkle
from store.core.columns import CHARACTER_PAIRS
from store.core.database import AsyncDatabase
from store.core.errors import AlreadyWithdrawn, HoldsPeople, LeaseLost, PublishedForGood
from store.jobs import jobs
from store.jobs.jobs import finish
from store.ratings import history, log, rating_statistics, ratings, registry
from store.ratings.rating_statistics import LogPart
from store.webhooks import outbox
from tests.support.concurrency import run_concurrently
from tests.support.jobs import new_job

URL = "http://mirror"


def a_target(kind="translator", digest="d", **special):
    return {"name": "Mirror", "kind": kind, "protocol": "x", "url": URL, "digest": digest} | special


@pytest.fixture
def events(database):
    """Function that lists the events of the log."""

    def read():
        with database.read() as c:
            return [(entry.event, entry.rating_id) for entry in log.entries(c, 0, 99)]

    return read


def test_another_tenant_can_neither_publish_nor_withdraw_a_rating(database, published, events):
    rating_id = published(visibility="public")
    with database.write() as c:
        assert registry.set_visibility(c, rating_id, "rival", "public") is None
        assert registry.withdraw(c, rating_id, "rival", "spite") is None
        assert registry.withdraw(c, "rat_nope", "acme", "spite") is None
    assert events() == [("published", rating_id)]


def test_concurrent_publication_of_two_ratings_of_one_file_by_different_columns_succeeds_once(database, published):
    def audit(column):
        document = {
            "letter": "UCS",
            "components": [],
            "experiment": {"method": "outcomes", "by": [column]},
            "aggregation": {"data": {"digest": "sha256:file"}},
            "masked": {"least": 5},
        }
        return published(method="outcomes", document=document, request_digest=f"sha256:{column}")

    rating_ids = [audit("sex"), audit("race")]

    def publish(number):
        try:
            with database.write() as c:
                registry.set_visibility(c, rating_ids[number], "acme", "public")
                time.sleep(0.3)  # both have read before either commits, unless one waits for the other
        except HoldsPeople:
            return "refused"
        return "published"

    assert sorted(run_concurrently(2, publish)) == ["published", "refused"]


def test_only_a_public_rating_is_logged_when_its_job_finishes(database, published, events):
    published(), published(visibility="unlisted")
    assert events() == []
    rating_id = published(visibility="public")
    assert events() == [("published", rating_id)]


def test_failed_attempt_to_finish_a_job_logs_nothing(database, claimed, a_rating, events):
    claim = claimed()
    with database.write() as c:
        finish(c, claim, a_rating())
    with pytest.raises(LeaseLost), database.write() as c:
        finish(c, claim, a_rating(visibility="public"))
    assert events() == []


def test_log_entry_has_only_public_facts_and_the_digest_of_the_document(database, published):
    rating_id = published(visibility="public", target=a_target(settings={"model": "m"}))
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


def test_digest_of_a_document_does_not_change_by_publication_or_withdrawal(database, published):
    rating_id = published()
    with database.write() as c:
        private = ratings.find(c, rating_id, "acme")
        public = registry.set_visibility(c, rating_id, "acme", "public")
        withdrawn = registry.withdraw(c, rating_id, "acme", "mistaken")
    assert [one.shown["visibility"] for one in (private, public, withdrawn)] == ["private", "public", "public"]
    assert withdrawn.shown["withdrawn"]["reason"] == "mistaken"
    assert len({rating_digest(one.shown) for one in (private, public, withdrawn)}) == 1


def test_public_rating_cannot_become_private_or_unlisted(database, published):
    rating_id = published(visibility="public")
    for visibility in ("private", "unlisted"):
        with pytest.raises(PublishedForGood), database.write() as c:
            registry.set_visibility(c, rating_id, "acme", visibility)


def test_only_one_of_two_concurrent_withdrawals_succeeds(database, published, events):
    rating_id = published(visibility="public")

    def withdraw(_) -> bool:
        try:
            with database.write() as c:
                return registry.withdraw(c, rating_id, "acme", "mistaken") is not None
        except AlreadyWithdrawn:
            return False

    assert sorted(run_concurrently(2, withdraw)) == [False, True]
    assert events() == [("published", rating_id), ("withdrawn", rating_id)]


def test_withdrawn_rating_is_neither_reused_nor_the_latest(database, published):
    rating_id = published(request_digest="sha256:same")
    with database.write() as c:
        registry.withdraw(c, rating_id, "acme", "mistaken")
        assert jobs.existing_work(c, new_job(tenant="acme", request_digest="sha256:same"), 60, 1).rating_id is None
        assert ratings.latest(c, "acme", URL) == []
        assert ratings.page(c, "acme", limit=9) == []
        assert [one.id for one in ratings.page(c, "acme", state="withdrawn", limit=9)] == [rating_id]
        assert ratings.find(c, rating_id, "acme").withdrawn_why == "mistaken"


# ---------------------------------------------------------------------------- notices
@pytest.fixture
def notices(database):
    """Function that lists the waiting notices about ratings."""

    def read():
        with database.read() as c:
            return [(one.kind, one.data["visibility"]) for one in outbox.due(c) if one.kind.startswith("rating.")]

    return read


def test_the_notice_of_a_published_rating_is_sent_once_when_others_can_first_read_it(database, published, notices):
    rating_id = published()
    assert notices() == []
    for visibility in ("unlisted", "private", "unlisted", "public", "public"):
        with database.write() as c:
            registry.set_visibility(c, rating_id, "acme", visibility)
    assert notices() == [("rating.published", "unlisted")]


@pytest.mark.parametrize("visibility", ["unlisted", "public"])
def test_a_notice_about_an_unlisted_or_public_rating_is_sent_when_its_job_ends(published, notices, visibility):
    published(visibility=visibility)
    assert notices() == [("rating.published", visibility)]


def test_the_withdrawal_of_a_private_rating_sends_a_notice_with_its_reason(database, published, notices):
    rating_id = published()
    with database.write() as c:
        registry.withdraw(c, rating_id, "acme", "mistaken")
        notice = next(one for one in outbox.due(c) if one.kind == "rating.withdrawn")
    assert notices() == [("rating.withdrawn", "private")]
    assert (notice.data["rating_id"], notice.data["job_id"], notice.data["letter"], notice.data["reason"]) == (
        rating_id, notice.job_id, "DSBS", "mistaken",
    )  # fmt: skip


# ---------------------------------------------------------------------------- histories
@pytest.fixture
def one_after_another(published):
    """Factory of ratings that are published at different times."""

    def make(*each):
        made = []
        for special in each:
            time.sleep(0.002)
            made.append(published(**special))
        return made

    return make


def pairs(steps):
    return [(step.rating.id, step.previous and step.previous.id) for step in steps]


def test_previous_rating_in_a_history_has_the_same_attribute_and_is_not_withdrawn(database, one_after_another):
    first, gone, other, last = one_after_another({}, {}, {"attribute": "age"}, {})
    with database.write() as c:
        registry.withdraw(c, gone, "acme", "mistaken")
        steps = history.of_url(c, "acme", URL, limit=9)
        assert pairs(steps) == [(last, first), (other, None), (gone, None), (first, None)]
        assert pairs(history.of_url(c, "acme", URL, attribute="age", limit=9)) == [(other, None)]


def test_the_last_rating_of_a_history_page_is_compared_with_the_first_of_the_next_page(database, one_after_another):
    made = one_after_another({}, {}, {})
    with database.read() as c:
        page = history.of_url(c, "acme", URL, limit=2)
        assert pairs(page) == [(made[2], made[1]), (made[1], made[0])]
        last = page[-1].rating
        assert pairs(history.of_url(c, "acme", URL, before=(last.created_at, last.id), limit=2)) == [(made[0], None)]


def test_history_leaves_out_private_ratings_of_other_tenants(database, one_after_another):
    secret, public, own = one_after_another({}, {"visibility": "public"}, {"tenant": "rival", "target_id": "tgt_1"})
    with database.read() as c:
        assert pairs(history.of_url(c, "rival", URL, limit=9)) == [(own, None), (public, None)]
        assert pairs(history.of_url(c, None, URL, limit=9)) == [(public, None)]
        assert pairs(history.of_target(c, "rival", "tgt_1", "https://moved.example", "", limit=9)) == [(own, None)]
        assert history.of_target(c, "acme", "tgt_1", "https://moved.example", "", limit=9) == []
    assert secret not in {public, own}


def test_history_of_a_saved_target_includes_ratings_of_an_equal_description(database, one_after_another):
    named, equal, _ = one_after_another({"target_id": "tgt_1"}, {}, {"target": a_target(digest="another model")})
    with database.read() as c:
        assert pairs(history.of_target(c, "acme", "tgt_1", URL, "d", limit=9)) == [(equal, named), (named, None)]


# ---------------------------------------------------------------------------- statistics
def test_distribution_counts_each_target_once_by_its_newest_public_rating(database, one_after_another):
    made = one_after_another(
        {"visibility": "public", "letter": "UCS"},
        {"visibility": "public", "letter": "BS"},
        {"visibility": "public", "letter": "DSBS", "declared": False, "target": a_target(digest="e")},
        {"visibility": "public", "letter": None, "declared": False, "target": a_target(digest="f")},
        {"visibility": "public", "letter": "BS", "target": a_target("classifier", "g", settings={"kind": "other"})},
        {"visibility": "public", "letter": "UCS", "target": a_target(digest="h"), "valid_for_s": 0},
        {"visibility": "unlisted", "letter": "UCS", "target": a_target(digest="i")},
        {"visibility": "public", "letter": "UCS", "target": a_target(digest="j")},
    )
    with database.write() as c:
        registry.withdraw(c, made[-1], "acme", "mistaken")
        counted = sorted(rating_statistics.distribution(c).items())
        assert [*rating_statistics.distribution(c, kind="classifier").items()] == counted[:1]
        assert not rating_statistics.distribution(c, attribute="age")
    assert [(kind, letter, count) for (kind, _, _, letter), count in counted] == [
        ("classifier", "BS", 1),
        ("translator", "BS", 1),
        ("translator", "inconclusive", 2),
    ]


def test_public_listing_leaves_out_private_and_withdrawn_ratings(database, one_after_another):
    made = one_after_another(*({"visibility": "public"},) * 4, {})
    with database.write() as c:
        registry.withdraw(c, made[1], "acme", "mistaken")
        whole = LogPart(0, log.size(c))
        first = rating_statistics.changes(c, whole, 0, 2)
        rest = rating_statistics.changes(c, whole, first[-1][0] + 1, 2)
        assert [(position, rating.id) for position, rating in first + rest] == [
            (0, made[0]),
            (2, made[2]),
            (3, made[3]),
        ]
        assert rating_statistics.methodologies(c, whole) == ["1.0.0"]
        assert rating_statistics.methodologies(c, LogPart(4, 5)) == []


def listed(c, part):
    return [(rating.id, rating.withdrawn_at is not None) for _, rating in rating_statistics.changes(c, part, 0, 99)]


def test_registry_changes_since_a_log_size_are_new_ratings_and_withdrawals_of_older_ones(database, one_after_another):
    made = one_after_another(*({"visibility": "public"},) * 3)
    with database.write() as c:
        registry.withdraw(c, made[0], "acme", "mistaken")
        registry.withdraw(c, made[2], "acme", "mistaken")
        changes_after = [listed(c, LogPart(after, 5)) for after in range(6)]
    withdrawn, last_withdrawn = (made[0], True), (made[2], True)
    assert changes_after == [
        [(made[1], False)],
        [(made[1], False), withdrawn],
        [withdrawn],
        [withdrawn, last_withdrawn],
        [last_withdrawn],
        [],
    ]


def test_registry_changes_leave_out_what_was_logged_after_the_download_began(database, one_after_another):
    made = one_after_another(*({"visibility": "public"},) * 3)
    with database.write() as c:
        registry.withdraw(c, made[0], "acme", "mistaken")
        assert listed(c, LogPart(1, 2)) == [(made[1], False)]


@pytest.mark.parametrize("shards", [2, 3, 256])
def test_each_public_rating_is_in_exactly_one_shard(database, one_after_another, shards):
    made = one_after_another(*({"visibility": "public"},) * 40)
    with database.write() as c:
        registry.withdraw(c, made[0], "acme", "mistaken")
        size = log.size(c)
        parts = [LogPart(1, size, shard, shards) for shard in range(shards)]
        rating_ids = [[rating_id for rating_id, _ in listed(c, part)] for part in parts]
    assert sorted(chain(*rating_ids)) == sorted(made)
    for shard, ids_of_shard in enumerate(rating_ids):
        assert {CHARACTER_PAIRS.index(rating_id[-2:]) % shards for rating_id in ids_of_shard} <= {shard}


def test_publication_withdrawal_and_log_proofs_are_correct_with_the_async_driver(database_url, one_after_another):
    first, second = one_after_another({"visibility": "public"}, {})

    async def through_the_loop():
        database = AsyncDatabase(database_url)
        try:
            await database.write(registry.set_visibility, second, "acme", "public")
            shard = CHARACTER_PAIRS.index(second[-2:]) % 2
            await database.write(registry.withdraw, second, "acme", "mistaken")
            steps = await database.read(history.of_url, None, URL, limit=9)
            tallies = await database.read(rating_statistics.distribution, kind="translator")
            pages = [
                await database.read(rating_statistics.changes, LogPart(0, 3), 0, 9),
                await database.read(rating_statistics.changes, LogPart(2, 3, shard, 2), 0, 9),
            ]
            proofs = [await database.read(log.inclusion, 1), await database.read(log.consistency, 2, 3)]
            return pairs(steps), tallies, pages, proofs
        finally:
            await database.close()

    steps, tallies, pages, (included, grown) = asyncio.run(through_the_loop())
    assert steps == [(second, None), (first, None)]
    assert [(group[-1], count) for group, count in tallies.items()] == [("DSBS", 1)]
    assert [[rating.id for _, rating in page] for page in pages] == [[first], [second]]
    assert merkle.proves_inclusion(included.leaf, 1, 3, included.path, grown.second.root)
    assert merkle.proves_growth(2, 3, grown.first.root, grown.second.root, grown.path)
