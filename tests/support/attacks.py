"""Hostile requests and jobs: each costs an agency as much as a client can make it cost.

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
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

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
    """A caller of an agency.

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

    def job(self, path: str, output: str = "t", **more: Any) -> str:
        """Ask for a rating of the hostile service; return how the job ended."""
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
}
"""Every attack: its name, and the function that carries it out."""


def main() -> None:
    """Run attacks once each, or in turn for some seconds; print how each ended, as JSON."""
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
