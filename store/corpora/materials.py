"""Sentences and pictures as corpora keep them and as methods take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentences import Sentence, item_of
from assay.references import CorpusItem
from store.corpora.items import NewItem, StoredItem

FIELDS = ("text", "group_term", "attribute_term", "counterpart", "image", "term", "source")
"""What an item is, for a corpus as for a method."""


def corpus_item(item: StoredItem) -> CorpusItem:
    """Give a kept sentence or picture to a method."""
    told = {name: getattr(item, name) for name in FIELDS}
    return CorpusItem(**told, id=item.id, prompt=item.provenance.get("prompt"))


def new_item(made: CorpusItem, provenance: Mapping[str, Any]) -> NewItem:
    """Make an item to be kept."""
    return NewItem(**{name: getattr(made, name) for name in FIELDS}, provenance=provenance)


def as_item(sentence: Sentence, words: StereotypeWords, provenance: Mapping[str, Any]) -> NewItem | str:
    """Make an item of a sentence, with its two terms and its counterpart, or say why it is of no use.

    Returns
    -------
    NewItem or str
        A reason of `assay.methods.shared.sentences.check` where the sentence breaks the rules.
    """
    made = item_of(sentence, words)
    return made if isinstance(made, str) else new_item(made, provenance)


def author_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Name an author in the provenance of what it wrote: no key, and none of its settings but the model."""
    host = urlsplit(str(described.get("base_url") or "")).netloc.rpartition("@")[2] or described["protocol"]
    model = (described.get("settings") or {}).get("model")
    return {"name": described["name"], "host": host, "protocol": described["protocol"], "model": model}
