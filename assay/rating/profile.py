"""The worst letter of several ratings of one service (a profile).

Each rating has its own posterior. If each of several letters is right with probability .95, all of them are right
with a smaller one. So the worst letter is declared only if the joint posterior reaches the confidence too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.model import Letter, Probabilities
from assay.rating.decision import rests_on_declared, worst_letter, worst_probabilities


@dataclass(frozen=True)
class RatedCell:
    """One rating of a profile, with the confidence that was required to declare it."""

    letter: str
    declared: bool
    probabilities: Mapping[str, float]
    confidence: float


@dataclass(frozen=True)
class Worst:
    """The worst letter of a profile.

    `probabilities` is the posterior of the worst letter over all cells, assumed to be independent. `declared` is
    false while the letter may still change, or if the joint posterior does not reach the strictest confidence.
    """

    letter: Letter
    declared: bool
    probabilities: Probabilities


def worst_of(cells: Sequence[RatedCell], *, missing: int = 0) -> Worst | None:
    """Return the worst letter by the preference order UCS > DSBS > BS.

    Parameters
    ----------
    missing : int
        Cells without a letter: unfinished, failed or unmeasurable. No such cell can improve on BS.

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
    letter = worst_letter(Letter(cell.letter) for cell in cells)
    joint = worst_probabilities([Probabilities.from_json(cell.probabilities) for cell in cells])
    settled = letter is Letter.BS or not missing
    rests = rests_on_declared(letter, [(cell.letter, cell.declared) for cell in cells], "worst")
    sure = joint.of(letter) >= max(cell.confidence for cell in cells)
    return Worst(letter, settled and sure and rests, joint)
