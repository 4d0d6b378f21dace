"""Aggregation of component letters: the worst case, or a vote.

Probabilities are combined, not only letters: eight components that are each fine with
probability .95 are together fine with probability .66, and the rating must say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from assay.errors import TooFewObservations
from assay.model import Letter, Probabilities

WORST_FIRST = (Letter.BS, Letter.DSBS, Letter.UCS)
"""Preference order UCS > DSBS > BS (Srivastava & Rossi 2018, section 4.4), reversed."""


def worst_letter(letters: Iterable[Letter]) -> Letter:
    """Return the worst letter (P5's aggregation over middle languages)."""
    present = set(letters)
    if not present:
        raise TooFewObservations("no component has a letter")
    return next(letter for letter in WORST_FIRST if letter in present)


def vote_letter(letters: Iterable[Letter]) -> Letter:
    """Return the commonest letter; a tie goes to the worse one (P5, footnote 4)."""
    counts = Counter(letters)
    if not counts:
        raise TooFewObservations("no component has a letter")
    return max(WORST_FIRST, key=lambda letter: counts[letter])


def worst_probabilities(components: Sequence[Probabilities]) -> Probabilities:
    """Posterior of the worst letter over independent components (METHODS section 1).

    ``P(BS) = 1 - prod_l (1 - P_l(BS))`` and ``P(UCS) = prod_l P_l(UCS)``; the rest is DSBS.
    """
    if not components:
        raise TooFewObservations("no component has probabilities")
    if len(components) == 1:
        return components[0]
    bs = 1.0 - float(np.prod([1.0 - one.BS for one in components]))
    ucs = float(np.prod([one.UCS for one in components]))
    return Probabilities(BS=bs, DSBS=max(0.0, 1.0 - bs - ucs), UCS=ucs)


def vote_probabilities(components: Sequence[Probabilities]) -> Probabilities:
    """Posterior of the commonest letter over independent components, exactly.

    The number of components with each letter is followed through a table of
    (components that are BS, components that are DSBS), one component at a time: O(n^3).
    """
    if not components:
        raise TooFewObservations("no component has probabilities")
    n = len(components)
    table = np.zeros((n + 2, n + 2))
    table[0, 0] = 1.0
    for one in components:
        grown = table * one.UCS
        grown[1:, :] += table[:-1, :] * one.BS
        grown[:, 1:] += table[:, :-1] * one.DSBS
        table = grown
    bs, dsbs = np.indices(table.shape)
    ucs = n - bs - dsbs
    bs_wins = (bs >= dsbs) & (bs >= ucs)
    dsbs_wins = ~bs_wins & (dsbs >= ucs)
    p_bs, p_dsbs = float(table[bs_wins].sum()), float(table[dsbs_wins].sum())
    return Probabilities(BS=p_bs, DSBS=p_dsbs, UCS=max(0.0, 1.0 - p_bs - p_dsbs))
