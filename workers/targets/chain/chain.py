"""Chain of targets as one target: the output of each link is the input of the next.

All links but the last are translators (`workers.targets.chain.chain_route`). The last is a translator, a
classifier or a regressor, and the chain has its kind. A failure names the link that failed.
"""

from __future__ import annotations

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
from assay.model import Ask, Classify, Failure, Kind, Regress, Reply, Translate
from workers.egress import CallFailed
from workers.targets.adapter import QUESTIONS, Adapter, Limits, Target, opaque_key, questions_for
from workers.targets.auth.schemes import Strict
from workers.targets.chain.chain_route import REQUESTED_LANGUAGE, Hop, NoWay, Path, check_path, hops, hops_on_way_out
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
        """Paths of every link but the last."""
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
        link = self.links[index]
        if not link.protocol or link.kind is None:
            missing = "protocol" if link.kind is not None else "kind"
            raise SpecificationError(
                f"link {index + 1} has no {missing}; describe it as a target, or name one that the agency has saved",
                f"links.{index}.{missing}",
            )
        return link.kind


def tighten_limits(target: Target, links: Sequence[Target], paths: Sequence[Path]) -> Limits:
    """Return a chain's limits, reduced so that every link stays within its own limits at several calls per text."""
    calls_of_link = Counter(hop.link for hop in hops_on_way_out(paths))
    limits = target.limits
    rates = [limits.requests_per_second] + [
        link.limits.requests_per_second / max(1, calls_of_link[index])  # 1: the last link, which has no path
        for index, link in enumerate(links)
        if link.limits.requests_per_second is not None
    ]
    slowest_rate = min((rate for rate in rates if rate is not None), default=None)
    fewest_calls = min([limits.concurrency, *(link.limits.concurrency for link in links)])
    return replace(limits, concurrency=fewest_calls, requests_per_second=slowest_rate)


def renamed_failure(failure: CallFailed, name: str) -> CallFailed:
    """Return a copy of a failure whose message begins with the name of the service."""
    return CallFailed(
        failure.code,
        f"{name}: {failure.message}",
        retriable=failure.retriable,
        retry_after_s=failure.retry_after_s,
        status=failure.status,
    )


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
        """Return the pairs of the chain, from the lists of all its translators."""
        paths, listed_pairs = self.settings.paths, [await adapter.languages() for adapter in self._links]
        for hop in hops_on_way_out(paths):  # without the last link, which translates into the requested language
            if REQUESTED_LANGUAGE not in {hop.source, hop.target} and not _is_listed(hop, listed_pairs[hop.link]):
                failure = CallFailed("unsupported", f"it does not translate {hop.source} to {hop.target}")
                raise renamed_failure(failure, self._link_name(hop.link))
        pairs_of_last = listed_pairs[-1]
        if pairs_of_last is None:
            return None
        first_language, turning_language = paths[0][0], paths[-1][-1]
        way_out = {(first_language, target) for source, target in pairs_of_last if source == turning_language}
        way_back = {(source, first_language) for source, target in pairs_of_last if target == turning_language}
        return frozenset(pair for pair in way_out | way_back if self._has_route(pair, listed_pairs))

    def _has_route(self, pair: tuple[str, str], listed_pairs: Sequence[frozenset[tuple[str, str]] | None]) -> bool:
        """Whether every link on the route between two languages lists its language pair, or has no list."""
        try:
            route = hops(self.settings.paths, *pair)
        except NoWay:
            return False
        return all(_is_listed(hop, listed_pairs[hop.link]) for hop in route)

    async def _send_through(self, asks: Sequence[Ask], key: str | None) -> list[Reply]:
        """Send texts from link to link; a text that fails at one link is not sent to the next."""
        first_question, route = asks[0], hops_on_way_out(self.settings.paths)
        if isinstance(first_question, Translate):
            try:
                route = hops(self.settings.paths, first_question.source, first_question.target)
            except NoWay as no_way:
                raise CallFailed("unsupported", str(no_way)) from None
        replies = [_text_reply(ask) for ask in asks]
        for index, hop in enumerate(route):
            await self._translate_hop(hop, replies, key and opaque_key(key, str(index)))
        if not isinstance(first_question, Translate):
            await self._ask_last_link(replies, cast("Sequence[Classify | Regress]", asks), key)
        return replies

    async def _translate_hop(self, hop: Hop, replies: list[Reply], key: str | None) -> None:
        """Translate the texts in `replies` that have not failed yet with one link; replace the replies in place."""
        pending_indices = [index for index, reply in enumerate(replies) if reply.ok]
        asks = [Translate(str(replies[index].value), hop.source, hop.target) for index in pending_indices]
        message = f"{self._link_name(hop.link)}: it answered a text with nothing, {hop.source} to {hop.target}"
        empty_reply = Reply(failure=Failure("wrong-shape", message))
        for index, reply in zip(pending_indices, await self._call_link(hop.link, asks, key), strict=True):
            replies[index] = reply if not reply.ok or str(reply.value).strip() else empty_reply

    async def _ask_last_link(self, replies: list[Reply], asks: Sequence[Classify | Regress], key: str | None) -> None:
        """Ask the last link about the translated texts in `replies`; replace the replies in place."""
        last_link = len(self._links) - 1
        pending_indices = [index for index, reply in enumerate(replies) if reply.ok]
        questions = [replace(asks[index], given=str(replies[index].value)) for index in pending_indices]
        for index, reply in zip(pending_indices, await self._call_link(last_link, questions, key), strict=True):
            replies[index] = reply

    async def _call_link(self, link: int, asks: Sequence[Ask], key: str | None) -> list[Reply]:
        """Call one link; messages of its failures begin with the link's name."""
        if not asks:
            return []
        try:
            replies = await self._links[link].answer(asks, idempotency_key=key)
        except CallFailed as failed:
            raise renamed_failure(failed, self._link_name(link)) from None
        return [
            reply
            if reply.failure is None
            else Reply(failure=Failure(reply.failure.code, f"{self._link_name(link)}: {reply.failure.message}"))
            for reply in replies
        ]

    def _link_name(self, link: int) -> str:
        link_settings = self.settings.links[link]
        return f"link {link + 1} of {len(self._links)} ({link_settings.name or link_settings.protocol})"


def _text_reply(ask: Ask) -> Reply:
    """Return the text of a question as a reply."""
    match ask:
        case Translate(text=text) | Classify(given=str(text)) | Regress(given=str(text)):
            return Reply(text)
        case _:
            return Reply(failure=Failure("unsupported", "a chain takes texts, but this question is a record"))


def _is_listed(hop: Hop, allowed_pairs: frozenset[tuple[str, str]] | None) -> bool:
    """Return whether a link may translate a hop; ``None`` for a link that has no list of language pairs."""
    return allowed_pairs is None or (hop.source, hop.target) in allowed_pairs
