"""Limits of each host over all tenants and jobs: call rate, cool-down between ratings, and refusals of ratings.

These limits apply in addition to those of a target (`workers.calls.limits`), which count a tenant's jobs only. Rate and
cool-down do not apply to a host that the job's tenant has proved to own. In the operator's own networks
(`Settings.exempt_networks`), only the refusals of verified owners apply.
"""

import asyncio
import itertools
import re
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from store.core.columns import iso
from store.core.database import Database
from store.core.settings import Settings
from store.jobs import cooldowns
from store.jobs.cooldowns import HostWait
from store.jobs.jobs import Job
from store.targets import domains
from store.targets.domains import Standing, file_of, host_of
from workers.calls.limits import Lane, Traffic
from workers.egress import AGENT, CallFailed, Egress
from workers.targets.adapter import Limits

FILE_TIMEOUT_S = 10
"""Deadline in seconds of a call for the file in which a host may refuse ratings."""

FILE_BYTES = 65_536
"""Maximum size in bytes of a file of refusals; a larger file counts as unreadable."""

MISSING_FILE_STATUSES = frozenset({400, 401, 403, 404, 405, 406, 410, 451})
"""HTTP statuses that mean that a host has no file of refusals, as for ``robots.txt`` (RFC 9309, 2.3.1.3)."""

RECHECK_S = 60
"""Seconds after which a job reads again whether a host refuses ratings."""

LONGEST_TIMEOUT_S = 600
"""Maximum value in seconds that `Limits.timeout_s` accepts."""

_DISALLOW = re.compile(r"[ \t]*disallow[ \t]*:[ \t]*[*/][ \t]*(?:#.*)?", re.IGNORECASE)


class HostCoolingDown(Exception):
    """A host must not be called yet, so soon after another rating of it; the job may start in `cooldown_s` seconds."""

    def __init__(self, wait: HostWait, pause_s: float) -> None:
        super().__init__(
            f"the host {wait.host} rests for {pause_s / 60:g} minutes between ratings, so this one cannot start "
            f"before {iso(wait.at)}; there is no such wait for a host that you have proved (POST /v1/domains) or for a "
            "target with a secret"
        )
        self.cooldown_s = wait.wait_s


