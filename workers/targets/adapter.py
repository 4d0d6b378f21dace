"""What a target is, which questions its kind is asked, and what an adapter promises the driver."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, cast

from annotated_types import Ge, Gt, Le

from assay.bounds import check_bounds
from assay.model import (
    Ask,
    Choose,
    Classify,
    Draw,
    Embed,
    Fill,
    Kind,
    Look,
    Regress,
    Reply,
    Score,
    Translate,
    Write,
)
from workers.egress import CallFailed

A = TypeVar("A", bound=Ask)

Prediction = Classify | Regress | Embed
"""A question that is answered with a class, a number or a vector."""

Worded = Score | Fill | Choose | Write
"""A question to a language model: how probable are words, which option is right, or to write."""

QUESTIONS: Mapping[Kind, tuple[type[Ask], ...]] = {
    Kind.TRANSLATOR: (Translate,),
    Kind.CLASSIFIER: (Classify,),
    Kind.REGRESSOR: (Regress,),
    Kind.EMBEDDER: (Embed,),
    Kind.LANGUAGE_MODEL: (Score, Fill, Choose, Write, Draw),
    Kind.IMAGE_CLASSIFIER: (Look,),
}
"""The questions each kind of service is asked. Which of them it can answer depends on its protocol, too."""


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
    link_secrets : mapping
        The keys that the links of a chain want, by the id of their saved target. Never shown.
    """

    name: str
    kind: Kind
    protocol: str
    base_url: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    secret: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    link_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


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
        Most questions one call carries. An examination (`workers.targets.checks.capability`) makes a copy
        with 1 for a target that cannot be trusted with several.
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


def group_of(ask: Ask) -> Hashable:
    """Say which questions may share a call: those of one kind that are put in the same form.

    Translations share their pair of languages, records the names of their cells and their order,
    texts to be embedded their model, images their labels and the question about them, and what is
    to be written or drawn its number, which is the seed of a call.
    """
    match ask:
        case Translate(source=source, target=target):
            return (source, target)
        case Classify(given=tuple(record)) | Regress(given=tuple(record)):
            return (ask.asks, tuple(name for name, _ in record))
        case Embed(model=model):
            return (ask.asks, model)
        case Look(labels=labels, question=question):
            return (ask.asks, labels, question)
        case Write(number=number) | Draw(number=number):
            return (ask.asks, number)
        case _:
            return (ask.asks, None)


def questions_for(questions: tuple[type[A], ...], asks: Sequence[Ask]) -> Sequence[A]:
    """Make sure that every question is of the kinds a target can be asked.

    Raises
    ------
    CallFailed
        ``unsupported``, naming all kinds.
    """
    for ask in asks:
        if not isinstance(ask, questions):
            offered = ", ".join(each.asks for each in questions)
            raise CallFailed("unsupported", f"this target can be asked to {offered}, not to {ask.asks}")
    return cast("Sequence[A]", asks)
