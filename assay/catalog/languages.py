"""Languages that a request can name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from assay.catalog.tables import read_table
from assay.errors import UnknownName

_TAG = re.compile(r"([a-z]{2,3})(?:-[a-z0-9]{1,8})*", re.IGNORECASE | re.ASCII)
"""A language tag after RFC 5646; its parts beside the language are not checked."""

COMMON = (
    *("es", "fr", "de", "it", "pt", "tr", "fi", "hu", "zh", "ja"),
    *("ko", "ar", "hi", "ru", "uk", "pl", "nl", "sv", "id", "vi"),
)
"""Languages that errors name first."""


def languages() -> Mapping[str, str]:
    """English names of the languages, by ISO 639-1 code, and by ISO 639-3 code of those that have no shorter one."""
    table = read_table("languages")
    return MappingProxyType({**table["languages"], **table["three_letters"]})


def check_language(code: str, field: str) -> str:
    """Raise if a language tag does not name a known language.

    Parameters
    ----------
    code : str
        A code of `languages`, optionally with script and region: ``"es"``, ``"pt-BR"``, ``"zh-Hant"``, ``"fil"``.
    field : str
        The request's field that is to be mended if it does not.

    Returns
    -------
    str
        The code of the language alone, in lower case: ``"pt"``.

    Raises
    ------
    UnknownName
        If there is no such language.
    """
    known = languages()
    tag = _TAG.fullmatch(code)
    if tag is None or tag[1].lower() not in known:
        first = dict.fromkeys((*COMMON, *known))
        raise UnknownName("language", code, (f"{code} ({known[code]})" for code in first), field)
    return tag[1].lower()
