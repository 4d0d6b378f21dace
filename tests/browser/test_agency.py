"""Pages of schedules, webhooks, keys and settings, in a browser."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Reader, Site
from tests.support.json_server import answer_challenge
from tests.support.scripted_server import Answer, Heard, scripted_server
from web.frame.rendering import moment
from web.schedules.pages import cron_of, in_words


def ask(page: Page | Locator, summary: str, button: str) -> None:
    """Open the confirmation of an action that cannot be undone, and confirm it."""
    page.locator("summary", has_text=summary).click()
    page.get_by_role("button", name=button).click()


def test_a_schedule_is_stored_as_it_was_entered_and_can_be_paused_run_and_deleted(site: Site, reader: Reader) -> None:
    rating = site.process.agency.get(f"/v1/ratings/{site.ratings['faithful']}")
    page = reader.open(f"/schedules/new?rating={rating['id']}")
    page.get_by_label("Name of the schedule").fill("Every month")
    page.get_by_label("Day of the month").select_option("on day 15")
    page.get_by_label("Every month", exact=True).check()
    page.get_by_label("At (UTC)").select_option("04:00")
    page.get_by_role("button", name="Make the schedule").click()
    expect(page).to_have_url(re.compile("/schedules$"))
    (made,) = [one for one in site.process.agency.get("/v1/schedules")["items"] if one["name"] == "Every month"]
    assert (made["cron"], made["paused"]) == ("0 4 15 * *", False)
    asked = made["request"]["target"]
    if "id" in asked:  # the service is a saved target if another test has saved it
        asked = site.process.agency.get(f"/v1/targets/{asked['id']}")
    assert asked["base_url"] == rating["target"]["url"]
    assert made["request"]["experiment"] == rating["experiment"]
    card = page.get_by_role("article", name="Every month")
    expect(card.get_by_text("on day 15 of every month at 04:00 UTC")).to_be_visible()
    expect(card.locator(".runs li")).to_have_text([moment(time).striptags() for time in made["next_runs"]])
    months = [datetime.fromisoformat(time).month for time in made["next_runs"]]
    assert all(later == earlier % 12 + 1 for earlier, later in pairwise(months))
    card.get_by_role("button", name="Pause").click()
    expect(card.get_by_text("None while it is paused.")).to_be_visible()
    assert site.process.agency.get(f"/v1/schedules/{made['id']}")["paused"]
    card.get_by_role("button", name="Resume").click()
    expect(card.locator(".runs li")).to_have_count(5)
    card.get_by_role("button", name="Run now").click()
    expect(card.get_by_role("link", name="job")).to_be_visible()
    ran = site.process.agency.get(f"/v1/schedules/{made['id']}")
    assert site.process.finished(ran["last_made"]["id"])["status"] == "succeeded"
    ask(card, "Delete…", "Delete the schedule")
    expect(card).to_have_count(0)


def test_a_schedule_of_a_saved_service_is_listed_by_its_name(site: Site, reader: Reader) -> None:
    agency, url = site.process.agency, site.services.url("balancing")
    target = {"name": "Kept", "kind": "translator", "protocol": "libretranslate", "base_url": url}
    request = {"target": {"id": agency.post("/v1/targets", target)["id"]}}
    request["experiment"] = {"method": "round-trip", "attribute": "gender"}
    agency.post("/v1/schedules", {"name": "Of a saved one", "cron": "0 4 15 * *", "request": request})
    card = reader.open("/schedules").get_by_role("article", name="Of a saved one")
    expect(card.get_by_text("Kept · Round trip · gender")).to_be_visible()
    ask(card, "Delete…", "Delete the schedule")
    expect(card).to_have_count(0)


def said(schedule: dict[str, object]) -> str:
    text, values = in_words(schedule)
    return text % values


@pytest.mark.parametrize(
    ("form", "cron", "words"),
    [
        ({"every": "day", "weekday": "1", "day": "1", "hour": "3"}, "0 3 * * *", "every day at 03:00 UTC"),
        ({"every": "week", "weekday": "0", "day": "1", "hour": "23"}, "0 23 * * 0", "every Sunday at 23:00 UTC"),
        (
            {"every": "month", "weekday": "1", "day": "28", "hour": "0"},
            "0 0 28 * *",
            "on day 28 of every month at 00:00 UTC",
        ),
    ],
)
def test_the_frequency_of_a_schedule_is_stored_as_cron_and_shown(form: dict[str, str], cron: str, words: str) -> None:
    assert cron_of(form) == cron
    assert said({"cron": cron, "interval_s": None}) == words


def test_intervals_are_shown_in_words_and_unusual_cron_expressions_as_written() -> None:
    assert said({"cron": None, "interval_s": 604_800}) == "every 7 days"
    assert said({"cron": None, "interval_s": 90}) == "every 90 seconds"
    assert said({"cron": "*/5 1 1 * 1", "interval_s": None}) == "cron */5 1 1 * 1 (UTC)"


def test_the_secret_of_a_webhook_is_shown_once_and_failed_notices_are_sent_again(site: Site, reader: Reader) -> None:
    status = [410]
    heard: list[Heard] = []

    def answer(sent: Heard) -> Answer:
        token = answer_challenge(sent.json)
        return Answer(token, 200 if token else status[0])

    with scripted_server(answer, heard) as url:
        page = reader.open("/webhooks")
        page.get_by_label("Address").fill(f"{url}/hook")
        page.get_by_label("What it is for").fill("<b>alarm</b>")
        page.get_by_role("checkbox", name="A job has failed").check()
        page.get_by_role("checkbox", name="The letter of a service changed").check()
        page.get_by_role("button", name="Make the endpoint").click()
        secret = page.locator("[data-secret]").inner_text()
        assert re.fullmatch(r"whsec_[\w+/]{43}=", secret)
        page.get_by_role("link", name="I have copied it").click()
        webhook_id = page.url.rpartition("/")[2]
        expect(page.get_by_role("heading", name="<b>alarm</b>")).to_be_visible()
        assert secret not in page.content()
        made = site.process.agency.get(f"/v1/webhooks/{webhook_id}")
        assert (made["url"], made["events"]) == (f"{url}/hook", ["job.failed", "rating.changed"])
        page.get_by_role("button", name="Ping it").click()
        expect(page.get_by_role("link", name="ping")).to_be_visible()
        failed = page.get_by_role("link", name="Failed", exact=True)
        until_listed(page, failed, "ping")
        status[0] = 200
        # 410 disabled the endpoint
        page.get_by_role("button", name="Enable it").click()
        failed.click()
        page.get_by_role("button", name="Send all failed ones again").click()
        until_listed(page, page.get_by_role("link", name="Delivered", exact=True), "ping")
        page.get_by_role("link", name="ping").click()
        expect(page.get_by_role("heading", name="ping")).to_be_visible()
        pings = [sent for sent in heard if sent.json["type"] == "ping"]
        assert len(pings) == 2
        assert len({sent.headers["webhook-id"] for sent in pings}) == 1
        page.goto(f"{site.url}/webhooks/{webhook_id}")
        ask(page, "New secret…", "Make a new secret")
        assert page.locator("[data-secret]").inner_text() not in {secret, ""}
        page.get_by_role("link", name="I have copied it").click()
        ask(page, "Delete…", "Delete the endpoint")
        expect(page.get_by_role("heading", name="Endpoints")).to_be_visible()
        expect(page.locator(f"a[href='/webhooks/{webhook_id}']")).to_have_count(0)


def until_listed(page: Page, chip: Locator, name: str) -> None:
    """Follow a link that filters deliveries by state, until the list contains the delivery."""
    for _ in range(60):
        chip.click()
        expect(chip).to_have_attribute("aria-current", "true")
        if page.get_by_role("link", name=name).count():
            return
        page.wait_for_timeout(250)
    raise AssertionError(page.content())


def test_the_error_of_a_refused_webhook_address_is_shown_at_its_field(reader: Reader) -> None:
    page = reader.open("/webhooks")
    page.get_by_label("Address").fill("ftp://example.com/")
    page.get_by_role("checkbox", name="A job has failed").check()
    page.get_by_role("button", name="Make the endpoint").click()
    expect(page.locator("#w-url")).to_contain_text("http://")
    expect(page.get_by_role("checkbox", name="A job has failed")).to_be_checked()
    reader.complaints[:] = [one for one in reader.complaints if "422" not in one]


def test_a_key_is_shown_once_with_its_scopes_and_is_revoked(site: Site, reader: Reader) -> None:
    page = reader.open("/keys")
    page.get_by_label("What it is for").fill("importer")
    page.get_by_role("checkbox", name="jobs:write").check()
    page.get_by_label("It expires").select_option("after 90 days")
    page.get_by_role("button", name="Make the key").click()
    key = page.locator("[data-secret]").inner_text()
    page.get_by_role("link", name="I have copied it").click()
    page.wait_for_load_state()
    assert key not in page.content()
    (made,) = [one for one in site.process.agency.get("/v1/keys")["items"] if one["name"] == "importer"]
    assert (sorted(made["scopes"]), key.split("_")[1]) == (["jobs:write", "ratings:read"], made["short"])
    life = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert life.days in {89, 90}
    expect(page.get_by_text("never used")).to_be_visible()
    ask(page, "Revoke…", "Revoke “importer”")
    expect(page.get_by_text("revoked")).to_be_visible()


def test_settings_show_limits_and_a_host_can_be_claimed_verified_and_given_up(site: Site, reader: Reader) -> None:
    page = reader.open("/settings")
    limits = site.process.agency.get("/v1/limits")
    expect(
        page.get_by_text(f"{limits['active_jobs']['used']} of {limits['active_jobs']['limit']} used")
    ).to_be_visible()
    host = site.services.url("").split("/")[2]
    page.get_by_label("Host").fill(f"https://{host}/x")
    page.get_by_role("button", name="Claim this service").click()
    expect(page.get_by_role("alert")).to_contain_text("this is an address, not a host")
    page.get_by_label("Host").fill(host)
    page.get_by_role("button", name="Claim this service").click()
    (domain,) = site.process.agency.get("/v1/domains")["items"]
    assert domain["host"] == host
    expect(page.get_by_text(domain["challenge"]["token"])).to_be_visible()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_text("not verified", exact=False).first).to_be_visible()
    checked = site.process.agency.get(f"/v1/domains/{domain['id']}")
    assert checked["state"] == "failed"
    expect(page.get_by_text(checked["failure"])).to_be_visible()
    ask(page, "Give up…", "Give the host up")
    assert site.process.agency.get("/v1/domains")["items"] == []
    reader.complaints[:] = [one for one in reader.complaints if "422" not in one]
