"""Section of one component of the rating, folded unless it is among the first."""

from __future__ import annotations

from collections.abc import Sequence

from reports import outline, tables
from reports.figures import blocks_bars, effects_forest, picture, probabilities_bar, transition_heatmap
from reports.formats.html.pieces import badge, figures, folded, foreign, paragraphs, reasons
from reports.formats.html.thumbnails import thumbnails
from reports.markup import Markup, join, tag
from reports.view import Component, Example, RatingView


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
    method_figures = {chart.title: picture(chart, f"{key}-p{index}") for index, chart in enumerate(component.pictures)}
    of_blocks = {
        "what was sent and what came back": transition_heatmap(component, key),
        "blocks": blocks_bars(component, key),
    }
    # figures of translators are shown, or named as missing, unless the component has other figures
    translation_figures = (
        of_blocks if component.blocks or component.transitions or not (method_figures or component.sheets) else {}
    )
    # `bar` is empty for a single component, because the rating above has the same bar
    return figures({**bar, "effects": effects_forest(component, key), **translation_figures, **method_figures})


def _tables(component: Component, *, alone: bool) -> Markup:
    published = tables.published(component.published, component.verdict)
    sheets = [
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
        tag("div", *(folded(table) for table in sheets if table.rows), class_="tables"),
    )


def _examples(examples: Sequence[Example]) -> Markup | None:
    if not examples:
        return None
    return join(tag("h4", "Examples"), tag("ul", *map(_example, examples), class_="examples"))


def _example(example: Example) -> Markup:
    return tag("li", tag("dl", *((tag("dt", name), tag("dd", foreign(text))) for name, text in example.lines)))
