"""Effects that a mean over occupations hides: the occupation, not the pronoun, decides (METHODS section 11.1).

A translator that turns the pronoun of every job done by men to "he", and of every job done by women to "she", is even
on the whole. So balanced input is judged in either half of the occupations too, and so is the spread between single
occupations, for those that no list foresaw.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from assay.catalog import occupations
from assay.methods.translation.collection import Translations
from assay.model import Floats, HiddenEffect, Integers
from assay.rating.component import Tolerance
from assay.statistics.bayes.beta_binomial import fit_shares
from assay.statistics.bayes.transition import draw_transitions, outputs_under
from assay.statistics.hidden.strata import share_effects
from assay.statistics.hypothesis_tests.distribution import pad_to

LEAST_OCCUPATIONS = 8
"""Fewest occupations from which the spread between them is estimated."""

LEAST_SENTENCES = 60
"""Fewest sentences of a stratum that can make a letter BS; fewer may be off balance by chance, and prevent others."""

SIDES = {"he": "occupations mostly of men", "she": "occupations mostly of women", None: "other occupations"}
"""Names of the strata by the gender that does the work more often, if one does."""


def hidden_in_occupations(
    found: Translations, tolerance: Tolerance, rng: np.random.Generator, draws: int, times: int = 1
) -> tuple[HiddenEffect, ...]:
    """Draw the effect within either half of the occupations, and the spread between them.

    `times` as much material is assumed.
    """
    halves, spread = rng.spawn(2)
    between = _spread(found, tolerance.further.get("content"), spread, draws, times)
    return (*_halves(found, tolerance.delta, halves, draws, times), *between)


def design_effects(by_occupation: Mapping[str, Integers]) -> Floats:
    """Return by how much errors of each row's shares are larger because occupations differ; at least 1, shape (rows,).

    References
    ----------
    .. [1] Rao & Scott (1992), "A simple method for the analysis of clustered binary data", Biometrics 48.
    """
    counts = np.array(list(by_occupation.values()), dtype=float)
    made = np.ones(counts.shape[1] if counts.ndim == 3 else 1)
    for row in range(len(made)):
        seen = counts[counts[:, row].sum(axis=1) > 0, row] if counts.ndim == 3 else counts
        if len(seen) < LEAST_OCCUPATIONS:
            continue
        sizes, total = seen.sum(axis=1), seen.sum()
        shares = seen.sum(axis=0) / total
        # of all outputs together: the trace of the clustered covariance over that of a multinomial
        away = seen - sizes[:, None] * shares
        clustered = (away**2).sum() * len(seen) / (len(seen) - 1)
        binomial = total * float((shares * (1 - shares)).sum())
        made[row] = max(1.0, clustered / binomial) if binomial > 0 else 1.0
    return made


def _halves(
    found: Translations, delta: float, rng: np.random.Generator, draws: int, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw the total variation from unbiased within the occupations of either half."""
    side_of = {one.name: one.side for one in occupations()}
    names, shares, few = [], [], set()
    for side, name in SIDES.items():
        mine = [counts for occupation, counts in found.by_occupation.items() if side_of.get(occupation) == side]
        if sum(int(counts.sum()) for counts in mine) and all(np.sum(mine, axis=0).sum(axis=1)):
            drawn = draw_transitions(np.sum(mine, axis=0) * times, rng, draws)
            names.append(name)
            few |= {name} if np.sum(mine) * times < LEAST_SENTENCES else set()
            shares.append(outputs_under(drawn, found.shares("unbiased")))
    if len(names) < 2:
        return ()
    worst: tuple[HiddenEffect, ...] = ()
    for block, fair in enumerate(pad_to(found.shares("unbiased"), len(found.outputs))):
        away = {name: one[:, block] - fair for name, one in zip(names, shares, strict=True)}
        worst += share_effects({name: (gaps.mean(axis=0), gaps) for name, gaps in away.items()}, fair, delta, rng)
    return tuple(replace(effect, bound=effect.name in few) for effect in worst)


def _spread(
    found: Translations, limit: float | None, rng: np.random.Generator, draws: int, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw the standard deviation between occupations of the share of a value in the output, on balanced input.

    How often a value is kept varies between occupations by more than by chance only where occupations decide. With
    one sentence of each occupation that cannot be told apart, and the prior of the hierarchy speaks.
    """
    if limit is None or len(found.by_occupation) < LEAST_OCCUPATIONS:
        return ()
    counts = np.array(list(found.by_occupation.values())) * times
    variance = np.zeros(draws)
    for row, share in enumerate(found.shares("unbiased")[0]):
        seen = counts[counts[:, row].sum(axis=1) > 0, row]
        if len(seen) < LEAST_OCCUPATIONS:
            return ()
        kept = seen[:, found.outputs.index(found.rows[row])]
        variance += share**2 * fit_shares(kept, seen.sum(axis=1) - kept).draw_variance(rng, draws)
    return (HiddenEffect("individual", "typical occupation", np.sqrt(variance), limit),)
