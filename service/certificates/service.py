"""Certificates of ratings, the agency's signing keys, exports of evidence, and proofs of single observations.

`assay.evidence.export` computes the order of the Merkle tree. At most one batch of the experiment is held in memory.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

from starlette.responses import StreamingResponse

from assay.canonical import canonical_json, leaf_hash
from assay.errors import RecordIncomplete, SpecificationError
from assay.evidence.export import MEDIA_TYPE, ExportWriter, Unrolling
from assay.evidence.merkle import head as tree_head
from assay.evidence.merkle import inclusion_proof
from assay.model import Observation
from service.certificates.schemas import EnvelopeView, ProofView
from service.container import Service
from service.http.problems import Problem, not_found
from store.core.database import AsyncDatabase
from store.core.errors import SecretLost, SecretMoved
from store.jobs import observations
from store.ratings import certificates
from store.ratings.certificates import Certificate
from store.ratings.experiment_json import rated_method
from store.ratings.ratings import StoredRating
from store.security import signing
from store.security.signing import PublicKey, SigningKey

PROBES_PER_READ = 500


async def export_response(service: Service, rating: StoredRating, tenant: str) -> StreamingResponse:
    """Stream a rating's export: document, certificate, keys, observations, and a signature of all of it.

    If `tenant` owns the rating, the export also has the document in which small counts of people are not masked.

    Raise `Problem` ``evidence-out-of-order`` if stored observations are not those that the experiment asks for. If this
    is noticed after the first batch was sent, the stream ends early instead, without its signature.
    """
    certificate, key = await certificate_of(service, rating), await signing_key(service)
    keys = [key.as_jwk() for key in await published_keys(service)]
    unmasked_document = rating.unmasked if tenant == rating.tenant else None
    writer = ExportWriter()
    batches = leaves(service.database, rating)
    # read first, because errors can be reported only before the first byte of the answer
    first_batch = await anext(batches, list[Observation]())

    async def lines() -> AsyncIterator[bytes]:
        yield writer.opening(rating.shown, list(certificate.envelopes.values()), keys, unmasked_document)
        yield await asyncio.to_thread(_export_lines, writer, first_batch)
        async for batch in batches:
            yield await asyncio.to_thread(_export_lines, writer, batch)
        yield await asyncio.to_thread(writer.closing, {key.id: key.sign})

    headers = {"Content-Disposition": f'attachment; filename="{rating.id}.export.jsonl"', "Cache-Control": "no-store"}
    return StreamingResponse(lines(), media_type=MEDIA_TYPE, headers=headers)


async def proof_of(service: Service, rating: StoredRating, seq: int) -> ProofView:
    """Return one observation, with the proof that it is part of the evidence.

    Raise `Problem` ``not-found`` if there is no observation numbered `seq`; ``evidence-out-of-order`` if the stored
    observations are not those of the certificate.
    """
    rows = await service.database.read(observations.page, rating.job_id, after=seq - 1, limit=1)
    if not rows or rows[0].seq != seq:  # without this number, the first row is a later observation
        raise not_found("observation", str(seq))
    observation = rows[0].observation
    hashes = await service.leaf_hashes.get(rating.id, partial(_read_leaf_hashes, service, rating))
    (own_hash,) = _leaf_hashes([observation])
    if own_hash not in hashes:
        raise Problem("evidence-out-of-order")
    leaf_index = hashes.index(own_hash)
    proof = await asyncio.to_thread(inclusion_proof, hashes, leaf_index)
    certificate = await certificate_of(service, rating)
    return ProofView(
        rating=rating.id,
        seq=seq,
        observation=observation.as_json(),
        leaf_index=leaf_index,
        tree_size=len(hashes),
        proof=[step.hex() for step in proof],
        evidence_digest=str(rating.rating.evidence_digest),
        attestation=EnvelopeView.model_validate(certificate.statement),
    )


async def _read_leaf_hashes(service: Service, rating: StoredRating) -> list[bytes]:
    """Return the leaf hashes of a rating's Merkle tree; raise ``evidence-out-of-order`` if its root has changed."""
    async with service.evidence_slots:  # 25,000 observations take a second of processor time
        batches = leaves(service.database, rating)
        hashes = [leaf async for batch in batches for leaf in await asyncio.to_thread(_leaf_hashes, batch)]
        if f"sha256:{(await asyncio.to_thread(tree_head, hashes)).hex()}" != rating.rating.evidence_digest:
            raise Problem("evidence-out-of-order")
    return hashes


async def leaves(database: AsyncDatabase, rating: StoredRating) -> AsyncIterator[list[Observation]]:
    """Yield a rating's observations in its Merkle tree's order; raise ``evidence-out-of-order`` if any is missing."""
    unrolling = _unrolling_of(rating, await database.read(observations.count, rating.job_id))  # replays the experiment
    while batch := await asyncio.to_thread(unrolling.advance):
        for start in range(0, len(batch), PROBES_PER_READ):
            probes = batch[start : start + PROBES_PER_READ]
            replies = await database.read(observations.recall, rating.job_id, [probe.unit for probe in probes])
            try:
                next_leaves = unrolling.accept(probes, replies)
            except RecordIncomplete:
                raise Problem("evidence-out-of-order") from None
            yield next_leaves


def _unrolling_of(rating: StoredRating, reply_count: int) -> Unrolling:
    """Return a replay of a rating's experiment; it puts its `reply_count` observations into the Merkle tree's order."""
    unmasked_rating = rating.seen_by(rating.tenant).rating  # as its owner sees it: the public form may have no seed
    try:
        method = rated_method(unmasked_rating)
    except SpecificationError as error:  # this version of Assay no longer supports the experiment
        raise Problem("evidence-out-of-order", str(error)) from None
    if unmasked_rating.seed is None:
        raise Problem("evidence-out-of-order", "the rating has no seed")
    return Unrolling(method, unmasked_rating.seed, reply_count)


def _export_lines(writer: ExportWriter, batch: Sequence[Observation]) -> bytes:
    return b"".join(writer.observation(observation.as_json()) for observation in batch)


def _leaf_hashes(batch: Sequence[Observation]) -> list[bytes]:
    return [leaf_hash(canonical_json(observation.as_json())) for observation in batch]


async def certificate_of(service: Service, rating: StoredRating) -> Certificate:
    """Return a rating's certificate, which is signed now if no worker has signed it.

    Raise `SigningUnavailable` if the signing key is kept outside the database and cannot be reached.
    """
    certificate = await service.database.read(certificates.find, rating.id)
    if certificate is not None:
        return certificate
    key = await signing_key(service)
    envelopes = await asyncio.to_thread(certificates.envelopes_of, key, rating)
    return await service.database.write(certificates.keep, rating.id, key.id, envelopes)


async def signing_key(service: Service) -> SigningKey:
    """Return the current signing key, created if there is none; raise ``signing-key-lost`` if decryption fails."""
    try:
        key = await service.database.read(signing.find, service.vault)
        # `signing.current` creates the first key
        return await service.database.write(signing.current, service.vault) if key is None else key
    except (SecretLost, SecretMoved):
        raise Problem("signing-key-lost") from None


async def published_keys(service: Service) -> list[PublicKey]:
    """Return all signing keys, retired ones included."""
    return await service.database.read(signing.all_keys)
