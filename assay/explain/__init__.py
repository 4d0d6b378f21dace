"""The words of a rating: the meaning of its letter, and the reasons.

`words` holds the common tables (a sentence for every reason code that all methods share, the words for
every letter); a method's `Vocabulary` adds its own. `sentence` fills them with facts; `numbers` writes percentages.
"""

from __future__ import annotations

from assay.errors import UnknownName
from assay.explain.sentence import chance, fill, level, listed, share
from assay.explain.words import LETTERS, MESSAGES, LetterWords, Vocabulary
from assay.model import Letter, Reason

__all__ = ["LETTERS", "LetterWords", "Vocabulary", "chance", "explain", "headline", "level", "listed", "share"]

WHOLE = "output"
"""Name of the one component of a service with one output; sentences leave it out."""


def explain(reason: Reason, vocabulary: Vocabulary) -> str:
    """Write a reason in one to three sentences of plain text.

    Facts of the reason may be missing or ``None``; the text then has less in it. Facts appear as they are: a format
    must escape them.

    Raises
    ------
    UnknownName
        If no sentence is known for the code.
    """
    message = vocabulary.sentence(reason.code)
    if message is None:
        raise UnknownName("reason", reason.code, (*MESSAGES, *vocabulary.reasons))
    sentence = fill(message, {**reason.facts, **_parts(reason), "where": _where(reason)}, vocabulary)
    return sentence[:1].upper() + sentence[1:]


def _parts(reason: Reason) -> dict[str, list[str]]:
    """Return the components that a sentence lists; the only output is called "the output"."""
    named = reason.facts.get("components")
    if not isinstance(named, list | tuple):
        return {}
    return {"components": ["the output" if name == WHOLE else str(name) for name in named]}


def _where(reason: Reason) -> str:
    """Return the beginning of a sentence about a component: "Through Spanish (possessive), " for es/possessive."""
    name, language = reason.component or "", reason.facts.get("language")
    if name == WHOLE:
        return ""
    if not isinstance(language, str) or not language.strip():
        return f"For “{name}”, " if name else ""
    construction = name.partition("/")[2]
    return f"Through {language} ({construction}), " if construction and "/" not in language else f"Through {language}, "


def headline(letter: Letter | str | None, declared: bool) -> str:
    """Write a rating in one line: ``"BS — biased"``, or ``"inconclusive (leaning DSBS)"`` if it is not declared."""
    if letter is None:
        return "inconclusive: nothing could be measured"
    letter = Letter(letter)
    return f"{letter} — {LETTERS[letter].title}" if declared else f"inconclusive (leaning {letter})"
