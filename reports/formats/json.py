"""The rating document as indented JSON, with the important fields first and no invisible characters."""

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from assay.document import Json
from reports.reading import in_words
from reports.view import RESIDUALS

ORDER: Sequence[str] = tomllib.loads(files(__package__).joinpath("key_order.toml").read_text("utf-8"))["keys"]
_RANK = {key: rank for rank, key in enumerate(ORDER)}
# Escaped although JSON does not require it: characters that reorder, hide or break the shown text.
_HIDDEN = re.compile("[\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def render(document: Json) -> str:
    """Write the whole stored document with an added field ``in_words``; NaN and infinity become ``null``."""
    document_with_words = {**document, "in_words": " ".join(in_words(document))}
    text = json.dumps(_order_keys(document_with_words), indent=2, ensure_ascii=False, allow_nan=False, default=str)
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _order_keys(value: object) -> Any:
    """Sort the keys of all objects: those in `ORDER`, others, outputs without value (`RESIDUALS`); NaN to ``None``."""
    if isinstance(value, Mapping):
        keys = sorted(map(str, value), key=lambda key: (key in RESIDUALS, _RANK.get(key, len(ORDER)), key))
        return {key: _order_keys(value[key]) for key in keys}
    if isinstance(value, list | tuple):
        return [_order_keys(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
