"""The proxy's configuration of deploy/, run by nginx in front of a real `assay serve`.

Row 96 of docs/reliability.md: in spite of ASSAY_PUBLIC_URL, the page `/r/{id}` and its certificate named the host of an
attacker's request, and were cached for a minute.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from store.core.child_processes import ending_with_this_process
from tests.support.costs import Victim, victim
from tests.support.counting_target import CountingTarget, rating_request
from tests.support.redis import free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "proxy" / "nginx.conf"
HTTPS = 8443
FOLDER = "/etc/nginx/certificates"

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: nginx-light)")


def make_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "fullchain.pem").write_bytes(made.public_bytes(pem))
    (folder / "privkey.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


@contextlib.contextmanager
def proxy(folder: Path, api: str, **more: str) -> Iterator[tuple[int, ssl.SSLContext]]:
    """Run nginx with the shipped configuration, in which only addresses, ports and folders are replaced.

    Yields its port, and a TLS context that trusts its certificate.
    """
    make_certificate(folder)
    port, written = free_port(), CONFIGURATION.read_text(encoding="utf-8")
    changes = {
        " /tmp/": f" {folder}/",
        FOLDER: str(folder),
        "http://api:8000": api,
        f"listen {HTTPS} ": f"listen 127.0.0.1:{port} ",
        "listen 8080": f"listen 127.0.0.1:{free_port()}",
        "${ASSAY_HOST}": "localhost",
        **more,
    }
    for shipped, here in changes.items():
        assert shipped in written, f"{shipped!r} is not in nginx.conf"
        written = written.replace(shipped, here)
    (folder / "nginx.conf").write_text(written, encoding="utf-8")
    user = "user root; " if os.geteuid() == 0 else ""  # its processes must reach the folder of this test
    command = [
        str(NGINX),
        "-e",
        "stderr",
        "-p",
        str(folder),
        "-c",
        str(folder / "nginx.conf"),
        "-g",
        f"{user}daemon off;",
    ]
    with (
        (folder / "nginx.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, preexec_fn=ending_with_this_process()) as up,
    ):
        try:
            for _ in range(100):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert up.poll() is None, (folder / "nginx.log").read_text()
                time.sleep(0.1)
            yield port, ssl.create_default_context(cafile=str(folder / "fullchain.pem"))
        finally:
            up.terminate()
            up.wait(20)


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Victim, int, ssl.SSLContext]]:
    """An agency, the port of the proxy in front of it, and a TLS context that trusts the proxy's certificate."""
    with (
        victim(ASSAY_TRUSTED_PROXIES="127.0.0.1/32") as here,
        proxy(tmp_path_factory.mktemp("proxy"), here.url, **{"timeout 15s": "timeout 2s"}) as (port, context),
    ):
        yield here, port, context


@pytest.fixture
def outside(behind) -> Iterator[httpx.Client]:
    """An honest client with a key, who calls through the proxy."""
    here, port, context = behind
    headers = {"Authorization": f"Bearer {here.key('honest')}"}
    with httpx.Client(
        base_url=f"https://localhost:{port}", headers=headers, verify=context, timeout=30, trust_env=False
    ) as client:
        yield client


def test_the_api_is_reached_over_https_and_links_to_its_public_address(outside):
    assert outside.get("/livez").json() == {"status": "alive"}
    assert outside.get("/v1/info").json()["keys_needed"] is True
    unknown = outside.get("/v1/nothing")
    assert unknown.json()["type"].startswith(str(outside.base_url).rstrip("/")), "links lead through the proxy"


def test_web_pages_and_uploaded_files_pass_the_proxy(outside):
    assert "<h1" in outside.get("/", headers={"Accept": "text/html"}).text
    sent = outside.post("/uploads", files={"file": ("people.csv", b"x" * (2 << 20))})
    assert (sent.status_code, sent.headers["location"]) == (303, "/sign-in?next=%2Fuploads")


def test_a_request_for_another_host_name_is_refused_with_421(outside, behind):
    for host in ("evil.example", "127.0.0.1", "localhost.evil.example"):
        answer = outside.get("/", headers={"Host": host, "Accept": "text/html"})
        assert (answer.status_code, host in answer.text) == (421, False)
    _, port, context = behind
    with socket.create_connection(("127.0.0.1", port), 10) as connection, pytest.raises(ssl.SSLError):
        context.wrap_socket(connection, server_hostname="evil.example")


