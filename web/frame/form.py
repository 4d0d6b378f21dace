"""Forms: bounded, in UTF-8, with at most one file, which is passed on while it arrives and never stored by a page.

A form must not choose the codec that decodes it: Python has codecs that take quadratic time (punycode, IDNA) and codecs
that fail in other ways (undefined). So every charset of a form, also in the header of a part or in the field
``_charset_``, must be UTF-8 or its subset US-ASCII.
"""

from collections.abc import AsyncIterator
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from service.http.middleware import FORM_BYTES, too_large
from service.http.problems import Problem

CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

MOST_FIELDS = 5_000
"""Maximum number of fields of a form; the form with the most fields is a page of items with a tick each."""

MOST_FIELDS_BESIDE_A_FILE = 32

LONGEST_HEADER = 4_096
"""Maximum length in characters of a form's ``Content-Type``, and of a header of a part."""


class SentFile:
    """A file of a form, which arrives while it is read; its `name` and `media_type` may be empty."""

    def __init__(self, name: str, media_type: str, parts: "_Parts", body: AsyncIterator[bytes]) -> None:
        self.name, self.media_type = name, media_type
        self._parts, self._body = parts, body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the content as it arrives; raise ``invalid-request`` if anything follows the file in its form."""
        while True:
            if chunk := self._parts.take():
                yield chunk
            if self._parts.ended:
                return
            await self._parts.feed(self._body)


class Form:
    """Fields of a form in their order, and its file if it has one."""

    def __init__(self, fields: list[tuple[str, str]], file: SentFile | None = None) -> None:
        self.fields, self.file = fields, file

    def get(self, name: str, default: str = "") -> str:
        """Return the text of the last field with this name; `default` if there is none."""
        return next((value for field, value in reversed(self.fields) if field == name), default)

    def getlist(self, name: str) -> list[str]:
        """Return the texts of all fields with this name."""
        return [value for field, value in self.fields if field == name]


async def read_form(request: Request, *, with_file: bool = False) -> Form:
    """Read the form that a request sends. With `with_file`, it may end with a file, which is left to be read later.

    Raise `Problem` ``unsupported-media-type`` for another media type or charset, ``malformed-body`` if the form cannot
    be parsed, ``invalid-request`` for too many fields or files.
    """
    media_type, parameters = _parse_content_type(request.headers.get("content-type", ""))
    if media_type == URLENCODED:
        # the middleware limits bodies, but a form that may end with a file only to the size of an upload
        body = await _read_limited(FORM_BYTES, request) if with_file else await request.body()
        return Form(_parse_urlencoded(body))
    if media_type == MULTIPART:
        return await _parse_multipart(request.stream(), parameters.get("boundary", ""), with_file=with_file)
    if not media_type and not await request.body():
        return Form([])  # a form without fields; its token is in a header
    raise Problem("unsupported-media-type", f"send a form as {URLENCODED} or {MULTIPART}, in UTF-8")


def _parse_content_type(header: str) -> tuple[str, dict[str, str]]:
    """Return the media type in a header, and the header's parameters; refuse a charset other than UTF-8."""
    if len(header) > LONGEST_HEADER:
        raise Problem("unsupported-media-type", f"the Content-Type has {len(header):,} characters")
    media_type, raw_parameters = parse_options_header(header)
    parameters = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw_parameters.items()}
    if "charset" in parameters:
        _check_charset(parameters["charset"])
    return media_type.decode("latin-1").strip(), parameters


def _check_charset(name: str) -> None:
    if name.strip().lower() not in CHARSETS:
        raise Problem("unsupported-media-type", f"the form is in {name[:40]!r}; send it in UTF-8")


