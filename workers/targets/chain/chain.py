"""Several targets as one: a chain, in which the output of each link is the input of the next, and two roles.

All links but the last are translators (`workers.targets.chain.chain_route`). The last is a translator, a
classifier or a regressor, and the chain has its kind. A failure names the link that failed. `Roles` combines the rated
service of a job with the author or the judge of its texts or images.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, ClassVar, cast

from annotated_types import MaxLen, MinLen

from assay.composition.compatibility import ENDS, MAX_LINKS, MIN_LINKS, Incompatible, kind_of_chain
from assay.document import Json, JsonObject
from assay.errors import SpecificationError
from assay.model import AUTHORED, JUDGES, Ask, Classify, Failure, Kind, Regress, Reply, Translate, asks_of_second
from workers.egress import CallFailed
from workers.targets.adapter import QUESTIONS, Adapter, Limits, Target, opaque_key, questions_for
from workers.targets.auth.schemes import Strict
from workers.targets.chain.chain_route import REQUESTED_LANGUAGE, Hop, Path, check_path, hops, hops_on_way_out
from workers.targets.settings import TargetSettings

CHAIN = "chain"


@dataclass(frozen=True, kw_only=True)
class Link(Strict):
    """One target of a chain."""

    id: Annotated[str, MaxLen(64)] | None = None
    """Id of a saved target, whose secret is used; Assay fills in its other fields."""
    name: Annotated[str, MaxLen(200)] = ""
    """Name of the link, shown to people."""
    kind: Kind | None = None
    """Kind of service."""
    protocol: Annotated[str, MaxLen(50)] = ""
    """Protocol by which the service is called."""
    base_url: Annotated[str, MaxLen(2048)] | None = None
    """Base address of the service."""
    settings: Annotated[Json, MaxLen(50)] = field(default_factory=dict)
    """Settings of the protocol."""
    limits: Annotated[Json, MaxLen(10)] = field(default_factory=dict)
    """Limits on the calls to the service."""
    path: Annotated[tuple[str, ...], MaxLen(20)] = ()
    """Languages through which a translator translates a text, such as en, es, en; * is the requested language. The
    last link has no path: it translates into the requested language, or is no translator."""

    def fields(self) -> JsonObject:
        """Return the fields of the link's target, without its secret."""
        return {
            "name": self.name or self.protocol,
            "kind": self.kind,
            "protocol": self.protocol,
            "base_url": self.base_url,
            "settings": self.settings,
            "limits": self.limits,
        }

    def target(self, secrets: Mapping[str, str]) -> Target:
        """Return the link as a target; `secrets` are those of the saved targets, by id."""
        return Target.of(self.fields(), None if self.id is None else secrets.get(self.id))


@dataclass(frozen=True, kw_only=True)
class ChainSettings(TargetSettings):
    """Settings of a chain."""

    links: Annotated[tuple[Link, ...], MinLen(MIN_LINKS), MaxLen(MAX_LINKS)]
    """The targets, in the order in which they are called."""

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = [self._kind_of(index) for index in range(len(self.links))]
        try:
            kind_of_chain(kinds)
        except Incompatible as incompatible:
            raise SpecificationError(str(incompatible), f"links.{incompatible.place}.kind") from None
        for index, link in enumerate(self.links[:-1]):
            check_path(link.path, f"links.{index}.path")
            if REQUESTED_LANGUAGE in link.path and kinds[-1] is not Kind.TRANSLATOR:
                message = f"a {kinds[-1]} is asked about texts in one language; name the languages in place of *"
                raise SpecificationError(message, f"links.{index}.path")
        # `index` is that of `link`; the last link has no path
        for index, (previous_link, link) in enumerate(pairwise(self.links[:-1]), start=1):
            if previous_link.path[-1] != link.path[0]:
                raise SpecificationError(
                    f"link {index} ends in {previous_link.path[-1]} and link {index + 1} begins in {link.path[0]}; "
                    "a path must begin where the previous one ends",
                    f"links.{index}.path.0",
                )
        if self.links[-1].path:
            message = "the last link cannot have a path: it translates into the requested language"
            raise SpecificationError(message, f"links.{len(self.links) - 1}.path")

    @property
    def paths(self) -> tuple[Path, ...]:
        """Languages through which every link but the last translates a text."""
        return tuple(link.path for link in self.links[:-1])

    def check_kind(self, kind: Kind) -> None:
        """Raise a `SpecificationError` for a kind other than the last link's."""
        super().check_kind(kind)
        last_kind = self.links[-1].kind
        if kind is not last_kind:
            raise SpecificationError(f"the kind of a chain is that of its last link, {last_kind}, not {kind}", "kind")

    def check_secret(self, secret: str | None) -> None:
        """Raise a `SpecificationError` for a secret, since each link has its own."""
        super().check_secret(secret)
        if secret is not None:
            raise SpecificationError("a chain has no secret; save the targets that need one and name them", "secret")

    def _kind_of(self, index: int) -> Kind:
        """Return the kind of a link; raise `SpecificationError` if it has no protocol or no kind."""
        link = self.links[index]
        if not link.protocol or link.kind is None:
            missing = "protocol" if link.kind is not None else "kind"
            raise SpecificationError(
                f"link {index + 1} has no {missing}; describe it as a target, or name one that the agency has saved",
                f"links.{index}.{missing}",
            )
        return link.kind


