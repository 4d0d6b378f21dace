"""The commands of docs/describe-your-service.md rate four services with unusual interfaces."""

from __future__ import annotations

import base64
import re
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from demo.translators.behaviours import BEHAVIOURS
from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT, blocks, shown_files
from tests.support.scripted_server import Answer, Heard, scripted_server
from workers.targets.auth.credentials import signed_headers
from workers.targets.auth.schemes import aws_keys

PAGE = ROOT / "docs" / "describe-your-service.md"
LETTERS = {0: "UCS", 1: "DSBS", 2: "BS"}
TOKEN = "token-of-the-docs-0815"
MOST_COMMANDS = 5


def translate(text: str, source: str, target: str) -> str:
    return BEHAVIOURS["always-he"].translate(text, source, target)


def odd(one: Heard) -> object:
    job = one.json["job"]
    return {"state": "ok", "done": [{"kind": "text", "said": translate(job["words"], job["from"], job["to"])}]}


def keyed(one: Heard) -> object:
    return odd(one) if one.headers.get("x-api-key") == "key-of-the-docs-4711" else Answer({"error": "no key"}, 401)


def with_oauth2(one: Heard) -> object:
    if one.path == "/token":
        client = f"Basic {base64.b64encode(b'docs:client-secret-of-the-docs').decode()}"
        asked = parse_qs(one.body.decode())
        if one.headers.get("authorization") != client or asked["grant_type"] != ["client_credentials"]:
            return Answer({"error": "invalid_client"}, 401)
        return {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
    if one.headers.get("authorization") != f"Bearer {TOKEN}":
        return Answer({"error": "unauthorized"}, 401)
    asked = one.json
    texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
    said = [translate(text, asked["source"], asked["target"]) for text in texts]
    return {"translatedText": said if isinstance(asked["q"], list) else said[0]}


def signed(one: Heard) -> object:
    names = ("content-type", "x-amz-target")
    due = signed_headers(
        one.method,
        f"http://{one.headers['host']}{one.path}",
        {name: one.headers[name] for name in names},
        one.body,
        keys=aws_keys("AKIDEXAMPLE:secret-access-key-of-the-docs"),
        region="eu-west-1",
        service="translate",
        now=datetime.strptime(one.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC),
    )
    if one.headers["authorization"] != due["Authorization"]:
        return Answer({"__type": "InvalidSignatureException", "message": "the signature does not match"}, 403)
    asked = one.json
    said = translate(asked["Text"], asked["SourceLanguageCode"], asked["TargetLanguageCode"])
    return {"TranslatedText": said, "SourceLanguageCode": "en", "TargetLanguageCode": asked["TargetLanguageCode"]}


SERVICES = {7001: odd, 7002: keyed, 7003: with_oauth2, 7004: signed}
SHELL = [block for block in blocks(PAGE) if block.language == "sh"]


@pytest.mark.parametrize("place", range(len(SERVICES)), ids=[service.__name__ for service in SERVICES.values()])
def test_the_documented_commands_rate_a_service_with_an_unusual_interface(place: int, tmp_path: Path):
    (port, service), heard = list(SERVICES.items())[place], []
    program = SHELL[place].text
    commands = re.findall(r"^assay \w+", program, re.MULTILINE)
    assert 1 <= len(commands) <= MOST_COMMANDS
    assert commands[-1] == "assay rate"
    with scripted_server(service, heard) as url:
        done = run_program(["bash", "-c", program.replace(f"http://127.0.0.1:{port}", url)], tmp_path)
    assert LETTERS.get(done.returncode) == "BS", done.stderr + done.stdout
    assert len(heard) > 20
    secret = re.search(r"ASSAY_TARGET_SECRET=(?:\w+:)?(\S+)", program)
    written = "".join(file.read_text(encoding="utf-8") for file in tmp_path.iterdir())
    if secret is not None:
        assert secret[1] not in done.stdout + done.stderr + written


def test_the_page_on_describing_a_service_has_one_shell_block_for_each_of_its_four_services():
    assert len(SHELL) == len(SERVICES)
    assert all(f"127.0.0.1:{port}" in block.text for block, port in zip(SHELL, SERVICES, strict=True))


def test_the_first_commands_of_the_page_on_describing_a_service_rate_the_service_shown_there(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    (tmp_path / "odd.py").write_text(shown_files(PAGE)["odd.py"].replace("7001", port), encoding="utf-8")
    program = f"{sys.executable} odd.py &\ntrap 'kill %1' EXIT\nsleep 1\n{SHELL[0].text.replace('7001', port)}"
    done = run_program(["bash", "-c", program], tmp_path)
    assert LETTERS.get(done.returncode) == "BS", done.stderr + done.stdout
