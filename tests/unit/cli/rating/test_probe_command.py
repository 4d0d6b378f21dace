"""`assay probe` names cause and remedy of twelve kinds of mistakes, each against a real server on loopback."""

import json
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cli.request.rating_options import RatingOptions
from cli.request.request import read_request
from tests.support.commands import run_command

GOLDEN = Path(__file__).parent / "exchanges"
SECRET = "sk-in-no-golden-file-31c7"

RIGHT = {"path": "/v1/translate", "body": {"q": "{text}", "to": "{target}"}, "output": "data[0].text"}
"""Settings that fit the service of these tests."""


class Service(BaseHTTPRequestHandler):
    """A translator with one path; subclasses behave wrongly."""

    key: str | None = None

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/translate":
            self.say(404, {"detail": "Not Found"})
        elif self.key is not None and self.headers.get("Authorization") != f"Bearer {self.key}":
            self.say(401, {"error": {"message": "Missing or invalid API key"}})
        elif set(json.loads(sent)) != {"q", "to"}:
            self.say(422, {"detail": "field required: q"})
        else:
            self.say(200, {"data": [{"text": "La casa tiene el número 211."}]})

    def do_GET(self) -> None:
        self.say(405, {"detail": "Method Not Allowed"}, Allow="POST")

    def say(self, status: int, document: object, **headers: str) -> None:
        raw = document.encode() if isinstance(document, str) else json.dumps(document).encode()
        kind = "text/html" if isinstance(document, str) else "application/json"
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Keyed(Service):
    key = SECRET


def always(status: int, document: object, **headers: str) -> type[Service]:
    class Same(Service):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.say(status, document, **headers)

    return Same


class Slow(Service):
    def do_POST(self) -> None:
        time.sleep(1)


PAGE = "<!doctype html><html><head><title>Welcome to Translatr</title></head><body>Sign up</body></html>"
NO_MODEL = {"error": {"message": "The model 'gpt-none' does not exist", "type": "invalid_request_error"}}

MISTAKES: dict[str, tuple[type[Service], dict[str, object], tuple[str, ...], str]] = {
    "wrong-path": (Service, {"path": "/translate"}, (), "settings.path"),
    "wrong-method": (
        Service,
        {"method": "GET", "body": None, "query": {"q": "{text}"}},
        (),
        'settings.method = "POST"',
    ),
    "wrong-body": (Service, {"body": {"text": "{text}"}}, (), "settings.body"),
    "wrong-output": (Service, {"output": "translation"}, (), '"data[0].text"'),
    "web-page": (always(200, PAGE), {}, (), "Translatr"),
    "http-401": (Keyed, {}, (), "ASSAY_TARGET_SECRET"),
    "http-403": (always(403, {"message": "not for you"}), {"auth": "header"}, (), "right"),
    "http-404": (always(404, NO_MODEL), {}, (), "gpt-none"),
    "http-429": (always(429, {"message": "slow down"}, Retry_After="30"), {}, (), "requests_per_second"),
    "time-out": (Slow, {}, ("--set", "target.limits.timeout_s=0.2"), "limits.timeout_s"),
}
"""Service, wrong settings, further arguments, and words of the expected cause or remedy, by kind of mistake."""


@contextmanager
def serving(handler: type[Service], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def probed(url: str, folder: Path, settings: dict[str, object], *more: str, **environment: str):
    file = folder / "service.json"
    written = {name: value for name, value in {**RIGHT, **settings}.items() if value is not None}
    target = {"kind": "translator", "protocol": "custom", "base_url": url, "settings": written}
    file.write_text(json.dumps({"target": target}))
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "SSL_"))}
    return run_command("probe", str(file), *more, environment=clean | environment)


def check(name: str, said: str, url: str) -> None:
    """Compare with the golden file; ports and times differ from run to run."""
    port = url.rpartition(":")[2]
    stable = re.sub(r"after \d+\.\d\d s", "after T s", said.replace(port, "PORT"))
    golden = GOLDEN / f"{name}.txt"
    assert stable == golden.read_text(encoding="utf-8")


