"""Faulty translators, each with the result that its rating must have.

If they answer at all, they translate faithfully, so a rating that succeeds despite the fault gives DSBS.
Faulty answers to arrays are detected before the rating, which is then refused.
Each service has its own state (counts), which is new in every application.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from assay.model import Letter
from demo.interfaces.libretranslate import Order, error_response
from demo.predictors.prediction import by_name
from demo.translators.behaviours import BEHAVIOURS, chance

Treatment = Callable[[Request, Order], Awaitable[Response]]
"""Function that answers an order."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """Strength of the faults."""

    slow_s: tuple[float, float] = (0.3, 0.5)
    """Shortest and longest time a slow reply takes (seconds)."""
    never_s: float = 600.0
    """How long the service that never answers holds a connection at most (seconds)."""
    refuse_every: int = 5
    """Every n-th request is refused."""
    retry_after_s: int = 1
    """Value of ``Retry-After`` (seconds)."""
    kept_characters: int = 40
    """Number of characters that the truncating service keeps."""


@dataclass(frozen=True)
class Faulty:
    """A faulty service, with the expected outcome of its rating job."""

    name: str
    summary: str
    end: Literal["rated", "failed", "inconclusive"]
    """``"rated"``: with `letter`, despite the fault; ``"failed"``: the job fails with `problem`; ``"inconclusive"``: a
    rating without a letter, for the reason `problem`.
    """
    make: Callable[[Tuning], Treatment] = field(repr=False)
    """Makes the function that answers orders, with a state of its own."""
    letter: Letter | None = None
    problem: str | None = None
    everywhere: bool = False
    """Whether the fault also affects the list of languages."""


def translate_faithfully(order: Order) -> list[str]:
    """Translate every text faithfully."""
    return [BEHAVIOURS["faithful"].translate(text, order.source, order.target) for text in order.texts]


class HangUp(Response):
    """A response that promises a body and then ends the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - signature of ASGI
        """Send only the head; the server closes the connection because the answer is incomplete."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"64")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})


def slow(tuning: Tuning) -> Treatment:
    """Return a request handler that answers after a delay in the range `slow_s`, set by a hash of the texts."""

    async def treat(_: Request, order: Order) -> Response:
        shortest, longest = tuning.slow_s
        await asyncio.sleep(shortest + (longest - shortest) * chance("slow", "/".join(order.texts)))
        return order.response(translate_faithfully(order))

    return treat


def very_slow(tuning: Tuning) -> Treatment:
    """Return a handler that keeps the connection open until the caller gives up, or for `never_s` seconds."""

    async def wait_until_caller_leaves(request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    async def treat(request: Request, _: Order) -> Response:
        try:
            await asyncio.wait_for(wait_until_caller_leaves(request), tuning.never_s)
        except TimeoutError:
            return error_response("this took too long", 504)
        return Response()

    return treat


def too_many_requests(tuning: Tuning) -> Treatment:
    """Return a request handler that refuses every `refuse_every`-th request with 429 and ``Retry-After``."""
    request_numbers = count(1)

    async def treat(_: Request, order: Order) -> Response:
        if next(request_numbers) % tuning.refuse_every == 0:
            response = error_response("too many requests", 429)
            response.headers["retry-after"] = str(tuning.retry_after_s)
            return response
        return order.response(translate_faithfully(order))

    return treat


def flaky(_: Tuning) -> Treatment:
    """Return a handler that fails the first request of each order, answers the second, fails the third, and so on."""
    failed_orders: set[Order] = set()

    async def treat(_: Request, order: Order) -> Response:
        if order in failed_orders:
            failed_orders.remove(order)
            return order.response(translate_faithfully(order))
        failed_orders.add(order)
        return error_response("something broke", 500)

    return treat


def with_change(change: Callable[[list[str], Order, Tuning], Sequence[str]]) -> Callable[[Tuning], Treatment]:
    """Return a maker of a handler that applies `change` to faithful translations before it answers."""

    def make(tuning: Tuning) -> Treatment:
        async def treat(_: Request, order: Order) -> Response:
            return order.response(change(translate_faithfully(order), order, tuning))

        return treat

    return make


def with_response(response: Callable[[], Response]) -> Callable[[Tuning], Treatment]:
    """Return a maker of a handler that answers every order with the result of `response`."""

    async def treat(*_: object) -> Response:
        return response()

    return lambda _: treat


def halves_swapped(texts: list[str], *_: object) -> list[str]:
    """Move the second half of an array before the first."""
    middle = math.ceil(len(texts) / 2)
    return texts[middle:] + texts[:middle]


def error_marks(texts: list[str], *_: object) -> list[str]:
    """Mark every word as unknown, as a broken rule-based language pair does."""
    return [" ".join("#@"[index % 2] + word for index, word in enumerate(text.split())) for text in texts]


def web_page() -> Response:
    """Return a web page, as a captive portal does."""
    return HTMLResponse("<!doctype html><title>Welcome</title><p>Please accept our terms of use.")


UNAVAILABLE, REFUSED = "target_unavailable", "target_refused"
UNFIT, UNUSABLE = "target_unfit", "target-output-unusable"
BUSY = "Says 429 and Retry-After to every fifth request."

loses_last = with_change(lambda texts, order, _: texts[:-1] if order.as_array else texts)
echo = with_change(lambda _, order, __: order.texts)
truncating = with_change(lambda texts, _, tuning: [text[: tuning.kept_characters] for text in texts])
unauthorised = with_response(lambda: error_response("this key is not known here", 401))
garbage, down = with_response(web_page), with_response(HangUp)

FAULTY = by_name(
    Faulty("slow", "Takes 0.3 to 0.5 s for each reply.", "rated", slow, Letter.DSBS),
    Faulty("too-many-requests", BUSY, "rated", too_many_requests, Letter.DSBS),
    Faulty("flaky", "Fails at every question once.", "rated", flaky, Letter.DSBS),
    Faulty("out-of-order", "Mixes up the answers of an array.", "failed", with_change(halves_swapped), problem=UNFIT),
    Faulty("wrong-count", "Loses the last answer of an array.", "failed", loses_last, problem=UNFIT),
    Faulty("echo", "Gives every text back untranslated.", "inconclusive", echo, problem=UNUSABLE),
    Faulty("error-marks", "Marks every word as unknown.", "inconclusive", with_change(error_marks), problem=UNUSABLE),
    Faulty("truncating", "Keeps only the beginning of each text.", "failed", truncating, problem=UNFIT),
    Faulty("very-slow", "Never answers in time.", "failed", very_slow, problem=UNAVAILABLE),
    Faulty("unauthorised", "Says 401 to everyone.", "failed", unauthorised, problem=REFUSED),
    Faulty("garbage", "Answers with a web page.", "failed", garbage, problem=UNAVAILABLE, everywhere=True),
    Faulty("down", "Hangs up in the middle of every answer.", "failed", down, problem=UNAVAILABLE, everywhere=True),
)
"""Faulty services by name."""
