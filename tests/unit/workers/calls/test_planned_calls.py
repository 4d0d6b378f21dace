"""A plan counts the calls that the driver makes, also where a call carries several questions."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from assay.experiment import Session, generator
from assay.model import Ask, Reply
from assay.rating.plan import Service, plan_of
from tests.support.simulated.defeat_devices import Forgetful
from tests.support.simulated.services import SERVICES
from tests.support.simulated.translators import translator_service
from workers.calls.driver import Driver
from workers.calls.limits import Budget
from workers.targets.adapter import Adapter, Limits, group_of


class Counting:
    """Adapter of a simulated service that answers `batch_limit` questions in a call, and counts its calls."""

    group_key = staticmethod(group_of)

    def __init__(self, service: Any, batch_limit: int) -> None:
        self.service, self.batch_limit, self.calls = service, batch_limit, 0

    async def answer(self, asks: Sequence[Ask], *, idempotency_key: str | None = None) -> list[Reply]:
        """Answer the questions of a call."""
        self.calls += 1
        return [self.service.answer(ask) for ask in asks]


def calls_made(service: Any, batch_limit: int, seed: int) -> tuple[int, int]:
    """Rate a service through the driver; return the numbers of questions and of calls."""
    session = Session(service.method.design(generator(seed)))
    target = Counting(service, batch_limit)
    driver = Driver(
        cast("Adapter", target), Limits(concurrency=1), Budget(100_000), Forgetful(), "secret", generator(seed + 1)
    )
    asyncio.run(driver.run(session))
    return session.asked, target.calls


@pytest.mark.slow
@pytest.mark.parametrize("batch_limit", [1, 7, 24])
@pytest.mark.parametrize("name", ["round-trip", "one-hop", "alternation, numbers of texts", "association"])
def test_a_plan_predicts_the_questions_and_calls_of_a_rating_with_a_clear_result(name, batch_limit):
    service = next(SERVICES[each](0.4, 0.0, 3) for each in SERVICES if each.startswith(name))
    planned = plan_of(service.method, Service(questions_per_call=batch_limit), seed=3).clear
    assert calls_made(service, batch_limit, 3) == (planned.questions, planned.calls)


@pytest.mark.slow
@pytest.mark.parametrize("hop", [False, True], ids=["round-trip", "one-hop"])
def test_a_rating_that_never_gets_a_clear_result_makes_no_more_calls_than_planned(hop):
    service = translator_service(0.1, 0.4, 3, hop=hop)
    service = replace(service, method=replace(service.method, confidence=0.9999))
    planned = plan_of(service.method, Service(questions_per_call=24), seed=3).at_most
    asked, calls = calls_made(service, 24, 3)
    assert asked == planned.questions
    assert 0.6 * planned.calls <= calls <= planned.calls
