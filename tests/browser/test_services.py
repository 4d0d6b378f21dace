"""Services and the overview, with names that try to inject markup or scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.server import DemoServer
from tests.browser.conftest import Reader
from tests.support.agency_process import Process
from tests.support.filled_agency import Site

HOSTILE = (
    "<script>pwned=1</script>", "<img src=x onerror=pwned=1>", "<svg onload=pwned=1>", "'><b>x", '"><b>x',
    "<body onload=pwned=1>", "javascript:pwned=1", "JaVaScRiPt:pwned=1", "data:text/html,<b>x",
    "<a href=//x.test>x</a>",
    "<iframe src=//x.test>", "</title><b>x", "</script><b>x", "<!--", "-->", "<![CDATA[x]]>", "]]>", "<?xml?>",
    "{{7*7}}", "{% raw %}", "${7*7}", "#{7*7}", "<%= 7*7 %>", "&lt;b&gt;", "&#60;b&#62;", "&amp;amp;",
    "\\u003cb\\u003e",
    "%3Cb%3E", "' onclick='pwned=1", '" onclick="pwned=1', "` onclick=`pwned=1", "' autofocus onfocus=pwned=1 '",
    "<input autofocus onfocus=pwned=1>", "<details open ontoggle=pwned=1>", "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//x.test>", "<meta http-equiv=refresh content=0>", "<base href=//x.test>",
    "<form action=//x.test>", "<math><mi>x", "<object data=x>", "<embed src=x>", "<video><source onerror=pwned=1>",
    "<x hx-get=/ hx-trigger=load>", "hx-on:load=pwned=1", "gnirts\u200cdesrever", "<bdo dir=rtl>isolate", "<bdi>pop",
    "zero\u200dwidth", "\u0301mark", "e\u0301\u0301\u0301", "\u05d0\u05d1\u05d2", "\u0627\u0644", "\U0001f4a9",
    "\uff1cscript\uff1e", "'; DROP TABLE ratings; --", "' OR '1'='1", "../../etc/passwd", "\\\\x.test\\c", "|nul",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(own_site: Site) -> Site:
    """A separate agency, in which no other module has created anything."""
    return own_site


def named(most: int = 200) -> list[str]:
    """Return names of services; each name joins several hostile texts, up to `most` characters."""
    names = [""]
    for payload in HOSTILE:
        if len(names[-1]) + len(payload) + 1 > most:
            names.append("")
        names[-1] = f"{names[-1]} {payload}".strip()
    return names


@pytest.fixture(scope="module")
def agency(services: DemoServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A separate agency with services that have hostile names: saved services, rated services, failed jobs."""
    process = Process(tmp_path_factory.mktemp("hostile"))
    for name in HOSTILE:
        process.agency.post("/v1/targets", target(name, services.url("faithful"), settings={}))
    experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}
    for seed, name in enumerate(named()):
        described = target(name, services.url("always-he"))
        body = {"target": described, "experiment": experiment, "visibility": "public", "seed": seed}
        job = process.agency.post("/v1/jobs", body)
    for _ in named():
        assert process.finished(job["id"])["status"] == "succeeded"
    yield process
    process.stop()


@pytest.fixture
def visitor(context, agency: Process) -> Iterator[Reader]:
    found = Reader(context.new_page(), agency.agency.url)
    found.watch()
    yield found
    assert not found.complaints


def target(name, url, **more):
    return {"name": name, "kind": "translator", "protocol": "libretranslate", "base_url": url, **more}


def texts(page):
    return page.locator("main bdi").evaluate_all("all => all.map(one => one.textContent)")


def test_hostile_names_of_services_are_shown_as_text(visitor):
    assert len(HOSTILE) == 60
    for path, names in (
        *(("/overview", named()), ("/services", HOSTILE[-50:]), ("/services?start=50", HOSTILE[:10])),
        *(("/registry", named()), ("/", named()[-6:])),
    ):
        page = visitor.open(path)
        assert set(names) <= set(texts(page)), path
        assert page.evaluate("'pwned' in window") is False
        foreign = "[onerror], [onload], [onclick], [onfocus], [ontoggle], [href^='javascript' i], iframe, object, embed"
        assert page.locator(f"{foreign}, main script, main style, main b bdi b").count() == 0
        directions = page.locator("main bdi").evaluate_all("all => all.map(one => getComputedStyle(one).unicodeBidi)")
        assert set(directions) == {"isolate"}, "a name must not turn the text around it"


def test_the_page_of_services_lists_the_services_of_the_api(reader, site):
    newest = site.process.agency.get("/v1/overview")["targets"]
    page = reader.open("/services")
    rows = page.locator("tbody tr").evaluate_all(
        """all => all.map(row => [
            row.querySelector("svg").getAttribute("aria-label"), row.querySelector("bdi").textContent])"""
    )
    assert rows == [[one["letter"] or "no letter", one["target"]["name"]] for one in newest]
    page.get_by_label("Kind of service").select_option("classifier")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**kind=classifier")
    assert texts(page)[0] == "group-sentiment"


