"""Comparison of one list of words in two embeddings, such as before and after debiasing (P2, section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.errors import TooFewObservations
from assay.model import Floats
from assay.statistics.bayes.hierarchy import Posterior
from assay.statistics.intervals.credible import IntervalEnds, hpdi

MASS = 0.89
"""Probability mass of the intervals that P2 prints."""


@dataclass(frozen=True)
class Difference:
    """Change of one number from before to after, with its interval."""

    name: str
    mean: float
    hpdi: IntervalEnds
    p_after_greater: float

    @classmethod
    def of(cls, name: str, before: Floats, after: Floats, mass: float) -> Difference:
        """Summarise the difference of paired draws, each of shape (draws,)."""
        change = after - before
        return cls(name, float(change.mean()), hpdi(change, mass), float((change > 0).mean()))


@dataclass(frozen=True)
class Comparison:
    """Changes of one list of words between two embeddings, such as before and after debiasing."""

    mass: float
    connections: tuple[Difference, ...]
    """Change of the mean distance, for each connection in both embeddings."""
    effect: Difference | None
    """Change of ``different - associated``: below zero, stereotypes are followed less than before. ``None`` if an
    embedding lacks either connection."""
    words: tuple[Difference, ...]
    """Change of this effect for each protected word that has both connections in both embeddings."""


def compare(before: Posterior, after: Posterior, *, mass: float = MASS) -> Comparison:
    """Compare one list of words in two embeddings by differences of draws.

    Parameters
    ----------
    before, after : Posterior
        Posteriors of the two embeddings. If their words differ, the changes are partly due to the words.

    Returns
    -------
    Comparison
        If the posteriors have unequal numbers of draws, the surplus draws are not used.

    Raises
    ------
    TooFewObservations
        If the two have no connection in common.

    Notes
    -----
    The draws of `after` are shifted by half their number before they are paired. Draws within a posterior
    are independent, so no pairing is better than another; but two fits with the same seed use the same
    random numbers, and pairing draws of the same random numbers would understate the uncertainty.
    """
    draws = min(before.draws, after.draws)
    shared = [name for name in before.connections if name in after.connections]
    if not shared:
        raise TooFewObservations(
            f"nothing can be compared: there are distances to {', '.join(before.connections)} before, "
            f"and to {', '.join(after.connections)} after"
        )

    def change(name: str, first: Floats, second: Floats) -> Difference:
        return Difference.of(name, first[:draws], np.roll(second, second.size // 2)[:draws], mass)

    words = [word for word in _words_with_effect(before) if word in _words_with_effect(after)]
    return Comparison(
        mass=mass,
        connections=tuple(change(name, before.mean(name), after.mean(name)) for name in shared),
        effect=change("effect", effect_draws(before), effect_draws(after))
        if {"associated", "different"} <= {*shared}
        else None,
        words=tuple(change(word, effect_draws(before, word), effect_draws(after, word)) for word in words),
    )


def effect_draws(posterior: Posterior, word: str | None = None) -> Floats:
    """Return draws of the mean distance ``different`` minus that of ``associated``, over all words or for one word."""
    if word is None:
        return posterior.mean("different") - posterior.mean("associated")
    return posterior.cell("different", word) - posterior.cell("associated", word)


def _words_with_effect(posterior: Posterior) -> list[str]:
    return [word for word in posterior.words("associated") if posterior.has("different", word)]
