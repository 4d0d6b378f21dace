"""Parser for curl commands."""

from __future__ import annotations

import argparse
import base64
import json
import re
import shlex
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from assay.errors import SpecificationError
from cli.drafting.call import Call

IGNORED = (
    *("-s", "-S", "-i", "-v", "-L", "-k", "-f", "-g", "-N"),
    *("--silent", "--show-error", "--include", "--verbose", "--location", "--insecure", "--fail", "--compressed"),
    *("--globoff", "--http1.1", "--http2", "--no-buffer"),
)
"""Options that change nothing about the request."""

IGNORED_VALUES = ("-o", "--output", "-m", "--max-time", "--connect-timeout", "--retry", "-w", "--write-out", "-A")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # the message may quote an argument, which may be a key
        option = re.search(r"(?<= )(--[a-z][a-z0-9.-]+|-[A-Za-z])(?![\w-])", message)
        problem = f"{option[1]}, which Assay does not read" if option else "something that Assay cannot read"
        raise SpecificationError(f"the curl command has {problem}; use the address, -X, -H, -d, -u and -G only", "curl")


def read_curl(command: str) -> Call:
    """Read a curl command; raise `SpecificationError`, without quoting the command, if it cannot be read."""
    try:
        words = shlex.split(command.replace("\\\n", " "))
    except ValueError as wrong:
        raise SpecificationError(f"the curl command cannot be read: {wrong}", "curl") from None
    arguments = _parser().parse_args(words[1:] if words[:1] == ["curl"] else words)
    address = arguments.url or arguments.address
    if address is None:
        raise SpecificationError("the curl command has no address", "curl")
    headers = dict(_header(header) for header in arguments.header)
    if arguments.cookie:
        headers["Cookie"] = arguments.cookie
    auth = None
    if arguments.aws_sigv4:  # aws:amz:region:service
        region, service = [*arguments.aws_sigv4.split(":"), "", "", "", ""][2:4]
        host = (urlsplit(address if "://" in address else f"http://{address}").hostname or "").split(".")
        auth = {"type": "aws-sigv4", "service": service or host[0], "region": region or (host[1:2] or [""])[0]}
    elif arguments.user:
        headers["Authorization"] = "Basic " + base64.b64encode(arguments.user.encode()).decode()
    data = "&".join(arguments.data) if arguments.data else None
    parts = urlsplit(address if "://" in address else f"http://{address}")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if arguments.get and data is not None:
        query, data = query | dict(parse_qsl(data, keep_blank_values=True)), None
    body, form = _body(data, headers)
    method = arguments.request or ("GET" if data is None else "POST")
    return Call(method.upper(), parts._replace(query="", fragment="").geturl(), headers, query, body, form, auth=auth)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("address", nargs="?")
    parser.add_argument("--url")
    parser.add_argument("-X", "--request")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-u", "--user")
    parser.add_argument("-b", "--cookie")
    parser.add_argument("--aws-sigv4")
    parser.add_argument("-G", "--get", action="store_true")
    names = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "--json")
    parser.add_argument(*names, dest="data", action="append")
    parser.add_argument(*IGNORED, action="store_true", dest="ignored")
    parser.add_argument(*IGNORED_VALUES, dest="ignored_value")
    return parser


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise SpecificationError("a header of the curl command has no colon", "curl")
    return name.strip(), value.strip()


def _body(data: str | None, headers: dict[str, str]) -> tuple[Any, bool]:
    """Return the body as JSON or as the fields of a form, and whether it is a form."""
    if data is None:
        return None, False
    if data.startswith("@"):
        raise SpecificationError("the body of the curl command is in a file; write it into the command", "curl")
    try:
        return json.loads(data), False
    except ValueError:
        pass
    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    if "json" in kind:
        raise SpecificationError("the body of the curl command is not JSON, and its Content-Type says so", "curl")
    return dict(parse_qsl(data, keep_blank_values=True)), True
