"""Text from other sources: making invisible characters visible."""

import re

# Control characters (terminals execute them), bidirectional overrides (they reorder the shown text),
# invisible characters (they hide text), lone surrogates and noncharacters (they cannot be encoded).
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_BLANK = re.compile(r"\s+")
_LINE_END = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


def visible(text: str) -> str:
    """Replace invisible characters by their codes: ``⟨U+202E⟩`` for an override of the writing direction.

    Marks that honest Arabic, Hebrew or Persian needs (LRM, RLM, ZWNJ, ZWJ) stay. Blanks and line
    ends become single spaces, so that a name cannot break a table or a heading.
    """
    if text.isprintable() and "  " not in text:
        return text.strip()  # a printable text has no invisible characters and no line ends
    return escape_hidden(_BLANK.sub(" ", text)).strip()


def escape_hidden(text: str) -> str:
    """Replace invisible characters by their codes, and line ends and tabs by spaces; other blanks stay as they are."""
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", _LINE_END.sub(" ", text))
