"""Answers that are prefilled from an earlier rating, job or saved target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from web.frame import Api, segment
from web.wizard.answers import Answers
from web.wizard.catalog import LIMITS, MORE, material_for
from web.wizard.schema_form import written


async def answers_from(api: Api, *, rating: str, job: str, target: str) -> Answers | None:
    """Return the answers of a rating, a job or a saved target; ``None`` if none is named."""
    if rating:
        document = await api.get(f"/v1/ratings/{segment(rating)}")
        described = {**document["target"], "base_url": document["target"].get("url")}
        return await _of_request(api, rating, {**document, "target": described}, await _saved(api, document["target"]))
    if job:
        document = await api.get(f"/v1/jobs/{segment(job)}")
        return await _of_request(api, job, document, await _existing(api, document["target_id"]))
    if target:
        document = await api.get(f"/v1/targets/{segment(target)}")
        return Answers({"kind": document["kind"], "target": target, "protocol": document["protocol"]})
    return None


async def _of_request(api: Api, earlier: str, request: Mapping[str, Any], saved: str) -> Answers:
    target, experiment = request["target"], request["experiment"] or {}
    method = str(experiment.get("method", ""))
    material = await material_for(api, target["kind"], target["protocol"], method, "")
    texts = {
        "kind": target["kind"],
        "target": saved,
        "protocol": target["protocol"],
        "settings_of": target["protocol"],
        "name": target.get("name") or "",
        "base_url": target.get("base_url") or "",
        "method": method,
        "fields_of": method,
        "earlier": earlier,
        "author": ((request.get("author") or {}).get("id")) or "",
    }
    sources = (
        (material.settings, target.get("settings") or {}),
        ([field for field in material.fields if field.form != "part"], experiment),
        (LIMITS, target.get("limits") or {}),
        (MORE, request),
    )
    for fields, values in sources:
        for field in fields:
            if values.get(field.key) is not None:
                texts |= written(field, values[field.key])
    return Answers({name: text for name, text in texts.items() if text})


async def _saved(api: Api, target: Mapping[str, Any]) -> str:
    """Return the id of the saved target that was rated, or an empty text."""
    listing = await api.get("/v1/targets", kind=target["kind"], q=target.get("url") or target["name"], limit=200)
    return next((str(row["id"]) for row in listing["items"] if row["digest"] == target["digest"]), "")


async def _existing(api: Api, target: str | None) -> str:
    """Return the id of a job's saved target if it is still there, or an empty text."""
    from web.frame import Refused

    if target is None:
        return ""
    try:
        await api.get(f"/v1/targets/{segment(target)}")
    except Refused as refused:
        if refused.status != 404:
            raise
        return ""
    return target
