"""An agency scaled out on this machine: Postgres, Redis, API processes and workers, with short leases.

RabbitMQ may be its broker; Redis then keeps only the counts of limits.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from cli.demo.client import Agency
from store.core import migrate
from tests.support.postgres import PostgresServer
from tests.support.rabbitmq import RabbitServer
from tests.support.redis import RedisServer, free_port
from tests.support.supervised import Supervised

SHORT = {
    "ASSAY_LEASE_S": "2",
    "ASSAY_HEARTBEAT_S": "0.5",
    "ASSAY_RECONCILE_S": "0.5",
    "ASSAY_REDISPATCH_S": "2",
    "ASSAY_WATCHDOG_S": "3",
    "ASSAY_AUTH": "none",
    "ASSAY_SECRET_KEY": "a key that all processes share",
    "ASSAY_EGRESS_ALLOW": "127.0.0.0/8",
    "ASSAY_MAX_ACTIVE_JOBS": "100000",
    "ASSAY_JOB_RATE": "100000/second",
    "ASSAY_UPLOAD_RATE": "100000/second",
    "ASSAY_WRITE_RATE": "100000/second",
}
READY_S = 240
_names = itertools.count()


class ScaledAgency:
    """A running agency.

    Attributes
    ----------
    postgres, redis, broker
        The servers of the agency; the broker is its Redis or a RabbitMQ.
    apis, workers : list of Supervised
        The processes of the agency.
    database, database_url : str
        Name and address of the database.
    """

    def __init__(
        self,
        postgres: PostgresServer,
        redis: RedisServer,
        folder: Path,
        *,
        apis: int,
        workers: int,
        concurrency: int,
        settings: Mapping[str, str],
        database: str | None = None,
        rabbit: RabbitServer | None = None,
    ) -> None:
        self.postgres, self.redis, self.broker = postgres, redis, rabbit or redis
        self.database = database or f"agency_{next(_names)}"
        self.database_url = postgres.url(self.database)
        if database is None:
            postgres.execute(f"CREATE DATABASE {self.database}")
            migrate.upgrade(self.database_url)
        self.environment = {
            **SHORT,
            "ASSAY_DATABASE_URL": self.database_url,
            "ASSAY_BROKER_URL": self.broker.url,
            **({} if rabbit is None else {"ASSAY_LIMITS_URL": redis.url}),
            **settings,
        }
        self._ports = [free_port() for _ in range(apis)]
        self.apis = [
            Supervised(f"api-{place}", ("serve", "--port", str(port)), self.environment, folder)
            for place, port in enumerate(self._ports)
        ]
        work = ("worker", "--concurrency", str(concurrency))
        self.workers = [Supervised(f"worker-{place}", work, self.environment, folder) for place in range(workers)]
        self._turn = itertools.cycle(self._ports)

    @property
    def processes(self) -> list[Supervised]:
        """All supervised processes."""
        return [*self.apis, *self.workers]

    def client(self, place: int | None = None) -> Agency:
        """Return a client of one of the API processes; by default, of each in turn."""
        port = next(self._turn) if place is None else self._ports[place]
        return Agency(f"http://127.0.0.1:{port}")

    def wait_until_ready(self) -> None:
        """Wait until every API process is ready and every worker has its child processes."""
        for place, api in enumerate(self.apis):
            if not self.client(place).wait_until_ready(READY_S):
                raise RuntimeError(f"{api.name} is not ready:\n{api.log.read_text()[-3000:]}")
        until = time.monotonic() + READY_S
        while not all(worker.children() for worker in self.workers):
            if time.monotonic() > until:
                raise RuntimeError("\n".join(worker.log.read_text()[-3000:] for worker in self.workers))
            time.sleep(0.1)

    def post(self, request: Mapping[str, Any], place: int | None = None) -> str:
        """Request a rating; return the job's id."""
        return str(self.client(place).post("/v1/jobs", request)["id"])

    def job(self, job_id: str) -> dict[str, Any]:
        """Return the status of a job, from any API process."""
        return self.read(f"/v1/jobs/{job_id}")

    def read(self, path: str) -> dict[str, Any]:
        """Read a resource; repeat the request if a process was killed or waits for the database."""
        for _ in range(200):
            try:
                found: dict[str, Any] = self.client().get(path)
            except HTTPError as refused:
                refused.close()
                if refused.code != 503:
                    raise
            except (OSError, HTTPException):
                pass
            else:
                return found
            time.sleep(0.1)
        raise RuntimeError("no API process answers")

    def finished(self, ids: Sequence[str], seconds: float = 360) -> list[dict[str, Any]]:
        """Wait until all given jobs have ended, one after the other; return the jobs."""
        until, ended = time.monotonic() + seconds, list[dict[str, Any]]()
        for job_id in ids:
            while (job := self.job(job_id))["status"] not in {"succeeded", "failed", "cancelled"}:
                if time.monotonic() > until:
                    raise TimeoutError(f"{len(ids) - len(ended)} jobs are left after {seconds:.0f} s, first {job}")
                time.sleep(0.1)
            ended.append(job)
        return ended

    def asked(self, job_id: str, least: int, seconds: float = 240) -> dict[str, Any]:
        """Wait until a job has recorded at least `least` answers; return the job."""
        until = time.monotonic() + seconds
        while (job := self.job(job_id))["asked"] < least:
            if time.monotonic() > until or job["status"] in {"succeeded", "failed", "cancelled"}:
                raise TimeoutError(f"the job did not come to {least} answers: {job}")
            time.sleep(0.05)
        return job

    def logs(self) -> str:
        """Return the ends of all logs, for error messages."""
        return "\n".join(f"--- {each.name}\n{each.log.read_text()[-4000:]}" for each in self.processes)

    def close(self) -> None:
        """End all processes."""
        for each in self.processes:
            each.close()


@contextmanager
def running_agency(
    *,
    apis: int = 1,
    workers: int = 2,
    concurrency: int = 2,
    settings: Mapping[str, str] | None = None,
    postgres: PostgresServer | None = None,
    redis: RedisServer | None = None,
    database: str | None = None,
    rabbit: RabbitServer | None = None,
) -> Iterator[ScaledAgency]:
    """Run an agency, with its own servers and a new database unless these are given; without `rabbit`, over Redis."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-agency-")))
        agency = ScaledAgency(
            postgres or stack.enter_context(PostgresServer.running()),
            redis or stack.enter_context(RedisServer.running()),
            folder,
            apis=apis,
            workers=workers,
            concurrency=concurrency,
            settings=settings or {},
            database=database,
            rabbit=rabbit,
        )
        stack.callback(agency.close)
        agency.wait_until_ready()
        yield agency
