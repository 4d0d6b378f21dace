"""Secrets, signatures and access tokens arrive at the service, in every protocol, and appear nowhere else.

Row 68 of docs/reliability.md: at c37b512 no secret was bound to a token endpoint, as token endpoints did not exist.
"""

import asyncio
import base64
import json
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from urllib.parse import parse_qsl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from assay.errors import SpecificationError
from assay.model import Classify, Kind, Translate
from store.security.secrets import destination_of
from tests.support.scripted_server import Answer, scripted_server
from workers.egress import CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.auth.credentials import signed_headers
from workers.targets.auth.schemes import aws_keys
from workers.targets.registry import check_target, connect

LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "sk-arrives-and-stays-secret-42"
ASK = Translate("She came.", "en", "es")
CUSTOM = {"path": "/mt", "body": {"q": "{text}"}, "output": "said"}


def answer_of(heard):
    return {"said": "Ella vino.", "translatedText": "Ella vino.", "translations": [{"text": "Ella vino."}]}


def described(protocol, url, settings, kind=Kind.TRANSLATOR, secret=SECRET):
    return {"kind": kind, "protocol": protocol, "base_url": url, "settings": settings, "secret": secret}


def call(url, auth, secret=SECRET, *, protocol="custom", settings=CUSTOM, times=1, egress=None, ask=ASK):
    """Validate a target as the API does, and ask it one question several times."""
    settings = {**settings, "auth": auth} if auth else settings
    kind = Kind.CLASSIFIER if isinstance(ask, Classify) else Kind.TRANSLATOR
    check_target(described(protocol, url, settings, kind, secret), LOOPBACK)
    target = Target("t", kind, protocol, url, settings, secret, Limits(timeout_s=5))

    async def go():
        async with egress or Egress(LOOPBACK) as calls:
            adapter = connect(target, calls)
            return [reply for _ in range(times) for reply in await adapter.answer([ask])]

    return asyncio.run(go())


def said(replies):
    return [reply.value for reply in replies]


PLACED = {
    "bearer": ("bearer", lambda one: one.headers["authorization"] == f"Bearer {SECRET}"),
    "any header": ({"type": "header", "name": "api-key"}, lambda one: one.headers["api-key"] == SECRET),
    "query": ({"type": "query", "name": "key"}, lambda one: one.path.endswith(f"?key={SECRET}")),
    "body": ({"type": "body", "name": "k"}, lambda one: one.json["k"] == SECRET),
    "written otherwise": (
        {"type": "header", "name": "Authorization", "value": "Key {secret}"},
        lambda one: one.headers["authorization"] == f"Key {SECRET}",
    ),
}


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize(
    ("protocol", "settings"), [("custom", CUSTOM), ("libretranslate", {}), ("deepl", {})], ids=lambda one: str(one)[:14]
)
def test_the_secret_is_sent_in_the_place_that_auth_names_and_nowhere_else(name, protocol, settings):
    auth, arrived = PLACED[name]
    heard = []
    with scripted_server(answer_of, heard) as url:
        assert said(call(url, auth, protocol=protocol, settings=settings)) == ["Ella vino."]
    (one,) = heard
    assert arrived(one)
    everything = f"{one.path} {one.headers} {one.body.decode()}"
    assert everything.count(SECRET) == 1


def test_basic_authentication_sends_user_and_password():
    heard = []
    with scripted_server(answer_of, heard) as url:
        call(url, "basic", "ada:Swordfish-99")
    kind, _, pair = heard[0].headers["authorization"].partition(" ")
    assert (kind, base64.b64decode(pair)) == ("Basic", b"ada:Swordfish-99")


def test_without_auth_a_protocol_sends_the_key_as_its_documentation_says():
    heard = []
    with scripted_server(answer_of, heard) as url:
        call(url, None, protocol="deepl", settings={})
        call(url, None, protocol="libretranslate", settings={})
    assert heard[0].headers["authorization"] == f"DeepL-Auth-Key {SECRET}"
    assert heard[1].json["api_key"] == SECRET


def test_auth_none_allows_a_protocol_that_otherwise_needs_a_secret():
    heard = []
    with scripted_server(answer_of, heard) as url:
        call(url, "none", None, protocol="deepl", settings={})
    assert "authorization" not in heard[0].headers


