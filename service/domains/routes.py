"""``/v1/domains``: verification that you own a host, required to reply to its ratings and to refuse them."""

from typing import Annotated

from fastapi import APIRouter, Response

from service.container import ServiceDependency
from service.domains.schemas import DomainChange, DomainRequest, DomainView
from service.http.authentication import Reader, TargetWriter
from service.http.conditional import entity_tag
from service.http.idempotency import Repeat, answer_once
from service.http.json import Answer, StrictRoute, tagged, write_json
from service.http.openapi.responses import TAGGED, created, leads_to
from service.http.problems import existing, removed
from service.http.rows import Lists, Paging, in_path, lists_of
from service.jobs.routes import JOB_PLACED, Placing
from service.jobs.service import maintenance_order
from store.core.database import Connection
from store.targets import domains
from store.targets.domains import Domain

router = APIRouter(prefix="/v1/domains", tags=["replies"], route_class=StrictRoute)

CHALLENGE_DEADLINE_S = 120

DOMAIN_LINKS = leads_to("domain_id", "getDomain", "verifyDomain", "removeDomain")


@router.post("", **created(DomainView, "Stored; the answer has the token and its place.", DOMAIN_LINKS, may_exist=True))
async def add_domain(body: DomainRequest, service: ServiceDependency, caller: TargetWriter, repeat: Repeat) -> Response:
    """Claim a host; the answer explains how to verify it. A host that you claimed before is returned with 200."""
    service.target_validator.check_callback(f"https://{body.host}/", "host")

    def add(c: Connection) -> Answer:
        domain, is_new = domains.add(c, caller.tenant, body.host)
        headers = {"Location": f"{router.prefix}/{domain.id}", "ETag": _etag(domain)}
        return Answer(201 if is_new else 200, write_json(DomainView.of(domain)), headers)

    return await answer_once(service, repeat, add)


@router.get("", **lists_of(DomainView, "One page of domains, newest first."))
async def list_domains(lists: Lists, caller: Reader, query: Paging) -> Response:
    """List the hosts that you have claimed, newest first."""
    return await lists.page(query, "domains", DomainView.of, domains.page, caller.tenant)


FoundDomain = Annotated[Domain, in_path("domain", domains.find, Reader)]
OwnDomain = Annotated[Domain, in_path("domain", domains.find, TargetWriter)]


@router.get("/{domain_id}", response_model=DomainView, responses=TAGGED)
async def get_domain(row: FoundDomain) -> Response:
    """Read a domain: its token, and the result of the last verification."""
    return tagged(DomainView.of(row), _etag(row))


@router.patch("/{domain_id}", response_model=DomainView)
async def change_domain(row: OwnDomain, body: DomainChange, service: ServiceDependency) -> Response:
    """Refuse ratings of a verified host, or allow them again. You may still rate the host yourself."""
    domain = existing(await service.database.write(domains.set_policy, row, body.ratings), "domain", row.id)
    return tagged(DomainView.of(domain), _etag(domain))


@router.delete("/{domain_id}", status_code=204, response_description="Removed.")
async def remove_domain(domain_id: str, service: ServiceDependency, caller: TargetWriter) -> Response:
    """Remove a domain and its verification. Replies stay."""
    return removed(await service.database.write(domains.remove, domain_id, caller.tenant), "domain", domain_id)


@router.post("/{domain_id}/verify", **JOB_PLACED)
async def verify_domain(placing: Placing, row: OwnDomain, service: ServiceDependency, caller: TargetWriter) -> Response:
    """Verify a host: a job looks for the token. Its `result` says whether the token was found, and if not, why."""
    target = {"name": row.host, "kind": "host", "protocol": "https", "base_url": f"https://{row.host}"}
    order = maintenance_order(service, caller, "challenge", {"domain": row.id}, target, CHALLENGE_DEADLINE_S)
    return await placing.answer(order)


def _etag(row: Domain) -> str:
    return entity_tag(row.id, row.checked_at or 0, row.state, row.ratings)
