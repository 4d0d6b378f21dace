"""The rating document as indented JSON, with the important fields first and no invisible characters."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from assay.document import Json
from reports.reading import in_words
from reports.view import RESIDUALS

# Order of the document's keys, because a database may have sorted them. Keys that are not here follow by name.
ORDER: tuple[str, ...] = (
    *("id", "name", "code", "look", "letter", "declared", "BS", "DSBS", "UCS", "because", "probabilities", "in_words"),
    *("method", "attribute", "confidence", "delta", "experiment"),
    *("kind", "protocol", "url", "settings", "target", "author", "judge", "hosts"),
    *("language", "language_name", "template", "role", "asked", "middle", "returned", "read", "text", "facts"),
    *("estimand", "estimate", "low", "high", "level", "step_1", "step_2", "content"),
    *("from", "to", "shift", "effect", "word", "group", "role", "share", "pse", "jnd", "jnd_75", "why"),
    *("term", "list", "first", "second", "prefers", "towards", "score", "over_terms", "over_pairs"),
    *("posterior", "pooled"),
    *("image", "first_score", "names", "says", "over_images"),
    *("connection", "mean", "sd", "hpdi_89", "equal_tailed_89", "sigma"),
    *("value", "records", "small", "words", "found", "missing"),
    *("effects", "tolerances", "transitions", "rates", "blocks", "specified", "observed"),
    *("decision", "sensitivity", "settle", "usable", "unusable", "failed", "unusable_why", "failed_why", "unasked"),
    *("components", "rule", "deciding", "adjusted", "vote", "aggregation"),
    *("published", "analyses", "examples", "reasons", "component", "counts"),
    *("methodology", "version", "digest", "engine_version", "seed", "audit", "commitment", "nonce", "calls"),
    *("evidence_digest",),
    *("rated_at", "expires_at", "visibility", "next_methodology", "requester", "standing", "reply"),
)
_RANK = {key: rank for rank, key in enumerate(ORDER)}
# Escaped although JSON does not require it: characters that reorder, hide or break the shown text.
_HIDDEN = re.compile("[\x7f-\x9f\u200b\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def render(document: Json) -> str:
    """Write the whole document as stored, with an added field ``in_words``.

    NaN and infinity, which JSON does not have, become ``null``.
    """
    extended = {**document, "in_words": " ".join(in_words(document))}
    text = json.dumps(_order_keys(extended), indent=2, ensure_ascii=False, allow_nan=False, default=str)
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _order_keys(value: object) -> Any:
    if isinstance(value, Mapping):
        keys = sorted(map(str, value), key=lambda key: (key in RESIDUALS, _RANK.get(key, len(ORDER)), key))
        return {key: _order_keys(value[key]) for key in keys}
    if isinstance(value, list | tuple):
        return [_order_keys(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
