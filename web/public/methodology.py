"""``/methodology``: the rules of each version, rendered from Markdown, and the changes between versions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from starlette.responses import Response

from web.frame import Pages, Visit, segment
from web.frame.markdown import render_markdown

pages = Pages(public=True)

CONTEXT = 2
"""Equal lines that are shown around a change."""


@pages.get("/methodology")
async def current(visit: Visit) -> Response:
    """Show the current version of the methodology."""
    return await _version_page(visit, "current")


@pages.get("/methodology/changes")
async def changes(visit: Visit) -> Response:
    """Show which lines of the text changed from one version to another; by default, from the previous one."""
    listing = await visit.api.get("/v1/methodology")
    versions = [version["version"] for version in listing["items"]]  # newest first
    until = visit.query("to") or listing["current"]
    older_index = versions.index(until) + 1 if until in versions else 0  # an unknown version is refused below
    since = visit.query("from") or versions[min(older_index, len(versions) - 1)]
    old_version, new_version = [await visit.api.get(f"/v1/methodology/{segment(number)}") for number in (since, until)]
    lines = list(changed_lines(old_version["text"].splitlines(), new_version["text"].splitlines()))
    return visit.page(
        "public/changes.html",
        versions=versions,
        old=old_version,
        new=new_version,
        lines=lines,
        added=sum(line.sign == "+" for line in lines),
        removed=sum(line.sign == "-" for line in lines),
    )


@pages.get("/methodology/{version}")
async def version(visit: Visit) -> Response:
    """Show the version of the methodology that the path names."""
    return await _version_page(visit, visit.path("version"))


async def _version_page(visit: Visit, name: str) -> Response:
    """Show the version `name` of the methodology, with its contents and links to the other versions."""
    listing = await visit.api.get("/v1/methodology")
    document = await visit.api.get(f"/v1/methodology/{name}")
    html, sections = render_markdown(document["text"])
    versions = [version["version"] for version in listing["items"]]  # newest first
    older_versions = versions[versions.index(document["version"]) + 1 :]
    return visit.page(
        "public/methodology.html",
        versions=listing["items"],
        document=document,
        previous=older_versions[0] if older_versions else None,
        text=html,
        sections=sections,
    )


@dataclass(frozen=True)
class Line:
    """A line of a difference; `sign` is ``+`` (added), ``-`` (removed), a space (equal) or ``…`` (lines left out)."""

    sign: str
    text: str


def changed_lines(before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    """Yield the lines that differ, each group of them with `CONTEXT` equal lines before and after it."""
    for index, group in enumerate(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT)):
        if index:  # a mark between two groups
            yield Line("…", text="")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (Line(" ", text) for text in before[old_from:old_to])
            else:
                yield from (Line("-", text) for text in before[old_from:old_to])
                yield from (Line("+", text) for text in after[new_from:new_to])
