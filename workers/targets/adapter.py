"""Targets, the questions that each kind of target answers, and the interface of protocol adapters."""

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Protocol, Self, TypeVar, cast
from uuid import UUID

from annotated_types import Ge, Le

from assay.bounds import Bounded
from assay.document import Json
from assay.model import Ask, Choose, Classify, Draw, Embed, Fill, Kind, Look, Regress, Reply, Score, Translate, Write
from workers.egress import CallFailed

A = TypeVar("A", bound=Ask)

Prediction = Classify | Regress | Embed
"""Question to a classifier, a regressor or an embedder."""

Worded = Score | Fill | Choose | Write
"""Question to a language model."""

QUESTIONS: Mapping[Kind, tuple[type[Ask], ...]] = {
    Kind.TRANSLATOR: (Translate,),
    Kind.CLASSIFIER: (Classify,),
    Kind.REGRESSOR: (Regress,),
    Kind.EMBEDDER: (Embed,),
    Kind.LANGUAGE_MODEL: (Score, Fill, Choose, Write, Draw),
    Kind.IMAGE_CLASSIFIER: (Look,),
    Kind.DECISION_TOOL: (),
}
"""Types of question for each kind of service; a protocol may support only some of them."""


@dataclass(frozen=True)
class Limits(Bounded):
    """Limits on the calls to a target: concurrent calls, calls started per second, and seconds for one call.

    The deadline of a call covers everything from name resolution to the last byte. Raises `OutOfBounds`.
    """

    concurrency: Annotated[int, Ge(1), Le(256)] = 8
    requests_per_second: Annotated[float, Ge(1e-6)] | None = None
    timeout_s: Annotated[float, Ge(0.05), Le(600)] = 30.0


@dataclass(frozen=True)
class Target:
    """Service to be rated, as described in a job."""

    name: str
    kind: Kind
    protocol: str
    base_url: str
    """Address of the service; empty for a protocol with fixed addresses."""
    settings: Json = field(default_factory=dict)
    """Unparsed settings, whose fields are those of the protocol's ``settings_type``."""
    secret: str | None = field(default=None, repr=False)
    """API key. Never shown."""
    limits: Limits = field(default_factory=Limits)
    link_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """API keys for the links of a chain, by the id of the saved target. Never shown."""

    @classmethod
    def of(cls, description: Json, secret: str | None, link_secrets: Mapping[str, str] | None = None) -> Self:
        """Build a target from its fields, validated when it was described; `link_secrets`: those of a chain's links."""
        return cls(
            name=description["name"],
            kind=Kind(description["kind"]),
            protocol=description["protocol"],
            base_url=description.get("base_url") or "",
            settings=description.get("settings") or {},
            secret=secret,
            limits=Limits(**(description.get("limits") or {})),
            link_secrets=link_secrets or {},
        )


class Adapter(Protocol):
    """Client that sends questions to one target in its protocol; `workers.targets.registry.connect` builds it.

    The class variables are facts about a protocol. Only the adapters that the registry lists need them; adapters
    for one kind of service of a protocol, or for several targets, do not.
    """

    protocol: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    kinds: ClassVar[frozenset[Kind]] = frozenset()
    """Kinds of service that the protocol supports."""
    settings_type: ClassVar[type] = object
    """Frozen dataclass of the settings, with defaults where possible."""
    needs_url: ClassVar[bool] = True
    needs_secret: ClassVar[bool] = False
    reproducible: ClassVar[bool] = True
    """Whether the same questions are expected to get the same answers again."""
    notes: ClassVar[tuple[str, ...]] = ()
    """Pitfalls of the protocol, shown to people."""
    batch_limit: int
    """Maximum number of questions in a call. An examination (`workers.targets.checks.examination`) makes a copy with 1
    for a target that mixes up the answers of a batch.
    """

    def group_key(self, ask: Ask) -> Hashable:
        """Return a key; questions with equal keys may share a call."""
        return group_of(ask)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Make exactly one call with at most `batch_limit` questions of one `group_key`; return a reply to each.

        The replies are in the order of the questions; an invalid answer is a ``Reply(failure=...)``. Every repetition
        of a call has the same `idempotency_key`. Raise `CallFailed` if the whole call failed.
        """
        ...

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the pairs (source, target) that the service lists; ``None`` if it has no such list."""
        return None


IN_FLIGHT = 24
"""Maximum number of questions in flight in calls with several questions; after a crash, they are asked again."""


def questions_per_call(adapter: Adapter, limits: Limits) -> int:
    """Return the maximum number of questions in a call: so many that concurrent calls share `IN_FLIGHT`, at least 1."""
    return min(adapter.batch_limit, max(1, IN_FLIGHT // limits.concurrency))


def opaque_key(secret: str, *parts: str) -> str:
    """Return a UUID that depends only on the secret and the parts, and reveals neither."""
    # keyed BLAKE2: OpenSSL's HMAC releases the interpreter lock, which the ledger's thread then takes and holds
    key = hashlib.sha256(secret.encode()).digest()
    return str(UUID(bytes=hashlib.blake2b(json.dumps(parts).encode(), key=key, digest_size=16).digest(), version=4))


def group_of(ask: Ask) -> Hashable:
    """Return the batch key of a question: its kind and the facts that a call states once for all its questions.

    The number of a text to write or an image to draw is part of the key, because it is the seed of the call.
    """
    match ask:
        case Translate(source=source, target=target):
            return (source, target)
        case Classify(given=tuple(named_values)) | Regress(given=tuple(named_values)):  # records with the same columns
            return (ask.asks, tuple(name for name, _ in named_values))
        case Embed(model=model):
            return (ask.asks, model)
        case Look(labels=labels, question=question):
            return (ask.asks, labels, question)
        case Write(number=number) | Draw(number=number):
            return (ask.asks, number)
        case _:
            return (ask.asks, None)


def questions_for(question_types: tuple[type[A], ...], asks: Sequence[Ask]) -> Sequence[A]:
    """Return `asks` unchanged; raise `CallFailed` ``unsupported`` if a type is not among `question_types`."""
    for ask in asks:
        if not isinstance(ask, question_types):
            supported_kinds = ", ".join(question_type.asks for question_type in question_types)
            raise CallFailed("unsupported", f"this target can be asked to {supported_kinds}, not to {ask.asks}")
    return cast("Sequence[A]", asks)