def _parse_urlencoded(body: bytes) -> list[tuple[str, str]]:
    try:
        fields = parse_qsl(_decode_utf8(body), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except UnicodeDecodeError:
        _refuse_malformed("the form is not in UTF-8")
    except ValueError:  # more fields than `max_num_fields`
        _refuse_too_many(MOST_FIELDS)
    return _check_fields(fields)


async def _read_limited(limit: int, request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


async def _parse_multipart(body: AsyncIterator[bytes], boundary: str, *, with_file: bool) -> Form:
    if not boundary:
        _refuse_malformed("the Content-Type names no boundary")
    parts = _Parts(boundary, with_file=with_file)
    while not parts.ended and parts.file is None:
        await parts.feed(body)
    return Form(_check_fields(parts.fields), None if parts.file is None else SentFile(*parts.file, parts, body))


def _check_fields(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    for name, value in fields:
        if name == "_charset_" and value:  # a field in which browsers name the encoding of the form
            _check_charset(value)
        if "\x00" in name or "\x00" in value:
            _refuse(f"the field {name[:80]!r} holds the character NUL, which cannot be stored")
    return fields


class _Parts:
    """Parser of a multipart form: it holds all fields, and what arrived of the file since the last call of `take`."""

    def __init__(self, boundary: str, *, with_file: bool) -> None:
        self.fields: list[tuple[str, str]] = []
        self.file: tuple[str, str] | None = None  # name and media type of the file
        self.ended = False
        self._with_file = with_file
        self._most_fields = MOST_FIELDS_BESIDE_A_FILE if with_file else MOST_FIELDS
        self._fields_size = 0  # bytes of all fields together
        # state of the present part; the parser passes names, values and contents in several pieces
        self._name, self._headers = "", dict[str, str]()
        self._header_name, self._header_value = bytearray(), bytearray()
        self._field_content, self._file_content = bytearray(), bytearray()
        callbacks: dict[str, Any] = {
            "on_part_begin": self._begin_part,
            "on_header_field": lambda data, start, end: self._header_name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header_value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_content,
            "on_part_data": self._add_content,
            "on_part_end": self._end_part,
            "on_end": lambda: setattr(self, "ended", True),
        }
        try:
            self._parser = MultipartParser(
                boundary.encode("latin-1"),
                callbacks,  # type: ignore[arg-type]
                max_header_size=LONGEST_HEADER,
            )
        except FormParserError:
            _refuse_malformed("the boundary of the form is not a valid one")

    async def feed(self, body: AsyncIterator[bytes]) -> None:
        """Parse the next chunk of the body."""
        if not (chunk := await anext(body, b"")):
            _refuse_malformed("the form ends before its last boundary")
        try:
            self._parser.write(chunk)
        except FormParserError:
            _refuse_malformed("the form is not multipart/form-data as RFC 7578 defines it")

    def take(self) -> bytes:
        """Return the content of the file that was received since the last call."""
        content = bytes(self._file_content)
        self._file_content.clear()
        return content

    def _begin_part(self) -> None:
        if self.file is not None:
            _refuse("the form may have one file, as its last field")
        if len(self.fields) >= self._most_fields:
            _refuse_too_many(self._most_fields)
        self._headers, self._field_content = {}, bytearray()

    def _end_header(self) -> None:
        self._headers[self._header_name.decode("latin-1").lower()] = self._header_value.decode("latin-1")
        self._header_name.clear()
        self._header_value.clear()

    def _begin_content(self) -> None:
        """Read the headers of a part of the form: the field's name or, for a file, its name and media type."""
        _, options = _parse_content_type(self._headers.get("content-disposition", ""))
        media_type, _ = _parse_content_type(self._headers.get("content-type", ""))
        if "name" not in options:
            _refuse_malformed("a part of the form has no name")
        self._name = _decode_option(options["name"])
        if "filename" in options:
            if not self._with_file:
                _refuse("this form cannot have a file")
            if self._name != "file":
                _refuse("the file must be the field 'file'")
            self.file = _decode_option(options["filename"]), media_type

    def _add_content(self, data: bytes, start: int, end: int) -> None:
        if self.file is not None:
            self._file_content += data[start:end]
            return
        self._fields_size += end - start
        # the middleware limits a form with a file only to the size of an upload
        if self._with_file and self._fields_size > FORM_BYTES:
            raise too_large(FORM_BYTES)
        self._field_content += data[start:end]

    def _end_part(self) -> None:
        if self.file is None:
            self.fields.append((self._name, _decode_utf8(self._field_content)))


def _decode_utf8(content: bytes | bytearray) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        _refuse_malformed("the form is not in UTF-8")


def _decode_option(latin: str) -> str:
    """Decode an option of a header, which the parser returns as Latin-1."""
    return _decode_utf8(latin.encode("latin-1"))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def _refuse_malformed(detail: str) -> NoReturn:
    raise Problem("malformed-body", detail)


def _refuse(detail: str) -> NoReturn:
    raise Problem("invalid-request", detail)


def _refuse_too_many(limit: int) -> NoReturn:
    _refuse(f"the form has too many fields; at most {limit:,} are allowed")
