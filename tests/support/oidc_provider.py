"""A small OpenID Connect provider on the loopback address: code flow with mandatory PKCE, and signed ID tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, Key, RSAKey

CLIENT_ID, SECRET = "assay agency", "a secret: with ünusual characters"
HUGE = 50_000_000

Answer = tuple[int, bytes]


@dataclass
class OidcProvider:
    """State of the provider; tests change it to make the provider answer wrongly.

    Attributes
    ----------
    people : dict
        Claims of each account.
    change : callable
        Function that changes the claims of the next ID tokens.
    sign : callable
        Function that signs claims as a token; by default with the current key.
    answers : dict
        Answers to paths, instead of the right ones.
    asked : list of str
        Paths of all requests.
    """

    people: dict[str, dict[str, Any]]
    url: str = ""
    secret: str = SECRET
    key: Key = field(default_factory=lambda: ECKey.generate_key("P-256", {"use": "sig", "kid": "first"}))
    change: Callable[[dict[str, Any]], None] = lambda _: None
    sign: Callable[[dict[str, Any]], str] | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def signed(self, claims: dict[str, Any]) -> str:
        """Return an ID token."""
        if self.sign is not None:
            return self.sign(claims)
        algorithm = "RS256" if isinstance(self.key, RSAKey) else "ES256"
        return jwt.encode({"alg": algorithm, "kid": self.key.kid}, claims, self.key)

    def get(self, path: str) -> Answer:
        """Answer discovery, keys, and the page on which people choose their account."""
        if path == "/.well-known/openid-configuration":
            return _json(
                {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize?realm=test",
                    "token_endpoint": f"{self.url}/token",
                    "jwks_uri": f"{self.url}/keys",
                }
            )
        if path == "/keys":
            return _json({"keys": [self.key.as_dict(private=False)]})
        if path == "/authorize":
            buttons = "".join(f'<button name="person" value="{name}">{name}</button>' for name in self.people)
            page = f'<!doctype html><title>Accounts</title><link rel="icon" href="data:,"><form method="post">{buttons}'
            return 200, page.encode()
        return _json({"error": "not found"}, 404)

    def authorize(self, asked: dict[str, str], person: str) -> str:
        """Return the address to which the browser is sent back, with a code."""
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT_ID)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = token_urlsafe(16)
        self.codes[code] = {**asked, "person": person}
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, form: dict[str, str], authorization: str | None) -> Answer:
        """Exchange a code for an ID token; each code can be used once."""
        sent = self.codes.pop(form.get("code", ""), None)
        if not self._knows(form, authorization):
            return _json({"error": "invalid_client"}, 401)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if (
            sent is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != sent["redirect_uri"]
            or base64.urlsafe_b64encode(challenge).decode().rstrip("=") != sent["code_challenge"]
        ):
            return _json({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": sent["nonce"]}
        claims |= self.people[sent["person"]]
        self.change(claims)
        return _json({"access_token": "unused", "token_type": "Bearer", "id_token": self.signed(claims)})

    def _knows(self, form: dict[str, str], authorization: str | None) -> bool:
        """Return whether the client is known: by its secret, or by its name alone if it has no secret."""
        if not self.secret:
            return authorization is None and form.get("client_id") == CLIENT_ID
        way, _, pair = (authorization or "").partition(" ")
        name, _, secret = base64.b64decode(pair).decode().partition(":")
        return way == "Basic" and (unquote(name), unquote(secret)) == (CLIENT_ID, self.secret)


@contextmanager
def oidc_provider(people: dict[str, dict[str, Any]], host: str = "127.0.0.1") -> Iterator[OidcProvider]:
    """Serve a provider under a name of this machine; the accounts are named in `people`, with their claims."""
    provider = OidcProvider(people)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            provider.asked.append(path)
            self._send(provider.answers.get(path) or provider.get(path))

        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            provider.asked.append(parts.path)
            form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(dict(parse_qsl(parts.query)), form["person"]))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            given = provider.answers.get(parts.path)
            self._send(given or provider.token(form, self.headers["Authorization"]))

        def _send(self, answer: Answer) -> None:
            status, body = answer
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if body.startswith(b"<") else "application/json")
            if 300 <= status < 400:
                self.send_header("Location", body.decode())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except ConnectionError:  # the caller has disconnected
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://{host}:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _json(document: dict[str, Any], status: int = 200) -> Answer:
    return status, json.dumps(document).encode()
