"""Figures of a rating's letter: the letter in its outline, and bars of the probability of each letter."""

from assay.explain import LETTERS, chance, level
from reports import tables
from reports.figures.canvas import WIDTH, Figure, box, draw, hallmark, label, stroke
from reports.markup import Markup
from reports.reading import RatingView
from reports.view import Verdict


def stamp(rating: RatingView, key: str) -> Figure:
    """Draw the large letter of a rating in its punch (outline), as on a hallmark."""
    verdict = rating.verdict
    punch = hallmark(verdict.letter, x=2, y=2, w=206, h=96, struck=verdict.declared, size=40)
    words = f"{verdict.headline}."
    return draw(key, tables.probabilities(verdict), words, 100, punch, title="Hallmark of this rating", width=210)


# classes of texts: s small, b bold, e ending at x
LEFT, RIGHT, ROW, TOP = 74, 54, 36, 20  # widths of a letter and of a percentage; heights of a row and of the threshold
LONGEST_BAR = WIDTH - LEFT - RIGHT


def probabilities_bar(verdict: Verdict, confidence: float | None, key: str) -> Figure | None:
    """Draw the letters' probabilities as bars, with a line at the required `confidence`; ``None`` if not measured."""
    if verdict.probabilities is None:
        return None
    shapes: list[Markup] = []
    for index, (letter, probability) in enumerate(verdict.probabilities.items()):
        y = TOP + index * ROW
        is_declared = verdict.declared and letter is verdict.letter
        shapes += [
            hallmark(letter, 0, y + 4, 60, 24, struck=is_declared, size=13, quiet=letter is not verdict.letter),
            box(LEFT, y + 8, LONGEST_BAR, 16, "zone"),
            box(LEFT, y + 8, LONGEST_BAR * probability, 16, letter.value),
            label(WIDTH, y + 20, chance(probability), "e b"),  # bold, ending at x
        ]
    if confidence is not None:
        x = LEFT + LONGEST_BAR * confidence
        shapes += [
            stroke("limit", (x, TOP - 2), (x, TOP + 3 * ROW - 4)),
            label(x + 4, 12, f"declared at {level(confidence)}", "e s"),
        ]
    words = ", ".join(f"{letter} ({LETTERS[letter].title}) {chance(p)}" for letter, p in verdict.probabilities.items())
    threshold = "" if confidence is None else f" A letter is declared at {level(confidence)} or more."
    return draw(f"{key}-probabilities", tables.probabilities(verdict), f"{words}.{threshold}", TOP + 3 * ROW, *shapes)
