"""Hostile requests and jobs that make an agency use as much memory and processor time as possible.

Each of `ATTACKS` is one row of the table in docs/reliability.md. The attacks run in a separate process
(``python -m tests.support.attacks``), so that they do not delay the client that measures.
"""

from __future__ import annotations

import json
import socket
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache, cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from demo.translators.behaviours import BEHAVIOURS
from tests.support.bombs import dictionary_bomb, pixel_bomb, words_bomb
from tests.support.key_files import TOO_LARGE, USABLE, rsa_key, service_account

MIB = 1 << 20
EXPENSIVE = "not_null(t, [*].[a, a, a, a] | [0][0])"
"""A permitted output expression that takes five steps for each object of a reply."""


Content = bytes | Iterator[bytes]

ENDED = frozenset({"succeeded", "failed", "cancelled"})


class Attacker:
    """A caller with an API key who attacks an agency; methods send requests and return their outcomes as text.

    Parameters
    ----------
    url : str
        Address of the agency.
    key : str
        A valid key of the caller's tenant.
    patience_s : float
        How long connections are held and ends of jobs are awaited.
    """

    def __init__(self, url: str, key: str, patience_s: float) -> None:
        self.url, self.key, self.patience_s = url, key, patience_s
        self._stack = ExitStack()
        self.client = self._stack.enter_context(
            httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120, trust_env=False)
        )

    @property
    def authorization(self) -> bytes:
        """Return the header with the caller's key."""
        return f"Authorization: Bearer {self.key}".encode()

    def close(self) -> None:
        """Close the connections and the hostile service."""
        self._stack.close()

    def post(
        self, path: str, content: bytes | Iterator[bytes], media_type: str = "application/json", **more: Any
    ) -> str:
        """Post a body; return the status of the answer."""
        try:
            answer = self.client.post(path, content=content, headers={"Content-Type": media_type}, **more)
        except httpx.TransportError as error:
            return type(error).__name__
        return str(answer.status_code)

    def upload(self, content: Content, media_type: str, purpose: str = "table") -> str:
        """Send a file; return the status of the answer."""
        return self.post("/v1/uploads", content, media_type, params={"purpose": purpose, "name": "x"})

    def hold(self, connections: int, beginning: bytes, piece: bytes) -> str:
        """Open connections, send the beginning and then one piece a second on each; return how many were closed."""
        address = (urlsplit(self.url).hostname, urlsplit(self.url).port)
        with ExitStack() as stack:
            held = [stack.enter_context(socket.create_connection(address, 30)) for _ in range(connections)]
            open_ones, until = set(held), time.monotonic() + self.patience_s
            for each in held:
                each.setblocking(False)
                with suppress(OSError):
                    each.send(beginning)
            while open_ones and time.monotonic() < until:
                time.sleep(1)
                open_ones -= {each for each in open_ones if not _still_open(each, piece)}
            return f"{connections - len(open_ones)} of {connections} cut"

    @property
    def service(self) -> str:
        """Start a hostile service, which answers with as much data as it can; return its address."""
        server = _Server(("127.0.0.1", 0), _Hostile)
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._stack.callback(server.shutdown)
        return f"http://127.0.0.1:{server.server_address[1]}"

    @cached_property
    def session(self) -> httpx.Client:
        """Sign in with the key; return a client with the session's cookie and the token of its forms."""
        client = httpx.Client(base_url=self.url, headers={"Accept": "text/html"}, timeout=120, trust_env=False)
        self._stack.enter_context(client)
        answer = client.post("/sign-in", data={"key": self.key, "form_token": _form_token(client.get("/sign-in").text)})
        client.headers["Cookie"] = answer.headers["set-cookie"].partition(";")[0]  # Secure, so httpx would not send it
        client.headers["X-Form-Token"] = _form_token(client.get("/keys").text)
        return client

    def form(self, path: str, content: Content, media_type: str = "application/x-www-form-urlencoded") -> str:
        """Send a form as a person who is signed in; return the status of the answer."""
        try:
            return str(self.session.post(path, content=content, headers={"Content-Type": media_type}).status_code)
        except httpx.TransportError as error:
            return type(error).__name__

    def anonymous_page(self, path: str) -> str:
        """Request a page without a session; return the status of the answer."""
        return str(httpx.get(self.url + path, headers={"Accept": "text/html"}, timeout=120).status_code)

    def anonymous(self, path: str, content: bytes, media_type: str, times: int = 1) -> str:
        """Send a form without a session, `times` times; return the different statuses of the answers."""
        headers = {"Content-Type": media_type, "Accept": "text/html"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False) as client:
            return " ".join(sorted({str(client.post(path, content=content).status_code) for _ in range(times)}))

    def job(self, path: str, output: str = "t", **more: Any) -> str:
        """Request a rating of the hostile service at `path`; return the ended job's status and error code as text."""
        target: dict[str, Any] = {"name": "hostile", "kind": "translator", "protocol": "custom"}
        target["base_url"] = f"{self.service}{path}"
        target["settings"] = {"output": output, "body": {"q": "{text}", "from": "{source}", "to": "{target}"}}
        target["limits"] = {"concurrency": 16, "timeout_s": 10}
        asked = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender", "languages": ["es"]}}
        deadline = {"deadline_s": max(5, int(self.patience_s))}
        answer = self.client.post("/v1/jobs", json={**asked, **deadline, "seed": time.monotonic_ns() % 2**31, **more})
        if answer.status_code != 202:
            return str(answer.status_code)
        until, job = time.monotonic() + self.patience_s + 30, answer.json()
        while job["status"] not in ENDED and time.monotonic() < until:
            answer = self.client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=5"})
            if answer.status_code == 200:  # other statuses mean that the client should retry
                job = answer.json()
        return f"{job['status']} {(job['error'] or {}).get('code', '')}".strip()


