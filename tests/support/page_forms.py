"""Forms of pages, read from their HTML, and hostile variants of the requests that a browser would send.

A variant is made from a page's own form or link by a seeded random generator, so that a failure can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from random import Random
from urllib.parse import quote, quote_plus, urljoin, urlsplit

URLENCODED, BOUNDARY = "application/x-www-form-urlencoded", "xXx"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"

Field = tuple[str, bytes]
"""Name and value of a field; the value as bytes, because hostile ones need not be text."""

VALUES: tuple[bytes, ...] = (
    b"",
    b" ",
    b"\0",
    b"a\0b",
    b"\xed\xa0\x80",  # half of a surrogate pair
    b"\xff\xfe",
    "\u202etxt.exe".encode(),
    "\u2028\u2029\x85".encode(),
    "🎭".encode() * 500,
    b"a" * 30_000,
    b"9" * 5_000,
    b"-1",
    b"0",
    b"1.5",
    b"1e309",
    b"NaN",
    b"-Infinity",
    b"99999999999999999999",
    "१२".encode(),
    b"null",
    b"true",
    b"[" * 20_000,
    b'{"a":' * 2_000,
    b'{"a": NaN}',
    b"{}",
    b"../../keys",
    b"x/../../v1/keys",
    b"x/observations",
    b"%2e%2e%2f",
    b"?a=1#b",
    b"' OR 1=1 --",
    b"<script>alert(1)</script>",
    b"{{ 7*7 }}{% raw %}",
    b"a\r\nX-Injected: yes",
    b"rat_0",
    b"job_0",
    b"cor_0",
    b"a: b\nc",
    b"a 1, b",
    b"http://[",
    b"http://127.0.0.1:99999/",
)
"""Hostile values of a field. None is the address of another machine."""

CONTENT_TYPES = (
    "",
    "text/plain",
    "application/json",
    f"{URLENCODED}; charset=punycode",
    f"{URLENCODED}; charset=undefined",
    f"{MULTIPART}; charset=unicode_escape",
    "multipart/form-data",
    "multipart/form-data; boundary=",
    f"multipart/form-data; boundary={'y' * 300}",
    'multipart/form-data; boundary="' + ";" * 300,
    "é; charset=utf-8",
)


@dataclass(frozen=True)
class PageForm:
    """A form of a page, or a link to a page with parameters.

    Attributes
    ----------
    method, action : str
        Method and address, as the page names them.
    fields : tuple of Field
        Fields with the values that a browser would send.
    files : tuple of str
        Names of the fields for files.
    multipart : bool
        Whether a browser sends the form as ``multipart/form-data``.
    """

    method: str
    action: str
    fields: tuple[Field, ...]
    files: tuple[str, ...] = ()
    multipart: bool = False


@dataclass(frozen=True)
class Variant:
    """A request: `what` names the form's action and the mutation."""

    what: str
    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, bytes] = field(default_factory=dict)


class _Page(HTMLParser):
    """Collects the forms and links of a page."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.links: set[str] = set()
        self._path, self._form = path, None
        self._select: str | None = None
        self._text: tuple[str, list[str]] | None = None

    _form: PageForm | None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read the beginning of an element."""
        named = {name: value or "" for name, value in attrs}
        for link in (named.get("href"), named.get("hx-get")):
            if link is not None and tag in {"a", "div", "section", "form", "button"} and link.startswith(("/", "?")):
                self.links.add(urljoin(self._path, link).partition("#")[0])
        match tag:
            case "form":
                action = urljoin(self._path, named.get("action") or self._path)
                multipart = named.get("enctype") == "multipart/form-data"
                self._form = PageForm(named.get("method", "get").upper(), action, (), multipart=multipart)
            case "input" if named.get("name") and named.get("type") == "file" and self._form is not None:
                self._form = replace(self._form, files=(*self._form.files, named["name"]))
            case "input" if named.get("name") and (
                named.get("type") not in {"checkbox", "radio"} or "checked" in named
            ):
                self._add(named["name"], named.get("value", "on"))
            case "button" if named.get("name"):
                self._add(named["name"], named.get("value", ""))
            case "select":
                self._select = named.get("name")
            case "option" if self._select and ("selected" in named or not self._has(self._select)):
                self._add(self._select, named.get("value", ""))
            case "textarea" if named.get("name"):
                self._text = (named["name"], [])

    def handle_endtag(self, tag: str) -> None:
        """Read the end of an element."""
        if tag == "form" and self._form is not None:
            self.forms.append(self._form)
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea" and self._text is not None:
            self._add(self._text[0], "".join(self._text[1]))
            self._text = None

    def handle_data(self, data: str) -> None:
        """Read the text of a text area."""
        if self._text is not None:
            self._text[1].append(data)

    def _has(self, name: str) -> bool:
        return self._form is not None and any(known == name for known, _ in self._form.fields)

    def _add(self, name: str, value: str) -> None:
        if self._form is not None:
            self._form = replace(self._form, fields=(*self._form.fields, (name, value.encode())))


def read_page(path: str, html: str) -> tuple[list[PageForm], set[str]]:
    """Return the forms of a page, and the addresses on this site that it links to."""
    page = _Page(path)
    page.feed(html)
    return page.forms, page.links


def as_form(address: str) -> PageForm:
    """Return a link as a form whose fields are the parameters of the address."""
    split = urlsplit(address)
    pairs = (pair.partition("=") for pair in split.query.split("&") if pair)
    return PageForm("GET", split.path, tuple((name, value.encode()) for name, _, value in pairs))


# ---------------------------------------------------------------------------- bodies
def urlencoded(fields: Sequence[Field]) -> bytes:
    """Return fields as a body of ``application/x-www-form-urlencoded``, or as a query."""
    return "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in fields).encode()


