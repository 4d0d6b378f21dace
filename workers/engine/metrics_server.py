"""A worker's numbers over HTTP, those of its child processes included."""

from __future__ import annotations

import threading
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead


def expose(host: str, port: int, folder: str) -> tuple[WSGIServer, threading.Thread]:
    """Serve what the processes of this worker count in the files of `folder`, at ``/metrics``.

    Raises
    ------
    OSError
        If the port is taken.
    """
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    return start_http_server(port, addr=host, registry=registry)


def forget(pid: int, folder: str) -> None:
    """Drop the gauges of a process that ended; its counts stay."""
    mark_process_dead(pid, path=folder)  # type: ignore[no-untyped-call]
