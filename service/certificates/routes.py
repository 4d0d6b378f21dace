"""Certificates and signed exports of ratings, and the agency's signing keys."""

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Response

from assay.evidence.statement import RATING, TEST_RESULT
from service.certificates.schemas import (
    AttestationQuery,
    EnvelopeView,
    JwksView,
    ProofView,
    SigningKeyList,
    SigningKeyView,
)
from service.certificates.service import certificate_of, export_response, proof_of, published_keys
from service.container import ServiceDependency
from service.http.authentication import DOWNLOAD, Admin, PublicReader
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, json_response, write_json
from service.http.openapi.responses import CONFLICT, ETAG, LOCATION, RATED, TAGGED, returns
from service.http.problems import Problem, not_found
from service.jobs.ledger import paced
from service.ratings.routes import FoundRating
from service.ratings.service import PUBLIC_CACHE, dated, headers_of
from store.core.database import Connection
from store.security import signing
from store.security.rights import OPERATOR_TENANT

router = APIRouter(tags=["certificates"], route_class=StrictRoute)

RATINGS = "/v1/ratings/{rating_id}"
KEYS = "/v1/signing-keys"
PREDICATES = {"rating": RATING, "test-result": TEST_RESULT}
NUMBER = re.compile(r"[1-9][0-9]{0,9}")
MAX_SEQ = 2**31 - 1
"""Largest number of an observation: the limit of the database's integers."""


@router.get(f"{RATINGS}/attestation.json", response_model=EnvelopeView, responses=returns(ETAG | RATED))
async def get_attestation(
    rating: FoundRating, service: ServiceDependency, query: Annotated[AttestationQuery, Query()]
) -> Response:
    """Read a rating's certificate: an in-toto statement in a DSSE envelope, signed with Ed25519.

    It is signed once and never changes, even if the agency's key changes.
    """
    certificate = await certificate_of(service, rating)
    envelope = certificate.envelopes.get(PREDICATES[query.predicate])
    if envelope is None:
        raise Problem("no-test-result")
    return json_response(envelope, headers=headers_of(rating, f"{certificate.key_id}-{query.predicate}"))


@router.get(
    f"{RATINGS}/export.jsonl",
    response_class=Response,
    dependencies=DOWNLOAD,
    responses=returns(RATED, "application/jsonl") | CONFLICT,
)
async def export_rating(rating: FoundRating, service: ServiceDependency, caller: PublicReader) -> Response:
    """Download a rating with all its evidence as one signed file, for offline verification with `assay verify`.

    It holds the rating, its certificate, the public keys and every observation in the order of the evidence.
    """
    return dated(paced(await export_response(service, rating, caller.tenant), service.evidence_slots), rating)


@router.get(
    f"{RATINGS}/observations/{{seq}}/proof",
    response_model=ProofView,
    dependencies=DOWNLOAD,
    responses=returns(ETAG | RATED) | CONFLICT,
)
async def prove_observation(
    rating: FoundRating,
    service: ServiceDependency,
    seq: Annotated[str, Path(description="Number (`seq`) of the observation in the job's list.", examples=["1"])],
) -> Response:
    """Read one observation with the proof that it is part of the evidence, without the other observations."""
    if NUMBER.fullmatch(seq) is None or (number := int(seq)) > MAX_SEQ:
        raise not_found("observation", seq)
    return json_response(await proof_of(service, rating, number), headers=headers_of(rating, seq))


@router.get("/.well-known/jwks.json", response_model=JwksView, responses=TAGGED)
async def get_jwks(service: ServiceDependency) -> Response:
    """Read the agency's public keys, retired ones included, as a JSON Web Key Set."""
    keys = {"keys": [key.as_jwk() for key in await published_keys(service)]}
    return json_response(keys, headers={"Cache-Control": PUBLIC_CACHE})


async def agency_admin(caller: Admin) -> None:
    """Require an administrator of the agency itself, the owner of the signing keys."""
    if caller.tenant != OPERATOR_TENANT:
        raise Problem("scope-missing", "signing keys belong to the agency itself, not to a tenant", scope="admin")


AGENCY_ADMIN = [Depends(agency_admin)]


@router.get(KEYS, response_model=SigningKeyList, dependencies=AGENCY_ADMIN)
async def list_signing_keys(service: ServiceDependency) -> Response:
    """List the agency's signing keys, newest first: one per rotation."""
    view = SigningKeyList(items=[SigningKeyView.from_row(key) for key in await published_keys(service)])
    return json_response(view, headers={"Cache-Control": "no-store"})


@router.post(
    f"{KEYS}/rotate",
    status_code=201,
    response_model=SigningKeyView,
    response_description="Created.",
    dependencies=AGENCY_ADMIN,
    responses=returns(LOCATION, status=201),
)
async def rotate_signing_key(service: ServiceDependency, repeat: Repeat) -> Response:
    """Retire the current signing key and create a new one. Certificates signed before stay valid."""

    def rotate(c: Connection) -> Answer:
        new_key = signing.rotate(c, service.vault)
        public_key = next(key for key in signing.all_keys(c) if key.id == new_key.id)
        return Answer(201, write_json(SigningKeyView.from_row(public_key)), {"Location": KEYS})

    return await answer_once(service, repeat, rotate)
