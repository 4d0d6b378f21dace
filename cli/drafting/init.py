"""`assay init`: write a commented request file."""

import asyncio
import contextlib
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from assay.catalog.decisions import decision, decisions
from assay.document import Json
from assay.errors import SpecificationError, UnknownName
from assay.methods import usual_method
from assay.model import Ask, Kind, Translate
from cli.drafting.call import Draft, draft_of, read_curl
from cli.drafting.openapi import read_openapi
from cli.request.rating_options import SECRET_VARIABLE
from cli.request.request import networks
from reports.plain import escape_hidden
from store.core.settings import Settings
from workers.egress import CallFailed, Egress, Exchange
from workers.job_targets import USUAL_PAIRS
from workers.probe import probe
from workers.targets.adapter import Target
from workers.targets.checks.answer_places import answer_paths, constants_in, settings_that_read
from workers.targets.checks.language_model import SAMPLE_PROMPT
from workers.targets.checks.samples import samples_for
from workers.targets.checks.translator import sentences_in
from workers.targets.registry import check_target, connect, find_protocol, protocols, read_target

OWN_DECISION = "own"
"""Name that the user gives instead of a decision of the catalog, to write a prompt of their own."""

LEAST_SECRET = 6
"""Minimum length of a credential that is searched for in the file; a shorter one may be part of a word."""

PLACEHOLDER = "placeholder:for-a-check"
"""Secret with which a draft is validated; it is neither sent nor written."""

SUCCESSFUL = range(200, 300)
"""HTTP statuses of an answer."""

READABLE = frozenset({None, "bad-json", "wrong-shape"})
"""Codes with which a probe ends if an answer came that other settings may read; ``None`` is success."""

LANGUAGE_MODEL_METHODS = (
    '# Questions about two people, some of which nobody can answer from the context: method = "questions".',
    '# Texts that it writes about people: method = "free-text". A classifier or regressor, the judge, may score them:',
    "# [judge]",
    '# kind = "classifier"',
    '# protocol = "hf-inference"',
    '# base_url = "https://…"',
)
"""Comments of the file about other methods for a language model."""


def write_draft(draft: Draft, file: Path, settings: Settings, *, force: bool) -> None:
    """Check a draft, and write it as a request file; with `force`, overwrite an existing file."""
    target = draft.target | {"secret": PLACEHOLDER if draft.secrets else None}
    check_target(target, networks(settings), scraping=settings.allow_scraping)
    text = "\n".join(_draft_lines(draft, file)) + "\n"
    content = text.encode()  # a text that no file can hold is refused before the file is opened
    if any(secret in text for secret in draft.secrets if len(secret) >= LEAST_SECRET):  # a shorter one may be a word
        raise SpecificationError("the call contains its key a second time; remove it there")
    try:
        with file.open("wb" if force else "xb") as stream:
            stream.write(content)
    except FileExistsError:
        raise SpecificationError(f"{file} exists; name another file, or overwrite it with --force") from None
    typer.echo(escape_hidden(f"{file} is written. Next: assay probe {file}, then assay rate {file}"), err=True)
    for note in draft.notes:
        typer.echo(escape_hidden(f"To check: {note}."), err=True)
    if draft.secrets:
        typer.echo(f"Its key is not in the file: put it into the variable {SECRET_VARIABLE}.", err=True)


def draft_from(
    kind: Kind,
    curl: str | None,
    openapi: Path | None,
    *,
    operation: str | None,
    text: str | None,
    url: str | None,
    decides: str | None = None,
) -> Draft:
    """Draft the target of a curl command or an operation; without either, ask at the terminal.

    `text` has the words of the call that stand for a question; `url` replaces the document's address of the server;
    `decides` is the decision of a language model, or ``own`` for a decision to ask for at the terminal.
    """
    if decides not in {None, *decisions(), OWN_DECISION}:
        raise UnknownName("decision", str(decides), [*decisions(), OWN_DECISION], "decides")
    if curl is None and openapi is None:
        return _ask_user(kind, decides)
    if curl is not None and openapi is not None:
        raise SpecificationError("give --curl or --openapi, not both")
    if curl is not None:
        call = read_curl(curl)
    else:
        assert openapi is not None  # noqa: S101 - one of both is given
        call = read_openapi(openapi, operation, url)
    call.text = text
    if decides is None:
        return draft_of(call, kind)
    draft = draft_of(call, Kind.LANGUAGE_MODEL)
    set_decision(draft, decides)
    return draft


