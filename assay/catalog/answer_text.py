"""Normalisation of the text of answers, which every reader of answers applies first."""

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from html import unescape
from typing import Any
from unicodedata import category, normalize

from assay.catalog.tables import read_table

MOST_ESCAPES = 2
"""Maximum number of times that HTML entities are unescaped: some services escape text twice."""

LONGEST_JSON = 1_000
"""Maximum length of an answer in which a label in JSON is looked for, in characters."""

_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2019\u2018\u201b\u02bc\u2032\uff07`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02", '"'),
        **dict.fromkeys("\u2010\u2011\u2212\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2028\u2029\u0085\v\f\r", "\n"),
        **dict.fromkeys("\u2217\u204e\ufe61", "*"),
        **dict.fromkeys("\u2044\u2215", "/"),
        **dict.fromkeys("\u2236\ua789\u02d0", ":"),
    }
)
"""Map from typographic variants to one sign: apostrophes, quotes, hyphens, line ends, and marks within words."""

_LOOSE_APOSTROPHE = re.compile(r"\b(l|d|un|quell|quest|dell|all) +'(?=\s*\w)", re.IGNORECASE)
_LABEL_EDGES = " .,;:!\"'«»*`\u2026\u3002\u3001"
FENCE = re.compile(r"\A(?:```|''')\w*\s*(.*?)\s*(?:```|''')\Z", re.DOTALL)
_BRACKETED = re.compile(r"[(\[{<]([^()\[\]{}<>]+)[)\]}>]")
_WORD_GAP = re.compile(r"(?<=[^\W_])[-_ ]+(?=[^\W_])")
_WHOLE_NUMBER = re.compile(r"([+-]?\d+)\.0+")
_IGNORED = {chr(code) for code in (0x034F, *range(0x180B, 0x180F), *range(0xFE00, 0xFE10))}
"""Invisible characters that Unicode does not count as format characters: joiners and variation selectors."""

_NORMALISED = re.compile(r"[ !-%(-;=-_a-~\u00a1\u00ab\u00bb\u00bf-\u00d6\u00d8-\u00f6\u00f8-\u00ff]*")
"""Texts that are normalised already: letters of Western Europe, and signs but ``&``, ``<``, apostrophes and accents."""


def alternatives(reader: str, name: str) -> str:
    """Return a pattern for any entry of the list `name` in the table `reader` of ``answers.toml``; ``<x>``: list x."""
    pattern = "|".join(read_table("answers")[reader][name]).replace(" ", r"\s+")
    return f"(?:{re.sub(r'<([a-z_]+)>', lambda slot: alternatives(reader, slot[1]), pattern)})"


@cache
def compiled(reader: str, name: str) -> re.Pattern[str]:
    """Return a compiled pattern for any entry of a list, ignoring case; the arguments are those of `alternatives`."""
    return re.compile(alternatives(reader, name), re.IGNORECASE)


def normalise_answer(text: str) -> str:
    """Return the text of an answer in one spelling, so that texts that look equal are equal.

    Entities of HTML become characters, tags are dropped, letters are composed, and those of full width become plain
    ones (NFKC). Invisible characters (soft hyphens, joiners, direction marks) are dropped. All kinds of blanks become
    the same blank, typographic apostrophes, quotes and hyphens the ASCII ones; a blank before the apostrophe of an
    article is dropped. Text that is struck through begins with "~~", an exponent with "^". Case and line ends stay.
    """
    if _NORMALISED.fullmatch(text):
        return text
    for _ in range(MOST_ESCAPES):
        if (unescaped_text := unescape(text)) == text:
            break
        text = unescaped_text
    text = compiled("any", "exponents").sub("^", compiled("any", "struck_tags").sub("~~", text))
    text = compiled("any", "tags").sub("", text).translate(_SIGNS)  # before NFKC, which splits an acute accent
    visible = (char for char in text if char not in _IGNORED and (char in "\n\t" or category(char) not in {"Cf", "Cc"}))
    plain_text = normalize("NFKC", "".join(visible)).translate(_SIGNS)  # again: NFKC makes a "`" of one of full width
    return _LOOSE_APOSTROPHE.sub(r"\1'", plain_text)


