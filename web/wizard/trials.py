"""Checks before the request: a test question to the described service, and a plan for each size of the request.

After a test, the agency forgets the service's secret.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from web.frame import Refused, segment
from web.wizard.catalog import SIZES
from web.wizard.request import FACTORS, WizardState, description_of, factor_of, request_of, target_of

WAIT_S = 25
"""Maximum time in seconds that the page waits for the answer to the test question."""


async def run_probe(state: WizardState) -> WizardState:
    """Test the service with one question; return the state with the id of the job, or with the errors of the form."""
    answers = state.answers
    answers.pop("probe", None)
    target, errors = target_of(state)
    if errors:
        return state.with_errors(errors)
    target_id = answers["target"]
    path = f"/v1/targets/{segment(target_id)}/probe" if target_id else "/v1/targets/probe"
    try:
        job = await state.visit.api.post(path, body=None if target_id else target, prefer=f"wait={WAIT_S}")
    except Refused as error:
        return state.with_errors(error.errors, error)
    answers["probe"] = job["id"]
    return state


async def last_test_job(state: WizardState) -> Mapping[str, Any] | None:
    """Return the job of the last test question, or ``None`` if it did not test the service as now described."""
    answers = state.answers
    if not answers["probe"]:
        return None
    job: Mapping[str, Any] | None = await state.visit.api.find(f"/v1/jobs/{segment(answers['probe'])}")
    if job is None or job["kind"] != "probe":
        return None
    description, _ = description_of(state)
    if answers["target"]:
        is_same = job["target_id"] in (answers["target"], None)
    else:
        is_same = all(job["target"][name] == description.get(name) for name in ("kind", "protocol", "base_url"))
        is_same = is_same and job["target"]["settings"] == description["settings"]
    return job if is_same else None


def latency_of(job: Mapping[str, Any] | None) -> float | None:
    """Return the seconds that one call took in the test `job`; ``None`` if unknown."""
    result = (job or {}).get("result") or {}
    return None if result.get("code") else result.get("latency_s") or None  # a failure has a code


LONGEST_PRICE = 15
"""Maximum number of characters of a price."""


async def plans_of(state: WizardState, probe: Mapping[str, Any] | None, *, all_sizes: bool) -> list[dict[str, Any]]:
    """Plan the request in the chosen size or, if `all_sizes`, in all sizes that the method's bounds allow.

    Each plan is a dictionary: `factor` of the usual number of questions, its `title`, the API's `plan`, and `chosen`.

    Raise `Refused` if the API refuses the chosen size.
    """
    answers = state.answers
    chosen_factor = factor_of(answers)
    possible_sizes = FACTORS if state.material.method["name"] in SIZES else (("1", "Usual"),)
    sizes = [(factor, title) for factor, title in possible_sizes if all_sizes or factor == chosen_factor]
    price_and_latency = {
        name: float(answers[name])
        for name in ("price_per_call", "price_per_1000_characters")
        # digits with at most one point
        if answers[name].replace(".", "", 1).isdecimal() and len(answers[name]) <= LONGEST_PRICE
    }
    if (latency_s := latency_of(probe)) is not None:
        price_and_latency["latency_s"] = latency_s

    async def plan(factor: str, title: str) -> dict[str, Any] | None:
        """Plan the request in a size; ``None`` if the API refuses a size that was not chosen."""
        request, _ = request_of(state, float(factor))
        body = {name: request[name] for name in ("target", "experiment", "author", "judge") if name in request}
        try:
            answer = await state.visit.api.post("/v1/jobs/plan", {**body, **price_and_latency})
        except Refused:
            if factor == chosen_factor:
                raise
            return None  # this size is larger than the method allows
        return {"factor": factor, "title": title, "chosen": factor == chosen_factor, "plan": answer}

    plans = await asyncio.gather(*(plan(*size) for size in sizes))
    return [size_plan for size_plan in plans if size_plan is not None]
