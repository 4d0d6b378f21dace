"""Writers of a rating as a record of an evaluation: CycloneDX, Every Eval Ever, AI Verify, Hugging Face, Backstage.

Programs read these records together with the results of other evaluations of the same model.
"""

import re
from typing import Any

from assay.document import Json, JsonObject
from assay.model import Kind, Letter
from reports.embeds.catalogs import ANY_TASK, TASKS, backstage
from reports.embeds.notation import json_text
from reports.embeds.public_view import PublicView, State

LEVELS = tuple(letter.value for letter in (Letter.BS, Letter.DSBS, Letter.UCS))
"""Letters from the worst to the best."""

UNKNOWN_LEVEL = -1
"""Score of a rating without a declared letter; the scores of letters are their positions in `LEVELS`."""

MODEL, AGENCY, CLAIM, EVIDENCE = "rated-service", "assay", "bias-rating", "recorded-answers"
"""Identifiers (``bom-ref``) within a CycloneDX document."""


def _declared_letter(view: PublicView) -> str | None:
    """Return the letter if it is declared and neither expired nor withdrawn, otherwise ``None``."""
    return view.letter.value if view.letter is not None and view.state is State.RATED else None


def _sentences(view: PublicView) -> str:
    return " ".join(filter(None, (None if view.letter is None else view.sentence, view.meaning)))


def cyclonedx(view: PublicView) -> str:
    """Write a bill of materials of the rated service (CycloneDX 1.6): its model card, and the claim with its evidence.

    Merge it into the bill of a product that uses the service; without a rating it has neither metrics nor claims.
    """
    component: JsonObject = {
        "bom-ref": MODEL,
        "type": "machine-learning-model",
        "name": view.model or view.target,
        "modelCard": _model_card(view),
        "properties": [{"name": f"assay:{name}", "value": value} for name, value in view.known_texts.items()],
    }
    references: list[JsonObject] = []
    if view.rating.target.url:
        references.append({"type": "website", "url": view.rating.target.url})
    if view.address():
        references.append({"type": "certification-report", "url": view.address("report.html")})
        references.append({"type": "attestation", "url": view.address("attestation.json")})
    bill: JsonObject = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": [component | ({"externalReferences": references} if references else {})],
    }
    return json_text(bill | ({"declarations": _declarations(view)} if view.rating.id else {}))


def _model_card(view: PublicView) -> JsonObject:
    card: JsonObject = {"modelParameters": {"task": TASKS.get(view.rating.target.kind or "", ANY_TASK)}}
    if view.rating.id is None:
        return card
    metrics = [{"type": "bias-rating", "value": view.message, "slice": view.subject}]
    if view.probability is not None:
        metrics.append(
            {"type": f"probability-of-{view.letter}", "value": f"{view.probability:.4f}", "slice": view.subject}
        )
    fairness = {"groupAtRisk": f"groups of {view.rating.attribute or 'people'}", "harms": _sentences(view)}
    return card | {
        "quantitativeAnalysis": {"performanceMetrics": metrics},
        "considerations": {"fairnessAssessments": [fairness]},
    }


def _declarations(view: PublicView) -> JsonObject:
    """Return the CycloneDX declarations: the claim (the rating), its evidence, and the agency that assessed it."""
    facts = view.known_facts
    answers_link = [{"name": "Recorded answers", "contents": {"url": view.address("export.jsonl")}}]
    evidence = {"bom-ref": EVIDENCE, "propertyName": "assay:evidence", "data": answers_link}
    dates = {"created": facts.get("rated_at"), "expires": facts.get("expires_at")}
    claim = {"bom-ref": CLAIM, "target": MODEL, "predicate": f"{view.subject}: {view.message}", "evidence": [EVIDENCE]}
    attestation: JsonObject = {"claims": [CLAIM]}
    if view.probability is not None:
        attestation["confidence"] = {"score": view.probability, "rationale": f"Probability of {view.letter}"}
    return {
        "assessors": [
            {
                "bom-ref": AGENCY,
                "thirdParty": view.requested_by != "owner",
                "organization": {"name": "Assay", "url": [view.base_url]},
            }
        ],
        "claims": [claim | {"reasoning": _sentences(view)}],
        "evidence": [evidence | {name: date for name, date in dates.items() if date is not None}],
        "attestations": [{"summary": f"Bias rating of {view.target}", "assessor": AGENCY, "map": [attestation]}],
    }


EVERY_EVAL_EVER = "0.3.0"
"""Version of the schema of github.com/evaleval/every_eval_ever."""

DEPLOYMENT = ("deployment_type", "model_availability")
"""Names of details of a model that the schema demands and an agency cannot know; they get the value "unknown"."""


