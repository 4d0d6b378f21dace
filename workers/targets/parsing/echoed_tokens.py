"""Log-probability of a prompt, summed over its echoed tokens.

An engine that ignores the request for an echo returns other tokens, none, or zeros. Every text would then be
equally probable, and the model would seem unbiased. So the tokens are compared with the prompt first.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from assay.document import JsonObject
from workers.targets.parsing.answer_parsing import ROUNDING, Misread, finite_number

MAX_EXTRA = 1
"""Maximum number of extra tokens before those of the prompt, such as a start-of-text token."""

BYTES_PREFIX = "bytes:\\x"
"""Prefix of a token that is a part of a character, written as bytes."""

ENOUGH_ASCII = 0.5
"""Minimum share of ASCII characters in a prompt for a comparison that ignores all other characters."""

LEAST_OF_TOKEN = -1000.0
"""Largest log-probability of a token that is no such number, but a mark for a missing one: vLLM writes -9999."""


class NotEchoed(Misread):
    """The answer does not hold the prompt's tokens with their log-probabilities."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "no-echo")


@dataclass(frozen=True, slots=True)
class Echo:
    """Echoed tokens of a prompt, not yet validated."""

    tokens: Any
    """Expected to be a list."""
    log_probabilities: Any
    """Expected to be a list as long as `tokens`."""
    offsets: Any = None
    """Start of each token in `text`; ``None`` if the protocol has no such field."""
    text: Any = None
    """Prompt and answer together; ``None`` if the protocol has no such field."""
    prompt_only: bool = False
    """Whether the tokens are those of the prompt only, without an answer."""


def score_of(echo: Echo, prompt: str) -> JsonObject:
    """Sum the log-probabilities of a prompt's tokens.

    Return the value of a reply to `assay.model.Score`: ``log_probability`` in nats, and the number of ``tokens``. The
    first token is left out if it has no log-probability, which is common. Raise `NotEchoed` if the tokens are not the
    prompt's, or none of them has a log-probability other than 0, and `Misread` if the lists have different lengths or
    hold an invalid log-probability.
    """
    tokens, log_probabilities = echo.tokens, echo.log_probabilities
    if not isinstance(tokens, list) or not isinstance(log_probabilities, list) or not tokens:
        raise NotEchoed("gave no tokens with their log-probabilities")
    if len(tokens) != len(log_probabilities):
        raise Misread(f"gave {len(tokens)} tokens and {len(log_probabilities)} log-probabilities")
    start, end = _span(echo, [str(token) for token in tokens], prompt)
    return total_of(log_probabilities[start:end])


def total_of(log_probabilities: Sequence[Any], least: float = LEAST_OF_TOKEN) -> dict[str, Any]:
    """Sum the log-probabilities of a text's tokens, each above `least`; see `score_of`."""
    lacks_first = bool(log_probabilities) and log_probabilities[0] in (None, 0)
    values_to_sum = log_probabilities[1:] if lacks_first else log_probabilities
    if len(log_probabilities) > 1 and all(value is None for value in values_to_sum):
        raise NotEchoed("gave the prompt's tokens without log-probabilities")
    numbers = [_log_probability(value, least) for value in values_to_sum]
    if not numbers:
        raise Misread("gave one token, which has no log-probability; longer texts are needed")
    if not any(numbers):
        raise NotEchoed("gave every token of the prompt a log-probability of 0")
    return {"log_probability": min(0.0, math.fsum(numbers)), "tokens": len(numbers)}  # rounding may exceed 0


def _log_probability(value: object, least: float) -> float:
    number = finite_number(value, "log-probability")
    if not least < number <= ROUNDING:
        raise Misread(f"returned {number:g}; expected a log-probability, which is at most 0 and no mark such as -9999")
    return number


