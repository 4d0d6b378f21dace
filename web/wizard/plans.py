"""Plans of the request in several sizes, from which the user chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from web.frame import Refused
from web.wizard.catalog import SIZES
from web.wizard.probing import latency_of
from web.wizard.request import FACTORS, factor_of, request_of
from web.wizard.state import WizardState

LONGEST_PRICE = 15


@dataclass(frozen=True)
class Size:
    """A size of the request, and its plan."""

    factor: str
    title: str
    chosen: bool
    plan: Mapping[str, Any]


async def planned(state: WizardState, probe: Mapping[str, Any] | None, *, all_sizes: bool) -> Sequence[Size]:
    """Plan the request in the chosen size or, if `all_sizes`, in all sizes that the method's bounds allow.

    Raises
    ------
    Refused
        If the API refuses the chosen size.
    """
    answers = state.answers
    chosen = factor_of(answers)
    known_sizes = FACTORS if state.material.method["name"] in SIZES else (("1", "Usual"),)
    sizes = [size for size in known_sizes if all_sizes or size[0] == chosen]
    facts = {
        name: float(answers[name])
        for name in ("price_per_call", "price_per_1000_characters")
        if answers[name].replace(".", "", 1).isdecimal() and len(answers[name]) <= LONGEST_PRICE
    }
    latency_s = latency_of(probe)
    if latency_s is not None:
        facts["latency_s"] = latency_s

    async def plan(factor: str, title: str) -> Size | None:
        request, _ = request_of(state, float(factor))
        body = {name: request[name] for name in ("target", "experiment", "author") if name in request}
        try:
            answer = await state.visit.api.ask("POST", "/v1/jobs/plan", body={**body, **facts})
        except Refused:
            if factor == chosen:
                raise
            return None  # this size is larger than the method allows
        return Size(factor, title, factor == chosen, answer.document)

    plans = await asyncio.gather(*(plan(*size) for size in sizes))
    return [size for size in plans if size is not None]
