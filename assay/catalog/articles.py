"""The indefinite article: "a nurse", "an engineer"."""

from __future__ import annotations

import re

_SILENT_H = re.compile(r"heir|honest|honou?r|hour(?!i)", re.IGNORECASE)
_VOWEL_WRITTEN_NOT_SPOKEN = re.compile(
    r"eu|ewe|one\b|once\b|uni(?!n|m[^o])|u[bcfjkqrstv][aeiou]", re.IGNORECASE
)  # "a European", "a one-way ticket", "a unicorn", "a user", but "an uninvited guest"
_LETTERS = re.compile(r"[A-Z](?:[B-DF-HJ-NP-TV-XZ][A-Z]{0,2})?(?![A-Za-z])|x-")
_SPOKEN_WITH_VOWEL = frozenset("AEFHILMNORSX")
"""Letters whose name begins with a vowel: "an MBA", "an X-ray"."""


def indefinite(name: str) -> str:
    """Return a noun with its indefinite article, which depends on the pronunciation.

    These rules replace the package inflect, whose import takes 2 s. Of 10,075 words, 7 in capitals get another article.
    """
    if _LETTERS.match(name):
        vowel = name[0].upper() in _SPOKEN_WITH_VOWEL
    elif _SILENT_H.match(name):
        vowel = True
    else:
        vowel = name[:1].lower() in {*"aeiou"} and not _VOWEL_WRITTEN_NOT_SPOKEN.match(name)
    return f"{'an' if vowel else 'a'} {name}"