def _span(echo: Echo, tokens: Sequence[str], prompt: str) -> tuple[int, int]:
    """Return the index of the prompt's first token and the index after its last; raise `NotEchoed` if there are none.

    Engines write tokens verbatim, without spaces, or with a special character for a space. A character outside
    ASCII may be split over several tokens.
    """
    for normalise in (str, _without_blanks):  # verbatim, then without spaces
        if (span := _span_of_spelling(tokens, prompt, normalise)) is not None:
            start, end = span
            # in an echo without an answer, all tokens are the prompt's, also blank ones at the end
            only_blanks_follow = echo.prompt_only and not _without_blanks("".join(tokens[end:]))
            return start, len(tokens) if only_blanks_follow else end
    if (token_count := _count_by_offsets(echo, prompt)) is not None:
        return 0, token_count
    if echo.prompt_only and _has_enough_ascii(prompt):
        for start in range(MAX_EXTRA + 1):  # extra tokens before the prompt, such as a start-of-text token
            if "".join(map(_ascii_characters, tokens[start:])) == _ascii_characters(prompt):
                return start, len(tokens)
    raise NotEchoed("returned tokens that do not spell the prompt")


def _span_of_spelling(tokens: Sequence[str], prompt: str, normalise: Callable[[str], str]) -> tuple[int, int] | None:
    """Return the start and the end of the tokens that spell the prompt, both normalised; ``None`` if no tokens do."""
    expected = normalise(prompt)
    for start in range(MAX_EXTRA + 1):  # extra tokens before the prompt, such as a start-of-text token
        length = 0
        for end, token in enumerate(map(normalise, tokens[start:]), start + 1):
            length += len(token)
            if length >= len(expected):
                if "".join(map(normalise, tokens[start:end])) == expected:
                    return start, end
                break
    return None


def _count_by_offsets(echo: Echo, prompt: str) -> int | None:
    """Count the tokens whose offset is within the prompt; ``None`` without valid offsets, or if they spell another."""
    offsets, text = echo.offsets, echo.text
    if not isinstance(offsets, list) or not isinstance(text, str) or not text.startswith(prompt):
        return None
    if len(offsets) != len(echo.tokens) or not all(type(offset) is int for offset in offsets):
        return None
    if offsets[0] != 0 or sorted(offsets) != offsets or not _has_enough_ascii(prompt):
        return None
    token_count = sum(1 for offset in offsets if int(offset) < len(prompt))
    bounds = [*offsets, len(text)][: token_count + 1]  # a token ends where the next one starts
    expected_tokens = [_ascii_characters(text[start:end]) for start, end in pairwise(bounds)]
    tokens = [_ascii_characters(str(token)) for token in echo.tokens[:token_count]]
    # a start-of-text token is no part of the text, so the token after it has the same offset
    extra_count = next((n for n in range(MAX_EXTRA + 1) if n == token_count or expected_tokens[n]), MAX_EXTRA)
    pairs = list(zip(expected_tokens[extra_count:], tokens[extra_count:], strict=True))
    equal_tokens = [token for expected, token in pairs if expected == token]
    differing_tokens = [token for expected, token in pairs if expected not in ("", token)]  # "": no ASCII
    if not all(token.startswith(BYTES_PREFIX) for token in differing_tokens):  # bytes of a part of a character
        return None
    # enough of the prompt must be spelt by tokens that could be compared
    return token_count if len("".join(equal_tokens)) >= ENOUGH_ASCII * len(_ascii_characters(prompt)) else None


def _without_blanks(text: str) -> str:
    return "".join(text.replace("▁", " ").replace("Ġ", " ").split())


def _has_enough_ascii(prompt: str) -> bool:
    """Whether a prompt has enough ASCII characters (`ENOUGH_ASCII`) to compare only these."""
    return len(_ascii_characters(prompt)) >= ENOUGH_ASCII * len(_without_blanks(prompt))


def _ascii_characters(text: str) -> str:
    return "".join(char for char in _without_blanks(text) if char.isascii())
