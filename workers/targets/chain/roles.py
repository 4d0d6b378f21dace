"""A job's two roles: the service that is rated, and the author that writes or draws what it is asked about."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from assay.model import AUTHORED, Ask, Kind, Reply
from workers.egress import CallFailed
from workers.targets.adapter import Adapter

AUTHOR = "author"


class Roles:
    """Puts each question to the service it is meant for (an `Adapter`); the driver keeps to the way to each.

    Parameters
    ----------
    rated : Adapter
        Asked everything else.
    author : Adapter
        Asked to write and to draw.
    """

    protocol: ClassVar[str] = "roles"
    summary: ClassVar[str] = "The rated service and its author, as one"
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    settings_type: ClassVar[type] = dict
    needs_url: ClassVar[bool] = False
    needs_secret: ClassVar[bool] = False
    reproducible: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, rated: Adapter, author: Adapter) -> None:
        self._rated, self._author = rated, author
        self.batch_limit = rated.batch_limit

    def group_key(self, ask: Ask) -> Hashable:
        """Keep the questions of both roles, and texts to be written, in calls of their own."""
        if isinstance(ask, AUTHORED):
            return (AUTHOR, ask)  # one text or image a call
        return (None, self._rated.group_key(ask))

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Ask whoever is meant; see `Adapter.answer`.

        Raises
        ------
        CallFailed
            As the service asked raises it; the author's says that it was the author.
        """
        if not (asks and isinstance(asks[0], AUTHORED)):
            return await self._rated.answer(asks, idempotency_key=idempotency_key)
        try:
            return await self._author.answer(asks, idempotency_key=idempotency_key)
        except CallFailed as failed:
            raise _of_the_author(failed) from failed

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Ask the rated service."""
        return await self._rated.languages()


def _of_the_author(failed: CallFailed) -> CallFailed:
    return CallFailed(
        failed.code,
        f"{AUTHOR}: {failed.message}",
        retriable=failed.retriable,
        retry_after_s=failed.retry_after_s,
        status=failed.status,
    )