def try_draft(draft: Draft, settings: Settings, secret: str | None) -> Draft:
    """Ask a draft's service a few questions; return the draft with settings that find the answer in its replies."""
    if draft.secrets and not secret:
        raise SpecificationError(f"the service needs a key: put it into the variable {SECRET_VARIABLE}", "secret")
    allowed_networks = networks(settings)
    request = draft.target | {"secret": secret if draft.secrets else None}
    check_target(request, allowed_networks)
    target = read_target(request)
    probe_exchanges = list[Exchange]()
    other_exchanges = list[Exchange]()

    async def send_questions() -> Any:
        """Test the service with one question, then ask it the others; keep all requests and responses."""
        async with Egress(allowed_networks, user_agent=settings.user_agent) as egress:
            result = await probe(target, egress, exchanges=probe_exchanges)
            adapter = connect(target, egress.watched(other_exchanges.append))
            for ask in _other_questions(target) if result.code in READABLE else ():
                with contextlib.suppress(CallFailed):
                    await adapter.answer([ask])
            return result

    result = asyncio.run(send_questions())
    body = probe_exchanges[-1].received.body if probe_exchanges and probe_exchanges[-1].received else b""
    received = [exchange.received for exchange in other_exchanges if exchange.received]
    other_bodies = [response.body for response in received if response.status in SUCCESSFUL]
    # a model that decides answers with a text, from which Assay reads the decision
    kind = Kind.LANGUAGE_MODEL if target.settings.get("decision") else target.kind
    # settings with an expression that finds the answer; with any other code, no answer came
    reading_settings = settings_that_read(body, kind, other_bodies) if result.code in READABLE else {}
    # a doubt about an answer that was read, or a failure that no other setting corrects
    if result.cause and (result.code is None or not reading_settings):
        raise SpecificationError(f"the trial question failed: {result.cause.rstrip('.')}. {result.remedy}")
    if result.code is not None or target.settings["output"] == "@":  # an expression that reads the answer is kept
        draft.target["settings"] |= reading_settings
    draft.notes = [note for note in draft.notes if not note.startswith("output:")]  # the trial settled them
    constants = constants_in(body, other_bodies)  # paths at which every reply has the same value
    draft.notes += [
        f"output: {path} has the same value in every answer" for path in answer_paths(body, kind) if path in constants
    ]
    if alternatives := [path for path in answer_paths(body, kind, other_bodies) if path not in constants][1:]:
        draft.notes.append(f"output: the answer may also be at {' or '.join(alternatives)}")
    return draft


def _other_questions(target: Target) -> Sequence[Ask]:
    """Return questions whose answers differ from that to the first question, to recognise values that never change."""
    if target.kind is Kind.TRANSLATOR:
        source, target_language = USUAL_PAIRS[0]
        return [Translate(sentences_in(source, count=2)[1][1], source, target_language)]  # the second sentence
    if target.kind is Kind.LANGUAGE_MODEL:
        return [SAMPLE_PROMPT]  # the first question is answered with a letter
    # a model that decides may well give the same answer to a few cases
    return () if target.settings.get("decision") else samples_for(target).questions[1:]


def _ask_user(kind: Kind, decides: str | None) -> Draft:
    """Ask for the protocol, the address, the protocol's required settings, the decision, and whether there is a key."""
    kinds = {kind} if decides is None else {Kind.CLASSIFIER, Kind.LANGUAGE_MODEL}  # a language model that decides
    usable_protocols = {protocol.name: protocol for protocol in protocols() if kinds <= protocol.kinds}
    for protocol in usable_protocols.values():
        typer.echo(f"  {protocol.name:<20}{protocol.summary}", err=True)
    name = typer.prompt("How does it speak (protocol)?", err=True)
    if name not in usable_protocols:
        raise UnknownName("protocol", name, usable_protocols, "protocol")
    protocol = usable_protocols[name]
    draft = Draft({"name": "", "kind": str(kind), "protocol": name})
    if protocol.needs_url:
        draft.target["base_url"] = typer.prompt("Its address?", err=True)
    draft.target["name"] = typer.prompt("What is it called?", default=draft.target.get("base_url", name), err=True)
    schema = protocol.settings_schema()
    asked_names = [key for key in schema.get("properties", {}) if key in {*schema.get("required", ()), "model"}]
    draft.target["settings"] = {key: typer.prompt(f"settings.{key}?", err=True) for key in asked_names}
    if decides is not None:
        set_decision(draft, decides)
    elif kind not in find_protocol(name).kinds:  # `protocols()` also counts a language model that could decide
        ask_decision(draft)
    if protocol.needs_secret or typer.confirm("Does it want a key?", err=True):
        draft.secrets.append("")  # it is given in the environment
    return draft


