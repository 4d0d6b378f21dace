"""Tests of images: stored once per tenant, readable by others only through a shared corpus."""

from dataclasses import replace

import pytest
from sqlalchemy import func, insert, select, update

from store.core.columns import now_ms
from store.core.engines import VALUES_A_QUERY
from store.corpora import images
from store.corpora.tables import corpora, corpus_items
from store.corpora.tables import images as table
from store.formats.image import ImageFacts

CONTENT = b"\x89PNG\0\xff and so on"
FACTS = ImageFacts("sha256:" + "a" * 64, "image/png", 64, 48)


@pytest.fixture
def kept(database):
    with database.write() as c:
        assert images.keep(c, "acme", CONTENT, FACTS)
    return FACTS.digest


@pytest.fixture
def put_into_a_corpus(database):
    def put(digest: str, tenant: str = "acme", visibility: str = "shared") -> None:
        words = dict.fromkeys(("language", "attribute", "licence", "citation", "description"), "x")
        times = {"created_at": now_ms()}
        with database.write() as c:
            corpus = {"id": "crp_1", "tenant": tenant, "kind": "images", "name": "C", "visibility": visibility}
            c.execute(insert(corpora).values(**corpus, **words, **times, version=1, updated_at=now_ms()))
            item = {"id": "itm_1", "corpus_id": "crp_1", "seq": 1, "digest": digest, "image": digest, "term": "nurse"}
            c.execute(insert(corpus_items).values(**item, **times, source="uploaded", provenance={}))

    return put


def seen(database, tenant: str):
    with database.read() as c:
        return images.find(c, FACTS.digest, tenant)


def test_stored_image_is_read_back_unchanged(database, kept):
    found = seen(database, "acme")
    assert (found.content, found.digest, found.media_type) == (CONTENT, FACTS.digest, FACTS.media_type)


def test_same_image_is_stored_once_per_tenant(database, kept):
    with database.write() as c:
        assert not images.keep(c, "acme", CONTENT, FACTS)
        assert images.keep(c, "rival", CONTENT, FACTS)
    with database.read() as c:
        assert c.execute(select(func.count()).select_from(table)).scalar_one() == 2


def test_image_cannot_be_read_by_another_tenant(database, kept):
    assert seen(database, "rival") is None
    with database.read() as c:
        assert images.find(c, "sha256:none\0", "acme") is None


def test_image_of_a_shared_corpus_can_be_read_by_every_tenant(database, kept, put_into_a_corpus):
    put_into_a_corpus(kept)
    assert seen(database, "rival").content == CONTENT


def test_image_of_a_private_corpus_cannot_be_read_by_another_tenant(database, kept, put_into_a_corpus):
    put_into_a_corpus(kept, visibility="private")
    assert seen(database, "rival") is None


def test_sharing_a_corpus_does_not_expose_images_of_another_tenant(database, kept, put_into_a_corpus):
    put_into_a_corpus(kept, tenant="rival")
    assert seen(database, "rival") is None
    assert seen(database, "third") is None


@pytest.mark.parametrize("gone", [corpora, corpus_items], ids=["the corpus", "the item"])
def test_image_is_no_longer_shared_after_removal_from_the_corpus(database, kept, put_into_a_corpus, gone):
    put_into_a_corpus(kept)
    with database.write() as c:
        c.execute(update(gone).values(removed_at=now_ms()))
    assert seen(database, "rival") is None
    assert seen(database, "acme") is not None


def test_thumbnails_have_the_permissions_of_their_images_and_old_images_have_no_thumbnail(
    database, kept, put_into_a_corpus
):
    new = replace(FACTS, digest="sha256:" + "b" * 64, thumbnail="data:image/webp;base64,AAAA")
    with database.write() as c:
        images.keep(c, "acme", CONTENT, new)
    wanted = [FACTS.digest, new.digest, "sha256:none"]

    def thumbnails(tenant: str) -> dict[str, str]:
        with database.read() as c:
            return images.thumbnails(c, wanted, tenant)

    assert (thumbnails("acme"), thumbnails("rival")) == ({new.digest: new.thumbnail}, {})
    put_into_a_corpus(new.digest)
    assert thumbnails("rival") == {new.digest: new.thumbnail}


def test_images_that_the_tenant_may_not_read_are_listed_in_the_requested_order(database, kept, put_into_a_corpus):
    asked = ["sha256:" + "c" * 64, kept, *(f"sha256:{place:064d}" for place in range(VALUES_A_QUERY))]
    with database.read() as c:
        assert images.missing(c, asked, "acme") == [asked[0], *asked[2:]]
        assert images.missing(c, asked, "rival") == asked
    put_into_a_corpus(kept)
    with database.read() as c:
        assert images.missing(c, asked, "rival") == [asked[0], *asked[2:]]
        assert images.missing(c, [], "rival") == []
