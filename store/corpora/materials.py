"""Conversion between items of corpora and the inputs of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentences import Sentence, item_of
from assay.references import CorpusItem
from store.corpora.items import NewItem, StoredItem

FIELDS = ("text", "group_term", "attribute_term", "counterpart", "image", "term", "source")
"""Fields that an item has both in a corpus and in a method."""


def corpus_item(item: StoredItem) -> CorpusItem:
    """Convert a stored item to the item that methods use."""
    fields = {name: getattr(item, name) for name in FIELDS}
    return CorpusItem(**fields, id=item.id, prompt=item.provenance.get("prompt"))


def new_item(generated: CorpusItem, provenance: Mapping[str, Any]) -> NewItem:
    """Convert a generated item to a new item of a corpus."""
    return NewItem(**{name: getattr(generated, name) for name in FIELDS}, provenance=provenance)


def as_item(sentence: Sentence, words: StereotypeWords, provenance: Mapping[str, Any]) -> NewItem | str:
    """Convert a sentence to an item with its two terms and its counterpart.

    If the sentence breaks the rules, return the reason (`assay.methods.shared.sentences.check`).
    """
    made = item_of(sentence, words)
    return made if isinstance(made, str) else new_item(made, provenance)


def author_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the author as stored in provenance: name, host, protocol and model, but no secret."""
    host = urlsplit(str(described.get("base_url") or "")).netloc.rpartition("@")[2] or described["protocol"]
    model = (described.get("settings") or {}).get("model")
    return {"name": described["name"], "host": host, "protocol": described["protocol"], "model": model}
