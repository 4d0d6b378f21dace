"""Orders for sentences: what a corpus lacks, written by a language model of the caller's choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.catalog.stereotypes import StereotypeWords
from assay.errors import OutOfBounds, SpecificationError
from assay.model import Kind
from service.corpora.schemas import named
from service.corpora.validation import specification_named, words_of
from service.corpora.writing_schemas import WritingRequest
from service.dependencies import Service
from service.http.authentication import Caller
from service.http.json import located
from service.jobs.submission import Order, new_job
from service.targets.target_resolution import resolve_target
from store.corpora import specifications
from store.corpora.corpora import StoredCorpus
from store.corpora.items import MOST_ITEMS
from store.jobs.submission import request_digest


async def writing_order(here: Service, caller: Caller, corpus: StoredCorpus, body: WritingRequest) -> Order:
    """Make the order for sentences.

    Raises
    ------
    Problem, SpecificationError
        If the corpus holds pictures, its words are not known or others are asked for, more is wanted than a corpus
        holds, or the author cannot be reached as it is described.
    """
    longest_s = here.settings.longest_deadline_s
    with located():
        if corpus.kind != "sentences":
            raise SpecificationError(f"{corpus.id} holds {corpus.kind}; sentences are written for one of sentences")
        if body.deadline_s > longest_s:
            raise OutOfBounds(f"deadline_s is {body.deadline_s}; this service allows at most {longest_s}", "deadline_s")
        words, reference = await _wanted(here, caller.tenant, corpus, body)
        most = MOST_ITEMS // len(words.roles)
        if body.per_term > most:
            raise OutOfBounds(
                f"{body.per_term} sentences for each of {len(words.roles)} terms are more than a corpus holds; "
                f"at most {most} would do",
                "per_term",
            )
    author = await resolve_target(here, caller, body.author, field="author")
    if author.descriptor["kind"] != Kind.LANGUAGE_MODEL:
        with located("author"):
            kind = author.descriptor["kind"]
            raise SpecificationError(f"an author writes: it is a language-model, and not a {kind}", "kind")
    asked: dict[str, Any] = {
        "corpus": corpus.id,
        "specification": reference,
        "words": specifications.dump_words(words),
        **{name: getattr(body, name) for name in ("per_term", "family", "tries", "reuse")},
    }
    new = new_job(
        here,
        caller,
        author,
        kind="writing",
        experiment=asked,
        digest=request_digest(caller.tenant, author.saved_id, author.descriptor, asked, body.seed),
        seed=body.seed,
        visibility="private",
        callback_url=None,
        max_calls=body.max_calls,
        deadline_s=body.deadline_s,
        expected=len(words.roles) * body.per_term,
    )
    return Order(new)


async def _wanted(
    here: Service, tenant: str, corpus: StoredCorpus, body: WritingRequest
) -> tuple[StereotypeWords, str | None]:
    """Find what the sentences are to be about, and what that is called."""
    if body.specification is not None and body.words is not None:
        raise SpecificationError("name a specification or write its words out, not both", "words")
    if corpus.rules is not None:
        own = words_of(corpus.rules)
        if body.words is not None and replace(body.words, name=own.name) != own:
            raise SpecificationError(f"the corpus keeps to {named(corpus)}; leave the words out", "words")
        if body.specification is not None:
            found = await specification_named(here, tenant, body.specification)
            if found.digest != corpus.rules.digest:
                raise SpecificationError(
                    f"the corpus keeps to {named(corpus)}, and {body.specification} is another; leave it out",
                    "specification",
                )
        return own, named(corpus)
    if body.words is not None:
        return body.words, None
    if body.specification is None:
        raise SpecificationError("the corpus keeps to no specification; say what to write about", "specification")
    found = await specification_named(here, tenant, body.specification)
    words: Any = replace(found.read().words, name=found.name)
    return words, f"{found.name}@{found.version}"
