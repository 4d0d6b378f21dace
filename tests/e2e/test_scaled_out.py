"""API and workers in separate processes with real Postgres and Redis give the ratings of an embedded run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import pytest
from standardwebhooks import Webhook

from store.core.child_processes import ending_with_this_process

SHORT = {
    "ASSAY_LEASE_S": "2",
    "ASSAY_HEARTBEAT_S": "0.5",
    "ASSAY_RECONCILE_S": "1",
    "ASSAY_REDISPATCH_S": "3",
    "ASSAY_AUTH": "none",
    "ASSAY_SECRET_KEY": "a key that all processes share",
}
OF_ONE_RUN = ("id", "rated_at", "expires_at")


def request(url: str, seed: int) -> dict:
    return {
        "target": {
            "name": "a service",
            "kind": "translator",
            "protocol": "libretranslate",
            "base_url": url,
            "limits": {"concurrency": 2, "timeout_s": 5},
        },
        "experiment": {"method": "round-trip", "attribute": "gender"},
        "seed": seed,
    }


def numbers_of(port: int) -> dict[str, float]:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


@pytest.fixture
def environment(postgres_url: str, redis_url: str) -> dict[str, str]:
    return {**SHORT, "ASSAY_DATABASE_URL": postgres_url, "ASSAY_BROKER_URL": redis_url}


@pytest.fixture
def work(environment: dict[str, str], tmp_path) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}

    def start() -> subprocess.Popen[bytes]:
        with (tmp_path / f"worker-{len(started)}.log").open("wb") as output:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "cli.main", "worker", "--concurrency", "2"],
                    env={**clean, **environment, "ASSAY_EGRESS_ALLOW": "127.0.0.0/8"},
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=ending_with_this_process(),
                )
            )
        return started[-1]

    yield start
    for one in started:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait(10)


def ratings(one, jobs: list[dict]) -> list[dict]:
    found = []
    for job in jobs:
        ended = one.finished(job["id"], 90)
        assert ended["status"] == "succeeded", ended
        rating = one.agency.get(ended["rating"]["href"])
        found.append({name: value for name, value in rating.items() if name not in OF_ONE_RUN})
    return found


def test_jobs_survive_a_killed_worker_and_get_the_ratings_of_an_embedded_run(serve, work, services, environment):
    names = ["faithful", "always-he", "slow"]
    embedded = serve()
    expected = ratings(embedded, [embedded.agency.post("/v1/jobs", request(services.url(n), 5)) for n in names])
    embedded.stop()

    agency = serve(**environment)
    victim = work()
    posted = [agency.agency.post("/v1/jobs", request(services.url(n), 5)) for n in names]
    slow, until = posted[-1]["id"], time.monotonic() + 60
    while agency.agency.get(f"/v1/jobs/{slow}")["asked"] < 10 and time.monotonic() < until:
        time.sleep(0.1)
    assert agency.agency.get(f"/v1/jobs/{slow}")["status"] == "running"
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait(10)
    work()
    assert ratings(agency, posted) == expected
    assert agency.agency.get(f"/v1/jobs/{slow}")["attempt"] >= 2


def test_a_job_is_accepted_while_redis_is_down(serve, services, environment):
    agency = serve(**{**environment, "ASSAY_BROKER_URL": "redis://127.0.0.1:1/0"})
    job = agency.agency.post("/v1/jobs", request(services.url("faithful"), 1))
    assert job["status"] == "queued"


def test_a_worker_exports_metrics_of_its_child_processes_and_releases_its_job_when_stopped(
    serve, work, services, environment
):
    agency = serve(**environment)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment["ASSAY_METRICS_PORT"] = str(port)
    worker = work()
    posted = [agency.agency.post("/v1/jobs", request(services.url("faithful"), seed)) for seed in range(3)]
    for job in posted:
        assert agency.finished(job["id"], 90)["status"] == "succeeded"
    slow = agency.agency.post("/v1/jobs", request(services.url("slow"), 9))
    until = time.monotonic() + 60
    while agency.agency.get(f"/v1/jobs/{slow['id']}")["asked"] < 5 and time.monotonic() < until:
        time.sleep(0.1)
    numbers = numbers_of(port)
    assert numbers['assay_jobs_left_total{how="succeeded"}'] == 3
    assert numbers["assay_jobs_claimed_total"] == 4
    assert numbers["assay_dispatch_delay_seconds_count"] == 4

    worker.terminate()
    assert worker.wait(30) == 0
    left = agency.agency.get(f"/v1/jobs/{slow['id']}")
    assert left["status"] == "queued"
    work()
    assert agency.finished(slow["id"], 90)["attempt"] == 2


def test_a_worker_delivers_webhooks(serve, work, environment):
    heard: list[tuple[dict[str, str], bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            notice = json.loads(body)
            token = notice["data"].get("challenge", "").encode()
            if not token:
                heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(200)
            self.send_header("Content-Length", str(len(token)))
            self.end_headers()
            self.wfile.write(token)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        one = serve(**environment)
        work()
        url = f"http://127.0.0.1:{receiver.server_port}"
        made = one.agency.post("/v1/webhooks", {"url": f"{url}/hook"})
        job = one.agency.post("/v1/jobs", request("http://127.0.0.1:1", 5) | {"callback_url": f"{url}/callback"})
        one.finished(job["id"], 60)
        deadline = time.monotonic() + 120
        while len(heard) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        receiver.shutdown()
    assert len(heard) == 2
    headers, body = next(each for each in heard if each[0]["webhook-signature"].startswith("v1,"))
    told = Webhook(made["secret"]).verify(body, headers)
    assert (told["type"], told["data"]["job_id"]) == ("job.failed", job["id"])
