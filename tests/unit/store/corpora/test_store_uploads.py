import io

import pytest
from sqlalchemy import func, select

from store.core.errors import UploadInUse
from store.corpora import uploads
from store.corpora.tables import upload_chunks
from store.corpora.uploads import CHUNK_BYTES, NewUpload
from store.jobs import jobs


@pytest.fixture
def an_upload():
    def make(**changes):
        defaults = {
            "tenant": "acme",
            "name": "Census",
            "purpose": "table",
            "media_type": "text/csv",
            "digest": "sha256:" + "0" * 64,
            "bytes": 4,
            "summary": {"rows": 1, "columns": []},
        }
        return NewUpload(**defaults | changes)

    return make


@pytest.fixture
def kept(database, an_upload):
    def keep(content=b"a\n1\n", **changes):
        with database.write() as c:
            return uploads.add(c, an_upload(**changes), io.BytesIO(content))

    return keep


def test_content_of_an_upload_is_read_back_in_chunks_of_1_mib(database, kept):
    content = bytes(range(256)) * 10_000
    upload, new = kept(content)
    assert new
    with database.read() as c:
        chunks = list(uploads.open_upload(c, upload.id))
        assert [len(chunk) for chunk in chunks] == [CHUNK_BYTES, CHUNK_BYTES, len(content) - 2 * CHUNK_BYTES]
        assert b"".join(chunks) == content
        copied = io.BytesIO()
        assert uploads.copy_to(c, upload.id, copied)
        assert copied.getvalue() == content
        assert not uploads.copy_to(c, "upl_none", copied)


def test_same_content_is_stored_once_per_tenant_and_purpose(database, kept):
    upload, _ = kept()
    again, new = kept(name="Another")
    assert (again, new) == (upload, False)
    assert kept(tenant="rival")[1]
    assert kept(purpose="trials")[1]
    with database.read() as c:
        assert c.execute(select(func.count()).select_from(upload_chunks)).scalar_one() == 3


def test_upload_is_found_by_id_or_digest_only_by_its_tenant(database, kept):
    upload, _ = kept()
    with database.read() as c:
        assert uploads.find(c, upload.id, "acme") == uploads.find(c, upload.digest, "acme", "table") == upload
        for wrong in ((upload.id, "rival"), (upload.digest, "acme", "embedding"), ("upl_none", "acme")):
            assert uploads.find(c, *wrong) is None


@pytest.mark.parametrize("place", ["target", "experiment"])
@pytest.mark.parametrize("by", ["id", "digest"])
def test_upload_used_by_an_unfinished_job_cannot_be_removed(database, kept, queued, place, by):
    upload, _ = kept()
    queued(tenant="rival", **{place: {"settings": {"upload": upload.id}}})
    job = queued(**{place: {"records": {"upload": getattr(upload, by)}}})
    with database.write() as c, pytest.raises(UploadInUse) as caught:
        uploads.remove(c, upload.id, "acme")
    assert caught.value.job_id == job.id
    with database.write() as c:
        jobs.request_cancel(c, job.id, "acme")
        assert not uploads.remove(c, upload.id, "rival")
        assert uploads.remove(c, upload.id, "acme")
        assert not uploads.remove(c, upload.id, "acme")
    with database.read() as c:
        assert list(uploads.open_upload(c, upload.id)) == []


def test_pages_of_uploads_list_each_upload_once(database, kept):
    made = {kept(digest=f"sha256:{number}")[0].id for number in range(3)}
    kept(tenant="rival")
    kept(purpose="trials")
    with database.read() as c:
        first = uploads.page(c, "acme", purpose="table", limit=2)
        rest = uploads.page(c, "acme", purpose="table", limit=2, before=(first[-1].created_at, first[-1].id))
    assert {upload.id for upload in first + rest} == made
