"""The rating as one document, which the store keeps as JSON and every report is rendered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

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
    Json,
    MethodologyDocument,
    NextMethodologyDocument,
    RatingDocument,
    ReasonDocument,
    ServiceDocument,
    Shares,
)
from assay.explain import Vocabulary, explain
from assay.model import Component, Detail, Probabilities, Rating, Reason
from assay.rating.decision import METHODOLOGY_DIGEST, deciding_components

D = TypeVar("D", bound=Detail)


def commitment_document(
    digest: str | None, experiment: Json, seed: int, nonce: str | None
) -> CommitmentDocument | None:
    """Return a job's commitment with the nonce that opens it.

    ``None`` if the job made none, or if this version of Assay writes the experiment otherwise than the job's.
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

    Parameters
    ----------
    target, author : ServiceDocument
        Descriptor of the service, and of a second one that wrote the texts or drew the pictures; never a secret.
    calls, failed_calls : int
        Number of distinct questions asked, and of those that failed.
    evidence_digest : str
        Head of the Merkle tree over the observations.
    hosts : sequence of str
        Every host that the experiment's questions went to.
    audit, commitment : optional
        ``announced`` or ``unannounced``; see `commitment_document`. Ratings from before 1.4 have neither.
    """
    finding, components = rating.finding, rating.finding.components
    aggregation = _detail(AggregationDocument, finding.detail, finding.method)
    return RatingDocument(
        letter=rating.letter,
        declared=rating.declared,
        probabilities=_probabilities(rating.probabilities),
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
        counts={"asked": calls, "failed": failed_calls, **_answers(components)},
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
    """Return one component: the method's own fields with the common ones, which no method can replace."""
    return replace(
        _detail(ComponentDocument, component.detail, component.name),
        name=component.name,
        letter=component.letter,
        declared=component.declared,
        probabilities=_probabilities(component.probabilities),
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


def _answers(components: Sequence[Component]) -> dict[str, int]:
    """Count the usable, unusable and lost answers of all components."""
    names = {"usable": "usable", "unusable": "unusable", "lost": "failed"}
    return {name: sum(getattr(component, field) for component in components) for name, field in names.items()}


def _detail(kind: type[D], detail: Detail, owner: str) -> D:
    """Return the details that a method gave, of the right type; without fields if it gave none."""
    if isinstance(detail, kind):
        return detail
    if type(detail) is Detail:
        return kind()
    raise TypeError(f"the detail of {owner!r} is a {type(detail).__name__}; a method gives a {kind.__name__}")


def reason_document(reason: Reason, vocabulary: Vocabulary) -> ReasonDocument:
    """Return a reason with its sentence."""
    return ReasonDocument(reason.code, explain(reason, vocabulary), dict(reason.facts), reason.component)


def _probabilities(probabilities: Probabilities | None) -> Shares:
    return NO_ENTRIES if probabilities is None else probabilities.as_json()
