"""Adapter for a job with two services: the rated service and the author of its texts or images."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from assay.model import AUTHORED, Ask, Kind, Reply
from workers.egress import CallFailed
from workers.targets.adapter import Adapter
from workers.targets.chain.chain import renamed_failure

AUTHOR = "author"


class Roles(Adapter):
    """Adapter that sends requests for texts and images to the author, and all other questions to the rated service."""

    protocol: ClassVar[str] = "roles"
    summary: ClassVar[str] = "The rated service and its author, as one"
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    settings_type: ClassVar[type] = dict

    def __init__(self, rated: Adapter, author: Adapter) -> None:
        self._rated, self._author = rated, author
        self.batch_limit = rated.batch_limit

    def group_key(self, ask: Ask) -> Hashable:
        """Return a key that separates the two services, and every text or image to be made."""
        if isinstance(ask, AUTHORED):
            return (AUTHOR, ask)  # the question is part of the key, so that each call makes one text or image
        return (None, self._rated.group_key(ask))

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Send the questions to their service; see `Adapter.answer`. A failure of the author names the author."""
        if not (asks and isinstance(asks[0], AUTHORED)):
            return await self._rated.answer(asks, idempotency_key=idempotency_key)
        try:
            return await self._author.answer(asks, idempotency_key=idempotency_key)
        except CallFailed as failed:
            raise renamed_failure(failed, AUTHOR) from failed

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the language pairs of the rated service."""
        return await self._rated.languages()
