"""A watched service changes between two days: the notice arrives, the badge and page say it, one new rating is made."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.e2e.test_the_agency_story import Catalog, LoopbackServer, Receiver, Translator, eventually
from tests.e2e.test_the_agency_story import start as start

QUIET_DAYS = 14
"""Days before the change."""

NOTICED_WITHIN = 10
"""Most days after it."""


def day_of(catalog: Catalog, schedule: dict[str, Any]) -> dict[str, Any]:
    """Run a schedule, as if its next day had come; return its ended job."""
    time.sleep(1)  # the shortest time between two runs
    job = catalog.post(schedule["links"]["run"]).headers["Location"]
    return eventually(lambda: (shown := catalog.get(job))["status"] not in {"queued", "running"} and shown, "a run")


@pytest.mark.slow
def test_a_silent_change_of_a_service_is_detected_shown_notified_and_rated_again_once(start):
    translator, receiver = Translator("faithful"), Receiver(loses="")
    with LoopbackServer(translator) as rated_url, LoopbackServer(receiver) as receiver_url:
        catalog = start(receiver_url)
        catalog.post("/v1/webhooks", {"url": f"{receiver_url}/hook", "events": ["service.changed"]})
        target = catalog.register("Translations", rated_url)
        experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}
        request = {"target": {"id": target}, "experiment": experiment, "visibility": "public"}
        job = catalog.post("/v1/jobs?wait=30", request).json()
        rating = eventually(lambda: catalog.get(f"/v1/jobs/{job['id']}")["rating"], "a rating")
        schedule = {"name": "Watch", "request": {"rating": rating["id"], "cases": 20}, "interval_s": 86_400}
        schedule = catalog.post("/v1/schedules", schedule).json()
        assert schedule["kind"] == "watch"
        for day in range(1, QUIET_DAYS + 1):
            watched = day_of(catalog, schedule)
            assert watched["status"] == "succeeded", watched
            assert watched["kind"] == "watch"
            facts = {name: watched["result"][name] for name in ("run", "cases", "lost", "changed_since")}
            assert facts == {"run": day, "cases": 20, "lost": 0, "changed_since": None}
            assert watched["calls"] <= 2 * 20 + 10
        translator.behaves = "always-he"
        since = None
        for _ in range(NOTICED_WITHIN):
            watched = day_of(catalog, schedule)
            if (since := watched["result"]["changed_since"]) is not None:
                break
        assert since is not None, watched
        [notice] = eventually(lambda: receiver.kept("/hook", "service.changed"), "the notice")
        told = notice.said["data"]
        assert (told["rating_id"], told["job_id"], told["since"]) == (rating["id"], watched["id"], since)
        assert told["rerating_job_id"] == watched["result"]["rerating_job"]
        reader = httpx.Client(base_url=catalog.http.base_url, trust_env=False)
        badge = reader.get(f"/v1/ratings/{rating['id']}/badge.svg").text
        assert "changed since" in badge
        standing = reader.get(f"/v1/ratings/{rating['id']}").json()["standing"]
        assert standing["changed_since"] == since
        assert "changed since" in reader.get(f"/r/{rating['id']}", headers={"Accept": "text/html"}).text.lower()
        new = eventually(lambda: catalog.get(f"/v1/jobs/{told['rerating_job_id']}")["rating"], "the new rating")
        assert (new["letter"], catalog.get(f"/v1/ratings/{new['id']}")["visibility"]) == ("BS", "public")
        assert "changed since" not in reader.get(f"/v1/ratings/{new['id']}/badge.svg").text
        # the watch goes on with the new rating, and makes no further one
        assert day_of(catalog, schedule)["result"] | {"log_e": 0} == {
            "rating": new["id"],
            "run": 1,
            "cases": 20,
            "lost": 0,
            "log_e": 0,
            "alpha": 0.05,
            "changed_since": None,
            "rerating_job": None,
        }
        made = [row for row in catalog.get("/v1/jobs", limit="50")["items"] if row["kind"] == "rating"]
        assert len(made) == 2
        assert len(receiver.kept("/hook", "service.changed")) == 1
        reader.close()


class RunsOutOfCredit(Translator):
    """A translator that, once `refuses` is set, refuses everything after `CREDIT` English texts that are new to it.

    A run of a watch sends few new texts, those with which it tries the service; a new rating sends many.
    """

    CREDIT = 20

    def __init__(self, behaves: str) -> None:
        super().__init__(behaves)
        self.refuses, self.known, self.new = False, set[str](), 0

    def __call__(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        asked = json.loads(body) if body else {}
        if asked.get("source") == "en":
            texts = {asked["q"]} if isinstance(asked["q"], str) else set(asked["q"])
            self.new += len(texts - self.known) if self.refuses else 0
            self.known |= texts
        if self.refuses and self.new > self.CREDIT:
            return 401, {"error": "no credit is left"}
        return super().__call__(path, headers, body)


@pytest.mark.slow
def test_after_a_silent_change_a_failed_new_rating_is_repeated_and_the_failure_is_notified(start):
    translator, receiver = RunsOutOfCredit("faithful"), Receiver(loses="")
    with LoopbackServer(translator) as rated_url, LoopbackServer(receiver) as receiver_url:
        catalog = start(receiver_url)
        catalog.post("/v1/webhooks", {"url": f"{receiver_url}/hook", "events": ["service.changed", "job.failed"]})
        target = catalog.register("Translations", rated_url)
        experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}
        job = catalog.post("/v1/jobs?wait=30", {"target": {"id": target}, "experiment": experiment}).json()
        rating = eventually(lambda: catalog.get(f"/v1/jobs/{job['id']}")["rating"], "a rating")
        schedule = {"name": "Watch", "request": {"rating": rating["id"], "cases": 20}, "interval_s": 86_400}
        schedule = catalog.post("/v1/schedules", schedule).json()
        for _ in range(QUIET_DAYS):
            assert day_of(catalog, schedule)["result"]["changed_since"] is None
        translator.behaves, translator.refuses = "always-he", True
        since = None
        for _ in range(NOTICED_WITHIN):
            watched = day_of(catalog, schedule)
            assert watched["status"] == "succeeded", watched
            if (since := watched["result"]["changed_since"]) is not None:
                break
        assert since is not None, watched

        def change() -> dict[str, Any]:
            return catalog.get(schedule["links"]["self"])["watch"]["change"]

        failed = eventually(lambda: (shown := change())["rerating_status"] == "failed" and shown, "a failed job")
        assert (failed["rating"], failed["since"]) == (rating["id"], since)
        # the next day still fails, the day after the service answers again
        assert day_of(catalog, schedule)["status"] == "failed"
        translator.refuses = False
        assert day_of(catalog, schedule)["rating"]["letter"] == "BS"
        last = change()
        assert last | {"rerating_job": ""} == failed | {"rerating_status": "succeeded", "rerating_job": ""}
        changes = eventually(lambda: len(told := receiver.kept("/hook", "service.changed")) == 3 and told, "3 notices")
        facts = [notice.said["data"] for notice in changes]
        assert {(fact["since"], fact["rating_id"]) for fact in facts} == {(since, rating["id"])}
        failures = {fact["rerating_job_id"]: fact["failure"] for fact in facts}
        assert failures[failed["rerating_job"]] is None
        assert f"(job {failed['rerating_job']}) failed: " in str(failures)
        assert len(receiver.kept("/hook", "job.failed")) == 2
        assert (
            day_of(catalog, schedule)["result"]["rating"]
            == catalog.get(f"/v1/jobs/{last['rerating_job']}")["rating"]["id"]
        )
