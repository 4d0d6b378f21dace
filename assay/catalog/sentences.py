"""Cutting a text into its sentences."""

from __future__ import annotations

import re

_END = re.compile(
    r"""
    (?: [!?…。｡！？．।॥؟۔]
      | (?<!\d)\. | \.(?!\d)                         # no full stop within a number: 2.5
    )
    (?! (?<=(?<!\w)[^\W\d_]\.) [^\W\d_] )          # nor between single letters: U.S.
    (?: \s*[.!?…。｡！？．।॥؟۔] )*                     # more marks, with blanks or without
    ["'”’»›)\]」』]*                                 # closing marks belong to the sentence
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\w")


def split_sentences(text: str) -> tuple[str, ...]:
    """Cut a text after each run of sentence marks (``. ! ? …`` and those of other scripts).

    A blank before the mark, which some engines write, stays with its sentence, and no blank after
    the mark is needed. A full stop inside a number (2.5) or between single letters (U.S.) ends
    nothing; other abbreviations are not known.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    tuple of str
        The sentences with their marks, without blanks around them. What holds no letter or digit
        is no sentence; what has no final mark is one.
    """
    pieces, start = [], 0
    for end in _END.finditer(text):
        pieces.append(text[start : end.end()].strip())
        start = end.end()
    pieces.append(text[start:].strip())
    return tuple(piece for piece in pieces if _WORD.search(piece))
