"""Figure of data blocks as grouped bars: the declared distribution of values beside the observed one."""

from assay.document import BlockDocument
from assay.explain import share as percent
from reports import tables
from reports.figures.canvas import WIDTH, Figure, box, clip, draw, label
from reports.markup import Markup
from reports.reading import Component

# classes of texts: s small, b bold, e ending at x
LEFT, RIGHT, ROW, HEAD, LEGEND = 60, 92, 26, 24, 26
"""Widths of the values' names and of the shares; heights of a row of two bars, of a block's title, of the legend."""

LONGEST_BAR = WIDTH - LEFT - RIGHT


def blocks_bars(component: Component, key: str) -> Figure | None:
    """Draw bars for each block of texts sent: each value's declared share (hollow) over its share in the output."""
    table = tables.blocks(component)
    if not table.rows:
        return None
    shapes: list[Markup] = [
        box(LEFT, 5, 18, 8, "hollow"),
        label(LEFT + 24, 13, "declared", "s"),
        box(LEFT + 92, 5, 18, 8, "bar"),
        label(LEFT + 116, 13, "observed", "s"),
    ]
    y = LEGEND
    for block in component.part.blocks:
        shapes += _draw_block(block, y)
        y += HEAD + ROW * len(tables.block_values(block)) + 6  # space between blocks
    return draw(f"{key}-blocks", table, " ".join(_block_sentence(block) for block in component.part.blocks), y, *shapes)


def _draw_block(block: BlockDocument, y: float) -> list[Markup]:
    """Draw the bars of a block: texts sent with a declared share of each value, and the values that came back."""
    total = sum(block.observed.values())
    title = tables.block_title(block.name)
    shapes = [  # classes of texts: b bold, e ending at x, s small
        label(0, y + 14, clip(title[:1].upper() + title[1:], 30), "b"),
        label(WIDTH, y + 14, f"{total:g} sentences", "e s"),
    ]
    for index, value in enumerate(tables.block_values(block)):
        top = y + HEAD + index * ROW
        specified_share, observed_count = block.specified.get(value), block.observed.get(value)
        observed_share = observed_count / total if total and observed_count is not None else None
        shapes.append(label(LEFT - 8, top + 14, clip(value, 8), "e"))
        if specified_share is not None:
            shapes += [box(LEFT, top + 1, LONGEST_BAR * specified_share, 8, "hollow")]
        if observed_share is not None:
            shapes += [box(LEFT, top + 11, LONGEST_BAR * observed_share, 8, "bar")]
        shares = f"{_percent_or_dash(specified_share)} → {_percent_or_dash(observed_share)}"
        shapes.append(label(WIDTH, top + 14, shares, "e"))
    return shapes


def _percent_or_dash(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _block_sentence(block: BlockDocument) -> str:
    total = sum(block.observed.values())
    values = ", ".join(
        f"{value} {_percent_or_dash(block.specified.get(value))} declared and "
        f"{_percent_or_dash(block.observed.get(value, 0) / total if total else None)} observed"
        for value in tables.block_values(block)
    )
    title = tables.block_title(block.name)
    return f"{title[:1].upper()}{title[1:]}: {values}."
