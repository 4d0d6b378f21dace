"""in-toto statements of a certificate about a rated service.

A rating has two statements. The first holds the rating's facts under a predicate of Assay; the second is a
test result, for programs that know nothing of bias. An undeclared rating has no test result: a gate that
accepts warnings must not accept a service without a known letter.

References
----------
.. [1] in-toto attestation framework, Statement v1 and the predicate test-result v0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.canonical import digest_of, rating_digest
from assay.model import Letter

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
RATING = "urn:assay:predicate:rating:v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"

RESULTS: Mapping[str, str] = {Letter.UCS: "PASSED", Letter.DSBS: "WARNED", Letter.BS: "FAILED"}
"""Test result of each letter."""

STATED = (
    "letter",
    "declared",
    "probabilities",
    "method",
    "attribute",
    "confidence",
    "methodology",
    "engine_version",
    "seed",
    "evidence_digest",
    "rated_at",
    "expires_at",
)
"""Parts of the rating's document that the certificate repeats; the digest covers the whole document."""


def rating_statement(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statement of a rating: its main facts, and the digest of the whole document.

    Parameters
    ----------
    document : mapping
        A stored rating, complete with ``id``, ``rated_at`` and ``expires_at``.
    """
    predicate = {"rating": document["id"], "rating_digest": rating_digest(document)}
    # not in ratings of earlier versions, whose statements are signed
    requested = {"requester": document["requester"]} if "requester" in document else {}
    return _statement(document, RATING, predicate | {name: document.get(name) for name in STATED} | requested)


def result_statement(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the statement of a rating as a test result; ``None`` if no letter was declared.

    Each declared component is a separate test: ``round-trip/gender/es``.
    """
    if not document["declared"] or document["letter"] is None:
        return None
    methodology = document["methodology"]
    predicate = {
        "result": RESULTS[document["letter"]],
        "configuration": [
            {"name": "experiment", "digest": _hash(digest_of(document.get("experiment") or {}))},
            {"name": f"methodology {methodology['version']}", "digest": _hash(methodology["digest"])},
            {"name": f"rating {document['id']}", "digest": _hash(rating_digest(document))},
        ],
    }
    tests = {f"{result.lower()}Tests": _tests(document, letter) for letter, result in RESULTS.items()}
    return _statement(document, TEST_RESULT, predicate | tests)


def statements(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all statements of a rating, the full one first."""
    candidates = (rating_statement(document), result_statement(document))
    return [statement for statement in candidates if statement is not None]


def _statement(document: Mapping[str, Any], predicate_type: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    target = document["target"]
    subject = {"name": target["name"], "digest": _hash(target["digest"])}
    if target.get("url"):
        subject["uri"] = target["url"]
    return {"_type": STATEMENT, "subject": [subject], "predicateType": predicate_type, "predicate": dict(predicate)}


def _tests(document: Mapping[str, Any], letter: str) -> list[str]:
    name = f"{document['method']}/{document['attribute']}"
    return [
        f"{name}/{component['name']}"
        for component in document["components"]
        if component["declared"] and component["letter"] == letter
    ]


def _hash(digest: str) -> dict[str, str]:
    algorithm, _, value = digest.partition(":")
    return {algorithm: value}
