"""Detection of refusals to write, in several languages; a text about somebody who apologises is no refusal."""

from __future__ import annotations

import re

from assay.catalog.answer_text import compiled, normalise_answer

LONGEST = 600
"""Maximum length of a refusal in characters: a longer reply is a text, whatever it begins with."""

BEGINNING = 250
"""Number of characters at the beginning of a reply in which a refusal is searched for."""

_QUOTATION = re.compile(r"(?<=\w)([,:]?\s+)\"[^\"]*\"")
"""Direct speech of somebody in a text: a passage in quotation marks, after other words."""


def refuses_to_write(text: str) -> bool:
    """Return whether a reply is short and states, near its beginning, that the text will not be written."""
    words = " ".join(normalise_answer(text).split())
    begun = compiled("writing", "letters").match(words)
    if len(words) > LONGEST or begun or compiled("writing", "delivered").search(words):
        return False
    own_words = compiled("writing", "idioms").sub(" ", _QUOTATION.sub(r"\1", words[:BEGINNING]))
    return compiled("writing", "refusals").search(own_words) is not None
