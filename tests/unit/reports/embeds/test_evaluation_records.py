"""Tests of a rating as a record of an evaluation: each fits the published schema of its format.

The schemas of A2A, Every Eval Ever, AI Verify, Hugging Face and Backstage are written down here by their required
fields, types and enumerations; that of CycloneDX is the one of its own library.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jsonschema
import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from reports.embeds import EMBEDS, PublicView

RATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NOW = RATED + timedelta(days=40)
GOLDEN = Path(__file__).parent / "golden"
RECORDS = [
    *("cyclonedx.json", "eval-results.yaml", "huggingface.yaml"),
    *("every-eval-ever.json", "ai-verify.json", "backstage-scorecard.yaml"),
    "a2a-extension.json",
]

TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
EVERY_EVAL_EVER = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema_version",
        "evaluation_id",
        "retrieved_timestamp",
        "source_metadata",
        "model_info",
        "eval_library",
        "evaluation_results",
    ],
    "properties": {
        "schema_version": {"const": "0.3.0"},
        "evaluation_id": {"type": "string"},
        "evaluation_timestamp": {"type": "string"},
        "retrieved_timestamp": {"type": "string", "pattern": r"^\d+$"},
        "source_metadata": {
            "required": ["source_type", "source_organization_name", "evaluator_relationship"],
            "properties": {
                "source_name": {"type": "string"},
                "source_type": {"enum": ["documentation", "evaluation_run"]},
                "source_organization_name": {"type": "string"},
                "source_organization_url": {"type": "string"},
                "evaluator_relationship": {"enum": ["first_party", "third_party", "collaborative", "other"]},
            },
        },
        "eval_library": {
            "required": ["name", "version"],
            "properties": {"name": {"type": "string"}, "version": {"type": "string"}},
        },
        "model_info": {
            "required": ["name", "id", "additional_details"],
            "properties": {
                "name": {"type": "string"},
                "id": {"type": "string"},
                "additional_details": {
                    **TEXTS,
                    "required": ["deployment_type", "model_availability"],
                    "properties": {
                        "deployment_type": {"enum": ["self_deployed", "externally_managed", "unknown"]},
                        "model_availability": {"enum": ["open_weights", "closed_weights", "unknown"]},
                    },
                },
            },
        },
        "evaluation_results": {
            "type": "array",
            "items": {
                "required": ["evaluation_name", "source_data", "metric_config", "score_details"],
                "properties": {
                    "evaluation_name": {"type": "string"},
                    "source_data": {
                        "required": ["dataset_name", "source_type"],
                        "properties": {
                            "dataset_name": {"type": "string"},
                            "source_type": {"enum": ["url", "hf_dataset", "other"]},
                            "url": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                        },
                        "if": {"properties": {"source_type": {"const": "url"}}},
                        "then": {"required": ["url"]},
                    },
                    "metric_config": {
                        "required": ["lower_is_better", "level_names", "has_unknown_level"],
                        "properties": {
                            "lower_is_better": {"type": "boolean"},
                            "score_type": {"const": "levels"},
                            "level_names": {"type": "array", "items": {"type": "string"}},
                            "has_unknown_level": {"type": "boolean"},
                        },
                    },
                    "score_details": {
                        "required": ["score"],
                        "properties": {"score": {"type": "number"}, "details": TEXTS},
                    },
                },
            },
        },
    },
}
"""Fields of eval.schema.json, version 0.3.0, of github.com/evaleval/every_eval_ever, for scores in levels."""

NAME = {"type": "string", "pattern": r"^[a-zA-Z0-9][a-zA-Z0-9-._]*$", "minLength": 1, "maxLength": 128}
AI_VERIFY = {
    "type": "object",
    "required": ["gid", "cid", "startTime", "timeTaken", "testArguments", "output"],
    "properties": {
        "gid": NAME,
        "cid": NAME,
        "version": {"type": "string"},
        "startTime": {"type": "string", "format": "date-time"},
        "timeTaken": {"type": "number"},
        "testArguments": {
            "type": "object",
            "required": ["testDataset", "mode", "modelType"],
            "properties": {
                "testDataset": {"type": "string", "format": "uri"},
                "mode": {"enum": ["upload", "api"]},
                "modelType": {"enum": ["classification", "regression"]},
            },
        },
        "artifacts": {"type": "array", "items": {"type": "string"}},
    },
}
"""Fields of aiverify.testresult.schema.json of aiverify-test-engine 2.2.1 (Apache-2.0)."""

RESULTS = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["dataset", "value"],
        "properties": {
            "dataset": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "task_id"],
                "properties": {"id": {"type": "string"}, "task_id": {"type": "string"}, "revision": {"type": "string"}},
            },
            "value": {"type": "number"},
            "verifyToken": {"type": "string"},
            "date": {"type": "string", "format": "date-time"},
            "source": {
                "type": "object",
                "additionalProperties": False,
                "required": ["url"],
                "properties": {name: {"type": "string"} for name in ("url", "name", "user", "org")},
            },
            "notes": {"type": "string"},
        },
    },
}
"""Fields of an entry in ``.eval_results/``, as `EvalResultEntry` of huggingface_hub 2.4.0 reads them."""

MODEL_INDEX = {
    "type": "object",
    "additionalProperties": False,
    "required": ["model-index"],
    "properties": {
        "model-index": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "results"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["task", "dataset", "metrics"],
                            "properties": {
                                "task": {"required": ["type"], "properties": {"type": {"type": "string"}}},
                                "dataset": {
                                    "required": ["type", "name"],
                                    "properties": {name: {"type": "string"} for name in ("type", "name")},
                                },
                                "metrics": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "required": ["type", "value"],
                                        "properties": {
                                            "type": {"type": "string"},
                                            "name": {"type": "string"},
                                            "value": {"type": ["string", "number"]},
                                            "args": TEXTS,
                                        },
                                    },
                                },
                                "source": {
                                    "required": ["url"],
                                    "properties": {name: {"type": "string"} for name in ("url", "name")},
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""Fields of ``model-index``, as `model_index_to_eval_results` of huggingface_hub 2.4.0 reads them."""

