"""Validation of targets and their secrets when they are described, without calling them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.document import Json
from assay.errors import SpecificationError, UnknownName
from assay.model import Kind
from store.core.settings import Settings
from workers.egress import AddressRefused, Egress, Network, refuse_url
from workers.targets.adapter import Adapter, Limits, Target, questions_per_call
from workers.targets.auth.schemes import MULTILINE, AwsSigV4, scheme_name
from workers.targets.chain.chain import Chain, ChainSettings, Link
from workers.targets.presets.preset import Preset
from workers.targets.protocols.deep_translator import DeepTranslator
from workers.targets.protocols.uploaded import Uploaded
from workers.targets.registry import ProtocolInfo, connect, keep_to_links, kinds_of, offered, protocols, read_settings
from workers.targets.settings import TargetSettings, read_fields

_SECRET_FILE = re.compile(r"[\x20-\x7e\t\r\n]{1,8192}", re.ASCII)
_SECRET = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?", re.ASCII)


class TargetChecker:
    """Lists protocols, and validates targets and callback addresses (`service.targets.target_validator`)."""

    def __init__(self, settings: Settings) -> None:
        self._allow, self._scraping = settings.egress_networks, settings.allow_scraping

    def protocols(self) -> Sequence[ProtocolInfo]:
        """Return all protocols."""
        return protocols()

    def check(self, target: Json) -> None:
        """Raise a `SpecificationError` for an unknown protocol, invalid settings or a forbidden address."""
        check_target(target, self._allow, scraping=self._scraping)

    def questions_per_call(self, target: Json) -> int:
        """Return the maximum number of questions in one call to a validated target."""
        checked = read_target(target)
        adapter = connect(checked, Egress(self._allow, scraping=self._scraping))
        return questions_per_call(adapter, keep_to_links(checked).limits)

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        """Raise a `SpecificationError` for an address to which no notice may be sent."""
        try:
            refuse_url(url, self._allow)
        except AddressRefused as refused:
            raise SpecificationError(str(refused), field) from None


def read_target(described: Json, secret: str | None = None) -> Target:
    """Build a target from a request's fields, and validate all of them except the address of the URL.

    Parameters
    ----------
    described : mapping
        ``name``, ``kind``, ``protocol``, ``base_url``, ``settings``, ``limits`` and ``secret``.
        If the field ``secret`` is missing, secrets are not validated: the caller stores them elsewhere.
    secret : str, optional
        The key, if it is not among the fields.

    Raises
    ------
    SpecificationError
        If a field is invalid; the error names the field. The message never repeats a secret.
    """
    adapter = offered(str(described.get("protocol")))
    kind = _kind(described.get("kind"), adapter)
    base_url = str(described.get("base_url") or "")
    if adapter.needs_url and not base_url:
        such = f", such as {adapter.example}" if isinstance(adapter, Preset) else ""
        raise SpecificationError(f"protocol {adapter.protocol} needs the base_url of the service{such}", "base_url")
    if base_url and not adapter.needs_url:
        raise SpecificationError(
            f"protocol {adapter.protocol} has addresses of its own; leave base_url out", "base_url"
        )
    settings = _object(described, "settings")
    _, read = read_settings(adapter.protocol, kind, settings)
    if isinstance(read, TargetSettings):
        read.check_kind(kind)
    if secret is not None or "secret" in described:
        secret = secret if secret is not None else described["secret"]
        _check_secret(secret, adapter, getattr(read, "auth", None))
        if isinstance(read, TargetSettings):
            read.check_secret(secret)
    if isinstance(auth := getattr(read, "auth", None), AwsSigV4) and base_url:
        auth.region_of(base_url)
    limits = read_fields(Limits, _object(described, "limits"), "limits")
    name = str(described.get("name") or adapter.protocol)
    return Target(name, kind, adapter.protocol, base_url, settings, secret, limits)


def check_target(target_fields: Json, allow: Sequence[Network], *, scraping: bool = False) -> None:
    """Validate a target without calling it.

    Parameters
    ----------
    target_fields : mapping
        The fields of `read_target`.
    allow : sequence of network
        Networks that the operator allows in addition to public addresses.
    scraping : bool
        Whether the operator allows scraped translators.

    Raises
    ------
    SpecificationError
        If a field is invalid: `UnknownName` for a protocol, `AddressRefused` for a URL.
    """
    target = read_target(target_fields)
    if target.base_url:
        if "?" in target.base_url or "#" in target.base_url:
            raise SpecificationError(
                "base_url must not have a query or a fragment: it is shown with the rating, and queries hold keys",
                "base_url",
            )
        refuse_url(target.base_url, allow)
        _, read = read_settings(target.protocol, target.kind, target.settings)
        _check_token_url(getattr(read, "auth", None), allow)
    if target.protocol == DeepTranslator.protocol and not scraping:
        raise SpecificationError(
            "the operator of this service does not allow scraped translators; use the protocol of the service itself",
            "protocol",
        )
    if target.protocol == Chain.protocol:
        for index, link in enumerate(read_fields(ChainSettings, target.settings, "settings").links):
            _check_link(link, f"settings.links.{index}", allow)


def _check_link(link: Link, where: str, allow: Sequence[Network]) -> None:
    """Validate a link of a chain; the secret of a saved link is stored with its target."""
    target_fields = link.fields() if link.id is not None else {**link.fields(), "secret": None}
    try:
        adapter = offered(link.protocol)
        if link.protocol in {Chain.protocol, Uploaded.protocol} or not adapter.reproducible:
            raise SpecificationError(
                f"{link.protocol} cannot be a link of a chain; name services that are called themselves", "protocol"
            )
        check_target(target_fields, allow)
    except SpecificationError as refused:
        hint = "; save it as a target and name its id" if refused.field == "secret" else ""
        raise SpecificationError(f"{refused}{hint}", f"{where}.{refused.field}") from None


def _object(described: Json, name: str) -> Json:
    value = described.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise SpecificationError(f"{name} must be an object", name)
    return value or {}


def _kind(name: Any, adapter: type[Adapter] | Preset) -> Kind:
    kinds = kinds_of(adapter)
    offered = tuple(str(kind) for kind in sorted(kinds))
    try:
        kind = Kind(name)
    except ValueError:
        raise UnknownName("kind of service", str(name), tuple(Kind), "kind") from None
    if kind not in kinds:
        raise SpecificationError(f"protocol {adapter.protocol} speaks to {', '.join(offered)}, not to {kind}", "kind")
    return kind


def _check_secret(secret: str | None, adapter: type[Adapter] | Preset, auth: Any) -> None:
    if secret is None:
        if adapter.needs_secret and auth != "none":
            raise SpecificationError(f"protocol {adapter.protocol} needs a secret", "secret")
    elif isinstance(secret, str) and auth is not None and scheme_name(auth) in MULTILINE:
        if not _SECRET_FILE.fullmatch(secret):
            raise SpecificationError("secret must be a file of 1 to 8192 ASCII characters", "secret")
    elif not isinstance(secret, str) or not _SECRET.fullmatch(secret):
        raise SpecificationError("secret must be 1 to 4096 visible ASCII characters on one line", "secret")


def _check_token_url(auth: object, allow: Sequence[Network]) -> None:
    """Validate the address of a token endpoint, to which the secret is sent."""
    if token_url := getattr(auth, "token_url", ""):
        try:
            refuse_url(token_url, allow)
        except AddressRefused as refused:
            raise AddressRefused(str(refused), "settings.auth.token_url") from None
