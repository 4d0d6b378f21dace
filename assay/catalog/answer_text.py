"""Normalisation of the text of answers, which every reader of answers applies first."""

from __future__ import annotations

import re
from html import unescape
from unicodedata import category, normalize

MOST_ESCAPES = 2
"""Maximum number of times that a text is taken for escaped HTML: some services escape what was escaped before."""

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
"""Signs with several forms: apostrophes, quotes, hyphens and minus signs, line ends, and marks within words."""

_LOOSE_APOSTROPHE = re.compile(r"\b(l|d|un|quell|quest|dell|all) +'(?=\s*\w)", re.IGNORECASE)
_LABEL_EDGES = " .,;:!\"'«»*"
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_IGNORED = {chr(code) for code in (0x034F, *range(0x180B, 0x180F), *range(0xFE00, 0xFE10))}
"""Invisible characters that Unicode does not count as format characters: joiners and variation selectors."""

_REFUSAL = re.compile(
    r"\b(?:i(?:'m|\s+am)\s+(?:sorry|unable|not\s+able)|i\s+(?:can't|cannot|can\s+not|won't|will\s+not|refuse|apologi[sz]e)"
    r"|i\s+do(?:n't|\s+not)\s+(?:feel\s+comfortable|have)|as\s+an?\s+(?:ai|artificial|language\s+model)"
    r"|(?:cannot|can't|unable\s+to)\s+(?:help|assist|comply|answer|choose|translate|determine)"
    r"|lo\s+siento|lamento|no\s+puedo|perd[oó]n|désolée?|je\s+(?:ne\s+)?(?:peux|puis)\s+pas|tut\s+mir\s+leid"
    r"|ich\s+kann\b.{0,60}?\bnicht|mi\s+dispiace|non\s+posso|desculp[ea]|não\s+posso|sinto\s+muito"
    r"|nu\s+pot|przykro\s+mi|het\s+spijt\s+me|ik\s+kan\b.{0,60}?\bniet)(?!\w)"
    r"|抱歉|对不起|無法|无法|申し訳|できません",
    re.IGNORECASE,
)


def normalise_answer(text: str) -> str:
    """Return the text of an answer in one spelling, so that what looks the same reads the same.

    Entities of HTML become characters, tags are dropped, letters are composed, and those of full width become plain
    ones (NFKC). Invisible characters (soft hyphens, joiners, direction marks) are dropped. All kinds of blanks become
    one, and so do apostrophes, quotes and hyphens; the apostrophe of an article has no blank before it. Upper and
    lower case, and line ends, stay.
    """
    if text.isascii() and text.isprintable() and not any(sign in text for sign in "&<`'"):
        return text
    for _ in range(MOST_ESCAPES):
        if (plain := unescape(text)) == text:
            break
        text = plain
    text = _TAG.sub("", text).translate(_SIGNS)
    visible = (char for char in text if char not in _IGNORED and (char in "\n\t" or category(char) not in {"Cf", "Cc"}))
    return _LOOSE_APOSTROPHE.sub(r"\1'", normalize("NFKC", "".join(visible)).translate(_SIGNS))


def plain_label(label: str) -> str:
    """Return a label normalised, with single blanks, and without outer blanks, quotes and stops.

    A label of marks only, such as "+", stays as it is.
    """
    words = " ".join(normalise_answer(label).split())
    return words.strip(_LABEL_EDGES) or words


def label_key(label: str) -> str:
    """Return the form by which labels are compared: "Good", "good " and "GOOD." are one label."""
    return normalize("NFC", plain_label(label).casefold())


def refuses_in_words(text: str) -> bool:
    """Return whether a text says that it is no answer: an apology, or that the model cannot or will not answer."""
    return _REFUSAL.search(normalise_answer(text)) is not None
