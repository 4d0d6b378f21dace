"""Templates with placeholders: ``{text}`` becomes the text; ``{{`` and ``}}`` are braces."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from assay.errors import SpecificationError

_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")
MAX_DEPTH = 20


def placeholders(template: object) -> set[str]:
    """Return the placeholders in a string, or in the strings of a JSON value (not in its keys)."""
    return set(_placeholder_names(template))


def count_of(template: object, names: Collection[str]) -> int:
    """Return the number of occurrences of placeholders with these names in a JSON value."""
    return sum(name in names for name in _placeholder_names(template))


def check_placeholders(template: object, allowed_names: Sequence[str], field: str) -> set[str]:
    """Return the placeholders of a template; raise a `SpecificationError` if one is unknown or nesting is too deep."""
    if _depth(template) > MAX_DEPTH:
        raise SpecificationError(f"{field} is nested more than {MAX_DEPTH} deep", field)
    used_names = placeholders(template)
    if unknown := sorted(used_names - set(allowed_names)):
        names = ", ".join(f"{{{name}}}" for name in allowed_names) or "none"
        message = f"{field} holds {{{unknown[0]}}}, which cannot be filled in; known: {names}. Write {{{{ for a brace"
        raise SpecificationError(message, field)
    return used_names


def is_alone(template: object, name: str) -> bool:
    """Whether every string with the placeholder `name` consists of that placeholder only."""
    return all(name not in placeholders(text) or text == f"{{{name}}}" for text in _strings(template))


def unrepeated(template: object) -> set[str]:
    """Return the placeholders outside lists of one element, the lists that a batch repeats for each question."""
    if isinstance(template, list | tuple) and len(template) == 1:
        return set()
    if isinstance(template, str):
        return placeholders(template)
    return {name for member in _members(template) for name in unrepeated(member)}


def fill(template: object, values: Mapping[str, Any], batch_values: Sequence[Mapping[str, Any]] = ()) -> Any:
    """Replace the placeholders in a JSON value; a string that is only a placeholder becomes its value.

    `batch_values` are further values for each question of a batch: a list of one element with these placeholders is
    repeated. Members of objects whose value becomes ``None`` are left out; nulls of the template stay.
    """
    if isinstance(template, Mapping):
        filled_members = {key: fill(value, values, batch_values) for key, value in template.items()}
        return {key: value for key, value in filled_members.items() if value is not None or template[key] is None}
    if isinstance(template, list | tuple):
        if batch_values and len(template) == 1 and placeholders(template[0]) & batch_values[0].keys():
            return [fill(template[0], {**values, **question_values}) for question_values in batch_values]
        return [fill(value, values, batch_values) for value in template]
    if not isinstance(template, str):
        return template
    placeholder = _PART.fullmatch(template)
    return values[placeholder[1]] if placeholder and placeholder[1] else fill_text(template, values)


def remove_text(template: object, text: str) -> Any:
    """Remove the strings that equal `text` from a JSON value, with their keys; ``None`` if nothing remains.

    An object in a list that holds such a string is removed whole, because a message without content is invalid. Nulls
    of the template stay.
    """
    if isinstance(template, Mapping):
        remainders = {key: remove_text(value, text) for key, value in template.items()}
        members = {key: value for key, value in remainders.items() if value is not None or template[key] is None}
        return members if members or not template else None
    if isinstance(template, list | tuple):
        elements = [item for item in template if not (isinstance(item, Mapping) and text in item.values())]
        remaining = [element for item in elements if (element := remove_text(item, text)) is not None]
        return remaining if remaining or not template else None
    return None if template == text else template


def fill_text(template: str, values: Mapping[str, Any]) -> str:
    """Replace the placeholders in a string once; inserted values are not searched for placeholders."""
    return _PART.sub(lambda match: str(values[match[1]]) if match[1] else match[0][0], template)  # ``{{``: one brace


def _placeholder_names(template: object) -> Iterator[str]:
    return (match[1] for text in _strings(template) for match in _PART.finditer(text) if match[1])


def _strings(template: object) -> list[str]:
    if isinstance(template, str):
        return [template]
    return [text for member in _members(template) for text in _strings(member)]


def _members(value: object) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _depth(template: object) -> int:
    """Return the nesting depth, computed without recursion: a hostile value could exceed the stack."""
    depth, level = 0, [template]
    while level and depth <= MAX_DEPTH:
        level = [child for value in level for child in _members(value)]
        depth += 1
    return depth
