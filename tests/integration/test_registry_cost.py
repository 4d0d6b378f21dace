"""Statements of public pages read few rows of a registry with tens of thousands of ratings (docs/scaling.md).

Row 108 of docs/reliability.md: with 600,000 ratings, the start page took 3.4 s, a search 1.35 s and the overview .64 s.
Row 110 of docs/reliability.md: a download of a large registry was 24 to 680 GB in one answer.
"""

from contextlib import closing
from functools import partial

import pytest

from service.registry.routes import RATINGS_PER_READ
from store.core.database import Database
from store.ratings import published, rating_statistics, ratings, services, standing
from store.ratings.rating_statistics import LogPart
from store.ratings.ratings import NewRating
from tests.support.new_ratings import new_rating
from tests.support.query_plans import plans, rows_read

SERVICES, EACH = 6_000, 5
GOAL = 5_000
QUESTION = {"kind": "translator", "method": "round-trip", "attribute": "gender"}

RATINGS = f"""
INSERT INTO ratings (id, tenant, job_id, target_url, target, method, attribute, letter, declared, visibility,
  methodology_version, request_digest, created_at, expires_at, document, host, address, requester, description)
SELECT 'rat_' || lpad(n::text, 8, '0'), tenant, 'job_' || n, 'https://' || host, json_build_object(
    'name', 'Service ' || service, 'kind', 'translator', 'url', 'https://' || host, 'digest', 'sha256:' || key)::text,
  'round-trip', 'gender', 'BS', true, visibility, '1', 'sha256:' || n, n, {2**53}, '{{}}', host, host, 'other',
  'default'
FROM (
  SELECT n, n % {SERVICES} AS service, lpad(md5((n % {SERVICES})::text), 24) AS key,
    's' || n % {SERVICES} || '.example.com' AS host, CASE WHEN n % 4 = 0 THEN 'default' ELSE 'acme' END AS tenant,
    CASE WHEN n % 7 = 0 THEN 'private' ELSE 'public' END AS visibility
  FROM generate_series(1, {SERVICES * EACH}) AS n
) AS numbered
"""

ROWS = """
INSERT INTO service_ratings
SELECT id, substr(target::json ->> 'digest', 8), 'translator', method, attribute, tenant, visibility, description, host,
  address, created_at, NULL, false, '{"estimate": 0.1, "limit": 0.1}', letter, target::json ->> 'name', true,
  expires_at, row_number() OVER (PARTITION BY address, tenant, visibility ORDER BY created_at DESC) = 1,
  (target::json ->> 'name') || E'\\n' || target_url
FROM ratings
"""


LOG = """
INSERT INTO log_entries SELECT row_number() OVER (ORDER BY created_at) - 1, id, 'published', '{}', '', created_at
FROM ratings WHERE visibility = 'public'
"""


@pytest.fixture(scope="module")
def database(postgres_server):
    """A database with a registry of some size."""
    name = "some_registry"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE template STRATEGY FILE_COPY")
    with closing(Database(postgres_server.url(name))) as database:
        for statement in (RATINGS, ROWS, LOG, "VACUUM ANALYZE"):
            postgres_server.execute(statement, name)
        yield database
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def part(c):
    """Return the second part of a question's registry."""
    return standing.part_after(c, standing.part_after(c, "", **QUESTION)[1], **QUESTION)[0]


def of_download(shards):
    part = LogPart(1000, SERVICES * EACH * 6 // 7, 3, shards)
    return lambda c: rating_statistics.changes(c, part, 10_000, RATINGS_PER_READ)


def search(q, **filters):
    def work(c):
        listed = ratings.summaries(c, None, q=q, limit=51, **filters)
        return listed or services.similar_names(c, None, q)

    return work


ONE = "s4000.example.com"

READS = {
    "the newest ratings": lambda c: ratings.summaries(c, None, limit=51),
    "a search for a name that many have": search("service"),
    "a search for a name that one has": search("Service 4000"),
    "a search for an address": search(f"https://{ONE}"),
    "a search without a result": search("no such name"),
    "a search with a typing error": search("Servcie 4000"),
    "a search for two letters that no name has": search("zq"),
    "the second page of a search": search("Service 4000", before=(SERVICES * EACH - 3000, "rat_0")),
    "a part of a ranking": lambda c: services.newest(c, None, **QUESTION, part=part(c)),
    "a part of the questions": lambda c: services.questions(c, None, "translator", part(c)),
    "a part of the letters": lambda c: rating_statistics.distribution(c, part=part(c)),
    "a part of a tenant's services": lambda c: services.count_by_kind(
        c, "acme", standing.part_after(c, "", tenant="acme")[0]
    ),
    "the latest rating of an address": lambda c: ratings.latest(c, None, f"https://{ONE}"),
    "the badge of an address": lambda c: published.of_address(c, f"https://{ONE}"),
    "the badge of a service": lambda c: published.of_service(c, "rat_00004001"),
    "the page of a service": lambda c: services.history(c, services.find(c, "rat_00004001")),
    "a part of the download": of_download(1),
    "a part of a shard": of_download(32),
    "the newest ratings of a tenant": lambda c: ratings.newest_of_targets(c, "acme", 200),
}


@pytest.mark.parametrize("what", READS)
def test_no_sql_statement_of_a_public_page_reads_many_rows(database, what):
    for plan in plans(database, READS[what]):
        assert rows_read(plan) <= GOAL, f"{what} reads {rows_read(plan):,.0f} of {SERVICES * EACH:,} ratings"


@pytest.mark.parametrize("shards", [1, 32])
def test_a_shard_of_the_registry_download_reads_no_rating_of_another_shard(database, shards):
    executed = plans(database, of_download(shards))
    assert sum(rows_read(plan, "ratings") for plan in executed) == RATINGS_PER_READ


@pytest.mark.parametrize("what", ["a search for a name that one has", "a search with a typing error"])
def test_the_search_finds_a_service_by_its_name_and_also_with_a_typing_error(database, what):
    with database.read() as c:
        found = READS[what](c)
    assert "Service 4000" in [getattr(row, "target", {"name": row})["name"] for row in found]


def test_storing_a_rating_reads_at_most_a_hundred_rows(database):
    document = {"letter": "BS", "components": []}
    facts = {"tenant": "acme", "target_id": None, "method": "round-trip", "attribute": "gender", "letter": "BS"}
    facts |= {"declared": True, "visibility": "public", "methodology_version": "1", "request_digest": "sha256:0"}
    with database.read() as c:
        target = ratings.find(c, "rat_00004001", None).target
    new: NewRating = new_rating(**facts, target=target, document=document, valid_for_s=9, description="default")
    executed = plans(database, partial(ratings.add, new_rating=new, job_id="job_new"))
    assert sum(map(rows_read, executed)) <= 20 * EACH
