"""Validation of corpus items: sentences by their specification, pictures by decoding; and corpora as inputs of jobs."""

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from assay.catalog.shipped import specifications as shipped
from assay.catalog.stereotypes import StereotypeWords
from assay.document import Json, JsonObject
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.experiment import generator
from assay.methods.shared.terms.sentences import Sentence, template_sentences
from assay.references import LoadedCorpus, NamedCorpus
from service.container import Service
from service.corpora.schemas import (
    MAX_TOGETHER,
    CorpusRequest,
    ItemChange,
    PictureItem,
    SentenceItem,
    item_etag,
    rules_name,
)
from service.http.conditional import must_match
from service.http.json import located, pointer_to
from service.http.problems import Problem
from store.core.database import Connection
from store.corpora import corpora, images, items, specifications
from store.corpora.corpora import NewCorpus, Rules, StoredCorpus
from store.corpora.items import AddedItems, NewItem, StoredItem
from store.corpora.materials import as_item, corpus_item
from store.corpora.specifications import StoredSpecification
from store.formats.image import ImageFacts, read_image
from store.formats.limited import READERS

STEREOTYPE = "stereotype"
"""Kind of the specifications (named word lists) that a corpus of sentences can follow."""

MAX_ERRORS = 100
"""Maximum number of refused sentences that an error names."""

REFUSALS: Mapping[str, str] = {
    "no-group-term": "it contains no word for a group ({groups})",
    "several-group-terms": "it contains several words for a group; exactly one is needed",
    "other-group-word": "it contains another word that reveals the group ({revealing})",
    "no-attribute-term": "it contains no word that the stereotype is about ({terms})",
    "several-attribute-terms": "it contains several words that the stereotype is about; exactly one is needed",
    "wrong-term": "it does not contain the terms that were sent with it",
    "counterpart-differs": "its counterpart is not the same sentence about the other group",
}
"""Why a sentence is refused, in words for the sender, by the code of the reason."""


@dataclass(frozen=True)
class NewPicture:
    """A new picture: its item in the corpus, the bytes of its file, and facts such as its format and size in pixels."""

    item: NewItem
    content: bytes
    facts: ImageFacts


async def specification_named(service: Service, tenant: str, reference: str) -> StoredSpecification:
    """Return the stereotype specification with a name or ``name@version``; otherwise raise `SpecificationError`."""
    specification = await service.database.read(specifications.find_named, tenant, reference)
    if specification is None:
        known_names = [name for name, shipped_words in shipped().items() if shipped_words.kind == STEREOTYPE]
        known_names.append(f"those of GET /v1/specifications?kind={STEREOTYPE}")
        raise UnknownName("specification", reference, known_names, "specification")
    if specification.kind != STEREOTYPE:
        reason = f"{reference} is a specification of kind {specification.kind}"
        raise SpecificationError(f"{reason}; a corpus of sentences needs one of kind {STEREOTYPE}", "specification")
    return specification


def words_of(rules: Rules) -> StereotypeWords:
    """Return the groups' words and the stereotype's terms that the rules of a corpus define."""
    words: Any = specifications.read_words(STEREOTYPE, rules.words)
    assert isinstance(words, StereotypeWords)  # noqa: S101  the specification's kind ensures it
    return replace(words, name=rules.name)


async def new_corpus(service: Service, tenant: str, body: CorpusRequest) -> NewCorpus:
    """Build a corpus from a request; refuse a specification that is unknown or contradicts the request."""
    rules = None
    attribute, language = body.attribute, body.language
    if body.specification is not None:
        specification = await specification_named(service, tenant, body.specification)
        rules = Rules(specification.name, specification.version, specification.digest, specification.words)
        attribute = _specified_value(body, "attribute", str(specification.words["attribute"]), specification.name)
        language = _specified_value(body, "language", specification.language, specification.name)
    if attribute is None:
        raise SpecificationError("name the attribute, such as gender, or a specification", "attribute")
    if body.items_of is not None:
        await _check_source_corpus(service, tenant, body)
    facts = {name: getattr(body, name) for name in ("name", "kind", "licence", "citation", "description", "visibility")}
    return NewCorpus(tenant=tenant, attribute=attribute, language=language or "en", rules=rules, **facts)


