"""The worst letter of several ratings of one service (a profile).

Each rating has its own posterior. If each of several letters is right with probability .95, all of them are right
with a smaller one. So the worst letter is declared only if the joint posterior reaches the confidence too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.document import RatingDocument
from assay.model import Letter, Probabilities
from assay.rating.decision import rests_on_declared, worst_letter, worst_probabilities
from assay.rating.difference import CONFIDENCE


@dataclass(frozen=True)
class Worst:
    """The worst letter of a profile.

    `probabilities` is the posterior of the worst letter over all cells, assumed to be independent. `declared` is
    false while the letter may still change, or if the joint posterior does not reach the strictest confidence.
    """

    letter: Letter
    declared: bool
    probabilities: Probabilities


def worst_of(ratings: Sequence[RatingDocument], *, missing: int = 0) -> Worst | None:
    """Return the worst letter by the preference order UCS > DSBS > BS.

    Parameters
    ----------
    ratings : sequence of RatingDocument
        Ratings of the service; those without a letter count as missing.
    missing : int
        Further cells without a letter: unfinished, failed or unmeasurable. No such cell can improve on BS.

    Returns
    -------
    Worst or None
        ``None`` where no cell has a letter.

    References
    ----------
    .. [1] Srivastava & Rossi (2018), section 4.4.
    """
    rated = [(rating.letter, rating) for rating in ratings if rating.letter is not None]
    if not rated:
        return None
    letter = worst_letter(rated_letter for rated_letter, _ in rated)
    joint = worst_probabilities([Probabilities.from_json(rating.probabilities) for _, rating in rated])
    settled = letter is Letter.BS or (len(rated) == len(ratings) and not missing)
    rests = rests_on_declared(letter, [(rated_letter, rating.declared) for rated_letter, rating in rated], "worst")
    sure = joint.of(letter) >= max(rating.confidence or CONFIDENCE for _, rating in rated)
    return Worst(letter, settled and sure and rests, joint)
