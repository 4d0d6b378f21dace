"""Figures as SVG, each with a description and the same numbers as a table.

No chart library is used: a strict content security policy blocks libraries that draw in the
browser. A figure here has a few kilobytes, which any page, mail or file can hold.
"""

from __future__ import annotations

from assay.reports.figures.blocks_bars import blocks_bars
from assay.reports.figures.canvas import Figure, stylesheet
from assay.reports.figures.decision_tree import decision_tree
from assay.reports.figures.effects_forest import effects_forest, hidden_forest
from assay.reports.figures.figure_svg import picture
from assay.reports.figures.linked_squares import linked_squares
from assay.reports.figures.overview_matrix import overview_matrix
from assay.reports.figures.probabilities_bar import probabilities_bar
from assay.reports.figures.stamp import stamp
from assay.reports.figures.tolerances_bars import tolerances_bars
from assay.reports.figures.transition_heatmap import transition_heatmap
from assay.reports.figures.two_steps import two_steps

__all__ = [
    "Figure",
    "blocks_bars",
    "decision_tree",
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
