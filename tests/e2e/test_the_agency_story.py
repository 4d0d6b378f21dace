"""End-to-end test with real processes: an API catalog, two listed services, and the agency that rates them.

The catalog has its own API key. A reader of the catalog has no key, and verifies the ratings without one.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import jsonpath
import pytest
import yaml
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks import Webhook, WebhookVerificationError

from demo.interfaces.libretranslate import language_list
from demo.translators.behaviours import BEHAVIOURS
from tests.support.commands import run_command

PATIENCE_S = 240
SCOPES = ("jobs:write", "ratings:read", "targets:write", "webhooks:write")
HEARD = ["job.succeeded", "rating.changed"]
GENDER = {"attribute": "gender", "method": "round-trip"}
OPENAPI = """
openapi: 3.1.0
info:
  title: Translations
  version: 2.3.0
  x-owner: language-team
paths:
  /translate:
    post:
      operationId: translate
      responses:
        "200": {description: Translated.}
"""


def eventually(look: Callable[[], Any], what: str) -> Any:
    """Poll until the result is not empty."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if seen := look():
            return seen
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE_S} s")


# ---------------------------------------------------------------------------- servers of the service and of the catalog
class Handler(BaseHTTPRequestHandler):
    """A request handler that answers with its server's `respond` on persistent connections."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, said = self.server.respond(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        content = b"" if said is None else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class LoopbackServer(ThreadingHTTPServer):
    """Run a server on a free port of this machine until the end of the ``with`` block."""

    def __init__(self, respond: Callable[[str, Mapping[str, str], bytes], tuple[int, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond

    def __enter__(self) -> str:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return f"http://127.0.0.1:{self.server_port}"

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Translator:
    """A LibreTranslate service whose behaviour `behaves` changes."""

    def __init__(self, behaves: str) -> None:
        self.behaves = behaves

    def __call__(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        if path.endswith("/languages"):
            return 200, language_list()
        asked, how = json.loads(body), BEHAVIOURS[self.behaves]
        texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
        said = [how.translate(text, asked["source"], asked["target"]) for text in texts]
        return 200, {"translatedText": said if isinstance(asked["q"], list) else said[0]}


@dataclass(frozen=True)
class Notice:
    """A received notice, and the status with which the receiver answered."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def kind(self) -> str:
        return self.said["type"]

    @property
    def said(self) -> dict[str, Any]:
        return json.loads(self.body)


