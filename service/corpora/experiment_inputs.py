"""Corpora and images that an experiment names."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import OutOfBounds, SpecificationError
from assay.references import FoundCorpus, NamedCorpus
from service.corpora.schemas import named
from service.corpora.validation import words_of
from service.dependencies import Service
from store.corpora import corpora, images, items
from store.corpora.materials import corpus_item


async def find_corpus(service: Service, tenant: str, reference: NamedCorpus, method: str) -> FoundCorpus:
    """Read a corpus with all its items for an experiment by `method`; errors name the experiment's field.

    Raises
    ------
    SpecificationError
        If the tenant may not read the corpus, or it is empty, too large, or of another kind or version.
    """
    corpus_id, mark, version = reference.name.partition("@")
    corpus = await service.database.read(corpora.find, corpus_id, tenant)
    if corpus is None:
        raise SpecificationError(
            f"no corpus that you may read has the id {corpus_id[:80]!r}; see GET /v1/corpora", "corpus"
        )
    if mark and version != str(corpus.version):
        raise SpecificationError(
            f"{corpus_id} is in version {corpus.version} now; name it without a version, or send the {reference.field}",
            "corpus",
        )
    if corpus.kind != reference.kind:
        raise SpecificationError(f"{corpus_id} holds {corpus.kind}; {method} asks about {reference.kind}", "corpus")
    sentences = tuple(map(corpus_item, await service.database.read(items.every, corpus.id)))
    if reference.given + len(sentences) > reference.most:
        raise OutOfBounds(
            f"there are {reference.given} {reference.field} in addition to the {len(sentences)} of {corpus.id}; "
            f"a rating asks about at most {reference.most}",
            reference.field,
        )
    if not (sentences or reference.given or reference.may_be_empty):
        verb = "written" if reference.kind == "sentences" else "drawn"
        raise SpecificationError(f"{corpus.id} is empty; add {reference.field}, or have them {verb}", "corpus")
    words = None if corpus.rules is None else words_of(corpus.rules)
    return FoundCorpus(corpus.reference, sentences, words, named(corpus))


async def check_images(service: Service, tenant: str, digests: Sequence[str], field: str) -> None:
    """Refuse images that this tenant cannot read; the error names their index in the method's `field`."""
    gone = await service.database.read(images.missing, digests, tenant) if digests else ()
    if gone:
        index = digests.index(gone[0])
        raise SpecificationError(
            f"{len(gone)} of {len(digests)} images are missing, or you cannot read them; the first is {gone[0]}. "
            "Put them into a corpus of kind images (POST /v1/corpora)",
            f"{field}.{index}.image",
        )
