"""Placeholders in what a job declares: ``{text}`` becomes the text; ``{{`` and ``}}`` are braces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import SpecificationError

_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
MAX_DEPTH = 20


def placeholders(template: Any) -> set[str]:
    """Name every placeholder in a string, or in the strings of a JSON value (not in its keys)."""
    return {match[1] for text in _strings(template) for match in _PART.finditer(text) if match[1]}


def check_placeholders(template: Any, allowed: Sequence[str], field: str) -> set[str]:
    """Refuse placeholders nobody fills, and JSON that is nested too deeply.

    Returns
    -------
    set of str
        The placeholders used.
    """
    if _depth(template) > MAX_DEPTH:
        raise SpecificationError(f"{field} is nested more than {MAX_DEPTH} deep", field)
    used = placeholders(template)
    if unknown := sorted(used - set(allowed)):
        known = ", ".join(f"{{{name}}}" for name in allowed) or "none"
        raise SpecificationError(
            f"{field} holds {{{unknown[0]}}}, which nothing fills; known here: {known}. Write {{{{ for a brace", field
        )
    return used


def standing_alone(template: Any, name: str) -> bool:
    """Whether a placeholder is the whole string wherever it stands."""
    return all(name not in placeholders(text) or text == f"{{{name}}}" for text in _strings(template))


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """Fill a template.

    Parameters
    ----------
    template : JSON value
        Strings in it may hold placeholders. A string that is one placeholder and nothing else
        becomes the value itself, so that ``"{texts}"`` becomes a list.
    values : mapping
        What to put in.
    """
    if isinstance(template, Mapping):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _PART.fullmatch(template)
    return values[whole[1]] if whole and whole[1] else fill_text(template, values)


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template that stays a string. What is put in is not searched for placeholders again."""
    return _PART.sub(lambda match: str(values[match[1]]) if match[1] else match[0][0], template)


def _strings(template: Any) -> list[str]:
    if isinstance(template, str):
        return [template]
    inner = (
        template.values() if isinstance(template, Mapping) else template if isinstance(template, list | tuple) else ()
    )
    return [text for value in inner for text in _strings(value)]


def _depth(template: Any) -> int:
    """Measure the nesting without recursion: a hostile value could be deeper than the stack."""
    depth, level = 0, [template]
    while level and depth <= MAX_DEPTH:
        level = [
            child
            for value in level
            for child in (
                value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
            )
        ]
        depth += 1
    return depth