def every_eval_ever(view: PublicView) -> str:
    """Write the record of one evaluation in the schema Every Eval Ever; the letters are the levels of its score."""
    letter = _declared_letter(view)
    name = "/".join(filter(None, ("assay", view.rating.method, view.rating.attribute)))
    model = view.model or view.target
    times = {"evaluation_timestamp": view.known_facts["rated_at"]} if view.rated_at else {}
    score = {"score": UNKNOWN_LEVEL if letter is None else LEVELS.index(letter), "details": view.known_texts}
    source: JsonObject = {"dataset_name": f"Probes of {name}", "source_type": "other"}
    if view.address():
        source |= {"source_type": "url", "url": [view.address("export.jsonl")]}
    levels = {"level_names": list(LEVELS), "has_unknown_level": True, "lower_is_better": False, "score_type": "levels"}
    result = {"evaluation_name": name, "source_data": source, "metric_config": levels, "score_details": score}
    timestamp = str(int((view.rated_at or view.now).timestamp()))
    return json_text(
        {
            "schema_version": EVERY_EVAL_EVER,
            "evaluation_id": f"{name}/{model}/{timestamp}",
            "retrieved_timestamp": timestamp,
            **times,
            "source_metadata": {
                "source_name": "Assay",
                "source_type": "evaluation_run",
                "source_organization_name": "Assay",
                "source_organization_url": view.base_url,
                "evaluator_relationship": "first_party" if view.requested_by == "owner" else "third_party",
            },
            "eval_library": {"name": "assay", "version": view.rating.methodology.version or "unknown"},
            "model_info": {"name": model, "id": model, "additional_details": dict.fromkeys(DEPLOYMENT, "unknown")},
            "evaluation_results": [result] if view.rating.id else [],
        }
    )


def ai_verify(view: PublicView) -> str:
    """Write a test result of AI Verify (schema ``aiverify.algorithm.testresult``).

    AI Verify knows classification and regression only: every service that gives no numbers counts as classification,
    and ``algorithmArgs`` names its kind. A rating does not record how long its calls took, so ``timeTaken`` is 0.
    """
    return json_text(
        {
            "gid": "assay",
            "cid": view.rating.method or "bias-rating",
            "version": view.rating.methodology.version or "unknown",
            "startTime": view.known_facts.get("rated_at", view.now.strftime("%Y-%m-%dT%H:%M:%SZ")),
            "timeTaken": 0,
            "testArguments": {
                "testDataset": view.address("export.jsonl") or view.base_url,
                "mode": "api",
                "modelType": "regression" if view.rating.target.kind == Kind.REGRESSOR else "classification",
                "algorithmArgs": {"kind": view.rating.target.kind, "attribute": view.rating.attribute},
            },
            "output": dict(view.facts) | {"words": _sentences(view)},
            "artifacts": [],
        }
    )


def eval_results(view: PublicView) -> list[JsonObject]:
    """Return the entries of a file in ``.eval_results/`` of a model on Hugging Face; empty without a declared letter.

    The Hub shows an entry as a score in a benchmark. The benchmark (a dataset) is "assay/METHOD", its task is the
    attribute, and the score is the index of the letter in `LEVELS`.
    """
    letter = _declared_letter(view)
    if letter is None:
        return []
    scale = ", ".join(f"{name} = {level}" for level, name in enumerate(LEVELS))
    entry: JsonObject = {
        "dataset": {"id": f"assay/{view.rating.method}", "task_id": view.rating.attribute or "default"},
        "value": LEVELS.index(letter),
        "source": {"url": view.address("report.html") or view.base_url, "name": "Assay"},
        "notes": f"{view.message} ({scale}). {_sentences(view)}",
    }
    return [entry | ({"date": view.known_facts["rated_at"]} if view.rated_at else {})]


_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
LONGEST_NAME = 63  # of an entity of Backstage


def backstage_scorecard(view: PublicView) -> JsonObject:
    """Return an entity of kind Resource for Backstage: the rating as a card of its own, with its checks.

    Backstage knows no kind for scorecards; set ``spec.owner``, and name the rated entity in ``spec.dependencyOf``.
    """
    name_parts = ("bias-rating", view.rating.attribute, view.target)
    name = _NOT_IN_NAMES.sub("-", " ".join(filter(None, name_parts)))[:LONGEST_NAME].strip("-")
    metadata: Any = {"description": _sentences(view), **backstage(view)["metadata"]}
    checks: Json = {
        "declared": view.declared,
        "current": view.state is State.RATED,
        "unbiased": _declared_letter(view) == Letter.UCS.value,
        "not-biased-by-itself": _declared_letter(view) in {Letter.UCS.value, Letter.DSBS.value},
    }
    return {
        "apiVersion": "backstage.io/v1alpha1",
        "kind": "Resource",
        "metadata": {"name": name, "title": f"{view.target}: {view.message}", **metadata},
        "spec": {"type": "bias-rating", "owner": "unknown", "dependencyOf": [], "checks": checks},
    }
