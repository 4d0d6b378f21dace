"""A registry of millions: time and rows read of each public page, and of finishing a job, on a filled Postgres.

``python -m benchmarks.bench_registry [RATINGS SERVICES]`` rates a few services of the demonstration, copies their rows
with other ids, names, letters, effects and times (COPY), and starts the agency's own process on them. Postgres logs
each statement of a page with its time; EXPLAIN (ANALYZE) of the same statement counts the rows that it reads.

Of every 100 ratings, 20 are private and 1 is withdrawn. A fifth is requested by the operator (tenant `default`), whose
overview is read, the others by 400 tenants. Documents of copies are shortened, but for the newest of every 50th
service: whole ones would fill 60 GB. Copies are not in the log.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import psycopg.rows

from assay.model import Kind
from cli.demo.demo_services import PROTOCOL_OF_KIND
from demo.server import DemoServer
from store.core import migrate
from store.core.columns import pack, unpack
from tests.support import query_plans
from tests.support.agency_process import Process
from tests.support.filled_agency import PREDICTED, TRANSLATORS, Site
from tests.support.postgres import PostgresServer

RATINGS, SERVICES = 2_000_000, 300_000
ROUNDS, JOBS = 7, 9
GOAL_MS, GOAL_ROWS, GOAL_RATIO = 100, 5_000, 1.1
PATIENCE_S = 600
DAY_MS = 86_400_000
TENANTS = 400
WHOLE_DOCUMENT_EACH = 50
WORDS = ("Amber", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Indigo", "Juniper", "Krypton")
ENDS = ("Translate", "Writer", "Chat", "Judge", "Sorter", "Reader", "Lingua", "Voice", "Sense", "Works", "Mind")
LOGGED = {
    "logging_collector": "on",
    "log_destination": "jsonlog",
    "log_directory": "pg_log",
    "log_filename": "statements",
    "log_file_mode": "0644",
    "log_rotation_size": "0",
    "log_min_duration_statement": "-1",
}
COPIED = {"jobs": "id", "ratings": "id", "service_ratings": "rating_id"}


@dataclass
class Rated:
    """Rows of a real rating, of which copies are made."""

    job: dict[str, Any]
    rating: dict[str, Any]
    row: dict[str, Any]
    short: bytes
    target: dict[str, Any]
    figures: dict[str, Any]


def service_name(number: int) -> str:
    """Return the name of a service; the number makes it unique, like a version."""
    return f"{WORDS[number % 11]}{ENDS[number // 11 % 11]} {number // 121 + 1}"


def address_of(number: int) -> str:
    """Return the host and path of a service."""
    return f"{WORDS[number % 11].lower()}-{number}.example.org/v1"


def digits(number: int) -> str:
    """Return the key of a service."""
    return f"{number * 2654435761 % 2**32:08x}{number:016x}"


def state_of(number: int) -> str:
    """Return whether a rating is private, public or withdrawn."""
    place = number * 2654435761 % 2**32 % 100
    return "private" if place < 20 else "withdrawn" if place == 20 else "public"


def read_originals(url: str) -> list[Rated]:
    """Read the rows of the ratings that the agency itself has made."""
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as c:
        rows = {
            name: c.execute(f"SELECT * FROM {name} WHERE {id_} NOT LIKE '___\\_00%'".encode()).fetchall()
            for name, id_ in COPIED.items()
        }
    by_job = {row["id"]: row for row in rows["jobs"]}
    by_rating = {row["rating_id"]: row for row in rows["service_ratings"]}
    return [
        Rated(by_job[one["job_id"]], one, row, shortened(one["document"]), json.loads(one["target"]), figures)
        for one in rows["ratings"]
        if "estimate" in (figures := json.loads((row := by_rating[one["id"]])["key_figures"]))
    ]


def shortened(document: bytes) -> bytes:
    """Return a packed document without its long lists."""
    whole = unpack(document)
    return pack({name: value for name, value in whole.items() if len(json.dumps(value)) < 400})


def copies(originals: list[Rated], ratings: int, services: int, now: int) -> Iterator[dict[str, dict[str, Any]]]:
    """Yield the rows of each copied rating by their tables, oldest first."""
    drawn = random.Random(7)
    newest = [max(range(service, ratings, services), default=-1) for service in range(services)]
    for number in range(ratings):
        service = number % services
        original = originals[service % len(originals)]
        created = now - round((ratings - number) / ratings * 120 * DAY_MS)
        tenant = "default" if service % 5 == 0 else f"tenant-{service % TENANTS}"
        state = state_of(number)
        current = all(state_of(later) != state for later in range(number + services, ratings, services))
        visibility = "private" if state == "private" else "public"
        withdrawn = created + 1000 if state == "withdrawn" else None
        letter = drawn.choices(("UCS", "DSBS", "BS"), (2, 5, 3))[0]
        name, url, key = service_name(service), f"https://{address_of(service)}", digits(service)
        target = original.target | {"name": name, "url": url, "digest": f"sha256:{key}{0:040x}"}
        limit = original.figures["limit"]
        size = limit * {"UCS": 0.3, "DSBS": 0.6, "BS": 2.5}[letter] * drawn.uniform(0.3, 2)
        half = limit * drawn.uniform(0.05, 0.5)
        figures = original.figures | {"estimate": size, "low": size - half, "high": size + half}
        declared = drawn.random() < 0.85
        whole = number == newest[service] and service % WHOLE_DOCUMENT_EACH == 0
        ids = {"id": f"rat_0{number:025d}", "job_id": f"job_0{number:025d}"}
        same = {"tenant": tenant, "created_at": created, "visibility": visibility}
        facts = {"letter": letter, "declared": declared, "expires_at": created + 90 * DAY_MS}
        where = {"host": url[8:-3], "address": url[8:], "description": "default"}
        # a job of the agency has no copy that is equal to its request
        job = original.job | same | {"id": ids["job_id"], "rating_id": ids["id"], "target_url": url}
        job |= {"request_digest": f"sha256:{number:064x}", "target": json.dumps(target | {"base_url": url})}
        job |= dict.fromkeys(("next_run_at", "dispatched_at", "heartbeat_at", "started_at"), created - 5000)
        rating = original.rating | same | facts | where | ids | {"target_url": url, "target": json.dumps(target)}
        rating |= {"requester": "operator" if tenant == "default" else "other", "target_id": None}
        rating |= {"request_digest": job["request_digest"], "withdrawn_at": withdrawn, "host_proved": False}
        rating |= {"withdrawn_why": None if withdrawn is None else "a cache", "unmasked": None}
        rating["document"] = original.rating["document"] if whole else original.short
        row = original.row | same | facts | where | {"rating_id": ids["id"], "service": key, "name": name}
        row |= {"withdrawn_at": withdrawn, "masked": False, "key_figures": json.dumps(figures)}
        row |= {"searched": f"{name}\n{url}", "current": current}
        yield {"jobs": job | {"finished_at": created}, "ratings": rating, "service_ratings": row}


def fill(url: str, originals: list[Rated], ratings: int, services: int) -> None:
    """Copy rows into the tables, a hundred thousand at a time; indexes are made afterwards."""
    with psycopg.connect(url, autocommit=True) as c:
        c.execute("SET maintenance_work_mem = '512MB'")
        c.execute("SET session_replication_role = replica")  # foreign keys are right by construction
        made = c.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s) AND indexname NOT LIKE ALL(%s)",
            (list(COPIED), ["pk%", "uq%", "%pkey"]),
        ).fetchall()
        for name, _ in made:
            c.execute(f"DROP INDEX {name}".encode())
        rows = copies(originals, ratings, services, round(time.time() * 1000))
        while batch := [row for row, _ in zip(rows, range(100_000), strict=False)]:
            for name in COPIED:
                columns = list(batch[0][name])
                with c.cursor().copy(f"COPY {name} ({', '.join(columns)}) FROM STDIN".encode()) as copy:
                    for one in batch:
                        copy.write_row([one[name][column] for column in columns])
        for _, definition in made:
            c.execute(definition.encode())
        c.execute("VACUUM ANALYZE")


@dataclass
class Statement:
    """A statement of a page, as Postgres saw it."""

    sql: str
    values: list[str]
    ms: float


def statements_of(log: Path, begin: int) -> list[Statement]:
    """Return the statements that were logged after a position of Postgres's log."""
    time.sleep(0.3)  # the collector writes behind the server
    with log.open("rb") as lines:
        lines.seek(begin)
        entries = [json.loads(line) for line in lines.read().splitlines()]
    found = []
    for entry in entries:
        said = re.match(r"duration: ([\d.]+) ms  execute [^:]+: (.*)", entry["message"], re.DOTALL)
        if said is not None and said[2].lstrip().upper().startswith(("SELECT", "WITH")):
            values = re.findall(r"\$\d+ = (NULL|'(?:[^']|'')*')", entry.get("detail", ""))
            found.append(Statement(said[2], values, float(said[1])))
    return found