async def _check_source_corpus(service: Service, tenant: str, body: CorpusRequest) -> None:
    """Raise `SpecificationError` if the tenant may not read the corpus to copy, or if either corpus holds pictures."""
    source = await service.database.read(corpora.find, body.items_of or "", tenant)
    if source is None:
        raise SpecificationError("no corpus that you may read has this id", "items_of")
    if {source.kind, body.kind} != {"sentences"}:  # both must hold sentences
        raise SpecificationError("only sentences can be copied; send pictures as files", "items_of")


def _specified_value(body: CorpusRequest, field: str, value: str, specification: str) -> str:
    """Return `value`, which the `specification` sets for a field; refuse a request that sets the field differently."""
    requested_value = getattr(body, field)
    if requested_value not in {None, value}:
        difference = f"the {field} is {requested_value!r}, but {value!r} in {specification}"
        raise SpecificationError(f"{difference}; leave it out", field)
    return value


def checked_sentences(corpus: StoredCorpus, sentences: Sequence[SentenceItem | PictureItem]) -> list[NewItem]:
    """Return the new items for sentences; raise one problem that names the refused ones, up to `MAX_ERRORS`."""
    words = None if corpus.rules is None else words_of(corpus.rules)
    new_items: list[NewItem] = []
    errors: list[Json] = []
    for index, item in enumerate(sentences):
        try:
            new_items.append(_new_sentence(words, item))
        except SpecificationError as error:
            where = pointer_to("items", index, *([error.field] if error.field else []))
            errors.append({"pointer": where, "detail": str(error), "code": error.code})
    if errors:
        detail = f"{len(errors)} of {len(sentences)} sentences are refused; the first: {errors[0]['detail']}"
        raise Problem("bad-specification", detail, errors=errors[:MAX_ERRORS])
    return new_items


def _new_sentence(words: StereotypeWords | None, item: SentenceItem | PictureItem) -> NewItem:
    if isinstance(item, PictureItem):
        raise SpecificationError("this corpus holds sentences; create one of kind images for pictures", "image_b64")
    note = _note_provenance(item.note)
    sentence = NewItem(item.text, item.group_term, item.attribute_term, source=item.source, provenance=note)
    return sentence if words is None else with_terms(words, sentence)


def with_terms(words: StereotypeWords, item: NewItem) -> NewItem:
    """Return a sentence with its group term, attribute term and counterpart added; refuse it if it breaks a rule."""
    sentence = Sentence(item.text or "", item.group_term or "", item.attribute_term or "", item.source)
    item_or_reason = as_item(sentence, words, item.provenance)
    if isinstance(item_or_reason, str):
        raise SpecificationError(_refusal_message(item_or_reason, words), "text")
    return item_or_reason


def _refusal_message(reason: str, words: StereotypeWords) -> str:
    """Return the message for a sentence that breaks a rule; `reason` is the rule's code, a key of `REFUSALS`."""
    words_by_name = {
        "groups": [term for pair in words.pairs for term in pair],
        "revealing": list(words.telling),
        "terms": list(words.roles),
    }
    # the message names six words of each list at most
    texts = {name: ", ".join(terms[:6]) + (" …" if len(terms) > 6 else "") for name, terms in words_by_name.items()}
    return f"the sentence cannot be used with {words.name} ({reason}): {REFUSALS.get(reason, reason).format(**texts)}"


async def read_pictures(sent_items: Sequence[SentenceItem | PictureItem]) -> list[NewPicture]:
    """Decode new pictures of a corpus from base64; a problem points at a picture that is refused."""
    pictures = []
    for index, item in enumerate(sent_items):
        with located("items", index):
            if isinstance(item, SentenceItem):
                raise SpecificationError("this corpus holds pictures; create one of kind sentences for these", "text")
            pictures.append(await read_picture(_decode_base64(item.image_b64), item.term, item.note, field="image_b64"))
    return pictures


