"""Answers of the wizard: texts by the name of the input, kept in a draft or taken from an earlier request."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from web.frame import Api, segment
from web.wizard.catalog import DECIDING_MODEL, LIMITS, MORE, material_for
from web.wizard.schema_form import Field, read_all, texts_of_values

Errors = list[dict[str, str]]


class Answers(dict[str, str]):
    """The user's answers so far, as texts; empty for an input without an answer."""

    def __missing__(self, name: str) -> str:
        return ""

    def forget(self, prefix: str) -> None:
        """Remove the answers whose names begin with a prefix."""
        for name in [name for name in self if name.startswith(prefix)]:
            del self[name]


def target_from_texts(
    texts: Mapping[str, str], kind: str, protocol: str, fields: Sequence[Field]
) -> tuple[dict[str, Any], Errors]:
    """Return the target that a form describes, without secret, and the errors; `fields`: the protocol's settings."""
    settings, setting_errors = read_all(fields, texts)
    limits, limit_errors = read_all(LIMITS, texts)
    target: dict[str, Any] = {"kind": kind, "protocol": protocol, "settings": settings}
    target |= {name: text for name in ("name", "base_url") if (text := texts.get(name, "").strip())}
    return target | ({"limits": limits} if limits else {}), setting_errors + limit_errors


def name_of(pointer: str, inputs: Sequence[Field]) -> str:
    """Return the name of the input to which a JSON pointer of the API refers, or else the pointer's first two parts."""
    parts = [part for part in pointer.split("/") if part and part != "target"]
    names = {field.name for field in inputs}
    prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))  # the longest first
    return next((name for name in prefixes if name in names), ".".join(parts[:2]))


def step_of(name: str) -> str:
    """Return the name of the step whose page has the input `name`; `MORE` are the request's further fields."""
    request_part = name.partition(".")[0]
    if request_part in {"experiment", "method", "author", "judge"}:
        return "what"
    return "confirm" if request_part in {field.name.partition(".")[0] for field in MORE} else "where"


def messages_by_input(errors: Sequence[Mapping[str, str]], inputs: Sequence[Field]) -> dict[str, str]:
    """Return the first error of each input, by the input's name."""
    messages: dict[str, str] = {}
    for error in errors:
        messages.setdefault(name_of(error.get("pointer", ""), inputs), error["detail"])
    return messages


async def answers_from(api: Api, *, rating: str, job: str, target: str) -> Answers | None:
    """Return the answers that repeat a rating or job, or describe a saved target; ``None`` if no id is given."""
    if rating:
        document = await api.get(f"/v1/ratings/{segment(rating)}")
        document["target"]["base_url"] = document["target"].get("url")  # as jobs and saved targets name it
        return await _answers_of(api, rating, document, await saved_id(api, document["target"]))
    if job:
        document = await api.get(f"/v1/jobs/{segment(job)}")
        return await _answers_of(api, job, document, await _existing_id(api, document["target_id"]))
    if target:
        document = await api.get(f"/v1/targets/{segment(target)}")
        return Answers({**_kind_and_decision(document), "target": target, "protocol": document["protocol"]})
    return None


async def saved_second_services(api: Api, rating: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a rating's author or judge, by saved id, for a new request; ``None`` if the rating's is not saved."""
    ids = {role: await saved_id(api, rating[role]) for role in ("author", "judge") if rating.get(role)}
    return None if "" in ids.values() else {role: {"id": target_id} for role, target_id in ids.items()}


async def _answers_of(api: Api, source_id: str, request: Mapping[str, Any], target_id: str) -> Answers:
    """Return the answers that repeat a rating's or job's request; `target_id`: id of its saved target, or empty."""
    target, experiment = request["target"], request["experiment"] or {}
    method = str(experiment.get("method", ""))
    texts = {
        **_kind_and_decision(target),
        "target": target_id,
        "protocol": target["protocol"],
        "settings_of": target["protocol"],  # `settle` forgets the settings of another protocol
        "name": target.get("name") or "",
        "base_url": target.get("base_url") or "",
        "method": method,
        "fields_of": method,  # `settle` forgets the fields of another method
        "decision_of": ((target.get("settings") or {}).get("decision") or {}).get("name") or "",
        "earlier": source_id,
        **{name: (request.get(name) or {}).get("id") or "" for name in ("author", "judge")},
    }
    material = await material_for(api, {**texts, "earlier": ""})  # without `copied`, which only shown pages need
    # for a model that decides: the decision, and how a case mentions its group
    case_fields = [field for field in material.shown_first if field.name.startswith("experiment.")]
    fields_and_values = (
        (material.settings, target.get("settings") or {}),
        ([field for field in material.fields if field.form != "part"], experiment),  # parts are copied as they are
        (LIMITS, target.get("limits") or {}),
        (MORE, request),
        (case_fields, experiment.get("texts") or {}),
    )
    for fields, values in fields_and_values:
        texts |= texts_of_values(fields, {name: value for name, value in values.items() if value is not None})
    return Answers({name: text for name, text in texts.items() if text})


def _kind_and_decision(target: Mapping[str, Any]) -> dict[str, str]:
    """Return the wizard's answers about a target's kind; for a model that decides, also those about its decision."""
    if (decision := (target.get("settings") or {}).get("decision")) is None:
        return {"kind": target["kind"]}
    decision_texts = {"name": decision.get("name") or "", "labels": "\n".join(decision.get("labels") or ())}
    decision_texts["range"] = json.dumps(decision["range"]) if decision.get("range") else ""
    texts = {f"settings.decision.{name}": text for name, text in decision_texts.items() if text}
    return {"kind": DECIDING_MODEL, "settings_of": target["protocol"], **texts}


async def saved_id(api: Api, target: Mapping[str, Any]) -> str:
    """Return the id of the saved target that equals a rated target (same digest); an empty text if there is none."""
    rows = await api.items("/v1/targets", kind=target["kind"], q=target.get("url") or target["name"], limit=200)
    return next((str(row["id"]) for row in rows if row["digest"] == target["digest"]), "")


async def _existing_id(api: Api, target: str | None) -> str:
    """Return the id of a job's saved target; an empty text if it has none or the target was removed."""
    if target is None or await api.find(f"/v1/targets/{segment(target)}") is None:
        return ""
    return target
