"""Files of forms: sent to the API as uploads, with the file-format options that the form has."""

import re
from typing import Any

from web.frame.api import Refused
from web.frame.visit import Visit

TYPES = {
    "csv": "text/csv",
    "tsv": "text/csv",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xlsm": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
    "npz": "application/x-numpy-npz",
    "txt": "text/plain",
    "vec": "text/plain",
}
"""Media types by the ending of a file's name."""

TABLES = {TYPES["csv"], TYPES["xlsx"], TYPES["parquet"]}
"""Media types of tables."""

ENCODING = re.compile(r"[A-Za-z0-9_.:-]{1,40}")


async def send_file(visit: Visit, purpose: str) -> dict[str, Any]:
    """Send the file of a form to the API, and return the upload that it stored.

    The media type is that of the file's ending, or else the browser's. The form may have the file-format options of
    ``uploads/reading.html``, such as the encoding of a table.

    Raise `Refused` if the API refuses the file, or the form has none.
    """
    texts, file = visit.typed, visit.form.file
    if file is None or not file.name:
        raise unreadable("file", "choose a file")
    media_type = TYPES.get(file.name.rpartition(".")[2].lower(), file.media_type or "application/octet-stream")
    if purpose == "table" and media_type not in TABLES:
        media_type = TYPES["csv"]  # text with any ending is read; for other formats the API says what to save instead
    query = {"purpose": purpose, "name": texts.get("name", "").strip() or file.name[:200]}  # as the API limits names
    query |= {name: value for name in ("decimal", "sheet") if (value := texts.get(name, "").strip())}
    if media_type == TYPES["csv"] and (encoding := texts.get("encoding", "").strip()):
        if not ENCODING.fullmatch(encoding):
            raise unreadable("encoding", "an encoding has letters and digits in its name, such as windows-1252")
        media_type = f"{media_type}; charset={encoding}"
    answer = await visit.api.ask("POST", "/v1/uploads", query=query, file=file, headers={"content-type": media_type})
    return dict(answer.document)


def unreadable(field: str, detail: str) -> Refused:
    """Return the exception for a form with one invalid field."""
    return Refused.unreadable([{"pointer": f"/{field}", "detail": detail}])
