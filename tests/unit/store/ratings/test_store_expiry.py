"""Tests of notices about expiring ratings and changed letters, and of the cool-down of targets."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from store.jobs import cooldowns, jobs
from store.jobs.tables import jobs as job_rows
from store.ratings import expiry
from store.ratings.ratings import find
from store.ratings.tables import ratings
from store.webhooks import outbox

SURE = {"BS": {"BS": 0.98, "DSBS": 0.01, "UCS": 0.01}, "DSBS": {"BS": 0.01, "DSBS": 0.98, "UCS": 0.01}}
UNSURE = {"BS": 0.5, "DSBS": 0.4, "UCS": 0.1}


@pytest.fixture
def rated(database, claimed, a_rating):
    """Factory of ratings with a complete document."""

    def make(letter="DSBS", *, declared=True, probabilities=None, digest="d", job=None, **changes):
        target = {"name": "M", "kind": "translator", "protocol": "x", "url": "http://mirror", "digest": digest}
        target |= changes.pop("target", {})
        document = {
            "letter": letter,
            "declared": declared,
            "probabilities": probabilities or SURE.get(letter),
            "confidence": 0.95,
            "method": changes.get("method", "round-trip"),
            "attribute": changes.get("attribute", "gender"),
            "target": target,
            "components": [],
        }
        claim = claimed(**({"tenant": changes.get("tenant", "acme")} | (job or {})))
        rating = a_rating(
            **({"letter": letter, "declared": declared, "target": target, "document": document} | changes)
        )
        with database.write() as c:
            return jobs.finish(c, claim, rating)

    return make


def notices_of(database, kind):
    with database.read() as c:
        return [notice.data for notice in outbox.due(c) if notice.kind == kind]


# ---------------------------------------------------------------------------- changed letters
def test_a_significant_change_of_letter_sends_a_notice_that_names_both_ratings(database, rated):
    before, after = rated("DSBS"), rated("BS")
    [change] = notices_of(database, "rating.changed")
    assert (change["before"]["rating_id"], change["before"]["letter"]) == (before, "DSBS")
    assert (change["after"]["rating_id"], change["after"]["letter"]) == (after, "BS")
    assert change["probability"] == pytest.approx(1 - 0.01 * 0.98 * 2 - 0.01**2)
    assert change["also_differed"] == []
    assert (change["target_url"], change["method"], change["attribute"]) == ("http://mirror", "round-trip", "gender")


@pytest.mark.parametrize(
    "second",
    [
        {"letter": "DSBS"},
        {"letter": "BS", "probabilities": UNSURE},
        {"letter": "BS", "declared": False},
        {"letter": None, "declared": False},
        {"letter": "BS", "tenant": "rival"},
        {"letter": "BS", "method": "one-hop"},
        {"letter": "BS", "attribute": "race"},
        {"letter": "BS", "target": {"url": "http://elsewhere"}},
        {"letter": "BS", "digest": "another service at the same address"},
        {"letter": "BS", "job": {"experiment": {"method": "round-trip", "delta": 0.3}}, "request_digest": "another"},
    ],
)
def test_an_insignificant_or_unrelated_change_of_letter_sends_no_notice(database, rated, second):
    rated("DSBS")
    rated(**second)
    assert notices_of(database, "rating.changed") == []


def test_a_change_of_letter_sends_a_notice_even_if_both_ratings_used_different_unpublished_texts(database, rated):
    before = rated(
        "DSBS", job={"experiment": {"method": "round-trip", "held_back": ["{Subject} rested as {an_occupation}"]}}
    )
    rated("BS", job={"experiment": {"method": "round-trip", "held_back": ["{Subject} sang as {an_occupation}"]}})
    [change] = notices_of(database, "rating.changed")
    assert change["before"]["rating_id"] == before


def test_change_of_letter_is_measured_from_the_latest_rating_that_is_not_withdrawn(database, rated):
    first, mistaken = rated("DSBS"), rated("DSBS")
    with database.write() as c:
        c.execute(update(ratings).where(ratings.c.id == mistaken).values(withdrawn_at=1))
    rated("BS")
    [change] = notices_of(database, "rating.changed")
    assert change["before"]["rating_id"] == first


# ---------------------------------------------------------------------------- expiring ratings
def expiring(database, within_s=2000, limit=9):
    with database.write() as c:
        found = expiry.expiring(c, within_s, limit)
        expiry.announce_expiring(c, found)
    return [one.id for one in found]


def test_an_expiring_rating_sends_one_notice(database, rated):
    soon, late = rated(valid_for_s=1000), rated(attribute="race", valid_for_s=90_000)
    assert expiring(database) == [soon]
    assert expiring(database) == []
    [notice] = notices_of(database, "rating.expiring")
    assert (notice["rating_id"], notice["letter"], notice["declared"]) == (soon, "DSBS", True)
    assert notice["expires_at"].endswith("Z")
    assert expiring(database, within_s=100_000) == [late]


def test_of_several_expiring_ratings_of_a_target_by_one_method_only_the_newest_sends_a_notice(database, rated):
    rated(valid_for_s=1000)
    newest = rated(valid_for_s=1000)
    others = {rated(attribute="race", valid_for_s=1000), rated(tenant="rival", valid_for_s=1000)}
    assert set(expiring(database)) == others | {newest}


def test_the_rating_of_another_uploaded_file_does_not_suppress_a_notice_of_expiry(database, rated):
    rated(valid_for_s=1000, digest="sha256:a", target={"url": ""})
    uploads = {
        rated(valid_for_s=1000, digest=digest, target={"url": ""}) for digest in ("sha256:a", "sha256:b", "sha256:c")
    }
    assert set(expiring(database)) == uploads


def test_a_withdrawn_rating_sends_no_expiry_notice_and_does_not_suppress_that_of_an_earlier_rating(database, rated):
    first, withdrawn = rated(valid_for_s=1000), rated(valid_for_s=1000)
    with database.write() as c:
        c.execute(update(ratings).where(ratings.c.id == withdrawn).values(withdrawn_at=1))
    assert expiring(database) == [first]


def test_a_rating_that_has_expired_sends_no_notice_that_it_will_expire(database, rated):
    rated(valid_for_s=0)
    assert expiring(database) == []


def test_notices_of_expiry_are_sent_first_for_the_ratings_that_expire_first(database, rated):
    ids = [rated(attribute=f"a{seconds}", valid_for_s=seconds) for seconds in (1500, 500, 1000)]
    assert expiring(database, limit=2) == [ids[1], ids[2]]
    assert expiring(database, limit=2) == [ids[0]]


# ---------------------------------------------------------------------------- cool-down
def test_only_a_job_that_made_calls_delays_the_next_rating_of_its_target(database, rated, a_job, queued):
    with database.read() as c:
        assert cooldowns.remaining_s(c, "acme", "http://mirror", 60) == 0
    rating_id = rated()
    with database.write() as c:
        assert 58 <= cooldowns.remaining_s(c, "acme", "http://mirror", 60) <= 60
        assert cooldowns.remaining_s(c, "acme", "http://mirror", 0) == 0
        assert cooldowns.remaining_s(c, "rival", "http://mirror", 60) == 0
        assert cooldowns.remaining_s(c, "acme", "http://elsewhere", 60) == 0
        assert cooldowns.remaining_s(c, "acme", "", 60) == 0
        three_days_ms = 3 * 86_400_000
        c.execute(update(job_rows).values(created_at=job_rows.c.created_at - three_days_ms))
        assert 58 <= cooldowns.remaining_s(c, "acme", "http://mirror", 60) <= 60, "a long job has just ended"
        elsewhere = a_job(target=a_job().target | {"base_url": "http://elsewhere"})
        jobs.add(c, elsewhere, find(c, rating_id, "acme"))  # answered by an earlier rating, so it made no calls
        assert cooldowns.remaining_s(c, "acme", "http://elsewhere", 60) == 0
