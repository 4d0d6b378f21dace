"""`assay import`: make a suite of the services in a catalog (CSV, APIs.json or OpenAPI documents).

Secrets are not read from catalogs: save a target that needs one (``POST /v1/targets``), and name it by its ``id``.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx

from assay.document import Json, JsonObject
from assay.errors import SpecificationError, UnknownName
from cli.documents import member, members, parse_json, read_document, read_text
from cli.terminal import print_json

FIELDS = ("id", "name", "kind", "protocol", "base_url", "settings", "limits")
"""Columns of a CSV file, and fields of ``x-assay`` in an entry of APIs.json or an OpenAPI document."""

TIMEOUT_S = 60


def run(
    files: Sequence[Path],
    defaults: Mapping[str, str | None],
    suite: Mapping[str, Sequence[str]],
    *,
    agency: str | None,
    key_file: Path | None,
    plan: bool,
) -> None:
    """Print the body of ``POST /v1/suites`` for the services in catalog files, or send it and print the answer.

    `defaults` has the ``kind`` and ``protocol`` of services whose entries do not name theirs; `suite` has ``methods``,
    ``attributes`` and ``languages``; empty lists of `suite` are left out. The body is sent to the address `agency`, if
    there is one; with `plan`, the agency plans the suite instead of starting it.
    """
    services = [service for file in files for service in read_catalog(file, defaults)]
    body = {"targets": services, **{name: list(names) for name, names in suite.items() if names}}
    if agency is not None:
        key = None if key_file is None else key_file.read_text(encoding="utf-8").strip()
        body = _post(agency, "/v1/suites/plan" if plan else "/v1/suites", body, key)
    print_json(body)


def read_catalog(file: Path, defaults: Mapping[str, str | None]) -> list[JsonObject]:
    """Read the services of a catalog as targets of a request.

    Raise `SpecificationError` if the file is not a catalog, names no service, or has an entry without kind or protocol.
    """
    is_csv = file.suffix.lower() == ".csv"
    entries = _csv_entries(read_text(file), file.name) if is_csv else _document_entries(read_document(file), file.name)
    targets = [_read_target(entry, defaults, f"{file.name}, service {index}") for index, entry in enumerate(entries, 1)]
    if not targets:
        raise SpecificationError(f"{file.name} names no service")
    return targets


def _csv_entries(text: str, name: str) -> Iterator[Json]:
    """Yield a row of a CSV catalog as an entry; its settings and limits are JSON. `name` is the file's, for errors."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for column in reader.fieldnames or ():
            if column not in FIELDS:
                raise UnknownName("column", column[:50], FIELDS)
        for row in reader:
            if None in row:  # `csv.DictReader` puts cells without a column there
                raise SpecificationError(f"{name}, line {reader.line_num}, has more cells than the first line")
            entry: JsonObject = {column: cell for column, cell in row.items() if cell}
            for column in ("settings", "limits"):
                if column in entry:
                    entry[column] = parse_json(entry[column], f"{name}, line {reader.line_num}, {column}")
            yield entry
    except csv.Error as error:
        raise SpecificationError(f"{name} is not CSV: {error} (line {reader.line_num})") from None


def _document_entries(content: object, name: str) -> Iterator[Json]:
    """Yield the entries of APIs.json, of an OpenAPI document, or of a list of such documents."""
    for document in content if isinstance(content, list) else [content]:
        if not isinstance(document, dict) or not {"apis", "openapi"} & document.keys():
            raise SpecificationError(f"{name} is neither CSV (.csv), APIs.json (apis) nor OpenAPI (openapi)")
        for api in members(document.get("apis"), f"{name}, apis"):
            yield {"name": api.get("name"), "base_url": api.get("baseURL"), **_assay_extension(api, name)}
        if "openapi" in document:
            info = member(document.get("info"), f"{name}, info")
            first_server = next(iter(members(document.get("servers"), f"{name}, servers")), {})
            yield {"name": info.get("title"), "base_url": first_server.get("url"), **_assay_extension(document, name)}


def _assay_extension(entry: Json, name: str) -> Json:
    return member(entry.get("x-assay"), f"{name}, x-assay")


def _read_target(entry: Json, defaults: Mapping[str, str | None], where: str) -> JsonObject:
    """Check a catalog's entry, and return it with the defaults; if the entry has an id, return only the id."""
    for name, value in entry.items():
        if name not in FIELDS:
            raise UnknownName(f"field of x-assay ({where})", name[:50], FIELDS)
        if name in {"settings", "limits"}:
            member(value, f"{where}: {name}")
        elif value is not None and not isinstance(value, str):
            raise SpecificationError(f"{where}: {name} must be a text")
    if entry.get("id"):
        return {"id": entry["id"]}
    target = {name: value for name, value in {**defaults, **entry}.items() if value is not None}
    for name in ("kind", "protocol"):
        if name not in target:
            raise SpecificationError(f"{where}: the {name} is missing; add it to the entry, or give --{name} for all")
    return target


def _post(agency: str, path: str, body: Json, key: str | None) -> JsonObject:
    """Post `body` to the agency, and return its answer; raise a refusal as an error. Proxies are ignored."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        with httpx.Client(base_url=agency, headers=headers, timeout=TIMEOUT_S, trust_env=False) as http:
            answer = http.post(path, json=body)
        document = answer.json()
    except httpx.InvalidURL as error:
        raise SpecificationError(f"{agency!r} is not the address of an agency: {error}", "agency") from None
    except (httpx.RequestError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise OSError(f"no agency answers at {agency}")
    if answer.is_error:
        first_error = next(iter(members(document.get("errors"), "errors")), {})
        detail = first_error.get("detail") or document.get("detail")
        raise SpecificationError(f"{first_error.get('pointer', path)}: {detail}")
    return document
