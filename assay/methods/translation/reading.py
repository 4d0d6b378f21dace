"""Reading what a translator returned: usable text, or the reason why it is not.

A reply is evidence only if it can be laid beside what was asked, sentence by sentence. What cannot
is counted with its reason and never becomes a vote (METHODS section 2, "Pairing").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.catalog import Attribute, split_sentences
from assay.model import Failure, Reply

ECHO = 0.95
"""Share of common words (Jaccard, as multisets) from which a hop counts as untranslated."""

MARKED = 0.5
"""Share of words with an engine's error mark from which a text is unusable."""

_WORD = re.compile(r"\w+")
_MARKED_WORD = re.compile(r"(?:^|\s)[#@*]\w")
_ANY_WORD = re.compile(r"\S*\w\S*")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one text, sentence by sentence; or why it could not be read.

    Exactly one of `values`, `unusable` and `failure` is set.
    """

    values: tuple[str, ...] | None = None
    unusable: str | None = None
    failure: Failure | None = None


def untranslated(before: str, after: str) -> bool:
    """Whether a hop gave back the text it was given."""
    asked, given = (Counter(_WORD.findall(text.casefold())) for text in (before, after))
    union = sum((asked | given).values())
    return union > 0 and sum((asked & given).values()) / union >= ECHO


def error_marked(text: str) -> bool:
    """Whether an engine's marks for words it could not handle (``#``, ``@``, ``*``) dominate a text."""
    words = len(_ANY_WORD.findall(text))
    return words > 0 and len(_MARKED_WORD.findall(text)) / words >= MARKED


def unusable_hop(before: str, after: str) -> str | None:
    """Name what makes one hop's output unusable, if anything does."""
    if not after.strip():
        return "empty"
    if error_marked(after):
        return "error-marks"
    if untranslated(before, after):
        return "untranslated"
    return None


def read_hop(before: str, reply: Reply) -> Reading | None:
    """Judge one hop: a `Reading` that says why it is of no use, or ``None`` if it can be used."""
    if reply.failure is not None:
        return Reading(failure=reply.failure)
    if why := unusable_hop(before, str(reply.value)):
        return Reading(unusable=why)
    return None


def align(text: str, sentences: int) -> Sequence[str] | None:
    """Split a returned text into as many sentences as were asked, or ``None`` if it has others."""
    pieces = split_sentences(text)
    return pieces if len(pieces) == sentences else None


def read_text(returned: str, sentences: int, attribute: Attribute) -> Reading:
    """Read the attribute's value in each sentence of a returned English text."""
    pieces = align(returned, sentences)
    if pieces is None:
        return Reading(unusable="sentence-count")
    return Reading(values=tuple(attribute.read(piece) for piece in pieces))