async def read_picture(content: bytes, term: str, note: str | None, *, field: str | None = None) -> NewPicture:
    """Decode a picture; refuse content that is not a valid picture, with an error that names `field`."""
    try:
        facts = await asyncio.get_running_loop().run_in_executor(READERS, read_image, content)
    except SpecificationError as error:
        error.field = error.field or field
        raise
    return NewPicture(NewItem(image=facts.digest, term=term, provenance=_note_provenance(note)), content, facts)


def _decode_base64(base64_text: str) -> bytes:
    try:
        return base64.b64decode(base64_text, validate=True)
    except (binascii.Error, ValueError):
        raise SpecificationError("this is not base64", "image_b64") from None


def store_pictures(c: Connection, corpus_id: str, tenant: str, pictures: Sequence[NewPicture]) -> AddedItems | None:
    """Add pictures to a corpus, and store their files; return ``None`` if the tenant has no such corpus."""
    if corpora.lock(c, corpus_id, tenant) is None:
        return None
    for picture in pictures:
        images.keep(c, tenant, picture.content, picture.facts)
    return items.add(c, corpus_id, tenant, [picture.item for picture in pictures])


def edit_item(
    c: Connection, corpus_id: str, tenant: str, item_id: str, change: ItemChange, if_match: str | None = None
) -> StoredItem | None:
    """Edit an item under the lock of its corpus, so that no edit is lost; ``None`` if the tenant has no such item.

    Raise `Problem` ``precondition-failed`` if `if_match` is not the item's entity tag, `SpecificationError` if the
    sentence breaks the rules of its corpus or a picture is given a text, and `ItemTaken` if another item of the corpus
    has the sentence already.
    """
    corpus = corpora.lock(c, corpus_id, tenant)
    old_item = None if corpus is None else items.find(c, corpus_id, item_id)
    if corpus is None or old_item is None:
        return None
    must_match(if_match, item_etag(old_item))
    return items.edit(c, corpus_id, tenant, item_id, edited_item(corpus, old_item, change))


def copy_items(c: Connection, source: str, corpus: StoredCorpus) -> None:
    """Copy the sentences of the corpus `source` that satisfy the rules of `corpus` into it; skip the others."""
    words = None if corpus.rules is None else words_of(corpus.rules)
    new_items = []
    for item in items.all_items(c, source):
        provenance = {**item.provenance, "taken_from": {"corpus": source, "item": item.id}}
        copy = NewItem(item.text, item.group_term, item.attribute_term, item.counterpart, source=item.source)
        with suppress(SpecificationError):
            # the terms are found anew by the rules of `corpus`
            checked_item = copy if words is None else with_terms(words, replace(copy, group_term="", attribute_term=""))
            new_items.append(replace(checked_item, source=item.source, provenance=provenance))
    if new_items:
        items.add(c, corpus.id, corpus.tenant, new_items)


def framed_items(corpus: NewCorpus, per_term: int) -> list[NewItem]:
    """Return `per_term` sentences for each term, made from frames (texts with gaps); equal requests give equal texts.

    Raise `SpecificationError` if the corpus has no specification, more than `MAX_TOGETHER` sentences would be made, or
    no frame fits.
    """
    if corpus.rules is None or corpus.kind != "sentences":
        raise SpecificationError("sentences are made from the words of a specification; name one", "from_frames")
    words = words_of(corpus.rules)
    if per_term * len(words.roles) > MAX_TOGETHER:
        amount = f"{per_term} sentences of {len(words.roles)} terms"
        raise OutOfBounds(f"{amount} are more than {MAX_TOGETHER:,} together; ask for fewer", "from_frames")
    if not words.frames and corpus.language.partition("-")[0] != "en":
        raise SpecificationError(f"{words.name} has no frames, and those that fit any word are English", "from_frames")
    sentences = template_sentences(words, per_term, generator(0))
    items_or_reasons = (as_item(sentence, words, provenance={}) for sentence in sentences)
    return [item for item in items_or_reasons if not isinstance(item, str)]


