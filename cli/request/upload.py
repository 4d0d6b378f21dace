"""`--upload`: records to ask about, or vectors to rate, from a local file."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.experiment import generator
from assay.methods import every_method, method_name
from assay.model import Kind
from assay.references import NamedRows
from cli.documents import member
from service.jobs.inputs import chosen_rows
from service.uploads.service import MAX_ROWS_OF_A_JOB, UPLOADED
from store.core.database import Connection
from store.corpora import uploads
from store.corpora.uploads import NewUpload
from store.formats import CSV, NPZ, PARQUET, WORD2VEC, XLSX, inspect
from store.formats.table import read_rows, sample_of

TABLES = {".csv": CSV, ".xlsx": XLSX, ".xlsm": XLSX, ".parquet": PARQUET}
"""Media types of tables by the suffix of a file."""

MEDIA_TYPES = {**TABLES, ".npz": NPZ, ".vec": WORD2VEC, ".txt": WORD2VEC}
"""Media types by the suffix of a file."""

MAX_GROUPS = 50
"""Maximum number of values of a column that are used as groups if the request names none."""


def take_upload(file: Path, request: dict[str, Any], **format_options: str | None) -> None:
    """Put a file into a request: rows of a table into the experiment, or the digest of vectors into the target.

    `format_options` are the ``encoding`` and ``decimal`` sign of CSV and the ``sheet`` of xlsx, if the user names them.

    Raise `SpecificationError` if the file cannot be read, or the method or the target takes no file.
    """
    if (media_type := MEDIA_TYPES.get(file.suffix.lower())) is None:
        raise SpecificationError(f"--upload takes {', '.join(MEDIA_TYPES)}, not {file.name}", "upload")
    try:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise SpecificationError(f"{file} cannot be read: {error.strerror}", "upload") from None
    target = request["target"]
    if target["protocol"] == UPLOADED:
        target["settings"]["upload"] = f"sha256:{digest}"
        request["upload"] = (file, media_type)
        return
    with_records = [method for method in every_method() if "records" in {field.name for field in fields(method)}]
    names = [method_name(method) for method in with_records]  # of methods that take records
    if (name := request["experiment"]["method"]) not in names:
        raise SpecificationError(f"{name} takes no records; use {', '.join(names)}", "upload")
    try:
        applicable_options = {} if media_type == PARQUET else format_options  # the options are for CSV and xlsx
        request["experiment"]["records"] = _records(file, media_type, request, applicable_options)
    except SpecificationError as error:
        raise SpecificationError(f"{file.name}: {error}", "upload") from None


def keep_upload(connection: Connection, tenant: str, request: Json) -> None:
    """Store the file of vectors of a request in the temporary database, from which the worker reads it."""
    file, media_type = request["upload"]
    if request["target"]["kind"] != Kind.EMBEDDER:
        raise SpecificationError(
            "with the protocol 'uploaded', --upload must name a file with the vectors of an embedder", "upload"
        )
    with file.open("rb") as content:
        upload = NewUpload(
            tenant,
            file.name,
            purpose="embedding",
            media_type=media_type,
            digest=request["target"]["settings"]["upload"],
            bytes=file.stat().st_size,
            summary=inspect(content, "embedding", media_type),
        )
        uploads.add(connection, upload, content)


def _records(file: Path, media_type: str, request: Json, format_options: Mapping[str, str | None]) -> JsonObject:
    """Return the experiment's ``records``: column and values of the groups, and rows that are chosen as in the API."""
    experiment = request["experiment"]
    rng = generator(request["seed"])
    with file.open("rb") as content:
        summary = inspect(content, "table", media_type, **format_options)
        sample = sample_of(summary, MAX_ROWS_OF_A_JOB, rng)
        rows = tuple(read_rows(content, media_type=media_type, summary=summary, sample=sample))
    records = {"column": experiment.get("attribute"), **member(experiment.get("records"), "records")}
    column = records["column"]
    if not isinstance(column, str):  # several attributes
        raise SpecificationError("name the column of the groups: --set records.column=NAME", "attribute")
    if "values" not in records:
        values = sorted({row[column] for row in rows if row.get(column) is not None}, key=str)
        if len(values) > MAX_GROUPS:
            remedy = "name those to compare with --set 'records.values=[…]'"
            raise SpecificationError(f"{column} has {len(values)} values; {remedy}", "upload")
        records["values"] = values
    max_rows = records.get("most", 8000)  # the default of the method's field
    if not isinstance(records["values"], list) or type(max_rows) is not int:  # a Boolean is no number
        raise SpecificationError("records.values must be a list, and records.most a whole number", "records")
    selection = NamedRows("upload", column, tuple(records["values"]), max_rows=max_rows, field="records")
    return records | {"rows": list(chosen_rows(rows, selection, rng))}
