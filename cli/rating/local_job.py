"""One job with a temporary database in this process, and its progress on standard error.

The table [author] or [judge] of the file names a second service: an author writes sentences or draws pictures; a
judge scores the texts that the rated service writes.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from assay.canonical import digest_of, rating_digest
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.evidence.export import ExportWriter, Unrolling
from assay.methods import AnyMethod
from assay.model import Kind, Observation
from cli.rating.probe import exchange_lines
from cli.request.request import method_of_request
from cli.terminal import escape
from reports.formats.html import thumbnails_wanted
from reports.plain import escape_hidden
from store.core import migrate
from store.core.database import Connection, Database
from store.core.settings import Settings
from store.corpora import images
from store.jobs import jobs, observations
from store.jobs.jobs import Job, NewJob
from store.ratings import ratings
from store.ratings.experiment_json import dump_method, rated_method
from store.ratings.ratings import StoredRating
from store.security.secrets import Vault
from store.targets import targets
from store.targets.targets import NewTarget
from workers.egress import Exchange, show_exchange
from workers.engine.tasks import open_context, owner
from workers.run_job import run_job
from workers.targets.registry import check_target

TENANT = "default"
SECOND_SERVICE_ID = "tgt_author"


def check_second_service(method: AnyMethod, request: Json, settings: Settings) -> None:
    """Raise `SpecificationError` if the author or judge is missing, invalid or, for an author, not needed."""
    author, judge = request["author"], request.get("judge")
    if method.needs_author and author is None:
        raise SpecificationError("this experiment needs an author for its material: describe it in [author]", "author")
    if method.needs_judge and judge is None:
        raise SpecificationError("the texts are to be judged: describe the judge in [judge]", "judge")
    if author is not None and judge is not None:
        raise SpecificationError("a rating has an author or a judge, not both: remove one", "judge")
    if author is not None and not method.needs_author:
        raise SpecificationError("this experiment has no author; remove [author]", "author")
    if (second_service := _second_service(request)) is None:
        return
    if author is not None and second_service["kind"] != Kind.LANGUAGE_MODEL:
        raise SpecificationError("the kind of an author must be language-model", "author.kind")
    check_target(second_service, settings.egress_networks)


def _second_service(request: Json) -> JsonObject | None:
    """Return the request's author or judge (second service), described with defaults; ``None`` if it names none."""
    author = request["author"]
    if (service := author or request.get("judge")) is None:
        return None
    name, kind = ("author", str(Kind.LANGUAGE_MODEL)) if author else ("judge", str(Kind.CLASSIFIER))
    return {"name": name, "kind": kind, "base_url": "", "settings": {}, "limits": {}, "secret": None, **service}


def store_second_service(c: Connection, vault: Vault, request: Json) -> JsonObject | None:
    """Return the author or judge as a job stores it, without its key; ``None`` without one.

    A service with a key is stored as a target of the temporary database, from which the worker reads it by its id.
    """
    service = _second_service(request)
    secret = service.pop("secret") if service else None
    if service is None or not secret:
        return service
    sealed_secret = vault.seal_for_target(secret, tenant=TENANT, target=SECOND_SERVICE_ID, description=service)
    targets.add(c, NewTarget(id=SECOND_SERVICE_ID, tenant=TENANT, sealed_secret=sealed_secret, **service))
    return {"id": SECOND_SERVICE_ID, **service}


SECONDS_BETWEEN_LINES = 5.0
"""Seconds between two lines of progress, if standard error is not a terminal."""

notes = Console(stderr=True, highlight=False)


def run_here(
    request: Json, settings: Settings, *, verbose: bool, export: Path | None
) -> tuple[Job, StoredRating | None, dict[str, str]]:
    """Run the request as a job of a new database, and return the job, its rating and thumbnails for its HTML report.

    If `verbose`, show every exchange on standard error, without credentials. Write the rating with its evidence to the
    file `export`, if there is one.
    """
    method = method_of_request(request)
    check_target(request["target"], settings.egress_networks, scraping=settings.allow_scraping)
    check_second_service(method, request, settings)
    migrate.upgrade(settings.resolved_database_url)
    context = open_context(settings)
    if verbose:
        context.on_exchange = _exchange_printer(request)
    try:
        with context.database.write() as connection:
            if "upload" in request:
                from cli.request.upload import keep_upload

                keep_upload(connection, TENANT, request)
            second_service = store_second_service(connection, context.vault, request)
            job = jobs.add(connection, _new_job(request, method, second_service, context.vault))
        with _show_progress(request["target"]["name"], job.expected) as (context.on_progress, tick):  # for the job
            _run_in_thread(lambda: run_job(job.id, context, owner()), context.leaving, tick)
        with context.database.read() as connection:
            if (ended_job := jobs.find(connection, job.id, TENANT)) is None:
                raise RuntimeError("the job is no longer in the database")
            stored_rating = ratings.find(connection, ended_job.rating_id, TENANT) if ended_job.rating_id else None
            digests = thumbnails_wanted(stored_rating.document) if stored_rating else ()
            thumbnails = images.thumbnails(connection, digests, TENANT)
        rating = stored_rating and _without_agency_role(stored_rating)
        if rating is not None and export is not None:
            write_export(context.database, rating, export)
        return ended_job, rating, thumbnails
    finally:
        context.database.close()


