"""A tenant's bytes are counted with what it stores and deletes; concurrent requests cannot exceed its quota.

Row 94 of docs/reliability.md: at ffe18d3c a tenant could store 34 GB an hour.
Row 102 of docs/reliability.md: at ffe18d3c concurrent uploads stored 1.44 MB of 1.0 MB.
"""

from dataclasses import replace
from io import BytesIO

import pytest
from sqlalchemy import func, select

from store.core.columns import metadata
from store.core.database import Database
from store.core.errors import QuotaExceeded, UploadsFull
from store.corpora import corpora, items, uploads
from store.corpora.corpora import NewCorpus
from store.corpora.items import NewItem
from store.corpora.tables import corpora as corpora_table
from store.corpora.tables import corpus_items
from store.corpora.uploads import NewUpload
from store.jobs import jobs
from store.quota import quota
from store.quota.quota import stored_bytes
from store.targets import domains, targets
from store.targets.targets import NewTarget
from tests.support.concurrency import run_concurrently
from tests.support.jobs import new_job

KB = 1000


def target(size: int, **changes) -> NewTarget:
    fields = {"name": "m", "kind": "translator", "protocol": "x", "base_url": "http://m", "limits": {}}
    return NewTarget(**{"tenant": "acme", "settings": {"note": "x" * size}, **fields, **changes})


def upload(number: int, size: int) -> NewUpload:
    return NewUpload("acme", "census", "table", "text/csv", f"sha256:{number}", size, {"rows": 1})


def counted(c, tenant: str = "acme") -> int:
    """Return the bytes of a tenant by the counts; each count equals the sum over the rows of its table."""
    by_kind = quota.by_kind(c, tenant)
    for table in (table for table in metadata.tables.values() if "counted" in table.info):
        sizes = (func.coalesce(func.sum(size), 0) for size in quota.counted_sizes(table))
        rows = select(func.count(), *sizes).select_from(table)
        if table is corpus_items:
            rows = rows.join(corpora_table).where(corpora_table.c.tenant == tenant)
        else:
            rows = rows.where(table.c.tenant == tenant)
            if "removed_at" in table.c:
                rows = rows.where(table.c.removed_at.is_(None))
        number, *lengths = c.execute(rows).one()
        assert by_kind.get(table.name, 0) == quota.ROW_BYTES * number + sum(lengths), table.name
    return sum(by_kind.values())


def test_the_counted_storage_of_a_tenant_equals_its_stored_rows_after_adding_changing_and_removing(database):
    with database.write() as c:
        for number in range(3):
            targets.add(c, target(10 * KB, id=f"tgt_{number}"))
            jobs.add(c, new_job(tenant="acme", experiment={"note": "ü" * KB}, request_digest=f"sha256:{number}"))
            uploads.add(c, upload(number, 5), BytesIO(b"hello"))
        domains.add(c, "acme", "api.example.com")
        corpus = corpora.add(c, NewCorpus("acme", "names", "sentences", "en", "gender", licence="CC0"))
        added = items.add(c, corpus.id, "acme", [NewItem(text=f"Sentence {n} über uns.") for n in range(5)])
        full = counted(c)
    with database.write() as c:
        targets.replace(c, "tgt_0", "acme", target(20 * KB, id="tgt_0"))
        grown = counted(c)
        assert grown == full + 10 * KB
        # the same file, read with other options
        uploads.add(c, replace(upload(0, 5), summary={"rows": 1, "reading": "x" * KB}), BytesIO(b"hello"))
        assert grown < counted(c) < grown + 100  # summaries are stored compressed
        targets.remove(c, "tgt_0", "acme")
        assert counted(c) < grown + 100 - 20 * KB
        uploads.remove(c, added_upload(c), "acme")
        items.edit(c, corpus.id, "acme", added.items[0].id, NewItem(text="A much longer sentence than before."))
        counted(c)
        items.remove(c, corpus.id, "acme", [added.items[1].id])
        items.add(c, corpus.id, "acme", [NewItem(text="Sentence 1 über uns.")])
        counted(c)
        corpora.remove(c, corpus.id, "acme")
        counted(c)
        assert quota.by_kind(c, "rival") == {}


