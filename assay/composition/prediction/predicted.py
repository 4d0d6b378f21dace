"""The predicted rating of services called one after the other, from their matrices.

The composite's matrix is the product of the matrices of its parts (docs/methods/composition.md), computed on posterior
draws, so that the letter's probability includes the uncertainty. The prediction also settles chains that the table
leaves open. The composite was not called: every result is *inferred*.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.composition.prediction.chained import ChainDraws, chain_pooled, chain_stratified, share_matched
from assay.composition.prediction.measured_service import TransitionEvidence
from assay.errors import SpecificationError
from assay.model import Evidence, Floats, HiddenEffect, Interval, Letter, Probabilities
from assay.rating.decision import letter_probabilities
from assay.statistics.bayes.transition import outputs_under, step_effects
from assay.statistics.intervals.credible import interval_of
from assay.statistics.intervals.worst_block import step_intervals

SETTINGS = ("delta", "confidence", "content_delta", "unbiased", "biased")
"""Settings of the ratings that may differ between the services of a chain; a prediction names those that do."""

DRAWS = 20_000
"""Number of posterior draws, as for a rating (docs/methods/round-trip.md)."""

SHARED = 0.5
"""Minimum share of sentences with a recorded path through the chain for a prediction content by content.

Below this share, most answers would come from matrices, whose excess concordance only the pooled prediction includes.
"""

MOST_COMBINATIONS = 64
"""Maximum number of combinations of components to predict."""

NORMAL_95 = 1.96
"""Half the width of a 95 % interval of a normal distribution, in standard errors."""

Basis = Literal["pooled", "content-stratified"]


@dataclass(frozen=True)
class Prediction:
    """Predicted rating of a chain of services."""

    names: tuple[str, ...]
    transitions: Mapping[str, Mapping[str, float]]
    """Expected share of each output for each input value."""
    outputs: Mapping[str, Mapping[str, float]]
    """Expected shares of the outputs of each declared block, unbiased ones first: ``U``, ``B1`` …"""
    effects: Mapping[str, Interval | None]
    """Intervals (95 %) of ``step_1`` (unbiased input), ``step_2`` (biased input) and, if it is judged, ``content``."""
    probabilities: Probabilities
    letter: Letter
    assured: float
    """Probability of the letter in the worst case of the unmeasured answers (those to text without a value); at most
    the letter's probability."""
    declared: bool
    """Whether `assured` is at least the confidence of the first service's rating."""
    basis: Basis
    """``pooled``: product of matrices. ``content-stratified``: the recorded answers to the same sentences were chained,
    and matrices replace missing answers."""
    matched: float
    """Share of the sentences whose path through the chain was recorded, in [0, 1]."""
    residual: tuple[float, ...]
    """Share of outputs without a value, of each service but the last. The next service was never measured on such
    text."""
    differing: tuple[str, ...] = ()
    """Settings that differ between the services; the composite is judged by those of the first."""
    hidden: tuple[HiddenEffect, ...] = ()
    """Upper bounds of the composite's hidden effects, added up from those of the services."""

    @property
    def emits_other(self) -> bool:
        """Whether a service before the last one was observed to drop the attribute's value from texts.

        A composition table may then be wrong about a last service rated UCS, which was measured on texts with a value,
        and not on texts without one.
        """
        return any(share > 0 for share in self.residual)


def predict_chain(services: Sequence[TransitionEvidence], rng: np.random.Generator, draws: int = DRAWS) -> Prediction:
    """Predict the rating of services called one after the other.

    The composite is judged by the first service's settings, because it receives the first service's inputs. Raise
    `SpecificationError` if there are fewer than two services, or their values differ.
    """
    check_links(services)
    first = services[0]
    matched_share = share_matched(services)
    basis: Basis = "content-stratified" if matched_share >= SHARED else "pooled"
    chain = (chain_stratified if basis == "content-stratified" else chain_pooled)(services, rng, draws)
    effects = step_effects(chain.transitions, first.unbiased, first.biased)
    content = chain.content if first.content_delta is not None else None
    hidden = _sum_hidden(services, rng.spawn(1)[0], draws)
    evidence = Evidence(effects.step_1, effects.step_2, content, hidden)
    probabilities = letter_probabilities(evidence, first.delta, first.content_delta)
    letter = probabilities.likeliest
    p_assured = _assured_probability(letter, evidence, chain, first)
    intervals = step_intervals(effects, chain.transitions, first.unbiased, first.biased, observed=_is_reached(services))
    return Prediction(
        names=tuple(service.name for service in services),
        transitions={
            row: dict(zip(first.outputs, shares, strict=True))
            for row, shares in zip(first.rows, chain.transitions.mean(axis=0).tolist(), strict=True)
        },
        outputs=_expected_outputs(chain.transitions, first),
        effects=intervals if content is None else {**intervals, "content": interval_of(content)},
        probabilities=probabilities,
        letter=letter,
        assured=p_assured,
        declared=p_assured >= first.confidence,
        basis=basis,
        matched=matched_share,
        residual=tuple(service.residual_share for service in services[:-1]),
        differing=tuple(name for name in SETTINGS if len({getattr(service, name) for service in services}) > 1),
        hidden=hidden,
    )


