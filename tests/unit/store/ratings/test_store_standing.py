"""Which ratings a look-up by URL returns: the owner's, the operator's or third parties'; on every database.

Row 90 of docs/reliability.md: ffe18d3c showed a competitor's rating, or invented answers, on the owner's badge.
"""

from __future__ import annotations

import pytest
from sqlalchemy import select

from store.ratings import compositions, history, published, rating_statistics, ratings, registry
from store.ratings.standing import Standing, standings
from store.targets import domains, targets
from store.targets.targets import NewTarget
from store.webhooks.tables import outbox

URL = "https://api.example.com/translate"
SPELLED = "http://API.example.com:80//translate/"
TARGET = {"name": "T", "kind": "translator", "protocol": "libretranslate", "url": URL, "digest": "d"}


@pytest.fixture
def proved(database):
    """Record a tenant's proof that it owns the host of the URL."""

    def proved(tenant):
        with database.write() as c:
            added, _ = domains.add(c, tenant, "api.example.com")
            domains.record_check(c, added.id, None)

    return proved


@pytest.fixture
def rated(published):
    """Store a public rating of the URL and return its id."""

    def rated(tenant, letter="BS", description="default", url=SPELLED, **changes):
        target = TARGET | {"url": url}
        facts = {"tenant": tenant, "letter": letter, "description": description, "target": target}
        return published(visibility="public", **facts | changes)

    return rated


def found(database, **query):
    """Return the ids of ratings found by every look-up by URL: the badge, `latest`, and the history."""
    with database.read() as c:
        shown = published.of_address(c, URL, **query).rating
        latest = ratings.latest(c, None, URL, **query)
        listed = history.of_url(c, None, URL, limit=9, **query)
    return [shown and shown.id], [one.id for one in latest], [step.rating.id for step in listed]


def badges(database, rating_id):
    """Return the ids of the ratings that the badges of the URL and of the rating's service show."""
    with database.read() as c:
        return [published.of_address(c, URL).rating.id, published.of_service(c, rating_id).rating.id]


def test_a_withdrawn_rating_hides_older_ratings_by_its_own_tenant_but_not_those_by_others(database, rated):
    rated("dave")
    valid, hidden, last = rated("rival"), rated("dave"), rated("dave")
    assert badges(database, valid) == [last, last]
    with database.write() as c:
        registry.withdraw(c, last, "dave", "wrong")
    assert badges(database, valid) == [valid, valid] != [hidden, hidden]
    with database.write() as c:
        registry.withdraw(c, valid, "rival", "wrong")
    assert badges(database, hidden) == [last, last], "no other rating is left, so the withdrawal is shown"


def test_if_the_host_owner_withdraws_its_rating_no_rating_by_another_tenant_replaces_it(database, rated, proved):
    proved("acme")
    rated("rival")
    own = rated("acme")
    with database.write() as c:
        registry.withdraw(c, own, "acme", "wrong")
    assert badges(database, own) == [own, own]


def test_ratings_of_the_owner_come_before_the_operators_and_those_before_third_parties(database, rated, proved):
    rated("rival", description="changed")
    rated("rival", description="uploaded")
    assert found(database) == ([None], [], [])
    other = rated("rival")
    assert found(database) == ([other], [other], [other])
    operator = rated("default", description="changed")
    rated("rival")
    assert found(database) == ([operator], [operator], [operator])
    owner = rated("acme", "UCS", "changed", url=URL)
    assert found(database) == ([operator], [operator], [operator])
    proved("acme")
    assert found(database) == ([owner], [owner], [owner])
    assert found(database, attribute="gender", method="round-trip") == ([owner], [owner], [owner])
    with database.read() as c:
        assert [(group[-1], n) for group, n in rating_statistics.distribution(c).items()] == [("UCS", 1)]
        for tenant, own in (("rival", True), ("stranger", False)):
            assert bool(ratings.latest(c, tenant, URL, whose="mine")) is own
        assert len(history.of_url(c, None, URL, whose="all", limit=9)) == 6


