"""The protocols, adapters for targets that speak them, and validation of targets when they are described.

A protocol is an adapter class (`workers.targets.adapter.Adapter`) built with ``(target, settings, egress)``. Plug-ins
add theirs through the entry-point group ``assay.protocols``; they cannot replace a protocol of this list.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from assay.document import Json, JsonObject
from assay.errors import SpecificationError, UnknownName
from assay.model import Kind
from store.core.settings import Settings
from workers.egress import AddressRefused, Egress, Network, refuse_url
from workers.targets.adapter import Adapter, Limits, Target, questions_per_call
from workers.targets.auth.schemes import SCHEMES_WITH_FILE, AwsSigV4, scheme_name
from workers.targets.chain.chain import Chain, ChainSettings, Link, tighten_limits
from workers.targets.presets.preset import Preset, presets
from workers.targets.protocols.apertium import Apertium
from workers.targets.protocols.azure import Azure
from workers.targets.protocols.custom.adapter import Custom
from workers.targets.protocols.deep_translator import DeepTranslator
from workers.targets.protocols.deepl import DeepL
from workers.targets.protocols.google import Google
from workers.targets.protocols.http.decider import Decider
from workers.targets.protocols.huggingface.inference import HfImages, HfInference, HfLanguageModel
from workers.targets.protocols.kserve import Kserve
from workers.targets.protocols.libretranslate import LibreTranslate
from workers.targets.protocols.mlflow import Mlflow
from workers.targets.protocols.ollama import Ollama, OllamaModel
from workers.targets.protocols.openai.chat import ChatLooker, ChatModel, OpenAIChat
from workers.targets.protocols.openai.completions import OpenAICompletions
from workers.targets.protocols.openai.embeddings import OpenAIEmbeddings
from workers.targets.protocols.openai.images import OpenAIImages
from workers.targets.protocols.tei import Tei
from workers.targets.protocols.tgi import Tgi
from workers.targets.protocols.uploaded import Uploaded
from workers.targets.settings import TargetSettings, read_fields, settings_schema

PROTOCOLS: tuple[type[Adapter], ...] = (
    LibreTranslate,
    Apertium,
    DeepL,
    Google,
    Azure,
    OpenAIChat,
    DeepTranslator,
    OpenAICompletions,
    OpenAIEmbeddings,
    OpenAIImages,
    HfInference,
    Tei,
    Tgi,
    Ollama,
    Kserve,
    Mlflow,
    Uploaded,
    Custom,
    Chain,
)
"""Built-in protocols."""

BY_KIND: Mapping[tuple[str, Kind], Any] = {
    (OpenAIChat.protocol, Kind.LANGUAGE_MODEL): ChatModel,
    (Ollama.protocol, Kind.LANGUAGE_MODEL): OllamaModel,
    (HfInference.protocol, Kind.LANGUAGE_MODEL): HfLanguageModel,
    (OpenAIChat.protocol, Kind.IMAGE_CLASSIFIER): ChatLooker,
    (HfInference.protocol, Kind.IMAGE_CLASSIFIER): HfImages,
}
"""Adapter classes for one protocol and kind of service, instead of the protocol's usual class."""

DECIDING = frozenset({Kind.CLASSIFIER, Kind.REGRESSOR})
"""Kinds of service that a language model with the setting `decision` can be."""

ENTRY_POINTS = "assay.protocols"

_PROCESS_ADAPTERS: dict[str, type[Adapter]] = {}
"""Adapter classes that are registered in this process only (`register_for_process`), by protocol."""


@dataclass(frozen=True, slots=True)
class ProtocolInfo:
    """Facts about a protocol; the fields are those of `workers.targets.adapter.Adapter`."""

    name: str
    summary: str
    kinds: frozenset[Kind]
    needs_url: bool
    needs_secret: bool
    reproducible: bool
    settings_type: type
    notes: tuple[str, ...]

    def settings_schema(self) -> JsonObject:
        """Return the JSON Schema of the settings."""
        return settings_schema(self.settings_type)


@cache
def _adapters() -> Mapping[str, type[Adapter]]:
    """Return all adapters by protocol name; a plug-in does not replace a built-in protocol."""
    plugins = {entry.name: entry.load() for entry in entry_points(group=ENTRY_POINTS)}
    return {**plugins, **{adapter.protocol: adapter for adapter in PROTOCOLS}}


def find_protocol(protocol: str) -> type[Adapter] | Preset:
    """Return a protocol's adapter class or preset; raise `UnknownName`, which names the field ``protocol``."""
    adapter = _adapters().get(protocol) or presets().get(protocol) or _PROCESS_ADAPTERS.get(protocol)
    if adapter is None:
        raise UnknownName("protocol", protocol, [*_adapters(), *presets()], "protocol")
    return adapter


