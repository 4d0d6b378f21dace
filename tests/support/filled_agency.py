"""An agency that has rated services of known behaviour, for tests, screenshots and measurements of its pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.model import Kind
from cli.demo.demo_services import SETTINGS, SPOKEN, Case, answerers, recorded, writers
from demo.server import DemoServer
from tests.support.agency_process import Process

TRANSLATORS = ("faithful", "always-he", "balancing", "echo")
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
            site.rate(name, kind, SPOKEN[kind], method)
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