def plain(text: str) -> str:
    """Normalise text so that words can be compared as strings: as `normalise_answer` does, and in lower case."""
    return normalize("NFC", normalise_answer(text).casefold())


def plain_label(label: str) -> str:
    """Return a label normalised, with single blanks, and without outer blanks, quotes, brackets and stops.

    If it is JSON with one text, such as ``{"label": "good"}``, that text is the label. A heading before a label and
    an explanation after it are dropped: "Label: good", "good because …". A label of marks only, such as "+", stays.
    """
    normalised_label = " ".join(normalise_answer(label).split())
    label_text = _without_edges(unwrap_json(normalised_label))
    while (bracket_match := _BRACKETED.fullmatch(label_text)) is not None:
        label_text = _without_edges(bracket_match[1])
    explanation_match = compiled("any", "explained").match(label_text)
    return _without_edges(explanation_match[1] if explanation_match else label_text) or normalised_label


def _without_edges(label: str) -> str:
    """Return a label without outer marks, but with an exclamation mark before it, which negates it: "!good"."""
    bare_label = label.strip(_LABEL_EDGES)
    return f"!{bare_label}" if bare_label and "!" in label[: label.index(bare_label)] else bare_label


def unwrap_json(text: str) -> str:
    """Return the only string in an answer of JSON; the answer itself if it is not JSON or has several values."""
    if text[:1] not in {"{", "[", '"'} or len(text) > LONGEST_JSON:
        return text
    value = json_in(text)
    while isinstance(value, dict | list) and len(value) == 1:  # unpack lists and objects inside each other
        answers = answers_of_json(value, keys=frozenset()) if isinstance(value, dict) else value
        value = answers[0] if answers else None
    return value if isinstance(value, str) else text


def json_in(text: str) -> Any:
    """Return the value of a text that is JSON, or a fence of Markdown with JSON; ``None`` for any other text."""
    try:
        return json.loads(fence[1] if (fence := FENCE.match(text)) else text)
    except (ValueError, RecursionError):
        return None


def answers_of_json(members: Mapping[str, object], keys: frozenset[str]) -> list[object]:
    """Return the distinct values of those members of a JSON object that may hold an answer.

    A member may hold one if its key is one of `keys`, alone or with a word such as "final"; the key of an only member
    may also be a word such as "label". Other members are ignored: the "B" of {"less_likely": "B"} is no answer.
    """
    values: list[object] = []
    for key, value in members.items():
        words = {word.casefold() for word in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", str(key))}
        key_words = {word for word in words if len(members) == 1 and compiled("any", "answer_keys").fullmatch(word)}
        key_words |= words & keys
        other_words = words - key_words - {""}
        if key_words and all(map(compiled("any", "key_qualifiers").fullmatch, other_words)) and value not in values:
            values.append(value)
    return values


@lru_cache(maxsize=1024)
def label_key(label: str) -> str:
    """Return the form by which labels are compared: "Good", "good " and "GOOD." are one label.

    So are "very_good" and "very good", "1.0" and "1", and the letter i with and without its dot.
    """
    key = normalize("NFC", plain_label(label).casefold().replace("i\u0307", "i").replace("\u0131", "i"))
    spaced_key = _WORD_GAP.sub(" ", key)
    return number_match[1] if (number_match := _WHOLE_NUMBER.fullmatch(spaced_key)) else spaced_key


def refuses_in_words(text: str) -> bool:
    """Return whether a text contains a refusal: an apology, or that the model cannot or will not answer."""
    return compiled("any", "refusals").search(normalise_answer(text)) is not None
