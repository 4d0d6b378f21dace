"""The driver with an in-memory target: order, concurrency, retries, budget, breaker, ledger.

Row 91 of docs/reliability.md: at ffe18d3c every rating asked the questions of seed 0, and calls named agency, job and
block.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from assay.experiment import Session, generator
from assay.model import Finding, Kind, Probe, Reply, Translate, Write
from store.jobs.jobs import LedgerEntry
from workers.calls.driver import CalledService, Driver, TargetUnavailable
from workers.calls.limits import Breaker, Budget, Lane, LocalTraffic, Patience
from workers.egress import CallFailed
from workers.targets.adapter import Limits
from workers.targets.chain.chain import Roles

FINDING = Finding("test", "gender", (), 0.95, 0.1)


def ask(*batches: Sequence[Probe]):
    """Build an experiment that sends some batches and records its replies."""
    seen: list[list[Reply]] = []

    def experiment():
        for batch in batches:
            replies = yield batch
            seen.append(list(replies))
        return FINDING

    return Session(experiment()), seen


def probes(n: int, start: int = 0, target: str = "es") -> list[Probe]:
    return [Probe(f"u{i}", Translate(f"text {i}", "en", target)) for i in range(start, start + n)]


@dataclass
class Target:
    """Adapter that returns the text itself, records every call, and fails as configured."""

    batch_limit: int = 1
    behave: Callable[[int, Sequence[Translate]], None] = lambda call, asks: None
    pause_s: float = 0.0
    calls: list[list[str]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    running: int = 0
    most_running: int = 0

    def group_key(self, ask: Translate) -> Hashable:
        return ask.target

    async def answer(self, asks: Sequence[Translate], *, idempotency_key: str | None = None) -> Sequence[Reply]:
        self.calls.append([each.text for each in asks])
        self.keys.append(idempotency_key)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(self.pause_s)
            self.behave(len(self.calls), asks)
        finally:
            self.running -= 1
        return [Reply(f"<{each.text}>") for each in asks]


@dataclass
class Ledger:
    answers: list[LedgerEntry] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    calls: int = 0
    fail_at: int | None = None

    def record(self, answers: Sequence[LedgerEntry], *, calls: int, expected: int) -> None:
        if self.fail_at is not None and len(self.sizes) >= self.fail_at:
            raise ConnectionError("the ledger is gone")
        self.answers += answers
        self.sizes.append(len(answers))
        self.calls += calls


def driver(target: Target, ledger: Ledger, *, concurrency: int = 4, max_calls: int = 1000, **more) -> Driver:
    async def at_once(seconds: float) -> None:
        waits.append(seconds)

    waits: list[float] = []
    made = Driver(
        target, Limits(concurrency=concurrency), Budget(max_calls), ledger, "job_1", generator(0), sleep=at_once, **more
    )
    made.waits = waits
    return made


def test_answers_are_returned_in_the_order_of_the_questions():
    session, seen = ask(probes(50))
    finding = asyncio.run(driver(Target(), ledger := Ledger()).run(session))
    assert finding is FINDING
    assert [reply.value for reply in seen[0]] == [f"<text {i}>" for i in range(50)]
    assert {each.observation.probe.unit for each in ledger.answers} == {f"u{i}" for i in range(50)}
    assert ledger.calls == 50


def test_two_replicas_behind_a_load_balancer_each_get_questions_about_both_groups():
    session, _ = ask([one for n in range(0, 200, 2) for one in (*probes(1, n, "he"), *probes(1, n + 1, "she"))])
    of_replica: dict[int, Counter[str]] = {0: Counter(), 1: Counter()}
    target = Target(behave=lambda call, asks: of_replica[call % 2].update([asks[0].target]))
    asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
    assert all(30 < of_replica[replica][group] < 70 for replica in (0, 1) for group in ("he", "she")), of_replica


def test_concurrency_limit_is_never_exceeded():
    session, _ = ask(probes(40))
    target = Target(pause_s=0.002)
    asyncio.run(driver(target, Ledger(), concurrency=3).run(session))
    assert target.most_running == 3


def test_identical_questions_are_sent_once_and_the_answer_is_recorded_for_each_of_them():
    twins = [Probe(f"t{i}", Translate("same", "en", "es")) for i in range(5)]
    session, seen = ask(twins, [Probe("later", Translate("same", "en", "es"))])
    target, ledger = Target(), Ledger()
    asyncio.run(driver(target, ledger).run(session))
    assert target.calls == [["same"]]
    assert [reply.value for reply in seen[0] + seen[1]] == ["<same>"] * 6
    assert [each.observation.copied for each in ledger.answers] == [False, True, True, True, True, True]
    assert session.asked == 1


def test_a_batch_holds_questions_of_one_language_pair_up_to_the_size_limit():
    session, seen = ask(probes(7) + probes(3, 7, target="fr"))
    target = Target(batch_limit=4)
    asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
    assert sorted(map(len, target.calls)) == [3, 3, 4]
    assert [reply.value for reply in seen[0]] == [f"<text {i}>" for i in range(10)]


def test_retriable_failure_is_retried_with_growing_random_pauses():
    def twice(call: int, asks: object) -> None:
        if call <= 2:
            raise CallFailed("http-500", "answered 500", retriable=True)

    session, seen = ask(probes(1))
    made = driver(Target(behave=twice), ledger := Ledger())
    asyncio.run(made.run(session))
    assert seen[0][0].value == "<text 0>"
    assert ledger.answers[0].attempts == 3
    assert len(made.waits) == 2
    assert 0 <= made.waits[0] <= 1.0
    assert 0 <= made.waits[1] <= 2.0


def test_retry_after_is_obeyed_up_to_the_cap():
    from workers.egress import RETRY_AFTER_CAP_S

    waits = iter([7.0, 1e9])

    def busy(call: int, asks: object) -> None:
        if call <= 2:
            raise CallFailed("http-429", "too many", retriable=True, retry_after_s=next(waits))

    session, _ = ask(probes(1))
    made = driver(Target(behave=busy), Ledger())
    asyncio.run(made.run(session))
    assert made.waits == [7.0, RETRY_AFTER_CAP_S]


def test_a_call_that_fails_permanently_makes_only_its_own_reply_fail():
    def third(call: int, asks: Sequence[Translate]) -> None:
        if asks[0].text == "text 3":
            raise CallFailed("wrong-shape", "no text in the answer", retriable=False)

    session, seen = ask(probes(6))
    asyncio.run(driver(Target(behave=third), Ledger()).run(session))
    assert [reply.ok for reply in seen[0]] == [True, True, True, False, True, True]
    assert seen[0][3].failure.code == "wrong-shape"
    assert (session.asked, session.failed) == (6, 1)


def test_refused_api_key_ends_the_job_at_once():
    def refuse(call: int, asks: object) -> None:
        raise CallFailed("auth", "answered 401", retriable=False)

    session, _ = ask(probes(100))
    target = Target(behave=refuse)
    with pytest.raises(CallFailed, match="401"):
        asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
    assert len(target.calls) == 1


def test_twenty_failed_calls_in_a_row_open_the_circuit_breaker_and_earlier_answers_are_stored():
    def after_ten(call: int, asks: Sequence[Translate]) -> None:
        if call > 10:
            raise CallFailed("connect", "nobody listens", retriable=True)

    session, _ = ask(probes(100))
    target, ledger = Target(behave=after_ten), Ledger()
    with pytest.raises(TargetUnavailable):
        asyncio.run(driver(target, ledger, concurrency=1, patience=Patience(attempts=2)).run(session))
    assert len(target.calls) == 10 + 20 * 2
    assert sum(each.observation.reply.ok for each in ledger.answers) == 10


def test_circuit_breaker_opens_when_more_than_half_of_the_last_fifty_calls_failed():
    breaker = Breaker(consecutive=1000, window=50)
    for _ in range(24):
        breaker.count_answer()
    assert [breaker.count_failure() for _ in range(26)] == [False] * 25 + [True]


def test_budget_counts_retries_and_is_never_exceeded():
    def flaky(call: int, asks: object) -> None:
        if call % 2:
            raise CallFailed("http-500", "answered 500", retriable=True)

    session, seen = ask(probes(30))
    target, ledger = Target(behave=flaky), Ledger()
    asyncio.run(driver(target, ledger, max_calls=20, concurrency=1).run(session))
    assert len(target.calls) == 20
    assert ledger.calls == 20
    assert [reply.failure.code for reply in seen[0] if not reply.ok] == ["budget-exhausted"] * 20
    assert len(ledger.answers) == 30


def test_answers_are_stored_in_groups_and_none_is_lost():
    session, _ = ask(probes(95))
    ledger = Ledger()
    asyncio.run(driver(Target(pause_s=0.001), ledger, flush_replies=20, flush_s=10).run(session))
    assert len(ledger.answers) == 95
    assert all(size >= 20 for size in ledger.sizes[:-1])


def test_no_further_calls_are_made_when_answers_cannot_be_stored():
    session, _ = ask(probes(10_000))
    target = Target(pause_s=0.0005)
    with pytest.raises(ConnectionError):
        asyncio.run(driver(target, Ledger(fail_at=2), flush_replies=10).run(session))
    assert len(target.calls) < 5_000


def test_answers_received_before_a_job_is_cancelled_are_stored():
    async def cancelled() -> Ledger:
        session, _ = ask(probes(1000))
        target, ledger = Target(pause_s=0.001), Ledger()
        run = asyncio.ensure_future(driver(target, ledger, flush_s=100, flush_replies=10_000).run(session))
        async with asyncio.timeout(10):
            while len(target.calls) < 50:  # noqa: ASYNC110 - the target offers no event to wait for
                await asyncio.sleep(0.001)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert session.asked == len(ledger.answers)
        return ledger

    assert len(asyncio.run(cancelled()).answers) >= 40


def test_idempotency_keys_are_uuids_that_stay_the_same_in_retries_and_in_a_resumed_run():
    def fail_first(call: int, asks: Sequence[Translate]) -> None:
        if call == 1:
            raise CallFailed("http-503", "busy", retriable=True)

    def keys(target: Target) -> dict[str, set[str | None]]:
        session, _ = ask(probes(5))
        asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
        return {
            text: {key for (asked,), key in zip(target.calls, target.keys, strict=True) if asked == text}
            for (text,) in target.calls
        }

    retried = Target(behave=fail_first)
    by_text = keys(retried)
    assert len(retried.calls) == 6
    assert all(len(of_text) == 1 for of_text in by_text.values())
    assert len(set.union(*by_text.values())) == 5
    assert all(UUID(key).version == 4 for key in set.union(*by_text.values()))
    assert keys(Target()) == by_text


def test_calls_with_different_questions_have_different_idempotency_keys():
    keys = []
    for count in (4, 6):  # the same questions are in calls of two and of three
        session, _ = ask(probes(count))
        target = Target(batch_limit=count // 2)
        asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
        keys += target.keys
    assert len(set(keys)) == len(keys) == 4


def versions(items: int) -> list[Probe]:
    """Return two versions of each of some items."""
    return [
        Probe(f"{i}/{v}", Translate(f"{i} {v}", "en", "es"), (f"{i}",)) for i in range(items) for v in ("he", "she")
    ]


def distances(texts: Sequence[str]) -> list[int]:
    """Return the numbers of calls between the two versions of each item."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        places.setdefault(text.split()[0], []).append(place)
    return [second - first for first, second in places.values()]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_sentences_that_differ_only_in_the_group_are_at_least_50_calls_apart_in_random_order(concurrency):
    session, _ = ask(versions(100))
    target = Target(pause_s=0.001)
    asyncio.run(driver(target, Ledger(), concurrency=concurrency).run(session))
    texts = [text for (text,) in target.calls]
    assert min(distances(texts)) >= 50
    first = Counter(next(text.split()[1] for text in texts if text.split()[0] == str(item)) for item in range(100))
    assert 30 < first["he"] < 70, first