# ------------------------------------------------------------------------------------------------ OAuth 2.0
class TokenServer:
    """Authorization server and service in one: tokens are numbered, and only those not revoked are accepted."""

    def __init__(self, expires_in=3600, refusal=None):
        self.made, self.accepted, self.expires_in, self.refusal = 0, set(), expires_in, refusal
        self.heard = []

    def __call__(self, one):
        if one.path != "/token":
            given = one.headers.get("authorization", "").removeprefix("Bearer ")
            return answer_of(one) if given in self.accepted else Answer({"error": f"bad token {given}"}, 401)
        if self.refusal:
            return self.refusal
        self.made += 1
        self.accepted.add(f"token-number-{self.made}")
        return {"access_token": f"token-number-{self.made}", "token_type": "Bearer", "expires_in": self.expires_in}

    @property
    def token_requests(self):
        return [dict(parse_qsl(one.body.decode())) for one in self.heard if one.path == "/token"]


def oauth2(url, **more):
    return {"type": "oauth2", "token_url": f"{url}/token", "client_id": "assay", "scope": "rate", **more}


def test_client_credentials_are_exchanged_for_a_token_that_several_calls_share():
    server = TokenServer()
    with scripted_server(server, server.heard) as url:
        assert said(call(url, oauth2(url, parameters={"audience": "mt"}), times=3)) == ["Ella vino."] * 3
    assert server.token_requests == [{"grant_type": "client_credentials", "scope": "rate", "audience": "mt"}]
    pair = server.heard[0].headers["authorization"].removeprefix("Basic ")
    assert base64.b64decode(pair).decode() == f"assay:{SECRET}"
    calls = [one for one in server.heard if one.path == "/mt"]
    assert [one.headers["authorization"] for one in calls] == ["Bearer token-number-1"] * 3
    assert SECRET not in str(calls)


def test_client_credentials_can_go_into_the_body_of_the_token_request():
    server = TokenServer()
    with scripted_server(server, server.heard) as url:
        call(url, oauth2(url, client="body"))
    assert server.token_requests[0]["client_secret"] == SECRET
    assert "authorization" not in server.heard[0].headers


def test_a_token_is_fetched_anew_when_it_has_expired():
    server = TokenServer(expires_in=0)
    with scripted_server(server, server.heard) as url:
        call(url, oauth2(url), times=2)
    assert server.made == 2


def test_a_token_whose_lifetime_no_float_can_hold_is_used_until_it_is_refused():
    server = TokenServer(expires_in=10**400)
    with scripted_server(server, server.heard) as url:
        assert said(call(url, oauth2(url), times=2)) == ["Ella vino."] * 2
    assert server.made == 1


def test_a_revoked_token_is_renewed_once_within_the_call():
    server = TokenServer()
    with scripted_server(server, server.heard) as url:
        target = Target("t", Kind.TRANSLATOR, "custom", url, {**CUSTOM, "auth": oauth2(url)}, SECRET)

        async def go():
            async with Egress(LOOPBACK) as egress:
                adapter = connect(target, egress)
                first = await adapter.answer([ASK])
                server.accepted.clear()  # revoked
                second = await adapter.answer([ASK])
                return [*first, *second]

        assert said(asyncio.run(go())) == ["Ella vino."] * 2
    assert server.made == 2


def test_a_call_ends_after_one_renewal_if_the_service_also_refuses_the_new_token():
    server = TokenServer()
    server.accepted = frozenset()

    def refusing(one):
        return {"access_token": f"t-{SECRET[:4]}-number"} if one.path == "/token" else server(one)

    with scripted_server(refusing, server.heard) as url, pytest.raises(CallFailed) as caught:
        call(url, oauth2(url))
    assert caught.value.code == "auth"
    assert [one.path for one in server.heard] == ["/token", "/mt", "/token", "/mt"]
    assert f"t-{SECRET[:4]}-number" not in str(caught.value)  # the service repeated the token in its error


def test_concurrent_calls_fetch_one_token():
    server = TokenServer()
    with scripted_server(server, server.heard) as url:
        target = Target("t", Kind.TRANSLATOR, "custom", url, {**CUSTOM, "auth": oauth2(url)}, SECRET)

        async def go():
            async with Egress(LOOPBACK) as egress:
                adapter = connect(target, egress)
                await asyncio.gather(*(adapter.answer([ASK]) for _ in range(8)))

        asyncio.run(go())
    assert server.made == 1


