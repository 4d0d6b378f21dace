"""Prometheus metrics of a worker and its child processes over HTTP.

The metrics can be read on the worker's own machine, or with an operator's API key that has the scope ``metrics:read``.
"""

import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.multiprocess import MultiProcessCollector

from store.core.database import Database
from store.core.errors import StoreUnavailable
from store.security import keys
from store.security.rights import OPERATOR_TENANT, is_local

REFUSED = {
    "401 Unauthorized": "Metrics are read on the worker's own machine, or with the operator's key for metrics:read.",
    "403 Forbidden": "This key is not the operator's, or lacks the scope metrics:read.",
    "503 Service Unavailable": "The key cannot be checked: the database does not answer.",
}
"""Statuses and texts of refused requests."""


def expose(host: str, port: int, folder: str, database_url: str) -> tuple[WSGIServer, threading.Thread]:
    """Serve the metrics in the files of `folder` at ``/metrics``, by the returned server and thread.

    Raise `OSError` if the port is taken. The database is opened only while a key is checked, one key at a time.
    """
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    app = _GuardedMetrics(make_wsgi_app(registry), database_url)
    server = make_server(host, port, app, _ServerOfIPv6 if ":" in host else ThreadingWSGIServer, _SilentHandler)
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    return server, thread


class _GuardedMetrics:
    """WSGI application that serves metrics to this machine and to holders of a key for metrics."""

    def __init__(self, app: Callable[..., Any], database_url: str) -> None:
        self._app, self._database_url, self._key_check_lock = app, database_url, threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        refusal_status = self._refusal_status(environ)
        if refusal_status is None:
            answer: Iterable[bytes] = self._app(environ, start_response)
            return answer
        challenge = [("WWW-Authenticate", 'Bearer realm="assay"')] if refusal_status.startswith("401") else []
        start_response(refusal_status, [("Content-Type", "text/plain; charset=utf-8"), *challenge])
        return [f"{REFUSED[refusal_status]}\n".encode()]

    def _refusal_status(self, environ: dict[str, Any]) -> str | None:
        """Return the HTTP status of a refusal; ``None`` if the caller may read the metrics."""
        authorization = environ.get("HTTP_AUTHORIZATION")
        if authorization is None:  # without a key, only a process of this machine may read them
            headers = (name.removeprefix("HTTP_").replace("_", "-") for name in environ if name.startswith("HTTP_"))
            return None if is_local(environ.get("REMOTE_ADDR"), headers) else "401 Unauthorized"
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.isascii():
            return "401 Unauthorized"
        try:
            with self._key_check_lock, closing(Database(self._database_url)) as database, database.read() as connection:
                key = keys.verify(connection, token)
        except StoreUnavailable:
            return "503 Service Unavailable"
        if key is None:
            return "401 Unauthorized"
        is_operator_key = key.tenant == OPERATOR_TENANT  # the metrics are of all tenants
        return None if is_operator_key and {"metrics:read", "admin"} & set(key.scopes) else "403 Forbidden"


class _ServerOfIPv6(ThreadingWSGIServer):
    address_family = socket.AF_INET6


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Log nothing, unlike the base class."""
