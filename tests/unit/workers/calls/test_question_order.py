"""Order of questions: random, complete, and with the versions of an item far apart."""

import numpy as np
import pytest

from assay.experiment import Session, generator
from assay.methods import RoundTrip
from assay.model import Probe, Reply, Score, Translate
from workers.calls.question_order import QuestionOrder


def probes(items: int, versions: int, start: int = 0) -> list[Probe]:
    return [
        Probe(f"{item}/{version}", Score(f"{item} {version}"), (str(item),))
        for item in range(start, start + items)
        for version in range(versions)
    ]


def distances(order: list[Probe], per_call: int = 1) -> list[int]:
    """Return the numbers of calls between questions with a common name."""
    last: dict[str, int] = {}
    found = []
    for place, probe in enumerate(order):
        for name in probe.versions_of:
            if name in last:
                found.append(place // per_call - last[name])
            last[name] = place // per_call
    return found


@pytest.mark.parametrize(
    ("items", "versions", "most_per_call", "apart"),
    [
        *((60, 2, 1, 50), (250, 2, 1, 50), (250, 2, 3, 50), (125, 4, 1, 50), (1000, 2, 1, 50), (90, 3, 1, 50)),
        *((30, 2, 1, 28), (8, 2, 1, 7), (250, 2, 24, 9), (20, 2, 24, 1), (5, 2, 24, 1), (1, 2, 1, 1)),
    ],
)
def test_questions_about_different_groups_are_50_calls_or_the_maximum_apart(items, versions, most_per_call, apart):
    for seed in range(5):
        given = probes(items, versions)
        order, per_call = QuestionOrder(generator(seed)).arrange(given, most_per_call)
        assert per_call <= most_per_call
        assert sorted(order, key=given.index) == given
        assert min(distances(order, per_call)) >= apart


def test_unrelated_questions_are_asked_in_random_order():
    order = QuestionOrder(generator(3))
    order.arrange(probes(100, 2))
    for start in (1000, 2000):
        alone = [Probe(f"{n}", Score(f"{n}")) for n in range(start, start + 200)]
        places = [int(probe.unit) for probe in order.arrange(alone)[0]]
        assert sorted(places) == list(range(start, start + 200))
        assert abs(np.corrcoef(places, np.arange(200))[0, 1]) < 0.25


def test_two_jobs_ask_their_questions_in_different_orders():
    given = probes(60, 2)
    one, other = (QuestionOrder(generator(seed)).arrange(given)[0] for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize("texts_per_block", [20, 80])
def test_round_trip_texts_about_the_same_occupation_are_seldom_less_than_50_calls_apart(texts_per_block):
    for seed in range(5):
        method = RoundTrip("gender", texts_per_block=texts_per_block, stop_early=False)
        session = Session(method.design(generator(seed)))
        order = QuestionOrder(generator(100 + seed))
        sent: list[Probe] = []
        while session.finding is None:
            batch, _ = order.arrange(session.missing)
            sent += batch
            for probe in batch:
                assert isinstance(probe.ask, Translate)
                session.accept(probe, Reply(" ".join(f"x{word}" for word in probe.ask.text.split(" "))))
            session.advance()
        assert len(sent) == 6 * texts_per_block
        assert np.mean(np.array(distances(sent)) < 50) < 0.1
