"""Reads how an operation is called from an OpenAPI document (3.0 or 3.1, JSON or YAML)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.document import Json
from assay.errors import SpecificationError, UnknownName
from cli.documents import member, members, parse_json, parse_yaml, read_text
from cli.drafting.call import TEXTS, Call

METHODS = ("get", "put", "post")
CREDENTIAL = "example-of-a-credential"

MAX_DEPTH = 8
"""Maximum number of nested levels of a schema that are read."""

MOST_CHARACTERS = 1_000_000
"""Maximum characters of one operation's expanded schemas, which can refer to each other or to themselves."""

STEP_CHARACTERS = 100
"""Characters that each schema and each reference counts for in `MOST_CHARACTERS`, because these are limited as well."""

ANSWERS = ("translatedtext", "translation", "translations", "label", "score", "embedding", *TEXTS)
"""Names of members that hold an answer, the likeliest first."""


def read_openapi(file: Path, operation: str | None, url: str | None = None) -> Call:
    """Read an operation, named by its id or as ``POST /path``; `url` replaces the document's server address.

    Raise `SpecificationError` if the file is not an OpenAPI document; `UnknownName` for an unknown operation.
    """
    document = Document(_read_openapi_object(file))
    operations_by_name: dict[str, tuple[str, str, Json, Json]] = {}
    known_names: list[str] = []
    for entry in _operations(document):
        method, path, _, operation_object = entry
        operation_id = str(operation_object.get("operationId") or "")
        operations_by_name[operation_id] = operations_by_name[f"{method} {path}"] = entry
        known_names.append(operation_id or f"{method} {path}")
    operation = operation or (known_names[0] if len(known_names) == 1 else None)
    if operation not in operations_by_name or operation is None:
        raise UnknownName("operation", operation or "", known_names, "operation")
    method, path, path_item, operation_object = operations_by_name[operation]
    call = Call(method, (url or _server_address(document, operation_object)).rstrip("/") + path)
    for title, parameterised in ((f"path {path}", path_item), (operation, operation_object)):
        for parameter in members(parameterised.get("parameters"), f"{title}, parameters"):
            _add_parameter(call, document.resolved(parameter), document)
    _add_body(call, document, operation_object)
    _add_security(call, document, operation_object)
    call.output = _answer_expression(document, operation_object)
    return call


class Document:
    """An OpenAPI document that counts the characters of the schemas that are read from it."""

    def __init__(self, content: Json) -> None:
        self.content, self._characters = content, 0

    def resolved(self, value: object) -> Json:
        """Return the object to which a value's ``$ref`` leads in the document; an empty one if there is none."""
        for _ in range(MAX_DEPTH):
            if not isinstance(value, Mapping) or "$ref" not in value:
                break
            self.spend(STEP_CHARACTERS)  # limits how many references are followed
            target: Any = self.content
            for step in str(value["$ref"])[:1000].removeprefix("#/").split("/"):  # a JSON pointer (RFC 6901)
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
            value = target
        return value if isinstance(value, Mapping) else {}

    def spend(self, characters: int) -> None:
        """Count characters of the operation's schemas; raise `SpecificationError` above `MOST_CHARACTERS`."""
        self._characters += characters
        if self._characters > MOST_CHARACTERS:
            raise SpecificationError(
                f"the schemas of the operation describe more than {MOST_CHARACTERS:,} characters; "
                "shorten them, or write the call with --curl",
                "openapi",
            )


def _read_openapi_object(file: Path) -> Json:
    text = read_text(file)
    # JSON is YAML, but the other parser is quicker and allows more values
    document = (parse_json if text.lstrip().startswith("{") else parse_yaml)(text, str(file))
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise SpecificationError(f"{file} is no OpenAPI document of version 3", "openapi")
    return document


def _operations(document: Document) -> Iterator[tuple[str, str, Json, Json]]:
    """Yield (method, path, the path's object, the operation's object) for every operation of a document."""
    for path, path_item in member(document.content.get("paths"), "paths").items():
        for method in METHODS:
            if method in member(path_item, f"path {path}"):
                yield method.upper(), path, path_item, member(path_item[method], f"{method} of path {path}")


def _server_address(document: Document, operation: Json) -> str:
    """Return the address of an operation's first server, with the default values of the variables in it."""
    servers = members(operation.get("servers") or document.content.get("servers"), "servers")
    first_server = next(iter(servers), {})
    url = str(first_server.get("url", ""))[:2048]  # cut, because variables can make it long
    for name, variable in member(first_server.get("variables"), "servers, variables").items():
        url = url.replace(f"{{{name}}}", str(member(variable, f"variable {name}").get("default", ""))[:200])[:2048]
    if "://" not in url:
        raise SpecificationError("the document names no server with an address; give it with --url", "url")
    return url.rstrip("/")


