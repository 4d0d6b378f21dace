"""Ratings in time: one that expires is announced once, and a letter that changed only if it is sure."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from store.core.schema import ratings
from store.jobs import cool_down, jobs
from store.ratings import expiry
from store.webhooks import outbox

SURE = {"BS": {"BS": 0.98, "DSBS": 0.01, "UCS": 0.01}, "DSBS": {"BS": 0.01, "DSBS": 0.98, "UCS": 0.01}}
UNSURE = {"BS": 0.5, "DSBS": 0.4, "UCS": 0.1}


@pytest.fixture
def rated(database, claimed, a_rating):
    """Rate a service, with the document that a rating has."""

    def make(letter="DSBS", *, declared=True, probabilities=None, digest="d", job=None, **special):
        target = {"name": "M", "kind": "translator", "protocol": "x", "url": "http://mirror", "digest": digest}
        target |= special.pop("target", {})
        document = {
            "letter": letter,
            "declared": declared,
            "probabilities": probabilities or SURE.get(letter),
            "confidence": 0.95,
            "method": special.get("method", "round-trip"),
            "attribute": special.get("attribute", "gender"),
            "target": target,
            "components": [],
        }
        claim = claimed(**({"tenant": special.get("tenant", "acme")} | (job or {})))
        rating = a_rating(
            **({"letter": letter, "declared": declared, "target": target, "document": document} | special)
        )
        with database.write() as c:
            return jobs.finish(c, claim, rating, ("job.succeeded",))

    return make


def told(database, kind):
    with database.read() as c:
        return [notice.data for notice in outbox.due(c) if notice.kind == kind]


# ---------------------------------------------------------------------------- a letter that changed
def test_a_sure_change_of_letter_is_announced_with_both_ratings(database, rated):
    before, after = rated("DSBS"), rated("BS")
    [change] = told(database, "rating.changed")
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
        {"letter": "BS", "job": {"experiment": {"method": "round-trip", "delta": 0.3}}},
    ],
)
def test_what_is_no_sure_change_of_the_same_question_is_not_announced(database, rated, second):
    rated("DSBS")
    rated(**second)
    assert told(database, "rating.changed") == []


def test_a_change_is_held_against_the_newest_that_was_not_withdrawn(database, rated):
    first, mistaken = rated("DSBS"), rated("DSBS")
    with database.write() as c:
        c.execute(update(ratings).where(ratings.c.id == mistaken).values(withdrawn_at=1))
    rated("BS")
    [change] = told(database, "rating.changed")
    assert change["before"]["rating_id"] == first


# ---------------------------------------------------------------------------- a rating that expires
def expiring(database, within_s=2000, limit=9):
    with database.write() as c:
        found = expiry.expiring(c, within_s, limit)
        expiry.announce_expiring(c, found)
    return [one.id for one in found]


def test_a_rating_that_expires_soon_is_announced_once(database, rated):
    soon, late = rated(valid_for_s=1000), rated(attribute="race", valid_for_s=90_000)
    assert expiring(database) == [soon]
    assert expiring(database) == []
    [notice] = told(database, "rating.expiring")
    assert (notice["rating_id"], notice["letter"], notice["declared"]) == (soon, "DSBS", True)
    assert notice["expires_at"].endswith("Z")
    assert expiring(database, within_s=100_000) == [late]


def test_only_the_newest_rating_of_a_question_expires(database, rated):
    rated(valid_for_s=1000)
    newest = rated(valid_for_s=1000)
    others = {rated(attribute="race", valid_for_s=1000), rated(tenant="rival", valid_for_s=1000)}
    assert set(expiring(database)) == others | {newest}


def test_a_withdrawn_rating_neither_expires_nor_succeeds_another(database, rated):
    first, withdrawn = rated(valid_for_s=1000), rated(valid_for_s=1000)
    with database.write() as c:
        c.execute(update(ratings).where(ratings.c.id == withdrawn).values(withdrawn_at=1))
    assert expiring(database) == [first]


def test_an_expired_rating_is_not_announced_any_more(database, rated):
    rated(valid_for_s=0)
    assert expiring(database) == []


def test_those_that_expire_first_come_first_and_the_rest_in_the_next_batch(database, rated):
    ids = [rated(attribute=f"a{seconds}", valid_for_s=seconds) for seconds in (1500, 500, 1000)]
    assert expiring(database, limit=2) == [ids[1], ids[2]]
    assert expiring(database, limit=2) == [ids[0]]


# ---------------------------------------------------------------------------- a target that rests
def test_a_target_rests_after_a_job_that_was_worked_on(database, rated, a_job, queued):
    with database.read() as c:
        assert cool_down.rest_s(c, "acme", "http://mirror", 60) == 0
    rating_id = rated()
    with database.write() as c:
        assert 58 <= cool_down.rest_s(c, "acme", "http://mirror", 60) <= 60
        assert cool_down.rest_s(c, "acme", "http://mirror", 0) == 0
        assert cool_down.rest_s(c, "rival", "http://mirror", 60) == 0
        assert cool_down.rest_s(c, "acme", "http://elsewhere", 60) == 0
        assert cool_down.rest_s(c, "acme", "", 60) == 0
        elsewhere = a_job(target=a_job().target | {"base_url": "http://elsewhere"})
        jobs.add_finished(c, elsewhere, rating_id)  # an earlier rating answered; nobody called
        assert cool_down.rest_s(c, "acme", "http://elsewhere", 60) == 0
