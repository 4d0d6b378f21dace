"""Titles, descriptions and groups of the fields of an experiment, for forms that are built from its JSON Schema."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

TITLES: Mapping[str, str] = {
    "aggregation": "How parts become one letter",
    "alpha": "Level of the published tests",
    "confidence": "Certainty that a letter needs",
    "delta": "Tolerance",
    "delta_content": "Tolerance for answering by the pronoun",
    "delta_individual": "Tolerance for a single profile",
    "delta_loss": "Tolerance for lost replies",
    "draws": "Posterior draws",
    "join": "How comparisons of the published rule are joined",
    "look_growth": "Growth from look to look",
    "looks": "Looks",
    "max_texts_per_block": "Texts in a block, at most",
    "most": "At most",
    "most_per_term": "Pairs or pictures of a term, at most",
    "normalise": "Bring vectors to length one",
    "per_term": "Pairs or pictures of a term",
    "profiles": "Profiles at the first look",
    "reading": "Published reading that is shown first",
    "records": "Rows of a table",
    "samples": "Inputs at the first look",
    "specification": "List of words",
    "statistic": "Published statistic that is shown first",
    "stop_early": "Stop as soon as a letter is clear",
    "strata": "Judge hidden effects, too",
    "texts": "Sentences of your own",
    "texts_per_block": "Texts in a block",
    "tie": "Share that makes a block biased",
    "words": "Words of your own",
}
"""Titles of fields whose names are not clear; the title of any other field is its name in words."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "main": ("method", "attribute", "languages", "specification", "records", "upload", "corpus"),
    "size": (
        *("texts_per_block", "max_texts_per_block", "profiles", "samples", "looks", "per_term", "most_per_term"),
        *("stop_early", "look_growth", "draws", "half_samples", "repeats", "folds"),
    ),
    "decision": ("delta", "delta_content", "delta_individual", "delta_loss", "confidence", "aggregation", "strata"),
    "published": ("alpha", "reading", "statistic", "join"),
}
"""Groups of fields in forms; every other field is of the group ``material``."""

_PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^(?=\S)([\w, ]+?)(?: : .*)?\n((?: {4}.*\n?)+)", re.MULTILINE)


def described(schema: dict[str, Any], documented: object) -> dict[str, Any]:
    """Add a title, a description and a group (``x-group``) to each field of a schema and of its nested schemas.

    Parameters
    ----------
    schema : dict
        JSON Schema of a method.
    documented : object
        Class of the method, whose docstring describes the fields.
    """
    parts = {name: _described(part, str(part.get("description", ""))) for name, part in schema.get("$defs", {}).items()}
    schema_with_texts = _described(schema, inspect.getdoc(documented) or "")
    return {**schema_with_texts, "$defs": parts} if parts else schema_with_texts


def _described(schema: dict[str, Any], text: str) -> dict[str, Any]:
    texts = descriptions_in(text)
    fields = {
        name: {"x-group": _group(name), **field, "title": title_of(name)}
        | ({"description": texts[name]} if name in texts else {})
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, "properties": fields}


def title_of(name: str) -> str:
    """Return the title of a field."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


def descriptions_in(text: str) -> dict[str, str]:
    """Return the descriptions of the parameters in a docstring (numpydoc), by name."""
    section = _PARAMETERS.search(text)
    texts: dict[str, str] = {}
    for names, lines in _FIELD.findall(f"{section[1]}\n" if section else ""):
        texts |= dict.fromkeys(names.split(", "), " ".join(lines.split()))
    return texts


def _group(name: str) -> str:
    return next((group for group, names in GROUPS.items() if name in names), "material")