def _sum_hidden(
    services: Sequence[TransitionEvidence], rng: np.random.Generator, draws: int
) -> tuple[HiddenEffect, ...]:
    """Add up the services' hidden effects (effects that a mean conceals): an upper bound for the composite.

    Matrices do not show whether one service undoes or repeats another's effect in a group of texts. So a sum can
    prevent UCS and DSBS, and is no reason for BS. Effects on a typical frame, or place in a text, are added as squares
    (`hypot`), because two services seldom change the same frames. Of effects of kind ``content`` the smallest
    counts: a composite follows content only if every service does. Draws are normal, with each effect's 95 % interval.
    """
    totals: dict[tuple[str, str], Floats] = {}
    limits: dict[tuple[str, str], float | None] = {}
    for hidden in (document for service in services for document in service.hidden):
        kind, name, effect = str(hidden.kind), str(hidden.name), hidden.effect
        if effect.estimate is None or effect.low is None or effect.high is None:
            raise SpecificationError(f"the hidden effect {hidden.name} of a link has no interval; rate the link again")
        standard_error = (effect.high - effect.low) / (2 * NORMAL_95)
        samples = np.maximum(0.0, effect.estimate + standard_error * rng.standard_normal(draws))
        if kind == "content":
            totals[kind, name] = np.minimum(totals.get((kind, name), samples), samples)
        elif name.startswith("a typical"):  # frame, or place in a text
            totals[kind, name] = np.hypot(totals.get((kind, name), 0.0), samples)
        else:
            totals[kind, name] = totals.get((kind, name), np.zeros(draws)) + samples
        limits.setdefault((kind, name), hidden.limit)
    return tuple(HiddenEffect(*key, samples, limits[key], bound=True) for key, samples in totals.items())


def _is_reached(services: Sequence[TransitionEvidence]) -> NDArray[np.bool_]:
    """Return a mask of the outputs that the chain was observed to reach, shape (rows, outputs).

    A later service was never asked about text without a value, so any output of such text counts as reached.
    """
    first, *later_services = services
    is_reached = first.table > 0
    for service in later_services:
        can_follow = np.vstack([service.table > 0, np.ones(len(service.outputs), dtype=bool)])
        is_reached = is_reached @ can_follow  # by any value in between
    return np.asarray(is_reached)


def line_up(ratings: Sequence[Sequence[TransitionEvidence]]) -> tuple[tuple[TransitionEvidence, ...], ...]:
    """Combine the components of several ratings (`read_evidence`), from the first service to the last, into chains.

    If all ratings have the same components, components of the same name form a chain: Spanish with
    Spanish. Otherwise every component of a service is combined with every component of the next.

    Return the chains for `predict_chain`, none if a rating has no component with a matrix; the caller aggregates their
    letters to that of the composite (`assay.rating.decision`). Raise `SpecificationError` if there are more than
    `MOST_COMBINATIONS` chains.
    """
    by_name = [{component.name: component for component in components} for components in ratings]
    if by_name and all(set(components) == set(by_name[0]) for components in by_name):
        return tuple(tuple(components[name] for components in by_name) for name in by_name[0])
    ways = math.prod(map(len, ratings))
    if ways > MOST_COMBINATIONS:
        raise SpecificationError(
            f"the components of these ratings can be combined in {ways} ways; at most {MOST_COMBINATIONS} can be "
            f"predicted: compose ratings of the same languages, or of fewer",
            "chain",
        )
    return tuple(product(*ratings))


def check_links(services: Sequence[TransitionEvidence]) -> None:
    """Raise `SpecificationError` if a service cannot be called on the output of the one before it."""
    if len(services) < 2:
        raise SpecificationError(f"a composite needs two services or more, not {len(services)}", "chain")
    for number, (before, after) in enumerate(pairwise(services), start=1):
        if before.outputs != after.outputs:
            raise SpecificationError(
                f"link {number} breaks: service {number} returns {', '.join(before.outputs)}, "
                f"and service {number + 1} was measured with {', '.join(after.outputs)}",
                f"chain.{number}",
            )


def _assured_probability(letter: Letter, evidence: Evidence, chain: ChainDraws, first: TransitionEvidence) -> float:
    """Return the probability of a letter if the unmeasured outputs are the least favourable to it.

    If the answers to a share of the texts change, a total variation distance changes by at most that
    share, and the probability that two sentences get equal outputs by at most twice that share.
    """
    change_1, change_2 = (  # in each step, the unmeasured share of the block in which it is largest
        (chain.unmeasured @ np.array(blocks).T).max(axis=1) for blocks in (first.unbiased, first.biased)
    )
    smaller, larger = (_shift_effects(evidence, sign * change_1, sign * change_2) for sign in (-1, 1))
    if letter is Letter.DSBS:  # needs no effect in step 1, and one in step 2
        return letter_probabilities(replace(larger, step_2=smaller.step_2), first.delta, first.content_delta).DSBS
    return letter_probabilities(smaller if letter is Letter.BS else larger, first.delta, first.content_delta).of(letter)


def _shift_effects(evidence: Evidence, change_1: Floats, change_2: Floats) -> Evidence:
    """Return the evidence with each step's effect changed, and `content` by twice `change_1`, its largest change."""
    content = None if evidence.content is None else evidence.content + 2 * change_1
    return replace(evidence, step_1=evidence.step_1 + change_1, step_2=evidence.step_2 + change_2, content=content)


def _expected_outputs(transitions: Floats, first: TransitionEvidence) -> dict[str, dict[str, float]]:
    """Return the expected shares of the outputs for each block of inputs, by name (``U`` unbiased, ``B1`` … biased)."""
    names = ["U"] if len(first.unbiased) == 1 else [f"U{index + 1}" for index in range(len(first.unbiased))]
    names += [f"B{index + 1}" for index in range(len(first.biased))]
    mean = outputs_under(transitions, [*first.unbiased, *first.biased]).mean(axis=0)
    return {name: dict(zip(first.outputs, row.tolist(), strict=True)) for name, row in zip(names, mean, strict=True)}