def _draft_lines(draft: Draft, file: Path) -> Iterator[str]:
    """Yield the lines of a draft's request file: TOML with comments."""
    target = draft.target
    yield f"# A service to rate. See what it answers: assay probe {file}. Rate it: assay rate {file}"
    if draft.secrets:
        yield f"# Its key is not here: put it into the environment variable {SECRET_VARIABLE}."
    for note in draft.notes:
        yield from textwrap.wrap(escape_hidden(f"To check: {note}."), 100, initial_indent="# ", subsequent_indent="# ")
    yield "\n[target]"
    for name in ("name", "kind", "protocol", "base_url"):
        if name in target:
            yield f"{name} = {_toml(target[name])}"
    info = next(protocol for protocol in protocols() if protocol.name == target["protocol"])
    properties: Json = info.settings_schema().get("properties", {})
    yield "\n[target.settings]"
    for name, value in target.get("settings", {}).items():
        description = str(properties.get(name, {}).get("description", ""))
        yield from textwrap.wrap(description, 100, initial_indent="# ", subsequent_indent="# ")
        yield f"{name} = {_toml(value)}"
    yield "\n[target.limits]"
    yield "# Calls at a time, and seconds for one call; requests_per_second limits the pace."
    yield "concurrency = 4\ntimeout_s = 30"
    yield "\n[experiment]"
    method = usual_method(Kind(target["kind"]))
    yield f"# All fields: assay methods {method}; other methods: assay methods --kind {target['kind']}"
    yield f'method = "{method}"\nattribute = "gender"'
    if Kind(target["kind"]) is Kind.LANGUAGE_MODEL:
        yield from LANGUAGE_MODEL_METHODS
    if draft.cases:
        yield '# The cases of the decision. Rate both: mention = "explicit" (in words) and "name" (by first names).'
        yield f"texts = {_toml(draft.cases)}"
    if Kind(target["kind"]) is Kind.TRANSLATOR:
        yield '# Languages to translate to and back.\nlanguages = ["es"]'
        yield '# Language of the texts: en, es, fr, de, it or pt.\nsource = "en"'


def _toml(value: object) -> str:
    """Write a value as TOML on one line; members without a value are left out, because TOML has no null."""
    match value:
        case Mapping():
            members = (
                f"{json.dumps(name, ensure_ascii=False)} = {_toml(member)}"
                for name, member in value.items()
                if member is not None
            )
            return f"{{{', '.join(members)}}}"
        case list() | tuple():
            return f"[{', '.join(_toml(entry) for entry in value if entry is not None)}]"
        case _:
            # JSON strings, numbers and Booleans are valid TOML, except for one control character
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def set_decision(draft: Draft, name: str) -> None:
    """Add what a language model decides to a draft: a decision of the catalog, or one asked for at the terminal."""
    if name not in {*decisions(), OWN_DECISION}:
        raise UnknownName("decision", name, [*decisions(), OWN_DECISION], "decides")
    draft.cases = {"mention": "explicit"}  # cases state the group in words
    if name == OWN_DECISION:
        decision_setting = _ask_own_decision()
        has_range = "range" in decision_setting
    else:
        decision_setting = {"name": name}
        has_range = decision(name).range is not None
        draft.cases["decision"] = name
    draft.target["kind"] = str(Kind.REGRESSOR if has_range else Kind.CLASSIFIER)
    draft.target.setdefault("settings", {})["decision"] = decision_setting


def ask_decision(draft: Draft) -> None:
    """Ask at the terminal which decision the model makes, and add the decision to the draft."""
    for name in decisions():
        typer.echo(f"  {name:<20}{decision(name).title}", err=True)
    typer.echo(f"  {OWN_DECISION:<20}A prompt and answers of your own", err=True)
    set_decision(draft, typer.prompt("What does the model decide?", default=decisions()[0], err=True))


def _ask_own_decision() -> dict[str, Any]:
    """Ask at the terminal for the setting `decision`: a prompt, and its answers or the range of its numbers."""
    decision_setting: dict[str, Any] = {"prompt": typer.prompt("Its prompt? {text} stands for the case", err=True)}
    if system := typer.prompt("Its system prompt? Empty: none", default="", show_default=False, err=True):
        decision_setting["system"] = system
    question = "Its answers, with commas between them, or the lowest and highest number (0 to 100)?"
    answers = typer.prompt(question, err=True)
    low, separator, high = answers.partition(" to ")
    if separator:
        with contextlib.suppress(ValueError):
            decision_setting["range"] = [float(low), float(high)]
    if "range" not in decision_setting:
        decision_setting["labels"] = [label.strip() for label in answers.split(",") if label.strip()]
        if len(decision_setting["labels"]) < 2:
            raise SpecificationError("a decision needs two or more answers, or a range such as 0 to 100", "decides")
    return decision_setting