def rows_read(url: str, statement: Statement) -> int:
    """Count the rows that a statement reads from tables and indexes, including those filtered out.

    Postgres plans a prepared statement for its values at first, and later perhaps for any: the plan that it chooses
    after five executions counts too.
    """
    read = []
    values = f"({', '.join(statement.values)})" if statement.values else ""
    with psycopg.connect(url, autocommit=True) as c:
        c.execute(f"PREPARE asked AS {statement.sql}".encode())
        for executions in (0, 5):
            for _ in range(executions):
                c.execute(f"EXECUTE asked{values}".encode())
            plan = c.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked{values}".encode()).fetchone()
            assert plan is not None
            read.append(round(query_plans.rows_read(plan[0][0]["Plan"])))
    return max(read)


def answer_ms(process: Process, path: str) -> float:
    """Return the milliseconds until a page is read."""
    begin = time.perf_counter()
    request = urllib.request.Request(process.agency.url + path)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        answer.read()
    return (time.perf_counter() - begin) * 1000


def log_statements(server: PostgresServer, after: str) -> None:
    """Set from which duration on Postgres logs statements: ``0`` all, ``-1`` none."""
    server.execute(f"ALTER SYSTEM SET log_min_duration_statement = {after}")
    server.execute("SELECT pg_reload_conf()")
    time.sleep(0.3)


