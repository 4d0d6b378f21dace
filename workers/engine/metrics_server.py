"""Prometheus metrics of a worker and its child processes over HTTP."""

from __future__ import annotations

import threading
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead


def expose(host: str, port: int, folder: str) -> tuple[WSGIServer, threading.Thread]:
    """Serve the metrics in the files of `folder` at ``/metrics``; raise `OSError` if the port is taken."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    return start_http_server(port, addr=host, registry=registry)


def forget(pid: int, folder: str) -> None:
    """Delete the gauges of a process that ended; its counters stay."""
    mark_process_dead(pid, path=folder)  # type: ignore[no-untyped-call]
