"""One call to a service, read from a curl command or an OpenAPI operation, and the target made from it."""

import argparse
import base64
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.model import Kind
from cli.documents import parse_json

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


def read_curl(command: str) -> "Call":
    """Read a curl command; raise `SpecificationError`, without quoting the command, if it cannot be read."""
    try:
        words = shlex.split(command.replace("\\\n", " "))  # a command may go on after a backslash
    except ValueError as error:
        raise SpecificationError(f"the curl command cannot be read: {error}", "curl") from None
    arguments = _parser().parse_args(words[1:] if words[:1] == ["curl"] else words)
    if (address := arguments.url or arguments.address) is None:
        raise SpecificationError("the curl command has no address", "curl")
    headers = dict(_parse_header(header) for header in arguments.header)
    if arguments.cookie:
        headers["Cookie"] = arguments.cookie
    auth = None
    url_parts = urlsplit(address if "://" in address else f"http://{address}")
    if arguments.aws_sigv4:  # aws:amz:region:service; the last two may be missing, and are then in the host's name
        _, _, region, service, *_ = [*str(arguments.aws_sigv4).split(":"), "", "", "", ""]  # "" for each missing one
        host_service, host_region, *_ = [*(url_parts.hostname or "").split("."), ""]
        auth = {"type": "aws-sigv4", "service": service or host_service, "region": region or host_region}
    elif arguments.user:
        headers["Authorization"] = "Basic " + base64.b64encode(arguments.user.encode()).decode()
    body_text = "&".join(arguments.data) if arguments.data else None  # as curl joins them
    query = dict(parse_qsl(url_parts.query, keep_blank_values=True))
    if arguments.get and body_text is not None:
        query, body_text = query | dict(parse_qsl(body_text, keep_blank_values=True)), None
    body, is_form = _parse_body(body_text, headers)
    method = arguments.request or ("GET" if body_text is None else "POST")
    url = url_parts._replace(query="", fragment="").geturl()
    return Call(method.upper(), url, headers, query, body, form=is_form, auth=auth)


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
    parser.add_argument(*IGNORED, action="store_true", dest="ignored")  # options that do not change the request
    parser.add_argument(*IGNORED_VALUES, dest="ignored_value")
    return parser


def _parse_header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise SpecificationError("a header of the curl command has no colon", "curl")
    return name.strip(), value.strip()


def _parse_body(body_text: str | None, headers: dict[str, str]) -> tuple[Any, bool]:
    """Return the body as JSON or as the fields of a form, and whether it is a form."""
    if body_text is None:
        return None, False
    if body_text.startswith("@"):
        raise SpecificationError("the body of the curl command is in a file; write it into the command", "curl")
    try:
        json.loads(body_text)
    except RecursionError:
        pass  # `parse_json` refuses such a body
    except ValueError:
        content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        if "json" in content_type:
            problem = "the body of the curl command is not JSON, and its Content-Type says so"
            raise SpecificationError(problem, "curl") from None
        return dict(parse_qsl(body_text, keep_blank_values=True)), True
    return parse_json(body_text, "the body of the curl command"), False


TEXTS = ("text", "texts", "q", "input", "inputs", "content", "prompt", "sentence", "sentences", "query", "message")
"""Usual names of the JSON members that contain the text of a question, the likeliest first."""

LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "source": ("source", "source_lang", "source_language", "sourcelanguage", "src", "src_lang", "from", "sl"),
    "target": ("target", "target_lang", "target_language", "targetlanguage", "tgt", "tgt_lang", "to", "tl"),
}
"""Usual names of the JSON members that contain a translator's languages, by the placeholder that replaces them."""

_CREDENTIAL = re.compile(
    r"authorization|cookie|api[-_]?key|subscription-key|auth[-_]?key|access[-_]?token|token$|secret|password|(^|[-_])key$",
    re.IGNORECASE,
)
_IGNORED_HEADERS = frozenset(
    {"host", "content-length", "content-type", "accept-encoding", "connection", "user-agent", "accept"}
)
_PAIR = re.compile(r"[a-z]{2,3}([|:/>_-]{1,2})[a-z]{2,3}")
"""Two languages in one text, as in ``en|es``."""