class Receiver:
    """A receiver of notices that fails on the first request to `loses`."""

    def __init__(self, loses: str) -> None:
        self.notices: list[Notice] = []
        self._lock, self._to_lose = threading.Lock(), {loses}

    def __call__(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        if (notice := json.loads(body))["type"] == "webhook.challenge":
            return 200, {"challenge": notice["data"]["challenge"]}
        with self._lock:
            status = 500 if path in self._to_lose else 200
            self._to_lose.discard(path)
            self.notices.append(Notice(path, headers, body, status))
        return status, None

    def kept(self, path: str, kind: str) -> list[Notice]:
        """Return the notices of a type that were answered with success."""
        return [one for one in self.notices if (one.path, one.kind, one.status) == (path, kind, 200)]


# ---------------------------------------------------------------------------- the catalog
class Catalog:
    """The client program of a catalog, with a key that has only the scopes that it needs."""

    def __init__(self, agency: str, key: str, receiver: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self.http = httpx.Client(base_url=agency, headers=headers, timeout=30, trust_env=False)
        self.receiver = receiver

    def post(self, path: str, body: Any = None) -> httpx.Response:
        answer = self.http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer

    def get(self, path: str, **query: str) -> Any:
        answer = self.http.get(path, params=query)
        assert answer.is_success, answer.text
        return answer.json()

    def register(self, name: str, url: str) -> str:
        """Save a translator as a target; return its id."""
        target = {"name": name, "kind": "translator", "protocol": "libretranslate", "base_url": url}
        return self.post("/v1/targets", target).json()["id"]

    def profile(self, target: str) -> dict[str, Any]:
        """Return the suite that the catalog requests for each listed service."""
        about = {"methods": ["round-trip"], "attributes": ["gender"], "languages": ["es", "fr"]}
        asked = {"callback_url": f"{self.receiver}/callback", "visibility": "public"}
        return {"target": {"id": target}, **about, **asked}

    def ended(self, suite: str) -> dict[str, Any]:
        """Wait for a suite; return its profile."""
        return eventually(lambda: (shown := self.get(suite))["status"] == "ended" and shown, f"{suite} ends")


@pytest.fixture
def start(serve) -> Iterator[Callable[[str], Catalog]]:
    """Start an agency that requires keys, and create a key for the catalog."""
    catalogs: list[Catalog] = []

    def start(receiver: str) -> Catalog:
        agency = serve(ASSAY_AUTH="keys", ASSAY_WEBHOOK_POLL_S="0.2", ASSAY_SHORTEST_SCHEDULE_S="1")
        scopes = [word for scope in SCOPES for word in ("--scope", scope)]
        create = ("keys", "create", "--name", "catalog", *scopes, "--data-dir", str(agency.data))
        made = run_command(*create, environment=os.environ)
        assert made.returncode == 0, made.stderr
        catalogs.append(Catalog(agency.agency.url, made.stdout.strip(), receiver))
        return catalogs[-1]

    yield start
    for one in catalogs:
        one.http.close()


def with_overlay(document: dict[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Apply an OpenAPI overlay: merge each update into every node that its target selects."""
    changed = deepcopy(document)
    for action in overlay["actions"]:
        for found in jsonpath.finditer(action["target"], changed):
            merge(found.obj, action["update"])
    return changed


def merge(into: dict[str, Any], update: Mapping[str, Any]) -> None:
    for name, value in update.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


def signed_by_the_agency(notice: Notice, jwks: Mapping[str, Any]) -> bool:
    """Return whether one of the agency's public keys verifies a notice, without a shared secret."""
    signed = f"{notice.id}.{notice.headers['webhook-timestamp']}.".encode() + notice.body
    signatures = [one[4:] for one in notice.headers["webhook-signature"].split() if one.startswith("v1a,")]
    assert len(signatures) == 1
    for key in jwks["keys"]:
        public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "="))
        try:
            public.verify(base64.b64decode(signatures[0]), signed)
        except InvalidSignature:
            continue
        return True
    return False


# ---------------------------------------------------------------------------- the story
def test_an_api_catalogue_requests_ratings_shows_badges_and_hears_of_new_letters(start, elsewhere, services, tmp_path):
    translator, receiver = Translator("faithful"), Receiver(loses="/hook")
    with LoopbackServer(translator) as rated_url, LoopbackServer(receiver) as receiver_url:
        catalog = start(receiver_url)
        # a visitor of the catalog, without an API key
        with httpx.Client(base_url=catalog.http.base_url, trust_env=False) as reader:
            hook = catalog.post("/v1/webhooks", {"url": f"{receiver_url}/hook", "events": HEARD}).json()
            first = catalog.register("Translations", rated_url)
            second = catalog.register("Balanced translations", services.url("balancing"))

            suite = catalog.ended(catalog.post("/v1/suites", catalog.profile(first)).headers["Location"])
            assert [cell["letter"] for cell in suite["rows"][0]["cells"]] == ["DSBS", "DSBS"]
            assert (suite["worst"]["letter"], suite["columns"]) == ("DSBS", ["es", "fr"])

            the_callback_is_told_of_each_cell(receiver, suite, reader)
            the_lost_notice_comes_again_when_it_is_asked_for(catalog, receiver, hook)
            rating = the_reader_looks_the_rating_up_by_the_address_of_the_service(reader, rated_url, suite)
            the_catalog_embeds_overlay_and_badge(reader, rating, tmp_path / "openapi.yaml")
            the_catalog_composes(catalog, first, second)
            export, keys = the_reader_takes_the_certificate_home(reader, rating, tmp_path)
            checked = elsewhere("verify", export, "--keys", keys, "--replay")
            assert checked.returncode == 0, checked.stderr
            assert f"{rating['id']}: Translations is DSBS" in checked.stdout

            schedule = {"name": "Weekly", "request": catalog.profile(first), "interval_s": 604_800}
            schedule = catalog.post("/v1/schedules", schedule).json()
            translator.behaves = "always-he"
            suite = catalog.ended(catalog.post(schedule["links"]["run"]).headers["Location"])
            assert [cell["letter"] for cell in suite["rows"][0]["cells"]] == ["BS", "BS"]
            the_change_is_told_and_shown(catalog, receiver, hook, reader, rating)

            assert elsewhere("verify", export, "--keys", keys).returncode == 0, "what was true then is still signed"
            every_notice_is_signed_and_says_what_is_documented(receiver, hook, reader)


def the_callback_is_told_of_each_cell(receiver: Receiver, suite: Mapping[str, Any], reader: httpx.Client) -> None:
    """Check that each job of the suite ends with a signed notice to its callback."""
    told = eventually(lambda: len(found := receiver.kept("/callback", "job.succeeded")) == 2 and found, "two notices")
    assert {one.said["data"]["job_id"] for one in told} == {cell["job"] for cell in suite["rows"][0]["cells"]}
    assert {one.said["data"]["letter"] for one in told} == {"DSBS"}
    whys = {row["id"]: row["sentence"] for row in reader.get("/v1/ratings").json()["items"]}
    for one in told:
        notice = one.said["data"]
        assert notice["because"].startswith("DSBS because of the effect on one-sided input: ")
        assert whys[notice["rating_id"]] == notice["because"]
        because = reader.get(f"/v1/ratings/{notice['rating_id']}").json()["because"]
        assert because["text"].startswith(because["sentence"])
        assert because["sentence"] == notice["because"]
    jwks = reader.get("/.well-known/jwks.json").json()
    for one in told:
        assert signed_by_the_agency(one, jwks)
        assert not signed_by_the_agency(replace(one, body=one.body.replace(b"DSBS", b"UCS")), jwks)


def the_lost_notice_comes_again_when_it_is_asked_for(
    catalog: Catalog, receiver: Receiver, hook: Mapping[str, Any]
) -> None:
    """Check that the delivery log shows a failed attempt, and that the notice is sent again under the same id."""
    log = f"/v1/webhooks/{hook['id']}/deliveries"

    def failed() -> Any:
        whole = [catalog.get(f"{log}/{one['id']}") for one in catalog.get(log)["items"]]
        return next((one for one in whole if one["tries"] and one["tries"][0]["status"] == 500), None)

    lost = eventually(failed, "the log shows the failure")
    assert lost["type"] == "job.succeeded"
    assert lost["id"] == next(one.id for one in receiver.notices if one.status == 500)
    catalog.post(f"{log}/{lost['id']}/redeliver")
    told = eventually(lambda: len(found := receiver.kept("/hook", "job.succeeded")) >= 2 and found, "it comes again")
    assert lost["id"] in {one.id for one in told}
    for one in told:
        assert Webhook(hook["secret"]).verify(one.body, dict(one.headers))["type"] == "job.succeeded"


def the_reader_looks_the_rating_up_by_the_address_of_the_service(
    reader: httpx.Client, rated_url: str, suite: Mapping[str, Any]
) -> dict[str, Any]:
    """Check that the rating is found by the address of the service, without an id or a key."""
    rating = reader.get("/v1/ratings/latest", params={"target_url": rated_url, **GENDER}).json()
    assert f"/v1/ratings/{rating['id']}" in {cell["href"] for cell in suite["rows"][0]["cells"]}
    assert (rating["letter"], rating["declared"], rating["visibility"]) == ("DSBS", True, "public")
    return rating


def the_catalog_embeds_overlay_and_badge(reader: httpx.Client, rating: Mapping[str, Any], file: Path) -> None:
    """Check that the service's OpenAPI file names its letter and the addresses of the badge and the rating."""
    file.write_text(OPENAPI)
    overlay = yaml.safe_load(reader.get(f"/v1/ratings/{rating['id']}/overlay.yaml").text)
    file.write_text(yaml.safe_dump(with_overlay(yaml.safe_load(file.read_text()), overlay)))
    now = yaml.safe_load(file.read_text())
    embedded = now["info"].pop("x-bias-rating")
    assert now == yaml.safe_load(OPENAPI), "and nothing else has changed"
    assert (embedded["status"], embedded["letter"], embedded["attribute"]) == ("rated", "DSBS", "gender")
    badge = reader.get(embedded["badge"])
    assert (badge.headers["Content-Type"], badge.status_code) == ("image/svg+xml", 200)
    assert "DSBS" in badge.text
    assert reader.get(embedded["rating"]).json()["id"] == rating["id"]


def the_catalog_composes(catalog: Catalog, first: str, second: str) -> None:
    """Check the composition of the two services, which is inferred without a call."""
    experiment = GENDER | {"languages": ["es"]}
    rated = {"target": {"id": second}, "experiment": experiment, "visibility": "public", "seed": 7}
    job = catalog.post("/v1/jobs", rated).headers["Location"]
    eventually(lambda: catalog.get(job)["status"] == "succeeded", "the second service is rated")
    found = catalog.post("/v1/compositions", {"chain": [{"target": first}, {"target": second}], "attribute": "gender"})
    inferred = found.json()
    assert [one["rating"]["letter"] for one in inferred["chain"]] == ["DSBS", "UCS"]
    assert (inferred["letter"], inferred["settled_by"], inferred["provenance"]) == ("UCS", "table", "inferred")
    assert catalog.get(found.headers["Location"])["id"] == inferred["id"]


def the_reader_takes_the_certificate_home(
    reader: httpx.Client, rating: Mapping[str, Any], folder: Path
) -> tuple[Path, Path]:
    """Download the export of a rating, and the keys to verify it."""
    export, keys = folder / "rating.export.jsonl", folder / "jwks.json"
    export.write_bytes(reader.get(f"/v1/ratings/{rating['id']}/export.jsonl").content)
    keys.write_bytes(reader.get("/.well-known/jwks.json").content)
    return export, keys


def the_change_is_told_and_shown(
    catalog: Catalog,
    receiver: Receiver,
    hook: Mapping[str, Any],
    reader: httpx.Client,
    before: Mapping[str, Any],
) -> None:
    """Check that `rating.changed` is sent when the service changes, and that badge and history show the new letter."""
    told = eventually(lambda: len(found := receiver.kept("/hook", "rating.changed")) == 2 and found, "the changes")
    for one in told:
        data = Webhook(hook["secret"]).verify(one.body, dict(one.headers))["data"]
        assert (data["before"]["letter"], data["after"]["letter"]) == ("DSBS", "BS")
        assert data["probability"] > 0.95
        assert data["also_differed"] == ["seed"], "nothing but the service explains it"
    named = next(one.said["data"] for one in told if one.said["data"]["before"]["rating_id"] == before["id"])
    after = reader.get(f"/v1/ratings/{named['rating_id']}").json()
    difference = reader.get(f"/v1/ratings/{before['id']}/difference", params={"with": after["id"]}).json()
    assert difference["letter"]["verdict"] == "changed"
    shown = {"target_url": before["target"]["url"], **GENDER}
    eventually(lambda: ">BS<" in reader.get("/v1/badge.svg", params=shown).text, "the badge shows the new letter")
    assert reader.get("/v1/ratings/latest", params=shown).json()["letter"] == "BS"
    assert catalog.get("/v1/registry/history", target_url=shown["target_url"])["items"][0]["letter"] == "BS"


def every_notice_is_signed_and_says_what_is_documented(
    receiver: Receiver, hook: Mapping[str, Any], reader: httpx.Client
) -> None:
    """Check the signatures, types and fields of the notices to the endpoint."""
    came = [one for one in receiver.notices if one.path == "/hook"]
    assert {one.kind for one in came} == set(HEARD)
    documented = reader.get("/openapi.json").json()["webhooks"]
    for one in came:
        said = Webhook(hook["secret"]).verify(one.body, dict(one.headers))
        shown = documented[one.kind]["post"]["requestBody"]["content"]["application/json"]["example"]
        assert set(said["data"]) >= set(shown["data"])
        with pytest.raises(WebhookVerificationError):
            Webhook(hook["secret"]).verify(one.body + b" ", dict(one.headers))