def _add_parameter(call: Call, parameter: Json, document: Document) -> None:
    """Add a parameter to the call with an example value, unless it is optional and has no example."""
    name = str(parameter.get("name", ""))
    if (example := parameter.get("example")) is None:
        example = _example(document, parameter.get("schema", {}), name)
    if parameter.get("in") == "path":
        call.url = call.url.replace(f"{{{name}}}", str(example))
    elif parameter.get("required") or "example" in parameter:
        values_by_place = {"query": call.query, "header": call.headers}
        values_by_place.get(str(parameter.get("in")), {})[name] = str(example)  # cookies are not sent


def _add_body(call: Call, document: Document, operation: Json) -> None:
    """Add an example of the operation's body to the call, as JSON or, if it takes none, as a form."""
    content = member(document.resolved(operation.get("requestBody")).get("content"), "requestBody, content")
    for media_type, is_form in (("application/json", False), ("application/x-www-form-urlencoded", True)):
        if media_type in content:
            media = member(content[media_type], media_type)
            call.body = media.get("example") or _example(document, media.get("schema", {}), name="")
            call.form = is_form
            return


def _add_security(call: Call, document: Document, operation: Json) -> None:
    """Add to the call an example of the first credential that the operation asks for."""
    schemes = member(member(document.content.get("components"), "components").get("securitySchemes"), "securitySchemes")
    requirements = members(operation.get("security", document.content.get("security")), "security")
    for name in (name for requirement in requirements for name in requirement):
        scheme = document.resolved(schemes.get(name))
        if scheme.get("type") == "apiKey":
            parameters = call.query if scheme.get("in") == "query" else call.headers
            parameters[str(scheme.get("name"))] = CREDENTIAL
            call.credentials.add(str(scheme.get("name")))
        elif scheme.get("type") in {"http", "oauth2", "openIdConnect"}:
            call.headers["Authorization"] = f"{str(scheme.get('scheme', 'bearer')).capitalize()} {CREDENTIAL}"
        else:
            continue  # a scheme of another type: try the next one
        return


def _example(document: Document, schema: object, name: str, depth: int = 0) -> Any:
    """Return an example value for a schema: its own example, or one made from its required members."""
    schema = document.resolved(schema)
    document.spend(STEP_CHARACTERS + len(name))  # refuses schemas that expand without end
    for keyword in ("example", "default", "const"):
        if schema.get(keyword) is not None:
            return _count_example(document, schema[keyword])
    for keyword in ("examples", "enum"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            return _count_example(document, schema[keyword][0])
    for keyword in ("allOf", "anyOf", "oneOf"):
        if subschemas := members(schema.get(keyword), f"{name}, {keyword}"):
            used_schemas = subschemas if keyword == "allOf" else subschemas[:1]
            if depth >= MAX_DEPTH:
                return None
            examples = [_example(document, subschema, name, depth + 1) for subschema in used_schemas]
            are_objects = all(isinstance(example, dict) for example in examples)  # then their members are merged
            return {key: example[key] for example in examples for key in example} if are_objects else examples[0]
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and depth < MAX_DEPTH:
        required_list = schema.get("required", properties)  # all members, if the schema names none
        required_names = set(map(str, required_list)) if isinstance(required_list, list | Mapping) else set()
        return {
            key: _example(document, property_schema, key, depth + 1)
            for key, property_schema in properties.items()
            if key in required_names
        }
    if schema.get("type") == "array":
        return [_example(document, schema.get("items"), name, depth + 1)] if depth < MAX_DEPTH else []
    return {"integer": 1, "number": 1.0, "boolean": False}.get(str(schema.get("type")), f"example {name}".strip())


def _count_example(document: Document, example: object) -> Any:
    document.spend(len(json.dumps(example)))
    return example


def _answer_expression(document: Document, operation: Json) -> str | None:
    """Return the JMESPath of the response's likeliest answer: a member with a usual name, or else the first, if any."""
    responses = member(operation.get("responses"), "responses")
    successful_response = document.resolved(next((responses[code] for code in responses if code.startswith("2")), None))
    content = member(successful_response.get("content"), "responses, content")
    schema = member(content.get("application/json"), "responses, application/json").get("schema")
    paths = list(_text_expressions(document, schema, path="")) if schema else []
    usual_paths = [path for name in ANSWERS for path in paths if name in path.lower().replace("_", "")]
    return next(iter([*usual_paths, *paths]), None)


def _text_expressions(document: Document, schema: object, path: str, depth: int = 0) -> Iterator[str]:
    """Yield the JMESPath of each text, number or list of numbers in a schema, whose own path is `path`."""
    schema = document.resolved(schema)
    document.spend(STEP_CHARACTERS + len(path))  # refuses schemas that expand without end
    if depth > MAX_DEPTH:
        return
    for name, property_schema in member(schema.get("properties"), f"{path}, properties").items():
        yield from _text_expressions(document, property_schema, f"{path}.{name}" if path else name, depth + 1)
    if schema.get("type") == "array":
        items = document.resolved(schema.get("items"))
        if items.get("type") in {"number", "integer"}:
            yield path or "@"
        else:
            yield from _text_expressions(document, items, f"{path}[0]", depth + 1)
    elif schema.get("type") in {"string", "number"}:
        yield path or "@"
