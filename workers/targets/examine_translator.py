"""Whether a translator can be rated.

Its texts carry numbers. Numbers survive translation better than words, so they show whether answers
come back for the right questions, in order, and whole.
"""

from __future__ import annotations

import asyncio
import re
import time
import unicodedata
from collections.abc import Awaitable, Callable, Sequence

from assay.model import Failure, Reply, Translate
from assay.translation import untranslated
from workers.egress import CallFailed
from workers.targets.adapter import Adapter
from workers.targets.capability import (
    HOPELESS,
    MEND_ARRAYS,
    NOT_DETERMINISTIC,
    PATIENCE,
    Calls,
    Capability,
    TargetUnfit,
    at_once,
    one_by_one,
    unfit,
)

SENTENCES = 40
"""Sentences of the long text."""

FIRST, STEP = 211, 13
"""The numbers are 211, 224, 237 …: three digits, so that nobody puts a separator into them."""

_NUMBER = re.compile(r"\d+")

Pair = tuple[str, str]


async def examine_translator(
    adapter: Adapter,
    pairs: Sequence[Pair],
    clock: Callable[[], float] = time.monotonic,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    turn: Callable[[], Awaitable[None]] = at_once,
) -> Capability:
    """Examine a translator in about six calls.

    A service whose answers to several texts come in another number or order is not rated. Where
    that could not be seen, the result's `adapter` sends texts one by one, which is always safe.

    Parameters
    ----------
    adapter : Adapter
        The target.
    pairs : sequence of (source, target)
        What the experiment will ask for; the first is examined, and its way back if it is there.
    clock : callable
        Seconds, for the latency.
    sleep : callable
        Waits between tries.
    turn : callable
        Waits before each call, as the target's limits ask.

    Raises
    ------
    TargetUnfit
        If a rating would not be worth its name.
    """
    return await _Examination(adapter, pairs, Calls(clock, sleep, turn)).run()


