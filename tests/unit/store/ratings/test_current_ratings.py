"""Counts, rankings and searches of current ratings, of parts of a registry, and beyond the newest ratings.

Row 108 of docs/reliability.md: with 600,000 ratings, the start page took 3.4 s, a search 1.35 s and the overview .64 s.
"""

import random
from importlib import import_module

import pytest
from sqlalchemy import select, text

from service.container import sum_of
from store.jobs import jobs
from store.ratings import rating_statistics, ratings, registry, services, standing
from store.ratings.standing import part_after
from store.ratings.tables import service_ratings

QUESTION = {"kind": "translator", "method": "round-trip", "attribute": "gender"}
NAMES = ("Babelfish", "Turnstone", "Heron", "Kingfisher")
SEEDS = range(3)


def target(number, name=None):
    digest = f"sha256:{number:024x}" + "0" * 40
    described = {"kind": "translator", "protocol": "p", "url": f"https://{number}.example.com/v1", "digest": digest}
    return described | {"name": name or f"{NAMES[number % 4]} {number}"}


@pytest.fixture
def history(database, published):
    """Factory of ratings of a few services by several tenants, some published later and some withdrawn."""

    def make(seed, count):
        drawn = random.Random(seed)
        for _ in range(count):
            tenant, visibility = drawn.choice(("default", "acme")), drawn.choice(("private", "public"))
            described = {"description": drawn.choice(("default", "changed")), "letter": drawn.choice(("UCS", "BS"))}
            valid_for_s = drawn.choice((1000, 2000))
            made = {"tenant": tenant, "visibility": visibility, "target": target(drawn.randrange(4))}
            rating_id = published(**made, **described, valid_for_s=valid_for_s)
            with database.write() as c:
                if visibility == "private" and drawn.random() < 0.4:
                    registry.set_visibility(c, rating_id, tenant, "public")
                if drawn.random() < 0.3:
                    registry.withdraw(c, rating_id, tenant, "a cache")

    return make


def everything(c):
    tenants = (None, "default", "acme")
    newest = [sorted(row.id for row in services.newest(c, tenant, **QUESTION)) for tenant in tenants]
    questions = [services.questions(c, tenant, "translator") for tenant in tenants]
    kinds = [services.count_by_kind(c, tenant) for tenant in tenants[1:]]
    return newest, questions, kinds, rating_statistics.distribution(c)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_and_rankings_from_current_ratings_alone_equal_those_from_all_ratings(database, history, seed):
    history(seed, 25)
    with database.write() as c:
        replaced = c.execute(select(service_ratings.c.rating_id).where(~service_ratings.c.current)).all()
        of_current = everything(c)
        c.execute(text("UPDATE service_ratings SET current = true"))
        assert everything(c) == of_current
    assert replaced, "no rating was replaced"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_migration_marks_which_earlier_ratings_are_current_and_fills_their_search_text(database, history, seed):
    history(seed, 25)
    migration = import_module("migrations.versions.0021_current_ratings")
    searched = select(service_ratings.c.rating_id, service_ratings.c.searched).where(service_ratings.c.current)
    with database.write() as c:
        expected, texts = everything(c), dict(c.execute(searched).all())
        c.execute(text("UPDATE service_ratings SET current = true, searched = NULL"))
        c.execute(text(migration.REPLACED))
        c.execute(text(migration.SEARCHED), {"line": "\n"})
        assert everything(c) == expected
        filled = dict(c.execute(searched).all())
    assert filled
    assert filled == {rating_id: texts[rating_id] for rating_id in filled}


def test_after_the_newest_rating_is_withdrawn_the_older_rating_is_counted_again(database, published):
    facts = {"tenant": "default", "visibility": "public", "target": target(1)}
    published(**facts, letter="UCS")
    newer = published(**facts, letter="BS")
    with database.write() as c:
        assert [group[-1] for group in rating_statistics.distribution(c)] == ["BS"]
        registry.withdraw(c, newer, "default", "a cache")
        assert [group[-1] for group in rating_statistics.distribution(c)] == ["UCS"]


def test_a_newer_rating_that_has_expired_does_not_replace_an_older_valid_rating(database, published):
    facts = {"tenant": "default", "visibility": "public", "target": target(1)}
    published(**facts, letter="UCS", valid_for_s=1000)
    published(**facts, letter="BS", valid_for_s=-1)
    with database.read() as c:
        assert [group[-1] for group in rating_statistics.distribution(c)] == ["UCS"]


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_registry_read_in_parts_gives_the_same_counts_and_ratings_as_a_whole(database, history, monkeypatch, rows):
    history(7, 25)
    with database.read() as c:
        whole = everything(c)
        monkeypatch.setattr(standing, "PART_SIZE", rows)
        parts, last = [], ""
        while last is not None:
            part, last = part_after(c, last)
            parts.append(part)
        newest = [row.id for part in parts for row in services.newest(c, None, **QUESTION, part=part)]
        questions = sum_of(services.questions(c, None, "translator", part) for part in parts)
        letters = sum_of(rating_statistics.distribution(c, part=part) for part in parts)
    assert len(parts) > 1
    assert (sorted(newest), questions, letters) == (whole[0][0], whole[1][0], whole[-1])