def test_look_ups_by_url_tell_services_apart_that_one_url_calls_in_different_ways(database, rated, proved):
    proved("acme")
    host = "http://api.example.com"
    ways = {
        "/biased": {"path": "/biased/", "body": {"text": "{text}"}},
        "A": {"path": "/translate", "body": {"text": "{text}", "model": "A"}},
        "B": {"path": "/translate", "body": {"text": "{text}", "model": "B"}, "version": "2"},
        "c" * 24: {"body": "{text}", "headers": {}, "query": {"v": "1"}},
    }
    made = {}
    for name, settings in ways.items():
        target = TARGET | {"url": host, "settings": settings, "digest": f"sha256:{name}{name}"}
        made[name] = rated("acme", description="changed", target=target)
    with database.read() as c:
        assert published.of_address(c, host).rating is None
        assert {row.id for row in ratings.latest(c, None, host)} == set(made.values())
        for name in ("A", "B", "c" * 24):
            assert published.of_address(c, host, model=name).rating.id == made[name]
            assert [row.id for row in ratings.latest(c, None, host, model=name)] == [made[name]]
        assert [row.id for row in ratings.latest(c, None, f"{host}/biased")] == [made["/biased"]]
        assert published.of_address(c, f"{host}/biased/").rating.id == made["/biased"]
        assert published.of_address(c, URL).rating is None, "two models are called at this path"
        assert [step.rating.id for step in history.of_url(c, None, URL, limit=9)] == [made["B"], made["A"]]
    with database.write() as c:
        registry.withdraw(c, made["A"], "acme", "wrong model")
    again = rated("acme", description="changed", target=TARGET | {"url": URL, "settings": {**ways["B"], "path": ""}})
    with database.read() as c:
        assert [row.id for row in ratings.latest(c, None, URL)] == [again], "the same address is called"


def test_a_list_of_ratings_marks_those_by_the_owner_of_the_host_according_to_current_proofs(database, rated, proved):
    ids = [rated("acme", description="changed"), rated("rival"), rated("rival", description="uploaded")]
    ids.append(rated("rival", url=""))
    proved("acme")
    with database.read() as c:
        known = standings(c, ratings.summaries(c, None, limit=9))
        rows = {row.id: row for row in ratings.summaries(c, None, limit=9)}
    assert [known[each] for each in ids] == [
        Standing("owner", True, True),
        Standing("other", True, True),
        Standing("other", True, False),
        Standing("other", None, False),
    ]
    assert [(rows[each].requester, rows[each].host_proved) for each in ids] == [("other", False)] * 3 + [
        ("other", None)
    ]


def test_a_composition_prefers_the_tenants_own_rating_to_that_of_the_hosts_owner(database, rated, proved):
    proved("acme")
    owner = rated("acme", "UCS", "changed", url=URL)
    rated("rival", url=URL)
    rated("rival", url=URL, description="uploaded")
    with database.write() as c:
        new = NewTarget("third", "T", "translator", "libretranslate", URL, {}, {})
        saved = targets.add(c, new)
        chosen = compositions.latest_of_targets(c, "third", {saved.id: "d"}, [saved])
        assert chosen[saved.id].id == owner
    own = rated("third", url=URL, description="changed")
    rated("third", url=URL, description="uploaded")
    with database.read() as c:
        assert compositions.latest_of_targets(c, "third", {saved.id: "d"}, [saved])[saved.id].id == own


def test_webhook_notices_about_a_rating_state_its_requester_and_whether_settings_changed(database, rated, proved):
    proved("acme")
    rated("rival", description="changed")
    with database.read() as c:
        notices = {row.kind: row.payload["data"] for row in c.execute(select(outbox))}
    facts = {"role": "other", "host_proved": True, "description": "changed"}
    assert {kind: notice["requester"] for kind, notice in notices.items()} == {
        "job.succeeded": facts,
        "rating.published": facts,
    }
