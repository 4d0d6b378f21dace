"""JSON and YAML writers for files that people paste into their own files.

Both accept JSON values. The YAML uses only block style, and texts in double quotes, so that YAML 1.1 and
1.2 read the same values: an unquoted ``no``, date or ``1.10`` never occurs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.document import Json, JsonObject

_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_PLAIN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that YAML 1.1 parses as truth values or null, so that they need quotes."""

# Characters that YAML 1.2.2 (section 5.1) or one of its readers refuses, and "<", which begins markup
_ESCAPED = re.compile("[<\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def json_text(value: object) -> str:
    """Format a value as ASCII JSON without ``<``, safe inside ``script``; raise `ValueError` for NaN or an infinity."""
    return json.dumps(value, indent=2, allow_nan=False).replace("<", "\\u003c") + "\n"


def yaml_text(value: Json | list[JsonObject]) -> str:
    """Write an object or a list as a YAML document; raises `ValueError` if it holds NaN or an infinity."""
    return "\n".join(_value_lines(value)) + "\n"


def _value_lines(value: object) -> Iterator[str]:
    """Yield the lines of a value in YAML, without indentation."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from _indent_under(f"{_write_key(str(key))}:", entry)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for entry in value:
            first_line, *further_lines = _value_lines(entry)
            yield f"- {first_line}"
            yield from (f"  {line}" for line in further_lines)
    else:
        yield _write_scalar(value)


def _indent_under(head: str, value: object) -> Iterator[str]:
    lines = list(_value_lines(value))
    # a scalar or an empty container; an object or a list with one line still needs a line of its own
    if len(lines) == 1 and not (isinstance(value, Mapping | list | tuple) and value):
        yield f"{head} {lines[0]}"
        return
    yield head
    yield from (f"  {line}" for line in lines)


def _write_key(name: str) -> str:
    needs_no_quotes = _PLAIN_KEY.fullmatch(name) and name.lower() not in _NOT_PLAIN
    return name if needs_no_quotes else _quote(name)


def _write_scalar(value: object) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, Sequence):
        return "[]"
    return json.dumps(value, allow_nan=False)


def _quote(text: str) -> str:
    literal = json.dumps(_HALF_PAIR.sub("\ufffd", text), ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", literal)
