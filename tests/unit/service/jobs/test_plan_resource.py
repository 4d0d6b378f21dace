"""Plans of jobs over HTTP: `/v1/jobs/plan`."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from assay.methods import every_method, method_name
from service.app import create_app
from store.jobs import jobs
from tests.unit.service.conftest import client_of
from workers.targets.presets.preset import presets
from workers.targets.registry import TargetChecker, find_protocol, protocols

pytestmark = pytest.mark.anyio

TASKS = {"language-model": "text-generation"}
"""The setting `task` of the protocol hf-inference, by kind of target."""

DECISIONS = {"classifier": {"name": "hiring"}, "regressor": {"name": "pay"}}
"""The setting `decision` of language models, by the kind that it makes of them."""

EXPERIMENTS = {
    "round-trip": {"attribute": "gender", "languages": ["es", "fr"]},
    "one-hop": {"attribute": "gender"},
    "alternation": {"attribute": "gender"},
    "stimulus-sampling": {"attribute": "gender"},
    "free-text": {"attribute": "gender"},
    "questions": {"attribute": "gender"},
}


def settings_of(protocol, kind):
    given = {"model": "m"} if "model" in protocol.settings_type.__dataclass_fields__ else {}
    if protocol.name in presets():  # without keys, because the format of keys is tested elsewhere
        needed = [
            each.name
            for each in fields(protocol.settings_type)
            if each.default is MISSING and each.default_factory is MISSING
        ]
        given |= {"auth": "none"} | dict.fromkeys(needed, "m")
    if protocol.name == "google-translate-v3":
        given["project"] = "project-1"
    decides = kind not in find_protocol(protocol.name).kinds  # a language model with a decision is of further kinds
    if decides:
        given["decision"] = DECISIONS[kind]
    if protocol.name == "hf-inference" and (decides or kind in TASKS):
        given["task"] = TASKS["language-model"]
    return given


async def test_a_target_that_asks_a_model_for_decisions_needs_a_protocol_of_language_models(real):
    comprehend = next(protocol for protocol in protocols() if protocol.name == "amazon-comprehend")
    body = body_for(comprehend, "classifier", "alternation")
    body["target"]["settings"]["decision"] = DECISIONS["classifier"]
    refused = await real.post("/v1/jobs/plan", json=body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == "/target/settings/decision"
    assert "no language model" in refused.json()["detail"]


def families():
    """Yield every protocol with each of its kinds of target and each method that can rate that kind."""
    for protocol in protocols():
        if protocol.name in {"uploaded", "chain", "openai-images", "deep-translator", "custom"}:
            continue  # these need an upload, other targets, a template, or the operator's permission
        for kind in sorted(protocol.kinds):
            for method in every_method():
                if kind in method.kinds and kind != "image-classifier":
                    yield pytest.param(
                        protocol, str(kind), method_name(method), id=f"{protocol.name}-{kind}-{method.method}"
                    )


@pytest.fixture
async def real(settings, rings):
    allowed = settings.model_copy(update={"egress_allow": "127.0.0.0/8"})
    app = create_app(allowed, validator=TargetChecker(allowed), doorbell=rings)
    async with app.router.lifespan_context(app), client_of(app) as client:
        yield client


def body_for(protocol, kind, method, **changes):
    return {
        "target": {
            "name": "T",
            "kind": kind,
            "protocol": protocol.name,
            "base_url": "http://127.0.0.1:5000" if protocol.needs_url else None,
            "secret": "sk-1234567890" if protocol.needs_secret else None,
            "settings": settings_of(protocol, kind),
        },
        "experiment": {"method": method, **EXPERIMENTS.get(method, {})},
    } | changes


@pytest.mark.parametrize(("protocol", "kind", "method"), list(families()))
async def test_a_plan_has_the_same_number_of_questions_as_the_job_of_the_same_request(real, protocol, kind, method):
    body = body_for(protocol, kind, method)
    planned = await real.post("/v1/jobs/plan", json=body)
    assert planned.status_code == 200, planned.text
    job = await real.post("/v1/jobs", json=body)
    assert job.status_code == 202, job.text
    assert planned.json()["questions"] == job.json()["expected"] > 0


async def test_a_plan_stores_nothing_and_calls_nothing(client, request_body, rings, worker):
    answer = await client.post("/v1/jobs/plan", json=request_body(target=request_body()["target"] | {"secret": "sk-1"}))
    assert answer.status_code == 200, answer.text
    assert "sk-1" not in answer.text
    assert (await client.get("/v1/jobs")).json()["items"] == []
    with worker.database.read() as c:
        assert jobs.counts_by_status(c) == {} or not any(jobs.counts_by_status(c).values())
    assert rings.heard == []


async def test_a_plan_states_calls_seconds_cost_and_the_worst_case(client, request_body):
    body = request_body(price_per_call=0.5, latency_s=2.0)
    body["target"]["settings"] = {}
    plan = (await client.post("/v1/jobs/plan", json=body)).json()
    assert (plan["questions"], plan["calls"], plan["seconds"], plan["cost"]) == (120, 120, 30.0, 60.0)
    assert (plan["at_most"]["questions"], plan["at_most"]["cost"]) == (1920, 960.0)
    chances = {one["tolerances"]: one["probability"] for one in plan["declared"]}
    assert list(chances) == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
    assert chances[1.0] < 0.3 < 0.9 < chances[3.0]
    assert plan["declared"][3]["effect"] == pytest.approx(0.15)


async def test_a_plan_without_latency_and_price_has_no_seconds_and_no_cost(client, request_body):
    plan = (await client.post("/v1/jobs/plan", json=request_body())).json()
    assert (plan["seconds"], plan["cost"], plan["at_most"]["seconds"]) == (None, None, None)


async def test_a_very_low_request_rate_gives_a_duration_and_a_rate_near_zero_is_refused(client, request_body):
    body = request_body(latency_s=0.1)
    body["target"]["limits"] = {"requests_per_second": 0.001}
    plan = (await client.post("/v1/jobs/plan", json=body)).json()
    assert plan["seconds"] == plan["calls"] * 1000
    # earlier, this rate gave infinite seconds and status 500
    body["target"]["limits"] = {"requests_per_second": 5e-324}
    refused = await client.post("/v1/jobs/plan", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/target/limits/requests_per_second")


async def test_a_plan_uses_the_latency_of_the_newest_probe_of_a_saved_target(client, request_body, worker):
    target = (await client.post("/v1/targets", json=request_body()["target"])).json()["id"]
    body = request_body(target={"id": target})
    assert (await client.post("/v1/jobs/plan", json=body)).json()["seconds"] is None
    for latency_s in (4.0, 0.1):
        probe = (await client.post(f"/v1/targets/{target}/probe")).json()["id"]
        claim = worker.claim(probe)
        with worker.database.write() as c:
            jobs.finish_with(c, claim, "probed", {"latency_s": latency_s})
    assert (await client.post("/v1/jobs/plan", json=body)).json()["seconds"] == pytest.approx(1.5)


async def test_a_plan_for_another_tenants_target_is_refused(serve, guarded, request_body, worker):
    client = await serve(guarded)
    mine, theirs = ({"Authorization": f"Bearer {worker.make_key(tenant)}"} for tenant in ("mine", "theirs"))
    target = (await client.post("/v1/targets", json=request_body()["target"], headers=mine)).json()["id"]
    refused = await client.post("/v1/jobs/plan", json=request_body(target={"id": target}), headers=theirs)
    assert refused.status_code == 422
    assert "no target has the id" in refused.json()["detail"]
    assert (await client.post("/v1/jobs/plan", json=request_body())).status_code == 401


async def test_a_plan_is_refused_for_the_same_reasons_as_its_job(client, request_body):
    body = request_body(experiment={"method": "round-trip", "attribute": "gender", "languages": ["en"]})
    planned, asked = await client.post("/v1/jobs/plan", json=body), await client.post("/v1/jobs", json=body)
    assert planned.status_code == asked.status_code == 422
    assert planned.json()["errors"] == asked.json()["errors"]


COMPARES = {
    "kind": "classifier",
    "protocol": "custom",
    "base_url": "http://127.0.0.1:9/compare",
    "settings": {"body": {"a": "{first}", "b": "{second}"}, "output": "winner"},
}


async def test_the_plan_for_a_service_that_compares_two_documents_counts_pairs_in_both_orders(real):
    experiment = {"method": "alternation", "attribute": "gender"}
    single = {**COMPARES, "settings": {"body": {"a": "{text}"}, "output": "winner"}}
    plans = [
        (await real.post("/v1/jobs/plan", json={"target": target, "experiment": experiment})).json()
        for target in (COMPARES, single)
    ]
    compared, alone = (plan["questions"] for plan in plans)
    assert compared == alone * 3 / 2


async def test_a_service_that_compares_two_documents_can_be_rated_by_alternation_only(real):
    experiment = {"method": "stimulus-sampling", "attribute": "gender"}
    refused = await real.post("/v1/jobs/plan", json={"target": COMPARES, "experiment": experiment})
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["pointer"] == "/experiment/method"
