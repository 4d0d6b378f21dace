"""The rating as one JSON document, which the store keeps and every report is rendered from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import assay
from assay.canonical import commitment_of
from assay.explain import Vocabulary, explain
from assay.model import Component, Probabilities, Rating, Reason
from assay.rating.decision import METHODOLOGY_DIGEST, deciding_components

CONDUCT = ("audit", "commitment")
"""Parts of a document that say how the job was run; a re-rating copies them."""


def commitment_document(digest: str | None, experiment: Any, seed: int, nonce: str | None) -> dict[str, Any] | None:
    """Return a job's commitment with the nonce that opens it.

    ``None`` if the job made none, or if this version of Assay writes the experiment otherwise than the job's.
    """
    if digest is None or nonce is None or commitment_of(experiment, seed, nonce) != digest:
        return None
    return {"digest": digest, "nonce": nonce}


def rating_document(
    rating: Rating,
    *,
    vocabulary: Vocabulary,
    experiment: Mapping[str, Any],
    target: Mapping[str, Any],
    seed: int,
    calls: int,
    failed_calls: int,
    evidence_digest: str,
    visibility: str,
    author: Mapping[str, Any] | None = None,
    hosts: Sequence[str] = (),
    **conduct: Any,
) -> dict[str, Any]:
    """Return a rating as one complete document; the store adds ``id``, ``rated_at`` and ``expires_at``.

    Parameters
    ----------
    experiment : mapping
        The method's specification with its defaults filled in.
    target : mapping
        Descriptor of the service (name, kind, protocol, url, settings, digest); never its secret.
    seed, calls, failed_calls : int
        Seed of the experiment; number of distinct questions asked; number of those that failed.
    evidence_digest : str
        Head of the Merkle tree over the observations.
    author : mapping, optional
        Descriptor of the second service, which wrote the texts or drew the pictures.
    hosts : sequence of str
        Every host that the experiment's questions went to.
    **conduct
        Parts named in `CONDUCT`: ``audit`` is ``announced`` or ``unannounced``, ``commitment`` see
        `commitment_document`. Ratings from before 1.4 have none.
    """
    finding = rating.finding
    return {
        **_conclusion(rating),
        "experiment": dict(experiment),
        "target": dict(target),
        "author": None if author is None else dict(author),
        "hosts": list(hosts),
        "components": [component_document(component, vocabulary) for component in finding.components],
        "aggregation": _with_detail(
            {"rule": finding.aggregation, "deciding": list(deciding_components(rating))}, finding.detail, finding.method
        ),
        "published": dict(rating.published),
        "reasons": [reason_document(reason, vocabulary) for reason in rating.reasons],
        "counts": {"asked": calls, "failed": failed_calls, **_answers(finding.components)},
        "methodology": {"version": rating.methodology_version, "digest": METHODOLOGY_DIGEST},
        "engine_version": assay.__version__,
        "seed": seed,
        **conduct,
        "calls": calls,
        "evidence_digest": evidence_digest,
        "visibility": visibility,
        "next_methodology": {"version": None, "letter": None},
    }


def component_document(component: Component, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return one component as JSON: the common fields and the method's own.

    Raise `ValueError` if the method's detail has a key of a common field.
    """
    common = {
        "name": component.name,
        "letter": component.letter,
        "declared": component.declared,
        "probabilities": _probabilities(component.probabilities),
        "effects": {name: None if effect is None else asdict(effect) for name, effect in component.effects.items()},
    }
    counts = {
        "usable": component.usable,
        "unusable": component.unusable,
        "failed": component.failed,
        "published": dict(component.published),
        "reasons": [reason_document(reason, vocabulary) for reason in component.reasons],
    }
    return _with_detail(common, component.detail, component.name, counts)


def _with_detail(
    first: Mapping[str, Any], detail: Mapping[str, Any], owner: str, last: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return common fields with a method's own between them; neither can replace the other."""
    common = {**first, **(last or {})}
    if taken := sorted(common.keys() & detail.keys()):
        raise ValueError(
            f"the detail of {owner!r} has {', '.join(map(repr, taken))}, which every rating has; "
            "the method must use other names"
        )
    return {**first, **detail, **(last or {})}


def reason_document(reason: Reason, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a reason as JSON, with its sentence."""
    return {
        "code": reason.code,
        "text": explain(reason, vocabulary),
        "facts": dict(reason.facts),
        "component": reason.component,
    }


def _conclusion(rating: Rating) -> dict[str, Any]:
    """Return the letter, its probabilities, and the method and thresholds behind it."""
    finding = rating.finding
    return {
        "letter": rating.letter,
        "declared": rating.declared,
        "probabilities": _probabilities(rating.probabilities),
        "method": finding.method,
        "attribute": finding.attribute,
        "confidence": finding.confidence,
        "delta": finding.delta,
    }


def _answers(components: Sequence[Component]) -> dict[str, int]:
    """Count the usable, unusable and lost answers of all components."""
    return {
        "usable": sum(component.usable for component in components),
        "unusable": sum(component.unusable for component in components),
        "lost": sum(component.failed for component in components),
    }


def _probabilities(probabilities: Probabilities | None) -> dict[str, float] | None:
    return None if probabilities is None else probabilities.as_json()
