"""A JSON service on the loopback address, for tests that run without an event loop."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def answer_challenge(notice: Mapping[str, Any]) -> dict[str, str]:
    """Return the answer to a webhook's notice: the token of a challenge, or an empty object."""
    return {"challenge": notice["data"]["challenge"]} if notice["type"] == "webhook.challenge" else {}


@contextmanager
def json_server(
    answer: Callable[[Any], Any], received: list[tuple[str, Message, bytes]] | None = None
) -> Iterator[str]:
    """Answer every posted document with `answer(document)`; yield the address; add requests to `received`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if received is not None:
                received.append((self.path, self.headers, body))
            said = json.dumps(answer(json.loads(body))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