def multipart(fields: Sequence[Field], files: Sequence[tuple[str, bytes]] = (), head: str = "") -> bytes:
    """Return fields and files as a body of ``multipart/form-data``; `head` is added to the head of each field."""
    parts = [(f'name="{name}"', head, value) for name, value in fields]
    parts += [(f'name="{name}"; filename="a.csv"', "Content-Type: text/csv", value) for name, value in files]
    written = b""
    for named, more, value in parts:
        lines = (f"--{BOUNDARY}", f"Content-Disposition: form-data; {named}", *filter(None, [more]), "", "")
        written += "\r\n".join(lines).encode() + value + b"\r\n"
    return written + f"--{BOUNDARY}--\r\n".encode()


# ---------------------------------------------------------------------------- mutations
Mutation = Callable[[PageForm, Random], PageForm]


def _unchanged(form: PageForm, _: Random) -> PageForm:
    return form


def _replaced(form: PageForm, rng: Random) -> PageForm:
    return _changed(form, rng, lambda name, _: [(name, rng.choice(VALUES))])


def _all_replaced(form: PageForm, rng: Random) -> PageForm:
    value = rng.choice(VALUES)
    return replace(form, fields=tuple((name, old if name == "form_token" else value) for name, old in form.fields))


def _dropped(form: PageForm, rng: Random) -> PageForm:
    return _changed(form, rng, lambda *_: [])


def _repeated(form: PageForm, rng: Random) -> PageForm:
    return _changed(form, rng, lambda name, value: [(name, value), (name, rng.choice(VALUES)), (name, value)])


def _only_token(form: PageForm, _: Random) -> PageForm:
    return replace(form, fields=tuple(one for one in form.fields if one[0] == "form_token"))


def _empty(form: PageForm, _: Random) -> PageForm:
    return replace(form, fields=())


def _more(form: PageForm, rng: Random) -> PageForm:
    names = (
        "cursor",
        "page",
        "walk",
        "limit",
        "go",
        "act",
        "kind",
        "from",
        "version",
        "job",
        "rating",
        "\u202e",
        "a" * 300,
    )
    return replace(form, fields=(*form.fields, (rng.choice(names), rng.choice(VALUES))))


def _many(form: PageForm, rng: Random) -> PageForm:
    name = rng.choice(form.fields)[0] if form.fields else "a"
    return replace(form, fields=(*form.fields, *[(name, b"1")] * rng.choice((200, 6_000))))


def _wrong_token(form: PageForm, rng: Random) -> PageForm:
    fields = tuple((name, rng.choice(VALUES) if name == "form_token" else value) for name, value in form.fields)
    return replace(form, fields=fields)


def _other_id(form: PageForm, rng: Random) -> PageForm:
    parts = form.action.partition("?")[0].split("/")
    place = rng.randrange(1, len(parts)) if len(parts) > 2 else 1
    parts[place] = quote(rng.choice(VALUES)[:200], safe="")
    return replace(form, action="/".join(parts))


def _changed(form: PageForm, rng: Random, change: Callable[[str, bytes], list[Field]]) -> PageForm:
    """Change up to three fields, but not the token."""
    places = [place for place, (name, _) in enumerate(form.fields) if name != "form_token"]
    chosen = set(rng.sample(places, min(len(places), rng.choice((1, 1, 2, 3)))))
    pairs = [change(*one) if place in chosen else [one] for place, one in enumerate(form.fields)]
    return replace(form, fields=tuple(one for some in pairs for one in some))


MUTATIONS: tuple[Mutation, ...] = (
    _unchanged,
    _replaced,
    _replaced,
    _replaced,
    _all_replaced,
    _dropped,
    _dropped,
    _repeated,
    _only_token,
    _empty,
    _more,
    _many,
    _wrong_token,
    _other_id,
)


def variant(form: PageForm, rng: Random) -> Variant:
    """Return a hostile variant of the request that a browser would send for a form."""
    mutation = rng.choice(MUTATIONS)
    changed = mutation(form, rng)
    what = f"{form.method} {form.action} {mutation.__name__}"
    if form.method == "GET":
        query = urlencoded(changed.fields)[:50_000].decode()
        return Variant(what, "GET", f"{changed.action.partition('?')[0]}?{query}")
    files = [(name, rng.choice((b"", b"text\nA nurse.\n", b"\xff" * 300, b"a" * 100_000))) for name in changed.files]
    several = changed.multipart
    match rng.randrange(12):
        case 0:
            several = not several
        case 1:
            return _sent(what, changed, urlencoded(changed.fields), rng.choice(CONTENT_TYPES))
        case 2:
            return _sent(what, changed, multipart(changed.fields, files), rng.choice(CONTENT_TYPES))
        case 3:
            files = files * 2 or [("file", b"a"), (rng.choice(changed.fields or (("b", b""),))[0], b"b")]
            return _sent(what, changed, multipart(changed.fields, files), MULTIPART)
        case 4:
            head = f"Content-Type: text/plain; charset={rng.choice(('punycode', 'undefined', 'utf-8', 'utf-16'))}"
            return _sent(what, changed, multipart(changed.fields, files, head), MULTIPART)
        case 5:
            body = multipart(changed.fields, files)
            return _sent(what, changed, body[: rng.randrange(len(body))], MULTIPART)
    body = multipart(changed.fields, files) if several else urlencoded(changed.fields)
    return _sent(what, changed, body, MULTIPART if several else URLENCODED)


def _sent(what: str, form: PageForm, body: bytes, content_type: str) -> Variant:
    headers = {"Content-Type": content_type.encode("latin-1")} if content_type else {}
    return Variant(f"{what} as {content_type[:60]}", "POST", form.action, body, headers)
