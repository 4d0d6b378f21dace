"""Data classes that every format of a report shows: tables, figures, verdicts, effects, reasons.

``None`` and empty mean "not measured". Texts contain no invisible characters, but are not escaped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from assay.document import Shares
from assay.explain import headline
from assay.model import Letter

Steps = tuple[str, str]
"""Names of the input in step 1 and in step 2."""

BALANCED: Steps = ("balanced input", "one-sided input")
"""Default names of the input in the two steps, for a method without its own names."""

NOT_MEASURED = "not measured"
"""Text that replaces a number that does not exist."""

ARROW = " → "
"""Separator in a title such as "he → she"."""

_NUMBER = re.compile(rf"[<>]?[+-]?\d[\d,.e-]*|–|{NOT_MEASURED}")

RESIDUALS = frozenset({"other", "neutral"})
"""Names of outputs that mention no single value of the attribute; tables show them last."""


def residuals_last(shares: Shares) -> Shares:
    """Move the outputs that name no single value (`RESIDUALS`) to the end; the others keep their order."""
    return {key: shares[key] for key in sorted(shares, key=lambda key: key in RESIDUALS)}


@dataclass(frozen=True)
class Table:
    """Table of texts under column heads; the first column names the row.

    `heat` holds a share in [0, 1] for every shaded cell, and ``None`` for the others.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    heat: tuple[tuple[float | None, ...], ...] | None = None

    @classmethod
    def of_columns(cls, title: str, columns: Mapping[str, Sequence[str]]) -> Self:
        """Return a table from a mapping of each column's head to its cells."""
        return cls(title, tuple(columns), tuple(zip(*columns.values(), strict=True)))

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """For each column, whether all its cells are numbers, so that it can be aligned right; false for the first."""
        return tuple(
            column_index > 0
            and any(row[column_index][-1:].isdigit() for row in self.rows)  # not only dashes
            and all(_NUMBER.fullmatch(row[column_index]) for row in self.rows)
            for column_index in range(len(self.columns))
        )


@dataclass(frozen=True)
class Span:
    """A number with the lower and upper end of its interval, if it has one."""

    estimate: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Mark:
    """A row of a forest plot: a name, and a number with its interval (or ``None``) for each of `Forest.kinds`."""

    label: str
    spans: tuple[Span | None, ...]


@dataclass(frozen=True)
class Forest:
    """Forest plot: a row for each name with a number (or several) and its interval."""

    title: str
    axis: str
    marks: tuple[Mark, ...]
    table: Table
    kinds: tuple[str, ...] = ()
    """Names of the kinds of spans in each row; empty if a row has one span."""
    reference: float | None = None
    """Number with which the others are compared, drawn as a vertical line."""
    tolerance: float | None = None
    """Largest distance from the reference that counts as no effect."""


@dataclass(frozen=True)
class Dots:
    """A row of a strip plot: a name, and a list of numbers for each of `Strip.kinds`."""

    label: str
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Strip:
    """Strip plot: a row of numbers for each name, as dots; numbers of two kinds are ticks above and below a line."""

    title: str
    axis: str
    rows: tuple[Dots, ...]
    kinds: tuple[str, ...]
    table: Table


@dataclass(frozen=True)
class Curve:
    """A curve through points, with its interval and the points to which it was fitted, if they are known."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind_index: int = 0
    """Number of the curve's kind; curves of a kind share a colour."""
    dashed: bool = False
    """Whether the curve is dashed, because the other curves are compared with it."""
    points: tuple[tuple[float, float], ...] = ()
    low: tuple[float, ...] = ()
    """Lower end of the interval at each `x`; empty without an interval."""
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Lines:
    """Curves through points of the same `x`; `up` names the vertical axis, and `top` is its end, if it is fixed."""

    title: str
    axis: str
    curves: tuple[Curve, ...]
    table: Table
    up: str
    top: float | None = None


@dataclass(frozen=True)
class Panel:
    """Curves over a vertical axis from 0 to 1; `level` is the height of a horizontal line to compare them with."""

    title: str
    curves: tuple[Curve, ...]
    level: float | None = None