def test_a_rated_service_can_be_saved_and_rated_again(visitor, agency, services):
    page = visitor.open("/services?q=" + "always-he")
    page.locator("tbody a").first.click()
    page.get_by_role("button", name="Save").click()
    saved = agency.agency.get(f"/v1/targets/{page.url.rpartition('/')[2]}")
    assert saved["base_url"] == services.url("always-he")
    history = agency.agency.get(f"/v1/targets/{saved['id']}/history")["items"]
    assert len(history) == len(named())
    page.get_by_text("The same numbers as a table").click()
    rows = page.locator(".twin tbody tr")
    assert rows.count() == len(history)
    assert f"{rows.count()} ratings" in page.locator("figcaption h2").inner_text()
    newest = agency.agency.get(f"/v1/ratings/{history[0]['id']}")
    assert page.locator(".parts bdi").all_inner_texts() == [part["language_name"] for part in newest["components"]]
    answer = page.request.post(f"{visitor.url}/services/{saved['id']}/rate", form={"rating": newest["id"]})
    assert answer.status == 403, "a form without the token of the page"
    with page.expect_response(lambda got: got.request.method == "POST") as posted:
        page.get_by_role("button", name="Rate again").click()
    job = agency.agency.get(f"/v1{posted.value.headers['location']}")
    assert job["target_id"] == saved["id"]
    assert job["experiment"] == newest["experiment"]
    visitor.complaints.clear()  # errors on the next page, which shows the job, do not count here


def test_the_secret_of_a_service_is_never_shown_and_must_be_entered_again_for_a_new_address(visitor, agency, services):
    secret = "tell-nobody-9f2x"
    saved = agency.agency.post("/v1/targets", target("Keeps a secret", services.url("faithful"), secret=secret))
    page = visitor.open(f"/services/{saved['id']}/edit")
    assert "Ends with …9f2x" in page.inner_text("main")
    elsewhere = services.url("faithful").replace("127.0.0.1", "127.0.0.2")
    page.get_by_label("Address").fill(elsewhere)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("needed for a new address").wait_for()
    assert page.get_by_label("Address").input_value() == elsewhere
    visitor.complaints.clear()  # Chromium writes an answer of 422 to its console
    page.get_by_label("Secret", exact=True).fill(secret)
    page.get_by_role("button", name="Save").click()
    assert agency.agency.get(f"/v1/targets/{saved['id']}")["base_url"] == elsewhere
    assert secret not in page.content()
    page.get_by_text("Remove this service and its secret").click()
    page.get_by_role("button", name="Remove it").click()
    left = [one["id"] for one in agency.agency.get("/v1/targets?limit=200")["items"]]
    assert saved["id"] not in left


def test_settings_of_a_saved_service_can_be_changed_in_a_form(visitor, agency, services):
    saved = agency.agency.post(
        "/v1/targets", target("Settings", services.url("faithful"), settings={"batch_maximum": 7})
    )
    page = visitor.open(f"/services/{saved['id']}/edit")
    page.get_by_text("Settings and limits").click()
    assert page.get_by_label("Batch maximum").input_value() == "7"
    page.get_by_label("Batch maximum").fill("3")
    page.get_by_label("Calls at a time").fill("2")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(f"**/services/{saved['id']}")
    changed = agency.agency.get(f"/v1/targets/{saved['id']}")
    assert (changed["settings"]["batch_maximum"], changed["limits"]["concurrency"]) == (3, 2)


def test_a_running_job_is_shown_on_the_overview_until_it_ends(visitor, agency, services):
    experiment = {"method": "round-trip", "attribute": "gender", "languages": ["es", "fr"], "stop_early": False}
    slow = target("Slow one", services.url("balancing"), limits={"concurrency": 1, "requests_per_second": 0.5})
    job = agency.agency.post("/v1/jobs", {"target": slow, "experiment": experiment, "seed": 99})
    page = visitor.open("/overview")
    bar = page.locator("#running .run", has_text="Slow one").get_by_role("progressbar")
    bar.wait_for(timeout=15_000)
    seen = agency.agency.get(f"/v1/jobs/{job['id']}")
    assert bar.get_attribute("aria-valuemax") == str(seen["expected"])
    first = int(bar.get_attribute("aria-valuenow"))
    page.wait_for_function(
        "([bar, first]) => bar.isConnected && +bar.ariaValueNow > first", arg=[bar.element_handle(), first]
    )
    agency.agency.post(f"/v1/jobs/{job['id']}/cancel", {})
    bar.wait_for(state="detached", timeout=15_000)