def advice(said: str) -> list[str]:
    """Return the lines of cause and remedy."""
    return said[said.index("cause ") :].splitlines()


def of_mistake(name: str, use: Callable[[str], None], folder: Path):
    handler, settings, more, named = MISTAKES[name]
    secret = {"ASSAY_TARGET_SECRET": SECRET} if "auth" in settings else {}
    with serving(handler) as url:
        done = probed(url, folder, settings, *more, **secret)
        use(url)
    return done, named


@pytest.mark.parametrize("name", MISTAKES)
def test_a_failed_probe_shows_cause_and_remedy_in_at_most_three_lines(name, tmp_path):
    at: list[str] = []
    done, named = of_mistake(name, at.append, tmp_path)
    assert done.returncode == 69, done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert len(advice(done.stdout)) <= 3
    assert named in " ".join(line.strip() for line in advice(done.stdout))
    check(name, done.stdout, at[0])


def test_a_port_where_nothing_listens_is_reported_with_the_remedy(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = probed(url, tmp_path, {})
    assert done.returncode == 69
    assert len(advice(done.stdout)) <= 3
    check("wrong-url", done.stdout, url)


def self_signed(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Return the TLS context of a server, and the file with its certificate."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "service")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "public.pem", folder / "private.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context, public


@pytest.mark.slow
def test_a_probe_reports_a_self_signed_certificate_and_the_suggested_remedy_lets_it_succeed(tmp_path):
    context, public = self_signed(tmp_path)
    with serving(Service, context) as url:
        refused = probed(url, tmp_path, {})
        mended = probed(url, tmp_path, {}, SSL_CERT_FILE=str(public))
    assert refused.returncode == 69
    assert len(advice(refused.stdout)) <= 3
    check("self-signed", refused.stdout, url)
    assert mended.returncode == 0, mended.stdout


@pytest.mark.slow
def test_the_output_expression_that_a_failed_probe_suggests_lets_the_next_probe_read_the_answer(tmp_path):
    with serving(Service) as url:
        done = probed(url, tmp_path, {"output": "nowhere"})
        suggested = re.search(r'settings\.output to "([^"]+)"', done.stdout)
        assert suggested is not None
        mended = probed(url, tmp_path, {"output": suggested[1]})
    assert mended.returncode == 0
    assert "read as La casa tiene el número 211." in mended.stdout


def test_the_json_output_has_the_whole_exchange_without_the_key(tmp_path):
    with serving(Keyed) as url:
        done = probed(url, tmp_path, {"auth": "header"}, "--json", ASSAY_TARGET_SECRET=SECRET)
    found = json.loads(done.stdout)
    assert (done.returncode, found["code"], found["exchange"]["response"]["status"]) == (0, None, 200)
    assert found["exchange"]["request"]["headers"]["authorization"] == "***"
    assert SECRET not in done.stdout


def test_a_service_can_be_probed_by_options_without_a_file(tmp_path):
    with serving(always(200, {"translatedText": "La casa tiene el número 211."})) as url:
        done = run_command("probe", "--protocol", "libretranslate", "--url", url, environment=dict(os.environ))
    assert done.returncode == 0, done.stdout
    assert f"sent    POST {url}/translate" in done.stdout


def test_a_null_setting_is_read_as_none_and_spaces_around_an_address_are_removed():
    settings = ["model=m", "top_logprobs=null"]
    target = read_request(RatingOptions(protocol="openai-chat", url=" http://127.0.0.1:9 ", settings=settings))[
        "target"
    ]
    assert target["settings"] == {"model": "m", "top_logprobs": None}
    assert target["base_url"] == "http://127.0.0.1:9"


def test_a_service_that_needs_a_key_is_not_probed_without_a_key(tmp_path):
    done = probed("http://127.0.0.1:9", tmp_path, {"auth": "header"})
    assert done.returncode == 64
    assert "ASSAY_TARGET_SECRET" in done.stderr
