"""Section of one component of the rating, folded unless it is among the first."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports import outline, tables
from assay.reports.figures import blocks_bars, effects_forest, picture, probabilities_bar, transition_heatmap
from assay.reports.html.pieces import badge, figures, folded, foreign, paragraphs, reasons
from assay.reports.html.thumbnails import thumbnails
from assay.reports.markup import Markup, join, tag
from assay.reports.view import Component, Example, RatingView


def component_section(component: Component, rating: RatingView, *, opened: bool) -> Markup:
    """Write the section of a component: figures, tables and examples."""
    verdict = component.verdict
    summary = tag(
        "summary", badge(verdict), tag("h3", foreign(component.title)), tag("span", verdict.headline, class_="verdict")
    )
    return tag(
        "details",
        summary,
        reasons(component.reasons),
        _figures(component, rating, alone=len(rating.components) == 1),
        thumbnails(component, rating.thumbnails),
        _tables(component, alone=len(rating.components) == 1),
        _examples(component.examples),
        class_="part",
        id=f"part-{component.number}",
        open=opened,
    )


def _figures(component: Component, rating: RatingView, *, alone: bool) -> Markup:
    key = f"c{component.number}"
    bar = {} if alone else {"probabilities": probabilities_bar(component.verdict, rating.confidence, key)}
    own = {one.title: picture(one, f"{key}-p{place}") for place, one in enumerate(component.pictures)}
    of_blocks = {
        "what was sent and what came back": transition_heatmap(component, key),
        "blocks": blocks_bars(component, key),
    }
    # figures of translators are shown, or named as missing, unless the component has other figures
    shown = of_blocks if component.blocks or component.transitions or not (own or component.sheets) else {}
    # `bar` is empty for a single component, because the rating above has the same bar
    return figures({**bar, "effects": effects_forest(component, key), **shown, **own})


def _tables(component: Component, *, alone: bool) -> Markup:
    published = tables.published(component.published, component.verdict)
    shown = [
        tables.hidden(component),
        *component.sheets,
        tables.rates(component),
        tables.looks(component),
        tables.sensitivity(component),
        tables.replies(component),
        *([] if alone or not component.published else [published]),
        tables.analyses(component),
    ]
    return join(
        paragraphs(outline.pairs_sentence(component), component.settle),
        tag("div", *(folded(one) for one in shown if one.rows), class_="tables"),
    )


def _examples(examples: Sequence[Example]) -> Markup | None:
    if not examples:
        return None
    return join(tag("h4", "Examples"), tag("ul", *map(_example, examples), class_="examples"))


def _example(one: Example) -> Markup:
    return tag("li", tag("dl", *((tag("dt", name), tag("dd", foreign(said))) for name, said in one.lines)))
