"""The container of a running service's parts, built in `service.app`."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Request, Response

from assay.rating.methodology import Methodologies
from assay.references import HeldBack
from reports.cases import CaseIndex
from service.http.authentication import HttpParts, get_parts, parts_of
from service.http.json import Answer
from service.http.replica import PublicDatabase
from service.http.swr_cache import SwrCache
from service.jobs.dispatcher import Dispatcher
from service.jobs.events import EventStream
from service.jobs.status import StatusCache
from service.targets.validator import TargetValidator
from store.jobs.fair_order import QueueState
from store.ratings.standing import part_after
from store.security.secrets import Vault

T = TypeVar("T")
V = TypeVar("V")
sum_of = cast("Callable[[Sequence[T]], T]", partial(reduce, add))
"""Add up counters, or other objects that have ``+``."""


@dataclass(frozen=True, kw_only=True)
class Service(HttpParts):
    """Parts of a running service. `clock` returns seconds since 1970; stored times use the database's clock instead."""

    vault: Vault
    target_validator: TargetValidator
    dispatcher: Dispatcher
    event_stream: EventStream
    statuses: StatusCache
    progress: SwrCache[tuple[str, str], Any]
    reports: SwrCache[tuple[str, str, str], Response]
    queue_state: SwrCache[str, QueueState]
    case_indexes: SwrCache[str, CaseIndex]
    embeds: SwrCache[tuple[str | None, ...], Answer]
    can_write: SwrCache[str, bool]
    merged_reads: SwrCache[tuple[object, ...], Any]
    leaf_hashes: SwrCache[str, list[bytes]]
    evidence_slots: asyncio.Semaphore
    clock: Callable[[], float]
    methodologies: Methodologies
    held_back: HeldBack

    async def merge(
        self,
        database: PublicDatabase,
        key: tuple[object, ...],
        read_part: Callable[..., T],
        merge: Callable[[Sequence[T]], V],
        **filters: str,
    ) -> V:
        """Read the current ratings that match `filters` in parts, by ``read_part(c, part=…)``, and `merge` the results.

        A part is a range of service addresses, passed as SQL conditions; a small registry is one part. If there are
        several parts, the merged result is cached under `key`.
        """
        first_part, last_address = await database.read(part_after, after="", **filters)  # None: the only part

        async def merge_all() -> V:
            results = [await database.read(read_part, part=first_part)]
            after = last_address
            while after is not None:
                part, after = await database.read(part_after, after, **filters)
                results.append(await database.read(read_part, part=part))
            return await asyncio.to_thread(merge, results)

        return cast("V", await (merge_all() if last_address is None else self.merged_reads.get(key, merge_all)))

    async def close(self) -> None:
        """Stop the components that have threads, tasks or connections."""
        self.dispatcher.close()
        await self.rate_limiter.close()
        for database in (self.database, self.replica):
            if database is not None:
                await database.close()


service_of = cast("Callable[[Request], Service]", parts_of)
"""Return the `Service`, the container of parts, that answers a request."""

ServiceDependency = Annotated[Service, Depends(get_parts)]