def _form_token(page: str) -> str:
    return page.partition('name="form_token" value="')[2].partition('"')[0]


def _still_open(connection: socket.socket, piece: bytes) -> bool:
    try:
        connection.send(piece)
        connection.recv(1 << 16)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False  # an answer or the end of the connection


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Print nothing when the agency closes a connection."""


class _Hostile(BaseHTTPRequestHandler):
    """A faithful translator that answers one question in four with as much data as it can."""

    protocol_version = "HTTP/1.1"
    WORST: Mapping[str, bytes] = {
        "/objects": b"[" + b"{}," * 349_000 + b"{}]",
        "/text": json.dumps({"t": "x" * 1_000_000}).encode(),
        "/deep": b"[" * 500_000 + b"]" * 500_000,
        "/marks": json.dumps({"t": "#" * 10_000}).encode(),
        "/titles": b"<title" * 170_000,
    }
    """Replies by path; on any other path the answer never ends."""

    def do_POST(self) -> None:
        """Answer a call."""
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        text = str(asked["q"])
        reply = self.WORST.get(self.path)
        # questions of the examination contain numbers, and are answered correctly
        if self.path != "/titles" and ("number" in text or zlib.crc32(text.encode()) % 4):
            reply = json.dumps({"t": BEHAVIOURS["faithful"].translate(text, asked["from"], asked["to"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if reply is not None:
            self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(reply or b'"')
            while reply is None:
                self.wfile.write(b"x" * 65_536)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


# ---------------------------------------------------------------------------- the attacks
@cache
def _parquet() -> bytes:
    return dictionary_bomb()


@cache
def _npz() -> bytes:
    return words_bomb()


@cache
def _png() -> bytes:
    return pixel_bomb(6_000, 6_000)


def _picture(attacker: Attacker) -> str:
    made = attacker.client.post("/v1/corpora", json={"name": "p", "kind": "images", "attribute": "gender"})
    if made.status_code != 201:
        return str(made.status_code)
    return attacker.post(f"/v1/corpora/{made.json()['id']}/images", _png(), "image/png", params={"term": "a"})


def _slow_files(attacker: Attacker) -> str:
    def rows() -> Iterator[bytes]:
        yield b"number\n"
        for _ in range(8):
            yield b"1\n" * (MIB // 2) + b"%d\n" % time.monotonic_ns()

    def send(_: int) -> str:
        return attacker.upload(rows(), "text/csv")

    with ThreadPoolExecutor(8) as pool:
        return " ".join(sorted(pool.map(send, range(8))))


@cache
def _wide_table() -> str:
    columns = [f"c{number}" for number in range(100)]
    row = ",".join(f"{'y' * 10}{number}" for number in range(100))
    return "\n".join([",".join(["a", *columns]), *(f"{number % 2},{number}{row}" for number in range(20_000))])


def _large_table(attacker: Attacker) -> str:
    sent = attacker.client.post("/v1/uploads", content=_wide_table(), headers={"Content-Type": CSV}, params=TABLE)
    records = {"upload": sent.json().get("id", ""), "column": "a", "values": [0, 1], "most": 20_000}
    experiment = {"method": "alternation", "attribute": "gender", "records": records}
    return attacker.post("/v1/jobs", json.dumps({"target": _classifier(), "experiment": experiment}).encode())


def _half_titles(attacker: Attacker) -> str:
    target = json.loads(_target({"body": "{text}"})) | {"base_url": f"{attacker.service}/titles"}
    return str(attacker.client.post("/v1/targets/probe", json=target, headers={"Prefer": "wait=30"}).status_code)


def _without_key(attacker: Attacker) -> str:
    body = b'{"a": [' + b"{}," * 340_000 + b"{}]}"
    head = {"Content-Type": "application/json", "Authorization": "Bearer assay_wrong"}
    try:
        return str(httpx.post(f"{attacker.url}/v1/jobs", content=body, headers=head, timeout=60).status_code)
    except httpx.TransportError as error:
        return type(error).__name__


def _target(settings: Mapping[str, Any]) -> bytes:
    target = {"name": "x", "kind": "translator", "protocol": "custom", "base_url": "http://127.0.0.1:9"}
    return json.dumps({**target, "settings": settings}).encode()


def _experiment(**fields: Any) -> bytes:
    target = json.loads(_target({"body": "{text}"}))
    return json.dumps({"target": target, "experiment": {"method": "round-trip", **fields}}).encode()


TABLE = {"purpose": "table", "name": "x"}
PARQUET, CSV, BYTES = "application/vnd.apache.parquet", "text/csv", "application/octet-stream"
EMPTY_OBJECTS = b"{}," * 340_000 + b"{}"
HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def _long_key(attacker: Attacker) -> str:
    return str(attacker.client.post("/v1/targets", json={}, headers={"Idempotency-Key": "k" * 60_000}).status_code)


def _to_targets(content: bytes) -> Callable[[Attacker], str]:
    return lambda attacker: attacker.post("/v1/targets", content)


def _to_jobs(**fields: Any) -> Callable[[Attacker], str]:
    return lambda attacker: attacker.post("/v1/jobs", _experiment(attribute="gender", **fields))


def _classifier() -> dict[str, Any]:
    return {**json.loads(_target({"body": "{text}"})), "kind": "classifier"}


def _large_suite(attacker: Attacker) -> str:
    rows = [{"a": number % 2, "b": number, "c": number} for number in range(18_000)]
    records = {"column": "a", "values": [0, 1], "rows": rows}
    targets = [_classifier() | {"base_url": f"http://127.0.0.1:{port}"} for port in range(1, 51)]
    suite = {"targets": targets, "methods": ["alternation"], "attributes": ["gender"]}
    return attacker.post(
        "/v1/suites", json.dumps({**suite, "settings": {"alternation": {"records": records}}}).encode()
    )


def _many_words(attacker: Attacker) -> str:
    words = {"attribute": "gender", "first": "men", "second": "women", "pairs": [["m", "f"]], "first_terms": ["r"]}
    experiment = {
        "method": "stereotype-score",
        "words": [{**words, "name": f"w{number}"} for number in range(20)],
        "sentences": [{"text": f"{'m r ' * 240}{number}"} for number in range(900)],
    }
    target = json.loads(_target({"body": "{text}"})) | {"kind": "language-model"}
    return attacker.post("/v1/jobs/plan", json.dumps({"target": target, "experiment": experiment}).encode())


def _large_key() -> bytes:
    target = json.loads(_target({"auth": "gcp-service-account", "body": "{text}"}))
    return json.dumps(target | {"secret": service_account(rsa_key(TOO_LARGE))}).encode()


def _suite_with_keys(attacker: Attacker) -> str:
    target = json.loads(_target({"auth": "gcp-service-account", "body": "{text}", "output": "t"}))
    key = service_account(rsa_key(USABLE))
    saved = attacker.client.post("/v1/targets", json=target | {"secret": key}).json()
    described = [target | {"secret": key, "base_url": f"http://127.0.0.1:{port}"} for port in range(1, 26)]
    targets = [{"id": saved.get("id", "")}] * 25 + described
    suite = {"targets": targets, "methods": ["round-trip"], "attributes": ["gender"], "languages": ["es"]}
    return attacker.post("/v1/suites/plan", json.dumps(suite).encode())


BOUNDARY = "x" * 20
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
"""Media type of forms with several parts."""


def _part(name: str, content: bytes, more: str = "") -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def _parts(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


def _file_of(size: int) -> Iterator[bytes]:
    """Yield the pieces of a form that uploads a table of about `size` bytes."""
    yield _part("purpose", b"table") + _part("file", b"a,b\n", '; filename="a.csv"')[:-2]
    for _ in range(size >> 20):
        yield (b"x" * 4_095 + b"\n") * 256
    yield b"\r\n" + _parts()


def _file_of_a_reader(attacker: Attacker) -> str:
    made = attacker.client.post("/v1/keys", json={"name": "reader", "scopes": ["ratings:read"]})
    reader = Attacker(attacker.url, made.json()["key"], attacker.patience_s)
    try:
        return reader.form("/uploads", _file_of(60 * MIB), MULTIPART)
    finally:
        reader.close()


def _sign_ins(attacker: Attacker) -> str:
    with httpx.Client(base_url=attacker.url, headers={"Accept": "text/html"}, timeout=120, trust_env=False) as client:
        form = {"key": attacker.key, "form_token": _form_token(client.get("/sign-in").text)}
        return str([client.post("/sign-in", data=form).status_code for _ in range(100)][-1])


def _wizard(attacker: Attacker) -> str:
    fields = {"kind": "translator", "protocol": "custom", "base_url": "http://127.0.0.1:9/", "go": "sure"}
    written = "[" + "{}," * 20_000 + "{}]"
    settings = {f"settings.{name}": written for name in ("body", "headers", "parameters", "output", "query")}
    return attacker.form("/new", urlencode({**fields, **settings}).encode())


def _slow_bodies(attacker: Attacker) -> str:
    return attacker.hold(200, HEAD + attacker.authorization + b"\r\nContent-Length: 1000000\r\n\r\n{", b" ")


ATTACKS: Mapping[str, Callable[[Attacker], str]] = {
    # files
    "Parquet of 1 kB that unpacks to 14 GB": lambda one: one.upload(_parquet(), PARQUET),
    "npz of 2 MB that unpacks to 480 MB": lambda one: one.upload(_npz(), BYTES, "embedding"),
    "PNG of 36 million pixels": _picture,
    "CSV with a million columns": lambda one: one.upload(b"a," * 1_000_000 + b"a\n1\n", CSV),
    "CSV with a cell of 48 MB": lambda one: one.upload(b'a\n"' + b"x\n" * (24 * MIB) + b'"\n', CSV),
    "eight uploads of 8 MB at once": _slow_files,
    "table of 28 MB that a job names": _large_table,
    # JSON
    "JSON nested 500,000 deep": _to_targets(b"[" * 500_000 + b"]" * 500_000),
    "JSON with 80,000 unknown fields": _to_targets(json.dumps({f"f{n}": 1 for n in range(80_000)}).encode()),
    "JSON with 340,000 empty objects": lambda one: one.post("/v1/corpora", b'{"name": [' + EMPTY_OBJECTS + b"]}"),
    "JSON with 250,000 wrong distributions": _to_jobs(unbiased=[{}] * 250_000),
    "JSON with 100,000 wrong languages": _to_jobs(languages=["xx-yy"] * 90_000),
    "JSON of 1 MB without a valid key": _without_key,
    # forms and pages
    "40 forms of 60 kB in punycode without a key": lambda one: one.anonymous(
        "/sign-in", _parts(_part("key", b"\xc3\xbc" * 30_000)), f"{MULTIPART}; charset=punycode", 40
    ),
    "form of 1 MB in punycode without a key": lambda one: one.anonymous(
        "/sign-out", _parts(_part("key", b"\xc3\xbc" * 500_000)), f"{MULTIPART}; charset=punycode"
    ),
    "form of 64 kB in 20,000 fields without a key": lambda one: one.anonymous(
        "/sign-in", b"a=&" * 20_000, "application/x-www-form-urlencoded"
    ),
    "address of 60,000 characters of a page without a key": lambda one: one.anonymous_page("/log?" + "a=1&" * 15_000),
    "form of 1 MB of escapes": lambda one: one.form("/keys", b"name=" + b"%C3%BC" * 170_000),
    "form of 1 MB in 10,500 parts": lambda one: one.form("/keys", _parts(*[_part("f", b"x")] * 10_500), MULTIPART),
    "form of the wizard with 300 kB of JSON": _wizard,
    "chain of 1,500 ratings in an address": lambda one: str(
        one.session.get("/compose?" + "rating=x&" * 1_500).status_code
    ),
    "file of 60 MB in a form of a key that may only read": _file_of_a_reader,
    "file of 60 MB in a form": lambda one: one.form("/uploads", _file_of(60 * MIB), MULTIPART),
    # more JSON
    "suite of 50 services with 18,000 rows": _large_suite,
    "900 long sentences with 20 lists of words": _many_words,
    # keys
    "service account with a key of 8,676 bits": _to_targets(_large_key()),
    "suite of 50 services with keys of 3,482 bits": _suite_with_keys,
    # texts
    "JMESPath of 900,000 characters": _to_targets(_target({"output": "(" * 450_000 + ")" * 450_000})),
    "JMESPath of 500 characters, nested": _to_targets(_target({"output": "[" * 250 + "]" * 250})),
    "Idempotency-Key of 60,000 characters": _long_key,
    "query of 60,000 characters": lambda one: str(one.client.get("/v1/jobs?" + "a=1&" * 15_000).status_code),
    # connections
    "200 half-sent headers": lambda one: one.hold(200, HEAD, b""),
    "200 headers sent a byte a second": lambda one: one.hold(200, HEAD + b"X: ", b"a"),
    "200 bodies sent a byte a second": _slow_bodies,
    # services
    "test of a service that answers 1 MB of half titles": _half_titles,
    "job whose service answers 10,000 marks": lambda one: one.job("/marks"),
    "job whose service answers without end": lambda one: one.job("/endless"),
    "job whose service answers 1 MB of text": lambda one: one.job("/text"),
    "job whose service answers 349,000 objects": lambda one: one.job("/objects"),
    "job whose expression takes a million steps": lambda one: one.job("/objects", EXPENSIVE),
    "job whose service answers JSON 500,000 deep": lambda one: one.job("/deep"),
    # last, because nobody signs in from this address for a minute afterwards
    "100 sign-ins with a key": _sign_ins,
}
"""Every attack: its name, and the function that carries it out."""


def main() -> None:
    """Run each attack once, or all in turn for some seconds; print the outcome of each as JSON."""
    order = json.load(sys.stdin)
    attacker, ended = Attacker(order["url"], order["key"], order["patience_s"]), dict[str, list[str]]()
    until = time.monotonic() + order["seconds"]
    for name in cycle(order["names"]) if order["seconds"] else order["names"]:
        ended.setdefault(name, []).append(ATTACKS[name](attacker))
        if order["seconds"] and time.monotonic() > until:
            break
    attacker.close()
    json.dump(ended, sys.stdout)


if __name__ == "__main__":
    main()
