"""Cost of a page in Chromium: requests and kilobytes without and with a cache, time to answer, LCP and CLS.

The agency is a process of its own on this machine, with ratings of services of known behaviour.
"""

from __future__ import annotations

import gzip
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, sync_playwright

from cli.demo.client import Agency
from demo.server import DemoServer
from tests.support.filled_agency import fill, filled_agency
from web.frame.assets import asset_named

PATHS = ("/", "/overview", "/ratings/{rating}", "/ratings/{rating}/evidence", "/registry", "/new", "/services")
GOALS = "goal: cold <= 8 requests and <= 160 kB, warm <= 25 kB, answer <= 50 ms, LCP <= 1.0 s, CLS < .02"
SENTENCES = 10_000
SERVICES, RATINGS_EACH = 2_000, 5
OFTEN_READ = (
    *PATHS[1:],
    *("/jobs", "/registry?q=Service+19", "/compare?kind=translator", "/compare?kind=translator&sort=name"),
    *("/r/{rating}", "/ratings/{rating}/provenance"),
)
ROUNDS = 5

OBSERVE = """
window.shift = 0; window.paint = 0;
new PerformanceObserver(all => all.getEntries().forEach(one => { window.shift += one.value }))
  .observe({type: 'layout-shift', buffered: true});
new PerformanceObserver(all => all.getEntries().forEach(one => { window.paint = one.startTime }))
  .observe({type: 'largest-contentful-paint', buffered: true});
"""


def transferred(context: BrowserContext, url: str) -> dict[str, Any]:
    """Open a page; return the requests, the bytes that were sent (compressed), LCP in seconds and CLS."""
    page = context.new_page()
    page.add_init_script(OBSERVE)
    sizes: list[int] = []
    page.on("requestfinished", lambda one: sizes.append(one.sizes()["responseBodySize"]))
    page.goto(url, wait_until="networkidle")
    page.wait_for_timeout(200)
    told = {"requests": len(sizes), "bytes": sum(sizes), "lcp": page.evaluate("window.paint") / 1000}
    told["cls"] = page.evaluate("window.shift")
    page.close()
    return told


def answers_ms(read: Callable[[str], object], url: str) -> float:
    """Read an address several times; return the median of the milliseconds."""
    took = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        read(url)
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def edit_s(browser: Browser, agency: Agency) -> list[float]:
    """Edit a sentence of a large corpus again and again; return the seconds from the click to the new text."""
    corpus = agency.post("/v1/corpora", {"name": "Large", "kind": "sentences", "attribute": "gender"})["id"]
    for begin in range(0, SENTENCES, 1000):
        items = [{"text": f"Sentence {begin + number} says nothing new."} for number in range(1000)]
        agency.post(f"/v1/corpora/{corpus}/items", {"items": items})
    took = []
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{agency.url}/corpora/{corpus}?q=Sentence+{SENTENCES - 1}")
        for number in range(ROUNDS):
            page.get_by_role("link", name=f"Edit {SENTENCES}", exact=True).click()
            page.get_by_label("Sentence", exact=True).fill(text := f"Sentence {SENTENCES - 1}, edition {number}.")
            start = time.perf_counter()
            page.get_by_role("button", name="Save").click()
            page.locator(".item > p", has_text=text).wait_for()
            took.append(time.perf_counter() - start)
    return took


def main() -> None:
    """Print a line for each page."""
    scripts = [one.name for one in Path("web/static").glob("*.js")]
    packed = sum(len(gzip.compress(asset.content)) for name in scripts if (asset := asset_named(name)) is not None)
    print(f"all scripts, compressed: {packed / 1000:.1f} kB (goal 25)")
    with (
        tempfile.TemporaryDirectory() as folder,
        DemoServer() as services,
        filled_agency(services, Path(folder)) as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in PATHS:
            url = f"{site.url}{path.format(rating=site.ratings['stereotyped-model'])}"
            with browser.new_context() as context:
                cold, warm = transferred(context, url), transferred(context, url)
                took_ms = answers_ms(context.request.get, url)
            print(
                f"{path:28s} cold {cold['requests']:2d} requests {cold['bytes'] / 1000:6.1f} kB   "
                f"warm {warm['bytes'] / 1000:6.1f} kB   answer {took_ms:5.0f} ms   "
                f"LCP {cold['lcp']:.2f} s   CLS {cold['cls']:.3f}"
            )
        edits = edit_s(browser, site.process.agency)
        print(f"one of {SENTENCES:,} sentences edited: {statistics.median(edits) * 1000:.0f} ms (goal 300)")
        browser.close()
        print(GOALS)
        site.process.stop()
        fill(Path(folder), SERVICES, RATINGS_EACH)
        site.process.start()
        print(f"with {SERVICES:,} services and {SERVICES * RATINGS_EACH:,} ratings (goal: answer <= 100 ms):")
        for path in OFTEN_READ:
            path = path.format(rating=site.ratings["stereotyped-model"])
            print(f"{path:60s} answer {answers_ms(site.process.agency.text, path):5.0f} ms")


if __name__ == "__main__":
    main()
