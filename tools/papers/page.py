"""One HTML page of every table and figure that can be computed here, printed and ours (`make papers`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import assay
from assay.rating.decision import METHODOLOGY_VERSION
from reports.figures import picture
from reports.formats.html.pieces import figure, page, paragraphs, table
from reports.markup import Markup, join, tag
from reports.view import Table
from tools.papers import p1, p2, p3, p4, p5, printed
from tools.papers.exhibits import Absent, Exhibit, Paper
from tools.papers.shared_data import Shared, SharedDataMissing

TITLE = "Five papers, reproduced"

PAPERS: Sequence[tuple[str, str, Callable[[Shared], Paper]]] = (
    ("P1", printed.P1, p1.paper),
    ("P2", printed.P2, p2.paper),
    ("P3", printed.P3, p3.paper),
    ("P4", printed.P4, p4.paper),
    ("P5", printed.P5, p5.paper),
)

OPEN_LINES = 24
"""Exhibits with more lines are folded away."""


def compute(shared: Shared) -> tuple[Paper, ...]:
    """Compute the exhibits of every paper; a paper whose data are missing has a note instead."""
    return tuple(_computed(shared, *one) for one in PAPERS)


def _computed(shared: Shared, key: str, citation: str, work: Callable[[Shared], Paper]) -> Paper:
    try:
        return work(shared)
    except SharedDataMissing as missing:
        return Paper(key, citation, (), (Absent("Everything", str(missing)),))


def render(papers: Sequence[Paper]) -> str:
    """Write the page; it fetches nothing and has no scripts."""
    links = [tag("a", one.key, href=f"#{one.key}") for one in papers]
    sections = [_paper(one) for one in papers]
    counted = sum(len(exhibit.lines) for one in papers for exhibit in one.exhibits)
    version = tag("span", f"engine {assay.__version__}, methodology {METHODOLOGY_VERSION}")
    subject = tag("p", f"{counted} published numbers and statements, each beside ours", class_="subject")
    header = tag("header", tag("p", "Assay", version, class_="house"), tag("div", tag("h1", TITLE), subject))
    nav = tag("nav", *links, tag("a", "Not computed", href="#absent"), aria_label="Sections")
    return page(TITLE, header, nav, tag("main", *sections, _absent(papers), id="main"), skip="Skip to the papers")


def write_page(folder: Path | None, output: Path) -> tuple[int, int]:
    """Compute everything from the data in a folder, and write the page.

    Returns
    -------
    tuple of int
        Numbers of tables and figures that were computed, and that were not.

    Raises
    ------
    SharedDataMissing
        If the folder holds no data.
    """
    shared = Shared() if folder is None else Shared(folder.resolve())
    shared.check()
    papers = compute(shared)
    output.write_text(render(papers), encoding="utf-8")
    return sum(len(one.exhibits) for one in papers), sum(len(one.absent) for one in papers)


def _paper(one: Paper) -> Markup:
    exhibits = [_exhibit(exhibit, f"{one.key}-{place}") for place, exhibit in enumerate(one.exhibits)]
    return tag("section", tag("h2", f"{one.key}. {one.citation}"), *exhibits, id=one.key)


def _exhibit(one: Exhibit, key: str) -> Markup:
    comparison = one.comparison()
    drawn = [figure(picture(each, f"{key}-{place}")) for place, each in enumerate(one.pictures)]
    inside = join(
        paragraphs(one.about),
        table(comparison, caption=False) if comparison else None,
        tag("div", *drawn, class_="figures") if drawn else None,
        tag("div", *map(table, one.tables), class_="tables") if one.tables else None,
    )
    return tag(
        "details",
        tag("summary", tag("h3", one.title)),
        inside,
        class_="part",
        id=key,
        open=0 < len(one.lines) <= OPEN_LINES,
    )


def _absent(papers: Sequence[Paper]) -> Markup:
    rows = tuple(_absent_rows(papers))
    listed = table(Table("Not computed", ("Paper", "What", "Why"), rows), caption=False)
    return tag("section", tag("h2", "What is not computed, and why"), listed, id="absent")


def _absent_rows(papers: Sequence[Paper]) -> Iterator[tuple[str, str, str]]:
    for paper in papers:
        for one in paper.absent:
            yield paper.key, one.what, one.why
