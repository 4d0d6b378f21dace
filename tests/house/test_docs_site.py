"""The documentation site builds without a warning, has no dead link, and loads nothing from other hosts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from assay.methods import METHODS, method_name
from tools import docs_site
from workers.targets.registry import protocols

ROOT = Path(__file__).resolve().parents[2]
NETWORK_REFUSED = """
import sys

def refuse(event, arguments):
    if event == "socket.connect":
        raise OSError(f"the network is used: {arguments}")

sys.addaudithook(refuse)
"""


class Page(HTMLParser):
    """The links, loaded files and anchors of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.anchors.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and given.get("href"):
            self.loaded.append(given["href"])
        if given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build the site with the program of `make docs`, which may not open connections."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "sitecustomize.py").write_text(NETWORK_REFUSED, encoding="utf-8")
    built = folder / "site"
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs_site", str(built)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), "HOME": str(folder)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return built


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_page_of_docs_is_on_the_site(site):
    for page in (ROOT / "docs").rglob("*.md"):
        built = site / page.relative_to(ROOT / "docs").with_suffix(".html")
        if page.name == "README.md":
            built = built.with_name("index.html")
        assert built.is_file(), page


@pytest.mark.slow
def test_every_link_leads_to_an_existing_page_and_heading(site, pages):
    dead = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there /= "index.html"
            known = pages[there].anchors if there in pages else set()
            if not there.is_file() or (parts.fragment and there in pages and unquote(parts.fragment) not in known):
                dead.append((path.relative_to(site), link))
    assert not dead


def test_no_page_of_the_site_loads_a_file_from_another_host(site, pages):
    loaded = {one for page in pages.values() for one in page.loaded}
    assert loaded
    assert not {one for one in loaded if urlsplit(one).netloc}
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", style.read_text(encoding="utf-8")), style
    for path, page in pages.items():
        for one in page.loaded:
            if path.name != "404.html" and not one.startswith("data:"):
                assert (path.parent / unquote(urlsplit(one).path)).exists(), (path, one)


def test_the_search_of_the_site_finds_methods_settings_and_decisions(site):
    index = "".join(path.read_text(encoding="utf-8") for path in site.glob("search.json"))
    for word in ("forced-choice", "ASSAY_DATABASE_URL", "side-by-side", "merkle tree"):
        assert word.lower() in index.lower()


def test_the_reference_pages_list_every_method_and_protocol(site):
    methods = (site / "reference/methods.html").read_text(encoding="utf-8")
    for kind in METHODS:
        assert f'id="{method_name(kind)}"' in methods
    assert "delta_individual" in methods
    shown = (site / "targets.html").read_text(encoding="utf-8")
    for one in protocols():
        assert f'id="{one.name}"' in shown


@pytest.mark.slow
def test_a_link_to_a_missing_page_fails_the_build(tmp_path, monkeypatch):
    pages = docs_site.all_pages()
    broken = pages | {"glossary.md": "# Glossary\n\n[nowhere](nowhere.md)\n"}
    monkeypatch.setattr(docs_site, "all_pages", lambda: broken)
    with pytest.raises(docs_site.BrokenSite, match=r"nowhere\.md|does not exist"):
        docs_site.build(tmp_path / "site")


@pytest.mark.slow
def test_a_page_outside_the_navigation_fails_the_build():
    with pytest.raises(docs_site.BrokenSite, match="not in the navigation"):
        docs_site.configuration(docs_site.all_pages() | {"forgotten.md": "# Forgotten\n"})


def test_a_link_to_a_file_outside_the_site_fails_the_build():
    with pytest.raises(docs_site.BrokenSite, match="not on the site"):
        docs_site.relocate("[code](../service/app.py)", "docs/api.md", "api.md")


def test_the_operations_page_lists_every_operation_of_the_api(site):
    document = json.loads((ROOT / "clients/python/openapi.json").read_text(encoding="utf-8"))
    shown = (site / "reference/operations.html").read_text(encoding="utf-8")
    for path in document["paths"]:
        assert path.replace("{", "{") in shown


def test_the_sections_of_the_navigation_are_tutorials_how_to_reference_explanation_and_decisions():
    read = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    sections = [next(iter(entry)) for entry in read["nav"]]
    assert sections == ["Start", "Tutorials", "How-to", "Reference", "Explanation", "Decisions"]
