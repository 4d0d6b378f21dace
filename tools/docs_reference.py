"""Reference pages of the documentation site that are made from the code: commands, settings, methods and others."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from assay.catalog import attribute, attributes, construction, constructions
from assay.catalog.shipped import specifications
from assay.methods import METHODS, every_method, method_name
from reports.coverage import counts_in_words, coverage
from store.core.settings import Settings
from tools import openapi_document


def reference_pages() -> dict[str, str]:
    """Return the generated pages: place on the site and Markdown."""
    return {
        "reference/commands.md": commands(),
        "reference/settings.md": settings(),
        "reference/methods.md": methods(),
        "reference/catalog.md": catalog(),
        "reference/operations.md": operations(),
    }


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; bars and line ends in its cells are escaped."""

    def line(cells: Sequence[object]) -> str:
        return "| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join([line(head), "|" + "---|" * len(head), *(line(row) for row in rows)]) + "\n"


def commands() -> str:
    """Describe every command of the command line, as Typer documents them."""
    process = subprocess.run(
        [sys.executable, "-m", "typer", "cli.main", "utils", "docs", "--name", "assay"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "120"},
    )
    text = process.stdout.partition("\n")[2].replace(str(Path.home()), "~")
    return f"# Commands\n\nFor users of the command line: every command with its arguments and options.\n{text}"


def settings() -> str:
    """Describe every environment variable."""
    rows = [
        (f"`ASSAY_{name.upper()}`", _as_code(info.get_default(call_default_factory=True)), info.description or "")
        for name, info in Settings.model_fields.items()
    ]
    return (
        "# Settings\n\nFor operators: the environment variables that Assay reads. Without any of them it runs on one "
        "machine with SQLite. [Operations](../operations.md) explains which to set in production.\n\n"
        + table(("variable", "default", "meaning"), rows)
    )


def methods() -> str:
    """Describe every method and the fields of its request."""
    introduction = (
        "# Methods and their fields\n\nFor authors of requests: the fields of `experiment` in `POST /v1/jobs`, or of "
        "`[experiment]` in a TOML file for `assay rate`, for each method.\n"
    )
    sections = [introduction]
    for method in METHODS:
        name, meanings = method_name(method), parameters(inspect.getdoc(method) or "")
        rows = [
            (f"`{entry.name}`", _default_text(entry), meanings.get(entry.name, ""))
            for entry in fields(method)
            if entry.name != "method"
        ]
        kinds = ", ".join(sorted(method.kinds))
        sections.append(
            f"## {name}\n\n{method.summary} Rates: {kinds}. Source: {method.paper}. "
            f"[What it measures](../methods/{name}.md).\n\n" + table(("field", "default", "meaning"), rows)
        )
    return "\n".join(sections)


def parameters(documentation: str) -> dict[str, str]:
    """Return the parameters that a numpydoc text explains: name and meaning."""
    section = documentation.partition("Parameters\n----------\n")[2]
    entries = re.findall(r"^([\w, ]+) : [^\n]*\n((?:    [^\n]*\n?)+)", section, re.MULTILINE)
    return {name: " ".join(meaning.split()) for names, meaning in entries for name in names.split(", ")}


def catalog() -> str:
    """Describe the attributes, sentence templates and word lists that are shipped."""
    named_attributes = [(name, attribute(name)) for name in attributes()]
    attribute_rows = [
        (
            f"`{name}`",
            ", ".join(entry.value_names),
            ", ".join(template for template in constructions() if construction(template).supports(entry)),
            entry.source,
        )
        for name, entry in named_attributes
    ]
    specification_rows = [
        (
            f"`{entry.name}`",
            ", ".join(method_name(kind) for kind in every_method() if kind.specification_kind == entry.kind),
            entry.words.attribute,
            entry.title,
            entry.citation,
        )
        for entry in specifications().values()
    ]
    return (
        "# Attributes and word lists\n\nFor authors of requests: what ships with Assay. Your own words are "
        "specifications (`POST /v1/specifications`).\n\n## Attributes\n\n"
        + table(("attribute", "values", "sentence templates", "source"), attribute_rows)
        + "\n## Attributes by method\n\nNumber of words, or the reason why a method cannot test the attribute.\n\n"
        + table(("attribute", "method", "languages", "words"), list(_coverage_rows()))
        + "\n## Word lists\n\n"
        + table(("specification", "methods", "about", "title", "source"), specification_rows)
    )


def _coverage_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield for each attribute and method the languages, and the number of words or the reason why there are none."""
    for name in attributes():
        for row in coverage(name):
            if not row.words:
                yield f"`{name}`", row.method, "", row.reason or "groups of your own file"
            for language, counts in row.words.items():
                yield f"`{name}`", row.method, language, counts_in_words(counts)


def operations() -> str:
    """List the operations of the REST API by path."""
    with tempfile.TemporaryDirectory() as folder:
        openapi_document.main(str(Path(folder) / "openapi.json"))
        document: dict[str, Any] = json.loads((Path(folder) / "openapi.json").read_text(encoding="utf-8"))
    rows = [
        (f"`{verb.upper()} {path}`", operation.get("summary", ""))
        for path, verbs in document["paths"].items()
        for verb, operation in verbs.items()
        if isinstance(operation, dict) and "responses" in operation
    ]
    return (
        "# Operations of the REST API\n\nFor programmers: every operation. A running agency shows their parameters, "
        "bodies and answers at `/docs`, and the OpenAPI document at `/openapi.json`; [REST API](../api.md) shows "
        "how to use them.\n\n" + table(("operation", "purpose"), rows)
    )


def _default_text(entry: Field[Any]) -> str:
    if entry.default is not MISSING:
        return _as_code(entry.default)
    if entry.default_factory is not MISSING:
        return _as_code(entry.default_factory())
    return "required"


def _as_code(default: object) -> str:
    if default in (None, "", (), [], {}) or "SecretStr" in type(default).__name__:
        return ""
    text = str(default).replace(str(Path.home()), "~")
    return f"`{text if len(text) < 80 else text[:77] + '…'}`"
