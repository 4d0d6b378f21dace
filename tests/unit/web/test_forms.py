"""HTML forms of web pages: checks before a form is read, refused forms, and files sent by a form.

Row 86 of docs/reliability.md: forms were decoded by codecs that take quadratic time, without a key: 40 posts of 60 kB
delayed everybody by 13.7 s.
Row 88 of docs/reliability.md: with a key that may only read, 24 files of 60 MB were parsed and stored before scope and
places were checked.
"""

from __future__ import annotations

import html
import os
import time
from contextlib import suppress
from types import SimpleNamespace

import httpx
import pytest
from starlette.requests import Request

from service.app import create_app
from service.uploads import service as reception
from store.core import migrate
from store.core.database import Database
from store.core.settings import Settings
from store.corpora import uploads
from store.security import keys, sessions
from web.frame.form import MOST_FIELDS, MOST_FIELDS_BESIDE_A_FILE
from web.frame.visit import COOKIE, Visit
from web.site import AREAS, add_pages
from workers.targets.registry import TargetChecker

pytestmark = pytest.mark.anyio

POSTS = sorted((route.path, area.public) for area in AREAS for route in area.routes if "POST" in (route.methods or ()))
WITHOUT_SCOPE = {"/sign-in", "/sign-out"}
FILE_FORMS = ("/uploads", "/audits", "/corpora/{corpus_id}/import", "/corpora/{corpus_id}/images")
ORIGIN = "http://agency.test"
CODECS = ("punycode", "idna", "unicode_escape", "undefined", "utf-7", "latin-1", "utf-16", "raw_unicode_escape", "zip")
CSV = b"word,label\n" + b"a,1\n" * 50


class ReadTooEarly(AssertionError):
    """Raised if the body of a request is read, although it must not be."""


class Unreadable(httpx.AsyncByteStream):
    """A body that must not be read."""

    async def __aiter__(self):
        raise ReadTooEarly
        yield b""


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    settings = Settings(data_dir=tmp_path_factory.mktemp("agency"), auth="keys", public_url=ORIGIN)
    migrate.upgrade(settings.resolved_database_url)
    return settings


def opened_app(settings):
    app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda _: None)
    add_pages(app)
    return app


@pytest.fixture
def tokens(settings):
    """Return the session tokens of an administrator and of a person who may only read."""
    database = Database(settings.resolved_database_url)
    with database.write() as c:
        admin, _ = keys.create(c, "acme", ["admin"], "admin")
        reader, _ = keys.create(c, "acme", ["ratings:read"], "reader")
        found = SimpleNamespace(admin=sessions.begin(c, key_id=admin.id), reader=sessions.begin(c, key_id=reader.id))
    database.close()
    return found


@pytest.fixture
async def app(settings):
    app = opened_app(settings)
    yield app
    await app.state.service.database.close()


def browser(app, token=""):
    """Return a client that sends the cookie of a session, and accepts every status."""
    headers = {"Accept": "text/html"} | ({"Cookie": f"{COOKIE}={token}"} if token else {})
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers)


def form_token(app, token, tenant="acme"):
    """Return the token that forms of a session contain."""
    request = Request({"type": "http", "headers": [], "app": app})
    return Visit(request, SimpleNamespace(tenant=tenant), token, public=False).form_token


def path_of(route):
    return route.replace("{", "x").replace("}", "")