def test_sentences_that_differ_only_in_the_group_are_50_calls_apart_even_in_two_batches():
    both = versions(60)
    session, _ = ask(both[::2], both[1::2])
    target = Target()
    asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
    assert min(distances([text for (text,) in target.calls])) >= 50


@pytest.mark.parametrize("items", [2, 12, 20, 100])
def test_sentences_that_differ_only_in_the_group_are_never_sent_in_one_call(items):
    session, _ = ask(versions(items))
    target = Target(batch_limit=24)
    asyncio.run(driver(target, Ledger(), concurrency=1).run(session))
    for texts in target.calls:
        assert len({text.split()[0] for text in texts}) == len(texts) <= 24, texts


def test_no_sentence_is_sent_while_a_call_with_the_same_sentence_about_another_group_is_pending():
    asked: dict[str, int] = {}
    most: list[int] = []

    @dataclass
    class Holding(Target):
        async def answer(self, asks, *, idempotency_key=None):
            (item, _) = asks[0].text.split()
            asked[item] = asked.get(item, 0) + 1
            most.append(asked[item])
            await asyncio.sleep(0.02 if item == "0" else 0)
            asked[item] -= 1
            return [Reply("x")]

    session, _ = ask(versions(8))
    asyncio.run(driver(Holding(), Ledger(), concurrency=8).run(session))
    assert max(most) == 1


