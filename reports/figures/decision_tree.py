"""Decision tree of the two-step rating (Srivastava & Rossi 2018, figure 2), with the path to the letter."""

from __future__ import annotations

from assay.explain import chance
from assay.model import Letter
from reports import tables
from reports.figures.canvas import Figure, box, draw, hallmark, label, stroke
from reports.markup import Markup
from reports.view import Verdict

TRUNK, BRANCH, LEAF = 78, 156, 272
"""Horizontal positions of the questions, of the ends of their boxes, and of the letters."""
STEP, LEAF_WIDTH = 98, 84


def decision_tree(verdict: Verdict, key: str) -> Figure | None:
    """Draw both questions, the three letters and the probability of each branch.

    The path to the (likeliest) letter is thick, the other branches are thin. Return ``None`` if
    nothing was measured.
    """
    if verdict.letter is None:
        return None
    turns = ["–" if share is None else chance(share) for *_, share in tables.branches(verdict)]
    letter, declared = verdict.letter, verdict.declared
    second = letter is not Letter.BS
    shapes: list[Markup] = [
        *_exit(0, Letter.BS, turns[0], letter, declared),
        *_down(0, turns[1], taken=second),
        *_exit(1, Letter.DSBS, turns[2], letter, declared),
        *_down(1, turns[3], taken=letter is Letter.UCS),
        *_question(0, "Step 1", verdict.steps[0], reached=True),
        *_question(1, "Step 2", verdict.steps[1], reached=second),
        hallmark(
            Letter.UCS,
            TRUNK - LEAF_WIDTH / 2,
            2 * STEP + 4,
            LEAF_WIDTH,
            36,
            struck=declared and letter is Letter.UCS,
            size=15,
            quiet=letter is not Letter.UCS,
        ),
    ]
    first, then = verdict.steps
    words = (
        f"Step 1, {first}: biased output with {turns[0]}, which would be BS; if not, step 2, {then}: "
        f"biased output with {turns[2]}, which would be DSBS, and otherwise UCS. "
        f"The path taken {'ends in' if declared else 'leans to'} {letter}."
    )
    return draw(
        f"{key}-tree",
        tables.decision(verdict),
        words,
        2 * STEP + 44,
        *shapes,
        title="How the two steps lead to the letter",
    )


def _question(index: int, name: str, inputs: str, *, reached: bool) -> list[Markup]:
    y = index * STEP
    quiet = "m" if reached else "m s"
    return [
        box(0, y + 1, BRANCH, 42, "box", rx=4),
        label(TRUNK, y + 18, name, f"{quiet} b"),
        label(TRUNK, y + 35, inputs, quiet),
    ]


def _exit(index: int, leaf: Letter, turn: str, letter: Letter, declared: bool) -> list[Markup]:
    """Draw the branch to the right: the output is biased, which decides the letter."""
    y, taken = index * STEP + 22, leaf is letter
    return [
        stroke("path" if taken else "missed", (BRANCH, y), (LEAF - 3, y)),
        label((BRANCH + LEAF) / 2, y - 8, "output biased", "m s"),
        label((BRANCH + LEAF) / 2, y + 17, turn, "m b" if taken else "m"),
        hallmark(leaf, LEAF, y - 18, LEAF_WIDTH, 36, struck=taken and declared, size=15, quiet=not taken),
    ]


def _down(index: int, turn: str, *, taken: bool) -> list[Markup]:
    """Draw the branch downwards: the output is not biased."""
    y = index * STEP + 43
    return [
        stroke("path" if taken else "missed", (TRUNK, y), (TRUNK, y + STEP - 40)),
        label(TRUNK + 10, y + 24, "output not biased", "s"),
        label(TRUNK + 10, y + 40, turn, "b" if taken else None),
    ]
