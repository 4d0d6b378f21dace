"""Authentication schemes of targets: the setting ``auth``, and the form of the secret.

Settings are public; secret values belong in the target's secret. `store.security.secrets.destination_of` binds this
secret to the target's address and to these settings, including the address of a token endpoint.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import MaxLen, MinLen
from cryptography import x509
from cryptography.exceptions import InternalError, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import Discriminator, Tag

from assay.errors import SpecificationError
from workers.targets.auth.private_keys import PrivateKey, UnusableKey, check_private_key, load_private_key

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110, section 5.6.2
VISIBLE = re.compile(r"[\x20-\x7e]*", re.ASCII)
_HEADERS_OF_ASSAY = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "te", "upgrade", "expect"}
    | {"trailer", "keep-alive", "proxy-connection"}
)
_REGION = re.compile(r"\.((?:[a-z]+-){2,3}[0-9])\.(?:amazonaws\.com|api\.aws)")
_SECRET_PARAMETERS = frozenset({"client_secret", "client_assertion", "assertion", "password", "refresh_token"})

Url = Annotated[str, MinLen(1), MaxLen(2048)]
Name = Annotated[str, MinLen(1), MaxLen(200)]


class Strict:
    """Base class of settings: unknown fields are refused, and the docstrings of fields are part of the schema."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid", "use_attribute_docstrings": True}


def check_header_name(name: str, field_path: str) -> None:
    """Raise a `SpecificationError` for a name that is no header, or a header that Assay sets itself."""
    if not _HEADER_NAME.fullmatch(name) or name.lower() in _HEADERS_OF_ASSAY:
        raise SpecificationError(f"{name!r} is not a header that can be set", field_path)


@dataclass(frozen=True, kw_only=True)
class Placed(Strict):
    """The secret in a header, a query parameter or a field of the body, with any name."""

    type: Literal["header", "query", "body"]
    """Place of the secret in the request."""
    name: Annotated[str, MinLen(1), MaxLen(100)]
    """Name of the header, parameter or field: ``api-key``, ``x-api-key`` …"""
    value: Annotated[str, MaxLen(500)] = "{secret}"
    """Template of the value; contains {secret}."""

    def __post_init__(self) -> None:
        if "{secret}" not in self.value or not VISIBLE.fullmatch(self.value):
            raise SpecificationError("value must hold {secret}, and visible ASCII characters only", "auth.value")
        if self.type == "header":
            check_header_name(self.name, "auth.name")


@dataclass(frozen=True, kw_only=True)
class OAuth2(Strict):
    """OAuth 2.0 client credentials (RFC 6749, section 4.4); the secret is the client's secret."""

    type: Literal["oauth2"] = "oauth2"
    """A token is fetched, kept in memory until it expires, and fetched anew after a status 401."""
    token_url: Url
    """Address of the token endpoint; the secret is bound to it."""
    client_id: Name
    """Id of the client; public."""
    scope: Annotated[str, MaxLen(1000)] = ""
    """Scopes, separated by spaces."""
    parameters: Annotated[Mapping[str, Annotated[str, MaxLen(500)]], MaxLen(10)] = field(default_factory=dict)
    """Further parameters of the token request, such as ``audience`` or ``resource``."""
    client: Literal["header", "body"] = "header"
    """Place of the client's id and secret in the token request."""

    def __post_init__(self) -> None:
        if secret_names := _SECRET_PARAMETERS & {name.lower() for name in self.parameters}:
            raise SpecificationError(f"{min(secret_names)} is secret and cannot be a parameter", "auth.parameters")


@dataclass(frozen=True, kw_only=True)
class AwsSigV4(Strict):
    """AWS Signature Version 4; the secret is ``access-key-id:secret-access-key`` or, with a token, three parts."""

    type: Literal["aws-sigv4"] = "aws-sigv4"
    """Each request is signed; the secret access key is never sent."""
    service: Annotated[str, MinLen(1), MaxLen(50)]
    """Name that AWS signs for: ``bedrock``, ``sagemaker``, ``translate`` …"""
    region: Annotated[str, MaxLen(50)] = ""
    """Region; if empty, the region in the address, as in ``translate.eu-west-1.amazonaws.com``."""

    def region_of(self, base_url: str) -> str:
        """Return the region to sign for; raise a `SpecificationError` if neither setting nor address names a region."""
        match = _REGION.search(base_url)
        if not self.region and match is None:
            raise SpecificationError("the address names no AWS region; set auth.region", "settings.auth.region")
        return self.region or (match[1] if match else "")


@dataclass(frozen=True, kw_only=True)
class GcpServiceAccount(Strict):
    """A Google Cloud service account; the secret is its JSON key file."""

    type: Literal["gcp-service-account"] = "gcp-service-account"
    """A signed assertion (RFC 7523) is exchanged for a token, kept in memory until it expires."""
    scope: Annotated[str, MinLen(1), MaxLen(1000)] = "https://www.googleapis.com/auth/cloud-platform"
    """Scopes, separated by spaces."""
    token_url: Url = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
    """Address of the token endpoint; the secret is bound to it, and the key file's ``token_uri`` is not used."""


Plain = Literal["none", "bearer", "basic", "gcp-service-account", "mtls"]
"""``none``: no secret. ``bearer``: a bearer token. ``basic``: ``user:password``. ``mtls``: the secret is a client
certificate with its chain and its unencrypted key, as PEM."""

