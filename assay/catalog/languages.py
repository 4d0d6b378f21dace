"""Languages that a request can name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from assay.catalog.tables import read_table
from assay.errors import UnknownName

_TAG = re.compile(r"([a-z]{2})(?:-[a-z0-9]{1,8})*", re.IGNORECASE | re.ASCII)
"""A language tag after RFC 5646 with a language of two letters; its other parts are not checked."""


def languages() -> Mapping[str, str]:
    """English names of the languages, by ISO 639-1 code."""
    return MappingProxyType(read_table("languages")["languages"])


def check_language(code: str, field: str) -> str:
    """Raise if a language tag does not name a known language.

    Parameters
    ----------
    code : str
        An ISO 639-1 code, optionally with script and region: ``"es"``, ``"pt-BR"``, ``"zh-Hant"``.
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
        raise UnknownName("language", code, (f"{code} ({name})" for code, name in known.items()), field)
    return tag[1].lower()
