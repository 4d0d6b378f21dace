"""Test of the described service with one question, before any job. The agency then forgets the service's secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from web.frame import Refused, Visit, segment
from web.wizard.answers import Answers, Errors, description_of, target_of
from web.wizard.catalog import Material

WAIT_S = 25


async def tested(
    visit: Visit, answers: Answers, material: Material
) -> tuple[Mapping[str, Any] | None, Errors, Refused | None]:
    """Test the service; return the job of the test, or the errors of the answers."""
    answers.texts.pop("probe", None)
    target, errors = target_of(visit, answers, material)
    if errors:
        return None, errors, None
    saved = answers["target"]
    path, body = (f"/v1/targets/{segment(saved)}/probe", None) if saved else ("/v1/targets/probe", target)
    try:
        answer = await visit.api.ask("POST", path, body=body, headers={"prefer": f"wait={WAIT_S}"})
    except Refused as refused:
        return None, [dict(error) for error in refused.errors], refused
    answers.texts["probe"] = answer.document["id"]
    return answer.document, [], None


async def newest_probe(visit: Visit, answers: Answers, material: Material) -> Mapping[str, Any] | None:
    """Return the job of the last test, if it tested the service as now described."""
    if not answers["probe"]:
        return None
    try:
        job: Mapping[str, Any] = await visit.api.get(f"/v1/jobs/{segment(answers['probe'])}")
    except Refused as refused:
        if refused.status != 404:
            raise
        return None
    if job["kind"] != "probe":
        return None
    described, _ = description_of(answers, material)
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