Scheme = Placed | OAuth2 | AwsSigV4 | GcpServiceAccount

_NAMED, _PLACED = "a name alone", "header, query, body"
"""Tags of two groups of values of ``auth``, as error messages show them."""


def _type(auth: object) -> str | None:
    """Return the type of a value of ``auth`` (``None``: it has none); validation errors show this function's name."""
    scheme_type = auth.get("type") if isinstance(auth, Mapping) else getattr(auth, "type", _NAMED)
    return _PLACED if scheme_type in {"header", "query", "body"} else scheme_type


Objects = (
    Annotated[Placed, Tag(_PLACED)]
    | Annotated[OAuth2, Tag("oauth2")]
    | Annotated[AwsSigV4, Tag("aws-sigv4")]
    | Annotated[GcpServiceAccount, Tag("gcp-service-account")]
)
Auth = Annotated[Annotated[Plain, Tag(_NAMED)] | Objects, Discriminator(_type)]
CustomAuth = Annotated[
    Annotated[Plain | Literal["header", "query", "body"], Tag(_NAMED)] | Objects, Discriminator(_type)
]

SCHEMES_WITH_FILE = ("gcp-service-account", "mtls")
"""Schemes whose secret is a file of several lines."""


def scheme_name(auth: Plain | Scheme) -> str:
    """Return the name of a scheme, which is given by its name alone or as an object."""
    return auth if isinstance(auth, str) else auth.type


def check_auth(auth: Plain | Scheme, secret: str | None) -> None:
    """Raise a `SpecificationError` for a secret that does not fit a scheme; the message never repeats it."""
    name = scheme_name(auth)
    if (name == "none") != (secret is None):
        fault = "auth is none, so the secret would not be sent" if secret else f"auth is {name}"
        raise SpecificationError(f"{fault}: give both auth and a secret, or neither", "settings.auth")
    if secret is None:
        return
    match name:
        case "basic" if ":" not in secret:
            raise SpecificationError("the secret of auth basic is user:password", "secret")
        case "aws-sigv4":
            aws_keys(secret)  # raises for another form
        case "gcp-service-account":
            _check_key(service_account(secret).key, name)
        case "mtls":
            _, key = _certificate_and_key(secret)
            _check_key(key, name)


def _check_key(key: PrivateKey, auth: str) -> None:
    try:
        check_private_key(key)
    except UnusableKey as unusable:
        raise SpecificationError(f"the secret of auth {auth}: {unusable}", "secret") from None


@dataclass(frozen=True)
class AwsKeys:
    """Access key id, secret access key, and the session token of temporary keys (else empty)."""

    key_id: str
    secret_key: str = field(repr=False)
    session_token: str = field(default="", repr=False)


def aws_keys(secret: str) -> AwsKeys:
    """Split the secret of ``aws-sigv4``; raise a `SpecificationError` for another form."""
    key_parts = secret.split(":")
    if len(key_parts) not in {2, 3} or not all(key_parts):
        expected_form = "access-key-id:secret-access-key, followed by :session-token for temporary keys"
        raise SpecificationError(f"the secret of auth aws-sigv4 is {expected_form}", "secret")
    return AwsKeys(*key_parts)


@dataclass(frozen=True)
class ServiceAccount:
    """Content of a service account's key file: its e-mail address, the id of its key, and the key."""

    email: str
    key_id: str
    key: RSAPrivateKey = field(repr=False)


def service_account(secret: str) -> ServiceAccount:
    """Parse a service account's JSON key file; raise a `SpecificationError` for another form."""
    cause = ""
    try:
        key_file = json.loads(secret)
        key = load_private_key(key_file["private_key"])
        if isinstance(key, RSAPrivateKey):
            return ServiceAccount(str(key_file["client_email"]), str(key_file.get("private_key_id", "")), key)
    except UnusableKey as unusable:
        cause = f": {unusable}"
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass  # the exceptions quote the file, so none is shown
    raise SpecificationError(f"the secret of auth gcp-service-account is the JSON file of its RSA key{cause}", "secret")


def client_certificate(secret: str) -> str:
    """Return a client certificate with its chain and its key as PEM, without anything else that the secret holds.

    OpenSSL reads the result. It must find no other key than the checked key: for an encrypted key, OpenSSL would ask
    for a password on the terminal, and wait.
    """
    certificates, key = _certificate_and_key(secret)
    pem_certificates = [certificate.public_bytes(Encoding.PEM) for certificate in certificates]
    return b"".join([*pem_certificates, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())]).decode()


def _certificate_and_key(secret: str) -> tuple[list[x509.Certificate], PrivateKey]:
    """Parse the secret of ``mtls``: the client's certificate with its chain, and the matching private key."""
    cause = ""
    try:
        key = load_private_key(secret)
        certificates = x509.load_pem_x509_certificates(secret.encode())
        if certificates[0].public_key() == key.public_key():
            return certificates, key
    except UnusableKey as unusable:
        cause = f": {unusable}"
    except (ValueError, TypeError, InternalError, UnsupportedAlgorithm):
        pass  # the exceptions may quote the secret, so none is shown
    expected_form = "a client certificate with its chain and its key, unencrypted, both as PEM"
    raise SpecificationError(f"the secret of auth mtls is {expected_form}{cause}", "secret")
