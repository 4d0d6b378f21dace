"""Test of the described service with one question, before any job. The agency then forgets the service's secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from web.frame import Refused, segment
from web.wizard.request import description_of, target_of
from web.wizard.state import WizardState

WAIT_S = 25


async def tested(state: WizardState) -> WizardState:
    """Test the service; return the state with the job of the test, or with the errors of the answers."""
    answers = state.answers
    answers.texts.pop("probe", None)
    target, errors = target_of(state)
    if errors:
        return state.with_errors(errors)
    saved = answers["target"]
    path, body = (f"/v1/targets/{segment(saved)}/probe", None) if saved else ("/v1/targets/probe", target)
    try:
        answer = await state.visit.api.ask("POST", path, body=body, headers={"prefer": f"wait={WAIT_S}"})
    except Refused as refused:
        return state.with_errors(refused.errors, refused)
    answers.texts["probe"] = answer.document["id"]
    return replace(state, probe=answer.document)


async def newest_probe(state: WizardState) -> Mapping[str, Any] | None:
    """Return the job of the last test, if it tested the service as now described."""
    answers = state.answers
    if state.probe is not None or not answers["probe"]:
        return state.probe
    try:
        job: Mapping[str, Any] = await state.visit.api.get(f"/v1/jobs/{segment(answers['probe'])}")
    except Refused as refused:
        if refused.status != 404:
            raise
        return None
    if job["kind"] != "probe":
        return None
    described, _ = description_of(state)
    if answers["target"]:
        same = job["target_id"] in (answers["target"], None)
    else:
        same = all(job["target"][name] == described.get(name) for name in ("kind", "protocol", "base_url"))
        same = same and job["target"]["settings"] == described["settings"]
    return job if same else None


def latency_of(job: Mapping[str, Any] | None) -> float | None:
    """Return the seconds that a call took in a test."""
    result = (job or {}).get("result") or {}
    return None if result.get("code") else result.get("latency_s") or None
