"""`assay import`: make a suite of the services in a catalog (CSV, APIs.json or OpenAPI documents).

Secrets are not read from catalogs: save a target that needs one (``POST /v1/targets``), and name it by its ``id``.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import typer
import yaml

from assay.errors import SpecificationError, UnknownName

FIELDS = ("id", "name", "kind", "protocol", "base_url", "settings", "limits")
"""Columns of a CSV file, and fields of ``x-assay`` in an entry of APIs.json or an OpenAPI document."""

TIMEOUT_S = 60


def run(
    files: Sequence[Path],
    common: Mapping[str, str | None],
    asked: Mapping[str, Sequence[str]],
    *,
    agency: str | None,
    key_file: Path | None,
    plan: bool,
) -> None:
    """Print the body of ``POST /v1/suites`` for the services of catalogs, or send it and print the answer.

    Parameters
    ----------
    files : sequence of Path
        The catalogs.
    common : mapping
        ``kind`` and ``protocol`` of services whose entries do not name theirs.
    asked : mapping
        ``methods``, ``attributes`` and ``languages`` of the suite; empty ones are left out.
    agency : str, optional
        Address of an agency. Without it the body is printed.
    key_file : Path, optional
        File with the API key.
    plan : bool
        Whether the agency plans the suite instead of starting it.
    """
    services = [each for file in files for each in read_catalog(file, common)]
    body = {"targets": services, **{name: list(names) for name, names in asked.items() if names}}
    if agency is not None:
        key = None if key_file is None else key_file.read_text(encoding="utf-8").strip()
        body = _sent(agency, "/v1/suites/plan" if plan else "/v1/suites", body, key)
    typer.echo(json.dumps(body, indent=2, ensure_ascii=False))


def read_catalog(file: Path, common: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Read the services of a catalog as targets of a request.

    Raises
    ------
    SpecificationError
        If the file is not a catalog, names no service, or has an entry without kind or protocol.
    """
    text = file.read_text(encoding="utf-8-sig")
    entries = _rows(text) if file.suffix.lower() == ".csv" else _documents(text, file.name)
    found = [_target(entry, common, f"{file.name}, service {place}") for place, entry in enumerate(entries, 1)]
    if not found:
        raise SpecificationError(f"{file.name} names no service")
    return found


def _rows(text: str) -> Iterator[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(text), strict=True)
    for name in reader.fieldnames or ():
        if name not in FIELDS:
            raise UnknownName("column", str(name), FIELDS)
    for row in reader:
        entry = {name: cell for name, cell in row.items() if cell}
        for name in ("settings", "limits"):
            if name in entry:
                entry[name] = _json(str(entry[name]), f"line {reader.line_num}, {name}")
        yield entry


def _documents(text: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of APIs.json, of one OpenAPI document, or of a list of them."""
    try:
        read = yaml.safe_load(text) if name.lower().endswith((".yaml", ".yml")) else _json(text, name)
    except (yaml.YAMLError, RecursionError):
        raise SpecificationError(f"{name} is not YAML") from None
    for document in read if isinstance(read, list) else [read]:
        if not isinstance(document, dict) or not {"apis", "openapi"} & document.keys():
            raise SpecificationError(f"{name} is neither CSV (.csv), APIs.json (apis) nor OpenAPI (openapi)")
        for api in document.get("apis", ()):
            yield {"name": api.get("name"), "base_url": api.get("baseURL"), **api.get("x-assay", {})}
        if "openapi" in document:
            servers, about = document.get("servers") or [{}], document.get("info") or {}
            yield {"name": about.get("title"), "base_url": servers[0].get("url"), **document.get("x-assay", {})}


def _target(entry: Mapping[str, Any], common: Mapping[str, str | None], where: str) -> dict[str, Any]:
    if entry.get("id"):
        return {"id": entry["id"]}
    target = {name: value for name, value in {**common, **entry}.items() if value is not None}
    for name in target:
        if name not in FIELDS:
            raise UnknownName(f"field of x-assay ({where})", name, FIELDS)
    for name in ("kind", "protocol"):
        if name not in target:
            raise SpecificationError(f"{where}: the {name} is missing; add it to the entry, or give --{name} for all")
    return target


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as wrong:
        raise SpecificationError(f"{where} is not JSON: {wrong.msg} in line {wrong.lineno}") from None


def _sent(agency: str, path: str, body: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    """Post to the agency; a refusal becomes an error with its pointer and detail. Proxies are ignored."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=agency, headers=headers, timeout=TIMEOUT_S, trust_env=False) as http:
        try:
            answer = http.post(path, json=body)
            said: dict[str, Any] = answer.json()
        except (httpx.RequestError, ValueError):
            raise OSError(f"no agency answers at {agency}") from None
    if answer.is_error:
        first = (said.get("errors") or [{}])[0]
        raise SpecificationError(f"{first.get('pointer', path)}: {first.get('detail') or said.get('detail')}")
    return said
