"""Pairs of sentences scored by a language model, against a bare asyncio loop doing the same calls.

``python -m benchmarks.bench_pairs [PAIRS] [CONCURRENCY] [DELAY_MS]`` (10,000 pairs are the goal's size)

Both sentences of a pair are scored by the tokens that the engine echoes. Ours goes through the adapter, the guard, the
driver, the lane and the ledger of a real job, under its fence; the reference writes the same bodies to raw
connections and adds up the same numbers. Both run in this process, one after the other, three times; the ratio of
the fastest runs is printed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import structlog

from assay.experiment import Experiment, Session, generator
from assay.methods import RoundTrip
from assay.model import Finding, Kind, Probe, Score
from benchmarks.bench_pipe import Memory, target, timed
from store.core import migrate
from store.core.settings import Settings
from store.jobs import jobs
from store.jobs.jobs import Claim, NewJob
from store.ratings.experiment_json import dump_method
from workers.calls.driver import CalledService, Driver, JobLedger
from workers.calls.limits import Budget, Lane, lane_of
from workers.egress import Egress
from workers.engine.tasks import open_context
from workers.engine.worker_context import WorkerContext
from workers.targets.adapter import Limits, Target
from workers.targets.registry import connect

LOOK = 1_000
"""Number of pairs in a batch, as in a method."""

LEASE_S = 3600


def sentences(pairs: int) -> Iterator[tuple[str, str]]:
    """Yield pairs of sentences that differ by one word; no sentence occurs twice."""
    for number in range(pairs):
        rest = f"of house {number} works as a nurse in the next town."
        yield f"The woman {rest}", f"The man {rest}"


def design(pairs: Sequence[tuple[str, str]]) -> Experiment:
    """Score both sentences of every pair; return the number of pairs whose first sentence is likelier."""
    stereotyped = 0
    for start in range(0, len(pairs), LOOK):
        asked = [
            Probe(f"pair/{start + place}/{end}", Score(text))
            for place, pair in enumerate(pairs[start : start + LOOK])
            for end, text in enumerate(pair)
        ]
        replies = yield asked
        scores = [reply.value["log_probability"] for reply in replies]
        stereotyped += sum(first > second for first, second in zip(scores[::2], scores[1::2], strict=True))
    return Finding("pairs", "gender", (), 0.95, 0.1)


def bodies_of(pairs: Sequence[tuple[str, str]]) -> list[bytes]:
    """Return the request bodies that the adapter sends, in its order."""
    wanted = {"max_tokens": 0, "echo": True, "logprobs": 1, "temperature": 0.0}
    return [
        json.dumps({"model": "bench", "prompt": text, "seed": 0, **wanted}).encode() for pair in pairs for text in pair
    ]


async def bare_loop(port: int, bodies: list[bytes], concurrency: int) -> float:
    """Send every body over one of `concurrency` open connections; return the sum of the log-probabilities."""
    rest, total = iter(bodies), 0.0

    async def work() -> None:
        nonlocal total
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in rest:
            writer.write(
                b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%b" % (len(body), body)
            )
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            said = json.loads(await reader.readexactly(length))["choices"][0]
            total += sum(said["logprobs"]["token_logprobs"][1:])
        writer.close()

    await asyncio.gather(*(work() for _ in range(concurrency)))
    return total


def pipe(port: int, pairs: Sequence[tuple[str, str]], concurrency: int, folder: str) -> None:
    """Ask through adapter, driver, lane and ledger of a job."""
    settings = Settings(data_dir=Path(folder), egress_allow="127.0.0.0/8")
    migrate.upgrade(settings.resolved_database_url)
    context = open_context(settings)
    model = Target(
        "bench",
        Kind.LANGUAGE_MODEL,
        "openai-completions",
        f"http://127.0.0.1:{port}",
        {"model": "bench"},
        limits=Limits(concurrency=concurrency),
    )
    claim = claimed(context, model)
    session = asyncio.run(scored(context, claim, model, pairs))
    context.database.close()
    if session.failed or session.asked != 2 * len(pairs):
        raise SystemExit(f"{session.asked} of {2 * len(pairs)} questions were asked, {session.failed} failed")


async def scored(context: WorkerContext, claim: Claim, model: Target, pairs: Sequence[tuple[str, str]]) -> Session:
    """Run the experiment to its finding."""
    session, rng = Session(design(pairs)), generator(1)
    async with Egress(context.settings.egress_networks) as egress, context.traffic() as traffic:
        driver = Driver(
            connect(model, egress),
            model.limits,
            Budget(10**7, 0),
            JobLedger(context, claim),
            claim.job.id,
            rng,
            rated=CalledService(Lane(lane_of("default", model.base_url), claim.job.id, model.limits, rng, traffic)),
        )
        await driver.run(session)
    return session


def claimed(context: WorkerContext, model: Target) -> Claim:
    """Add a job and claim it; the ledger does not depend on the experiment."""
    new = NewJob(
        tenant="default",
        kind="rating",
        target_id=None,
        target={"name": "bench", "kind": model.kind, "protocol": model.protocol, "base_url": model.base_url},
        sealed_secret=None,
        experiment=dump_method(RoundTrip("gender", languages=("es",))),
        request_digest="bench",
        seed=1,
        visibility="private",
        callback_url=None,
        max_calls=10**7,
        deadline_s=LEASE_S,
        expected=1,
        key_id=None,
    )
    with context.database.write() as connection:
        claim = jobs.claim(connection, jobs.add(connection, new).id, "bench", LEASE_S)
    if claim is None:
        raise SystemExit("the job could not be claimed")
    return claim


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    count, concurrency, delay_ms = [*map(int, sys.argv[1:]), *(2000, 32, 20)[len(sys.argv) - 1 :]]
    pairs = list(sentences(count))
    bodies = bodies_of(pairs)
    with target(delay_ms, "echo") as port:
        # warm-up, so that the first measured calls are not slower
        asyncio.run(bare_loop(port, bodies[:200], concurrency))
        with tempfile.TemporaryDirectory() as folder:
            pipe(port, pairs[:50], concurrency, folder)
        bare, ours = [], []
        memory = Memory()
        for _ in range(3):
            bare.append(timed(lambda: asyncio.run(bare_loop(port, bodies, concurrency))))
            with tempfile.TemporaryDirectory() as folder:
                ours.append(timed(partial(pipe, port, pairs, concurrency, folder)))
        grown = memory.grown_mb()
    print(
        f"{count:,} pairs, {len(bodies):,} calls of {delay_ms} ms at concurrency {concurrency}: "
        f"bare loop {min(bare):.2f} s, whole pipe {min(ours):.2f} s, ratio {min(ours) / min(bare):.2f}; "
        f"memory grew by {grown:.0f} MB"
    )


if __name__ == "__main__":
    main()