def _without_agency_role(rating: StoredRating) -> StoredRating:
    """Set the requester's role to ``local``: "operator" would name an agency that existed for one rating only."""
    requester = {"requester": {"role": "local", "host_proved": None, "description": rating.description}}
    if rating.unmasked is None:
        return replace(rating, document=rating.document | requester)
    unmasked_document = rating.unmasked | requester
    # the masked document holds the digest of the unmasked document, which has just changed
    mask = rating.document["masked"] | {"unmasked": rating_digest(unmasked_document)}
    return replace(rating, document=rating.document | requester | {"masked": mask}, unmasked=unmasked_document)


def _new_job(request: Json, method: AnyMethod, second_service: JsonObject | None, vault: Vault) -> NewJob:
    """Return the job of a request; the service's secret is encrypted for it."""
    target = {key: value for key, value in request["target"].items() if key != "secret"}
    new_job = NewJob(
        tenant=TENANT,
        kind="rating",
        target_id=None,
        target=target,
        sealed_secret=None,
        experiment=dump_method(method),
        author=second_service,  # or the judge
        request_digest=digest_of([target, dump_method(method), request["seed"]]),
        seed=request["seed"],
        nonce=request["nonce"],
        visibility="private",
        callback_url=None,
        max_calls=request["max_calls"],
        deadline_s=request["deadline_s"],
        expected=method.expected_probes(),
        key_id=None,
    )
    if not (secret := request["target"].get("secret")):
        return new_job
    sealed_secret = vault.seal_for_target(secret, tenant=TENANT, target=new_job.id, description=new_job.target)
    return replace(new_job, sealed_secret=sealed_secret)


def _exchange_printer(request: Json) -> Callable[[Exchange], None]:
    """Return a function that prints an exchange without the secrets of a request."""
    secrets = [
        service["secret"]
        for service in (request["target"], request["author"] or request.get("judge") or {})
        if service.get("secret")
    ]

    def show(exchange: Exchange) -> None:
        lines = map(escape_hidden, exchange_lines(show_exchange(exchange, secrets)))
        notes.print("\n".join(lines), markup=False, soft_wrap=True)

    return show


@contextmanager
def _show_progress(name: str, expected: int) -> Iterator[tuple[Callable[[int, int], None], Callable[[], None]]]:
    """Show the progress of a rating: a bar on a terminal, else a line every `SECONDS_BETWEEN_LINES` seconds.

    Yields two functions: to call with the numbers of questions asked and expected, and to call about every second.
    """
    if notes.is_terminal:
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        title = TextColumn("rating {task.description}")
        with Progress(SpinnerColumn(), title, *columns, console=notes, transient=True) as bar:
            task = bar.add_task(escape(name), total=expected)
            # the bar is drawn by a thread of its own, and so needs no calls
            yield (lambda answer_count, total: bar.update(task, completed=answer_count, total=total)), (lambda: None)
        return
    start = time.monotonic()
    progress = {"asked": 0, "total": expected, "printed_at": start}

    def tick() -> None:
        """Print a line of progress, if the last one is old enough."""
        now = time.monotonic()
        if now - progress["printed_at"] >= SECONDS_BETWEEN_LINES:
            progress["printed_at"] = now
            counts = f"{progress['asked']} of about {progress['total']} questions"
            line = f"rating {escape_hidden(name)}: {counts} after {now - start:.0f} s"
            notes.print(line, markup=False, soft_wrap=True)

    yield (lambda answer_count, total: progress.update(asked=answer_count, total=total)), tick


def _run_in_thread(work: Any, leaving: Any, tick: Callable[[], None]) -> None:
    """Run `work` in a thread and call `tick` meanwhile; at Ctrl-C, `leaving` tells the job to stop."""
    thread = threading.Thread(target=work, name="job")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(timeout=0.2)
            tick()
    except KeyboardInterrupt:
        leaving.set()
        thread.join(timeout=10)
        raise


PROBES_PER_READ = 500


def write_export(database: Database, rating: StoredRating, file: Path) -> None:
    """Write a rating and its evidence into one unsigned file."""
    writer = ExportWriter()
    with file.open("wb") as stream:
        stream.write(writer.opening(rating.shown, unmasked=rating.unmasked))
        for observation in recorded_observations(database, rating):
            stream.write(writer.observation(observation.as_json()))
        stream.write(writer.closing({}))


def recorded_observations(database: Database, rating: StoredRating) -> Iterator[Observation]:
    """Read a rating's observations in the order of its evidence; raise `RecordError` if one is missing or wrong."""
    with database.read() as connection:
        observation_count = observations.count(connection, rating.job_id)
        unmasked_rating = rating.seen_by(rating.tenant).rating  # its owner sees all counts
        # repeats the experiment with the recorded replies, because they decide which questions follow
        unrolling = Unrolling(rated_method(unmasked_rating), unmasked_rating.seed or 0, observation_count)
        while batch := unrolling.advance():
            for start in range(0, len(batch), PROBES_PER_READ):
                probes = batch[start : start + PROBES_PER_READ]
                replies = observations.recall(connection, rating.job_id, [probe.unit for probe in probes])
                yield from unrolling.accept(probes, replies)