def kinds_of(adapter: type[Adapter] | Preset) -> frozenset[Kind]:
    """Return the kinds of service that a protocol supports, including those of a model that decides (`DECIDING`)."""
    protocol: Any = _adapters()[adapter.base] if isinstance(adapter, Preset) else adapter
    decides = any(setting.name == "decision" for setting in fields(protocol.settings_type))
    return adapter.kinds | DECIDING if decides and Kind.LANGUAGE_MODEL in adapter.kinds else adapter.kinds


def register_for_process(adapter: type[Adapter]) -> None:
    """Register an adapter in this process, without listing its protocol; only the command line calls this."""
    _PROCESS_ADAPTERS[adapter.protocol] = adapter


def read_settings(protocol: str, kind: Kind, settings: Json) -> tuple[type[Adapter], Any]:
    """Return a protocol's adapter class and validated settings; a preset is expanded to its base protocol first."""
    adapter = find_protocol(protocol)
    decides = kind in DECIDING and settings.get("decision") is not None
    needs_decision = kind in kinds_of(adapter) - adapter.kinds  # the kinds that only a decision adds
    if needs_decision and not decides:
        raise SpecificationError(
            f"with {protocol}, a {kind} is a language model that makes a decision: set `decision` to one of the "
            'catalog, such as {"name": "hiring"}, or to a prompt with its labels or its range',
            "settings.decision",
        )
    if decides and Kind.LANGUAGE_MODEL not in adapter.kinds:
        raise SpecificationError(f"there is no language model behind {protocol} that could decide", "settings.decision")
    if isinstance(adapter, Preset):
        expanded_kind = Kind.LANGUAGE_MODEL if decides else kind
        settings, adapter = adapter.expand(expanded_kind, settings), _adapters()[adapter.base]
    return adapter, read_fields(adapter.settings_type, settings, "settings")


@cache
def protocols() -> tuple[ProtocolInfo, ...]:
    """Return the facts about all protocols: built-in ones in the order of the list, presets, then plug-ins."""
    # cached, because the settings classes of the presets are slow to build; each name keeps its first place in the dict
    built_in: dict[str, type[Adapter] | Preset] = {adapter.protocol: adapter for adapter in PROTOCOLS}
    return tuple(_protocol_info(name, adapter) for name, adapter in {**built_in, **presets(), **_adapters()}.items())


def _protocol_info(name: str, adapter: type[Adapter] | Preset) -> ProtocolInfo:
    """Collect the facts about a protocol from its adapter class or preset."""
    settings_type: type = (
        adapter.settings_type(_adapters()[adapter.base].settings_type)
        if isinstance(adapter, Preset)
        else adapter.settings_type
    )
    computed_fields: JsonObject = {"name": name, "settings_type": settings_type, "kinds": kinds_of(adapter)}
    other_fields = [field.name for field in fields(ProtocolInfo) if field.name not in computed_fields]
    return ProtocolInfo(**computed_fields, **{field_name: getattr(adapter, field_name) for field_name in other_fields})


GROUPING_SETTING = "batch_maximum"
"""Setting for the number of questions in a call; it does not change what the service is asked."""


def settings_chosen(target: Json) -> Literal["default", "named", "changed"]:
    """Classify a target's settings: all ``default``, only the service ``named`` (`model` …), or ``changed``.

    Settings without a default (deployment, project) name the service, and so does `model`; any other setting must
    have its default. A `custom` target, which describes its own calls, a chain and an upload are always ``changed``.
    """
    protocol, settings = str(target["protocol"]), target.get("settings") or {}
    adapter = find_protocol(protocol)
    if adapter.protocol in {Custom.protocol, Chain.protocol, Uploaded.protocol}:
        return "changed"
    settings_type: Any = adapter.parameters if isinstance(adapter, Preset) else adapter.settings_type
    if not settings.keys() <= {setting.name for setting in fields(settings_type)}:
        return "changed"  # a setting of the protocol below a preset, such as `body` or `headers`
    valid_settings = read_fields(settings_type, settings, "settings")
    defaults = {
        setting.name: setting.default if setting.default_factory is MISSING else setting.default_factory()
        for setting in fields(settings_type)
        if setting.name != GROUPING_SETTING  # the number of questions in a call
    }
    changed_names = [name for name, default in defaults.items() if getattr(valid_settings, name) != default]
    if all(name == "model" or defaults[name] is MISSING for name in changed_names):
        return "named" if changed_names else "default"
    return "changed"


