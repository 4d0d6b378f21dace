"""Texts that explain a rating: the meaning of its letter, and a sentence for each reason.

`words` holds the tables that all methods share: a sentence for every reason code, and words for every letter. A
method's `Vocabulary` adds its own words. `sentence` fills sentences with facts and writes percentages.
"""

from assay.explain.sentence import chance, explain, headline, level, listed, request_in_words, share
from assay.explain.words import LETTERS, TOO_FEW, TOO_FEW_CODE, LetterTexts, Vocabulary, letter_words

__all__ = [
    "LETTERS",
    "TOO_FEW",
    "TOO_FEW_CODE",
    "LetterTexts",
    "Vocabulary",
    "chance",
    "explain",
    "headline",
    "letter_words",
    "level",
    "listed",
    "request_in_words",
    "share",
]
