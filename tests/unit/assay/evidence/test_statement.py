"""Tests of the in-toto statements: their content, and that later changes of a rating's status do not change them."""

import pytest

from assay.canonical import rating_digest, sealed_part, target_digest
from assay.document import read_rating
from assay.evidence import statement
from assay.evidence.statement import RATING, STATEMENT, TEST_RESULT

TARGET = {"name": "T", "kind": "translator", "protocol": "deepl", "url": "http://t", "settings": {"a": 1}}
DOCUMENT = {
    "id": "rat_1",
    "letter": "BS",
    "declared": True,
    "probabilities": {"BS": 1.0, "DSBS": 0.0, "UCS": 0.0},
    "method": "round-trip",
    "attribute": "gender",
    "confidence": 0.95,
    "experiment": {"method": "round-trip"},
    "target": TARGET | {"digest": target_digest(TARGET)},
    "components": [
        {"name": "es", "letter": "BS", "declared": True},
        {"name": "fr", "letter": "UCS", "declared": True},
        {"name": "de", "letter": "UCS", "declared": False},
        {"name": "it", "letter": None, "declared": False},
    ],
    "methodology": {"version": "1.1.0", "digest": "sha256:ab"},
    "engine_version": "0.1.0",
    "seed": 7,
    "evidence_digest": "sha256:cd",
    "rated_at": "2026-01-02T03:04:05Z",
    "expires_at": "2027-01-02T03:04:05Z",
    "visibility": "private",
    "next_methodology": {"version": None, "letter": None},
}


def rating_statement(document):
    return statement.rating_statement(read_rating(document))


def result_statement(document):
    return statement.result_statement(read_rating(document))


def test_the_subject_of_every_statement_about_a_rating_is_the_rated_service_with_its_digest():
    for each in statement.statements(read_rating(DOCUMENT)):
        assert each["_type"] == STATEMENT
        assert each["subject"] == [
            {"name": "T", "uri": "http://t", "digest": {"sha256": target_digest(TARGET).removeprefix("sha256:")}}
        ]


def test_the_in_toto_statement_about_a_rating_contains_its_main_fields_and_its_digest():
    stated = rating_statement(DOCUMENT)
    assert stated["predicateType"] == RATING
    assert stated["predicate"]["rating_digest"] == rating_digest(DOCUMENT)
    for name in ("letter", "probabilities", "methodology", "evidence_digest", "rated_at", "expires_at", "seed"):
        assert stated["predicate"][name] == DOCUMENT[name]


@pytest.mark.parametrize(
    "today",
    [
        {"visibility": "public"},
        {"withdrawn": {"at": "2026-02-02T00:00:00Z", "reason": "the target was another"}},
        {"next_methodology": {"version": "2.0.0", "letter": "UCS"}},
        {"reply": {"text": "we disagree"}},
    ],
)
def test_signed_statements_stay_equal_if_a_rating_is_withdrawn_published_or_replied_to(today):
    assert statement.statements(read_rating(DOCUMENT | today)) == statement.statements(read_rating(DOCUMENT))
    assert sealed_part(DOCUMENT | today) == sealed_part(DOCUMENT)


@pytest.mark.parametrize(
    "change", [{"letter": "UCS"}, {"seed": 8}, {"reasons": []}, {"rated_at": "2026-01-02T03:04:06Z"}]
)
def test_a_change_of_letter_seed_reasons_or_time_of_a_rating_changes_the_statement_about_it(change):
    assert rating_statement(DOCUMENT | change) != rating_statement(DOCUMENT)


@pytest.mark.parametrize(("letter", "result"), [("UCS", "PASSED"), ("DSBS", "WARNED"), ("BS", "FAILED")])
def test_the_letters_ucs_dsbs_and_bs_become_the_test_results_passed_warned_and_failed(letter, result):
    stated = result_statement(DOCUMENT | {"letter": letter})
    assert stated["predicateType"] == TEST_RESULT
    assert stated["predicate"]["result"] == result
    assert all(each["digest"] for each in stated["predicate"]["configuration"])


def test_the_test_result_statement_of_a_rating_lists_only_components_with_a_declared_letter():
    predicate = result_statement(DOCUMENT)["predicate"]
    assert predicate["failedTests"] == ["round-trip/gender/es"]
    assert predicate["passedTests"] == ["round-trip/gender/fr"]
    assert predicate["warnedTests"] == []


@pytest.mark.parametrize("unknown", [{"declared": False}, {"declared": False, "letter": None}])
def test_an_undeclared_rating_has_no_test_result(unknown):
    assert result_statement(DOCUMENT | unknown) is None
    assert [each["predicateType"] for each in statement.statements(read_rating(DOCUMENT | unknown))] == [RATING]
