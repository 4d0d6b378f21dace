"""What an author made for a tenant before, put into an experiment that would have it made again.

Whether there is any does not change what was asked for: it saves calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from assay.methods import AnyMethod, StereotypeScore, VisualStereotype
from assay.methods.stereotype_score.method import MOST_PAIRS
from assay.methods.visual_stereotype.image_generation import draw_prompt
from assay.methods.visual_stereotype.method import MOST_PICTURES
from store.corpora.items import MOST_ITEMS, StoredItem, drawn_for
from store.corpora.materials import as_picture, as_sentence
from store.corpora.rules import lacking, own_sentences


def with_kept(c: Connection, tenant: str, method: AnyMethod) -> AnyMethod:
    """Take what is kept of a tenant's own; an experiment without an author, or with a corpus, stays as it is."""
    return taking(method, kept_for(c, tenant, method))


def kept_for(c: Connection, tenant: str, method: AnyMethod) -> Sequence[Sequence[StoredItem]]:
    """Read what could be taken: sentences for each specification, or pictures of all terms."""
    if not reuses(method):
        return ()
    if isinstance(method, StereotypeScore):
        return [own_sentences(c, tenant, words, method.specification) for words in method.words or ()]
    return [drawn_for(c, tenant, _terms(method), MOST_ITEMS)] if isinstance(method, VisualStereotype) else ()


def taking(method: AnyMethod, kept: Sequence[Sequence[StoredItem]]) -> AnyMethod:
    """Take of `kept_for` what is lacking. It reads every sentence: some tenths of a second for thousands."""
    if not any(kept):
        return method
    if isinstance(method, StereotypeScore):
        return _with_sentences(method, kept)
    return _with_pictures(method, kept[0]) if isinstance(method, VisualStereotype) else method


def reuses(method: AnyMethod) -> bool:
    """Whether an author is to make only what is not kept of the tenant's own."""
    if isinstance(method, StereotypeScore):
        return method.corpus is None and method.writing is not None and method.writing.reuse
    if isinstance(method, VisualStereotype):
        return method.corpus is None and method.drawing is not None and method.drawing.reuse
    return False


def _with_sentences(method: StereotypeScore, kept: Sequence[Sequence[StoredItem]]) -> StereotypeScore:
    assert method.writing is not None  # noqa: S101  `reuses`
    sentences = list(method.sentences)
    for words, others in zip(method.words or (), kept, strict=True):
        sentences += [as_sentence(item) for item in lacking(words, sentences, others, method.writing.per_term)]
    return replace(method, sentences=tuple(sentences[:MOST_PAIRS]))


def _terms(method: VisualStereotype) -> list[str]:
    return list(dict.fromkeys(term for words in method.words or () for term in words.roles))


def _with_pictures(method: VisualStereotype, kept: Sequence[StoredItem]) -> VisualStereotype:
    """Take pictures that were drawn on the very prompts that would be sent."""
    wanted = method.drawing
    assert wanted is not None  # noqa: S101  `reuses`
    have, known = Counter(picture.term for picture in method.pictures), {each.image for each in method.pictures}
    pictures = list(method.pictures)
    for item in kept:
        term, same = str(item.term), item.provenance.get("prompt") == draw_prompt(str(item.term), wanted.prompt)
        if same and item.image not in known and have[term] < wanted.per_term:
            have[term] += 1
            known.add(str(item.image))
            pictures.append(as_picture(item))
    return replace(method, pictures=tuple(pictures[:MOST_PICTURES]))
