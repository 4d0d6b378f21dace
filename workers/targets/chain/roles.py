"""Adapter for a job with two services: the rated service, and the author or the judge of its texts or images."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from assay.model import AUTHORED, JUDGES, Ask, Kind, Reply, asks_of_second
from workers.egress import CallFailed
from workers.targets.adapter import Adapter
from workers.targets.chain.chain import renamed_failure

AUTHOR, JUDGE = "author", "judge"


def role_of(kind: str) -> str:
    """Return the role of a job's second service (author or judge) for messages, by its kind."""
    return JUDGE if kind in JUDGES else AUTHOR


class Roles(Adapter):
    """Adapter that sends the second service its questions (`asks_of_second`), and the rated service all others."""

    protocol: ClassVar[str] = "roles"
    summary: ClassVar[str] = "The rated service and its author or judge, as one"
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    settings_type: ClassVar[type] = dict

    def __init__(self, rated_adapter: Adapter, second_adapter: Adapter, second_kind: Kind) -> None:
        self._rated_adapter, self._second_adapter = rated_adapter, second_adapter
        self._second_question_types, self._role = asks_of_second(second_kind), role_of(second_kind)
        # that of the service that makes no texts, because each call makes one text or image anyway
        self.batch_limit = second_adapter.batch_limit if second_kind in JUDGES else rated_adapter.batch_limit

    def group_key(self, ask: Ask) -> Hashable:
        """Return a key that separates the two services, and every text or image to be made."""
        if isinstance(ask, AUTHORED):
            return (AUTHOR, ask)  # the question is part of the key, so that each call makes one text or image
        adapter = self._second_adapter if isinstance(ask, self._second_question_types) else self._rated_adapter
        return (isinstance(ask, self._second_question_types), adapter.group_key(ask))

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Send questions to the service for their type; see `Adapter.answer`. Failures of the second name its role."""
        if not (asks and isinstance(asks[0], self._second_question_types)):
            return await self._rated_adapter.answer(asks, idempotency_key=idempotency_key)
        try:
            return await self._second_adapter.answer(asks, idempotency_key=idempotency_key)
        except CallFailed as failed:
            raise renamed_failure(failed, self._role) from failed

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the language pairs of the rated service."""
        return await self._rated_adapter.languages()