def measure(server: PostgresServer, process: Process, url: str, path: str) -> bool:
    """Print the median time of a page, and its statements; return whether it keeps to the goals."""
    first = answer_ms(process, path)
    median = statistics.median(answer_ms(process, path) for _ in range(ROUNDS))
    time.sleep(1.1)  # longer than a badge is kept
    log_statements(server, "0")
    log = server.directory / "data" / "pg_log" / "statements.json"
    begin = log.stat().st_size
    process.agency.text(path)
    seen = statements_of(log, begin)
    log_statements(server, "-1")
    read = [rows_read(url, statement) for statement in seen]
    most = max(read, default=0)
    kept = median <= GOAL_MS and most <= GOAL_ROWS
    print(f"{'ok ' if kept else 'NOT'} {path[:90]:90s} {median:7.0f} ms (first {first:.0f}), at most {most:,} rows")
    for statement, rows in zip(seen, read, strict=True):
        if "-v" in sys.argv or rows > GOAL_ROWS or statement.ms > GOAL_MS / 2:
            print(f"      {statement.ms:8.1f} ms {rows:10,} rows  {' '.join(statement.sql.split())[:150]}")
    return kept


def paths(originals: list[Rated], services: int, url: str) -> list[str]:
    """Return the pages to measure."""
    with psycopg.connect(url) as c:
        newest = c.execute(
            "SELECT id, target_url FROM ratings WHERE visibility = 'public' AND withdrawn_at IS NULL "
            "AND id LIKE 'rat\\_00%%' AND length(document) > %s ORDER BY created_at DESC LIMIT 1",
            (max(len(one.short) for one in originals),),
        ).fetchone()
    assert newest is not None
    rating, target = newest
    service = services // 2
    name = service_name(service)
    slug = digits(service)
    typo = name[:3] + name[4:]
    asked = [
        *("/", "/registry", f"/registry?q={quote(name)}", f"/registry?q={WORDS[3]}", "/registry?q=nobody+has+this"),
        *(f"/registry?q={quote(typo)}", f"/registry?q={address_of(service)}", "/registry?q=zq", "/registry?letter=BS"),
        *(f"/s/{rating}", f"/v1/services/{slug}", f"/v1/services/{slug}/badge.svg", f"/v1/ratings/{rating}/badge.svg"),
        f"/v1/badge.svg?target_url={quote(target)}",
        f"/v1/ratings/latest?target_url={quote(target)}",
        f"/v1/ratings/{rating}",
        *("/overview", "/v1/overview", "/v1/registry/distribution"),
    ]
    kinds = {one.target["kind"] for one in originals}
    for kind in sorted(kinds):
        asked += [f"/compare?kind={kind}", f"/v1/services/ranking?kind={kind}"]
    return [
        *asked,
        *("/compare?kind=translator&sort=name", "/compare?kind=translator&start=5000"),
        f"/compare?kind=translator&of={quote(service_name(0))}",
    ]


