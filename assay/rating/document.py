"""The rating as one document, which the store keeps as JSON and every report is rendered from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from scipy.special import ndtr, ndtri

import assay
from assay.canonical import commitment_of
from assay.document import (
    NO_COMMITMENT,
    NO_ENTRIES,
    NO_SERVICE,
    AggregationDocument,
    CommitmentDocument,
    ComponentDocument,
    EffectDocument,
    HiddenDocument,
    Json,
    JsonObject,
    MethodologyDocument,
    NextMethodologyDocument,
    RatingDocument,
    ReasonDocument,
    ServiceDocument,
    Shares,
)
from assay.explain import Vocabulary, explain
from assay.model import Component, Detail, Letter, Probabilities, Rating, Reason
from assay.rating.decision import METHODOLOGY_DIGEST, deciding_components

D = TypeVar("D", bound=Detail)

IS_SURE = 0.99
"""Minimum probability of exceeding its limit at which an effect counts as certainly beyond the limit."""

UNBIASED_INPUT = frozenset({"stratum", "individual", "loss"})
"""Kinds of hidden effects on unbiased input, which are judged as step 1 is."""


@dataclass(frozen=True)
class DecidingEffect:
    """Of the effects of a component that decide a letter, the one that exceeds its limit with the highest probability.

    `chance` is that probability, from the normal distribution with the effect's interval; `step` is 1 for effects on
    unbiased input, and 2 for others.
    """

    name: str
    step: int
    effect: EffectDocument
    limit: float
    chance: float
    hidden: HiddenDocument | None = None


def commitment_document(
    digest: str | None, experiment: Json, seed: int, nonce: str | None
) -> CommitmentDocument | None:
    """Return the digest that committed a job to its experiment and seed before the first call, and its random nonce.

    ``None`` if the job has no commitment, or if the experiment as serialised now has another digest.
    """
    if digest is None or nonce is None or commitment_of(experiment, seed, nonce) != digest:
        return None
    return CommitmentDocument(digest, nonce)


def rating_document(
    rating: Rating,
    *,
    vocabulary: Vocabulary,
    experiment: Json,
    target: ServiceDocument,
    seed: int,
    calls: int,
    failed_calls: int,
    evidence_digest: str,
    visibility: str,
    author: ServiceDocument = NO_SERVICE,
    hosts: Sequence[str] = (),
    audit: str | None = None,
    commitment: CommitmentDocument | None = NO_COMMITMENT,
) -> RatingDocument:
    """Return a rating as one complete document; the store adds `id`, `rated_at`, `expires_at` and `requester`.

    `target` and `author` describe the service, and a second one that wrote the texts or drew the pictures, without
    secrets; `vocabulary` has the sentences. `calls` and `failed_calls` count distinct questions, asked and failed.
    `evidence_digest` is the head of the Merkle tree over the observations, `hosts` every host that questions went to.
    `audit` is ``announced`` or ``unannounced``; for `commitment` see `commitment_document`.
    """
    finding, components = rating.finding, rating.finding.components
    aggregation = _detail_of_type(AggregationDocument, finding.detail, finding.method)
    return RatingDocument(
        letter=rating.letter,
        declared=rating.declared,
        probabilities=_probabilities_json(rating.probabilities),
        method=finding.method,
        attribute=finding.attribute,
        confidence=finding.confidence,
        delta=finding.delta,
        experiment=experiment,
        target=target,
        author=author,
        hosts=tuple(hosts),
        components=tuple(component_document(component, vocabulary) for component in components),
        aggregation=replace(aggregation, rule=finding.aggregation, deciding=tuple(deciding_components(rating))),
        published=dict(rating.published),
        reasons=tuple(reason_document(reason, vocabulary) for reason in rating.reasons),
        counts={"asked": calls, "failed": failed_calls, **_count_answers(components)},
        methodology=MethodologyDocument(rating.methodology_version, METHODOLOGY_DIGEST),
        engine_version=assay.__version__,
        seed=seed,
        audit=audit,
        commitment=commitment,
        calls=calls,
        evidence_digest=evidence_digest,
        visibility=visibility,
        next_methodology=NextMethodologyDocument(),
    )


def component_document(component: Component, vocabulary: Vocabulary) -> ComponentDocument:
    """Return the document of a component: the method's own fields, and the common fields, which no method replaces."""
    return replace(
        _detail_of_type(ComponentDocument, component.detail, component.name),
        name=component.name,
        letter=component.letter,
        declared=component.declared,
        probabilities=_probabilities_json(component.probabilities),
        effects={
            name: None if interval is None else EffectDocument.of(interval)
            for name, interval in component.effects.items()
        },
        usable=component.usable,
        unusable=component.unusable,
        failed=component.failed,
        published=dict(component.published),
        reasons=tuple(reason_document(reason, vocabulary) for reason in component.reasons),
    )


