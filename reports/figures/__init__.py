"""Figures as SVG, each with a description in words and a table of the same numbers.

No chart library is used: a strict content security policy blocks libraries that draw in the
browser. A figure here has a few kilobytes, which any page, mail or file can hold.
"""

from reports.figures.blocks_bars import blocks_bars
from reports.figures.canvas import Figure, stylesheet
from reports.figures.effects_forest import effects_forest, hidden_forest
from reports.figures.figure_svg import caption, picture
from reports.figures.letter import probabilities_bar, stamp
from reports.figures.linked_squares import linked_squares
from reports.figures.overview_matrix import overview_matrix
from reports.figures.tolerances_bars import tolerances_bars
from reports.figures.transition_heatmap import transition_heatmap
from reports.figures.two_steps import two_steps

__all__ = [
    "Figure",
    "blocks_bars",
    "caption",
    "effects_forest",
    "hidden_forest",
    "linked_squares",
    "overview_matrix",
    "picture",
    "probabilities_bar",
    "stamp",
    "stylesheet",
    "tolerances_bars",
    "transition_heatmap",
    "two_steps",
]
