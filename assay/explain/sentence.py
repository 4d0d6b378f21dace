"""Sentences filled with facts: clauses with unknown facts are left out, and 0 % and 100 % are written only if exact."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from assay.document import Json
from assay.errors import UnknownName
from assay.explain.words import LETTERS, MESSAGES, TOO_FEW, TOO_FEW_CODE, Vocabulary
from assay.model import Letter, Reason

T = TypeVar("T", str, float)


def share(fraction: float) -> str:
    """Write a counted share as a percentage: 100 % only for all, and 0 % only for nothing."""
    if 0 < fraction <= 0.005:  # 0.005 would be rounded to 0
        return "<1 %"
    if 0.995 <= fraction < 1:
        return ">99 %"
    return f"{fraction * 100:.0f} %"


def chance(probability: float) -> str:
    """Write a probability as a percentage that never overstates it.

    From one half up the percentage is rounded down: .9496 is 94 %, because it does not reach 95 %. It is
    never 0 % or 100 %, because the number of draws is finite.
    """
    if probability <= 0.005:  # 0.005 would be rounded to 0
        return "<1 %"
    if probability >= 0.995:
        return ">99 %"
    percent = round(probability * 100, 6)  # rounded, because 0.29 * 100 is 28.999999999999996
    return f"{math.floor(percent) if percent >= 50 else round(percent)} %"


def level(confidence: float) -> str:
    """Write a required confidence with at most two decimals (95 %, 98.31 %), or more if it is 99.99 % or higher."""
    return f"{round(confidence * 100, 2 if confidence < 0.9999 else 6):g} %"


REQUESTED: Mapping[str, str] = {
    "owner": "Requested by the confirmed owner of the host.",
    "operator": "Requested by the operator of the agency.",
    "other": "Requested by a third party.",
    "local": "Rated at a command line (“assay rate” or “assay audit”), and not by an agency.",
}
"""Sentence about the requester of a rating, by its role."""

DESCRIBED: Mapping[str, str] = {
    "default": "The service was asked with the default settings.",
    "unpublished": "The service was asked with the default settings. Publication was not requested before the result.",
    "named": "The service was asked with the default settings, for a model that the requester named.",
    "changed": "The requester chose settings, words or the random seed; a test with others may give another letter.",
    "uploaded": "The service was not called: its recorded answers or decisions were uploaded.",
}
"""Sentence about the requester's choices (settings, model, words, upload), by a rating's ``requester.description``."""


def request_in_words(role: str | None, host_proved: bool | None, description: str | None, *, objects: bool) -> str:
    """Write who requested a rating, how, and whether the owner of the host objects; empty if nothing is known.

    `role` (of the requester) is a key of `REQUESTED`, `description` a key of `DESCRIBED`; `host_proved` says whether
    anybody has proved to own the host.
    """
    owner_texts = {True: "The owner of the host is confirmed.", False: "The owner of the host is not confirmed."}
    sentences = (
        REQUESTED.get(role or ""),
        None if role == "owner" or host_proved is None else owner_texts[host_proved],
        DESCRIBED.get(description or ""),
        "The owner of the host objects to this rating." if objects else None,
    )
    return " ".join(filter(None, sentences))


def signed(difference: float) -> str:
    """Write a difference in a service's own unit with its sign, from 100 up without decimals: +0.0152, +1,142."""
    return f"{difference:+,.0f}" if 100 <= abs(difference) < 1e9 else f"{difference:+#.3g}"


Writer = Callable[[Any], str | None]
"""Function that returns the text of a fact; ``None`` if the fact is missing or invalid."""

_TEMPLATE_PIECE = re.compile(r"\[([^\]]*)\]|([^\[]+)")  # matches the alternatives inside brackets, or plain text
_SLOT = re.compile(r"\{(?P<name>\w+):?(?P<format>\w*)\}")
_NAMES_SHOWN = 8

WHOLE = "output"
"""Name of the only component of a service with one output; sentences leave it out."""


def explain(reason: Reason, vocabulary: Vocabulary) -> str:
    """Write a reason in one to three sentences of plain text; raise `UnknownName` if there is no sentence for the code.

    Facts of the reason may be missing or ``None``; the text then leaves them out. Facts are not escaped: a report
    format must escape the text.
    """
    message = vocabulary.sentence(reason.code)
    if message is None:
        raise UnknownName("reason", reason.code, (*MESSAGES, *vocabulary.reasons))
    sentence = fill(message, {**reason.facts, **_component_names(reason), "where": _opening(reason)}, vocabulary)
    return sentence[:1].upper() + sentence[1:]


def _component_names(reason: Reason) -> dict[str, list[str]]:
    """Return the components that a sentence lists; a component named `WHOLE` is called "the output"."""
    components = reason.facts.get("components")
    if not isinstance(components, list | tuple):
        return {}
    return {"components": ["the output" if name == WHOLE else str(name) for name in components]}


