"""Multiple-choice prompts with lettered options, and parsing of the chosen letter.

Parsing is strict: an answer with several letters, or none, is no choice; nor is the article in "A nurse came."
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
"""Answers that choose a letter: the letter alone, the letter and punctuation, or "the answer is" and the letter."""

_ALONE = re.compile(r"(?<![\w'’])[A-Z](?![\w'’])")

Likelihoods = Sequence[tuple[str, float]]
"""Likely first tokens with their log-probabilities."""


def lettered(ask: Choose) -> str:
    """Return a question followed by its options with their letters, one per line."""
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, ask.options, strict=False)]
    return "\n".join([ask.text, "", *options])


def completed_by_letter(ask: Choose, instruction: str) -> str:
    """Return a question as a text that ends just before the letter of an option."""
    return f"{lettered(ask)}\n\n{instruction}\nAnswer:"


def first_line(text: str) -> str:
    """Return the first line that is not blank; a model that completes texts may add questions of its own."""
    return next((line for line in text.splitlines() if line.strip()), "")


def letter_in(said: str, options: Sequence[str]) -> int | None:
    """Return the index of the chosen option; ``None`` if none or several are chosen.

    These answers are choices: "B", "(b)", "**B.**", "The answer is B", "B. She is a nurse", the words of an option.
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
    """Return the index of the likeliest of `count` letters; ``None`` if no token is a letter, or for a tie."""
    shares = letter_shares(tokens, count)
    largest = max(shares, default=0.0)
    return shares.index(largest) if largest > 0 and shares.count(largest) == 1 else None


def letter_shares(tokens: Likelihoods, count: int) -> list[float]:
    """Return the probability of each letter, summed over its spellings (" A", "A", "a)"); 0 for a missing letter."""
    shares = [0.0] * count
    for token, log_probability in tokens:
        bare = re.sub(r"[\W_]+", "", token.replace("▁", " ").replace("Ġ", " ")).upper()
        if len(bare) == 1 and bare in LETTERS[:count]:
            shares[LETTERS.index(bare)] += math.exp(log_probability)
    return shares


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()
