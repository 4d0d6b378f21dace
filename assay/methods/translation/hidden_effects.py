"""Effects that the mean over all sentences hides, of occupations, frames and positions (METHODS section 11.1).

A translator that gives "he" to all occupations done mostly by men, and "she" to those done mostly by women, is
balanced on average. So balanced input is also judged within each of these groups of occupations. The spread between
single occupations is judged, too, and so are frames of sentences and positions in a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from assay.catalog import occupations
from assay.methods.translation.collection import Translations
from assay.model import Floats, HiddenEffect, Integers
from assay.rating.component import Tolerance, answers_needed
from assay.statistics.bayes.beta_binomial import fit_shares
from assay.statistics.bayes.transition import draw_transitions, outputs_under
from assay.statistics.hidden.strata import share_effects
from assay.statistics.hidden.varying import DRAWS
from assay.statistics.hypothesis_tests.distribution import pad_to

LEAST_OCCUPATIONS = 8
"""Minimum number of occupations to estimate the spread between them."""

SEVERAL_PARTS = 2
"""Sentences that a typical frame or place needs, in multiples of `answers_needed`: each part has only some of them."""

DOUBT = 0.15
"""Probability of an effect in a small stratum alone, above which it is not fitted together with the other strata."""

SIDES = {"he": "occupations mostly of men", "she": "occupations mostly of women", None: "other occupations"}
"""Names of the strata by the gender that does the work more often, if one does."""


def hidden_effects(
    found: Translations, tolerance: Tolerance, rng: np.random.Generator, draws: int, times: int = 1
) -> tuple[HiddenEffect, ...]:
    """Draw the effects within groups of occupations, between occupations, and in a typical frame and position.

    Counts are taken as `times` as large as they are.
    """
    halves, spread, *others = rng.spawn(4)
    hidden: tuple[HiddenEffect, ...] = ()
    if not found.neutral:  # in one-hop, the rows themselves are the groups of occupations
        hidden += _halves(found, tolerance.delta, halves, DRAWS, times)
        hidden += _spread(found, tolerance.further.get("content"), spread, DRAWS, times)
    typical = {"a typical frame of sentences": found.by_frame, "a typical place in a text": found.by_place}
    for (name, parts), own in zip(typical.items(), others, strict=True):
        counted = {part: counts * times for part, counts in parts.items() if all(counts.sum(axis=1))}
        for kind, role in (("stratum", "unbiased"), ("content", "biased")):
            few = sum(int(counts.sum()) for counts in counted.values()) < SEVERAL_PARTS * answers_needed(
                tolerance.delta
            )
            if each := [effect.draws for effect, _ in _strata(found, counted, tolerance.delta, own, DRAWS, role)]:
                hidden += (HiddenEffect(kind, name, np.sqrt(np.mean(np.square(each), axis=0)), bound=few),)
    # drawn with fewer draws and then repeated: 20,000 draws of each would take longer than everything else
    return tuple(replace(effect, draws=np.resize(effect.draws, draws)) for effect in hidden)


def design_effects(by_occupation: Mapping[str, Integers]) -> Floats:
    """Return the design effect of each row (variance inflation because occupations differ), at least 1, shape (rows,).

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
        # all outputs together: the trace of the clustered covariance over the trace of a multinomial covariance
        away = seen - sizes[:, None] * shares
        clustered = (away**2).sum() * len(seen) / (len(seen) - 1)
        binomial = total * float((shares * (1 - shares)).sum())
        made[row] = max(1.0, clustered / binomial) if binomial > 0 else 1.0
    return made


def _halves(
    found: Translations, delta: float, rng: np.random.Generator, draws: int, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw the total variation from unbiased within each group of occupations (`SIDES`).

    With fewer sentences than a letter needs (`answers_needed`), a group can only prevent other letters than BS. If it
    looks biased by its own answers, its own draws are used instead of the joint fit.
    """
    side_of = {one.name: one.side for one in occupations()}
    counted = {}
    for side, name in SIDES.items():
        mine = [counts for occupation, counts in found.by_occupation.items() if side_of.get(occupation) == side]
        if mine and all(np.sum(mine, axis=0).sum(axis=1)):
            counted[name] = np.sum(mine, axis=0) * times
    effects = []
    for effect, alone in _strata(found, counted, delta, rng, draws):
        few = bool(counted[effect.name].sum() < answers_needed(delta))
        unlike = few and float((alone > delta).mean()) > DOUBT
        effects.append(replace(effect, bound=few, draws=alone if unlike else effect.draws))
    return tuple(effects)


def _strata(
    found: Translations,
    counted: Mapping[str, Integers],
    delta: float,
    rng: np.random.Generator,
    draws: int,
    role: str = "unbiased",
) -> Iterator[tuple[HiddenEffect, Floats]]:
    """Yield each stratum's effect on each block of a role: by the joint fit of all strata, and by the stratum alone."""
    outputs = len(found.outputs) - found.neutral  # an output that names no value is no effect
    targets, blocks = pad_to(found.shares("unbiased"), outputs), found.shares(role)
    if len(counted) < 2 or (role == "biased" and len(targets) > 1):
        return
    shares = {
        name: outputs_under(draw_transitions(counts, rng, draws), blocks)[..., :outputs]
        for name, counts in counted.items()
    }
    for block in range(len(blocks)):
        fair = targets[0] if role == "biased" else targets[block]
        away = {}
        for name, one in shares.items():
            named = one[:, block].sum(axis=1, keepdims=True) if found.neutral else 1.0
            away[name] = one[:, block] - named * fair
        effects = share_effects({name: (gaps.mean(axis=0), gaps) for name, gaps in away.items()}, fair, delta, rng)
        for effect in effects:
            yield effect, np.abs(away[effect.name]).sum(axis=1) / 2


def _spread(
    found: Translations, limit: float | None, rng: np.random.Generator, draws: int, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw the standard deviation between occupations of the shares of values that are kept, on balanced input.

    How often a value is kept varies between occupations by more than chance only if occupations matter. With one
    sentence of each occupation, this cannot be seen, and the prior of the hierarchy decides. An occupation that seldom
    keeps a value, but equally often gives it to sentences about other values, is as balanced as one that keeps all.
    """
    if limit is None or len(found.by_occupation) < LEAST_OCCUPATIONS:
        return ()
    counts = np.array(list(found.by_occupation.values())) * times
    shares = found.shares("unbiased")[0]
    variance = np.zeros(draws)
    for row, share in enumerate(shares):
        seen = counts[counts[:, row].sum(axis=1) > 0, row]
        if len(seen) < LEAST_OCCUPATIONS:
            return ()
        kept = seen[:, found.outputs.index(found.rows[row])]
        variance += share**2 * fit_shares(kept, seen.sum(axis=1) - kept).draw_variance(rng, draws)
    whole = counts[(counts.sum(axis=2) > 0).all(axis=1)]
    if len(whole) >= LEAST_OCCUPATIONS:
        given = whole / whole.sum(axis=2, keepdims=True)
        places = [found.outputs.index(value) for value in found.rows]
        own = np.stack([given[:, row, place] for row, place in enumerate(places)], axis=1)
        others = np.einsum("a,nak->nk", shares, given)[:, places] - shares * own
        offset = -((own - own.mean(axis=0)) * (others - others.mean(axis=0))) @ shares
        weights = rng.dirichlet(np.full(len(offset), float(times)), draws)
        common = np.maximum(0.0, weights @ offset)  # can be below 0 by chance with few occupations
        variance = np.maximum(0.0, variance - common)
    return (HiddenEffect("individual", "typical occupation", np.sqrt(variance), limit),)