@dataclass(frozen=True)
class Panels:
    """Panels one above the other over one horizontal axis; `marked` is a number on it that a vertical line marks."""

    title: str
    axis: str
    panels: tuple[Panel, ...]
    table: Table
    words: str
    """Description of the picture for people who do not see it."""
    marked: float | None = None


@dataclass(frozen=True)
class Point:
    """A dot of a scatter plot; `kind_index` is the place of its kind in the plot's `kinds`."""

    label: str
    x: float
    y: float
    kind_index: int = 0


@dataclass(frozen=True)
class Scatter:
    """Scatter plot: a dot for each item (such as a word), placed by two numbers of the item.

    `slope` and `intercept` are the parameters of the line through the dots.
    """

    title: str
    across: str
    up: str
    points: tuple[Point, ...]
    table: Table
    slope: float | None = None
    intercept: float | None = None
    level: float | None = None
    """Height of a horizontal line that marks no preference."""
    kinds: tuple[str, ...] = ()
    """Names of the kinds of dots, at most two; empty if all dots are of one kind."""


@dataclass(frozen=True)
class Case:
    """A case that a square stands for: a pair of sentences, or a picture."""

    share: float
    """Filled share of the square, in [0, 1]."""
    group: str
    """Phrase for the group that the stereotype is about, such as "Said of women"; or "Neutral"."""
    lines: tuple[str, ...]
    """Description of the case; the first line is its name (the term that it is about)."""
    search: str
    """Text that finds the recorded question of the case."""
    image: str = ""
    """Digest of its picture; empty for sentences."""


@dataclass(frozen=True)
class Squares:
    """Figure with a square for each case, in rows named by the cases' term or list."""

    title: str
    rows: tuple[tuple[str, tuple[float, ...]], ...]
    """Rows: a name, and for each of its cases the filled share of its square, in [0, 1]."""
    filled: str
    """Meaning of a filled square."""
    hollow: str
    """Meaning of an empty square."""
    table: Table
    cases: tuple[tuple[str, tuple[Case, ...]], ...] = ()
    """(Name, cases) pairs, for pages on which each case can be read."""
    step: int | None = None
    """Number of the step (1 or 2) to which the cases belong; ``None`` if to neither."""


Picture = Forest | Strip | Lines | Panels | Scatter | Squares
"""Types of figures of a method's numbers; `reports.figures.figure_svg` draws them."""


def letter_probabilities(shares: Shares) -> Mapping[Letter, float] | None:
    """Return the probability of each letter, BS first and UCS last; ``None`` if `shares` has no letter."""
    letters = (Letter.BS, Letter.DSBS, Letter.UCS)
    return {letter: shares.get(letter, 0.0) for letter in letters} if shares.keys() & {*letters} else None


@dataclass(frozen=True)
class Verdict:
    """A letter with its probabilities; `letter` is ``None`` if nothing was measured."""

    letter: Letter | None
    declared: bool
    probabilities: Mapping[Letter, float] | None
    steps: Steps = BALANCED
    codes: tuple[str, ...] = ()
    """Codes of the reasons for the letter."""

    def shares(self) -> list[float | None]:
        """Return the probabilities of BS, DSBS and UCS; ``None`` for each that is unknown."""
        return [(self.probabilities or {}).get(letter) for letter in (Letter.BS, Letter.DSBS, Letter.UCS)]

    @property
    def certainty(self) -> float | None:
        """Probability of the letter; ``None`` without a letter or probabilities."""
        return None if self.letter is None or self.probabilities is None else self.probabilities[self.letter]

    @property
    def headline(self) -> str:
        """The letter and whether it is declared, in one line of text."""
        return headline(self.letter, self.declared, self.codes)


@dataclass(frozen=True)
class Effect:
    """An effect with its interval and the tolerance that it is compared with."""

    name: str
    title: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class ReasonView:
    """A reason: its code, its sentence and its component (``None``: the whole rating)."""

    code: str
    text: str
    component: str | None


@dataclass(frozen=True)
class Withdrawal:
    """Withdrawal of a rating by the agency: time and reason."""

    at: str | None = None
    reason: str | None = None
