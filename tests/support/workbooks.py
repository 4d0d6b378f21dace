"""Workbooks (xlsx) written by hand: rows of values, or of cells in XML, so that each oddity of a file can be made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"

Value = str | int | float | bool | None


class Xml(str):
    """A cell in XML, with ``{at}`` for its reference."""

    __slots__ = ()


def letters(index: int) -> str:
    """Return the letters of a column, A for 0."""
    return ("" if index < 26 else letters(index // 26 - 1)) + chr(ord("A") + index % 26)


def cell(value: Value, at: str) -> str:
    """Return a cell in XML."""
    if value is None:
        return ""
    if isinstance(value, Xml):
        return value.replace("{at}", at)
    if isinstance(value, bool):
        return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{at}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f'<c r="{at}"><v>{value!r}</v></c>'


def data(rows: Iterable[Sequence[Value]], attributes: Mapping[int, str] | None = None) -> str:
    """Return the rows of a sheet in XML; `attributes` maps the number of a row to its XML attributes."""
    return "".join(
        f'<row r="{number}" {(attributes or {}).get(number, "")}>'
        + "".join(cell(value, f"{letters(index)}{number}") for index, value in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, 1)
        if row
    )


def sheet(rows: Iterable[Sequence[Value]], before: str = "", after: str = "", **attributes: str) -> str:
    """Return a sheet in XML, with the XML `before` and `after` its rows; row attributes: ``row_3="hidden='1'"``."""
    by_row = {int(name.removeprefix("row_")): value for name, value in attributes.items()}
    return f'<worksheet xmlns="{MAIN}">{before}<sheetData>{data(rows, by_row)}</sheetData>{after}</worksheet>'


def workbook(
    sheets: Mapping[str, str | Sequence[Sequence[Value]]],
    *,
    shared: Sequence[str] = (),
    formats: Sequence[str | int] = (),
    properties: str = "",
    calculation: str = "",
    parts: Mapping[str, str | bytes | None] | None = None,
) -> bytes:
    """Return an xlsx file.

    Parameters
    ----------
    sheets : mapping
        Rows, or the XML, of each sheet.
    shared : sequence of str
        Shared texts, in XML (the content of ``si``).
    formats : sequence of str or int
        Codes or ids of number formats; the style of the first is 1.
    properties, calculation : str
        Attributes of ``workbookPr`` and ``calcPr``.
    parts : mapping, optional
        Parts of the archive to add or replace, by name; ``None`` leaves a part out.
    """
    numbered = list(enumerate(sheets.items(), 1))
    codes = [code for code in formats if isinstance(code, str)]
    ids = [0, *(164 + codes.index(code) if isinstance(code, str) else code for code in formats)]
    relations = "".join(
        f'<Relationship Id="rId{number}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number, _ in numbered
    )
    content: dict[str, str | bytes | None] = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}"><Relationship Id="r" Type="{OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><workbookPr {properties}/><sheets>'
        + "".join(
            f'<sheet name={quoteattr(name)} sheetId="{number}" r:id="rId{number}"/>' for number, (name, _) in numbered
        )
        + f"</sheets><calcPr {calculation}/></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{relations}'
        f'<Relationship Id="s" Type="{OFFICE}/styles" Target="styles.xml"/>'
        f'<Relationship Id="t" Type="{OFFICE}/sharedStrings" Target="/xl/sharedStrings.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts>'
        + "".join(
            f'<numFmt numFmtId="{number}" formatCode={quoteattr(code)}/>' for number, code in enumerate(codes, 164)
        )
        + '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>'
        + "".join(f'<xf numFmtId="{identifier}"/>' for identifier in ids)
        + "</cellXfs></styleSheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">' + "".join(f"<si>{text}</si>" for text in shared) + "</sst>",
    }
    for number, (_, rows) in numbered:
        content[f"xl/worksheets/sheet{number}.xml"] = rows if isinstance(rows, str) else sheet(rows)
    return packed({**content, **(parts or {})})


def packed(parts: Mapping[str, str | bytes | None]) -> bytes:
    """Return a ZIP archive of parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            if part is not None:
                archive.writestr(name, part)
    return file.getvalue()