REFUSALS = {
    "400 invalid_client": (
        Answer({"error": "invalid_client", "error_description": f"no {SECRET}"}, 400),
        "auth",
        False,
    ),
    "401": (Answer({"error": "invalid_client"}, 401), "auth", False),
    "busy": (Answer({"error": "slow_down"}, 429, {"Retry-After": "7"}), "http-429", True),
    "down": (Answer({}, 503), "http-503", True),
    "no token": ({"token_type": "Bearer"}, "wrong-shape", False),
    "other kind": ({"access_token": "abc", "token_type": "mac"}, "wrong-shape", False),
    "header injection": ({"access_token": "a\r\nX-Evil: 1", "token_type": "Bearer"}, "wrong-shape", False),
    "web page": (Answer(b"<html>", headers={"Content-Type": "text/html"}), "garbage", True),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_token_request_fails_the_call_with_its_reason_and_without_the_secret(name):
    refusal, code, retriable = REFUSALS[name]
    server = TokenServer(refusal=refusal)
    with scripted_server(server, server.heard) as url, pytest.raises(CallFailed) as caught:
        call(url, oauth2(url))
    failed = caught.value
    assert (failed.code, failed.retriable) == (code, retriable)
    assert str(failed).startswith("no access token: 127.0.0.1:")
    assert SECRET not in str(failed) + repr(failed)
    assert failed.retry_after_s == (7 if name == "busy" else None)
    assert [one.path for one in server.heard] == ["/token"]


def test_a_token_endpoint_at_an_internal_address_is_refused_and_not_called():
    inside = oauth2("http://10.0.0.1")
    with pytest.raises(SpecificationError) as caught:
        check_target(described("custom", "http://127.0.0.1:1", {**CUSTOM, "auth": inside}), LOOPBACK)
    assert caught.value.field == "settings.auth.token_url"
    named = {**inside, "token_url": "http://tokens.example/token"}

    async def resolve(name, port):
        return ["10.0.0.1"]

    with pytest.raises(CallFailed) as refused:
        call("http://127.0.0.1:1", named, egress=Egress(LOOPBACK, resolve=resolve))
    assert refused.value.code == "refused-address"


@pytest.mark.parametrize(
    "more", [{"token_url": "https://evil.example/token"}, {"client_id": "other"}, {"scope": "all"}]
)
def test_a_secret_is_bound_to_its_token_endpoint_and_client(more):
    def target(auth):
        return {"protocol": "deepl", "base_url": "https://api.example", "settings": {"auth": auth}}

    before = oauth2("https://tokens.example")
    assert destination_of(target(before)) != destination_of(target({**before, **more}))
    assert destination_of(target(before)) == destination_of(target(dict(reversed(before.items()))))


# ------------------------------------------------------------------------------------------------ Google Cloud
@pytest.fixture(scope="module")
def key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem_of(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def unpacked(part):
    return json.loads(base64.urlsafe_b64decode(part + "=="))


def test_a_google_service_account_signs_an_assertion_to_get_a_token(key):
    file = {
        "type": "service_account",
        "client_email": "assay@p.iam.example",
        "private_key_id": "k1",
        "private_key": pem_of(key),
        "token_uri": "https://elsewhere.example/never-called",
    }
    server = TokenServer()
    then = datetime(2026, 11, 23, tzinfo=UTC)
    with scripted_server(server, server.heard) as url:
        auth = {"type": "gcp-service-account", "token_url": f"{url}/token"}
        replies = call(url, auth, json.dumps(file, indent=2), egress=Egress(LOOPBACK, now=lambda: then))
    assert said(replies) == ["Ella vino."]
    (asked,) = server.token_requests
    assert asked["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    head, claims, signature = asked["assertion"].split(".")
    assert unpacked(head) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    assert unpacked(claims) == {
        "iss": "assay@p.iam.example",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": f"{url}/token",
        "iat": int(then.timestamp()),
        "exp": int(then.timestamp()) + 3600,
    }
    key.public_key().verify(  # raises for a wrong signature
        base64.urlsafe_b64decode(signature + "=="), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256()
    )
    assert server.heard[1].headers["authorization"] == "Bearer token-number-1"


# ------------------------------------------------------------------------------------------------ AWS
AWS_SECRET = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


def test_an_aws_service_can_verify_the_signature_of_the_request_it_received():
    heard, then = [], datetime(2026, 11, 23, 14, tzinfo=UTC)
    with scripted_server(answer_of, heard) as url:
        auth = {"type": "aws-sigv4", "service": "translate", "region": "eu-west-1"}
        call(url, auth, AWS_SECRET, egress=Egress(LOOPBACK, now=lambda: then))
    (one,) = heard
    received = {name: one.headers[name] for name in ("content-type", "x-amz-date")}
    again = signed_headers(
        one.method,
        f"http://{one.headers['host']}{one.path}",
        received,
        one.body,
        keys=aws_keys(AWS_SECRET),
        region="eu-west-1",
        service="translate",
        now=then,
    )
    assert one.headers["authorization"] == again["Authorization"]
    assert "wJalrXUtnFEMI" not in str(one)


def test_the_region_is_read_from_the_address_of_an_aws_service():
    def check(base_url, **more):
        auth = {"type": "aws-sigv4", "service": "translate", **more}
        check_target(described("custom", base_url, {**CUSTOM, "auth": auth}, secret=AWS_SECRET), LOOPBACK)

    check("https://translate.eu-west-1.amazonaws.com")
    check("https://translate.us-gov-west-1.amazonaws.com")
    check("https://proxy.example", region="eu-west-1")
    with pytest.raises(SpecificationError, match="region"):
        check("https://proxy.example")


# ------------------------------------------------------------------------------------------------ mTLS
def certificate(name, authority=None, *, authority_of=False):
    """Return a key and its certificate, signed by `authority` or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signer, issuer = (key, subject) if authority is None else (authority[0], authority[1].subject)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(True, False, False, False, False, authority is None, authority is None, False, False),
            critical=True,
        )
        .sign(signer, hashes.SHA256())
    )
    return key, made


def file_of(key, made):
    return made.public_bytes(serialization.Encoding.PEM).decode() + pem_of(key)


def test_a_client_certificate_is_sent_to_a_service_that_demands_one(tmp_path):
    authority = certificate("authority")
    (tmp_path / "server.pem").write_text(file_of(*certificate("server", authority)))
    (tmp_path / "authority.pem").write_bytes(authority[1].public_bytes(serialization.Encoding.PEM))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "server.pem")
    tls.load_verify_locations(tmp_path / "authority.pem")
    tls.verify_mode = ssl.CERT_REQUIRED

    def trust():
        return ssl.create_default_context(cafile=str(tmp_path / "authority.pem"))

    heard = []
    with scripted_server(answer_of, heard, tls) as url:
        secret = file_of(*certificate("client", authority))
        replies = call(url, "mtls", secret, egress=Egress(LOOPBACK, make_context=trust), times=2)
        assert said(replies) == ["Ella vino."] * 2
        stranger = file_of(*certificate("stranger"))
        for auth, wrong in (("mtls", stranger), ("bearer", SECRET)):
            with pytest.raises(CallFailed):
                call(url, auth, wrong, egress=Egress(LOOPBACK, make_context=trust))
    assert len(heard) == 2


# ------------------------------------------------------------------------------------------------ validation
BAD = [
    ("settings.auth", "none", SECRET),
    ("secret", "bearer", None),
    ("settings.auth", "kerberos", SECRET),
    ("settings.auth.name", {"type": "header"}, SECRET),
    ("settings.auth.name", {"type": "header", "name": "Host"}, SECRET),
    ("settings.auth.name", {"type": "header", "name": "a b"}, SECRET),
    ("settings.auth.value", {"type": "header", "name": "a", "value": "key"}, SECRET),
    ("settings.auth.client_id", {"type": "oauth2", "token_url": "https://t.example"}, SECRET),
    (
        "settings.auth.parameters",
        oauth2("https://t.example", parameters={"client_secret": "x"}),
        SECRET,
    ),
    ("secret", "basic", "no-colon-here"),
    ("secret", {"type": "aws-sigv4", "service": "s", "region": "eu-west-1"}, "only-one-part"),
    ("secret", {"type": "gcp-service-account"}, '{"client_email": "a@b"}'),
    ("secret", "gcp-service-account", "not json"),
    ("secret", "mtls", "-----BEGIN NOTHING-----"),
    ("secret", "bearer", "two\nlines"),
]


@pytest.mark.parametrize(("field", "auth", "secret"), BAD)
def test_a_secret_that_does_not_fit_its_auth_is_refused_with_its_field_and_not_shown(field, auth, secret):
    with pytest.raises(SpecificationError) as caught:
        check_target(described("deepl", "https://api.example", {"auth": auth}, secret=secret), LOOPBACK)
    assert caught.value.field == field
    assert secret is None or secret not in str(caught.value)


def test_a_client_certificate_that_does_not_match_its_private_key_is_refused():
    (one, made), (other, _) = certificate("one"), certificate("other")
    assert one is not other
    with pytest.raises(SpecificationError) as caught:
        check_target(described("deepl", "https://a.example", {"auth": "mtls"}, secret=file_of(other, made)), LOOPBACK)
    assert caught.value.field == "secret"


def test_an_answer_that_repeats_the_access_token_fails_and_is_not_stored():
    server = TokenServer()

    def echoing(one):
        said = server(one)
        return said if one.path == "/token" else {"said": f"vino {one.headers['authorization']}"}

    with scripted_server(echoing, server.heard) as url:
        (reply,) = call(url, oauth2(url))
    assert reply.failure is not None
    assert "token-number" not in str(reply)
