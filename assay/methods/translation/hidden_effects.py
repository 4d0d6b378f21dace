"""Biases of occupations, frames and positions that the mean over all sentences hides (docs/what-a-mean-hides.md).

A translator that gives "he" to all occupations done mostly by men, and "she" to those done mostly by women, is
balanced on average. So unbiased input is also judged within each of these groups of occupations. The spread between
single occupations is also judged, and so are frames of sentences and positions of a sentence in its text.
"""

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
"""Minimum number of occupations for an estimate of the spread between them."""

SEVERAL_STRATA = 2
"""The effect of a typical frame or position needs this multiple of `answers_needed` sentences."""

LIKELY_BIAS = 0.15
"""A small stratum with a higher probability of bias, by its own answers, is not fitted jointly with other strata."""

SIDES = {"he": "occupations mostly of men", "she": "occupations mostly of women", None: "other occupations"}
"""Names of the strata of occupations, by the gender that holds them more often (``None``: unknown)."""


def hidden_effects(
    translations: Translations, tolerance: Tolerance, rng: np.random.Generator, draws: int, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw effects that the mean can hide: in groups of occupations, between occupations, in frames and positions.

    All counts are multiplied by `times`, to predict a larger sample.
    """
    sides_rng, spread_rng, *strata_rngs = rng.spawn(4)  # the last two: for frames and for positions
    hidden: tuple[HiddenEffect, ...] = ()
    if not translations.neutral:  # in one-hop, the rows themselves are the groups of occupations
        hidden += _draw_sides(translations, tolerance.delta, sides_rng, times)
        hidden += _draw_spread(translations, tolerance.further.get("content"), spread_rng, times)
    delta = tolerance.delta
    strata_by_name = {
        "a typical frame of sentences": translations.by_frame,
        "a typical place in a text": translations.by_position,
    }
    for (name, counts_by_stratum), child_rng in zip(strata_by_name.items(), strata_rngs, strict=True):
        # a stratum without a sentence about some value does not show what becomes of that value
        stratum_counts = {
            stratum: counts * times for stratum, counts in counts_by_stratum.items() if all(counts.sum(axis=1))
        }
        sentence_count = sum(int(counts.sum()) for counts in stratum_counts.values())
        # as in `_draw_sides`, an effect from few sentences can only prevent a letter
        is_bound = sentence_count < SEVERAL_STRATA * answers_needed(delta)
        # unbiased blocks show effects within strata (step 1), and biased ones those of content (step 2)
        for kind, role in (("stratum", "unbiased"), ("content", "biased")):
            effects = [effect for effect, _ in _draw_strata(translations, stratum_counts, delta, child_rng, role)]
            if effects:  # the root mean square over frames or positions
                typical_size = np.sqrt(np.mean(np.square([effect.draws for effect in effects]), axis=0))
                hidden += (HiddenEffect(kind, name, typical_size, bound=is_bound),)
    # repeated up to `draws`: 20,000 draws of each would take longer than everything else
    return tuple(replace(effect, draws=np.resize(effect.draws, draws)) for effect in hidden)


def design_effects(by_occupation: Mapping[str, Integers]) -> Floats:
    """Return by what factor, at least 1, differences between occupations inflate each input's variance, shape (rows,).

    References
    ----------
    .. [1] Rao & Scott (1992), "A simple method for the analysis of clustered binary data", Biometrics 48.
    """
    if not by_occupation:
        return np.ones(1)
    counts = np.array(list(by_occupation.values()), dtype=float)  # shape (occupations, rows, outputs)
    inflation = np.ones(counts.shape[1])
    for row in range(len(inflation)):
        occupation_counts = counts[counts[:, row].sum(axis=1) > 0, row]
        if len(occupation_counts) < LEAST_OCCUPATIONS:
            continue
        sizes, total = occupation_counts.sum(axis=1), occupation_counts.sum()
        shares = occupation_counts.sum(axis=0) / total
        # all outputs together: the trace of the clustered covariance over the trace of a multinomial covariance
        deviations = occupation_counts - sizes[:, None] * shares
        clustered_variance = (deviations**2).sum() * len(occupation_counts) / (len(occupation_counts) - 1)
        multinomial_variance = total * float((shares * (1 - shares)).sum())
        inflation[row] = max(1.0, clustered_variance / multinomial_variance) if multinomial_variance > 0 else 1.0
    return inflation


def _draw_sides(
    translations: Translations, delta: float, rng: np.random.Generator, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw the bias within each group of occupations (`SIDES`), as if all counts were `times` as large.

    Bias is the total variation from unbiased output. With fewer sentences than a letter needs (`answers_needed`), it is
    only an upper bound, to prevent UCS and DSBS; if it is large, the draws are of the group alone, not of a joint fit.
    """
    side_of = {occupation.name: occupation.side for occupation in occupations()}
    counts_by_side = {}
    for side, side_name in SIDES.items():
        side_counts = [counts for name, counts in translations.by_occupation.items() if side_of.get(name) == side]
        if side_counts and all(np.sum(side_counts, axis=0).sum(axis=1)):  # has sentences about every value
            counts_by_side[side_name] = np.sum(side_counts, axis=0) * times
    effects = []
    for effect, own_draws in _draw_strata(translations, counts_by_side, delta, rng):
        is_small = bool(counts_by_side[effect.name].sum() < answers_needed(delta))
        looks_biased = is_small and float((own_draws > delta).mean()) > LIKELY_BIAS
        effects.append(replace(effect, bound=is_small, draws=own_draws if looks_biased else effect.draws))
    return tuple(effects)


def _draw_strata(
    translations: Translations,
    counts_by_stratum: Mapping[str, Integers],
    delta: float,
    rng: np.random.Generator,
    role: str = "unbiased",
) -> Iterator[tuple[HiddenEffect, Floats]]:
    """Yield each stratum's bias in each block of `role` (biased or unbiased): fitted with all strata, and by itself."""
    output_count = len(translations.outputs) - translations.neutral  # a harmless residual, the last, is left out
    unbiased_shares, block_shares = pad_to(translations.shares("unbiased"), output_count), translations.shares(role)
    # biased blocks can only be compared with a single unbiased one
    if len(counts_by_stratum) < 2 or (role == "biased" and len(unbiased_shares) > 1):
        return
    shares_by_stratum = {
        name: outputs_under(draw_transitions(counts, rng, DRAWS), block_shares)[..., :output_count]
        for name, counts in counts_by_stratum.items()
    }
    for block in range(len(block_shares)):
        fair_shares = unbiased_shares[0 if role == "biased" else block]
        gaps_by_stratum = {}
        for name, output_shares in shares_by_stratum.items():
            # the fair shares are of the sentences whose output names a value
            named_share = output_shares[:, block].sum(axis=1, keepdims=True) if translations.neutral else 1.0
            gaps_by_stratum[name] = output_shares[:, block] - named_share * fair_shares
        estimates = {name: (gaps.mean(axis=0), gaps) for name, gaps in gaps_by_stratum.items()}
        for effect in share_effects(estimates, fair_shares, delta, rng):
            yield effect, np.abs(gaps_by_stratum[effect.name]).sum(axis=1) / 2


def _draw_spread(
    translations: Translations, limit: float | None, rng: np.random.Generator, times: int
) -> tuple[HiddenEffect, ...]:
    """Draw the standard deviation between occupations of the share of kept values, for unbiased input.

    How often a value is kept varies between occupations by more than chance only if occupations matter. With one
    sentence of each occupation, this cannot be seen, and the prior of the hierarchy decides. An occupation that seldom
    keeps a value, but equally often gives it to sentences about other values, is as balanced as one that keeps it.
    """
    if limit is None or len(translations.by_occupation) < LEAST_OCCUPATIONS:
        return ()
    counts = np.array(list(translations.by_occupation.values())) * times  # shape (occupations, rows, outputs)
    shares = translations.shares("unbiased")[0]
    variance = np.zeros(DRAWS)
    for row, share in enumerate(shares):
        occupation_counts = counts[counts[:, row].sum(axis=1) > 0, row]
        if len(occupation_counts) < LEAST_OCCUPATIONS:
            return ()
        kept_counts = occupation_counts[:, translations.outputs.index(translations.rows[row])]
        posterior = fit_shares(kept_counts, occupation_counts.sum(axis=1) - kept_counts)
        variance += share**2 * posterior.draw_variance(rng, DRAWS)
    complete = counts[(counts.sum(axis=2) > 0).all(axis=1)]  # occupations with sentences about every value
    if len(complete) >= LEAST_OCCUPATIONS:
        output_shares = complete / complete.sum(axis=2, keepdims=True)  # axes: n, a (values sent), k (outputs)
        columns = [translations.outputs.index(value) for value in translations.rows]
        # by occupation and value: share of its sentences that keep the value; share of others' that get it instead
        kept_shares = np.stack([output_shares[:, row, column] for row, column in enumerate(columns)], axis=1)
        from_others = np.einsum("a,nak->nk", shares, output_shares)[:, columns] - shares * kept_shares
        # minus the covariance of both over the occupations: a value that is lost but gained by others stays balanced
        offset = -((kept_shares - kept_shares.mean(axis=0)) * (from_others - from_others.mean(axis=0))) @ shares
        weights = rng.dirichlet(np.full(len(offset), float(times)), DRAWS)  # Bayesian bootstrap of the occupations
        balanced_variance = np.maximum(0.0, weights @ offset)  # can be below 0 by chance with few occupations
        variance = np.maximum(0.0, variance - balanced_variance)
    return (HiddenEffect("individual", "typical occupation", np.sqrt(variance), limit),)
