"""JSON and YAML writers for files that people paste into their own files. Both accept JSON values."""

import json
import re

import yaml

from assay.document import Json, JsonObject

_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_STRING_TAG = "tag:yaml.org,2002:str"


def json_text(value: object) -> str:
    """Format a value as ASCII JSON without ``<``, safe inside ``script``; raise `ValueError` for NaN or an infinity."""
    return json.dumps(value, indent=2, allow_nan=False).replace("<", "\\u003c") + "\n"


def yaml_text(value: Json | list[JsonObject]) -> str:
    """Write an object or a list as a YAML document; raises `ValueError` if it holds NaN or an infinity.

    All texts are in double quotes, so that YAML 1.1 and 1.2 read the same values: an unquoted ``no``, date or ``1.10``
    never occurs. Like the text of `json_text`, it has no ``<``, which begins markup.
    """
    plain_value = json.loads(json.dumps(value, allow_nan=False))
    text = yaml.dump(plain_value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return text.replace("<", "\\u003c")


class _Dumper(yaml.SafeDumper):
    """Writer of indented YAML in which all texts but the keys of objects are in double quotes."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow)

    def represent_quoted(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar(_STRING_TAG, _HALF_PAIR.sub("\ufffd", text), style='"')

    def represent_object(self, entries: dict[str, object]) -> yaml.MappingNode:
        node = self.represent_dict(entries)
        for key, _ in node.value:
            if _PLAIN_KEY.fullmatch(key.value) and key.value.lower() not in {"y", "n"}:  # truth values in YAML 1.1
                key.style = None  # without quotes, unless PyYAML would read another type
        return node


_Dumper.add_representer(str, _Dumper.represent_quoted)
_Dumper.add_representer(dict, _Dumper.represent_object)
