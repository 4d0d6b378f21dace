"""The words of a rating: the meaning of its letter, and the reasons.

`words` holds the common tables (a sentence for every reason code that all methods share, the words for
every letter); a method's `Vocabulary` adds its own. `sentence` fills them with facts and writes percentages.
"""

from assay.explain.sentence import chance, explain, headline, level, listed, share
from assay.explain.words import LETTERS, LetterWords, Vocabulary

__all__ = ["LETTERS", "LetterWords", "Vocabulary", "chance", "explain", "headline", "level", "listed", "share"]
