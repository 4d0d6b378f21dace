"""Reads how an operation is called from an OpenAPI document (3.0 or 3.1, JSON or YAML)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from assay.errors import SpecificationError, UnknownName
from cli.drafting.call import TEXTS, Call

METHODS = ("get", "put", "post")
CREDENTIAL = "example-of-a-credential"

DEEPEST = 8
"""Maximum number of nested levels of a schema that are read."""

ANSWERS = ("translatedtext", "translation", "translations", "label", "score", "embedding", *TEXTS)
"""Names of members that hold an answer, the likeliest first."""


def read_openapi(file: Path, operation: str | None, url: str | None = None) -> Call:
    """Read an operation by its id, or by method and path such as ``POST /translate``.

    Raises
    ------
    SpecificationError
        If the file is not an OpenAPI document; `UnknownName` for an unknown operation.
    """
    document = _document(file)
    found = {
        name: place
        for place in _operations(document)
        for name in (place[3].get("operationId"), f"{place[0]} {place[1]}")
    }
    known = [str(place[3].get("operationId") or f"{place[0]} {place[1]}") for place in _operations(document)]
    operation = operation or (known[0] if len(known) == 1 else None)
    if operation not in found or operation is None:
        raise UnknownName("operation", operation or "", known, "operation")
    method, path, shared, declared = found[operation]
    call = Call(method, (url or _server(document, declared)).rstrip("/") + path)
    for each in [*shared.get("parameters", ()), *declared.get("parameters", ())]:
        _add_parameter(call, _resolved(document, each), document)
    _add_body(call, document, declared)
    _add_security(call, document, declared)
    call.output = _output(document, declared)
    return call


def _document(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise SpecificationError(f"{file} cannot be read: {getattr(wrong, 'strerror', wrong)}", "openapi") from None
    try:
        document = yaml.safe_load(text)  # JSON is YAML
    except (yaml.YAMLError, RecursionError):
        raise SpecificationError(f"{file} is neither JSON nor YAML", "openapi") from None
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise SpecificationError(f"{file} is no OpenAPI document of version 3", "openapi")
    return document


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    for path, item in document.get("paths", {}).items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item, item[method]


def _server(document: Mapping[str, Any], declared: Mapping[str, Any]) -> str:
    servers = declared.get("servers") or document.get("servers") or [{"url": ""}]
    url = str(servers[0]["url"])
    for name, variable in servers[0].get("variables", {}).items():
        url = url.replace(f"{{{name}}}", str(variable["default"]))
    if "://" not in url:
        raise SpecificationError("the document names no server with an address; give it with --url", "url")
    return url.rstrip("/")


def _resolved(document: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """Follow the references of a value within the document."""
    for _ in range(DEEPEST):
        if not isinstance(value, Mapping) or "$ref" not in value:
            break
        inner: Any = document
        for step in str(value["$ref"]).removeprefix("#/").split("/"):
            inner = inner.get(step.replace("~1", "/").replace("~0", "~"), {})
        value = inner
    return dict(value) if isinstance(value, Mapping) else {}


def _add_parameter(call: Call, declared: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    name, example = declared.get("name", ""), declared.get("example")
    if example is None:
        example = _example(document, declared.get("schema", {}), name)
    if declared.get("in") == "path":
        call.url = call.url.replace(f"{{{name}}}", str(example))
    elif declared.get("required") or "example" in declared:
        {"query": call.query, "header": call.headers}.get(declared.get("in", ""), {})[name] = str(example)


def _add_body(call: Call, document: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
    content = _resolved(document, declared.get("requestBody", {})).get("content", {})
    for media_type, form in (("application/json", False), ("application/x-www-form-urlencoded", True)):
        if media_type in content:
            given = content[media_type]
            call.body = given.get("example") or _example(document, given.get("schema", {}), "")
            call.form = form
            return


def _add_security(call: Call, document: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
    """Add an example of the first credential that the operation asks for."""
    schemes = document.get("components", {}).get("securitySchemes", {})
    for name in (name for one in declared.get("security", document.get("security", ())) for name in one):
        scheme = _resolved(document, schemes.get(name, {}))
        if scheme.get("type") == "apiKey":
            place = call.query if scheme.get("in") == "query" else call.headers
            place[str(scheme["name"])] = CREDENTIAL
            call.credentials.add(str(scheme["name"]))
        elif scheme.get("type") in {"http", "oauth2", "openIdConnect"}:
            call.headers["Authorization"] = f"{str(scheme.get('scheme', 'bearer')).capitalize()} {CREDENTIAL}"
        else:
            continue
        return


def _example(document: Mapping[str, Any], schema: Any, name: str, depth: int = 0) -> Any:
    """Return an example value for a schema: its own example, or one made from its required members."""
    schema = _resolved(document, schema)
    for known in ("example", "default", "const"):
        if schema.get(known) is not None:
            return schema[known]
    for several in ("examples", "enum"):
        if isinstance(schema.get(several), list) and schema[several]:
            return schema[several][0]
    for several in ("allOf", "anyOf", "oneOf"):
        if schema.get(several):
            made = [_example(document, one, name, depth + 1) for one in schema[several]] if depth < DEEPEST else [None]
            merged = several == "allOf" and all(isinstance(one, dict) for one in made)
            return {key: value for one in made for key, value in dict(one or {}).items()} if merged else made[0]
    properties = schema.get("properties")
    if isinstance(properties, dict) and depth < DEEPEST:
        due = set(schema.get("required", properties))
        return {key: _example(document, one, key, depth + 1) for key, one in properties.items() if key in due}
    if schema.get("type") == "array":
        return [_example(document, schema.get("items", {}), name, depth + 1)] if depth < DEEPEST else []
    return {"integer": 1, "number": 1.0, "boolean": False}.get(str(schema.get("type")), f"example {name}".strip())


def _output(document: Mapping[str, Any], declared: Mapping[str, Any]) -> str | None:
    """Return the expression for the answer in a successful response: a member with a usual name, or the first one."""
    responses = declared.get("responses", {})
    success = _resolved(document, next((responses[code] for code in responses if str(code).startswith("2")), {}))
    schema = success.get("content", {}).get("application/json", {}).get("schema")
    paths = list(_texts(document, schema, "")) if schema else []
    named = [path for name in ANSWERS for path in paths if name in path.lower().replace("_", "")]
    return next(iter([*named, *paths]), None)


def _texts(document: Mapping[str, Any], schema: Any, path: str, depth: int = 0) -> Iterator[str]:
    """List the expressions that lead to a text, a number or a list of numbers in a schema."""
    schema = _resolved(document, schema)
    if depth > DEEPEST:
        return
    for name, one in schema.get("properties", {}).items():
        yield from _texts(document, one, f"{path}.{name}" if path else name, depth + 1)
    if schema.get("type") == "array":
        items = _resolved(document, schema.get("items", {}))
        if items.get("type") in {"number", "integer"}:
            yield path or "@"
        else:
            yield from _texts(document, items, f"{path}[0]", depth + 1)
    elif schema.get("type") in {"string", "number"}:
        yield path or "@"
