"""Tests of certificates: signed once and unchanged by key rotation."""

import json

import pytest
from sqlalchemy import func, select

from assay.evidence.dsse import opened, signer_of
from assay.evidence.statement import RATING, TEST_RESULT
from store.ratings import certificates, ratings
from store.ratings.tables import certificates as table
from store.security import signing
from store.security.secrets import Vault
from tests.support.concurrency import run_concurrently
from tests.support.signing import stated_document


@pytest.fixture
def vault() -> Vault:
    return Vault(b"o" * 32, "old")


@pytest.fixture
def rating(database, published):
    """Factory of ratings with every field that a certificate states."""

    def make(**changes):
        document = stated_document(**changes)
        rating_id = published(document=document, letter=document["letter"], declared=document["declared"])
        with database.read() as c:
            return ratings.find(c, rating_id, "acme")

    return make


def issue(database, vault, rating):
    """Sign a rating and store its certificate, as a worker or the service does."""
    with database.write() as c:
        key = signing.current(c, vault)
    envelopes = certificates.envelopes_of(key, rating)
    with database.write() as c:
        return certificates.keep(c, rating.id, key.id, envelopes)


def test_certificate_is_signed_once_and_stays_valid_after_key_rotation(database, vault, rating):
    one = rating()
    with database.read() as c:
        assert certificates.find(c, one.id) is None
    made = issue(database, vault, one)
    with database.write() as c:
        signing.rotate(c, vault)
    again = issue(database, vault, one)
    with database.read() as c:
        assert certificates.find(c, one.id) == again == made
        keys = {each.id: each.public_key for each in signing.all_keys(c)}
    for kind, envelope in made.envelopes.items():
        parsed = opened(envelope)
        assert json.loads(parsed.payload)["predicateType"] == kind
        assert signer_of(parsed, lambda key_id, *signed: signing.is_signature(keys[key_id], *signed)) == made.key_id


def test_concurrent_requests_get_the_same_certificate(database, vault, rating):
    one = rating()

    issued = run_concurrently(4, lambda _: issue(database, vault, one))
    assert issued == [issued[0]] * 4
    with database.read() as c:
        assert c.execute(select(func.count()).select_from(table)).scalar_one() == 1


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, {RATING, TEST_RESULT}),
        ({"declared": False}, {RATING}),
        ({"declared": False, "letter": None, "probabilities": None}, {RATING}),
    ],
)
def test_only_a_declared_letter_has_a_test_result_statement(database, vault, rating, changes, kinds):
    assert set(issue(database, vault, rating(**changes)).envelopes) == kinds
