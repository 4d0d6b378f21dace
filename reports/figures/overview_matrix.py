"""Figure of the letters of all components: five in a row, or in a matrix of languages by constructions."""

from collections.abc import Iterable, Sequence

from reports import tables
from reports.figures.canvas import WIDTH, Figure, clip, draw, hallmark, label
from reports.markup import Markup
from reports.reading import Component, RatingView

# classes of texts: s small, m centred at x
ACROSS, TILE = 5, 50  # components in a row, and height of such a row
HEAD, LEFT, ROW = 22, 84, 30  # of the matrix: height of the column names, width of the row names, height of a row


def overview_matrix(rating: RatingView, key: str) -> Figure | None:
    """Draw the letter of every component.

    With several languages and two to six sentence constructions, it is a matrix of languages (rows) by constructions;
    otherwise five components stand in a row, in the document's order. Return ``None`` if there are no components.
    """
    components = rating.components
    if not components:
        return None
    languages = _distinct_names(component.language for component in components)
    templates = _distinct_names(component.part.template for component in components)
    cell_count = len(languages) * len(templates)  # more components than cells differ in something else as well
    is_matrix = len(languages) > 1 and 1 < len(templates) <= 6 and len(components) <= cell_count
    shapes, height = _draw_matrix(components, languages, templates) if is_matrix else _draw_row(components)
    words = "; ".join(f"{component.title}: {tables.short(component.verdict)}" for component in components[:60])
    table = tables.overview(rating)
    return draw(f"{key}-overview", table, f"{words}.", height, *shapes, title="The letter of every part")


def _distinct_names(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(filter(None, names)))


def _draw_row(components: Sequence[Component]) -> tuple[list[Markup], float]:
    step = WIDTH / ACROSS
    shapes: list[Markup] = []
    for index, component in enumerate(components):
        x, y = index % ACROSS * step, index // ACROSS * TILE
        shapes += [
            _draw_punch(component, x + 6, y + 16, step - 12),
            label(x + step / 2, y + 11, clip(component.title, 11), "m s"),  # small, centred at x
        ]
    return shapes, -(-len(components) // ACROSS) * TILE  # the division rounds up


def _draw_matrix(
    components: Sequence[Component], languages: list[str], templates: list[str]
) -> tuple[list[Markup], float]:
    step = (WIDTH - LEFT) / len(templates)
    # 6: width of a small character; classes of texts: m centred at x, s small
    shapes = [label(LEFT + (i + 0.5) * step, 13, clip(name, int(step / 6)), "m s") for i, name in enumerate(templates)]
    shapes += [label(0, HEAD + i * ROW + 17, clip(name, 13)) for i, name in enumerate(languages)]
    for component in components:
        if component.language in languages and component.part.template in templates:
            x = LEFT + templates.index(component.part.template) * step
            y = HEAD + languages.index(component.language) * ROW
            w = min(step - 6, 64)
            shapes.append(_draw_punch(component, x + (step - w) / 2, y, w))
    return shapes, HEAD + len(languages) * ROW


def _draw_punch(component: Component, x: float, y: float, w: float) -> Markup:
    return hallmark(component.verdict.letter, x, y, w, 24, struck=component.verdict.declared)
