"""The rating as one HTML page: self-contained, without scripts, for screens, paper and screen readers.

Nothing is fetched, so the page can be mailed, archived and served under a strict content security
policy. `reports.markup` escapes every text from other sources.
"""

from assay.document import Json
from reports import outline
from reports.formats.html import sections
from reports.formats.html.pieces import page
from reports.formats.html.thumbnails import thumbnails_wanted
from reports.markup import join, tag
from reports.reading import read

__all__ = ["render", "render_summary", "thumbnails_wanted"]

MOST_UNFOLDED = 2
"""Maximum number of components that are unfolded and printed in full; the deciding components come first."""

NOTE_ON_FOLDED = tag("p", "Parts that are closed on the screen are not printed: open them before.", class_="printed")


def render_summary(document: Json) -> str:
    """Write a one-page summary (A4): the letter, its meaning, the two steps, the components and the record."""
    rating = read(document)
    return page(
        f"{rating.target}: {rating.verdict.headline}",
        sections.heading_section(rating),
        tag("main", *sections.summary_sections(rating), id="main", class_="summary"),
    )


def render(document: Json) -> str:
    """Write the complete rating as an HTML page."""
    rating = read(document)
    unfolded_numbers = {part.number for part in rating.foremost[:MOST_UNFOLDED]}  # deciding components
    parts = [
        sections.component_section(part, rating, opened=part.number in unfolded_numbers) for part in rating.components
    ]
    by_key = {
        "meaning": ("What it means", sections.meaning_section(rating)),
        "reply": (outline.REPLY, sections.reply_section(rating)),
        "reached": ("How the letter was reached", sections.reached_section(rating)),
        "overview": ("Every part at a glance", sections.overview_section(rating)),
        "parts": (
            "Part by part" if len(parts) > 1 else "In detail",
            join(*parts, NOTE_ON_FOLDED if len(parts) > len(unfolded_numbers) else None),
        ),
        "published": ("Published rules", sections.published_section(rating)),
        "provenance": ("Provenance", sections.provenance_section(rating)),
        "verify": ("How to verify", sections.verify_section()),
    }
    nonempty_sections = {key: (title, content) for key, (title, content) in by_key.items() if content}
    links = (tag("a", title, href=f"#{key}") for key, (title, _) in nonempty_sections.items())
    return page(
        f"{rating.target}: {rating.verdict.headline}",
        sections.heading_section(rating),
        tag("nav", *links, aria_label="Sections"),
        tag(
            "main",
            *(tag("section", tag("h2", title), content, id=key) for key, (title, content) in nonempty_sections.items()),
            id="main",
        ),
    )
