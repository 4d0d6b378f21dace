"""An agency that has rated services of known behaviour, for tests, screenshots and measurements of its pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select

from assay.model import Kind
from cli.demo.demo_services import PROTOCOL_OF_KIND, SETTINGS, Case, answerers, recorded, writers
from demo.server import DemoServer
from store.core.columns import new_id
from store.core.database import Database
from store.jobs.tables import jobs
from store.ratings.ratings import NewRating, StoredRating, add
from store.ratings.tables import ratings, unsigned_ratings
from store.targets.tables import targets
from tests.support.agency_process import Process

TRANSLATORS = ("faithful", "always-he", "balancing", "echo")
VALID_FOR_S = 90 * 86_400
PREDICTED = {
    "stereotyped-model": (Kind.LANGUAGE_MODEL, "stereotype-score"),
    "group-sentiment": (Kind.CLASSIFIER, "alternation"),
}


@dataclass
class Site:
    """An agency with ratings: `ratings` and `jobs` map names of services to ids."""

    process: Process
    services: DemoServer
    ratings: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Address of the agency."""
        return self.process.agency.url

    def rate(self, name: str, kind: Kind, protocol: str, method: str) -> None:
        """Request a public rating, by gender, of a service of the demonstration."""
        target: dict[str, Any] = {"name": name, "kind": str(kind), "protocol": protocol}
        target["base_url"] = self.services.url(name)
        target["settings"] = dict(SETTINGS.get((str(kind), protocol), {}))
        experiment = {"method": method, "attribute": "gender"}
        request = {"target": target, "experiment": experiment, "visibility": "public", "seed": 7}
        self.jobs[name] = self.process.agency.post("/v1/jobs", request)["id"]

    def rate_case(self, case: Case) -> None:
        """Request the public rating of a case of the demonstration."""
        request = case.request | {"visibility": "public"}
        self.jobs[case.name] = self.process.agency.post("/v1/jobs", request)["id"]

    def wait(self) -> None:
        """Wait until all jobs have ended."""
        for name, job_id in self.jobs.items():
            job = self.process.finished(job_id)
            if job["status"] == "succeeded":
                self.ratings[name] = job["rating"]["id"]


@contextmanager
def filled_agency(services: DemoServer, data: Path) -> Iterator[Site]:
    """Start an agency with public ratings of translators, language models, a classifier and recorded decisions."""
    process = Process(data)
    try:
        site = Site(process, services)
        for name in TRANSLATORS:
            site.rate(name, Kind.TRANSLATOR, "libretranslate", "round-trip")
        for name, (kind, method) in PREDICTED.items():
            site.rate(name, kind, PROTOCOL_OF_KIND[kind], method)
        for cases in (writers(services), answerers(services), recorded(process.agency.upload_table)):
            site.rate_case(next(cases))
        site.wait()
        yield site
    finally:
        process.stop()


@contextmanager
def copied_agency(filled: Site, data: Path) -> Iterator[Site]:
    """Start a copy of a stopped agency in an empty directory; its ratings are copied and not made again."""
    shutil.copytree(filled.process.data, data, dirs_exist_ok=True)
    process = Process(data)
    try:
        yield replace(filled, process=process)
    finally:
        process.stop()


def fill(data: Path, services: int, ratings_each: int) -> None:
    """Add `services` services with own addresses to a stopped agency, with copies of its ratings, jobs and targets."""
    database = Database(f"sqlite:///{data / 'assay.db'}")
    with database.write() as c:
        stored = c.execute(select(ratings)).mappings().all()
        jobs_by_id = {row["id"]: dict(row) for row in c.execute(select(jobs)).mappings()}
        originals = [StoredRating(**{field.name: row[field.name] for field in fields(StoredRating)}) for row in stored]
        for service in range(services):
            original = originals[service % len(originals)]
            described = replace(
                original.rating.target,
                name=f"Service {service}",
                url=f"https://service-{service}.example.org/v1",
                digest=f"sha256:{service:024x}{0:040x}",
            )
            target = {name: getattr(described, name) for name in ("name", "kind", "protocol")}
            target |= {"id": new_id("tgt"), "tenant": original.tenant, "base_url": described.url, "settings": {}}
            target |= {"limits": {}, "visibility": "public", "version": 1}
            target |= {"created_at": original.created_at, "updated_at": original.created_at}
            c.execute(insert(targets).values(target))
            for _ in range(ratings_each):
                job = jobs_by_id[original.job_id] | {"id": new_id("job"), "target_id": target["id"]}
                new = NewRating(
                    original.tenant,
                    target["id"],
                    replace(original.rating, target=described),
                    original.request_digest,
                    VALID_FOR_S,
                    original.description or "default",
                )
                job["rating_id"] = add(c, new, job["id"]).id
                c.execute(insert(jobs).values(job))
        c.execute(delete(unsigned_ratings))
    database.close()