@pytest.fixture
def many(published, monkeypatch):
    """Ratings of 12 services, of which a search looks at the newest three before it asks the index."""
    monkeypatch.setattr(ratings, "MOST_LOOKED_AT", 3)
    monkeypatch.setattr(services, "MOST_NAMES", 2)
    made = [published(tenant="default", visibility="public", target=target(number)) for number in range(12)]
    return [*made, published(tenant="acme", visibility="private", target=target(12, "Secret Owl"))]


def found(database, q, **filters):
    with database.read() as c:
        tenant = filters.pop("tenant", None)
        return [row.id for row in ratings.summaries(c, tenant, q=q, limit=filters.pop("limit", 10), **filters)]


def test_a_search_finds_parts_of_names_and_addresses_beyond_the_newest_ratings(database, many):
    assert found(database, "babelFISH") == [many[8], many[4], many[0]]
    assert found(database, "https://1.example.com/") == [many[1]]
    assert found(database, "ron 2") == [many[2]]
    assert found(database, "ow") == found(database, "no such name") == found(database, "%") == []
    assert found(database, "owl", tenant="acme") == [many[12]]
    assert found(database, "heron", kind="classifier") == found(database, "heron", attribute="age") == []


def test_a_search_by_name_and_letter_finds_a_services_older_rating_with_that_letter(database, many, published):
    newer = published(tenant="default", visibility="public", target=target(2), letter="BS")
    for number in range(5, 8):
        published(tenant="default", visibility="public", target=target(number))
    assert found(database, "heron 2", letter="DSBS") == [many[2]]
    assert found(database, "heron 2", letter="BS") == [newer]


def test_a_search_text_that_fits_many_services_still_finds_all_their_ratings(database, many, monkeypatch):
    monkeypatch.setattr(ratings, "MOST_NAMED", 2)
    assert found(database, "babelfish") == [many[8], many[4], many[0]]


def test_pages_of_a_search_neither_skip_nor_repeat_ratings(database, many):
    pages, before = [], None
    while before is None or pages[-1]:
        with database.read() as c:
            page = ratings.summaries(c, None, q="example", limit=5, before=before)
        pages.append([row.id for row in page])
        before = (page[-1].created_at, page[-1].id) if page else before
    assert [rating for page in pages for rating in page] == many[11::-1]


def test_a_search_states_the_number_of_all_matching_ratings_even_if_the_page_shows_fewer(database, many):
    with database.read() as c:
        assert ratings.summaries(c, None, q="babelfish", limit=2).total == 3
        assert ratings.summaries(c, None, q="babelfish", limit=20).total == 3
    assert many


@pytest.mark.parametrize("text", ["\0", "a\0b", "her\0on", "\ud800"])
def test_a_search_for_characters_that_no_database_stores_finds_nothing(database, many, text):
    with database.read() as c:
        lists = [list_rows(c, "default", q=text, limit=9) for list_rows in (ratings.summaries, jobs.page)]
        assert [*lists, services.similar_names(c, None, text * 2)] == [[], [], []]


def test_a_search_within_the_ratings_of_one_service_finds_and_counts_no_other_ratings(database, many):
    with database.read() as c:
        listed = ratings.summaries(c, None, q="babelfish", digest=target(4)["digest"], limit=20)
    assert ([row.id for row in listed], listed.total) == ([many[4]], 1)


@pytest.mark.parametrize("typo", ["kingfsher", "kingfihser", "Kingfissher", "kungfisher", "kingfishe"])
def test_a_service_is_suggested_for_a_typing_error_in_a_large_registry(database, many, typo):
    assert many
    with database.read() as c:
        assert services.similar_names(c, None, typo)[0] == "Kingfisher"
        assert services.similar_names(c, None, "sekret owl") == []
        assert services.similar_names(c, "acme", "sekret owl") == ["Secret Owl"]


def test_a_renamed_service_is_found_by_both_names(database, published, monkeypatch):
    monkeypatch.setattr(ratings, "MOST_LOOKED_AT", 1)
    facts = {"tenant": "default", "visibility": "public"}
    old = published(**facts, target=target(1, "Dodo"))
    new = published(**facts, target=target(1, "Phoenix"))
    published(**facts, target=target(2))
    assert (found(database, "dodo"), found(database, "phoenix")) == ([old], [new])
