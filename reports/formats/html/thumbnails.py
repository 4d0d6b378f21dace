"""Thumbnails of the pictures that an image classifier was asked about, each with a square that shows its answer."""

import re
from collections.abc import Mapping
from itertools import chain

from assay.document import Json
from reports.figures.canvas import box
from reports.formats.html.pieces import isolate
from reports.markup import Markup, join, tag
from reports.reading import Component, read
from reports.view import Case, Squares

MOST = 200
"""Maximum number of pictures of a report, picked at even steps: at most 3 kB each, 800 kB of base64 together."""

_EMBEDDED = re.compile(r"data:image/webp;base64,[A-Za-z0-9+/]{1,4000}={0,2}")

GONE = (
    "They were removed, were stored by a version before small pictures, or are not yours to see: pictures of a private "
    "corpus are shown to its owner only."
)


def thumbnails_wanted(document: Json) -> list[str]:
    """Return the digests of at most `MOST` pictures that the report of a rating document shows.

    The caller adds the available pictures to the document, as ``thumbnails``: ``data:`` addresses by digest.
    """
    parts = read(document).document.components
    rows = [row for part in parts for row in getattr(part, "images", ())]  # a field of methods that show pictures
    digests = list(dict.fromkeys(row.image for row in rows if row.image))
    return digests[:: max(1, -(-len(digests) // MOST))]  # the division rounds up


def thumbnails(component: Component, thumbnail_urls: Mapping[str, str]) -> Markup | None:
    """Write the pictures of a component under their terms; ``None`` for a component that is not about pictures.

    `thumbnail_urls` holds ``data:`` addresses by digest; a picture with any other address is not shown.
    """
    square_charts = [chart for chart in component.pictures if isinstance(chart, Squares)]
    total = 0
    images_by_term: list[tuple[str, list[Markup]]] = []
    for term, cases in chain.from_iterable(chart.cases for chart in square_charts):
        pictures = [case for case in cases if case.image]
        total += len(pictures)
        images = [
            _draw_case(case, thumbnail_urls)
            for case in pictures
            if _EMBEDDED.fullmatch(thumbnail_urls.get(case.image, ""))
        ]
        images_by_term.append((term, images))
    if not total:
        return None
    count = sum(len(images) for _, images in images_by_term)
    entries = (tag("div", tag("dt", isolate(term)), tag("dd", *images)) for term, images in images_by_term if images)
    legend = "; ".join(f"filled is {chart.filled}, empty {chart.hollow}" for chart in square_charts if chart.cases)
    caption = f"{count} of {total} pictures are shown, each beside the square of its answer: {legend}."
    return join(
        tag("h4", "Pictures"),
        tag("p", f"{caption} At most {MOST} are, evenly over the rating." if count else f"No picture is shown. {GONE}"),
        tag("dl", *entries, class_="pictures") if count else None,
    )


def _draw_case(case: Case, thumbnail_urls: Mapping[str, str]) -> Markup:
    """Draw a case's thumbnail beside a square of which the case's share is filled, from below."""
    filled = 12 * case.share  # height of the filled part; the side of the square is 12
    square = tag(
        "svg", box(1, 1, 12, 12, "hollow"), box(1, 13 - filled, 12, filled, "bar"), class_="fig", viewBox="0 0 14 14"
    )
    description = ", ".join(case.lines)
    return tag("span", square, tag("img", src=thumbnail_urls[case.image], alt=description, title=description))