def _link_targets(target: Target) -> list[Target]:
    settings: ChainSettings = read_fields(ChainSettings, target.settings, "settings")
    return [link.target(target.link_secrets) for link in settings.links]


def address_of(target: Target) -> str:
    """Return a target's base URL; for a chain, those of its links; without a base URL, the name of its protocol."""
    if target.protocol == Chain.protocol:
        return " ".join([Chain.protocol, *(link.base_url or link.protocol for link in _link_targets(target))])
    return target.base_url or target.protocol


def with_tightened_limits(target: Target) -> Target:
    """Return a target with lower limits: for a chain, those of its links; for a decision (several calls), the rate."""
    if target.protocol != Chain.protocol:
        rate = target.limits.requests_per_second
        if rate is None or target.settings.get("decision") is None:
            return target
        _, settings = read_settings(target.protocol, target.kind, target.settings)
        return replace(target, limits=replace(target.limits, requests_per_second=rate / settings.decision.most_calls))
    paths = read_fields(ChainSettings, target.settings, "settings").paths
    return replace(target, limits=tighten_limits(target, _link_targets(target), paths))


def connect(target: Target, egress: Egress) -> Adapter:
    """Build the adapter of a target; nothing is sent yet.

    Raise `SpecificationError` if the target's settings do not fit its protocol, `CallFailed` ``unsupported`` if the
    operator does not allow the protocol.
    """
    adapter_class: Any  # `BY_KIND` replaces it for some kinds of service
    adapter_class, settings = read_settings(target.protocol, target.kind, target.settings)
    if target.kind in DECIDING and getattr(settings, "decision", None) is not None:  # a language model decides
        model_target = replace(target, kind=Kind.LANGUAGE_MODEL, protocol=adapter_class.protocol)  # not a preset
        model_class = BY_KIND.get((adapter_class.protocol, Kind.LANGUAGE_MODEL), adapter_class)
        return Decider(target, settings.decision, model_class(model_target, settings, egress))
    if adapter_class is Chain:
        return Chain(target, settings, [connect(link, egress) for link in _link_targets(target)])
    adapter: Adapter = BY_KIND.get((adapter_class.protocol, target.kind), adapter_class)(target, settings, egress)
    return adapter


_UNSAFE_PATH = re.compile(r"%2f|%5c|\\|/(?:\.|%2e){1,2}(?=/|$)", re.IGNORECASE)
_SECRET_FILE = re.compile(r"[\x20-\x7e\t\r\n]{1,8192}", re.ASCII)
_SECRET = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?", re.ASCII)


class TargetChecker:
    """Validator of targets and callback addresses, and list of protocols (`service.targets.validator`)."""

    def __init__(self, settings: Settings) -> None:
        self._allow, self._scraping = settings.egress_networks, settings.allow_scraping

    def protocols(self) -> Sequence[ProtocolInfo]:
        """Return the facts about all protocols."""
        return protocols()

    def check(self, target: Json) -> None:
        """Raise a `SpecificationError` for an unknown protocol, invalid settings or a forbidden address."""
        check_target(target, self._allow, scraping=self._scraping)

    def questions_per_call(self, target: Json) -> int:
        """Return the maximum number of questions in one call to a validated target."""
        valid_target = read_target(target)
        adapter = connect(valid_target, Egress(self._allow, scraping=self._scraping))
        return questions_per_call(adapter, with_tightened_limits(valid_target).limits)

    def check_callback(self, url: str, field: str = "callback_url") -> None:
        """Raise a `SpecificationError`, which names a request's `field`, if no notice may be sent to its URL."""
        try:
            refuse_url(url, self._allow)
        except AddressRefused as refused:
            raise SpecificationError(str(refused), field) from None