_SCHEME = re.compile(r"(?i)(bearer|basic|token|key|apikey|api-key|deepl-auth-key) (.+)")

Path = tuple[str | int, ...]


@dataclass
class Call:
    """An HTTP request to a service, with example values; later they are replaced by placeholders."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    """JSON, or the fields of a form (if `form`)."""
    form: bool = False
    output: str | None = None
    """JMESPath to the answer, if it is known."""
    text: str | None = None
    """The example text that stands for a question; without it, a member with a usual name is taken."""
    credentials: set[str] = field(default_factory=set)
    """Names of headers, parameters and members that carry a key; others are recognised by their usual names."""
    auth: dict[str, str] | None = None
    """Setting `auth`, if the call is signed, such as by AWS Signature Version 4."""


@dataclass
class Draft:
    """A target description for a request file, with the comments of the file."""

    target: JsonObject
    secrets: list[str] = field(default_factory=list, repr=False)
    """Credentials of the call, which no file may hold; the first has to be given in the environment."""
    notes: list[str] = field(default_factory=list)
    """Points that the user should check."""
    cases: dict[str, str] = field(default_factory=dict)
    """For a model that decides: ``mention`` (how people are named), and ``decision`` if it is of the catalog."""


def draft_of(call: Call, kind: Kind) -> Draft:
    """Describe the service of a call as a target of the protocol `custom`.

    Raise `SpecificationError` if Assay cannot make the call, or no text in it can be taken for the question.
    """
    url_parts = urlsplit(call.url)
    if url_parts.scheme not in {"http", "https"} or not url_parts.netloc:
        raise SpecificationError(f"{call.url[:80]!r} is not an address; it must begin with http:// or https://")
    if url_parts.username or url_parts.password:
        raise SpecificationError(
            "the address contains a user name or password: write --user NAME:PASSWORD in the curl command instead",
            "url",
        )
    draft = Draft({"name": url_parts.netloc, "kind": str(kind), "protocol": "custom"})
    draft.target["base_url"] = f"{url_parts.scheme}://{url_parts.netloc}"
    settings: JsonObject = {"method": call.method, "path": url_parts.path or "/"}
    headers = {key: value for key, value in call.headers.items() if key.lower() not in _IGNORED_HEADERS}
    call_parts: JsonObject = {"header": headers, "query": dict(call.query), "body": call.body}  # changed below
    if call.auth is not None:
        settings["auth"] = call.auth
        draft.secrets.append("")  # a key is needed; the signature does not contain it
    settings |= _remove_credentials(call_parts, call.credentials, draft)
    _insert_placeholders(call_parts, call, kind, draft)
    if call.form:
        settings["encoding"] = "form"
    for member, value in (("headers", headers), ("query", call_parts["query"]), ("body", call_parts["body"])):
        if value:
            settings[member] = value
    settings["output"] = call.output or "@"  # the whole answer
    if call.output is None:
        draft.notes.append("output: `assay probe` shows the answer and suggests the expression that leads to it")
    draft.target["settings"] = settings
    return draft


def _remove_credentials(call_parts: Json, secret_names: set[str], draft: Draft) -> JsonObject:
    """Move all credentials from `call_parts` (header, query, body) to the draft; return settings to send the first."""
    settings: JsonObject = {}
    for part, members in call_parts.items():
        if not isinstance(members, dict):
            continue
        for name in [member for member in members if member in secret_names or _CREDENTIAL.search(member)]:
            value = str(members.pop(name))
            scheme_match = _SCHEME.fullmatch(value)
            scheme, secret = scheme_match.groups() if scheme_match else (None, value)
            draft.secrets.append(secret)
            if settings:
                draft.notes.append(f"{name} looks like a second credential; it was left out, since one is sent")
                continue
            settings = {"auth": part, "auth_name": name}
            settings["auth_value"] = f"{scheme} {{secret}}" if scheme else "{secret}"
    for path, value in _leaf_values(call_parts["body"]):
        if isinstance(value, str) and len(path) > 1 and _CREDENTIAL.search(str(path[-1])):
            where = ".".join(map(str, path))
            rule = "a credential in the body must be a member of its top level"
            raise SpecificationError(f"{where} looks like a credential inside another member; {rule}")
    return settings


def _insert_placeholders(call_parts: JsonObject, call: Call, kind: Kind, draft: Draft) -> None:
    """Replace the example values of a call (`call_parts`: header, query, body) by the placeholders of a question."""
    leaves = [(part, path, value) for part in ("body", "query") for path, value in _leaf_values(call_parts[part])]
    if (text_path := _find_question_path(leaves, call.text)) is None:
        if call.text is not None:
            found_texts = ", ".join(repr(value) for _, _, value in leaves[:10] if isinstance(value, str)) or "none"
            raise SpecificationError(f"{call.text!r} is not a text of the call; its texts: {found_texts}", "text")
        candidates = ", ".join(".".join(map(str, path)) for _, path, _ in leaves[:10]) or "nothing"
        remedy = f"Give it with --text, exactly as in the call (found: {candidates})"
        raise SpecificationError(f"which text is the question? {remedy}", "text")
    _set_placeholder(call_parts, text_path, "{text}")
    if kind is Kind.TRANSLATOR:
        other_leaves = [(part, path, value) for part, path, value in leaves if (part, path) != text_path]
        texts = [(part, path, text) for part, path, text in other_leaves if isinstance(text, str)]
        language_pairs = [(part, path, text) for part, path, text in texts if _PAIR.fullmatch(text)]  # such as en|es
        for part, path, text in language_pairs:
            _set_placeholder(call_parts, (part, path), _PAIR.sub(r"{source}\1{target}", text))
        for role, names in LANGUAGES.items():
            if language_paths := [(part, path) for part, path, _ in other_leaves if str(path[-1]).lower() in names]:
                _set_placeholder(call_parts, language_paths[0], f"{{{role}}}")
            elif not language_pairs:
                draft.notes.append(f"the {role} language is not sent; add {{{role}}} where the service expects it")
    if kind is Kind.IMAGE_CLASSIFIER:
        raise SpecificationError("calls with an image cannot be converted; see `assay protocols custom`", "kind")


def _find_question_path(leaves: list[tuple[str, Path, Any]], text: str | None) -> tuple[str, Path] | None:
    """Return (part of the call, path) of `text` or, if that is not given, of the likeliest question; else ``None``."""
    strings = [(part, path, value) for part, path, value in leaves if isinstance(value, str)]
    if text is not None:
        return next(((part, path) for part, path, value in strings if value == text), None)
    for name in TEXTS:  # usual names, the likeliest first
        # the member itself or, for a text in a list, the list
        usual_paths = [(part, path) for part, path, _ in strings if name in [str(step).lower() for step in path[-2:]]]
        if usual_paths:
            return usual_paths[-1]  # in a chat, the last message is the user's
    sentence_paths = [(part, path) for part, path, value in strings if " " in value]
    return sentence_paths[0] if len(sentence_paths) == 1 else None


def _leaf_values(value: object, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every text, number and Boolean in objects and lists, with its path."""
    match value:
        case Mapping():
            for name, member in value.items():
                yield from _leaf_values(member, (*path, name))
        case list():
            for index, member in enumerate(value):
                yield from _leaf_values(member, (*path, index))
        case None:
            return
        case _ if path:  # a body that is one value has no member to replace
            yield path, value


def _set_placeholder(call_parts: JsonObject, path: tuple[str, Path], placeholder: str) -> None:
    """Replace a value by a placeholder; `path` is the part of the call (header, query or body) and the path in it."""
    part, (*steps, last_step) = path
    container = call_parts[part]
    for step in steps:
        container = container[step]
    container[last_step] = placeholder
