"""The document of a composition: the inferred rating of services called one after the other.

Every statement about the composite is *inferred*; the statements about its parts were measured.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache

import numpy as np

from assay.catalog import attribute
from assay.composition.chain import INFERRED, TableName
from assay.composition.compatibility import Incompatible, kind_of_chain
from assay.composition.lookup import part_of, tables_document
from assay.composition.prediction.measured_service import read_contents, read_evidence
from assay.composition.prediction.predicted import Prediction, line_up, predict_chain
from assay.composition.wording import explain_prediction, note
from assay.document import Json, JsonObject, RatingDocument, as_json
from assay.errors import SpecificationError
from assay.model import Kind, Letter, Observation
from assay.rating.decision import DEFAULT_CONFIDENCE, PartLetter, vote_probabilities, worst_probabilities
from assay.rating.losses import hidden_documents

MEASURED = "measured"
"""Provenance of the statements about the parts (the single services of a chain)."""


def check_chain(ratings: Sequence[RatingDocument]) -> Kind:
    """Check that ratings can be composed, and return the kind of the chain.

    Raise `OutOfBounds` if there are too few or too many ratings, and `Incompatible` (it names the link) if a service
    was rated for another attribute than the first, is of a kind that cannot follow the service before it, or was rated
    on records although it would receive texts.
    """
    kind = kind_of_chain([_service_kind(rating) for rating in ratings])
    attribute = ratings[0].attribute
    for index, rating in enumerate(ratings[1:], start=1):
        if rating.attribute != attribute:
            raise Incompatible(
                index,
                f"link {index + 1} was rated for {rating.attribute} and link 1 for {attribute}; "
                "ratings of one attribute would do",
            )
        if rating.experiment.get("records") is not None:
            raise Incompatible(
                index, f"link {index + 1} was rated on records, and link {index} returns a text; use a rating on texts"
            )
    return kind


def _service_kind(rating: RatingDocument) -> Kind:
    if rating.target.kind not in tuple(Kind):
        raise SpecificationError(f"a rating's target has a kind, one of {', '.join(Kind)}; seen: {rating.target.kind}")
    return Kind(rating.target.kind)


def composition_document(
    ratings: Sequence[RatingDocument],
    rng: np.random.Generator,
    *,
    table: TableName = "published",
    observations: Sequence[Sequence[Observation]] = (),
) -> JsonObject:
    """Infer the rating of a chain and return it as a document.

    The letter comes from `table`; the document holds the results of both tables. `observations` are those recorded for
    each rating, if available; services that were asked the same sentences are then chained sentence by sentence. Raise
    `OutOfBounds` and `Incompatible` as `check_chain`.
    """
    kind = check_chain(ratings)
    parts = [part_of(rating) for rating in ratings]
    predictions, reason = _predict_chains(ratings, rng, observations)
    prediction_json = _prediction_json(predictions, ratings[0]) if predictions else None
    tables = tables_document(parts, table)
    explanation = [
        *tables.pop("explanation"),
        *(entry for prediction in predictions for entry in explain_prediction(prediction)),
    ]
    notes = [*tables.pop("notes")]
    if len(methods := list(dict.fromkeys(str(rating.method) for rating in ratings))) > 1:
        notes.append(note("methods-differ", methods=", ".join(methods)))
    table_result = tables["tables"][table]
    letter = table_result["letter"]
    settled_by = None if letter is None else "table"
    if prediction_json is not None:
        notes += _prediction_notes(prediction_json, table_result["letter"])
        if letter is None and prediction_json["declared"]:
            letter, settled_by = prediction_json["letter"], "matrices"
    if letter is None:
        notes.append(note("must-be-measured"))
    return {
        "provenance": INFERRED,
        "kind": kind.value,
        "attribute": ratings[0].attribute,
        "letter": letter,
        "settled_by": settled_by,
        "must_be_measured": letter is None,
        **tables,
        "predicted": prediction_json,
        "not_predicted": reason,
        "explanation": list(dict.fromkeys(explanation)),
        "notes": notes,
    }


def _predict_chains(
    ratings: Sequence[RatingDocument], rng: np.random.Generator, observations: Sequence[Sequence[Observation]]
) -> tuple[Sequence[Prediction], str | None]:
    """Predict each chain of components; return the predictions and ``None``, or none and the reason why not."""
    evidence = [read_evidence(rating) for rating in ratings]
    for number, (components, rating) in enumerate(zip(evidence, ratings, strict=True), start=1):
        if not components:
            return (), f"link {number}, rated by {rating.method}, has no matrix that can be chained"
        if len(components) < len(rating.components):
            return (), f"link {number} has components that could not be measured"
        if any(PartLetter.of(component).withheld for component in rating.components):
            return (), f"link {number} has components whose letter is withheld"
    if observations:
        records = {id(record): record for record in observations}  # several links can have the same record
        contents_of = cache(lambda key, name: read_contents(records[key], name, attribute(str(ratings[0].attribute))))
        evidence = [
            tuple(replace(component, contents=contents_of(id(record), component.name)) for component in components)
            for components, record in zip(evidence, observations, strict=True)
        ]
    try:
        chains = line_up(evidence)
        predictions = [
            predict_chain(chain, chain_rng) for chain, chain_rng in zip(chains, rng.spawn(len(chains)), strict=True)
        ]
    except SpecificationError as error:
        return (), str(error)
    return predictions, None


def _prediction_json(predictions: Sequence[Prediction], first_rating: RatingDocument) -> JsonObject:
    """Combine the predictions of the components to one letter, by the rule of the first rating, as JSON."""
    confidence = first_rating.confidence or DEFAULT_CONFIDENCE
    is_vote = first_rating.aggregation.rule == "vote"
    posteriors = [prediction.probabilities for prediction in predictions]
    probabilities = vote_probabilities(posteriors) if is_vote else worst_probabilities(posteriors)
    letter = probabilities.likeliest
    if letter is Letter.BS and not is_vote:  # one biased component suffices
        is_declared = any(prediction.declared for prediction in predictions if prediction.letter is letter)
    else:
        is_declared = all(prediction.declared for prediction in predictions)
    return {
        "provenance": INFERRED,
        "letter": letter.value,
        "declared": is_declared and probabilities.of(letter) >= confidence,
        "confidence": confidence,
        "probabilities": probabilities.as_json(),
        "emits_other": any(prediction.emits_other for prediction in predictions),
        "components": [_component_json(prediction) for prediction in predictions],
    }


def _component_json(prediction: Prediction) -> JsonObject:
    """Return the prediction of one component as JSON."""
    return {
        "names": list(prediction.names),
        "letter": prediction.letter.value,
        "declared": prediction.declared,
        "probabilities": prediction.probabilities.as_json(),
        "effects": {name: None if effect is None else asdict(effect) for name, effect in prediction.effects.items()},
        "transitions": {row: dict(shares) for row, shares in prediction.transitions.items()},
        "outputs": {block: dict(shares) for block, shares in prediction.outputs.items()},
        "basis": prediction.basis,
        "matched": prediction.matched,
        "residual": list(prediction.residual),
        "judged_differently": list(prediction.differing),
        **({"hidden": as_json(hidden_documents(prediction.hidden))} if prediction.hidden else {}),
    }


def _prediction_notes(prediction: Json, table_letter: str | None) -> list[dict[str, str]]:
    """Return notes: if the predicted letter is sure and not the table's, and if some outputs name no value."""
    notes, probabilities = [], prediction["probabilities"]
    # "unlocated" (hidden effects) prevents a declared letter, but the matrices contradict the table even then
    p_located = 1 - probabilities.get("unlocated", 0.0)
    is_assured = probabilities[prediction["letter"]] >= prediction["confidence"] * p_located
    if is_assured and table_letter not in {None, prediction["letter"]}:
        notes.append(note("prediction-differs", table=table_letter, predicted=prediction["letter"]))
    if prediction["emits_other"]:
        notes.append(note("emits-other"))
    return notes
