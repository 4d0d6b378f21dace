"""in-toto statements of a certificate about a rated service.

A rating has two statements. The first holds the rating's facts under a predicate of Assay; the second is a
test result, for programs that know nothing of bias. An undeclared rating has no test result: a gate that
accepts warnings must not accept a service without a known letter.

References
----------
.. [1] in-toto attestation framework, Statement v1 and the predicate test-result v0.1.
"""

from collections.abc import Mapping

from assay.canonical import digest_of, rating_digest
from assay.document import Json, RatingDocument
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
"""Keys of the rating's document that the certificate repeats; its digest covers the whole document."""


def rating_statement(rating: RatingDocument) -> Json:
    """Return the statement of a stored rating: its main facts, and the digest of the whole document."""
    predicate = {"rating": rating.id, "rating_digest": rating_digest(rating.json)}
    # earlier ratings have no requester; nor may their statements, which are rebuilt to compare them with those signed
    requester = {"requester": rating.json["requester"]} if "requester" in rating.json else {}
    return _build_statement(rating, RATING, predicate | {name: rating.json.get(name) for name in STATED} | requester)


def result_statement(rating: RatingDocument) -> Json | None:
    """Return the statement of a stored rating as a test result; ``None`` if no letter was declared.

    Each declared component is a separate test: ``round-trip/gender/es``.
    """
    if not rating.declared or rating.letter is None:
        return None
    methodology = rating.methodology
    predicate = {
        "result": RESULTS[rating.letter],
        "configuration": [
            {"name": "experiment", "digest": _digest_set(digest_of(rating.experiment))},
            {"name": f"methodology {methodology.version}", "digest": _digest_set(methodology.digest)},
            {"name": f"rating {rating.id}", "digest": _digest_set(rating_digest(rating.json))},
        ],
    }
    tests = {f"{result.lower()}Tests": _test_names(rating, letter) for letter, result in RESULTS.items()}
    return _build_statement(rating, TEST_RESULT, predicate | tests)


def statements(rating: RatingDocument) -> list[Json]:
    """Return all statements of a stored rating, the full one first."""
    return [statement for statement in (rating_statement(rating), result_statement(rating)) if statement is not None]


def _build_statement(rating: RatingDocument, predicate_type: str, predicate: Json) -> Json:
    """Return a statement whose subject is the rated service, identified by its digest."""
    target = rating.target
    subject = {"name": target.name, "digest": _digest_set(target.digest)}
    if target.url:
        subject["uri"] = target.url
    return {"_type": STATEMENT, "subject": [subject], "predicateType": predicate_type, "predicate": dict(predicate)}


def _test_names(rating: RatingDocument, letter: str) -> list[str]:
    """Return the names of the components with this declared letter, as tests."""
    return [
        f"{rating.method}/{rating.attribute}/{component.name}"
        for component in rating.components
        if component.declared and component.letter == letter
    ]


def _digest_set(digest: str | None) -> dict[str, str]:
    algorithm, _, value = str(digest).partition(":")
    return {algorithm: value}
