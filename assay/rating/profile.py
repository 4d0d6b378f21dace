"""The worst letter of several ratings of one service (a profile).

Each rating has its own posterior. Many that are each fine with probability .95 are together fine with a
smaller one, so the worst letter is declared only where the joint posterior says so too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.model import Letter, Probabilities
from assay.rating.decision import worst_letter, worst_probabilities


@dataclass(frozen=True)
class RatedCell:
    """One rating of a profile, with the confidence that it needed to be declared."""

    letter: str
    declared: bool
    probabilities: Mapping[str, float]
    confidence: float


@dataclass(frozen=True)
class Worst:
    """The worst letter of a profile.

    `probabilities` are those of the worst letter over all cells, taken as independent. `declared` is
    false while it may still change, or where the joint posterior does not reach the strictest confidence.
    """

    letter: Letter
    declared: bool
    probabilities: Probabilities


def worst_of(cells: Sequence[RatedCell], *, missing: int = 0) -> Worst | None:
    """Return the worst letter by the preference order UCS > DSBS > BS.

    Parameters
    ----------
    missing : int
        Cells without one: not ended, failed, or not measurable. None of them can make BS any better.

    Returns
    -------
    Worst or None
        ``None`` where no cell has a letter.

    References
    ----------
    .. [1] Srivastava & Rossi (2018), section 4.4.
    """
    if not cells:
        return None
    letter = worst_letter(Letter(one.letter) for one in cells)
    joint = worst_probabilities([Probabilities.from_json(one.probabilities) for one in cells])
    settled = letter is Letter.BS or not missing
    sure = joint.of(letter) >= max(one.confidence for one in cells)
    return Worst(letter, settled and sure, joint)
