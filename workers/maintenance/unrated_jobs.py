"""Jobs that rate no service: checks of host ownership, dry runs of services, and re-ratings of stored evidence.

A challenge checks that a host serves the token of the tenant that owns it. The host is called through the guard of
outgoing calls: public addresses over https with a trusted certificate. In networks that the operator allows
(`ASSAY_EGRESS_ALLOW`), http is tried first. Redirects are failures.
"""

import asyncio
import hmac

from assay.document import RatingDocument
from assay.errors import UnknownName
from store.jobs import jobs, runs
from store.jobs.jobs import Claim
from store.ratings import ratings, rerated
from store.targets import domains
from store.targets.domains import CHALLENGE_PATH, Domain
from workers.egress import AGENT, CallFailed, Egress
from workers.engine.worker_context import WorkerContext
from workers.job_targets import USUAL_PAIRS, open_services
from workers.probe import image_questions, probe

TIMEOUT_S = 10
"""Timeout of one call in seconds."""

CAP_BYTES = 16_384
"""Maximum size in bytes of the file that holds the token."""

TRY_HTTPS_AFTER = frozenset({"connect", "truncated", "garbage", "http-400"})
"""Codes of failures of an http call after which https is tried."""


async def look_for_token(context: WorkerContext, claim: Claim) -> None:
    """Check whether a domain serves the token that proves its ownership, and store whether it does, or why not."""
    domain_id = str((claim.job.experiment or {}).get("domain"))
    with context.database.read() as connection:
        domain = domains.find(connection, domain_id, claim.job.tenant)
    failure = "the domain was removed" if domain is None else None
    if domain is not None:
        networks = context.settings.egress_networks  # the operator's: callable, and exempt from limits of hosts
        async with Egress(networks, response_cap=CAP_BYTES, exempt_hosts=networks, user_agent=AGENT) as egress:
            failure = await why_unproven(egress, domain)
    with context.database.write() as connection:
        if domain is not None:
            domains.record_check(connection, domain.id, failure)
        result = {"domain": domain_id, "verified": failure is None, "failure": failure}
        runs.finish_with(connection, claim, "checked", result)


async def why_unproven(egress: Egress, domain: Domain) -> str | None:
    """Return the reason why a host does not serve the domain's token, or ``None`` if it does.

    HTTP without TLS is tried only if all addresses of the host are in networks that the operator allows.
    """
    try:
        schemes = ("http", "https") if await egress.exempt(f"http://{domain.host}/", TIMEOUT_S) else ("https",)
    except CallFailed as refused:
        return str(refused)
    failure: str | None = None
    for scheme in schemes:
        url = f"{scheme}://{domain.host}{CHALLENGE_PATH}"
        try:
            answer = await egress.send("GET", url, timeout_s=TIMEOUT_S)
        except CallFailed as failed:
            failure = failure or _failure_reason(url, failed)  # the first one counts
            if failed.code not in TRY_HTTPS_AFTER:  # HTTPS would fail too
                break
        else:
            lines = (line.strip().encode() for line in answer.text.splitlines())
            has_token = any(hmac.compare_digest(line, domain.token.encode()) for line in lines)
            return None if has_token else f"{url} does not hold the token on a line of its own"
    return failure


def _failure_reason(url: str, failure: CallFailed) -> str:
    """Return the reason of a failed call, without the advice for rated targets in its message."""
    if failure.status is None:
        return failure.message
    redirect_note = "; redirects are not followed" if failure.code == "redirect" else ""
    return f"{url} answered with HTTP status {failure.status}{redirect_note}"


async def probe_service(context: WorkerContext, claim: Claim) -> None:
    """Examine a service, and store the findings as the job's result.

    If the service is described in the request and not saved, the result includes the HTTP exchange, even a failed one.
    """
    async with open_services(context, claim.job) as (service, _):
        if claim.job.target_id is None:
            result = await probe(service.target, service.egress, examine=True)
            # the fields of an examination, as for a saved target, and those of the probe
            findings = {**(result.capability or {}), **result.as_json()}
        else:
            findings = (await service.examine(USUAL_PAIRS, image_questions(service.target))).as_json()
    with context.database.write() as connection:
        jobs.finish_with(connection, claim, "probed", findings)


async def rerate_evidence(context: WorkerContext, claim: Claim) -> None:
    """Rate a rating's stored evidence again, in a thread so that the lease is renewed meanwhile; store the result."""
    rating_id, rerating = await asyncio.to_thread(_recompute_rating, context, claim)
    with context.database.write() as connection:
        stored_rerating = rerated.keep(connection, rating_id, rerating)
        result = {
            "rating": stored_rerating.rating_id,
            "version": stored_rerating.methodology_version,
            "letter": stored_rerating.letter,
            "declared": stored_rerating.declared,
            "probabilities": rerating.probabilities or None,
        }
        runs.finish_with(connection, claim, "rerated", result)


def _recompute_rating(context: WorkerContext, claim: Claim) -> tuple[str, RatingDocument]:
    """Rate a rating's evidence by the version of the methodology in the job; return the rating's id and the result."""
    experiment = claim.job.experiment or {}
    methodology = context.methodologies.named(str(experiment.get("version")))
    with context.database.read() as connection:
        rating = ratings.find(connection, str(experiment.get("rating")), claim.job.tenant)
        if rating is None:
            raise UnknownName("rating", str(experiment.get("rating")), ("see GET /v1/ratings",), "rating")
        observations = list(rerated.evidence(connection, rating.job_id))
    return rating.id, rerated.recompute(rating, observations, methodology)