async def send_unread(client, path, **headers):
    """Send a form whose body must not be read; return the answer."""
    named = {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": "60000", **headers}
    return await client.send(client.build_request("POST", path, headers=named, content=Unreadable()))


# ---------------------------------------------------------------------------- before a form is read
@pytest.mark.parametrize(("route", "public"), POSTS)
async def test_a_form_from_another_site_is_refused_before_it_is_read(app, tokens, route, public):
    async with browser(app, tokens.admin) as client:
        for named in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert (await send_unread(client, path_of(route), **named)).status_code == 403


@pytest.mark.parametrize("route", [route for route, public in POSTS if not public])
async def test_a_form_without_a_session_is_refused_before_it_is_read(app, route):
    for token in ("", "wrong"):
        async with browser(app, token) as client:
            answer = await send_unread(client, path_of(route))
        assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")


@pytest.mark.parametrize("route", [route for route, _ in POSTS if route not in WITHOUT_SCOPE])
async def test_a_form_without_the_required_scope_is_refused_before_it_is_read(app, tokens, route):
    async with browser(app, tokens.reader) as client:
        answer = await send_unread(client, path_of(route))
    assert answer.status_code == 403
    assert "/problems/scope-missing" in answer.text


@pytest.mark.parametrize(("route", "public"), POSTS)
async def test_a_form_above_the_rate_limit_is_refused_before_it_is_read(settings, tokens, route, public):
    app = opened_app(settings.model_copy(update={"write_rate": "1/hour", "sign_in_rate": "1/hour"}))
    service = app.state.service
    await service.rate_limiter.take("127.0.0.1" if public else "acme", work="sign-ins" if public else "writes")
    async with browser(app, tokens.admin) as client:
        answer = await send_unread(client, path_of(route))
    await service.database.close()
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0


async def test_every_public_page_has_a_rate_limit_per_ip_address(settings):
    app = opened_app(settings.model_copy(update={"visit_rate": "3/hour"}))
    for path in ("/sign-in", "/registry", "/problems"):
        async with browser(app) as client:
            assert (await client.get(path)).status_code == 200
    async with browser(app) as client:
        paths = ("/", "/sign-in", "/log", "/methodology", "/nothing", "/keys")
        statuses = {(await client.get(path)).status_code for path in paths}
    await app.state.service.database.close()
    assert statuses == {429}


# ---------------------------------------------------------------------------- charsets
def part(name, content, *more):
    head = "\r\n".join([f'--x\r\nContent-Disposition: form-data; name="{name}"', *more])
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


def multipart(*parts):
    return b"".join(parts) + b"--x--\r\n"


def forms_in(charset):
    """Return forms that name a charset: content type and body."""
    large = b"\xc3\xbc" * 20_000 + b"-"
    urlencoded, several = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
    yield f"{urlencoded}; charset={charset}", b"key=" + large
    yield f'{urlencoded}; CharSet="{charset}"', b"key=" + large
    yield f"{several}; charset={charset}", multipart(part("key", large))
    yield f"multipart/form-data; charset={charset}; boundary=x", multipart(part("key", large))
    yield several, multipart(part("key", large, f"Content-Type: text/plain; charset={charset}"))
    yield several, multipart(part("_charset_", charset.encode()), part("key", large))
    yield urlencoded, f"_charset_={charset}&key=".encode() + large


@pytest.mark.parametrize("charset", CODECS)
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/keys", "/uploads"])
async def test_a_form_in_another_charset_than_utf_8_is_refused_at_once(app, tokens, path, charset):
    # before, 60 kB of punycode took a third of a second, 1 MB two minutes, and "undefined" was answered with 500
    async with browser(app, tokens.admin) as client:
        began = time.process_time()
        for content_type, body in forms_in(charset):
            answer = await client.post(path, content=body, headers={"Content-Type": content_type})
            assert answer.status_code == 415, (content_type, answer.text)
            assert "/problems/unsupported-media-type" in answer.text
        assert time.process_time() - began < 1


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf8"', "us-ascii"])
async def test_a_form_in_utf_8_is_read(app, tokens, charset):
    async with browser(app, tokens.admin) as client:
        token = form_token(app, tokens.admin)
        for content_type, body in (
            ("application/x-www-form-urlencoded", f"form_token={token}&name=caf%C3%A9&scopes=ratings:read".encode()),
            (
                "multipart/form-data; boundary=x",
                multipart(
                    part("form_token", token.encode()),
                    part("name", "café".encode(), f"Content-Type: text/plain; charset={charset}"),
                    part("scopes", b"ratings:read"),
                ),
            ),
        ):
            headers = {"Content-Type": f"{content_type}; charset={charset}"}
            answer = await client.post("/keys", content=body, headers=headers, follow_redirects=True)
            assert answer.status_code == 200, answer.text
        assert (await client.get("/keys")).text.count("café") >= 2


# ---------------------------------------------------------------------------- malformed forms
def malformed():
    """Return malformed forms: name, content type, body and status."""
    several, urlencoded = "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"
    yield "json", "application/json", b"{}", 415
    yield "no type", "", b"a=1", 415
    yield "no boundary", "multipart/form-data", multipart(part("a", b"1")), 400
    yield "long boundary", f"multipart/form-data; boundary={'x' * 3_000}", b"--x", 400
    yield "long type", f"multipart/form-data; boundary={'x' * 60_000}", b"--x", 415
    yield "quotes without end", 'multipart/form-data; boundary="' + ";" * 4_000, b"--x", 400
    yield "cut", several, part("a", b"1"), 400
    yield "empty", several, b"", 400
    yield "garbage", several, os.urandom(3_000), 400
    yield "no name", several, b"--x\r\nContent-Type: text/plain\r\n\r\n1\r\n--x--\r\n", 400
    yield "long header", several, multipart(part("a", b"1", "X: " + "y" * 60_000)), 400
    yield "many headers", several, multipart(part("a", b"1", *["X: y"] * 1_000)), 400
    yield "not utf-8", several, multipart(part("a", b"\xff\xfe")), 400
    yield "name not utf-8", several, multipart(part("a", b"1").replace(b'"a"', b'"\xff"')), 400
    yield "surrogate", urlencoded, b"a=%ED%A0%80", 400
    yield "escape not utf-8", urlencoded, b"a=%ff", 400
    yield "raw not utf-8", urlencoded, b"a=\xff", 400
    yield "NUL", urlencoded, b"a=%00", 422
    yield "NUL in a part", several, multipart(part("a", b"\0")), 422
    yield "many fields", urlencoded, b"a=1&" * (MOST_FIELDS + 1), 422
    yield "many parts", several, multipart(*[part("a", b"")] * (MOST_FIELDS + 1)), 422
    yield "a file", several, multipart(part('file"; filename="a', b"1")), 422


@pytest.mark.parametrize(
    ("content_type", "body", "status"), [row[1:] for row in malformed()], ids=[row[0] for row in malformed()]
)
async def test_a_malformed_form_is_answered_with_a_4xx_status(app, tokens, content_type, body, status):
    async with browser(app, tokens.admin) as client:
        headers = {"X-Form-Token": form_token(app, tokens.admin)} | (
            {"Content-Type": content_type} if content_type else {}
        )
        for path in ("/keys", "/webhooks"):
            answer = await client.post(path, content=body, headers=headers)
            assert answer.status_code == status, answer.text


@pytest.mark.parametrize("route", [route for route, public in POSTS if not public])
async def test_a_form_without_fields_never_causes_a_5xx_status(app, tokens, route):
    async with browser(app, tokens.admin) as client:
        headers = {"X-Form-Token": form_token(app, tokens.admin)}
        for content in ({}, {"unknown": "1"}):
            answer = await client.post(path_of(route), data=content, headers=headers)
            assert answer.status_code < 500, answer.text
            if route == "/sign-out":
                return  # the session has ended


# ---------------------------------------------------------------------------- files
async def upload(client, app, token, *, fields=None, files=None, **more):
    fields = {"form_token": form_token(app, token), "purpose": "table", "name": "x"} if fields is None else fields
    files = [("file", ("people.csv", CSV, "text/csv"))] if files is None else files
    answer = await client.post("/uploads", data=fields, files=files, **more)
    refused = "refused=" in answer.headers.get("location", "")
    return await client.get(answer.headers["location"]) if refused else answer


async def test_a_file_sent_by_a_form_is_stored_byte_for_byte(app, tokens):
    async with browser(app, tokens.admin) as client:
        for size in (1, 70_000, 3_000_000):
            content = CSV + (b"b" * 97 + b",0\n") * (size // 100)
            answer = await upload(client, app, tokens.admin, files=[("file", ("p.csv", content, "text/csv"))])
            assert answer.status_code == 303, answer.text
        listed = await app.state.service.database.read(_sizes, "acme")
    assert sorted(listed) == sorted(len(CSV) + 100 * (size // 100) for size in (1, 70_000, 3_000_000))


async def test_a_form_states_the_format_of_a_table_and_the_page_shows_how_it_was_read(app, tokens):
    content = 'name;pay\nJosé;"1,234"\n'.encode("cp1252")
    files = [("file", ("p.csv", content, "text/csv"))]
    async with browser(app, tokens.admin) as client:
        fields = {"form_token": form_token(app, tokens.admin), "purpose": "table", "name": "x"}
        refused = await upload(client, app, tokens.admin, fields=fields, files=files)
        assert "is not UTF-8" in html.unescape(refused.text)
        fields |= {"encoding": "windows-1252", "decimal": "comma"}
        assert (await upload(client, app, tokens.admin, fields=fields, files=files)).status_code == 303
        row, *_ = await app.state.service.database.read(_uploads, "acme")
        page = html.unescape((await client.get(f"/uploads/{row.id}")).text)
    assert row.summary["columns"][1]["values"] == [{"value": 1.234, "count": 1, "text": "1,234"}]
    for note in row.summary["notes"]:
        assert note in page


def _uploads(c, tenant):
    return uploads.page(c, tenant, limit=100)


def _sizes(c, tenant):
    return [row.bytes for row in uploads.page(c, tenant, limit=100)]


def refused_uploads():
    two = [("file", ("a.csv", CSV, "text/csv")), ("file", ("b.csv", CSV, "text/csv"))]
    yield "two files", None, two, 422
    yield "another field", None, [("other", ("a.csv", CSV, "text/csv"))], 422
    yield "many fields", [f"f{number}" for number in range(MOST_FIELDS_BESIDE_A_FILE)], None, 422
    yield "large field", ["y" * 70_000], None, 413
    yield "no file", None, [], 422


@pytest.mark.parametrize(
    ("names", "files", "status"), [row[1:] for row in refused_uploads()], ids=[row[0] for row in refused_uploads()]
)
async def test_an_upload_form_with_too_many_fields_or_files_stores_nothing(app, tokens, names, files, status):
    async with browser(app, tokens.admin) as client:
        before = await app.state.service.database.read(_sizes, "acme")
        fields = {"form_token": form_token(app, tokens.admin), "purpose": "table", "name": "x"}
        fields |= dict.fromkeys(names or (), "1") if not names or len(names) > 1 else {"large": names[0]}
        answer = await upload(client, app, tokens.admin, fields=fields, files=files)
        assert answer.status_code == status, answer.text
        assert await app.state.service.database.read(_sizes, "acme") == before


async def test_form_fields_after_the_file_are_refused(app, tokens):
    body = multipart(
        part("form_token", form_token(app, tokens.admin).encode()),
        part('file"; filename="a.csv', CSV),
        part("name", b"x"),
    )
    async with browser(app, tokens.admin) as client:
        answer = await client.post(
            "/uploads", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
    assert answer.status_code == 422
    assert "last field" in answer.text


async def test_an_upload_by_a_form_is_429_if_its_tenant_sends_too_many_files_at_a_time(app, tokens, monkeypatch):
    monkeypatch.setitem(reception._receiving, "acme", reception.MAX_RECEIVING_OF_TENANT)

    async def sent():
        yield part("form_token", form_token(app, tokens.admin).encode()) + part('file"; filename="a.csv', b"")[:-2]
        raise ReadTooEarly

    async with browser(app, tokens.admin) as client:
        answer = await client.post(
            "/uploads", content=sent(), headers={"Content-Type": "multipart/form-data; boundary=x"}
        )
    assert answer.status_code == 429


def open_files():
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            yield os.readlink(f"/proc/self/fd/{name}")


async def test_a_file_whose_sender_disconnects_leaves_nothing_behind(app, tokens, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    beginning = part("form_token", form_token(app, tokens.admin).encode()) + part(
        'file"; filename="a.csv', CSV * 10_000
    )
    waiting = [{"type": "http.request", "body": beginning, "more_body": True}, {"type": "http.disconnect"}]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/uploads", "raw_path": b"/uploads", "query_string": b"", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("agency.test", 80),
        "headers": [
            (b"host", b"agency.test"), (b"accept", b"text/html"), (b"cookie", f"{COOKIE}={tokens.admin}".encode()),
            (b"content-type", b"multipart/form-data; boundary=x"),
        ],
    }  # fmt: skip
    sent = []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    assert sent == []
    assert "request failed" not in caplog.text
    assert reception._receiving.total() == 0
    assert list(tmp_path.iterdir()) == []
    assert [file for file in open_files() if file.startswith(str(tmp_path))] == []  # files without a name