RESOURCE = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"enum": ["backstage.io/v1alpha1", "backstage.io/v1beta1"]},
        "kind": {"const": "Resource"},
        "metadata": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "pattern": r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", "maxLength": 63},
                "title": {"type": "string", "minLength": 1},
                "description": {"type": "string"},
                "annotations": TEXTS,
                "links": {"type": "array", "items": {"required": ["url"]}},
            },
        },
        "spec": {
            "type": "object",
            "required": ["type", "owner"],
            "properties": {
                "type": {"type": "string", "minLength": 1},
                "owner": {"type": "string", "minLength": 1},
                "dependencyOf": {"type": "array", "items": {"type": "string", "minLength": 1}},
            },
        },
    },
}
"""Fields of the schemas Resource.v1alpha1 and EntityMeta of @backstage/catalog-model (Apache-2.0)."""

TEXT_LIST = {"type": "array", "items": {"type": "string"}}
AGENT_EXTENSION = {
    "type": "object",
    "additionalProperties": False,
    "required": ["uri"],
    "properties": {
        "uri": {"type": "string", "format": "uri"},
        "description": {"type": "string"},
        "required": {"type": "boolean"},
        "params": {"type": "object"},
    },
}
"""Fields of ``AgentExtension`` in A2A 0.2 (a2a.json) and 1.0 (a2a.proto) of github.com/a2aproject/A2A (Apache-2.0)."""

AGENT_FIELDS = {
    **{name: {"type": "string"} for name in ("name", "description", "version", "documentationUrl", "iconUrl")},
    **dict.fromkeys(("defaultInputModes", "defaultOutputModes"), TEXT_LIST),
    "provider": {
        "required": ["organization", "url"],
        "properties": {name: {"type": "string"} for name in ("organization", "url")},
    },
    "capabilities": {
        "type": "object",
        "properties": {
            "streaming": {"type": "boolean"},
            "pushNotifications": {"type": "boolean"},
            "extensions": {"type": "array", "items": AGENT_EXTENSION},
        },
    },
    "skills": {
        "type": "array",
        "items": {
            "required": ["id", "name", "description", "tags"],
            "properties": {
                **{name: {"type": "string"} for name in ("id", "name", "description")},
                **dict.fromkeys(("tags", "examples", "inputModes", "outputModes"), TEXT_LIST),
            },
        },
    },
}
AGENT_REQUIRED = [
    *("name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"),
]
AGENT_CARDS = {
    "0.3": {
        "type": "object",
        "required": [*AGENT_REQUIRED, "protocolVersion", "url"],
        "properties": AGENT_FIELDS | {name: {"type": "string"} for name in ("protocolVersion", "url")},
    },
    "1.0": {
        "type": "object",
        "required": [*AGENT_REQUIRED, "supportedInterfaces"],
        "properties": AGENT_FIELDS
        | {
            "supportedInterfaces": {
                "type": "array",
                "items": {
                    "required": ["url", "protocolBinding", "protocolVersion"],
                    "properties": {
                        name: {"type": "string"} for name in ("url", "protocolBinding", "protocolVersion", "tenant")
                    },
                },
            }
        },
    },
}
"""Fields of ``AgentCard`` in a2a.json (0.3) and a2a.proto (1.0, in its JSON form) of the same repository."""

