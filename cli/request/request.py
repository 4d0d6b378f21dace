"""The request of a rating, from a file and the options of the command line."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from assay.catalog import attribute, construction, constructions
from assay.document import Json, JsonObject
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.methods import AnyMethod, check_kind, fit_to, usual_method
from assay.model import Kind
from cli.documents import parse_json, parse_toml, read_text
from cli.local.program import local_target
from cli.request.rating_options import SECRET_VARIABLE, RatingOptions
from store.core.columns import random_nonce, random_seed
from store.core.settings import Settings
from store.ratings.experiment_json import parse_method, with_intersection
from workers.egress import Network

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
"""Networks that the command line may always call: services on this machine."""

FILE_ENTRIES = ("target", "author", "judge", "experiment", "seed", "max_calls", "deadline_s")
TEXT_FIELDS = ("name", "kind", "protocol", "base_url", "secret")
TARGET_FIELDS = (*TEXT_FIELDS, "settings", "limits")
TABLES = ("target", "author", "judge", "experiment")

BOUNDS = {"seed": (0, 2**53 - 1), "max_calls": (1, 1_000_000), "deadline_s": (1, 86_400)}
"""Bounds (smallest, largest) of the whole numbers of a request, the same as in the API."""


def networks(settings: Settings) -> Sequence[Network]:
    """Return the networks that a command may call in addition to public addresses."""
    return (*LOOPBACK, *settings.egress_networks)


def read_request(options: RatingOptions) -> JsonObject:
    """Merge the file and the options into one request, in the form of the API.

    Raise `SpecificationError` if the file cannot be read or has unknown entries, or a value is invalid.
    """
    document = read_file(options.file) if options.file else {}
    for key, value in pairs(options.fields, "--set"):  # most are fields of the experiment, named without it
        _set_key(document, key if key.partition(".")[0] in FILE_ENTRIES else f"experiment.{key}", value)
    _check_file(document)
    target, experiment = dict(document.get("target", {})), dict(document.get("experiment", {}))
    url = options.url and options.url.strip()
    overrides = (("kind", options.kind), ("protocol", options.protocol), ("base_url", url), ("secret", options.secret))
    target.update({key: value for key, value in overrides if value})
    program_fields = local_target(options.python, options.command)  # empty without a local program
    target |= program_fields | {"settings": {**target.get("settings", {}), **program_fields.get("settings", {})}}
    if "protocol" not in target:
        raise SpecificationError(
            "name its interface: --protocol NAME (see `assay protocols`), a FILE.toml, --python or --command"
        )
    target.setdefault("kind", "translator")
    target.setdefault("base_url", "")
    target["name"] = options.name or target.get("name") or f"{target['protocol']} {target['base_url']}".strip()
    target["settings"] = {**target.get("settings", {}), **dict(pairs(options.settings, "--setting"))}
    if target["settings"].get("auth", "none") != "none" and not target.get("secret"):
        raise SpecificationError(f"the service needs a key: put it into the variable {SECRET_VARIABLE}", "secret")
    request = {
        "target": target,
        **{name: dict(document[name]) if name in document else None for name in ("author", "judge")},
        "experiment": _complete_experiment(options, experiment, target["kind"]),
        "seed": options.seed if options.seed is not None else document.get("seed", random_seed()),
        "max_calls": options.max_calls if options.max_calls is not None else document.get("max_calls", 100_000),
        "deadline_s": document.get("deadline_s", 3600),
    }
    # keeps others from finding a random seed by trial (`assay.canonical.commitment_of`)
    request["nonce"] = "" if options.seed is not None or "seed" in document else random_nonce()
    for name, (least, greatest) in BOUNDS.items():
        if type(request[name]) is not int or not least <= request[name] <= greatest:  # a Boolean is no number
            raise OutOfBounds(f"{name} must be a whole number from {least} to {greatest}, not {request[name]!r}", name)
    if options.upload is not None:
        from cli.request.upload import take_upload

        format_options = {"encoding": options.encoding, "decimal": options.decimal, "sheet": options.sheet}
        take_upload(options.upload, request, **format_options)
    _check_rows(request["experiment"].get("records"))
    return request


def _check_rows(records: object) -> None:
    """Raise a `SpecificationError` about `--upload` if an experiment about records has no rows."""
    if isinstance(records, Mapping) and not records.get("rows") and records.get("upload") is None:
        raise SpecificationError("the experiment asks about records: give their table with --upload FILE", "upload")


def method_of_request(request: Json) -> AnyMethod:
    """Return the method of a request, fitted to its kind of service; raise `SpecificationError` if it is invalid."""
    target = request["target"]
    method, kind = parse_method(request["experiment"]), Kind(target["kind"])
    check_kind(method, kind)
    if (judge := request.get("judge")) is not None:
        if (kind_of_judge := judge.get("kind", Kind.CLASSIFIER)) not in set(Kind):
            raise UnknownName("kind of service", str(kind_of_judge), tuple(Kind), "judge.kind")
        method = method.with_judge(Kind(kind_of_judge))
    return fit_to(method, kind, target["settings"])


def read_file(file: Path) -> JsonObject:
    """Read a TOML or JSON file; raise `SpecificationError` if it cannot be read or parsed."""
    parse = parse_json if file.suffix.lower() == ".json" else parse_toml
    document = parse(read_text(file), str(file))
    _check_table(str(file), document)
    return dict(document)


def _complete_experiment(options: RatingOptions, experiment: JsonObject, kind: object) -> JsonObject:
    """Set fields of `experiment` from options (default: the usual method of the kind, attribute gender); return it."""
    experiment["method"] = options.method or experiment.get("method") or _usual_method(kind)
    has_attribute = options.specification or {"attribute", "specification", "words"} & experiment.keys()
    if options.attribute or not has_attribute:
        names = options.attribute or ["gender"]
        experiment["attribute"] = (  # a single text may be a list in TOML
            names if len(names) > 1 else _parse_value(option="--attribute", key="--attribute", text=names[0])
        )
    if options.specification:
        experiment["specification"] = options.specification
    if options.languages:
        experiment["languages"] = list(options.languages)
    if options.source:
        experiment["source"] = options.source
    if options.templates:
        experiment["templates"] = _templates(options.templates, experiment)
    return experiment


def _usual_method(kind: Any) -> str:
    if kind not in set(Kind):
        raise UnknownName("kind of service", str(kind), tuple(Kind), "target.kind")
    if (method := usual_method(Kind(kind))) is None:
        raise SpecificationError(f"no method can rate a {kind} yet", "target.kind")
    return method


def _check_file(document: Json) -> None:
    _check_names("entry of the file", document, FILE_ENTRIES)
    for name in TABLES:
        _check_table(name, document.get(name, {}))
    for name in ("target", "author", "judge"):
        fields = document.get(name, {})
        _check_names(f"field of [{name}]", fields, TARGET_FIELDS)
        _check_table(f"{name}.settings", fields.get("settings", {}))
        for field in TEXT_FIELDS:
            if not isinstance(fields.get(field), str | None):
                raise SpecificationError(f"{name}.{field} must be a text, not {fields[field]!r}", f"{name}.{field}")


def _check_names(kind: str, table: Json, allowed_names: Sequence[str]) -> None:
    for name in table:
        if name not in allowed_names:
            raise UnknownName(kind, name, allowed_names)


def _check_table(name: str, value: object) -> None:
    if not isinstance(value, dict):
        raise SpecificationError(f"{name} must be a table of its own, [{name}], not {value!r}", name)


def pairs(texts: Iterable[str] | None, option: str) -> list[tuple[str, Any]]:
    """Read ``key=value`` pairs of an option; a value is parsed as TOML (a number, a list) or JSON if possible."""
    parsed_pairs = []
    for pair in texts or ():
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise SpecificationError(f"{option} takes key=value, not {pair!r}")
        parsed_pairs.append((key, _parse_value(option, key, value)))
    return parsed_pairs


def _parse_value(option: str, key: str, text: str) -> Any:
    """Parse a text as TOML or JSON; a text that is neither stands for itself."""
    with suppress(tomllib.TOMLDecodeError, RecursionError):
        return tomllib.loads(f"value = {text}")["value"]
    with suppress(ValueError, RecursionError):
        return json.loads(text)  # TOML has no null
    if re.search(r"=\s*null\b", text):
        raise SpecificationError(f'{option} {key}: TOML has no null; write JSON, such as {key}={{"tokens": null}}')
    return text


def _set_key(table: JsonObject, key: str, value: object) -> None:
    """Set the value of a dotted key, such as ``limits.timeout_s``, in nested tables; create missing tables."""
    *tables, last_key = key.split(".")
    for name in tables:
        subtable = table[name] = table.get(name, {})
        _check_table(name, subtable)
        table = subtable
    table[last_key] = value


def _templates(names: Sequence[str], experiment: Json) -> list[str]:
    if "all" not in names:
        return list(names)
    attribute_words = attribute(str(with_intersection(experiment).get("attribute", "gender")))
    return [name for name in constructions() if construction(name).supports(attribute_words)]
