"""Languages that a request can name."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from assay.catalog.tables import read_table
from assay.errors import UnknownName

_LANGUAGE_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z0-9]{1,8})*", re.IGNORECASE | re.ASCII)
"""Pattern of a language tag (RFC 5646); only the language is checked, not the script or region."""

COMMON = (
    *("es", "fr", "de", "it", "pt", "tr", "fi", "hu", "zh", "ja"),
    *("ko", "ar", "hi", "ru", "uk", "pl", "nl", "sv", "id", "vi"),
)
"""Languages that the error about an unknown language lists first."""


def languages() -> Mapping[str, str]:
    """Return the English name of each language by its ISO 639-1 code, or its ISO 639-3 code if it has no other."""
    table = read_table("languages")
    return MappingProxyType({**table["languages"], **table["three_letters"]})


def check_language(code: str, field: str) -> str:
    """Return the code of the language alone, in lower case ("pt"); raise `UnknownName` about the request's `field`.

    `code` is a code of `languages`, optionally with script and region: ``"es"``, ``"pt-BR"``, ``"zh-Hant"``, ``"fil"``.
    """
    known_languages = languages()
    tag = _LANGUAGE_TAG.fullmatch(code)
    if tag is None or tag[1].lower() not in known_languages:
        codes = dict.fromkeys((*COMMON, *known_languages))  # the most common languages first
        raise UnknownName("language", code, (f"{code} ({known_languages[code]})" for code in codes), field)
    return tag[1].lower()
