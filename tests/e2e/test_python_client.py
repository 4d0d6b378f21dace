"""The Python client and the gate against a real agency."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay_client import AsyncClient, Client, JobFailed, ProblemError, StillRunning, to_frame
from tests.support.commands import run_command

WORKFLOW = Path(__file__).resolve().parents[2] / "docs" / "examples" / "gate-a-deployment.yml"
ROUND_TRIP = {"method": "round-trip", "attribute": "gender", "languages": ["es"]}


def translator(url: str) -> dict[str, Any]:
    return {"name": "a translator", "kind": "translator", "protocol": "libretranslate", "base_url": url}


class Awaited:
    """`AsyncClient` with the interface of `Client`, so that one test covers both."""

    def __init__(self, base_url: str, key: str | None = None) -> None:
        self._runner = asyncio.Runner()
        self._client = AsyncClient(base_url, key)

    def __getattr__(self, name: str) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            result = getattr(self._client, name)(*args, **kwargs)
            if isinstance(result, AsyncIterator):
                return self._all(result)
            return self._runner.run(result) if inspect.iscoroutine(result) else result

        return called

    def _all(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        async def collect() -> list[Any]:
            return [one async for one in items]

        return iter(self._runner.run(collect()))

    def shut(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()


@pytest.fixture(params=["waits", "awaited"])
def client(request, shared_agency):
    url = f"http://127.0.0.1:{shared_agency.port}"
    if request.param == "waits":
        with Client(url) as one:
            yield one
    else:
        other = Awaited(url)
        yield other
        other.shut()


def test_a_service_is_rated_in_one_call(client, services):
    rating = client.rate(translator(services.url("always-he")), ROUND_TRIP, seed=11)
    assert (rating["letter"], rating["declared"], rating["seed"]) == ("BS", True, 11)
    assert client.get_rating(rating["id"])["evidence_digest"] == rating["evidence_digest"]
    assert client.download_evidence_csv(rating["id"]).count(b"\n") > 100
    newest = client.latest_rating(services.url("always-he"), attribute="gender", method="round-trip")
    assert newest["letter"] == "BS"


def test_a_job_is_followed_to_its_end_and_following_can_resume_after_any_event(client, services):
    job = client.rate(translator(services.url("faithful")), ROUND_TRIP, seed=12, wait=False)
    events = list(client.follow_job(job["id"]))
    assert (events[0].type, events[-1].type) == ("queued", "succeeded")
    assert [one.id for one in client.follow_job(job["id"], last_event_id=events[1].id)] == [
        one.id for one in events[2:]
    ]
    assert list(client.follow_job(job["id"], last_event_id=events[-1].id)) == []
    assert client.wait_for_job(job["id"])["status"] == "succeeded"


def test_a_request_repeated_with_the_same_idempotency_key_returns_the_same_job(client, services):
    body = {"target": translator(services.url("faithful")), "experiment": ROUND_TRIP, "seed": 13}
    key = f"once-{type(client).__name__}"
    first = client.request_rating(body, idempotency_key=key, wait_s=20)
    assert client.request_rating(body, idempotency_key=key)["id"] == first["id"]
    answer = client.request("POST", "/v1/jobs", json=body, idempotency_key=key)
    assert (answer.status_code, answer.headers["Idempotency-Replayed"]) == (202, "true")


def test_a_list_is_read_page_after_page(client):
    kept = [client.save_target(translator(f"http://127.0.0.1:5000/{number}"))["id"] for number in range(5)]
    assert [one["id"] for one in client.iter_targets(limit=2)][:5] == kept[::-1]
    assert len(client.list_targets(limit=2)["items"]) == 2
    for one in kept:
        client.remove_target(one)
    assert not {one["id"] for one in client.iter_targets()} & set(kept)


def test_a_rating_its_badge_and_its_cases_are_shown_in_notebooks_with_any_name(client, services):
    named = translator(services.url("always-he")) | {"name": "<script>alert(1)</script>"}
    rating = client.rate(named, ROUND_TRIP, seed=15)
    html = rating._repr_html_()
    assert html.startswith("<div><b>BS</b> <bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi> · probability ")
    assert escape(rating["because"]["text"]) in html
    assert client.get_rating_badge_svg(rating["id"])._repr_html_().startswith('<img alt="" src="data:image/svg+xml;')
    (summary,) = [one for one in client.iter_ratings() if one["id"] == rating["id"]]
    assert escape(rating["because"]["sentence"]) in summary._repr_html_()
    ratings, cases = to_frame(client.iter_ratings()), to_frame(client.list_cases(rating["id"], kind="changed", limit=3))
    assert "<script>" in set(ratings["target.name"].str[:8])
    assert "<script>" not in ratings._repr_html_()
    assert len(cases) == 3
    assert cases["texts.sent"].str.contains(r"\bshe\b", case=False).all()
    assert not cases["texts.back"].str.contains(r"\bshe\b", case=False).any()


def test_waiting_for_a_suite_returns_the_ended_suite(client, services):
    suite = client.request_suite({
        "target": translator(services.url("balancing")), "attributes": ["gender"],
        "methods": ["round-trip"], "languages": ["es", "fr"],
    })  # fmt: skip
    ended = client.wait_for_suite(suite["id"], timeout_s=360)
    assert [cell["letter"] for row in ended["rows"] for cell in row["cells"]] == ["UCS", "UCS"]


def test_a_failed_job_raises_an_error_with_its_reason(client, services):
    with pytest.raises(JobFailed) as failed:
        client.rate(translator(services.url("unauthorised")), ROUND_TRIP)
    assert failed.value.code == "target_refused"
    with pytest.raises(ProblemError) as refused:
        client.rate(translator(services.url("faithful")), {**ROUND_TRIP, "attribute": "gendre"})
    assert (refused.value.status, refused.value.code) == (422, "bad-specification")
    assert refused.value.errors[0]["pointer"].startswith("/experiment")
    with pytest.raises(ProblemError, match="not-found"):
        client.get_rating("rat_00000000000000000000000000")


def test_waiting_ends_at_the_given_timeout(client, services):
    with pytest.raises(StillRunning) as still:
        client.rate(translator(services.url("faithful")), ROUND_TRIP, timeout_s=0, seed=14 + isinstance(client, Client))
    assert client.wait_for_job(still.value.id)["status"] == "succeeded"


# ------------------------------------------------------------------------------------- the gate
PROGRAMS = {
    "assay gate": [str(Path(sys.executable).with_name("assay"))],
    "client": [sys.executable, "-m", "assay_client"],
}


def gate(program: str, port: int, target_url: str, *more: str) -> subprocess.CompletedProcess[str]:
    asked = ["gate", "--url", f"http://127.0.0.1:{port}", "--target-url", target_url, "--attribute", "gender", *more]
    return subprocess.run([*PROGRAMS[program], *asked], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_gate_passes_good_ratings_and_fails_bad_ones(shared_agency, services, program):
    with Client(f"http://127.0.0.1:{shared_agency.port}") as agency:
        for name in ("balancing", "stereotyper"):
            agency.rate(translator(services.url(name)), ROUND_TRIP, max_age_s=600)
    good, bad = services.url("balancing"), services.url("stereotyper")
    ended = [
        gate(program, shared_agency.port, good, "--at-least", "UCS", "--max-age-days", "1"),
        gate(program, shared_agency.port, bad, "--at-least", "DSBS"),
        gate(program, shared_agency.port, services.url("eraser")),
        gate(program, shared_agency.port, good, "--at-least", "excellent"),
        gate(program, 9, good),
    ]
    assert [one.returncode for one in ended] == [0, 1, 3, 64, 69]
    for one in ended:
        assert (one.stdout + one.stderr).count("\n") == 1
        assert "Traceback" not in one.stderr


def run_steps(secrets: dict[str, str], given: dict[str, str]) -> int:
    """Run the steps of a workflow job: each script in its own shell, until the first failure."""
    for step in yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]["rated"]["steps"]:
        named = {name: secret(value, secrets) for name, value in step.get("env", {}).items()}
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **given, **named},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if ended.returncode:
            assert ended.stderr.count("\n") == 1, ended.stderr
            return ended.returncode
    return 0


def secret(value: str, secrets: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ secrets\.(\w+) \}\}", lambda found: secrets.get(found[1], ""), value)


def test_the_workflow_stops_a_deployment_unless_the_rating_is_good_enough(serve, services):
    agency = serve(ASSAY_AUTH="keys")
    url, key = f"http://127.0.0.1:{agency.port}", a_key(agency.data)
    with Client(url, key) as client:
        for name, visibility in (("faithful", "public"), ("always-he", "public"), ("balancing", "private")):
            client.rate(translator(services.url(name)), ROUND_TRIP, visibility=visibility)

    def ends(name: str, secret: str = "") -> int:
        return run_steps({"ASSAY_KEY": secret}, {"ASSAY_URL": url, "TARGET_URL": services.url(name)})

    assert [ends("faithful", key), ends("always-he", key), ends("eraser", key)] == [0, 1, 3]
    assert [ends("faithful"), ends("balancing"), ends("balancing", key), ends("balancing", "assay_wrong")] == [
        3,
        3,
        0,
        64,
    ]


def a_key(data: Path) -> str:
    scopes = ("--scope", "jobs:write", "--scope", "ratings:read")
    create = ("keys", "create", "--name", "pipeline", *scopes, "--data-dir", str(data))
    made = run_command(*create, environment=os.environ)
    assert made.returncode == 0, made.stderr
    return next(word for word in made.stdout.split() if word.startswith("assay_"))


def test_the_deployment_job_of_the_workflow_needs_the_gate_job():
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    assert workflow["jobs"]["deploy"]["needs"] == "rated"
    assert set(workflow["env"]) == {"ASSAY_URL", "TARGET_URL"}