def _opening(reason: Reason) -> str:
    """Return the beginning of a sentence about a component: "Through Spanish (possessive), " for es/possessive."""
    name, language = reason.component or "", reason.facts.get("language")
    if name == WHOLE:
        return ""
    if not isinstance(language, str) or not language.strip():
        return f"For “{name}”, " if name else ""
    _, _, construction = name.partition("/")
    # a language without a name has the name of the component, which contains the construction
    return f"Through {language} ({construction}), " if construction and "/" not in language else f"Through {language}, "


def headline(letter: Letter | str | None, declared: bool, codes: Collection[str] = ()) -> str:
    """Write a rating in one line: ``"BS — biased"``, or ``"inconclusive (leaning DSBS)"`` if it is not declared.

    `codes` are the codes of its reasons, which say why it has no letter.
    """
    if letter is None:
        return f"inconclusive: {TOO_FEW if TOO_FEW_CODE in codes else 'no letter can be given'}"
    letter = Letter(letter)
    return f"{letter} — {LETTERS[letter].title}" if declared else f"inconclusive (leaning {letter})"


def fill(template: str, facts: Json, vocabulary: Vocabulary) -> str:
    """Fill a sentence with facts, by the names that the template uses.

    A piece of text between brackets is left out if any of its facts is unknown. Of the alternatives within brackets,
    ``[a|b]``, the first whose facts are all known is used, or else none. Brackets in a fact are text.
    """
    writers = {**WRITERS, "cause": _cause_writer(vocabulary), "phrase": _text_writer(vocabulary.phrase)}

    def write_fact(slot: re.Match[str]) -> str:
        text = writers[slot["format"]](facts.get(slot["name"]))
        if text is None:
            raise _FactUnknown
        return text

    def spell(part: str) -> str | None:
        """Fill a part of the sentence; ``None`` if a fact is unknown."""
        try:
            return _SLOT.sub(write_fact, part)
        except _FactUnknown:
            return None

    texts: list[str] = []
    for bracket_part, plain_part in _TEMPLATE_PIECE.findall(template):
        alternatives = [plain_part] if plain_part else bracket_part.split("|")
        texts.append(next((text for text in map(spell, alternatives) if text is not None), ""))
    return "".join(texts)


def listed(names: Sequence[str]) -> str:
    """Join names, at most eight of them: "es", "es and fr", "es, fr, … and 32 more"."""
    items = list(names)
    if len(items) > _NAMES_SHOWN:
        items[_NAMES_SHOWN:] = [f"{len(items) - _NAMES_SHOWN} more"]
    return f"{', '.join(items[:-1])} and {items[-1]}" if len(items) > 1 else "".join(items)


class _FactUnknown(Exception):
    """A part of a sentence needs a fact that is missing or invalid."""


def _read_text(value: object) -> str | None:
    return str(value) if isinstance(value, str) and value.strip() else None


def _read_number(value: object) -> float | None:
    """Return a number, or the estimate of an interval; ``None`` for NaN, infinity and other values."""
    if isinstance(value, Mapping):
        value = value.get("estimate")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _make_writer(read: Callable[[Any], T | None], write: Callable[[T], str]) -> Writer:
    """Return a function that writes a fact: `read` validates it (``None``: invalid), `write` formats a valid one."""

    def write_value(value: object) -> str | None:
        readable_value = read(value)
        return None if readable_value is None else write(readable_value)

    return write_value


_number_writer, _text_writer = partial(_make_writer, _read_number), partial(_make_writer, _read_text)


def _join_names(value: object) -> str | None:
    if not isinstance(value, list | tuple):
        return _read_text(value)
    return listed([str(name) for name in value]) or None


def _cause_writer(vocabulary: Vocabulary) -> Writer:
    """Return a function that explains a failure code; of a mapping of codes to counts, the most frequent code."""

    def write_cause(value: object) -> str | None:
        if isinstance(value, Mapping):
            counts = {str(code): _read_number(count) or 0.0 for code, count in value.items()}
            value = max(counts, key=lambda code: counts[code]) if counts else None
        code = _read_text(value)
        return None if code is None else vocabulary.cause(code)

    return write_cause


WRITERS: Mapping[str, Writer] = {
    "": _read_text,
    "where": str,
    "share": _number_writer(share),
    "chance": _number_writer(chance),
    "level": _number_writer(level),
    "effect": _number_writer(lambda number: f"{round(number, 2) + 0.0:.2f}"),  # + 0.0 drops the sign of -0.0
    "signed": _number_writer(signed),
    "deviations": _number_writer(lambda number: f"{round(number, 2) + 0.0:+.2f} standard deviations"),
    "count": _number_writer(lambda number: f"{number:,.0f}"),
    "texts": _number_writer(lambda number: "1 text" if number == 1 else f"{number:,.0f} texts"),
    "parts": _number_writer(lambda number: "The one part" if number == 1 else f"Each of the {number:,.0f} parts"),
    "names": _join_names,
    "only": lambda value: None if isinstance(value, list | tuple) and len(value) != 1 else _join_names(value),
    "words": _text_writer(lambda name: name.replace("-", " ")),
    "value": _text_writer(lambda value: f"“{value}”"),
}
"""Formats of facts in sentences, by name: ``{fact:share}`` writes a fact in the format ``share``."""