def added_upload(c) -> str:
    return uploads.page(c, "acme", limit=1)[0].id


def test_target_above_the_quota_is_refused_and_the_message_lists_the_stored_bytes(database_url):
    database = Database(database_url, quota=20 * KB)
    try:
        with database.write() as c:
            targets.add(c, target(8 * KB))
            jobs.add(c, new_job(tenant="acme", experiment={"note": "x" * 9 * KB}))
        with pytest.raises(QuotaExceeded) as refused, database.write() as c:
            targets.add(c, target(8 * KB))
        assert refused.value.quota == 20 * KB < refused.value.used
        assert list(refused.value.by_kind) == ["targets", "jobs"]
        with database.write() as c:
            assert len(targets.page(c, "acme", limit=9)) == 1
            targets.add(c, target(8 * KB, tenant="rival"))
            jobs.add(c, new_job(tenant="acme", request_digest="sha256:2"))
    finally:
        database.close()


def test_a_job_above_the_quota_is_refused(database_url):
    database = Database(database_url, quota=20 * KB)
    try:
        with pytest.raises(QuotaExceeded), database.write() as c:
            jobs.add(c, new_job(tenant="acme", experiment={"note": "x" * 20 * KB}))
        with pytest.raises(QuotaExceeded), database.write() as c:
            jobs.add_all(c, [(new_job(tenant="acme", experiment={"note": "x" * 11 * KB}), None) for _ in range(2)])
        with database.read() as c:
            assert jobs.count_unfinished(c, "acme") == quota.by_kind(c, "acme").get("jobs", 0) == 0
    finally:
        database.close()


def test_the_sum_of_concurrent_uploads_does_not_exceed_their_quota(database_url):
    content, most = b"x" * 120 * KB, 1000 * KB
    connections = [Database(database_url) for _ in range(12)]

    def send(number: int) -> bool:
        try:
            with connections[number].write() as c:
                uploads.add(c, upload(number, len(content)), BytesIO(content), most)
        except UploadsFull:
            return False
        return True

    accepted = run_concurrently(12, send)
    with connections[0].read() as c:
        assert uploads.stored_bytes(c, "acme") == accepted.count(True) * len(content) == 960 * KB
    for each in connections:
        each.close()


@pytest.mark.parametrize("kind", ["targets", "jobs"])
def test_the_sum_of_concurrent_requests_does_not_exceed_the_storage_quota(database_url, kind):
    connections = [Database(database_url, quota=1000 * KB) for _ in range(12)]

    def send(number: int) -> bool:
        try:
            with connections[number].write() as c:
                if kind == "targets":
                    targets.add(c, target(150 * KB))
                else:
                    jobs.add(c, new_job(tenant="acme", experiment={"x": "x" * 150 * KB}, request_digest=f"{number}"))
        except QuotaExceeded:
            return False
        return True

    accepted = run_concurrently(12, send)
    with connections[0].read() as c:
        assert accepted.count(True) == 6
        assert counted(c) <= 1000 * KB
    for each in connections:
        each.close()


def test_small_jobs_of_a_tenant_do_not_wait_for_each_other(postgres_url):
    # guards against: a lock of the tenant's counts from the insertion of a job to its commit, while other requests run
    first, second = Database(postgres_url), Database(postgres_url, lock_wait_s=1)
    try:
        with first.write() as c:
            jobs.add(c, new_job(tenant="acme"))
            with second.write() as other:
                jobs.add(other, new_job(tenant="acme", request_digest="sha256:2"))
        with first.read() as c:
            assert counted(c) > 0
            assert c.execute(select(func.count()).select_from(stored_bytes)).scalar_one() == 2
    finally:
        first.close()
        second.close()
