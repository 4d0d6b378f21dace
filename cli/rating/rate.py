"""`assay rate`: run one job with a temporary database in this process."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from assay.canonical import digest_of
from assay.catalog import attribute, construction, constructions
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.methods import check_kind, fit_to, method_of, usual_method
from assay.model import Kind
from assay.reports import installed_formats, render, terminal
from cli.exits import Exit
from cli.local.program import local_target
from cli.logs import configure_logs
from cli.rating.author import TENANT, check_author, described_author, keep_author
from cli.rating.export import check_export, write_export
from store.core import migrate
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import Job, NewJob
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, parse_method
from store.security.secrets import Vault
from workers.engine.tasks import open_workplace, owner
from workers.engine.worker_context import Leaving
from workers.run_job import run_job
from workers.targets import check_target

LOOPBACK = ("127.0.0.0/8", "::1/128")
"""Networks that `assay rate` may always call: services on this machine."""

FILE_ENTRIES = ("target", "author", "experiment", "seed", "max_calls", "deadline_s")
TARGET_FIELDS = ("name", "kind", "protocol", "base_url", "secret", "settings", "limits")
TABLES = ("target", "author", "experiment")

BOUNDS = {"seed": (0, 2**53 - 1), "max_calls": (1, 1_000_000), "deadline_s": (1, 86_400)}
"""Whole numbers of a request, with the bounds that the API has too."""

notes = Console(stderr=True, highlight=False)


@dataclass(frozen=True)
class Asked:
    """Options of `assay rate`; the command line overrides the file."""

    file: Path | None = None
    kind: str | None = None
    protocol: str | None = None
    url: str | None = None
    name: str | None = None
    method: str | None = None
    attribute: str | None = None
    specification: str | None = None
    languages: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    secret: str | None = None
    seed: int | None = None
    max_calls: int | None = None
    python: str | None = None
    command: str | None = None


def rate_here(
    asked: Asked, settings: Settings, *, as_json: bool, full: bool, report: Path | None, export: Path | None = None
) -> Exit:
    """Rate a service, print the report, and return the letter as an exit code.

    Parameters
    ----------
    full : bool
        Print the whole report, with every table and example.
    report : Path, optional
        Where to write a report too; its suffix chooses the format.
    export : Path, optional
        Where to write the rating with its evidence, for `assay verify`; nobody signs it.
    """
    request = _request(asked)
    if report is not None:
        _check_report(report)
    if export is not None:
        check_export(export)
    configure_logs(settings.model_copy(update={"log_level": "error"}))
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        allowed = ",".join((*LOOPBACK, *(str(network) for network in settings.egress_networks)))
        own = {"data_dir": Path(folder), "database_url": None, "broker_url": None, "egress_allow": allowed}
        # validated anew, because `model_copy` would keep the parsed networks of the original
        here = Settings(**(settings.model_dump() | own))
        job, document = _run(request, here, show_progress=sys.stderr.isatty(), export=export)
    if document is None:
        error = job.error or {"title": "The job ended without a rating", "detail": job.status}
        notes.print(f"[bold]{escape(error['title'])}[/bold]: {escape(error['detail'])}", soft_wrap=True)
        return Exit.UNAVAILABLE
    method = method_of(document)
    if as_json:
        sys.stdout.write(render("json", document, method))
    else:
        columns = min(terminal.COLUMNS, shutil.get_terminal_size().columns)
        colour = sys.stdout.isatty()
        sys.stdout.write(terminal.render(document, method, colour=colour, columns=columns, brief=not full))
    if report is not None:
        report.write_text(render(_format_for(report), document, method), encoding="utf-8")
        notes.print(f"report written to {escape(str(report))}", soft_wrap=True)
    if export is not None:
        notes.print(f"export written to {escape(str(export))}, signed by nobody", soft_wrap=True)
    return Exit.of_rating(document["letter"], document["declared"])


def _request(asked: Asked) -> dict[str, Any]:
    """Merge the file and the options into one request."""
    written = _read(asked.file) if asked.file else {}
    target = dict(written.get("target", {}))
    experiment = dict(written.get("experiment", {}))
    given = (("kind", asked.kind), ("protocol", asked.protocol), ("base_url", asked.url))
    target.update({key: value for key, value in given if value})
    program = local_target(asked.python, asked.command)
    target |= program | {"settings": {**target.get("settings", {}), **program.get("settings", {})}}
    if "protocol" not in target:
        raise SpecificationError(
            "say how the service speaks: --protocol NAME (see `assay protocols`), a FILE.toml, --python or --command"
        )
    target.setdefault("kind", "translator")
    target["name"] = asked.name or target.get("name") or f"{target['protocol']} {target.get('base_url', '')}".strip()
    target["settings"] = {**target.get("settings", {}), **_settings(asked.settings)}
    if asked.secret:
        target["secret"] = asked.secret
    experiment["method"] = asked.method or experiment.get("method") or _usual_method(target["kind"])
    if asked.attribute or not {"attribute", "specification", "words"} & {*experiment, *_named(asked)}:
        experiment["attribute"] = asked.attribute or "gender"
    if asked.specification:
        experiment["specification"] = asked.specification
    if asked.languages:
        experiment["languages"] = list(asked.languages)
    if asked.templates:
        experiment["templates"] = _templates(asked.templates, experiment.get("attribute", "gender"))
    request = {
        "target": target,
        "author": dict(written["author"]) if "author" in written else None,
        "experiment": experiment,
        "seed": asked.seed if asked.seed is not None else written.get("seed", 0),
        "max_calls": asked.max_calls if asked.max_calls is not None else written.get("max_calls", 100_000),
        "deadline_s": written.get("deadline_s", 3600),
    }
    for name, (least, most) in BOUNDS.items():
        if type(request[name]) is not int or not least <= request[name] <= most:
            raise OutOfBounds(f"{name} must be a whole number from {least} to {most}, not {request[name]!r}", name)
    return request


def _named(asked: Asked) -> set[str]:
    return {"specification"} if asked.specification else set()


def _usual_method(kind: Any) -> str:
    """Return the default method for a kind of service."""
    if kind not in set(Kind):
        raise UnknownName("kind of service", str(kind), tuple(Kind), "target.kind")
    method = usual_method(Kind(kind))
    if method is None:
        raise SpecificationError(f"no method here rates a {kind} yet", "target.kind")
    return method


def _read(file: Path) -> dict[str, Any]:
    try:
        written = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as wrong:
        raise SpecificationError(f"{file} cannot be read: {wrong.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise SpecificationError(f"{file} is not TOML: {wrong}") from None
    _check_names("entry of the file", written, FILE_ENTRIES)
    for name in TABLES:
        _check_table(name, written.get(name, {}))
    for name in ("target", "author"):
        fields = written.get(name, {})
        _check_names(f"field of [{name}]", fields, TARGET_FIELDS)
        _check_table(f"{name}.settings", fields.get("settings", {}))
    return written


def _check_names(kind: str, written: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in written:
        if name not in known:
            raise UnknownName(kind, name, known)


def _check_table(name: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise SpecificationError(f"{name} is a table of its own, [{name}], not {value!r}", name)


def _settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Read ``key=value`` pairs; a value that is TOML (a number, a list) is taken as such."""
    read: dict[str, Any] = {}
    for pair in pairs:
        key, found, value = pair.partition("=")
        if not found:
            raise SpecificationError(f"--setting takes key=value, not {pair!r}")
        try:
            read[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            read[key] = value
    return read


def _templates(names: tuple[str, ...], attribute_name: str) -> list[str]:
    if "all" not in names:
        return list(names)
    named = attribute(attribute_name)
    return [name for name in constructions() if construction(name).supports(named)]


def _check_report(report: Path) -> None:
    """Raise if the report cannot be written, before a rating that may take hours."""
    _format_for(report)
    if not report.parent.is_dir():
        raise SpecificationError(f"there is no folder {report.parent} for the report; make it first")


def _format_for(report: Path) -> str:
    suffix = report.suffix.lstrip(".").lower()
    for one in (known := installed_formats()):
        if one.suffix.lstrip(".") == suffix:
            return one.name
    raise UnknownName("report format", report.suffix, [one.suffix for one in known])


def _run(
    request: Mapping[str, Any], settings: Settings, *, show_progress: bool, export: Path | None
) -> tuple[Job, dict[str, Any] | None]:
    """Run the request as a job of a new database, and return the job with its rating."""
    method = parse_method(request["experiment"])
    check_kind(method, Kind(request["target"]["kind"]))
    method = fit_to(method, Kind(request["target"]["kind"]))
    target = {key: value for key, value in request["target"].items() if key != "secret"}
    check_target(request["target"], settings.egress_networks, scraping=settings.allow_scraping)
    check_author(method, request["author"], settings)
    migrate.upgrade(settings.resolved_database_url)
    workplace = open_workplace(settings)
    secret = request["target"].get("secret")
    new = NewJob(
        tenant=TENANT,
        kind="rating",
        target_id=None,
        target=target,
        sealed_secret=None,
        experiment=dump_method(method),
        author=described_author(request["author"]),
        request_digest=digest_of([target, dump_method(method), request["seed"]]),
        seed=request["seed"],
        visibility="private",
        callback_url=None,
        max_calls=request["max_calls"],
        deadline_s=request["deadline_s"],
        expected=method.expected_probes(),
        key_id=None,
    )
    new = _with_secret(new, secret, workplace.vault)
    try:
        with workplace.database.write() as connection:
            keep_author(connection, workplace.vault, request["author"])
            job = jobs.add(connection, new)
        progress = Progress(
            SpinnerColumn(),
            TextColumn("rating {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=notes,
            transient=True,
            disable=not show_progress,
        )
        with progress:
            task = progress.add_task(target["name"], total=job.expected)
            workplace.on_progress = lambda asked, expected: progress.update(task, completed=asked, total=expected)
            _in_thread(lambda: run_job(job.id, workplace, owner()), workplace.leaving)
        with workplace.database.read() as connection:
            ended = jobs.find(connection, job.id, TENANT)
            if ended is None:
                raise RuntimeError("the job's row is gone")
            rating = ratings.find(connection, ended.rating_id, TENANT) if ended.rating_id else None
        if rating is not None and export is not None:
            write_export(workplace.database, rating, export)
        return ended, rating.document if rating else None
    finally:
        workplace.database.close()


def _with_secret(new: NewJob, secret: str | None, vault: Vault) -> NewJob:
    """Encrypt the service's secret for the job that opens it."""
    if not secret:
        return new
    return replace(new, sealed_secret=vault.seal_for_target(secret, tenant=TENANT, target=new.id, described=new.target))


def _in_thread(work: Any, leaving: Leaving) -> None:
    """Run in a thread, so that Ctrl-C reaches us at once and the job can be left in order."""
    thread = threading.Thread(target=work, name="job")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(timeout=0.2)
    except KeyboardInterrupt:
        leaving.set()
        thread.join(timeout=10)
        raise