@dataclass
class HostLimits:
    """Limits of the calls to hosts, shared by all jobs and webhook deliveries, as one of them (`holder`) observes them.

    `rng` draws pauses. `unread_hosts`: hosts whose file, in which they may refuse ratings, could never be read.
    """

    database: Database
    settings: Settings
    tenant: str
    holder: str
    traffic: Traffic
    rng: np.random.Generator
    unread_hosts: set[str] = field(default_factory=set)
    _ownership: dict[str, tuple[bool, float]] = field(default_factory=dict)  # proven, and when to check again
    _slot_numbers: Iterator[int] = field(default_factory=itertools.count)
    _standing_lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def admit(self, job: Job, egress: Egress, must_cool_down_by_url: Mapping[str, bool]) -> None:
        """Admit a job to the hosts of URLs; `must_cool_down_by_url` tells which hosts need a pause between ratings.

        Raise `RatingsRefused` if a host refuses ratings, `HostCoolingDown` if such a pause is not over yet.
        """
        hosts_with_cooldown: set[str] = set()
        for url, must_cool_down in must_cool_down_by_url.items():
            if await _is_exempt(egress, url):
                await asyncio.to_thread(self._permitted_standing, url)  # raises if the host refuses
            elif not await self._owns_host(url) and must_cool_down:  # first `_owns_host`, which raises a refusal
                hosts_with_cooldown.add(host_of(url) or url)
        cooldown_s = self.settings.host_cooldown_s
        if hosts_with_cooldown and cooldown_s > 0:
            wait = await asyncio.to_thread(self._admit_to_cooling_hosts, job, hosts_with_cooldown, cooldown_s)
            if wait is not None:
                raise HostCoolingDown(wait, cooldown_s)

    @asynccontextmanager
    async def slot(self, url: str, timeout_s: float, addresses: Sequence[str] = ()) -> AsyncIterator[None]:
        """Wait for a slot (permission to call) at a URL's host, held in the block; raise `RatingsRefused` if refused.

        Calls to other hosts at the same `addresses` count too. A tenant that owns the host needs no slot.
        """
        if await self._owns_host(url):
            yield
            return
        async with self.limited_slot(url, timeout_s, addresses):
            yield

    @asynccontextmanager
    async def limited_slot(self, url: str, timeout_s: float, addresses: Sequence[str] = ()) -> AsyncIterator[None]:
        """Wait until the limits of a URL's host and of its `addresses` allow a call; hold slots there in the block."""
        settings = self.settings
        longest_wait_s = settings.host_concurrency / settings.host_rate  # if calls in all slots start at this rate
        slot_timeout_s = min(LONGEST_TIMEOUT_S, timeout_s + longest_wait_s)
        limits = Limits(settings.host_concurrency, settings.host_rate, slot_timeout_s)
        holder = f"{self.holder}:{next(self._slot_numbers)}"
        # sorted, so that two calls cannot wait for each other's slots
        scoped_names = [("host", host_of(url) or url), *(("address", address) for address in sorted(set(addresses)))]
        async with AsyncExitStack() as stack:
            for scope, host_or_address in scoped_names:
                lane_name = f"{scope}:{sha256(host_or_address.encode()).hexdigest()[:24]}"
                lane = Lane(lane_name, holder, limits, self.rng, self.traffic)  # shared by all jobs
                slot = await stack.enter_async_context(lane.slot())
                await slot.keep()
                await lane.wait_for_rate()
            yield

    async def _owns_host(self, url: str) -> bool:
        """Whether the tenant has proved to own a URL's host; raise `RatingsRefused` if the host refuses ratings."""
        file_url = file_of(url)
        async with self._standing_lock:
            owns_host, recheck_at = self._ownership.get(file_url, (False, 0.0))  # 0: to be checked now
            if time.monotonic() >= recheck_at:
                standing = await asyncio.to_thread(self._permitted_standing, url)  # what the database knows
                if not standing.proven and not standing.file_read:  # time to read the file in which it may refuse
                    await asyncio.to_thread(self._store_refusal, file_url, await self._refuses(file_url))
                    standing = await asyncio.to_thread(self._permitted_standing, url)
                if not standing.proven and not standing.wish_known:  # the file could never be read
                    self.unread_hosts.add(host_of(url) or url)
                owns_host = standing.proven
                self._ownership[file_url] = owns_host, time.monotonic() + RECHECK_S
        return owns_host

    async def _refuses(self, file_url: str) -> bool | None:
        """Whether a host refuses ratings in its file at a URL; a missing file does not. ``None``: unreadable."""
        networks = self.settings.egress_networks
        # this call concerns the agency itself, and is no part of a rating
        async with Egress(networks, response_cap=FILE_BYTES, user_agent=AGENT) as egress:
            try:
                addresses = await egress.addresses(file_url, FILE_TIMEOUT_S)
                async with self.limited_slot(file_url, FILE_TIMEOUT_S, addresses):
                    answer = await egress.send("GET", file_url, timeout_s=FILE_TIMEOUT_S)
            except CallFailed as failed:
                return False if failed.status in MISSING_FILE_STATUSES else None
        return any(_DISALLOW.fullmatch(line) for line in answer.text.splitlines())

    def _permitted_standing(self, url: str) -> Standing:
        """Read what is stored about the tenant and a URL's host; raise `RatingsRefused` if the host refuses ratings."""
        with self.database.read() as connection:
            standing = domains.standing(connection, self.tenant, url)
        if standing.refusal is not None:
            raise standing.refusal
        return standing

    def _store_refusal(self, file_url: str, refuses: bool | None) -> None:
        """Store whether the file at a URL refuses ratings, or that it could not be read."""
        with self.database.write() as connection:
            if refuses is None:
                domains.keep_failure(connection, file_url)
            else:
                domains.keep(connection, file_url, refuses)

    def _admit_to_cooling_hosts(self, job: Job, hosts: Collection[str], cooldown_s: float) -> HostWait | None:
        with self.database.write() as connection:
            return cooldowns.admit(connection, job, hosts, cooldown_s)


async def _is_exempt(egress: Egress, url: str) -> bool:
    """Whether a URL's host is in the operator's own networks; false if its name cannot be resolved at present."""
    try:
        return await egress.exempt(url, FILE_TIMEOUT_S)
    except CallFailed as failed:
        if not failed.retriable:
            raise
        return False
