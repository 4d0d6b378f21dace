"""Answers of the wizard: texts by the name of the input, carried from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from web.wizard.catalog import LIMITS, MORE
from web.wizard.schema_form import Field, read_all

NOT_CARRIED = ("form_token", "go", "step", "secret", "request")
"""Inputs that are not hidden fields of the next step."""

Errors = list[dict[str, str]]


@dataclass
class Answers:
    """The user's answers so far, as texts."""

    texts: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return self.texts.get(name, "")

    def hidden(self, displayed: Iterable[str]) -> list[tuple[str, str]]:
        """Return the answers that travel as hidden fields, because no input of the page shows them."""
        visible = {*displayed, *NOT_CARRIED}
        return [(name, text) for name, text in self.texts.items() if name not in visible]

    def forget(self, prefix: str) -> None:
        """Remove the answers whose names begin with a prefix."""
        self.texts = {name: text for name, text in self.texts.items() if not name.startswith(prefix)}


def described(
    texts: Mapping[str, str], kind: str, protocol: str, fields: Sequence[Field]
) -> tuple[dict[str, Any], Errors]:
    """Return the target that a form describes, without its secret, and its errors.

    Parameters
    ----------
    fields : sequence of Field
        Fields of the protocol's settings.
    """
    settings, wrong = read_all(fields, texts)
    limits, more_wrong = read_all(LIMITS, texts)
    target: dict[str, Any] = {"kind": kind, "protocol": protocol, "settings": settings}
    target |= {name: text for name in ("name", "base_url") if (text := texts.get(name, "").strip())}
    return target | ({"limits": limits} if limits else {}), wrong + more_wrong


# ---------------------------------------------------------------------------- errors
def name_of(pointer: str, inputs: Sequence[Field]) -> str:
    """Return the name of the input that a JSON pointer of the API refers to, or else the pointer's first parts."""
    parts = [part for part in pointer.split("/") if part and part != "target"]
    names = {field.name for field in inputs}
    dotted = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in dotted if name in names), ".".join(parts[:2]) if len(parts) > 1 else "".join(parts))


def step_of(name: str) -> str:
    """Return the step whose page has an input."""
    first = name.partition(".")[0]
    if first in {"experiment", "method", "author"}:
        return "what"
    return "confirm" if first in {field.name.partition(".")[0] for field in MORE} else "where"


def by_name(errors: Sequence[Mapping[str, str]], inputs: Sequence[Field]) -> dict[str, str]:
    """Return the errors by the name of the input."""
    messages: dict[str, str] = {}
    for error in errors:
        messages.setdefault(name_of(error.get("pointer", ""), inputs), error["detail"])
    return messages
