"""Words of specifications as fields of a form (one word or pair a line, never JSON), and their storage."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from assay.document import Json, JsonObject
from web.frame import Refused, Visit
from web.frame.form import lines_of

Shape = str
"""Format of a field: ``text`` (a line), ``list`` (words), ``lines`` (an entry a line), ``pairs`` (lines such as
``man, woman``), ``shares`` (``nurse, 0.9``) or ``groups`` (``Muslim: mosque, imam``)."""


@dataclass(frozen=True)
class WordField:
    """A field of a specification's words, and how a form asks for it."""

    name: str
    label: str
    shape: Shape
    hint: str = ""


PAIR_FIELD = "pairs"
"""Name of the field with pairs of words for the two groups of people, such as ``man, woman``."""

_FIELDS = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))

FIELDS: Mapping[str, tuple[WordField, ...]] = {
    kind: tuple(WordField(**entry) for entry in entries) for kind, entries in _FIELDS.items()
}
"""Fields of each kind of specification, in the order of its form."""


def words_of(kind: str, texts: Mapping[str, str]) -> JsonObject:
    """Parse the texts of a form's fields to words; empty fields are left out."""
    values = {field.name: _parse_words(field.shape, texts.get(field.name, "")) for field in FIELDS[kind]}
    return {name: value for name, value in values.items() if value not in ("", [], {})}


def typed_of(kind: str, words: Json) -> dict[str, str]:
    """Write words as the texts of a form's fields; the inverse of `words_of`."""
    return {field.name: _words_text(field.shape, words.get(field.name)) for field in FIELDS[kind]}


def wrong_fields(kind: str, errors: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the first message for each field, by the field's name, which is part of the pointers of `errors`."""
    names = {field.name for field in FIELDS[kind]} | {"title", "language", "citation"}
    messages: dict[str, str] = {}
    for error in errors:
        for part in error.get("pointer", "").split("/"):
            if part in names:
                messages.setdefault(part, error["detail"])
    return messages


def name_for(title: str) -> str:
    """Return a name for a title: lower case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:80].strip("-") or "own-words"


def split_words(text: str) -> list[str]:
    """Return the words of a list: one a line, or separated by commas or semicolons."""
    return [word.strip() for word in re.split(r"[\n,;]", text) if word.strip()]


def _parse_words(shape: Shape, text: str) -> Any:
    """Parse the text of a field as words; `shape` says how they are written."""
    match shape:
        case "list":
            return split_words(text)
        case "lines":
            return lines_of(text)
        case "pairs":
            return [split_words(line) for line in lines_of(text)]
        case "shares":
            return dict(_parse_share(line) for line in lines_of(text))
        case "groups":
            return {
                group.strip(): split_words(members)
                for group, _, members in (line.partition(":") for line in lines_of(text))
            }
        case _:  # a text
            return text.strip()


def _parse_share(line: str) -> tuple[str, Any]:
    """Parse a line such as ``nurse, 0.9``; text in place of the number stays as it is, so that the API refuses it."""
    word, _, share = (part.strip() for part in line.partition(","))
    try:
        return word, float(share) if share else None
    except ValueError:
        return word, share


def _words_text(shape: Shape, value: Any) -> str:
    """Write words as the text of a field, the inverse of `_parse_words`."""
    if not value:
        return ""
    match shape:
        case "list":
            return ", ".join(value)
        case "lines":
            return "\n".join(value)
        case "pairs":
            return "\n".join(", ".join(pair) for pair in value)
        case "shares":
            return "\n".join(word if share is None else f"{word}, {share}" for word, share in value.items())
        case "groups":
            return "\n".join(f"{group}: {', '.join(words)}" for group, words in value.items())
        case _:  # a text
            return str(value)


TRIES = 50
"""A name that is already taken gets a number below this."""


def body_of(kind: str, texts: Mapping[str, str], name: str) -> JsonObject:
    """Return the body of the request that stores the entered words as a specification."""
    title = texts.get("title", "").strip()
    return {
        "name": name,
        "title": title,
        "kind": kind,
        "language": texts.get("language", "").strip() or "en",
        "citation": texts.get("citation", "").strip() or title,
        "words": words_of(kind, texts),
    }


async def store_new(visit: Visit, kind: str, texts: Mapping[str, str]) -> JsonObject:
    """Store a specification, named after its title (and numbered if that is taken); raise `Refused` if invalid."""
    name = name_for(texts.get("title", ""))
    for number in range(1, TRIES):
        body = body_of(kind, texts, name if number == 1 else f"{name}-{number}")
        try:
            return dict(await visit.api.post("/v1/specifications", body))
        except Refused as error:
            if error.code != "name-taken" or number == TRIES - 1:
                raise
    raise AssertionError  # the last attempt returns or raises


async def store_version(visit: Visit, kind: str, texts: Mapping[str, str], name: str) -> JsonObject:
    """Store the next version of the caller's own specification."""
    path, body = f"/v1/specifications/{name}/versions", body_of(kind, texts, name)
    return dict(await visit.api.post(path, body))