def read_target(document: Json) -> Target:
    """Build a target from a request's fields, and validate all of them except the address of the URL.

    The fields are ``name``, ``kind``, ``protocol``, ``base_url``, ``settings``, ``limits`` and ``secret``. Without
    the last, no secret is validated: the caller stores it elsewhere.

    Raise `SpecificationError` if a field is invalid; the error names the field. The message never repeats a secret.
    """
    adapter = find_protocol(str(document.get("protocol")))
    kind = _read_kind(document.get("kind"), adapter)
    base_url = str(document.get("base_url") or "")
    if adapter.needs_url and not base_url:
        example = f", such as {adapter.example}" if isinstance(adapter, Preset) else ""
        raise SpecificationError(f"protocol {adapter.protocol} needs the base_url of the service{example}", "base_url")
    if base_url and not adapter.needs_url:
        message = f"protocol {adapter.protocol} has addresses of its own; leave base_url out"
        raise SpecificationError(message, "base_url")
    settings = _read_object(document, "settings")
    _, valid_settings = read_settings(adapter.protocol, kind, settings)
    auth = getattr(valid_settings, "auth", None)
    if isinstance(valid_settings, TargetSettings):
        valid_settings.check_kind(kind)
    secret = document.get("secret")
    if "secret" in document:
        _check_secret(secret, adapter, auth)
        if isinstance(valid_settings, TargetSettings):
            valid_settings.check_secret(secret)
    if isinstance(auth, AwsSigV4) and base_url:
        auth.region_of(base_url)  # raises if no region is named
    limits = read_fields(Limits, _read_object(document, "limits"), "limits")
    name = str(document.get("name") or adapter.protocol)
    return Target(name, kind, adapter.protocol, base_url, settings, secret, limits)


def check_target(target_fields: Json, allow: Sequence[Network], *, scraping: bool = False) -> None:
    """Validate a target, described by the fields of `read_target`, without calling it.

    `allow` are networks that the operator allows in addition to public addresses; `scraping` tells whether the operator
    allows scraped translators.

    Raise `SpecificationError` if a field is invalid: `UnknownName` for a protocol, `AddressRefused` for a URL.
    """
    target = read_target(target_fields)
    if target.base_url:
        if "?" in target.base_url or "#" in target.base_url:
            message = "base_url must not have a query or a fragment: it is shown with the rating, and queries hold keys"
            raise SpecificationError(message, "base_url")
        if unsafe_part := _UNSAFE_PATH.search(target.base_url):
            rule = 'base_url must not have path segments "." or "..", encoded slashes (%2F) or backslashes (%5C)'
            message = f"{rule}: servers resolve them differently; it has {unsafe_part[0]!r}, write the path it leads to"
            raise SpecificationError(message, "base_url")
        refuse_url(target.base_url, allow)
        _, valid_settings = read_settings(target.protocol, target.kind, target.settings)
        _check_token_url(getattr(valid_settings, "auth", None), allow)
    if target.protocol == DeepTranslator.protocol and not scraping:
        message = "the operator of this service does not allow scraped translators"
        raise SpecificationError(f"{message}; use the protocol of the service itself", "protocol")
    if target.protocol == Chain.protocol:
        for index, link in enumerate(read_fields(ChainSettings, target.settings, "settings").links):
            _check_link(link, f"settings.links.{index}", allow)


def _check_link(link: Link, field_path: str, allow: Sequence[Network]) -> None:
    """Validate a link of a chain, except the secret of a saved link, which was validated with its target."""
    target_fields = link.fields() if link.id is not None else {**link.fields(), "secret": None}  # other links have none
    try:
        if link.protocol in {Chain.protocol, Uploaded.protocol} or not find_protocol(link.protocol).reproducible:
            message = f"{link.protocol} cannot be a link of a chain; name services that are called themselves"
            raise SpecificationError(message, "protocol")
        check_target(target_fields, allow)
    except SpecificationError as refused:
        hint = "; save it as a target and name its id" if refused.field == "secret" else ""
        raise SpecificationError(f"{refused}{hint}", f"{field_path}.{refused.field}") from None


def _read_object(document: Json, name: str) -> Json:
    member = document.get(name)
    if member is not None and not isinstance(member, Mapping):
        raise SpecificationError(f"{name} must be an object", name)
    return member or {}


def _read_kind(name: Any, adapter: type[Adapter] | Preset) -> Kind:
    """Parse a kind of service; raise `SpecificationError` if it is unknown or the protocol does not support it."""
    try:
        kind = Kind(name)
    except ValueError:
        raise UnknownName("kind of service", str(name), tuple(Kind), "kind") from None
    if kind not in kinds_of(adapter):
        kind_list = ", ".join(sorted(kinds_of(adapter)))
        raise SpecificationError(f"protocol {adapter.protocol} speaks to {kind_list}, not to {kind}", "kind")
    return kind


def _check_secret(secret: str | None, adapter: type[Adapter] | Preset, auth: Any) -> None:
    """Raise `SpecificationError` if a secret is missing, or has characters that its form does not allow."""
    if secret is None:
        if adapter.needs_secret and auth != "none":
            raise SpecificationError(f"protocol {adapter.protocol} needs a secret", "secret")
    elif isinstance(secret, str) and auth is not None and scheme_name(auth) in SCHEMES_WITH_FILE:
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
