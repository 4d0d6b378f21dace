"""Verification of a domain by a token in a file, fetched through the egress guard on real connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from store.core.database import Database
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import Job, NewJob
from store.security.secrets import Vault
from store.targets import domains
from store.targets.domains import CHALLENGE_PATH, Domain
from workers.egress import Egress
from workers.engine.worker_context import WorkerContext
from workers.maintenance.unrated_jobs import why_unproven
from workers.run_job import run_job

TOKEN = "assay-challenge=abc"


def domain(host: str) -> Domain:
    return Domain("dom_1", "acme", host, TOKEN, "waiting", None, None, None, 0, proven=False)


def look(wire, answer, allow=None) -> tuple[str | None, list]:
    """Check the token at a service on this machine; return the failure and the received requests."""
    networks = wire.loopback if allow is None else allow

    async def whole():
        async with (
            wire.listening(answer) as service,
            Egress(networks, response_cap=1000, exempt_hosts=networks) as egress,
        ):
            return await why_unproven(egress, domain(f"127.0.0.1:{service.port}")), service.heard

    return asyncio.run(whole())


@pytest.mark.parametrize("body", [TOKEN, f"{TOKEN}\n", f"assay-challenge=of-another\r\n  {TOKEN}\r\n"])
def test_token_on_its_own_line_verifies_the_domain(wire, body):
    failure, heard = look(wire, lambda _: wire.raw(body))
    assert failure is None
    assert [(one.method, one.target) for one in heard] == [("GET", CHALLENGE_PATH)]
    assert "authorization" not in heard[0].headers


@pytest.mark.parametrize("body", ["", "nothing", TOKEN[:-1], TOKEN + "d", f"x {TOKEN}", f"<p>{TOKEN}</p>"])
def test_other_content_does_not_verify_the_domain_and_is_not_shown_in_the_failure(wire, body):
    failure, _ = look(wire, lambda heard: wire.raw(body))
    assert "does not hold the token" in failure
    assert not body or body not in failure


def test_redirect_does_not_verify_the_domain_and_is_not_followed(wire):
    failure, heard = look(wire, lambda _: wire.raw("", "302 Found", location="http://127.0.0.1:1/"))
    assert "redirects" in failure
    assert len(heard) == 1


def test_a_missing_token_file_on_a_host_that_is_to_be_verified_is_reported_with_its_status(wire):
    failure, _ = look(wire, lambda _: wire.raw("", "404 Not Found"))
    assert "404" in failure


def test_a_file_above_the_size_limit_does_not_verify_the_domain(wire):
    failure, _ = look(wire, lambda _: wire.raw("x" * 5000 + TOKEN))
    assert failure is not None
    assert "does not hold" not in failure


def test_address_that_the_operator_does_not_allow_is_not_called(wire):
    failure, heard = look(wire, lambda _: wire.raw(TOKEN), allow=())
    assert "not public" in failure
    assert heard == []


def test_a_host_name_with_public_and_private_addresses_is_called_over_https_only(wire):
    async def whole():
        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1", "93.184.215.14"]

        async def dial(protocol, address, port, tls, host):
            assert tls is not None
            raise ConnectionRefusedError

        networks = (ip_network("127.0.0.0/8"),)
        async with Egress(networks, resolve=resolve, dial=dial, exempt_hosts=networks) as egress:
            return await why_unproven(egress, domain("mixed.example"))

    assert asyncio.run(whole()) is not None


# ---------------------------------------------------------------------------- as a job
@pytest.fixture
def context(database_url: str, tmp_path: Path):
    settings = Settings(data_dir=tmp_path, database_url=database_url, egress_allow="127.0.0.0/8")
    database = Database(database_url)
    yield WorkerContext(database, Vault.from_settings(settings), settings)
    database.close()


@pytest.fixture
def challenge(context: WorkerContext) -> Callable[[str], Job]:
    """Run a job that checks a domain's token."""

    def challenge(domain_id: str) -> Job:
        target = {"name": "h", "kind": "host", "protocol": "https", "base_url": "https://h"}
        asked = {"target": target, "experiment": {"domain": domain_id}, "target_id": None, "sealed_secret": None}
        limits = {"max_calls": 1, "deadline_s": 60, "expected": 0, "seed": 0}
        rest = {"callback_url": None, "key_id": None, "visibility": "private", "request_digest": domain_id}
        with context.database.write() as c:
            job = jobs.add(c, NewJob(tenant="acme", kind="challenge", **asked, **limits, **rest))
        run_job(job.id, context, "here")
        with context.database.read() as c:
            found = jobs.find(c, job.id, "acme")
        assert found is not None
        return found

    return challenge


def test_verification_is_stored_and_ends_when_the_token_is_removed(wire, context, challenge):
    said = {"text": ""}

    async def whole():
        async with wire.listening(lambda _: wire.raw(said["text"])) as service:
            with context.database.write() as c:
                claimed, _ = domains.add(c, "acme", f"127.0.0.1:{service.port}")
            seen = []
            for text in (claimed.token, "gone"):
                said["text"] = text
                job = await asyncio.to_thread(challenge, claimed.id)
                with context.database.read() as c:
                    seen.append((job, domains.find(c, claimed.id, "acme")))
            return seen

    (first, proven), (second, lost) = asyncio.run(whole())
    assert (first.status, first.stage, first.result["verified"]) == ("succeeded", "checked", True)
    assert (proven.state, proven.proven, proven.failure) == ("verified", True, None)
    assert (second.status, second.result["verified"]) == ("succeeded", False)
    assert (lost.state, lost.proven, lost.verified_at) == ("failed", False, None)
    assert "does not hold the token" in lost.failure == second.result["failure"]


def test_check_of_a_deleted_domain_succeeds_and_reports_it_as_not_verified(challenge):
    job = challenge("dom_gone")
    assert (job.status, job.result["verified"], job.result["failure"]) == (
        "succeeded",
        False,
        "the domain was removed",
    )
