"""Limits per host, counted over all tenants; services on 127.0.0.0/8 stand in for public hosts.

`host_exempt=""` switches the exemption of this machine off. Counts are kept in this process and in a real Redis.

Row 107 of docs/reliability.md: at 20 calls a second a host, a gateway with 100,000 models took 185 days a pass.
Row 73 of docs/reliability.md: at c37b512 calls of several tenants had no common limit; hosts could not refuse ratings.
Row 103 of docs/reliability.md: at ffe18d3c six names of one server had six times the host's pace.
Row 105 of docs/reliability.md: at ffe18d3c a file that could not be read counted as consent for an hour.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path

import pytest

from assay.canonical import digest_of
from assay.experiment import generator
from assay.explain import Vocabulary, explain
from assay.methods import Association, RoundTrip
from assay.model import Finding
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import Job
from store.ratings.experiment_json import dump_method
from store.security.secrets import Vault
from store.targets import domains
from tests.support.concurrency import run_concurrently
from tests.support.jobs import new_job
from workers.calls.host_limits import FILE_BYTES, HostLimits
from workers.calls.limits import LocalTraffic
from workers.egress import CallFailed, Egress
from workers.engine.worker_context import WorkerContext
from workers.job_targets import open_services, with_circumstances
from workers.run_job import run_job

FILE = "/.well-known/assay.txt"
NO = "# We are rated by others.\nDisallow: *\n"


@dataclass
class Host:
    """A service that answers without translations, records requests, and may serve a file that refuses ratings."""

    pause_s: float = 0.0
    file: str | None = None
    file_status: int = 200
    paths: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    most_at_once: int = 0
    url: str = ""
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """Host and port."""
        return self.url.removeprefix("http://")

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a request."""
        with self._lock:
            self.paths.append(handler.path)
            self.starts.append(time.monotonic())
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        time.sleep(self.pause_s)
        with self._lock:
            self._at_once -= 1
        found = handler.path != FILE or self.file is not None
        body = (self.file or "").encode() if handler.path == FILE else b"[]"
        status = self.file_status if handler.path == FILE else 200
        handler.send_response(status if found else 404)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host.serve(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            host.serve(self)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.2", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    host.url = f"http://127.0.0.2:{server.server_address[1]}"
    yield host
    server.shutdown()
    server.server_close()
    thread.join(10)


@pytest.fixture
def open_context(sqlite_url: str, tmp_path: Path) -> Iterator[Callable[..., WorkerContext]]:
    """Function that opens a context; keyword arguments are settings."""
    database = Database(sqlite_url)

    def open_one(**more) -> WorkerContext:
        given = {"data_dir": tmp_path, "database_url": sqlite_url, "egress_allow": "127.0.0.0/8", "call_attempts": 1}
        settings = Settings(**given | {"host_exempt": ""} | more)
        return WorkerContext(database, Vault.from_settings(settings), settings)

    yield open_one
    database.close()


def add(context: WorkerContext, url: str, tenant: str = "acme", *, secret: str | None = None, **more) -> Job:
    """Add a rating job of a tenant."""
    target = {
        "name": "a service",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": url,
        "settings": {"batch_maximum": 1},
        "limits": {"concurrency": 8, "timeout_s": 5},
    }
    asked = new_job(tenant=tenant, target=target, experiment=dump_method(RoundTrip("gender")), **more)
    if secret is not None:
        sealed = context.vault.seal_for_target(secret, tenant=tenant, target=asked.id, description=target)
        asked = type(asked)(**vars(asked) | {"sealed_secret": sealed})
    with context.database.write() as connection:
        return jobs.add(connection, asked)


def run(context: WorkerContext, job: Job) -> Job:
    run_job(job.id, context, "here")
    with context.database.read() as connection:
        found = jobs.find(connection, job.id, None)
    assert found is not None
    return found


def rate(context: WorkerContext, url: str, tenant: str = "acme", **more) -> Job:
    """Add a job and run it; the service cannot be rated, so that its first answers end the job."""
    return run(context, add(context, url, tenant, **more))


def prove(context: WorkerContext, host: str, tenant: str, ratings: str = "allowed") -> None:
    """Record a tenant's proof of a host, and whether it refuses ratings."""
    with context.database.write() as c:
        domain, _ = domains.add(c, tenant, host)
        verified = domains.record_check(c, domain.id, None)
        domains.set_policy(c, verified, ratings)


def call_often(context: WorkerContext, url: str, tenants: list[str], calls: int) -> None:
    """Run one job of each tenant concurrently; each job makes all its calls concurrently."""
    added = [add(context, url, tenant) for tenant in tenants]

    async def of_one(job: Job) -> None:
        async with context.traffic() as traffic:
            limits = HostLimits(context.database, context.settings, job.tenant, job.id, traffic, generator(1))
            settings = context.settings
            async with Egress(
                settings.egress_networks, exempt_hosts=settings.exempt_networks, host_limits=limits
            ) as egress:
                await asyncio.gather(*(egress.send("GET", f"{url}/{n}", timeout_s=5) for n in range(calls)))

    run_concurrently(len(added), lambda number: asyncio.run(of_one(added[number])))


# ---------------------------------------------------------------------------- rate and concurrency of calls
@pytest.fixture(params=["here", "redis"])
def counted(request) -> dict[str, str]:
    """Settings that count calls in this process, or in Redis."""
    return {} if request.param == "here" else {"broker_url": request.getfixturevalue("redis_url")}


@pytest.mark.slow
def test_tenants_together_do_not_exceed_the_concurrency_of_a_host(host, open_context, counted):
    # earlier, three tenants with 12 calls each made 36 at once
    host.pause_s = 0.2
    context = open_context(host_rate=1000, host_concurrency=5, **counted)
    call_often(context, host.url, ["acme", "rival", "third"], 12)
    assert len(host.paths) >= 36
    assert 3 <= host.most_at_once <= 5


def test_tenants_together_do_not_exceed_the_call_rate_of_a_host(host, open_context, counted):
    # earlier, each tenant had its own rate limit, or none
    context = open_context(host_rate=20, **counted)
    call_often(context, host.url, ["acme", "rival"], 12)
    calls = len(host.starts)
    assert calls >= 24
    assert max(host.starts) - min(host.starts) >= (calls - 1) / 20 - 0.1


def test_by_default_a_host_gets_20_calls_a_second_and_16_at_a_time():
    settings = Settings()
    assert (settings.host_rate, settings.host_concurrency, settings.host_cooldown_s) == (20, 16, 600)


def test_hosts_in_the_operators_networks_have_no_limits_and_their_refusal_file_is_not_read(host, open_context):
    # exempt hosts keep the embedded service, the demo and the tests fast
    host.pause_s = 0.3
    context = open_context(host_exempt=None, host_rate=1, host_concurrency=1)
    call_often(context, host.url, ["acme", "rival"], 8)
    assert len(host.paths) == 16
    assert host.most_at_once > 4
    assert FILE not in host.paths


def test_tenant_that_proved_ownership_of_a_host_has_only_the_limits_of_its_target(host, open_context):
    host.pause_s = 0.3
    context = open_context(host_rate=1, host_concurrency=1)
    prove(context, host.name, "acme")
    call_often(context, host.url, ["acme"], 10)
    assert len(host.paths) == 10
    assert host.most_at_once > 4


def test_all_spellings_of_a_host_name_share_one_call_rate(open_context):
    context = open_context()
    spellings = ("http://A.example/x", "http://a.example.:80/", "https://a.example:443", "https://a.example/y?z")
    booked = set()

    class Recorded(LocalTraffic):
        async def reserve(self, lane, per_second):
            booked.add(lane)
            return await super().reserve(lane, per_second)

    async def visit():
        limits = HostLimits(context.database, context.settings, "acme", "a job", Recorded(), generator(1))
        for url in spellings:
            async with limits.limited_slot(url, 1):
                pass

    asyncio.run(visit())
    assert len(booked) == 1


def test_six_host_names_of_one_server_share_its_call_rate(host, open_context, counted):
    # earlier, a server with six names got six times the calls
    context = open_context(host_rate=20, **counted)
    port = host.url.rpartition(":")[2]

    async def resolve(name: str, port: int) -> list[str]:
        return ["127.0.0.2"]

    async def call_all() -> None:
        async with context.traffic() as traffic:
            limits = HostLimits(context.database, context.settings, "acme", "a job", traffic, generator(1))
            allowed = context.settings.egress_networks
            async with Egress(allowed, resolve=resolve, host_limits=Unasked(limits)) as egress:
                names = [f"http://name-{number % 6}.example:{port}/" for number in range(18)]
                await asyncio.gather(*(egress.send("GET", name, timeout_s=5) for name in names))

    asyncio.run(call_all())
    assert len(host.starts) == 18
    assert max(host.starts) - min(host.starts) >= 17 / 20 - 0.1


@dataclass
class Unasked:
    """Limits of hosts whose refusal files are not requested, because their names resolve in one client only."""

    limits: HostLimits

    def slot(self, url, timeout_s, addresses):
        return self.limits.limited_slot(url, timeout_s, addresses)


def test_a_call_counts_towards_the_call_rate_of_the_ip_address_to_which_it_is_connected():
    seen = []

    class Hosts:
        def slot(self, url, timeout_s, addresses):
            seen.append(list(addresses))
            return asyncio.timeout(None)

    async def resolve(name: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.3"]

    async def work() -> None:
        server = await asyncio.start_server(answer, "127.0.0.3", 0)
        port = server.sockets[0].getsockname()[1]
        async with Egress([ip_network("127.0.0.0/8")], resolve=resolve, host_limits=Hosts()) as egress:
            for _ in range(2):
                await egress.send("GET", f"http://two.example:{port}/", timeout_s=5)
        server.close()

    async def answer(reader, writer):
        while await reader.readline() not in {b"\r\n", b""}:
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    asyncio.run(work())
    assert seen == [["127.0.0.2", "127.0.0.3"], ["127.0.0.3"]]


def test_call_limits_apply_to_a_host_name_as_soon_as_it_resolves_outside_the_exempt_networks():
    # an attacker's host name could resolve to an exempt address first, and later to a service of somebody else
    answers = {"now": "127.0.0.2"}
    visited, dialled = [], []

    async def resolve(host: str, port: int) -> list[str]:
        return [answers["now"]]

    async def dial(protocol, address, port, tls, host):
        dialled.append(address)
        raise ConnectionRefusedError

    class Hosts:
        def slot(self, url, timeout_s, addresses):
            visited.append(url)
            return asyncio.timeout(None)

    async def work():
        allowed, exempt = [ip_network("127.0.0.0/8")], [ip_network("127.0.0.2/32")]
        async with Egress(allowed, resolve=resolve, dial=dial, exempt_hosts=exempt, host_limits=Hosts()) as egress:
            for now in ("127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.2"):
                answers["now"] = now
                with pytest.raises(CallFailed) as failed:
                    await egress.send("GET", "http://moving.example/", timeout_s=5)
                assert failed.value.retriable

    asyncio.run(work())
    assert dialled == ["127.0.0.2", "127.0.0.3", "127.0.0.2"]
    assert len(visited) == 2


# ---------------------------------------------------------------------------- cooldown between ratings
def test_second_tenants_rating_waits_and_its_status_says_why_and_until_when(host, open_context):
    # earlier, any number of tenants could rate a host one after the other
    context = open_context()
    first, second = rate(context, host.url), add(context, host.url, "rival", deadline_s=3600)
    calls = len(host.paths)
    waiting = run(context, second)
    assert (first.status, waiting.status) == ("failed", "queued")
    assert abs(waiting.next_run_at - first.finished_at - 600_000) < 50
    assert host.name in waiting.waits_why
    assert "10 minutes" in waiting.waits_why
    assert "before 20" in waiting.waits_why
    assert len(host.paths) == calls
    with context.database.read() as c:
        assert jobs.events(c, second.id, 0)[-1].data["why"] == waiting.waits_why


def test_rating_that_would_have_to_wait_beyond_its_deadline_fails_with_the_reason(host, open_context):
    context = open_context()
    rate(context, host.url)
    ended = rate(context, host.url, "rival", deadline_s=60)
    assert (ended.status, ended.error["code"], ended.error["reason"]) == (
        "failed",
        "target_unavailable",
        "cooling-down",
    )
    assert "larger deadline_s" in ended.error["detail"]


def test_waiting_job_starts_after_the_cooldown_of_the_host(host, open_context):
    context = open_context(host_cooldown_s=1)
    rate(context, host.url)
    second = rate(context, host.url, "rival")
    assert second.status == "queued"
    until = time.monotonic() + 30
    while second.status == "queued" and time.monotonic() < until:
        time.sleep(0.1)
        second = run(context, second)
    assert (second.status, second.waits_why) == ("failed", None)
    assert second.error["code"] == "target_unfit"


@pytest.mark.parametrize("how", ["secret", "proof", "exempt", "no rest"])
def test_a_job_with_the_hosts_secret_an_ownership_proof_or_a_waiver_does_not_wait_for_cooldown(host, open_context, how):
    more = {"exempt": {"host_exempt": None}, "no rest": {"host_cooldown_s": 0}}.get(how, {})
    context = open_context(**more)
    if how == "proof":
        prove(context, host.name, "rival")
    rate(context, host.url)
    ended = rate(context, host.url, "rival", secret="a secret of the host" if how == "secret" else None)
    assert ended.status == "failed"
    assert ended.error["code"] == "target_unfit"


# ---------------------------------------------------------------------------- refusals
@pytest.mark.parametrize("text", [NO, "disallow:*", "User-agent: assay\r\n  DISALLOW : /   # nothing\r\n"])
def test_a_host_that_refuses_ratings_in_its_file_is_not_rated(host, open_context, text):
    # earlier, a host could not refuse ratings
    host.file = text
    ended = rate(open_context(), host.url)
    assert (ended.status, ended.error["code"], ended.error["reason"]) == ("failed", "ratings_refused", "file")
    assert f"{host.url}{FILE}" in ended.error["detail"]
    assert host.paths == [FILE]


@pytest.mark.parametrize("text", [None, "", "Allow: *", "Disallow:", "# Disallow: *", "Disallow: /private"])
def test_host_whose_refusal_file_is_missing_or_refuses_nothing_is_called(host, open_context, text):
    host.file = text
    ended = rate(open_context(), host.url)
    assert ended.error["code"] == "target_unfit"
    assert host.paths[0] == FILE
    assert len(host.paths) > 1


def test_refusal_file_is_read_once_an_hour_and_not_for_each_job(host, open_context):
    context = open_context(host_cooldown_s=0)
    for tenant in ("acme", "rival", "third"):
        rate(context, host.url, tenant)
    assert host.paths.count(FILE) == 1
    with context.database.write() as c:
        c.exec_driver_sql("UPDATE refusal_files SET read_at = read_at - 3600001")
    host.file = NO
    assert rate(context, host.url).error["code"] == "ratings_refused"


def expire(context: WorkerContext, column: str) -> None:
    """Let an hour pass for the stored answers, or for the pauses after failures."""
    with context.database.write() as c:
        c.exec_driver_sql(f"UPDATE refusal_files SET {column} = {column} - 3600001")


@pytest.mark.parametrize("status", [200, 301, 429, 500, 503])
def test_an_unreadable_refusal_file_counts_as_unknown_consent_and_is_requested_again_after_a_minute(
    host, open_context, status
):
    # earlier, a file behind a redirect, an error or a time-out counted as consent for an hour
    host.file, host.file_status = NO + " " * (FILE_BYTES if status == 200 else 0), status
    context = open_context(host_cooldown_s=0)
    assert rate(context, host.url).error["code"] == "target_unfit"
    with context.database.read() as c:
        known = domains.standing(c, "acme", host.url)
        retry_at = c.exec_driver_sql("SELECT retry_at FROM refusal_files").scalar_one()
        assert not known.wish_known
        assert retry_at / 1000 - time.time() <= 60
    rate(context, host.url, "rival")
    assert host.paths.count(FILE) == 1, "not for each job"
    expire(context, "retry_at")
    host.file, host.file_status = NO, 200
    assert rate(context, host.url).error["code"] == "ratings_refused"


def test_an_earlier_refusal_still_counts_while_the_refusal_file_cannot_be_read(host, open_context):
    context = open_context(host_cooldown_s=0)
    host.file = NO
    assert rate(context, host.url).error["code"] == "ratings_refused"
    for _ in range(3):
        expire(context, "read_at")
        expire(context, "retry_at")
        host.file_status = 503
        assert rate(context, host.url).error["code"] == "ratings_refused"
    host.file, host.file_status = "", 200
    expire(context, "retry_at")
    assert rate(context, host.url).error["code"] == "target_unfit"


@pytest.mark.parametrize(("kind", "protocol"), [("embedder", "tei"), ("translator", "libretranslate")])
def test_a_rating_by_a_short_public_word_list_warns_that_services_can_know_the_list(host, open_context, kind, protocol):
    context = open_context(host_cooldown_s=0, host_rate=1000)
    described = add(context, host.url)
    job = replace(described, target={**described.target, "kind": kind, "protocol": protocol, "settings": {}})
    method = Association(specification="weat-7") if kind == "embedder" else RoundTrip("gender")

    async def circumstances():
        async with open_services(context, job) as (service, _):
            return with_circumstances(Finding(method.method, "gender", (), 0.95, 0.1), service, method)

    sentences = [explain(reason, Vocabulary.of(method)) for reason in asyncio.run(circumstances()).reasons]
    assert any("short public list" in sentence for sentence in sentences) is (kind == "embedder")


def test_a_rating_of_a_host_whose_refusal_file_could_not_be_read_has_a_reason_that_names_the_host(host, open_context):
    host.file, host.file_status = "", 500
    context = open_context(host_cooldown_s=0, host_rate=1000)
    job = add(context, host.url)

    async def circumstances():
        async with open_services(context, job) as (service, _):
            return with_circumstances(Finding("round-trip", "gender", (), 0.95, 0.1), service, RoundTrip("gender"))

    (reason,) = asyncio.run(circumstances()).reasons
    assert (reason.code, reason.facts) == ("host-wish-unknown", {"hosts": host.name})
    assert host.name in explain(reason, Vocabulary.of(RoundTrip))
    host.file_status = 404
    expire(context, "retry_at")
    assert asyncio.run(circumstances()).reasons == ()


@pytest.mark.slow
def test_a_job_for_an_unreachable_host_does_not_fail_as_a_refusal_of_ratings(open_context):
    ended = rate(open_context(), "http://127.0.0.2:1")
    assert (ended.error["code"], ended.error["reason"]) == ("target_unavailable", "connect")


@pytest.mark.parametrize("exempt", [None, ""])
def test_verified_owner_refuses_ratings_by_others_and_may_rate_its_own_host(host, open_context, exempt):
    context = open_context(host_exempt=exempt)
    prove(context, host.name, "owner", ratings="refused")
    refused = rate(context, host.url)
    assert (refused.error["code"], refused.error["reason"]) == ("ratings_refused", "owner")
    assert "verified owner" in refused.error["detail"]
    assert host.paths == []
    assert rate(context, host.url, "owner").error["code"] == "target_unfit"


def test_host_in_the_operators_networks_is_not_asked_for_its_refusal_file(host, open_context):
    host.file = NO
    assert rate(open_context(host_exempt=None), host.url).error["code"] == "target_unfit"
    assert FILE not in host.paths


def test_a_service_that_should_write_sentences_but_refuses_ratings_is_not_called(host, open_context):
    host.file = NO
    context = open_context()
    author = {
        "name": "author", "kind": "language-model", "protocol": "openai-chat", "base_url": host.url,
        "settings": {"model": "m"}, "limits": {},
    }  # fmt: skip
    ended = rate(context, "http://127.0.0.2:1", author=author, request_digest=digest_of("with author"))
    assert ended.error["code"] == "ratings_refused"
    assert host.paths == [FILE]
