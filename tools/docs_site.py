"""Build the documentation site: `make docs`, or `python -m tools.docs_site [FOLDER]`.

The pages of docs/, pages from other folders (changelog, contributing, the texts of the methodology, the client) and
reference pages made from the code are put together in a temporary folder. Zensical then builds it, and any warning,
such as a link to a missing page or heading, fails the build. Nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from tools.docs_reference import reference_pages

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<=\]\()(?!https?://|mailto:|#|<)([^)#\s]+)(#[^)\s]*)?(?=\))")

ELSEWHERE = {
    "CHANGELOG.md": "reference/changelog.md",
    "CODE_OF_CONDUCT.md": "reference/code-of-conduct.md",
    "CONTRIBUTING.md": "reference/contributing.md",
    "SECURITY.md": "reference/security.md",
    "clients/python/README.md": "reference/python-client.md",
    "clients/typescript/README.md": "reference/typescript-client.md",
    "assay/rating/methodology/1.3.0.md": "reference/methodology-1.3.0.md",
}
"""Pages outside docs/ and their place on the site."""

LANDING = {
    "README.md": "index.md",
    "docs/methods": "reference/methods.md",
    "docs/decisions": "decisions/README.md",
}
"""Link targets whose content another page of the site has."""


class BrokenSite(Exception):
    """The site has an invalid page or link; the message names it."""


def place_of(path: str) -> str | None:
    """Return the place on the site of a file or folder of the repository, or None if the site lacks it."""
    place = ELSEWHERE.get(path) or LANDING.get(path)
    if place is None and path.startswith("docs/") and (ROOT / path).is_file():
        place = path.removeprefix("docs/")
    return place


def relocate(text: str, source: str, place: str) -> str:
    """Rewrite relative links of a page that moves from `source` in the repository to `place` on the site.

    Raise `BrokenSite` if a link leads to a file that is not on the site.
    """

    def rewrite(link: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / link[1])
        target_place = place_of(target)
        if target_place is None:
            raise BrokenSite(f"{source} links to {link[1]}, which is not on the site")
        return os.path.relpath(target_place, PurePosixPath(place).parent) + (link[2] or "")

    return LINK.sub(rewrite, text)


def all_pages() -> dict[str, str]:
    """Return every page of the site: its place and its text in Markdown."""
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")} | set(ELSEWHERE)
    pages = {}
    for source in sorted(sources):
        place = place_of(source)
        if place is not None:
            pages[place] = relocate((ROOT / source).read_text(encoding="utf-8"), source, place)
    return pages | reference_pages()


def navigation_places(nav: list[Any]) -> set[str]:
    """Return the places that a navigation names."""
    places: set[str] = set()
    for entry in nav:
        place_or_entries = next(iter(entry.values())) if isinstance(entry, dict) else entry
        places |= navigation_places(place_or_entries) if isinstance(place_or_entries, list) else {place_or_entries}
    return places


def configuration(pages: dict[str, str]) -> dict[str, Any]:
    """Read mkdocs.yml, and add the decisions to its navigation.

    Raise `BrokenSite` if the navigation lacks a page, or names one that does not exist.
    """
    settings: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    decisions = sorted(name for name in pages if name.startswith("decisions/"))
    decisions.remove("decisions/README.md")
    for entry in settings["nav"]:
        if "Decisions" in entry:
            entry["Decisions"] = ["decisions/README.md", *decisions]
    places = navigation_places(settings["nav"])
    if places != set(pages):
        absent = sorted(places - set(pages))
        raise BrokenSite(f"mkdocs.yml: not in the navigation: {sorted(set(pages) - places)}; do not exist: {absent}")
    return settings


def build(site: Path) -> str:
    """Build the site in the folder `site`, which is replaced; return Zensical's output.

    Raise `BrokenSite` if a page is missing, or Zensical warns.
    """
    pages = all_pages()
    settings = configuration(pages)
    with tempfile.TemporaryDirectory() as folder:
        work_folder = Path(folder)
        shutil.copytree(ROOT / "docs", work_folder / "docs")
        for name, text in pages.items():
            page_file = work_folder / "docs" / name
            page_file.parent.mkdir(parents=True, exist_ok=True)
            page_file.write_text(text, encoding="utf-8")
        (work_folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        zensical = Path(sys.executable).with_name("zensical")
        process = subprocess.run(
            [zensical, "build", "--clean", "--strict"],
            cwd=work_folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NO_COLOR": "1"},
        )
        output = process.stdout + process.stderr
        if process.returncode or "arning" in output:
            raise BrokenSite(output)
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(work_folder / settings["site_dir"], site)
    return output


def main() -> None:
    """Build the site, by default in `site/`."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    try:
        build(site)
    except BrokenSite as error:
        sys.exit(str(error))
    print(
        f"{len(list(site.rglob('*.html')))} pages in {site}; to read and search them: python3 -m http.server -d {site}"
    )


if __name__ == "__main__":
    main()
