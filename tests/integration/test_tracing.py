"""Tests of tracing: spans are exported to a collector over HTTP and contain no secret."""

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from cli.agency.tracing import start_tracing
from store.core.settings import Settings

PROGRAM = """
import asyncio, sys, tempfile
import httpx
from pathlib import Path
from cli.agency.tracing import start_tracing
from service.app import create_app
from store.core import migrate
from store.core.settings import Settings
from workers.targets.registry import TargetChecker
from workers.run_job import run_job
from workers.engine.tasks import open_context

folder = tempfile.mkdtemp()
settings = Settings(data_dir=Path(folder), otel_endpoint=sys.argv[1], egress_allow="127.0.0.0/8")
migrate.upgrade(settings.resolved_database_url)
provider = start_tracing(settings, "api")
app = create_app(settings, validator=TargetChecker(settings), doorbell=lambda job: None, tracer_provider=provider)

async def post_job():
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        target = {"name": "t", "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:1",
                  "secret": "very-secret-word"}
        asked = {"target": target, "experiment": {"method": "round-trip", "attribute": "gender"}}
        return (await client.post("/v1/jobs", json=asked)).json()["id"]

run_job(asyncio.run(post_job()), open_context(settings), "here")
provider.shutdown()
"""


@pytest.fixture
def collector():
    received: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", received
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_request_and_job_export_spans_without_secrets(collector):
    url, received = collector
    subprocess.run([sys.executable, "-c", PROGRAM, url], check=True, timeout=120)
    spans, facts = [], {}
    for body in received:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            facts |= {each.key: each.value.string_value for each in resource.resource.attributes}
            spans += [span for scope in resource.scope_spans for span in scope.spans]
    assert facts["service.name"] == "assay"
    assert {"POST /v1/jobs", "job"} <= {span.name for span in spans}
    job = next(span for span in spans if span.name == "job")
    attributes = {each.key: each.value for each in job.attributes}
    assert attributes["job"].string_value.startswith("job_")
    assert attributes["left"].string_value == "failed"
    assert not any(b"very-secret-word" in body for body in received)


def test_tracing_is_off_without_a_collector():
    assert start_tracing(Settings(), "api") is None