def tighten_limits(target: Target, links: Sequence[Target], paths: Sequence[Path]) -> Limits:
    """Return a chain's limits, lowered so that each link's limits hold even if a text needs several calls of a link."""
    calls_of_link = Counter(hop.link for hop in hops_on_way_out(paths))
    limits = target.limits
    rates = [limits.requests_per_second] + [
        link.limits.requests_per_second / max(1, calls_of_link[index])  # 1: the last link, which has no path
        for index, link in enumerate(links)
        if link.limits.requests_per_second is not None
    ]
    slowest_rate = min((rate for rate in rates if rate is not None), default=None)
    lowest_concurrency = min([limits.concurrency, *(link.limits.concurrency for link in links)])
    return replace(limits, concurrency=lowest_concurrency, requests_per_second=slowest_rate)


class Chain(Adapter):
    """Adapter that sends questions through a chain of targets; `links` are the adapters of the links."""

    protocol: ClassVar[str] = CHAIN
    summary: ClassVar[str] = "Several targets called one after the other, as one"
    kinds: ClassVar[frozenset[Kind]] = ENDS
    settings_type: ClassVar[type] = ChainSettings
    needs_url: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = (
        "every link but the last is a translator, with the languages it goes through as its path",
        "links that need a secret are saved as targets first and named by their id",
        "a path that returns to its first language is gone through on the way out only; others are gone back as well",
        "limits.timeout_s is for a whole question; a question counts as one call, however many links it takes",
    )

    def __init__(self, target: Target, settings: ChainSettings, links: Sequence[Adapter]) -> None:
        self.target, self.settings = target, settings
        self._links = tuple(links)
        self._question_types = QUESTIONS[target.kind]
        self.batch_limit = min(adapter.batch_limit for adapter in links)

    def group_key(self, ask: Ask) -> Hashable:
        """Return the group key of the chain's last link; see `Adapter.group_key`."""
        return self._links[-1].group_key(ask)

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Send questions through all links; see `Adapter.answer`."""
        if not asks:
            return []
        questions = questions_for(self._question_types, asks)
        try:
            async with asyncio.timeout(self.target.limits.timeout_s):
                return await self._send_through(questions, idempotency_key)
        except TimeoutError:
            seconds = self.target.limits.timeout_s
            raise CallFailed("timeout", f"the chain did not answer within {seconds:g} s (limits.timeout_s)") from None

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the language pairs of the chain, from its links' lists; ``None`` if the last link has no list."""
        paths, listed_pairs = self.settings.paths, [await adapter.languages() for adapter in self._links]
        for hop in hops_on_way_out(paths):  # a hop: one translation; without the last link, which has no path
            if REQUESTED_LANGUAGE not in {hop.source, hop.target} and not _is_listed(hop, listed_pairs[hop.link]):
                message = f"{self._link_name(hop.link)}: it does not translate {hop.source} to {hop.target}"
                raise CallFailed("unsupported", message)
        pairs_of_last = listed_pairs[-1]
        if pairs_of_last is None:
            return None
        first_language, turning_language = paths[0][0], paths[-1][-1]  # the last link translates from and to the latter
        way_out = {(first_language, target) for source, target in pairs_of_last if source == turning_language}
        way_back = {(source, first_language) for source, target in pairs_of_last if target == turning_language}
        return frozenset(pair for pair in way_out | way_back if self._has_route(pair, listed_pairs))

    def _has_route(self, pair: tuple[str, str], listed_pairs: Sequence[frozenset[tuple[str, str]] | None]) -> bool:
        """Whether a chain can translate a pair: each link on the route lists the pair that it gets, or has no list."""
        try:
            route = hops(self.settings.paths, *pair)
        except CallFailed:
            return False
        return all(_is_listed(hop, listed_pairs[hop.link]) for hop in route)

    async def _send_through(self, asks: Sequence[Ask], key: str | None) -> list[Reply]:
        """Send texts from link to link of the chain, with idempotency `key`; a text that fails is not sent further."""
        first_question, route = asks[0], hops_on_way_out(self.settings.paths)
        if isinstance(first_question, Translate):
            route = hops(self.settings.paths, first_question.source, first_question.target)
        replies = [_text_reply(ask) for ask in asks]
        for index, hop in enumerate(route):
            await self._translate_hop(hop, replies, key and opaque_key(key, str(index)))
        if not isinstance(first_question, Translate):  # the last link is a classifier or a regressor
            texts = {index: str(reply.value) for index, reply in enumerate(replies) if reply.ok}
            typed_asks = cast("Sequence[Classify | Regress]", asks)
            questions = {index: replace(typed_asks[index], given=text) for index, text in texts.items()}
            await self._call_link(len(self._links) - 1, questions, replies, key)
        return replies

    async def _translate_hop(self, hop: Hop, replies: list[Reply], key: str | None) -> None:
        """Do one translation of the route (`hop`) for all texts in `replies` that have not failed; replace these."""
        texts = {index: str(reply.value) for index, reply in enumerate(replies) if reply.ok}
        questions = {index: Translate(text, hop.source, hop.target) for index, text in texts.items()}
        await self._call_link(hop.link, questions, replies, key)
        message = f"{self._link_name(hop.link)}: it answered a text with nothing, {hop.source} to {hop.target}"
        for index in questions:
            if replies[index].ok and not str(replies[index].value).strip():
                replies[index] = Reply(failure=Failure("wrong-shape", message))

    async def _call_link(self, link: int, questions: Mapping[int, Ask], replies: list[Reply], key: str | None) -> None:
        """Send `questions` (by index in `replies`) to a link, and put its answers there; failures name the link."""
        if not questions:
            return
        name = self._link_name(link)
        try:
            answers = await self._links[link].answer(list(questions.values()), idempotency_key=key)
        except CallFailed as failed:
            raise failed.renamed(name) from None
        for index, reply in zip(questions, answers, strict=True):
            failure = reply.failure and Failure(reply.failure.code, f"{name}: {reply.failure.message}")
            replies[index] = reply if failure is None else Reply(failure=failure)

    def _link_name(self, link: int) -> str:
        link_settings = self.settings.links[link]
        return f"link {link + 1} of {len(self._links)} ({link_settings.name or link_settings.protocol})"


