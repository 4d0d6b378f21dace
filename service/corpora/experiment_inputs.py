"""Sentences and pictures of the corpus that an experiment names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from assay.catalog.shipped import shipped_words
from assay.catalog.stereotypes import StereotypeWords
from assay.errors import OutOfBounds, SpecificationError
from assay.methods import StereotypeScore, VisualStereotype
from assay.methods.stereotype_score.method import MOST_PAIRS
from assay.methods.visual_stereotype.inputs import Picture
from assay.methods.visual_stereotype.method import MOST_PICTURES
from service.corpora.schemas import named
from service.corpora.validation import words_of
from service.dependencies import Service
from store.corpora import corpora, images, items
from store.corpora.corpora import StoredCorpus
from store.corpora.items import StoredItem
from store.corpora.materials import as_picture, as_sentence

T = TypeVar("T")


async def with_sentences(here: Service, tenant: str, method: StereotypeScore) -> StereotypeScore:
    """Put the sentences of a corpus into the experiment that names it, and remember its version.

    An experiment that names no words of its own is asked with those of the corpus.

    Raises
    ------
    SpecificationError
        If the tenant may read no such corpus, it is empty, or of pictures; with its field.
    """
    corpus = await _corpus(here, tenant, method, "sentences", "sentences")
    sentences = await _with_items(here, corpus, method.sentences, as_sentence, "sentences", MOST_PAIRS)
    if not sentences and method.writing is None:
        raise SpecificationError(f"{corpus.id} is empty; put sentences in, or have them written", "corpus")
    remembered = replace(_about_its_words(method, corpus), corpus=corpus.reference)
    return await asyncio.to_thread(replace, remembered, sentences=sentences)  # which reads every one of them


async def with_pictures(here: Service, tenant: str, method: VisualStereotype) -> VisualStereotype:
    """Put the pictures of a corpus into the experiment that names it, and see that every image is there.

    Raises
    ------
    SpecificationError
        If the tenant may read no such corpus, it is empty, or of sentences; or an image is not kept for it. With
        its field.
    """
    if method.corpus is not None:
        corpus = await _corpus(here, tenant, method, "images", "pictures")
        pictures = await _with_items(here, corpus, method.pictures, as_picture, "pictures", MOST_PICTURES)
        if not pictures and method.drawing is None:
            raise SpecificationError(f"{corpus.id} is empty; put pictures in, or have them drawn", "corpus")
        try:
            method = replace(method, corpus=corpus.reference, pictures=pictures)
        except SpecificationError as refused:
            if refused.field == "pictures" and not method.pictures:
                refused.field = "corpus"  # the caller gave none: it is the corpus's that are of no use
            raise
    await _check_images(here, tenant, method.pictures)
    return method


async def _corpus(
    here: Service,
    tenant: str,
    method: StereotypeScore | VisualStereotype,
    kind: Literal["sentences", "images"],
    field: str,
) -> StoredCorpus:
    """Read the corpus that an experiment names, perhaps in a version."""
    corpus_id, mark, version = str(method.corpus).partition("@")
    corpus = await here.database.read(corpora.find, corpus_id, tenant)
    if corpus is None:
        raise SpecificationError(
            f"no corpus that you may read has the id {corpus_id[:80]!r}; see GET /v1/corpora", "corpus"
        )
    if mark and version != str(corpus.version):
        raise SpecificationError(
            f"{corpus_id} is in version {corpus.version} now; name it without a version, or send the {field}",
            "corpus",
        )
    if corpus.kind != kind:
        raise SpecificationError(f"{corpus_id} holds {corpus.kind}; {method.method} asks about {kind}", "corpus")
    return corpus


async def _with_items(
    here: Service,
    corpus: StoredCorpus,
    given: Sequence[T],
    read: Callable[[StoredItem], T],
    field: str,
    most: int,
) -> tuple[T, ...]:
    """Add the items of a corpus to those that the request gave."""
    kept = [read(item) for item in await here.database.read(items.every, corpus.id)]
    if len(given) + len(kept) > most:
        raise OutOfBounds(
            f"there are {len(given)} {field} beside the {len(kept)} of {corpus.id}; a rating asks about at most {most}",
            field,
        )
    return (*given, *kept)


def _about_its_words(method: StereotypeScore, corpus: StoredCorpus) -> StereotypeScore:
    """Ask with the words of the corpus, unless the experiment brings its own."""
    usual = method.named == () and method.words == _usual(method.attribute)
    if corpus.rules is None or not usual:
        return method
    return replace(method, words=(words_of(corpus.rules),), attribute="", specification=named(corpus))


def _usual(attribute: str) -> tuple[object, ...]:
    """Give the words that an experiment has where it says nothing but its attribute."""
    return (shipped_words(StereotypeWords, None, attribute or "gender"),)


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
