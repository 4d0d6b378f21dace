"""Authentication beyond a static key, from the command line and over REST, to a service that demands it."""

from __future__ import annotations

import os
from urllib.parse import parse_qs

import httpx
import pytest

from demo.translators.behaviours import BEHAVIOURS
from tests.support.commands import run_command
from tests.support.scripted_server import Answer, scripted_server

SECRET = "client-secret-that-no-service-sees"
TOKEN = "access-token-of-one-hour-0815"


def answer(one):
    """Issue a token to a client with the right secret, and translate for callers with that token."""
    if one.path == "/token":
        known = parse_qs(one.body.decode()).get("client_secret") == [SECRET]
        token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
        return token if known else Answer({"error": "invalid_client"}, 401)
    if one.headers.get("authorization") != f"Bearer {TOKEN}":
        return Answer({"error": "unauthorized"}, 401)
    asked = one.json
    translate = BEHAVIOURS["faithful"].translate
    texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
    said = [translate(text, asked["source"], asked["target"]) for text in texts]
    return {"translatedText": said if isinstance(asked["q"], list) else said[0]}


def oauth2(url):
    return {"type": "oauth2", "token_url": f"{url}/token", "client_id": "assay", "client": "body"}


def test_rate_authenticates_with_oauth2_to_a_libretranslate_service(tmp_path):
    heard = []
    with scripted_server(answer, heard) as url:
        auth = ", ".join(f'{name} = "{value}"' for name, value in oauth2(url).items())
        file = tmp_path / "service.toml"
        file.write_text(
            f'[target]\nkind = "translator"\nprotocol = "libretranslate"\nbase_url = "{url}"\n'
            f"[target.settings]\nauth = {{ {auth} }}\n"
        )
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
        done = run_command("rate", str(file), "--json", environment={**clean, "ASSAY_TARGET_SECRET": SECRET})
    assert done.returncode == 1, done.stderr
    calls = [one for one in heard if one.path == "/translate"]
    assert len(calls) > 10
    assert all(one.headers["authorization"] == f"Bearer {TOKEN}" for one in calls)
    assert len([one for one in heard if one.path == "/token"]) == 1
    for secret in (SECRET, TOKEN):
        assert secret not in done.stdout + done.stderr


def test_a_saved_target_with_another_token_endpoint_needs_its_secret_again(shared_agency):
    address = f"http://127.0.0.1:{shared_agency.port}"
    with httpx.Client(base_url=address, timeout=60) as api, scripted_server(answer) as url:
        settings = {"auth": oauth2(url)}
        target = {"name": "t", "kind": "translator", "protocol": "libretranslate", "base_url": url}
        saved = api.post("/v1/targets", json={**target, "settings": settings, "secret": SECRET})
        assert saved.status_code == 201, saved.text
        path = f"/v1/targets/{saved.json()['id']}"
        probed = api.post(f"{path}/probe", headers={"Prefer": "wait=60"})
        assert probed.status_code == 200, probed.text
        moved = {"auth": {**settings["auth"], "token_url": "http://127.0.0.1:9/token"}}
        refused = api.put(path, json={**target, "settings": moved})
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/secret")
        kept = api.put(path, json={**target, "settings": settings})
        assert kept.status_code == 200, kept.text
    for text in (saved.text, probed.text, refused.text, kept.text):
        assert SECRET not in text
        assert TOKEN not in text


@pytest.mark.parametrize("url", ["http://10.1.2.3/token", "http://169.254.169.254/latest/meta-data"])
def test_a_token_endpoint_inside_the_operators_network_is_refused(shared_agency, url):
    auth = {**oauth2("http://127.0.0.1:1"), "token_url": url}
    target = {"name": "t", "kind": "translator", "protocol": "libretranslate", "base_url": "http://127.0.0.1:1"}
    answered = httpx.post(
        f"http://127.0.0.1:{shared_agency.port}/v1/targets",
        json={**target, "settings": {"auth": auth}, "secret": SECRET},
        timeout=60,
    )
    assert answered.status_code == 422
    assert "token_url" in answered.json()["errors"][0]["pointer"]
