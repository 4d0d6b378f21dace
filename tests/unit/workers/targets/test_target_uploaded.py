"""The protocol ``uploaded``: vectors are looked up in an embedding, without calls."""

from __future__ import annotations

import asyncio
import io
import threading
from contextlib import closing

import numpy as np
import pytest

from assay.errors import SpecificationError
from assay.model import Embed, Kind, Translate
from store.core.database import Database
from store.corpora import uploads
from store.corpora.uploads import NewUpload
from store.formats import NPZ, WORD2VEC, inspect
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Target
from workers.targets.registry import check_target, connect
from workers.tenant_uploads import MAX_EMBEDDINGS, Library, UploadGone

VECTORS = {"she": [1.0, 0.0], "he": [0.0, 1.0], "ice": [2.0, 2.0], "cream": [0.0, 4.0], "Bob": [5.0, 5.0]}


@pytest.fixture
def database(sqlite_url):
    with closing(Database(sqlite_url)) as database:
        yield database


@pytest.fixture
def keep(database):
    def keep(content: bytes, media_type: str = NPZ, tenant: str = "acme", digest: str = "a") -> str:
        file = io.BytesIO(content)
        summary = inspect(file, "embedding", media_type)
        new = NewUpload(tenant, "E", "embedding", media_type, "sha256:" + digest * 64, len(content), summary)
        with database.write() as c:
            return uploads.add(c, new, file)[0].id

    return keep


def npz(vectors=VECTORS, dtype=np.float32) -> bytes:
    file = io.BytesIO()
    np.savez(file, words=np.array(list(vectors)), vectors=np.array(list(vectors.values()), dtype=dtype))
    return file.getvalue()


@pytest.fixture
def library(database, tmp_path):
    return Library(database, tmp_path / "cache", "acme")


def ask(library, upload, *texts, case="as-is"):
    target = Target("E", Kind.EMBEDDER, "uploaded", "", {"upload": upload, "case": case})

    async def go():
        async with Egress(library=library) as egress:
            return await connect(target, egress).answer([Embed(text) for text in texts])

    return asyncio.run(go())


def test_a_word_gets_its_vector_and_a_phrase_the_mean_of_its_words(library, keep):
    she, phrase = ask(library, keep(npz()), "she", "ice cream")
    assert (she.value, phrase.value) == ([1.0, 0.0], [1.0, 3.0])


def test_a_phrase_that_is_an_entry_of_the_embedding_gets_its_own_vector(library, keep):
    upload = keep(b"ice 1 1\nice cream 7 7\n", WORD2VEC)
    assert ask(library, upload, "ice cream")[0].value == [7.0, 7.0]


@pytest.mark.parametrize(("text", "named"), [("them", "'them'"), ("ice tea", "'tea'"), ("", "''"), ("SHE", "'SHE'")])
def test_unknown_words_are_named_in_the_failure(library, keep, text, named):
    (reply,) = ask(library, keep(npz()), text)
    assert (reply.failure.code, named in reply.failure.message) == ("missing-word", True)


def test_words_are_looked_up_in_an_uploaded_embedding_in_the_configured_letter_case(library, keep):
    upload = keep(npz())
    found = {
        case: [text for text in ("SHE", "bob", "Bob") if ask(library, upload, text, case=case)[0].ok]
        for case in ("as-is", "lower", "either")
    }
    assert found == {"as-is": ["Bob"], "lower": ["SHE"], "either": ["SHE", "bob", "Bob"]}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vectors_are_returned_exactly_as_they_were_uploaded(library, keep, dtype):
    sent = np.array([[0.1, 1 / 3]], dtype=dtype)
    (reply,) = ask(library, keep(npz({"pi": sent[0]}, dtype)), "pi")
    assert reply.value == sent[0].astype(float).tolist()


def test_an_uploaded_embedding_is_copied_out_of_the_database_only_once(library, keep, database):
    upload = keep(npz())
    ask(library, upload, "she")
    with database.write() as c:
        c.exec_driver_sql("DELETE FROM upload_chunks")
    assert ask(library, upload, "she")[0].ok
    assert ask(library, "sha256:" + "a" * 64, "he")[0].ok


def test_concurrent_workers_copy_an_upload_completely(library, keep):
    upload, failures, ready = keep(npz()), [], threading.Barrier(4)

    def open_it():
        ready.wait()
        try:
            assert library.embedding(upload).vectors.tolist() == list(VECTORS.values())
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(list(library.folder.iterdir())) == 1


def test_the_least_recently_used_copies_of_uploaded_embeddings_are_deleted(library, keep):
    for number in range(MAX_EMBEDDINGS + 2):
        library.embedding(keep(npz({f"w{number}": [1.0, float(number)]}), digest=chr(ord("A") + number)))
    assert len(list(library.folder.iterdir())) == MAX_EMBEDDINGS


def test_upload_of_another_tenant_is_not_found(library, keep):
    theirs = keep(npz(), tenant="rival")
    with pytest.raises(UploadGone):
        library.embedding(theirs)
    with pytest.raises(CallFailed) as caught:
        ask(library, theirs, "she")
    assert (caught.value.code, caught.value.retriable) == ("unsupported", False)


def test_an_uploaded_embedding_answers_only_requests_for_vectors(library, keep):
    target = Target("E", Kind.EMBEDDER, "uploaded", "", {"upload": keep(npz())})

    async def go():
        async with Egress(library=library) as egress:
            await connect(target, egress).answer([Translate("she", "en", "es")])

    with pytest.raises(CallFailed, match="asked to embed"):
        asyncio.run(go())


@pytest.mark.parametrize(
    ("settings", "field"),
    [({}, "settings.upload"), ({"upload": "x", "case": "upper"}, "settings.case"), ({"upload": ""}, "settings.upload")],
)
def test_settings_without_an_upload_or_with_an_unknown_case_are_refused(settings, field):
    target = {"kind": "embedder", "protocol": "uploaded", "settings": settings}
    with pytest.raises(SpecificationError) as caught:
        check_target(target, ())
    assert caught.value.field == field
