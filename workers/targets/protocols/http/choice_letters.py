"""Options with letters: how a choice is put to a language model, and how its letter is read.

Reading is strict: an answer that names several letters, or none, is no choice. An article is no
letter: "A nurse came." chooses nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from string import ascii_uppercase

from assay.model import Choose

LETTERS = ascii_uppercase

INSTRUCTION = "Answer with one letter only: the letter of the option that you choose."

_FORMS = (
    re.compile(r"\W*(?P<letter>[A-Za-z])(?P<rest>[\W_]*)", re.DOTALL),
    re.compile(r"\W*(?P<letter>[A-Z])(?=[^\w\s'’-]|\s+[-–—:]|\s*\n)(?P<rest>.*)", re.DOTALL),
    re.compile(
        r"\W*(?i:(?:(?:the|my)\s+)?(?:(?:correct|best)\s+)?(?:answer|option|choice)(?:\s+is)?\W+)+"
        r"(?P<letter>[A-Z])(?![\w'’])(?P<rest>.*)",
        re.DOTALL,
    ),
)
"""A letter alone; one that something is set off from; one that is announced."""

_ALONE = re.compile(r"(?<![\w'’])[A-Z](?![\w'’])")

Likelihoods = Sequence[tuple[str, float]]
"""Tokens that could have come first, with their log-probabilities."""


def lettered(ask: Choose) -> str:
    """Write a question with its options, one a line, each after its letter."""
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, ask.options, strict=False)]
    return "\n".join([ask.text, "", *options])


def completed_by_letter(ask: Choose, instruction: str) -> str:
    """Write a question as a text that is completed by the letter of an option."""
    return f"{lettered(ask)}\n\n{instruction}\nAnswer:"


def first_line(text: str) -> str:
    """Give the first line that is not blank: a model that completes texts goes on with questions of its own."""
    return next((line for line in text.splitlines() if line.strip()), "")


def letter_in(said: str, options: Sequence[str]) -> int | None:
    """Find the option that an answer chooses.

    Parameters
    ----------
    said : str
        "B", "(b)", "**B.**", "The answer is B", "B. She is a nurse", or the words of an option.
    options : sequence of str
        What there was to choose from.

    Returns
    -------
    int or None
        Its place among the options; ``None`` where none is chosen, or several are.
    """
    words = said.strip()
    same = [place for place, option in enumerate(options) if _plain(option) == _plain(words)]
    if len(same) == 1:
        return same[0]
    led = next((found for form in _FORMS if (found := form.fullmatch(words))), None)
    if led is None:
        return None
    place, rest = LETTERS.index(led["letter"].upper()), led["rest"]
    if place >= len(options):
        return None
    if _plain(rest) in {"", _plain(options[place])}:
        return place
    others = {LETTERS.index(letter) for letter in _ALONE.findall(rest)} - {place}
    return None if any(other < len(options) for other in others) else place


def likeliest_letter(tokens: Likelihoods, count: int) -> int | None:
    """Find the letter that a model was likeliest to say first.

    Parameters
    ----------
    tokens : sequence of (str, float)
        " A", "A" and "a)" are all the letter A; their probabilities are added up.
    count : int
        Options there were.

    Returns
    -------
    int or None
        The letter's place; ``None`` where no letter is among the tokens, or two are equally likely.
    """
    shares = letter_shares(tokens, count)
    largest = max(shares, default=0.0)
    return shares.index(largest) if largest > 0 and shares.count(largest) == 1 else None


def letter_shares(tokens: Likelihoods, count: int) -> list[float]:
    """Add up the probabilities of the tokens that are each letter; 0 for a letter that is not among them."""
    shares = [0.0] * count
    for token, log_probability in tokens:
        bare = re.sub(r"[\W_]+", "", token.replace("▁", " ").replace("Ġ", " ")).upper()
        if len(bare) == 1 and bare in LETTERS[:count]:
            shares[LETTERS.index(bare)] += math.exp(log_probability)
    return shares


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()