def test_rate_limit_spaces_calls_evenly():
    now = [0.0]
    traffic = LocalTraffic(clock=lambda: now[0])
    assert [round(asyncio.run(traffic.reserve("lane", 10)), 3) for _ in range(4)] == [0.0, 0.1, 0.2, 0.3]
    now[0] = 5.0
    assert asyncio.run(traffic.reserve("lane", 10)) == 0.0


def test_calls_pause_while_storing_earlier_answers_is_slow():
    import threading

    gate, ledger = threading.Event(), Ledger()
    record = ledger.record

    def stalled(answers, *, calls, expected):
        gate.wait(10)
        record(answers, calls=calls, expected=expected)

    ledger.record = stalled
    session, _ = ask(probes(400))
    target = Target()

    async def work():
        running = asyncio.create_task(driver(target, ledger, flush_replies=10).run(session))
        await asyncio.sleep(0.5)
        asked = len(target.calls)
        gate.set()
        await running
        return asked

    asked = asyncio.run(work())
    assert 50 <= asked <= 50 + 10 + 2 * 4
    assert len(target.calls) == 400
    assert {each.observation.probe.unit for each in ledger.answers} == {f"u{i}" for i in range(400)}


# ---------------------------------------------------------------------------- jobs with an author
def made_and_asked(n: int) -> list[list[Probe]]:
    """Return three batches: one for the author, one for the rated service, and one that alternates between them."""
    made = [Probe(f"w{i}", Write(f"prompt {i}", i)) for i in range(n)]
    asked = probes(n)
    both = [each for pair in zip(made[2:], asked[2:], strict=True) for each in pair]
    return [made[:2], asked[:2], both]


