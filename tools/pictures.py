"""`make pictures`: the main pages of the site as pictures, at 1280 and 390 pixels, light and dark.

The pages are listed in `STARTS`, and filled by ratings of services of known behaviour. README's pictures are three of
them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from demo.server import DemoServer
from tests.support.filled_agency import Site, filled_agency

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
STARTS = (
    "/",
    "/overview",
    "/registry",
    "/methodology",
    "/log",
    "/new",
    "/own-words",
    "/jobs",
    "/ratings",
    "/ratings/{rating}",
    "/ratings/{rating}/evidence",
    "/ratings/{rating}/certificate",
    "/services",
    "/suites",
    "/schedules",
    "/specifications",
    "/corpora",
    "/uploads",
    "/compare",
    "/compose",
    "/webhooks",
    "/keys",
    "/settings",
)


def main() -> None:
    """Start an agency with ratings, and write the pictures of its pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pictures are written")
    parser.add_argument("--only", help="pages whose address contains this")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as data,
        DemoServer() as services,
        filled_agency(services, Path(data)) as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in STARTS:
            if not options.only or options.only in path:
                for file in _take_pictures(browser, site, path, options.folder):
                    print(file.name, flush=True)
        browser.close()


def _take_pictures(browser: Browser, site: Site, path: str, folder: Path) -> Iterator[Path]:
    name = re.sub(r"\W+", "-", path.replace("{rating}", "rating")).strip("-") or "start"
    for width in WIDTHS:
        for scheme in SCHEMES:
            with browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light"
            ) as context:
                page = context.new_page()
                page.goto(f"{site.url}{path.format(rating=site.ratings['stereotyped-model'])}")
                page.wait_for_load_state("networkidle")
                file = folder / f"{name}-{width}-{scheme}.png"
                page.screenshot(path=file, full_page=True)
                yield file


if __name__ == "__main__":
    main()
