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
    return tuple(_paper_or_note(shared, *entry) for entry in PAPERS)


def _paper_or_note(shared: Shared, key: str, citation: str, compute_paper: Callable[[Shared], Paper]) -> Paper:
    try:
        return compute_paper(shared)
    except SharedDataMissing as missing:
        return Paper(key, citation, (), (Absent("Everything", str(missing)),))


def render(papers: Sequence[Paper]) -> str:
    """Return the HTML page of all papers; it fetches nothing and has no scripts."""
    links = [tag("a", paper.key, href=f"#{paper.key}") for paper in papers]
    sections = [_paper_section(paper) for paper in papers]
    count = sum(len(exhibit.lines) for paper in papers for exhibit in paper.exhibits)
    version = tag("span", f"engine {assay.__version__}, methodology {METHODOLOGY_VERSION}")
    subject = tag("p", f"{count} published numbers and statements, each beside ours", class_="subject")
    header = tag("header", tag("p", "Assay", version, class_="house"), tag("div", tag("h1", TITLE), subject))
    nav = tag("nav", *links, tag("a", "Not computed", href="#absent"), aria_label="Sections")
    return page(TITLE, header, nav, tag("main", *sections, _missing(papers), id="main"), skip="Skip to the papers")


def write_page(folder: Path | None, output: Path) -> tuple[int, int]:
    """Compute everything from the data in a folder, and write the page.

    Return the numbers of tables and figures that were computed, and that were not. Raise `SharedDataMissing` if the
    folder holds no data.
    """
    shared = Shared() if folder is None else Shared(folder.resolve())
    shared.check()
    papers = compute(shared)
    output.write_text(render(papers), encoding="utf-8")
    return sum(len(paper.exhibits) for paper in papers), sum(len(paper.absent) for paper in papers)


def _paper_section(paper: Paper) -> Markup:
    exhibits = [_exhibit_details(exhibit, f"{paper.key}-{index}") for index, exhibit in enumerate(paper.exhibits)]
    return tag("section", tag("h2", f"{paper.key}. {paper.citation}"), *exhibits, id=paper.key)


def _exhibit_details(exhibit: Exhibit, key: str) -> Markup:
    comparison = exhibit.comparison()
    pictures = [figure(picture(chart, f"{key}-{index}")) for index, chart in enumerate(exhibit.pictures)]
    inside = join(
        paragraphs(exhibit.about),
        table(comparison, caption=False) if comparison else None,
        tag("div", *pictures, class_="figures") if pictures else None,
        tag("div", *map(table, exhibit.tables), class_="tables") if exhibit.tables else None,
    )
    return tag(
        "details",
        tag("summary", tag("h3", exhibit.title)),
        inside,
        class_="part",
        id=key,
        open=0 < len(exhibit.lines) <= OPEN_LINES,
    )


def _missing(papers: Sequence[Paper]) -> Markup:
    rows = tuple(_absent_rows(papers))
    entries = table(Table("Not computed", ("Paper", "What", "Why"), rows), caption=False)
    return tag("section", tag("h2", "What is not computed, and why"), entries, id="absent")


def _absent_rows(papers: Sequence[Paper]) -> Iterator[tuple[str, str, str]]:
    for paper in papers:
        for entry in paper.absent:
            yield paper.key, entry.what, entry.why
