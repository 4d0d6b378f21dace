"""Sentences and pictures as corpora keep them and as methods take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from assay.catalog.stereotypes import StereotypeWords
from assay.methods.shared.sentences import Sentence, read
from assay.methods.visual_stereotype.inputs import Picture
from store.corpora.items import NewItem, StoredItem

AUTHORED, DRAWN = "written", "drawn"
"""What an author made, as corpora call it and as pictures are said to be."""


def as_sentence(item: StoredItem) -> Sentence:
    """Give a kept sentence to a method, which finds its terms by its own words."""
    return Sentence(item.text or "", source=item.source, id=item.id)


def as_picture(item: StoredItem) -> Picture:
    """Give a kept picture to a method, which finds its term among its own words."""
    source = DRAWN if item.source == AUTHORED else item.source
    return Picture(item.image or "", item.term or "?", source, item.id)


def as_item(sentence: Sentence, words: StereotypeWords, provenance: Mapping[str, Any]) -> NewItem | str:
    """Make an item of a sentence, with its two terms and its counterpart, or say why it is of no use.

    Returns
    -------
    NewItem or str
        A reason of `assay.methods.shared.sentences.check` where the sentence breaks the rules.
    """
    pair = read(sentence, words)
    if isinstance(pair, str):
        return pair
    first = pair.written == "first"
    text, counterpart = (pair.first, pair.second) if first else (pair.second, pair.first)
    group_term = words.pairs[pair.groups][0 if first else 1]
    return NewItem(text, group_term, pair.term, counterpart, source=sentence.source, provenance=provenance)


def author_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """Name an author in the provenance of what it wrote: no key, and none of its settings but the model."""
    host = urlsplit(str(described.get("base_url") or "")).netloc.rpartition("@")[2] or described["protocol"]
    model = (described.get("settings") or {}).get("model")
    return {"name": described["name"], "host": host, "protocol": described["protocol"], "model": model}