def edited_item(corpus: StoredCorpus, old_item: StoredItem, change: ItemChange) -> NewItem:
    """Return an item after a change; refuse a field that items of its kind lack, and a text that breaks the rules."""
    is_picture = old_item.text is None
    item_kind = "picture" if is_picture else "sentence"
    for name in ("text", "group_term", "attribute_term") if is_picture else ("term",):
        if getattr(change, name) is not None:
            raise SpecificationError(f"{name} is no field of a {item_kind}; leave it out", name)
    if is_picture:
        return NewItem(image=old_item.image, term=change.term or old_item.term)
    item = NewItem(change.text or old_item.text, change.group_term, change.attribute_term)
    if corpus.rules is not None:
        return with_terms(words_of(corpus.rules), item)
    # a new text may contain other terms than the old text, and has another counterpart
    is_same_text = change.text is None
    return replace(
        item,
        group_term=item.group_term or (old_item.group_term if is_same_text else None),
        attribute_term=item.attribute_term or (old_item.attribute_term if is_same_text else None),
        counterpart=old_item.counterpart if is_same_text else None,
    )


def _note_provenance(note: str | None) -> JsonObject:
    return {} if note is None else {"note": note}


async def find_corpus(service: Service, tenant: str, reference: NamedCorpus, method: str) -> LoadedCorpus:
    """Return a corpus with all its items for an experiment by `method`; errors name the experiment's invalid field.

    Raise `SpecificationError` if the tenant may not read the corpus, or if the corpus is empty, too large, or not of
    the kind or version that `reference` names.
    """
    corpus_id, separator, version = reference.name.partition("@")
    corpus = await service.database.read(corpora.find, corpus_id, tenant)
    if corpus is None:
        reason = f"no corpus that you may read has the id {corpus_id[:80]!r}"
        raise SpecificationError(f"{reason}; see GET /v1/corpora", "corpus")
    if separator and version != str(corpus.version):
        remedy = f"name it without a version, or send the {reference.field}"
        raise SpecificationError(f"{corpus_id} is in version {corpus.version} now; {remedy}", "corpus")
    if corpus.kind != reference.kind:
        raise SpecificationError(f"{corpus_id} holds {corpus.kind}; {method} asks about {reference.kind}", "corpus")
    loaded_items = tuple(map(corpus_item, await service.database.read(items.all_items, corpus.id)))
    if reference.items_given + len(loaded_items) > reference.max_items:
        amounts = f"{reference.items_given} {reference.field} in addition to the {len(loaded_items)} of {corpus.id}"
        limit = f"a rating asks about at most {reference.max_items}"
        raise OutOfBounds(f"there are {amounts}; {limit}", reference.field)
    if not (loaded_items or reference.items_given or reference.may_be_empty):
        verb = "written" if reference.kind == "sentences" else "drawn"
        raise SpecificationError(f"{corpus.id} is empty; add {reference.field}, or have them {verb}", "corpus")
    words = None if corpus.rules is None else words_of(corpus.rules)
    return LoadedCorpus(corpus.reference, loaded_items, words, rules_name(corpus))


async def check_images(service: Service, tenant: str, digests: Sequence[str], field: str) -> None:
    """Refuse images that the tenant cannot read; the error points to the first of them in the method's list `field`."""
    missing = await service.database.read(images.missing, digests, tenant) if digests else ()
    if missing:
        index = digests.index(missing[0])
        raise SpecificationError(
            f"{len(missing)} of {len(digests)} images are missing, or you cannot read them; the first is {missing[0]}. "
            "Put them into a corpus of kind images (POST /v1/corpora)",
            f"{field}.{index}.image",
        )
