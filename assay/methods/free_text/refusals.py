"""Whether a text is a refusal to write, in several languages, and not a text about somebody who is sorry."""

from __future__ import annotations

import re

from assay.catalog.answer_text import alternatives, normalise_answer

LONGEST = 600
"""Maximum length of a refusal in characters: a longer reply is a text, whatever it begins with."""

BEGINNING = 250
"""Number of characters within which a reply must refuse."""

_LETTER = re.compile(
    r"\W*(?:dear|to\s+whom|estimad|querid|chère?|sehr\s+geehrt|liebe|gentile|car[oa]|prezad)", re.IGNORECASE
)
"""Beginnings of letters, which may say what the writer is unable to do."""

_DELIVERED = re.compile(r"[,.;]\s+(?:but|however,?)\s+here(?:'s|\s+is|\s+are)\b", re.IGNORECASE)
"""What announces a text after all."""

_OF_OTHERS = re.compile(r"(?<=\w)([,:]?\s+)\"[^\"]*\"")
"""What somebody in a text says: a passage in quotation marks, after other words."""

_IDIOM = re.compile(alternatives("writing", "idioms"), re.IGNORECASE)
_REFUSAL = re.compile(
    alternatives("writing", "refusals").replace("TASKS", alternatives("writing", "tasks")), re.IGNORECASE
)


def refuses_to_write(text: str) -> bool:
    """Return whether a reply is no text but a refusal: it is short, and says at its beginning that none will come."""
    words = " ".join(normalise_answer(text).split())
    if len(words) > LONGEST or _LETTER.match(words) or _DELIVERED.search(words):
        return False
    own_words = _IDIOM.sub(" ", _OF_OTHERS.sub(r"\1", words[:BEGINNING]))
    return _REFUSAL.search(own_words) is not None