def test_the_proxy_does_not_forward_requests_for_metrics(outside, behind):
    for path in (b"/metrics", b"/metrics/", b"//metrics", b"/x/../metrics", b"/%6detrics"):
        asked = outside.base_url.copy_with(raw_path=path)  # sent as written, because joining would normalise the path
        assert outside.get(asked).status_code == 404, path
    assert b"assay_" not in outside.get("/metrics").content


@contextlib.contextmanager
def connected(behind) -> Iterator[ssl.SSLSocket]:
    _, port, context = behind
    with (
        socket.create_connection(("127.0.0.1", port), 20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        yield connection


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/v1/targets", 1 << 20),
        ("/services/x/edit", 1 << 20),
        ("/v1/uploads?purpose=table&name=x", 64 << 20),
        ("/v1/corpora/x/import", 64 << 20),
        ("/uploads", 64 << 20),
        ("/corpora/x/images", 64 << 20),
    ],
)
def test_the_proxy_answers_413_if_the_declared_length_exceeds_the_limit(behind, path, limit):
    with connected(behind) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {limit + 1}\r\n\r\n".encode())
        answer = connection.recv(10_000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"application/problem+json" in answer
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "body-too-large"


def test_a_body_without_a_length_that_grows_above_the_limit_is_answered_with_413(outside):
    pieces = (b"x" * (1 << 18) for _ in range(8))  # no length is declared
    with contextlib.suppress(httpx.TransportError):  # the connection may be closed while the body is still sent
        assert outside.post("/v1/targets", content=pieces).status_code == 413


def test_size_limits_of_the_proxy_equal_those_of_the_service(outside):
    limits = outside.get("/v1/limits").json()
    written = CONFIGURATION.read_text(encoding="utf-8")
    assert f"client_max_body_size {limits['body_bytes'] >> 20}m;  # ASSAY_MAX_BODY_BYTES" in written
    assert f"client_max_body_size {limits['upload_bytes'] >> 20}m;  # ASSAY_MAX_UPLOAD_BYTES" in written


@pytest.mark.parametrize("sent", [b"", b"GET /livez HTTP/1.1\r\nHost: loc"])
def test_the_proxy_closes_a_connection_with_an_incomplete_request(behind, sent):
    with connected(behind) as connection:
        began = time.monotonic()
        connection.sendall(sent)
        with contextlib.suppress(OSError):
            while connection.recv(1000):
                pass
        assert time.monotonic() - began < 15


def test_events_pass_the_proxy_one_by_one_without_buffering(outside):
    with CountingTarget(delay_s=0.2) as target:
        job = outside.post("/v1/jobs", json=rating_request(target.url("x"), 7, concurrency=1)).json()
        with outside.stream("GET", f"/v1/jobs/{job['id']}/events") as stream:
            first = next(line for line in stream.iter_lines() if line.startswith("data:"))
        status = outside.get(f"/v1/jobs/{job['id']}").json()["status"]
        assert json.loads(first.removeprefix("data:"))
        assert status in {"queued", "running"}, "a buffered stream would arrive when the job has ended"
        outside.post(f"/v1/jobs/{job['id']}/cancel")


def test_forwarding_headers_that_a_caller_sends_are_not_trusted(behind):
    _, port, context = behind
    spoofed = {"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil.example"}
    with httpx.Client(verify=context, trust_env=False, timeout=30) as client:
        said = client.get(f"https://localhost:{port}/v1/nothing", headers=spoofed).json()
    assert said["type"].startswith(f"https://localhost:{port}/"), "the scheme is the proxy's"


def test_an_unreachable_service_is_reported_as_a_problem_document_with_503(tmp_path):
    with (
        proxy(tmp_path, f"http://127.0.0.1:{free_port()}") as (port, context),
        httpx.Client(verify=context, trust_env=False, timeout=30) as client,
    ):
        gone = client.get(f"https://localhost:{port}/livez")
    assert (gone.status_code, gone.headers["Retry-After"], gone.json()["status"]) == (503, "5", 503)