class _Examination:
    def __init__(self, adapter: Adapter, pairs: Sequence[Pair], calls: Calls) -> None:
        if not pairs:
            raise ValueError("an examination needs a pair of languages")
        self._adapter, self._pairs, self._calls = adapter, tuple(pairs), calls
        self._notes: list[str] = []

    async def run(self) -> Capability:
        await self._check_languages()
        asked = sentence(0)
        returned, latency_s = await self._first(asked)
        deterministic = await self._again(asked, returned)
        await self._back(returned)
        order_kept = await self._several() if self._adapter.batch_limit > 1 else None
        if order_kept is not True and self._adapter.batch_limit > 1:
            self._adapter = one_by_one(self._adapter)
        truncates_at = await self._long()
        return Capability(
            adapter=self._adapter,
            latency_s=latency_s,
            deterministic=deterministic,
            batch=order_kept is True,
            order_kept=order_kept,
            truncates_at=truncates_at,
            notes=tuple(self._notes),
            asked=asked,
            returned=returned,
            calls=self._calls.made,
        )

    async def _check_languages(self) -> None:
        try:
            supported = await self._calls.persist(self._adapter.languages, PATIENCE)
        except CallFailed as failed:
            if failed.code in HOPELESS:
                raise unfit(failed) from None
            self._notes.append(f"the service did not say which languages it supports ({failed.code})")
            return
        self._calls.made -= supported is None  # nothing was asked
        missing = [pair for pair in dict.fromkeys(self._pairs) if supported is not None and pair not in supported]
        if missing:
            listed = ", ".join(f"{source} to {target}" for source, target in missing[:10])
            raise TargetUnfit(
                "unsupported-language",
                f"the service does not translate {listed}",
                "leave these languages out, or name the service's own codes in settings.language_codes",
            )

    async def _first(self, asked: str) -> tuple[str, float]:
        """Translate one text: what everything else depends on."""
        try:
            replies, latency_s = await self._calls.timed(
                lambda: self._adapter.answer([Translate(asked, *self._pairs[0])])
            )
        except CallFailed as failed:
            raise unfit(failed) from None
        reply = replies[0]
        if reply.failure is not None:
            raise TargetUnfit(reply.failure.code, reply.failure.message, "see the protocol's notes")
        returned = str(reply.value)
        if not returned.strip():
            raise TargetUnfit(
                "empty", "the service answered a text with nothing", "check the output setting and the languages"
            )
        if untranslated(asked, returned):
            self._notes.append("the text came back as it was sent; the service may not translate this pair")
        return returned, latency_s

    async def _again(self, asked: str, returned: str) -> bool | None:
        reply = await self._one(asked, self._pairs[0], "whether it is deterministic")
        if reply is None:
            return None
        if reply.value != returned:
            self._notes.append(NOT_DETERMINISTIC)
        return bool(reply.value == returned)

    async def _back(self, returned: str) -> None:
        """Translate the first answer back, where the experiment goes there and back."""
        there, back = self._pairs[0]
        if (back, there) not in self._pairs[1:]:
            return
        reply = await self._one(returned, (back, there), "the way back")
        if reply is not None and not str(reply.value).strip():
            raise TargetUnfit("empty", "the way back brought nothing", f"check that it translates {back} to {there}")

    async def _several(self) -> bool | None:
        """Ask several texts at once; ``True`` if their order was kept, ``None`` if it could not be seen."""
        size = min(5, self._adapter.batch_limit)
        numbers = [number(place) for place in range(1, size + 1)]
        asks = [Translate(sentence(place), *self._pairs[0]) for place in range(1, size + 1)]
        try:
            replies = await self._calls.persist(lambda: self._adapter.answer(asks))
        except CallFailed as failed:
            if failed.code == "wrong-count":
                raise TargetUnfit(failed.code, failed.message, MEND_ARRAYS, None) from None
            self._notes.append(f"several texts in one call failed ({failed.code}); texts are sent one by one")
            return None
        found = [numbers_in(reply) for reply in replies]
        if all(own in there for own, there in zip(numbers, found, strict=True)):
            return True
        if any(set(numbers) - {own} & there for own, there in zip(numbers, found, strict=True)):
            raise TargetUnfit("out-of-order", f"{size} texts in one call came back in another order", MEND_ARRAYS)
        self._notes.append("the numbers did not survive, so the order of several texts could not be checked")
        return None

    async def _long(self) -> int | None:
        """Ask a text of many sentences; one that comes back without its end makes the target unfit."""
        asked = " ".join(sentence(place) for place in range(SENTENCES))
        numbers = [number(place) for place in range(SENTENCES)]
        try:
            reply = (await self._calls.persist(lambda: self._adapter.answer([Translate(asked, *self._pairs[0])])))[0]
        except CallFailed as failed:
            reply = Reply(failure=Failure(failed.code, failed.message))
        if reply.failure is not None:
            return self._refused_long(reply.failure, len(asked))
        kept = numbers_in(reply)
        places = [place for place, each in enumerate(numbers) if each in kept]
        if not places:
            self._notes.append("the numbers did not survive, so it could not be seen whether long texts stay whole")
            return None
        tail = SENTENCES - 1 - places[-1]
        if tail > 1:
            raise TargetUnfit(
                "truncates",
                f"of a text of {SENTENCES} sentences ({len(asked):,} characters) the last {tail} did not come back",
                "raise the service's limit on the length of an answer",
            )
        if len(places) < SENTENCES - 1:
            self._notes.append(f"{SENTENCES - len(places)} of {SENTENCES} numbered sentences lost their number")
        return None

    def _refused_long(self, failure: Failure, length: int) -> int | None:
        if failure.code in {"http-400", "http-413", "http-414", "http-422", "unsupported", "cut-short"}:
            self._notes.append(f"a text of {length:,} characters was refused ({failure.code})")
            return length
        self._notes.append(f"whether long texts stay whole could not be seen ({failure.code})")
        return None

    async def _one(self, text: str, pair: Pair, what: str) -> Reply | None:
        """Ask one text; a failure only means that `what` could not be seen."""
        try:
            reply = (await self._calls.persist(lambda: self._adapter.answer([Translate(text, *pair)])))[0]
        except CallFailed as failed:
            reply = Reply(failure=Failure(failed.code, failed.message))
        if reply.failure is not None:
            self._notes.append(f"{what} could not be seen ({reply.failure.code})")
            return None
        return reply


def number(place: int) -> int:
    """Give the number of a sentence; no two sentences share one."""
    return FIRST + STEP * place


def sentence(place: int) -> str:
    """Write a sentence that any translator knows the words of, with its number in digits."""
    return f"The house has the number {number(place)}."


def numbers_in(reply: Reply) -> set[int]:
    """Read the numbers of an answer, in whatever digits they are written."""
    digits = "".join(_digit(character) for character in str(reply.value))
    return {int(found) for found in _NUMBER.findall(digits) if len(found) <= 4}


def _digit(character: str) -> str:
    value = unicodedata.decimal(character, None)
    return character if value is None else str(value)