def deciding_effect(part: ComponentDocument, letter: Letter | None) -> DecidingEffect | None:
    """Return the effect that decides for or against a letter; ``None`` if nothing was measured.

    Effects on unbiased input decide BS, those on biased input DSBS, and all UCS. The result is the effect that most
    probably exceeds its limit; of several that surely do, the step's own, or else the largest relative to its limit.
    """
    steps = {Letter.BS: {1}, Letter.DSBS: {2}}.get(letter or Letter.UCS, {1, 2})  # without a letter: all
    candidates = [candidate for candidate in _measured_effects(part) if candidate.step in steps]
    return max(candidates, key=_precedence, default=None)


def _precedence(candidate: DecidingEffect) -> tuple[float, bool, float]:
    """Return the sort key: how probably an effect exceeds its limit; whether it is a step's own; size over limit."""
    is_sure = candidate.chance >= IS_SURE
    chance = IS_SURE if is_sure else round(candidate.chance, 6)  # rounded, because processors differ in last digits
    return chance, is_sure and candidate.name == f"step_{candidate.step}", _limit_share(candidate)


def deciding_part(rating: RatingDocument) -> tuple[ComponentDocument, DecidingEffect] | None:
    """Return the component that decided the letter of a rating, and its effect; ``None`` if nothing was measured."""
    judged_parts = [
        (part, effect)
        for part in rating.components
        if part.letter is not None and (effect := deciding_effect(part, part.letter)) is not None
    ]
    candidates = [(part, effect) for part, effect in judged_parts if part.letter is rating.letter] or judged_parts
    # as in `_precedence`: among effects that are surely beyond their limits, the size decides
    strengths = [(min(round(effect.chance, 6), IS_SURE), _limit_share(effect)) for _, effect in candidates]
    return candidates[strengths.index(max(strengths))] if candidates else None


def key_figures(rating: RatingDocument) -> JsonObject:
    """Return the numbers of a rating by which services are ranked: its questions, and its deciding effect if any."""
    figures: JsonObject = {"questions": (rating.counts or {}).get("asked", rating.calls)}
    if rating.letter is None or (part_and_effect := deciding_part(rating)) is None:
        return figures
    _, effect = part_and_effect
    hidden = None if effect.hidden is None else effect.hidden.kind
    interval = {name: getattr(effect.effect, name) for name in ("estimate", "low", "high")}
    return figures | {"name": effect.name, "step": effect.step, "hidden": hidden, "limit": effect.limit, **interval}


def _measured_effects(part: ComponentDocument) -> Iterator[DecidingEffect]:
    """Yield each effect with an estimate and a limit, except those that are only upper bounds."""
    default_limit = part.tolerances.get("step_1")
    for name, step in (("step_1", 1), ("content", 1), ("step_2", 2)):
        effect = part.effects.get(name)
        limit = part.tolerances.get(name, default_limit)
        if effect is not None and effect.estimate is not None and limit is not None:
            yield DecidingEffect(name, step, effect, limit, _chance_beyond(effect, limit))
    for hidden in part.hidden:
        limit = hidden.limit if hidden.limit is not None else default_limit
        if hidden.effect.estimate is None or limit is None or hidden.bound:
            continue
        step = 1 if hidden.kind in UNBIASED_INPUT else 2
        chance = _chance_beyond(hidden.effect, limit)
        yield DecidingEffect(hidden.name or "unnamed", step, hidden.effect, limit, chance, hidden)


def _chance_beyond(effect: EffectDocument, limit: float) -> float:
    """Estimate the probability that an effect exceeds its limit, from the normal distribution with its interval."""
    size = abs(effect.estimate or 0.0)
    if effect.low is None or effect.high is None or effect.high <= effect.low:
        return float(size > limit)
    standard_deviation = (effect.high - effect.low) / (2 * ndtri((1 + (effect.level or 0.95)) / 2))
    return float(ndtr((size - limit) / standard_deviation))


def _limit_share(candidate: DecidingEffect) -> float:
    return abs(candidate.effect.estimate or 0.0) / (candidate.limit or 1.0)


def _count_answers(components: Sequence[Component]) -> dict[str, int]:
    names = {"usable": "usable", "unusable": "unusable", "lost": "failed"}
    return {name: sum(getattr(component, field) for component in components) for name, field in names.items()}


def _detail_of_type(kind: type[D], detail: Detail, owner: str) -> D:
    """Return a method's data, which must be of the class `kind` (else `TypeError`); an empty `kind` if it has none."""
    if isinstance(detail, kind):
        return detail
    if type(detail) is Detail:
        return kind()
    raise TypeError(f"the detail of {owner!r} is a {type(detail).__name__}; a method gives a {kind.__name__}")


def reason_document(reason: Reason, vocabulary: Vocabulary) -> ReasonDocument:
    """Return a reason as a document, with the sentence that explains it in the words of the method's `vocabulary`."""
    return ReasonDocument(reason.code, explain(reason, vocabulary), dict(reason.facts), reason.component)


def _probabilities_json(probabilities: Probabilities | None) -> Shares:
    return NO_ENTRIES if probabilities is None else probabilities.as_json()