AGENT = {
    "name": "Translator",
    "description": "Translates texts.",
    "version": "1.2.0",
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "translate", "name": "Translate", "description": "Translates a text.", "tags": ["translation"]}],
}
AGENT_URL = "https://agent.example/a2a"
AGENT_INTERFACES = {
    "0.3": {"protocolVersion": "0.3.0", "url": AGENT_URL},
    "1.0": {
        "supportedInterfaces": [{"url": AGENT_URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    },
}

SCHEMAS = {
    "a2a-extension.json": AGENT_EXTENSION,
    "eval-results.yaml": RESULTS,
    "huggingface.yaml": MODEL_INDEX,
    "every-eval-ever.json": EVERY_EVAL_EVER,
    "ai-verify.json": AI_VERIFY,
    "backstage-scorecard.yaml": RESOURCE,
}


def shown(document, **changes):
    return PublicView(
        **{"document": document, "now": NOW, "base_url": "https://assay.example", "visibility": "public", **changes}
    )


def written(file, view):
    return next(embed for embed in EMBEDS if embed.file == file).render(view)


def read(file, view):
    text = written(file, view)
    return yaml.safe_load(text) if file.endswith(".yaml") else json.loads(text)


def views(document):
    """Return views of a rating that is valid, expired or withdrawn, and the view if there is no rating."""
    expired = shown(document, now=RATED + timedelta(days=400))
    return [shown(document), expired, shown(document, withdrawn=True), shown(None)]


@pytest.mark.parametrize("file", SCHEMAS)
def test_an_evaluation_record_of_a_rating_fits_the_schema_of_its_format(file, any_sample):
    checker = jsonschema.Draft202012Validator(SCHEMAS[file], format_checker=jsonschema.FormatChecker())
    for view in views(any_sample):
        checker.validate(read(file, view))


@pytest.mark.parametrize("version", AGENT_CARDS)
def test_an_agent_card_with_the_extension_fits_the_schema_of_a2a(version, any_sample):
    checker = jsonschema.Draft202012Validator(AGENT_CARDS[version], format_checker=jsonschema.FormatChecker())
    for view in views(any_sample):
        capabilities = {"streaming": False, "extensions": [read("a2a-extension.json", view)]}
        checker.validate(AGENT | AGENT_INTERFACES[version] | {"capabilities": capabilities})


def test_an_agent_card_states_the_facts_of_the_badge_and_where_they_are_verified(sample):
    view = shown(sample("DSBS with two components"))
    extension = read("a2a-extension.json", view)
    links = {"attestation": f"{view.address()}/attestation.json", "keys": "https://assay.example/.well-known/jwks.json"}
    assert extension["params"] == {**view.known_facts, **links}
    assert extension["required"] is False


@pytest.mark.parametrize(
    ("changes", "status"), [({"withdrawn": True}, "withdrawn"), ({"now": RATED + timedelta(days=400)}, "expired")]
)
def test_an_agent_card_says_that_a_rating_is_withdrawn_or_expired(sample, changes, status):
    extension = read("a2a-extension.json", shown(sample("DSBS with two components"), **changes))
    assert extension["params"]["status"] == status
    assert status in extension["description"]
    assert ("letter" in extension["params"]) is (status == "expired")


def test_a_bill_of_materials_fits_the_schema_of_cyclonedx(any_sample):
    checker = JsonStrictValidator(SchemaVersion.V1_6)
    for view in views(any_sample):
        assert checker.validate_str(written("cyclonedx.json", view)) is None


def test_the_claim_in_a_bill_of_materials_names_its_component_and_the_evidence(sample):
    bill = read("cyclonedx.json", shown(sample("DSBS with two components")))
    declarations, (component,) = bill["declarations"], bill["components"]
    (claim,), (evidence,) = declarations["claims"], declarations["evidence"]
    assert (claim["target"], claim["evidence"]) == (component["bom-ref"], [evidence["bom-ref"]])
    assert claim["predicate"] == "gender bias: DSBS"
    assert evidence["data"][0]["contents"]["url"].endswith("/export.jsonl")
    assert component["modelCard"]["quantitativeAnalysis"]["performanceMetrics"][0]["value"] == "DSBS"


def test_the_score_in_an_evaluation_record_is_the_index_of_the_letter_in_level_names(sample):
    document = sample("DSBS with two components")
    (entry,) = read("eval-results.yaml", shown(document))
    (result,) = read("every-eval-ever.json", shown(document))["evaluation_results"]
    names = result["metric_config"]["level_names"]
    assert names[entry["value"]] == names[result["score_details"]["score"]] == "DSBS"


@pytest.mark.parametrize("changes", [{"withdrawn": True}, {"now": RATED + timedelta(days=400)}])
def test_an_evaluation_record_gives_no_score_for_a_withdrawn_or_expired_rating(sample, changes):
    document = sample("DSBS with two components")
    assert read("eval-results.yaml", shown(document, **changes)) == []
    (result,) = read("every-eval-ever.json", shown(document, **changes))["evaluation_results"]
    assert result["score_details"]["score"] == -1


def test_an_evaluation_record_gives_no_score_for_an_undeclared_letter(sample):
    document = sample("undeclared")
    assert read("eval-results.yaml", shown(document)) == []
    (result,) = read("every-eval-ever.json", shown(document))["evaluation_results"]
    assert result["score_details"]["score"] == -1
    assert read("backstage-scorecard.yaml", shown(document))["spec"]["checks"]["declared"] is False


@pytest.mark.parametrize("file", RECORDS)
def test_an_evaluation_record_equals_the_stored_example_file_of_its_format(file, sample):
    assert written(file, shown(sample("DSBS with two components"))) == (GOLDEN / file).read_text("utf-8")