def _text_reply(ask: Ask) -> Reply:
    """Wrap a question's text in a reply, to be the first link's input; a failure if the question has no text."""
    match ask:
        case Translate(text=text) | Classify(given=str(text)) | Regress(given=str(text)):
            return Reply(text)
        case _:
            return Reply(failure=Failure("unsupported", "a chain takes texts, but this question is a record"))


def _is_listed(hop: Hop, allowed_pairs: frozenset[tuple[str, str]] | None) -> bool:
    """Return whether a link lists the language pair of a hop; true for a link without a list (``None``)."""
    return allowed_pairs is None or (hop.source, hop.target) in allowed_pairs


class Roles(Adapter):
    """Adapter for two services: an author or judge, which gets its questions (`asks_of_second`), and the rated one."""

    def __init__(self, rated_adapter: Adapter, second_adapter: Adapter, second_kind: Kind) -> None:
        self._rated_adapter, self._second_adapter = rated_adapter, second_adapter
        self._second_question_types = asks_of_second(second_kind)
        self._role = "judge" if second_kind in JUDGES else "author"
        # the limit of the service that makes no texts or images, because a call makes only one of these anyway
        self.batch_limit = second_adapter.batch_limit if second_kind in JUDGES else rated_adapter.batch_limit

    def group_key(self, ask: Ask) -> Hashable:
        """Return the key of questions that may share a call; it differs by service, and by question to an author."""
        if isinstance(ask, AUTHORED):
            return ("author", ask)  # with the question as a part, so that each call makes one text or image
        adapter = self._second_adapter if isinstance(ask, self._second_question_types) else self._rated_adapter
        return (isinstance(ask, self._second_question_types), adapter.group_key(ask))

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        """Send questions to the service for their type (see `Adapter.answer`); failures of the second name its role."""
        if not (asks and isinstance(asks[0], self._second_question_types)):
            return await self._rated_adapter.answer(asks, idempotency_key=idempotency_key)
        try:
            return await self._second_adapter.answer(asks, idempotency_key=idempotency_key)
        except CallFailed as failed:
            raise failed.renamed(self._role) from failed

    async def languages(self) -> frozenset[tuple[str, str]] | None:
        """Return the language pairs that the rated service lists; ``None`` if it has no list."""
        return await self._rated_adapter.languages()
