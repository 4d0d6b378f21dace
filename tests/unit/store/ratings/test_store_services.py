"""Ratings of exactly one service, and the newest rating of each service."""

import time

import pytest
from sqlalchemy import event, text

from store.ratings import registry, services
from store.ratings.services import Service
from store.ratings.standing import service_key

URL = "https://api.example.com/translate"
SHOWN = {"tenant": "default", "visibility": "public"}


def target(digest="sha256:" + "0" * 64, **changes):
    described = {"name": "T", "kind": "translator", "protocol": "libretranslate", "url": URL, "digest": digest}
    return described | changes


def digest(number):
    return f"sha256:{number:064x}"[:7] + f"{number:024x}" + "0" * 40


def document(estimate, low, high, limit=0.1):
    component = {"name": "es", "letter": "BS", "effects": {"step_1": {"estimate": estimate, "low": low, "high": high}}}
    component |= {"tolerances": {"step_1": limit}}
    return {"letter": "BS", "components": [component], "counts": {"asked": 240}}


@pytest.fixture
def ids_of(database):
    """Return the ids of a service's ratings, newest first."""

    def ids_of(name):
        with database.read() as c:
            service = services.find(c, name)
            return [] if service is None else [row.id for row in services.history(c, service)]

    return ids_of


@pytest.fixture
def newest(database):
    def newest(tenant=""):
        with database.read() as c:
            same = {"kind": "translator", "method": "round-trip", "attribute": "gender"}
            return [row.id for row in services.newest(c, tenant, **same)]

    return newest


def test_a_service_is_found_by_its_name_and_by_the_id_of_a_rating_with_the_same_history(published, ids_of):
    old = published(**SHOWN, target=target(digest(1)))
    time.sleep(0.002)
    new = published(**SHOWN, target=target(digest(1)))
    other_model = published(**SHOWN, target=target(digest(2), settings={"model": "large"}))
    key = service_key(target(digest(1)))
    assert ids_of(key) == ids_of(f"any-words-{key}") == ids_of(old) == [new, old]
    assert ids_of(other_model) == [other_model]
    for unknown in ("", "x" * 5000, "rat_unknown", f"{key}0", key[:-1], f"../{key}", f"A-{key}", f"{key}\n"):
        assert ids_of(unknown) == []


def test_a_history_lists_the_newest_ratings_of_each_method_up_to_a_limit(published, ids_of, monkeypatch):
    monkeypatch.setattr(services, "MOST_OF_SERIES", 2)
    other_method = published(**SHOWN, target=target(digest(1)), method="alternation")
    made = []
    for _ in range(3):
        time.sleep(0.002)
        made.append(published(**SHOWN, target=target(digest(1))))
    assert ids_of(service_key(target(digest(1)))) == [made[2], made[1], other_method]


@pytest.mark.parametrize("visibility", ["private", "unlisted"])
def test_private_and_unlisted_ratings_are_not_in_the_public_history_of_a_service(published, ids_of, newest, visibility):
    hidden = published(tenant="default", visibility=visibility, target=target(digest(1)))
    assert ids_of(hidden) == ids_of(service_key(target(digest(1)))) == newest() == newest("rival") == []
    assert newest("default") == [hidden]


def test_ratings_with_masked_counts_are_not_in_the_history_of_a_service(database, published, ids_of, newest):
    masked = published(**SHOWN, target=target(digest(1)))
    with database.write() as c:
        c.execute(text("UPDATE service_ratings SET masked = true"))
    assert ids_of(masked) == ids_of(service_key(target(digest(1)))) == newest() == newest("default") == []


def test_a_withdrawn_newest_rating_removes_a_service_from_the_ranking(database, published, newest):
    old = published(**SHOWN, target=target(digest(1)))
    assert newest() == [old]
    time.sleep(0.002)
    bad = published(**SHOWN, target=target(digest(1)), letter="BS")
    with database.write() as c:
        registry.withdraw(c, bad, "default", "wrong")
    assert newest() == []


def test_a_withdrawal_removes_no_rating_of_another_tenant_from_the_ranking(database, published, newest):
    ids = []
    for tenant in ("dave", "acme", "dave", "dave"):
        ids.append(published(tenant=tenant, visibility="public", description="default", target=target(digest(1))))
        time.sleep(0.002)
    _, valid, _, last = ids
    with database.write() as c:
        registry.withdraw(c, last, "dave", "wrong")
    assert newest() == [valid], "the ratings that dave made before are hidden"
    with database.write() as c:
        registry.withdraw(c, valid, "acme", "wrong")
    assert newest() == []


def test_a_third_partys_rating_with_changed_settings_is_listed_as_a_separate_service(published, ids_of, newest):
    operators = published(**SHOWN, target=target(digest(1)))
    rivals = published(tenant="rival", visibility="public", description="changed", target=target(digest(1)))
    assert ids_of(service_key(target(digest(1)))) == ids_of(operators) == newest() == [operators]
    assert ids_of(rivals) == [rivals]


def test_uploads_of_two_tenants_without_a_url_are_separate_services_without_a_name(published, ids_of, newest):
    vectors = target(digest(1), url=None)
    first = published(tenant="acme", visibility="public", target=vectors, description="uploaded")
    second = published(tenant="rival", visibility="public", target=vectors, description="uploaded")
    assert ids_of(service_key(vectors)) == []
    assert (ids_of(first), ids_of(second)) == ([first], [second])
    assert sorted(newest()) == sorted([first, second])


def test_newest_ratings_of_many_services_are_read_with_one_query_and_without_documents(database, published):
    for number in range(30):
        published(**SHOWN, target=target(digest(number), url=f"https://{number}.example.com/"))
    time.sleep(0.002)
    new = [
        published(**SHOWN, target=target(digest(number), url=f"https://{number}.example.com/")) for number in range(30)
    ]
    statements = []
    with database.read() as c:
        event.listen(c, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
        rows = services.newest(c, None, kind="translator", method="round-trip", attribute="gender")
    assert sorted(row.id for row in rows) == sorted(new)
    assert len(statements) == 1
    assert "document" not in statements[0]


def test_the_history_of_a_service_shows_the_effect_that_decided_each_rating_with_its_interval(database, published):
    rating_id = published(**SHOWN, target=target(digest(1)), letter="BS", document=document(0.3, 0.2, 0.4))
    with database.read() as c:
        (row,) = services.history(c, Service(service_key(target(digest(1)))))
    assert row.id == rating_id
    expected = {"name": "step_1", "step": 1, "hidden": None, "limit": 0.1, "estimate": 0.3, "low": 0.2, "high": 0.4}
    assert row.key_figures == {"questions": 240, **expected}
