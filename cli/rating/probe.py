"""`assay probe`: one exchange with a service, and remedies for its problems."""

import asyncio
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from assay.document import Json
from assay.experiment import generator
from assay.model import AUTHORED, Ask
from cli.exits import Exit
from cli.request.rating_options import RatingOptions
from cli.request.request import method_of_request, networks, read_request
from cli.terminal import print_json
from reports.plain import escape_hidden
from store.core.settings import Settings
from workers.egress import Egress, ShownExchange
from workers.job_targets import USUAL_PAIRS
from workers.probe import ProbeResult, probe
from workers.targets.protocols.http.decider import DecisionCall
from workers.targets.registry import check_target, read_target


def probe_here(options: RatingOptions, settings: Settings, *, examine: bool, as_json: bool) -> Exit:
    """Ask a service one question (about ten more with `examine`), and print the exchange as text or JSON."""
    request = read_request(options)
    allowed_networks = networks(settings)
    check_target(request["target"], allowed_networks, scraping=settings.allow_scraping)
    language_pairs, asks = _questions(request)
    target = read_target(request["target"])

    async def send_questions() -> ProbeResult:
        cap, agent, scraping = settings.response_cap_bytes, settings.user_agent, settings.allow_scraping
        async with Egress(allowed_networks, response_cap=cap, scraping=scraping, user_agent=agent) as egress:
            return await probe(target, egress, pairs=language_pairs, asks=asks, examine=examine)

    result = asyncio.run(send_questions())
    if as_json:
        print_json(result.as_json())
    else:
        sys.stdout.write("\n".join(map(escape_hidden, _probe_lines(result))) + "\n")
    return Exit.OK if result.code is None else Exit.UNAVAILABLE


def _questions(request: Json) -> tuple[Any, list[Ask]]:
    """Return the language pairs and first questions of the experiment, except those to an author (second service)."""
    method = method_of_request(request)
    first_probes = next(method.design(generator(request["seed"])), ())  # the first batch of planned questions
    asks = [probe.ask for probe in first_probes if not isinstance(probe.ask, AUTHORED)]
    return method.language_pairs() or USUAL_PAIRS, asks


def _probe_lines(result: ProbeResult) -> Iterator[str]:
    """Yield the lines about a probe (test question): the call, how its answer was read, and why it failed."""
    yield f"asked   {result.question}"
    for call in result.decision:  # of a model that decides
        yield from _decision_lines(call)
    if result.exchange is not None:
        yield from exchange_lines(result.exchange)
    if result.exchanges > 1:
        yield f"        (the last of {result.exchanges} requests)"
    if result.reading is not None:
        yield from _wrap_lines("read as", result.reading)
    if result.exchanged is not None:  # the result of the same question, with its two documents in the other order
        yield ""
        yield from _probe_lines(result.exchanged)
    if result.capability is not None:  # the service was examined by further calls
        facts = {name: result.capability[name] for name in ("deterministic", "batch", "order_kept", "calls")}
        yield from _wrap_lines("found", ", ".join(f"{name} {value}" for name, value in facts.items()))
        for note in result.capability["notes"]:
            yield from _wrap_lines("note", note)
    if result.cause:
        if result.service_said and result.service_said not in result.cause:
            yield from _wrap_lines("it said", result.service_said)
        yield from _wrap_lines("cause", result.cause)
        yield from _wrap_lines("remedy", result.remedy)


def _decision_lines(call: DecisionCall) -> Iterator[str]:
    """Yield lines about one call of a model that decides: its prompt, its answer and how the answer was read."""
    first_line, *other_lines = call.prompt.splitlines() or [""]
    yield from _wrap_lines("prompt", first_line)
    for line in other_lines:
        yield from textwrap.wrap(line, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    yield from _wrap_lines("answer", call.answer or "nothing")
    yield from _wrap_lines("by", f"{READINGS[call.reading]}: {call.read or 'not read'}")


READINGS = {
    "probabilities": "the probabilities of the labels' first tokens",
    "letters": "the letter of an option; the options are asked about in every order",
    "text": "the text",
}
"""Ways to read a model's decision from its answer, in words."""


def _wrap_lines(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{name:<8}", subsequent_indent=" " * 8) or [name]


WIDTH = 100
"""Columns of the text; a longer body or message is wrapped."""


def exchange_lines(exchange: ShownExchange) -> Iterator[str]:
    """Yield the lines of text that show a request and its response in a terminal."""
    yield f"sent    {exchange.request.method} {exchange.request.url}"
    yield from _message_lines(exchange.request.headers, exchange.request.body)
    if exchange.response is None:
        yield f"got     nothing, after {exchange.seconds:.2f} s"
        return
    yield f"got     HTTP {exchange.response.status} after {exchange.seconds:.2f} s, {exchange.response.size:,} bytes"
    yield from _message_lines(exchange.response.headers, exchange.response.body)


def _message_lines(headers: Mapping[str, str], body: str) -> Iterator[str]:
    for name, value in headers.items():
        if name not in OMITTED:
            yield f"        {name}: {value}"
    for line in body.splitlines():
        yield from textwrap.wrap(line, WIDTH - 10, initial_indent=" " * 10, subsequent_indent=" " * 10)


OMITTED = frozenset({"accept", "accept-encoding", "user-agent", "date", "server", "connection", "content-length"})
"""Headers that are left out because they explain no fault; `--json` shows them."""
