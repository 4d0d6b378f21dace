"""What a target is, and what an adapter of a protocol promises the driver."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol

from annotated_types import Ge, Gt, Le

from assay.bounds import check_bounds
from assay.model import Ask, Kind, Reply


@dataclass(frozen=True)
class Limits:
    """How hard a target may be worked.

    Parameters
    ----------
    concurrency : int
        Calls under way at a time.
    requests_per_second : float, optional
        Calls begun a second; ``None`` sets no limit.
    timeout_s : float
        Deadline of one call, from resolving the name to the last byte.

    Raises
    ------
    OutOfBounds
        Naming the field.
    """

    concurrency: Annotated[int, Ge(1), Le(256)] = 8
    requests_per_second: Annotated[float, Gt(0)] | None = None
    timeout_s: Annotated[float, Ge(0.05), Le(600)] = 30.0

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        check_bounds(self)


@dataclass(frozen=True)
class Target:
    """A service to be rated, as a job names it.

    Parameters
    ----------
    name : str
        What people call it.
    kind : Kind
        What it does.
    protocol : str
        A name of `workers.targets.protocols`.
    base_url : str
        Where it is; empty for a protocol that knows.
    settings : mapping
        The protocol's own fields (its ``settings_type``), as they were written.
    secret : str, optional
        The key it wants. Never shown.
    limits : Limits
        How hard it may be worked.
    """

    name: str
    kind: Kind
    protocol: str
    base_url: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    secret: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)


class Adapter(Protocol):
    """Puts questions to one target in its protocol. Made by `workers.targets.connect`.

    Attributes
    ----------
    protocol, summary : str
        Its name, and one line about it.
    kinds : frozenset of Kind
        What services that speak it can be.
    settings_type : type
        A frozen dataclass: the settings it takes, with defaults wherever there can be one.
    needs_url, needs_secret : bool
        Whether a target must give them.
    reproducible : bool
        Whether the same questions can be expected to get the same answers again.
    notes : tuple of str
        Traps, for people.
    batch_limit : int
        Most questions one call carries. `workers.targets.capability.examine` makes a copy with 1
        for a target that cannot be trusted with several.
    """

    protocol: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[frozenset[Kind]]
    settings_type: ClassVar[type]
    needs_url: ClassVar[bool]
    needs_secret: ClassVar[bool]
    reproducible: ClassVar[bool]
    notes: ClassVar[tuple[str, ...]]
    batch_limit: int

    def group_key(self, ask: Ask) -> Hashable:
        """Questions with equal keys may share a call."""
        ...

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Make exactly one call.

        Parameters
        ----------
        asks : sequence of Ask
            At most `batch_limit` questions with one `group_key`.
        idempotency_key : str, optional
            The same for every repetition of this call.

        Returns
        -------
        sequence of Reply
            One for each question, in their order; an answer that is of no use by itself is a
            ``Reply(failure=...)``.

        Raises
        ------
        CallFailed
            If the call as a whole brought nothing.
        """
        ...

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Ask which pairs (source, target) the service supports; ``None`` if it does not say."""
        ...
