"""Conversion between items of corpora and the inputs of methods, and reuse of items that an author generated before."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from sqlalchemy import Connection

from assay.canonical import digest_of
from assay.catalog.stereotypes import StereotypeWords
from assay.document import Json, JsonObject
from assay.methods import AnyMethod
from assay.methods.shared.terms.sentences import Sentence, item_of
from assay.references import AuthoredItems, CorpusItem, LoadedMaterial
from store.corpora import specifications
from store.corpora.corpora import Rules
from store.corpora.items import MOST_ITEMS, NewItem, StoredItem, authored_before, sentences_of_rules

FIELDS = ("text", "group_term", "attribute_term", "counterpart", "image", "term", "source")
"""Fields that a stored item of a corpus and a `CorpusItem`, which methods take, have in common."""


def corpus_item(item: StoredItem) -> CorpusItem:
    """Convert a stored item to the item that methods use."""
    fields = {name: getattr(item, name) for name in FIELDS}
    return CorpusItem(**fields, id=item.id, prompt=item.provenance.get("prompt"))


def new_item(item: CorpusItem, provenance: Json) -> NewItem:
    """Convert a generated item to a new item of a corpus."""
    return NewItem(**{name: getattr(item, name) for name in FIELDS}, provenance=provenance)


def as_item(sentence: Sentence, words: StereotypeWords, provenance: Json) -> NewItem | str:
    """Convert a sentence to an item with its terms and counterpart; if it does not follow `words`, return why."""
    item = item_of(sentence, words)
    return item if isinstance(item, str) else new_item(item, provenance)


def author_of(description: Json) -> JsonObject:
    """Return what a generated item records about the service that made it: its name, host, protocol and model."""
    # the part before @ may be a password; an author without an address is named by its protocol
    host = urlsplit(str(description.get("base_url") or "")).netloc.rpartition("@")[2] or description["protocol"]
    model = (description.get("settings") or {}).get("model")
    return {"name": description["name"], "host": host, "protocol": description["protocol"], "model": model}


def rules_for(
    c: Connection, tenant: str, words: StereotypeWords, specification_names: str | Sequence[str] | None
) -> tuple[Rules, str]:
    """Return the rules of a corpus of these words (the saved specification that has exactly them) and their language.

    The specifications called `specification_names` or `words.name` are compared with the words. If none has these
    words, return rules without a version, and ``"en"``.
    """
    references = [specification_names] if isinstance(specification_names, str) else specification_names or ()
    words_as_json = specifications.dump_words(words)
    for reference in (*references, words.name):
        specification = specifications.find_named(c, tenant, reference)
        if specification is not None and specification.name == words.name and specification.words == words_as_json:
            rules = Rules(words.name, specification.version, specification.digest, specification.words)
            return rules, specification.language
    return Rules(words.name, version=None, digest=digest_of({"words": words_as_json}), words=words_as_json), "en"


def with_stored_material(c: Connection, tenant: str, method: AnyMethod) -> AnyMethod:
    """Return an experiment whose items a second service must make, with suitable items from the tenant's corpora."""
    authored_items = stored_material(c, tenant, method.references().authored)
    return method.with_references(LoadedMaterial(authored=authored_items)) if any(authored_items) else method


def stored_material(
    c: Connection, tenant: str, requests: Sequence[AuthoredItems]
) -> tuple[tuple[CorpusItem, ...], ...]:
    """Read, for each request to make items, those that the tenant's corpora have already; none if it forbids reuse."""
    return tuple(_stored_items(c, tenant, request) if request.reuse else () for request in requests)


def _stored_items(c: Connection, tenant: str, request: AuthoredItems) -> tuple[CorpusItem, ...]:
    """Read the tenant's items for a request: sentences by exactly its words or, if it has none, items for its terms."""
    if request.words is None:
        stored_items = authored_before(c, tenant, request.kind, request.terms, MOST_ITEMS)
    else:
        rules, _ = rules_for(c, tenant, request.words, request.specification)
        no_corpus = ""  # no id: none of the tenant's corpora is left out
        stored_items = sentences_of_rules(c, tenant, rules.digest, no_corpus, MOST_ITEMS, only_own=True)
    return tuple(map(corpus_item, stored_items))
