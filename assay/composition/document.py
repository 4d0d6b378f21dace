"""The document of a composition: the inferred rating of services called one after the other.

Every statement about the composite is *inferred*; the statements about its parts were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assay.composition import INFERRED, TableName
from assay.composition.compatibility import Incompatible, kind_of_chain
from assay.composition.lookup import part_of, tables_document
from assay.composition.notes import note
from assay.composition.prediction import (
    Prediction,
    TransitionEvidence,
    line_up,
    predict_chain,
    read_evidence,
    with_contents,
)
from assay.composition.wording import explain_prediction
from assay.errors import SpecificationError
from assay.model import Kind, Letter, Observation
from assay.rating.decision import vote_probabilities, worst_probabilities
from assay.rating.losses import hidden_as_json

MEASURED = "measured"
"""Provenance of the statements about the parts."""


def check_chain(ratings: Sequence[Mapping[str, Any]]) -> Kind:
    """Check that ratings can be composed, and return the kind of the chain.

    Raises
    ------
    OutOfBounds
        If there are too few or too many ratings.
    Incompatible
        If a link was rated for another attribute than the first, is of a kind that cannot follow the link
        before it, or was rated on records although it would receive texts. The error names the link.
    """
    kind = kind_of_chain([Kind(one["target"]["kind"]) for one in ratings])
    first = ratings[0]["attribute"]
    for place, one in enumerate(ratings[1:], start=1):
        if one["attribute"] != first:
            raise Incompatible(
                place,
                f"link {place + 1} was rated for {one['attribute']} and link 1 for {first}; "
                "ratings of one attribute would do",
            )
        if (one.get("experiment") or {}).get("records") is not None:
            raise Incompatible(
                place,
                f"link {place + 1} was rated on records, and link {place} gives a text; a rating on texts would do",
            )
    return kind


def composition_document(
    ratings: Sequence[Mapping[str, Any]],
    rng: np.random.Generator,
    *,
    table: TableName = "published",
    observations: Sequence[Sequence[Observation]] = (),
) -> dict[str, Any]:
    """Infer the rating of a chain and return it as a document.

    Parameters
    ----------
    table : str
        Table that decides the headline; the document holds the results of both tables.
    observations : sequence of sequence of Observation
        Recorded observations of each rating, if available. Services that were asked the same sentences are
        then chained sentence by sentence.

    Raises
    ------
    OutOfBounds, Incompatible
        See `check_chain`.
    """
    kind = check_chain(ratings)
    parts = [part_of(one) for one in ratings]
    predictions, why = _predict(ratings, rng, observations)
    predicted = _prediction(predictions, ratings[0]) if predictions else None
    written = tables_document(parts, table)
    explanation = [*written.pop("explanation"), *(each for one in predictions for each in explain_prediction(one))]
    notes = [*written.pop("notes"), *_notes_of_ratings(ratings)]
    headline = written["tables"][table]
    letter, settled_by = headline["letter"], "table" if headline["letter"] is not None else None
    if predicted is not None:
        notes += _notes_of_prediction(predicted, headline["letter"])
        if letter is None and predicted["declared"]:
            letter, settled_by = predicted["letter"], "matrices"
    if letter is None:
        notes.append(note("must-be-measured"))
    return {
        "provenance": INFERRED,
        "kind": kind.value,
        "attribute": ratings[0]["attribute"],
        "letter": letter,
        "settled_by": settled_by,
        "must_be_measured": letter is None,
        **written,
        "predicted": predicted,
        "not_predicted": why,
        "explanation": list(dict.fromkeys(explanation)),
        "notes": notes,
    }


# ---------------------------------------------------------------------------- prediction
def _predict(
    ratings: Sequence[Mapping[str, Any]], rng: np.random.Generator, observations: Sequence[Sequence[Observation]]
) -> tuple[Sequence[Prediction], str | None]:
    """Predict each chain of components from matrices; return a reason if that is impossible."""
    evidence = [matrices_of(one) for one in ratings]
    for place, (components, rating) in enumerate(zip(evidence, ratings, strict=True), start=1):
        if not components:
            return (), f"link {place}, rated by {rating['method']}, has no matrix that can be chained"
        if len(components) < len(rating["components"]):
            return (), f"link {place} has components that could not be measured"
    if observations:
        evidence = [
            tuple(with_contents(one, record, rating["attribute"]) for one in components)
            for components, record, rating in zip(evidence, observations, ratings, strict=True)
        ]
    try:
        chains = line_up(evidence)
        several = [predict_chain(chain, own) for chain, own in zip(chains, rng.spawn(len(chains)), strict=True)]
    except SpecificationError as wrong:
        return (), str(wrong)
    return several, None


def matrices_of(rating: Mapping[str, Any]) -> tuple[TransitionEvidence, ...]:
    """Read the matrices of a rating; empty if its document has none."""
    if not {"experiment", "delta", "confidence", "method", "components"} <= rating.keys():
        return ()
    if not all(isinstance(one.get("transitions"), Mapping) for one in rating["components"]):
        return ()
    return read_evidence(rating)


def _prediction(several: Sequence[Prediction], first: Mapping[str, Any]) -> dict[str, Any]:
    confidence = float(first["confidence"])
    vote = first.get("aggregation", {}).get("rule") == "vote"
    together = (vote_probabilities if vote else worst_probabilities)([one.probabilities for one in several])
    letter = together.likeliest
    if letter is Letter.BS and not vote:
        sure = any(one.declared for one in several if one.letter is letter)
    else:
        sure = all(one.declared for one in several)
    return {
        "provenance": INFERRED,
        "letter": letter.value,
        "declared": sure and together.of(letter) >= confidence,
        "confidence": confidence,
        "probabilities": together.as_json(),
        "emits_other": any(one.emits_other for one in several),
        "components": [_predicted_component(one) for one in several],
    }


def _predicted_component(one: Prediction) -> dict[str, Any]:
    return {
        "names": list(one.names),
        "letter": one.letter.value,
        "declared": one.declared,
        "probabilities": one.probabilities.as_json(),
        "effects": {name: None if effect is None else asdict(effect) for name, effect in one.effects.items()},
        "transitions": {row: dict(shares) for row, shares in one.transitions.items()},
        "outputs": {block: dict(shares) for block, shares in one.outputs.items()},
        "basis": one.basis,
        "matched": one.matched,
        "residual": list(one.residual),
        "judged_differently": list(one.differing),
        **hidden_as_json(one.hidden),
    }


# ---------------------------------------------------------------------------- notes
def _notes_of_ratings(ratings: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    methods = list(dict.fromkeys(one["method"] for one in ratings))
    return [note("methods-differ", methods=", ".join(methods))] if len(methods) > 1 else []


def _notes_of_prediction(predicted: Mapping[str, Any], by_table: str | None) -> list[dict[str, str]]:
    notes = []
    chances = predicted["probabilities"]
    # hidden effects can prevent a declared letter, but the matrices contradict the table even then
    sure = chances[predicted["letter"]] >= predicted["confidence"] * (1 - chances.get("unlocated", 0.0))
    if sure and by_table not in {None, predicted["letter"]}:
        notes.append(note("prediction-differs", table=by_table, predicted=predicted["letter"]))
    if predicted["emits_other"]:
        notes.append(note("emits-other"))
    return notes
