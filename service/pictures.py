"""Kept pictures for an experiment: those of the corpus that it names, and whether its images may be seen."""

from __future__ import annotations

from dataclasses import replace

from assay.errors import OutOfBounds, SpecificationError
from assay.methods import VisualStereotype
from assay.methods.visual_stereotype import MOST_PICTURES
from assay.pictures import Picture
from service.context import Service
from store import corpora, corpus_items, images
from store.corpus_pictures import as_picture


async def with_pictures(here: Service, tenant: str, method: VisualStereotype) -> VisualStereotype:
    """Put the pictures of a corpus into the experiment that names it, and see that every image is there.

    Raises
    ------
    SpecificationError
        If the tenant may read no such corpus, it is empty, or of sentences; or an image is not kept for it. With
        its field.
    """
    if method.corpus is not None:
        method = await _with_corpus(here, tenant, method)
    await _check_images(here, tenant, method.pictures)
    return method


async def _with_corpus(here: Service, tenant: str, method: VisualStereotype) -> VisualStereotype:
    corpus_id, mark, version = str(method.corpus).partition("@")
    corpus = await here.database.read(corpora.find, corpus_id, tenant)
    if corpus is None:
        raise SpecificationError(
            f"no corpus that you may read has the id {corpus_id[:80]!r}; see GET /v1/corpora", "corpus"
        )
    if mark and version != str(corpus.version):
        raise SpecificationError(
            f"{corpus_id} is in version {corpus.version} now; name it without a version, or send the pictures",
            "corpus",
        )
    if corpus.kind != "images":
        raise SpecificationError(f"{corpus_id} holds {corpus.kind}; {method.method} asks about images", "corpus")
    kept = [as_picture(item) for item in await here.database.read(corpus_items.every, corpus.id)]
    pictures = (*method.pictures, *kept)
    if not pictures and method.drawing is None:
        raise SpecificationError(f"{corpus_id} is empty; put pictures in, or have them drawn", "corpus")
    if len(pictures) > MOST_PICTURES:
        raise OutOfBounds(
            f"there are {len(method.pictures)} pictures beside the {len(kept)} of {corpus_id}; "
            f"a rating asks about at most {MOST_PICTURES}",
            "pictures",
        )
    try:
        return replace(method, corpus=corpus.reference, pictures=pictures)
    except SpecificationError as refused:
        if refused.field == "pictures" and not method.pictures:
            refused.field = "corpus"  # the caller gave none: it is the corpus's that are of no use
        raise


async def _check_images(here: Service, tenant: str, pictures: tuple[Picture, ...]) -> None:
    """Refuse images that a worker could not read; a rating would ask for each of them in vain."""
    if not pictures:
        return
    digests = [picture.image for picture in pictures]
    gone = await here.database.read(images.missing, digests, tenant)
    if gone:
        place = digests.index(gone[0])
        raise SpecificationError(
            f"{len(gone)} of {len(digests)} images are not kept here, or not for you; the first is {gone[0]}. "
            "Put them into a corpus of kind images (POST /v1/corpora)",
            f"pictures.{place}.image",
        )
