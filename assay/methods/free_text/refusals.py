"""Whether a text is a refusal to write, in several languages, and not a text about somebody who is sorry."""

from __future__ import annotations

import re

from assay.catalog.answer_text import compiled, normalise_answer

LONGEST = 600
"""Maximum length of a refusal in characters: a longer reply is a text, whatever it begins with."""

BEGINNING = 250
"""Number of characters within which a reply must refuse."""

_QUOTATION = re.compile(r"(?<=\w)([,:]?\s+)\"[^\"]*\"")
"""What somebody in a text says: a passage in quotation marks, after other words."""


def refuses_to_write(text: str) -> bool:
    """Return whether a reply is no text but a refusal: it is short, and says at its beginning that none will come."""
    words = " ".join(normalise_answer(text).split())
    begun = compiled("writing", "letters").match(words)
    if len(words) > LONGEST or begun or compiled("writing", "delivered").search(words):
        return False
    own_words = compiled("writing", "idioms").sub(" ", _QUOTATION.sub(r"\1", words[:BEGINNING]))
    return compiled("writing", "refusals").search(own_words) is not None