@dataclass
class Writer(Target):
    """Author that writes one text per call."""

    async def answer(self, asks, *, idempotency_key=None):
        await super().answer([Translate(each.prompt, "en", "es") for each in asks], idempotency_key=idempotency_key)
        return [Reply("a text")] * len(asks)


def with_author(rated: Target, author: Target, lanes: tuple[str, str], traffic: LocalTraffic, job="job_1", **more):
    limits = Limits(concurrency=1, timeout_s=20)
    lane, way = (
        Lane(name, who, limits, generator(1), traffic) for name, who in zip(lanes, (job, f"{job}:author"), strict=True)
    )
    called = CalledService(lane, on_call=more.pop("on_call", lambda outcome, seconds: None))
    author_called = CalledService(way, Breaker(3), more.pop("on_author", lambda outcome, seconds: None))
    return Driver(
        Roles(rated, author, Kind.LANGUAGE_MODEL),
        limits,
        Budget(1000),
        Ledger(),
        job,
        generator(0),
        rated=called,
        second=author_called,
        **more,
    )


async def within(seconds: float, *runs):
    async with asyncio.timeout(seconds):
        return await asyncio.gather(*runs)


def test_a_job_whose_rated_service_also_writes_its_sentences_does_not_deadlock():
    traffic, service = LocalTraffic(), Target(pause_s=0.01)
    author = Writer(pause_s=0.01)
    session, seen = ask(*made_and_asked(6))
    asyncio.run(within(5, with_author(service, author, ("one", "one"), traffic).run(session)))
    assert (len(author.calls), len(service.calls)) == (6, 6)
    assert all(reply.ok for batch in seen for reply in batch)


def test_jobs_that_use_each_others_services_do_not_deadlock():
    traffic = LocalTraffic()

    def job(name: str, lanes: tuple[str, str]):
        return with_author(Target(pause_s=0.01), Writer(pause_s=0.01), lanes, traffic, name).run(
            ask(*made_and_asked(8))[0]
        )

    async def both():
        return await within(20, job("job_1", ("one", "two")), job("job_2", ("two", "one")))

    assert asyncio.run(both()) == [FINDING, FINDING]


def test_failures_of_a_service_that_writes_sentences_do_not_count_as_failures_of_the_rated_service():
    def ill(call: int, asks: object) -> None:
        raise CallFailed("http-503", "ill", retriable=True)

    told: dict[str, list[str]] = {"rated": [], "author": []}
    session, _ = ask(*made_and_asked(6))
    made = with_author(
        Target(),
        Writer(behave=ill),
        ("one", "two"),
        LocalTraffic(),
        patience=Patience(1),
        on_call=lambda outcome, seconds: told["rated"].append(outcome),
        on_author=lambda outcome, seconds: told["author"].append(outcome),
    )
    with pytest.raises(TargetUnavailable, match="author") as lost:
        asyncio.run(made.run(session))
    assert lost.value.lane.name == "two"
    assert told["author"] == ["http-503"] * 3
    assert {*told["rated"]} == {"answered"}


def test_failures_of_the_rated_service_do_not_count_as_failures_of_the_service_that_writes_sentences():
    def ill(call: int, asks: object) -> None:
        raise CallFailed("http-503", "ill", retriable=True)

    session, _ = ask(probes(30))
    made = with_author(Target(behave=ill), Writer(), ("one", "two"), LocalTraffic(), patience=Patience(1))
    with pytest.raises(TargetUnavailable) as lost:
        asyncio.run(made.run(session))
    assert lost.value.lane.name == "one"
