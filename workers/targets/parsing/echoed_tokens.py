"""The tokens of a prompt that an engine gives back with their log-probabilities, read as those of the whole text.

An engine that ignores the wish for an echo gives back other tokens, or none, or zeros: every text
would be equally probable, and the model would look as if it had no preference at all. So nothing is
read before the tokens have been seen to be those of the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from workers.targets.parsing.answer_parsing import ROUNDING, Misread, float_or_infinity, seen

MARKS = 1
"""Tokens that may stand before a prompt's own: a mark of its beginning."""

IN_BYTES = "bytes:\\x"
"""How tokens begin that are pieces of a character, where they are written as bytes."""

ENOUGH_ASCII = 0.5
"""Share of a prompt that has to be ASCII for a comparison that leaves out the rest."""


class NotEchoed(ValueError):
    """The prompt's tokens did not come back with log-probabilities; the message says what came."""


@dataclass(frozen=True, slots=True)
class Echo:
    """What came back where the tokens of a prompt are due, not yet checked.

    Attributes
    ----------
    tokens, log_probabilities : JSON values
        Lists of equal length are due.
    offsets : JSON value
        Where each token begins in `text`; ``None`` where the protocol does not say.
    text : JSON value
        Prompt and answer together; ``None`` where the protocol does not say.
    whole : bool
        Whether only tokens of the prompt are due, and none of an answer.
    """

    tokens: Any
    log_probabilities: Any
    offsets: Any = None
    text: Any = None
    whole: bool = False


def score_of(echo: Echo, prompt: str) -> dict[str, Any]:
    """Add up the log-probabilities of a prompt's tokens.

    Returns
    -------
    dict
        The value of a reply to `assay.model.Score`: ``log_probability`` in nats, and ``tokens`` that had one. The
        first token of a text often has none; then it is left out.

    Raises
    ------
    NotEchoed
        If the tokens are not the prompt's, or none of them has a log-probability other than 0.
    Misread
        If the lists do not go together, or hold what is no log-probability.
    """
    tokens, values = echo.tokens, echo.log_probabilities
    if not isinstance(tokens, list) or not isinstance(values, list) or not tokens:
        raise NotEchoed("gave no tokens with their log-probabilities")
    if len(tokens) != len(values):
        raise Misread(f"gave {len(tokens)} tokens and {len(values)} log-probabilities")
    start, end = _span(echo, [str(token) for token in tokens], prompt)
    return total_of(values[start:end])


def total_of(values: Sequence[Any]) -> dict[str, Any]:
    """Add up the log-probabilities of a text's tokens; see `score_of`."""
    rest = values[1:] if values and values[0] in (None, 0) else values
    if len(values) > 1 and all(value is None for value in rest):
        raise NotEchoed("gave the prompt's tokens without log-probabilities")
    numbers = [_log_probability(value) for value in rest]
    if not numbers:
        raise Misread("gave one token, which has no log-probability; longer texts are needed")
    if not any(numbers):
        raise NotEchoed("gave every token of the prompt a log-probability of 0")
    return {"log_probability": min(0.0, math.fsum(numbers)), "tokens": len(numbers)}


def _log_probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misread(f"gave {seen(value)} where a log-probability is due")
    number = float_or_infinity(value)
    if not math.isfinite(number):
        raise Misread("gave a log-probability that is not finite")
    if number > ROUNDING:
        raise Misread(f"gave {number:g} where a log-probability is due, which is never above 0")
    return number


def _span(echo: Echo, tokens: Sequence[str], prompt: str) -> tuple[int, int]:
    """Find which tokens are the prompt's: their beginning and their end.

    Texts of tokens come as they are, or without their blanks, or with a mark in their place; what is
    not ASCII may come in pieces that are no characters.
    """
    for plain in (str, _without_blanks):
        if (found := _joined(tokens, prompt, plain)) is not None:
            return (found[0], len(tokens)) if _only_blank(echo, tokens[found[1] :]) else found
    if (end := _by_offsets(echo, prompt)) is not None:
        return 0, end
    if echo.whole and _tells_by_ascii(prompt):
        for start in range(MARKS + 1):
            if "".join(map(_ascii, tokens[start:])) == _ascii(prompt):
                return start, len(tokens)
    raise NotEchoed("gave tokens that are not the prompt's")


def _joined(tokens: Sequence[str], prompt: str, plain: Callable[[str], str]) -> tuple[int, int] | None:
    due = plain(prompt)
    for start in range(MARKS + 1):
        length = 0
        for end, token in enumerate(map(plain, tokens[start:]), start + 1):
            length += len(token)
            if length >= len(due):
                if "".join(map(plain, tokens[start:end])) == due:
                    return start, end
                break
    return None


def _only_blank(echo: Echo, rest: Sequence[str]) -> bool:
    return echo.whole and not _without_blanks("".join(rest))


def _by_offsets(echo: Echo, prompt: str) -> int | None:
    """Count the tokens that begin within the prompt, if they are what the text that came back holds there."""
    offsets, text = echo.offsets, echo.text
    if not isinstance(offsets, list) or not isinstance(text, str) or not text.startswith(prompt):
        return None
    if len(offsets) != len(echo.tokens) or not all(type(each) is int for each in offsets):
        return None
    if offsets[0] != 0 or list(accumulate(offsets, max)) != offsets:
        return None
    if not _tells_by_ascii(prompt):
        return None
    end = sum(1 for each in offsets if int(each) < len(prompt))
    held = [_ascii(text[start:stop]) for start, stop in pairwise([*offsets, len(text)][: end + 1])]
    own = [_ascii(str(token)) for token in echo.tokens[:end]]
    marks = next((place for place in range(MARKS + 1) if place == end or held[place]), MARKS)
    fitting = [due for due, given in zip(held[marks:], own[marks:], strict=True) if due == given]
    odd = [given for due, given in zip(held[marks:], own[marks:], strict=True) if due not in ("", given)]
    if not all(given.startswith(IN_BYTES) for given in odd):
        return None
    return end if len("".join(fitting)) >= ENOUGH_ASCII * len(_ascii(prompt)) else None


def _without_blanks(text: str) -> str:
    return "".join(text.replace("▁", " ").replace("Ġ", " ").split())


def _tells_by_ascii(prompt: str) -> bool:
    """Whether a prompt is known by its ASCII alone."""
    return len(_ascii(prompt)) >= ENOUGH_ASCII * len(_without_blanks(prompt))


def _ascii(text: str) -> str:
    return "".join(each for each in _without_blanks(text) if each.isascii())
