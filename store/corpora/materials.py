"""Conversion between items of corpora and the inputs of methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.catalog.stereotypes import StereotypeWords
from assay.methods.stereotype_score.inputs import Sentence, read
from assay.methods.visual_stereotype.inputs import Picture
from store.corpora.items import NewItem, StoredItem

AUTHORED, DRAWN = "written", "drawn"
"""Source of generated material: in corpora, and of pictures in methods."""


def as_sentence(item: StoredItem) -> Sentence:
    """Convert an item to a method's sentence; the method finds the terms."""
    return Sentence(item.text or "", source=item.source, id=item.id)


def as_picture(item: StoredItem) -> Picture:
    """Convert an item to a method's picture."""
    source = DRAWN if item.source == AUTHORED else item.source
    return Picture(item.image or "", item.term or "?", source, item.id)


def as_item(sentence: Sentence, words: StereotypeWords, provenance: Mapping[str, Any]) -> NewItem | str:
    """Convert a sentence to an item with its two terms and its counterpart.

    Returns
    -------
    NewItem or str
        The reason (`assay.methods.stereotype_score.inputs.check`) if the sentence breaks the rules.
    """
    pair = read(sentence, words)
    if isinstance(pair, str):
        return pair
    first = pair.written == "first"
    text, counterpart = (pair.first, pair.second) if first else (pair.second, pair.first)
    group_term = words.pairs[pair.groups][0 if first else 1]
    return NewItem(text, group_term, pair.term, counterpart, source=sentence.source, provenance=provenance)


def author_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return the author as stored in provenance: name, host, protocol and model, but no secret."""
    host = urlsplit(str(described.get("base_url") or "")).netloc.rpartition("@")[2] or described["protocol"]
    model = (described.get("settings") or {}).get("model")
    return {"name": described["name"], "host": host, "protocol": described["protocol"], "model": model}
