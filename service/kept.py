"""Kept material for an experiment: the sentences of the corpus that it names."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from assay.catalog.shipped import shipped_words
from assay.catalog.stereotypes import StereotypeWords
from assay.errors import OutOfBounds, SpecificationError
from assay.methods import StereotypeScore
from assay.methods.stereotype_score import MOST_PAIRS
from service.context import Service
from service.corpora import words_of
from service.schemas.corpora import named
from store import corpora, corpus_items
from store.corpora import StoredCorpus
from store.corpus_sentences import as_sentence


async def with_corpus(here: Service, tenant: str, method: StereotypeScore) -> StereotypeScore:
    """Put the sentences of a corpus into the experiment that names it, and remember its version.

    An experiment that names no words of its own is asked with those of the corpus.

    Raises
    ------
    SpecificationError
        If the tenant may read no such corpus, it is empty, or of pictures; with its field.
    """
    corpus_id, mark, version = str(method.corpus).partition("@")
    corpus = await here.database.read(corpora.find, corpus_id, tenant)
    if corpus is None:
        raise SpecificationError(
            f"no corpus that you may read has the id {corpus_id[:80]!r}; see GET /v1/corpora", "corpus"
        )
    if mark and version != str(corpus.version):
        raise SpecificationError(
            f"{corpus_id} is in version {corpus.version} now; name it without a version, or send the sentences",
            "corpus",
        )
    if corpus.kind != "sentences":
        raise SpecificationError(f"{corpus_id} holds {corpus.kind}; {method.method} asks about sentences", "corpus")
    kept = [as_sentence(item) for item in await here.database.read(corpus_items.every, corpus.id)]
    sentences = (*method.sentences, *kept)
    if not sentences and method.writing is None:
        raise SpecificationError(f"{corpus_id} is empty; put sentences in, or have them written", "corpus")
    if len(sentences) > MOST_PAIRS:
        raise OutOfBounds(
            f"there are {len(method.sentences)} sentences beside the {len(kept)} of {corpus_id}; "
            f"a rating asks about at most {MOST_PAIRS}",
            "sentences",
        )
    remembered = replace(_about_its_words(method, corpus), corpus=corpus.reference)
    return await asyncio.to_thread(replace, remembered, sentences=sentences)  # which reads every one of them


def _about_its_words(method: StereotypeScore, corpus: StoredCorpus) -> StereotypeScore:
    """Ask with the words of the corpus, unless the experiment brings its own."""
    usual = method.named == () and method.words == _usual(method.attribute)
    if corpus.rules is None or not usual:
        return method
    return replace(method, words=(words_of(corpus.rules),), attribute="", specification=named(corpus))


def _usual(attribute: str) -> tuple[object, ...]:
    """Give the words that an experiment has where it says nothing but its attribute."""
    return (shipped_words(StereotypeWords, None, attribute or "gender"),)