def job_ms(site: Site, number: int) -> float:
    """Return the milliseconds from the request of a public rating to its end."""
    target = {"name": f"timed {number}", "kind": "translator", "protocol": "libretranslate"}
    target["base_url"] = site.services.url("faithful")
    experiment = {"method": "round-trip", "attribute": "gender"}
    request = {"target": target, "experiment": experiment, "visibility": "public", "seed": 100 + number}
    begin = time.perf_counter()
    job = site.process.agency.post("/v1/jobs", request | {"max_age_s": 0})
    while site.process.agency.get(f"/v1/jobs/{job['id']}")["status"] != "succeeded":
        time.sleep(0.005)
    return (time.perf_counter() - begin) * 1000


def job_ratio(filled: Site, empty: Site) -> tuple[float, float]:
    """Return the ratio of the medians of a job in two agencies, and that of the empty one; they take turns."""
    took = [(job_ms(filled, number), job_ms(empty, number)) for number in range(JOBS)][1:]
    filled_ms, empty_ms = (statistics.median(times) for times in zip(*took, strict=True))
    return filled_ms / empty_ms, empty_ms


@contextmanager
def agency_on(url: str, folder: Path) -> Iterator[Process]:
    """Run the agency on a database."""
    process = Process(folder, ASSAY_DATABASE_URL=url, ASSAY_AUTH="none", ASSAY_HOST_COOLDOWN_S="0")
    try:
        yield process
    finally:
        process.stop()


def rated(site: Site) -> None:
    """Rate services of known behaviour, of three kinds."""
    for name in TRANSLATORS:
        site.rate(name, Kind.TRANSLATOR, "libretranslate", "round-trip")
    for name, (kind, method) in PREDICTED.items():
        site.rate(name, kind, PROTOCOL_OF_KIND[kind], method)
    site.wait()


def prepare(server: PostgresServer) -> None:
    """Set up the log of statements, and the databases of two agencies."""
    for name, value in LOGGED.items():
        server.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    server.stop()
    server.start()
    for name in ("registry", "empty"):
        server.execute(f"CREATE DATABASE {name}")
        migrate.upgrade(server.url(name))


def fill_registry(server: PostgresServer, demo: DemoServer, data: Path, ratings: int, services: int) -> None:
    """Make a few real ratings, and copy them."""
    url = server.url("registry")
    with agency_on(url, data) as process:
        rated(Site(process, demo))
    begin = time.perf_counter()
    fill(url, read_originals(url), ratings, services)
    with psycopg.connect(url) as c:
        (size,) = c.execute("SELECT pg_size_pretty(pg_database_size('registry'))").fetchone() or ("",)
    print(f"{ratings:,} ratings of {services:,} services in {time.perf_counter() - begin:.0f} s, {size}", flush=True)


def measure_registry(server: PostgresServer, demo: DemoServer, folder: Path, services: int) -> bool:
    """Print a line for each page and one for a job; return whether all keep to the goals."""
    url = server.url("registry")
    originals = read_originals(url)
    with agency_on(url, folder / "filled") as process, agency_on(server.url("empty"), folder / "empty") as other:
        kept = [measure(server, process, url, path) for path in paths(originals, services, url)]
        ratio, empty_ms = job_ratio(Site(process, demo), Site(other, demo))
    print(f"{'ok ' if ratio <= GOAL_RATIO else 'NOT'} a job: {ratio:.2f} times {empty_ms:.0f} ms of an empty agency")
    print(f"goals: {GOAL_MS} ms a page, {GOAL_ROWS:,} rows a statement, {GOAL_RATIO} times an empty agency")
    return all(kept) and ratio <= GOAL_RATIO


def main() -> int:
    """Fill a registry and measure it; 0 if all keep to the goals."""
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    ratings, services = numbers or (RATINGS, SERVICES)
    with PostgresServer.running() as server, DemoServer() as demo, tempfile.TemporaryDirectory() as folder:
        for name in ("first", "filled", "empty"):
            (Path(folder) / name).mkdir()
        prepare(server)
        fill_registry(server, demo, Path(folder) / "first", ratings, services)
        return 0 if measure_registry(server, demo, Path(folder), services) else 1


if __name__ == "__main__":
    sys.exit(main())
