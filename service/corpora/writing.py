"""Orders for writing jobs: a language model of the caller's choice writes the missing sentences of a corpus."""

from dataclasses import replace
from typing import Any

from assay.catalog.stereotypes import StereotypeWords
from assay.document import JsonObject
from assay.errors import OutOfBounds, SpecificationError
from service.container import Service
from service.corpora.schemas import WritingRequest, rules_name
from service.corpora.service import specification_named, words_of
from service.http.authentication import Caller
from service.http.json import located
from service.jobs.service import Order, check_deadline, new_job
from service.targets.service import check_language_model, resolve_target
from store.corpora import specifications
from store.corpora.corpora import StoredCorpus
from store.corpora.items import MOST_ITEMS
from store.jobs.job import request_digest


async def writing_order(service: Service, caller: Caller, corpus: StoredCorpus, body: WritingRequest) -> Order:
    """Return the order (request for a job) by which a language model writes sentences for a corpus.

    Raise `Problem` or `SpecificationError` if the corpus holds pictures, neither it nor the request has words, they
    contradict each other, the sentences would exceed the size of a corpus, or the author's description is invalid.
    """
    if corpus.kind != "sentences":
        raise SpecificationError(f"{corpus.id} holds {corpus.kind}, not sentences")
    check_deadline(service, body.deadline_s)
    words, reference = await _requested_words(service, caller.tenant, corpus, body)
    most_per_term = MOST_ITEMS // len(words.roles)
    if body.per_term > most_per_term:
        amount = f"{body.per_term} sentences for each of {len(words.roles)} terms"
        reason = f"{amount} are too many for a corpus; at most {most_per_term} per term are allowed"
        raise OutOfBounds(reason, "per_term")
    author = await resolve_target(service, caller, body.author, "author")
    with located("author"):
        check_language_model(author)
    experiment: JsonObject = {
        "corpus": corpus.id,
        "specification": reference,
        "words": specifications.dump_words(words),
        **{name: getattr(body, name) for name in ("per_term", "family", "tries", "reuse")},
    }
    job = new_job(
        service,
        caller,
        author,
        kind="writing",
        experiment=experiment,
        digest=request_digest(caller.tenant, author.saved_id, author.descriptor, experiment, body.seed),
        seed=body.seed,
        max_calls=body.max_calls,
        deadline_s=body.deadline_s,
        expected=len(words.roles) * body.per_term,
    )
    return Order(job)


async def _requested_words(
    service: Service, tenant: str, corpus: StoredCorpus, body: WritingRequest
) -> tuple[StereotypeWords, str | None]:
    """Return the words for the sentences to write, and the name of their specification (``None``: sent as a list)."""
    if body.specification is not None and body.words is not None:
        raise SpecificationError("send a specification's name or words, not both", "words")
    if corpus.rules is not None:
        own_words = words_of(corpus.rules)
        # equal words may have another name
        if body.words is not None and replace(body.words, name=own_words.name) != own_words:
            raise SpecificationError(f"the corpus follows {rules_name(corpus)}; leave the words out", "words")
        if body.specification is not None:
            specification = await specification_named(service, tenant, body.specification)
            if specification.digest != corpus.rules.digest:
                raise SpecificationError(
                    f"the corpus follows {rules_name(corpus)}, and {body.specification} differs from it; leave it out",
                    "specification",
                )
        return own_words, rules_name(corpus)
    if body.words is not None:
        return body.words, None
    if body.specification is None:
        raise SpecificationError("the corpus has no specification; name one, or send words", "specification")
    specification = await specification_named(service, tenant, body.specification)
    words: Any = replace(specification.as_specification().words, name=specification.name)
    return words, f"{specification.name}@{specification.version}"
