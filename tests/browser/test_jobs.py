"""Pages of jobs: the list, and the page that follows a job to its end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from cli.demo.client import Agency
from tests.browser.conftest import Reader
from tests.support.agency_process import Process
from tests.support.counting_target import CountingTarget
from tests.support.filled_agency import Site
from tests.support.scaled_agency import running_agency
from workers.engine.watchdog import EXIT_DEAF

CANCELLED_S = 3


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    """A separate agency, in which no other module has created anything."""
    return own_site


@pytest.fixture(scope="module")
def slow() -> Iterator[CountingTarget]:
    """A translator that takes a third of a second for each answer."""
    target = CountingTarget(0.35)
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright's loop runs in this thread
        elsewhere.submit(target.__enter__).result()
    yield target
    target.__exit__(None, None, None)


def asked_for(agency: Agency, target: CountingTarget, name: str, **experiment: object) -> str:
    described = {
        "name": name,
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": target.url(name),
        "settings": {"batch_maximum": 1},
        "limits": {"concurrency": 2},
    }
    request = {"target": described, "experiment": {"method": "round-trip", "attribute": "gender", **experiment}}
    return str(agency.post("/v1/jobs", request)["id"])


def test_the_list_of_jobs_can_be_filtered_and_links_to_ratings(reader: Reader, site: Site) -> None:
    page = reader.open("/jobs")
    rows = page.locator("table.jobs tbody tr")
    assert rows.count() >= len(site.jobs)
    page.get_by_label("Name or address").fill("balancing")
    page.get_by_label("Kind").select_option("rating")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(1)
    assert "q=balancing" in page.url
    link = rows.get_by_role("link", name="Rating")
    assert link.get_attribute("href") == f"/ratings/{site.ratings['balancing']}"


def test_the_page_shows_within_three_seconds_that_a_job_is_cancelled(
    reader: Reader, site: Site, slow: CountingTarget
) -> None:
    job_id = asked_for(site.process.agency, slow, "cancelled")
    page = reader.open(f"/jobs/{job_id}")
    expect(page.locator(".feed li").first).to_be_visible(timeout=30_000)
    assert page.get_by_text("The letter is").count() == 0
    page.get_by_role("button", name="Cancel the job").click(no_wait_after=True)
    shown = page.get_by_text("being cancelled").or_(page.get_by_text("It was cancelled"))
    expect(shown).to_be_visible(timeout=CANCELLED_S * 1000)
    expect(page.get_by_role("heading", name="It was cancelled")).to_be_visible(timeout=30_000)  # at its next heartbeat
    assert site.process.agency.get(f"/v1/jobs/{job_id}")["status"] == "cancelled"


def test_a_failed_job_shows_its_reason_and_can_be_tried_again_with_the_same_values(reader: Reader, site: Site) -> None:
    url = site.services.url("unauthorised")
    target = {"name": "No key", "kind": "translator", "protocol": "libretranslate", "base_url": url}
    experiment = {"method": "round-trip", "attribute": "religion", "languages": ["fr"], "delta": 0.2}
    job = site.process.agency.post("/v1/jobs", {"target": target, "experiment": experiment, "seed": 3})
    job = site.process.finished(job["id"])
    page = reader.open(f"/jobs/{job['id']}")
    expect(page.locator(".errors")).to_contain_text(job["error"]["detail"])
    page.get_by_role("link", name="Try again").click()
    assert page.get_by_label("Address").input_value() == url
    page.get_by_role("button", name="Continue without a test").click()
    assert page.get_by_label("Attribute (needed)").input_value() == "religion"
    assert page.get_by_label("French").is_checked()
    assert not page.get_by_label("Spanish").is_checked()
    assert page.get_by_label("Tolerance", exact=True).input_value() == "0.2"


def test_a_request_for_the_status_of_an_unchanged_job_is_answered_with_304(site: Site, reader: Reader) -> None:
    path = f"/jobs/{site.jobs['faithful']}/now"
    first = reader.page.request.get(f"{site.url}{path}")
    again = reader.page.request.get(f"{site.url}{path}", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status, again.status, again.body()) == (200, 304, b"")


def follow(browser: Browser, agency: Agency, job_id: str, faults: Mapping[int, Callable[[], object]]) -> None:
    """Follow a job's page to its end, with a fault after each number of questions: no reload, no decreasing count."""
    left = sorted(faults)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{agency.url}/jobs/{job_id}")
        page.evaluate("() => { window.same = true }")
        seen: list[int] = []
        titles: set[str] = set()
        until = time.monotonic() + 120
        while time.monotonic() < until and page.get_by_role("link", name="See the rating").count() == 0:
            seen.append(int(page.locator("[data-count=asked]").inner_text().replace(",", "")))
            titles.add(page.title())
            if left and seen[-1] >= left[0]:
                faults[left.pop(0)]()
            page.wait_for_timeout(100)
        expect(page.get_by_role("link", name="See the rating")).to_be_visible()
        job = agency.get(f"/v1/jobs/{job_id}")
        assert left == []
        assert page.evaluate("() => window.same") is True
        assert seen == sorted(seen)
        assert sum(re.match(r"\d+ % · ", title) is not None for title in titles) > 1  # a tab in the background counts
        assert page.title().startswith("Done · "), page.title()
        assert job["status"] == "succeeded"
        assert page.locator("[data-count=asked]").inner_text() == str(job["asked"])
        meter = page.get_by_role("progressbar")
        assert meter.get_attribute("aria-valuenow") == meter.get_attribute("aria-valuemax") == str(job["asked"])


LONGER = {"languages": ["es"], "texts_per_block": 10, "stop_early": False}


def test_the_page_follows_a_job_to_its_end_across_a_restart_without_a_reload(
    browser: Browser, slow: CountingTarget, tmp_path: Path
) -> None:
    agency = Process(tmp_path, ASSAY_LEASE_S="5", ASSAY_HEARTBEAT_S="1")

    def restart() -> None:  # this also stops the worker
        agency.kill()
        agency.start()

    try:
        follow(browser, agency.agency, asked_for(agency.agency, slow, "restarted", **LONGER), {12: restart})
    finally:
        agency.stop()


@pytest.mark.slow
def test_the_page_follows_a_job_to_its_end_although_worker_and_api_are_killed(
    browser: Browser, slow: CountingTarget
) -> None:
    with running_agency(workers=1) as agency:
        (api,), (worker,) = agency.apis, agency.workers
        job = asked_for(agency.client(), slow, "scaled", **LONGER)
        follow(browser, agency.client(), job, {8: worker.kill, 20: api.kill})
        assert api.exits == [-9]
        assert worker.exits in ([-9], [-9, EXIT_DEAF]), "a worker that got no message in time may have restarted itself"
