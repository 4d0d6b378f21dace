"""Jobs of kind ``probe``: examine a service without rating it."""

from __future__ import annotations

from store.jobs import jobs
from store.jobs.jobs import Claim
from workers.engine.worker_context import Workplace
from workers.job_targets import USUAL_PAIRS, open_services
from workers.probe import drawing, probe


async def probe_service(workplace: Workplace, claim: Claim) -> None:
    """Examine a service, and store the findings as the job's result.

    If the service is described in the request and not saved, the result includes the HTTP exchange, even a failed one.
    """
    async with open_services(workplace, claim.job) as (service, _):
        if claim.job.target_id is None:
            probed = await probe(service.target, service.egress, examine=True)
            findings = {**(probed.capability or {}), **probed.as_json()}
        else:
            findings = (await service.examine(USUAL_PAIRS, drawing(service.target))).as_json()
    with workplace.database.write() as connection:
        jobs.finish_with(connection, claim, "probed", findings)
