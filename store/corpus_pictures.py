"""Pictures as corpora keep them and as methods take them."""

from __future__ import annotations

from assay.pictures import Picture
from store.corpus_items import StoredItem

AUTHORED, DRAWN = "written", "drawn"
"""What an author made, as corpora call it and as pictures are said to be."""


def as_picture(item: StoredItem) -> Picture:
    """Give a kept picture to a method, which finds its term among its own words."""
    source = DRAWN if item.source == AUTHORED else item.source
    return Picture(item.image or "", item.term or "?", source, item.id)
