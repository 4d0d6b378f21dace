"""The embedded agency: `assay serve`, a posted job, a rating, and recovery after a crash."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from demo.translators.behaviours import BEHAVIOURS
from demo.translators.faulty_services import FAULTY
from tests.support.commands import run_command

REQUEST = {
    "target": {
        "name": "Apertium eng-spa",
        "kind": "translator",
        "protocol": "libretranslate",
        "base_url": "",
        "secret": None,
        "settings": {},
        "limits": {"concurrency": 8, "requests_per_second": None, "timeout_s": 30},
    },
    "experiment": {
        "method": "round-trip",
        "attribute": "gender",
        "languages": ["es"],
        "texts_per_block": 20,
        "max_texts_per_block": 320,
        "stop_early": True,
        "unbiased": [{"he": 0.5, "she": 0.5}],
        "biased": [{"he": 0.9, "she": 0.1}, {"he": 0.1, "she": 0.9}],
        "delta": 0.1,
        "confidence": 0.95,
    },
    "seed": 7,
    "max_age_s": 0,
    "visibility": "private",
    "callback_url": None,
    "deadline_s": 3600,
    "max_calls": 10000,
}
OF_ONE_RUN = ("id", "rated_at", "expires_at")


def request(url: str, **more) -> dict:
    return {**REQUEST, "target": {**REQUEST["target"], "base_url": url}, **more}


def same_rating(rating: dict) -> dict:
    return {name: value for name, value in rating.items() if name not in OF_ONE_RUN}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_service_of_known_behaviour_gets_the_expected_letter_and_reason(name, shared_agency, services):
    known = BEHAVIOURS[name]
    job = shared_agency.agency.post("/v1/jobs", request(services.url(name)))
    ended = shared_agency.finished(job["id"])
    assert ended["status"] == "succeeded", ended
    rating = shared_agency.agency.get(ended["rating"]["href"])
    assert (rating["letter"], rating["declared"]) == (known.letter, True)
    assert known.reason in [reason["code"] for reason in rating["reasons"]]


@pytest.fixture(scope="module")
def ill_jobs(shared_agency, services) -> dict[str, str]:
    """Run a job for every faulty service concurrently, because they spend nearly all of their time waiting."""

    def post(name: str) -> str:
        asked = request(services.url(name), deadline_s=100)
        asked["target"]["limits"] = {"concurrency": 16, "timeout_s": 1.5}
        return shared_agency.agency.post("/v1/jobs", asked)["id"]

    return {name: post(name) for name in FAULTY}


@pytest.mark.parametrize("name", FAULTY)
def test_the_job_of_a_faulty_service_ends_with_the_documented_error_or_letter(name, shared_agency, ill_jobs):
    ill = FAULTY[name]
    ended = shared_agency.finished(ill_jobs[name], 110)
    if ill.end == "failed":
        assert (ended["status"], ended["error"]["code"]) == ("failed", ill.problem)
        assert len(ended["error"]["detail"]) > 20
        return
    rating = shared_agency.agency.get(ended["rating"]["href"])
    if ill.end == "inconclusive":
        assert (rating["letter"], rating["declared"], rating["probabilities"]) == (None, False, None)
        assert ill.problem in [reason["code"] for part in rating["components"] for reason in part["reasons"]]
    else:
        assert (rating["letter"], rating["declared"]) == (ill.letter, True)


def test_job_and_rating_documents_have_the_documented_fields(shared_agency, services):
    agency = shared_agency.agency
    job = agency.post("/v1/jobs", request(services.url("she-to-he-30")))
    ended = shared_agency.finished(job["id"])
    assert {
        "id", "status", "stage", "asked", "expected", "failed_calls", "eta_seconds", "queue_position",
        "created_at", "rating", "error",
    } <= set(ended)  # fmt: skip
    assert (ended["status"], ended["stage"], ended["asked"]) == ("succeeded", "rated", ended["expected"])
    assert set(ended["rating"]) >= {"id", "letter", "href"}
    rating = agency.get(ended["rating"]["href"])
    assert set(rating) >= {
        "id", "letter", "declared", "probabilities", "method", "attribute", "target", "components", "published",
        "reasons", "methodology", "engine_version", "seed", "calls", "evidence_digest", "rated_at", "expires_at",
        "visibility", "next_methodology",
    }  # fmt: skip
    assert set(rating["target"]) >= {"name", "kind", "protocol", "url", "digest"}
    assert rating["calls"] == ended["asked"]
    component = rating["components"][0]
    assert set(component) >= {
        "name", "letter", "declared", "probabilities", "effects", "transitions", "usable", "unusable",
    }  # fmt: skip
    assert set(component["effects"]["step_1"]) >= {"estimate", "low", "high"}
    assert set(component["transitions"]["he"]) == {"he", "she", "other"}
    assert set(rating["published"]) >= {"chi-squared/similar-to-biased", "chi-squared/departs-from-unbiased", "kl"}
    assert rating["next_methodology"] == {"version": None, "letter": None}


def test_an_identical_request_gets_the_recent_rating_without_a_call(shared_agency, counted):
    calls: list[str] = []
    with counted(calls) as url:
        first = shared_agency.finished(shared_agency.agency.post("/v1/jobs", request(url))["id"])
        asked = len(calls)
        again = shared_agency.agency.post("/v1/jobs", request(url, max_age_s=3600))
    assert again["status"] == "succeeded"
    assert again["rating"]["id"] == first["rating"]["id"]
    assert len(calls) == asked > 0


def test_a_killed_agency_resumes_its_job_with_the_same_rating_and_few_repeated_calls(serve, counted):
    calls: list[str] = []
    with counted(calls) as url:
        undisturbed = serve()
        asked = request(url, seed=11)
        asked["target"]["settings"] = {"batch_maximum": 1}
        whole = undisturbed.finished(undisturbed.agency.post("/v1/jobs", asked)["id"])
        expected = undisturbed.agency.get(whole["rating"]["href"])
        once = Counter(calls)

        calls.clear()
        victim = serve()
        job = victim.agency.post("/v1/jobs", asked)
        while len(calls) < 80:
            time.sleep(0.005)
        victim.kill()
        time.sleep(0.2)
        victim.start()
        ended = victim.finished(job["id"])
        rating = victim.agency.get(ended["rating"]["href"])
    assert same_rating(rating) == same_rating(expected)
    # the target is examined again; only texts of the examination contain numbers
    repeated = {text: n for text, n in (Counter(calls) - once).items() if not re.search(r"\d{3}", text)}
    in_flight, not_yet_written = 8, 20 + 8
    assert sum(repeated.values()) <= in_flight + not_yet_written


def test_sigterm_releases_the_job_and_the_next_process_finishes_it(serve, counted):
    calls: list[str] = []
    with counted(calls) as url:
        one = serve()
        job = one.agency.post("/v1/jobs", request(url, seed=3))
        while len(calls) < 40:
            time.sleep(0.005)
        os.kill(one.process.pid, signal.SIGTERM)
        assert one.process.wait(20) is not None
        one.start()
        ended = one.finished(job["id"])
    assert ended["status"] == "succeeded"


# Row 70 of docs/reliability.md: at c37b512 a long poll that was pending at SIGTERM was answered with 500.
def test_a_pending_long_poll_is_answered_at_sigterm(serve, services):
    # at commit eb55f1e, a pending long poll was answered with 500
    one = serve()
    job = one.agency.post("/v1/jobs", request(services.url("slow"), seed=5))
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(
            httpx.get, f"{one.agency.url}/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"}, timeout=60
        )
        time.sleep(1)
        os.kill(one.process.pid, signal.SIGTERM)
        answer = waiting.result(30)
    assert one.process.wait(20) is not None
    assert (answer.status_code, answer.json()["status"]) in {(200, "running"), (200, "queued")}


# Row 74 of docs/reliability.md: at c37b512 `/readyz` was 200 with a full disk.
def test_ratings_can_be_read_and_new_jobs_are_answered_with_503_if_the_disk_is_full(serve, services):
    """A limit on file sizes simulates a full disk: the kernel refuses every write to the database."""
    # at commit eb55f1e, `/readyz` said ready (row 74)
    one = serve()
    job = one.agency.post("/v1/jobs", request(services.url("faithful"), seed=6))
    rating = one.finished(job["id"])["rating"]["href"]

    def status(path: str) -> int:
        return httpx.get(one.agency.url + path, timeout=30).status_code

    assert status("/readyz") == 200
    _, most = resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    time.sleep(1.1)  # `/readyz` reuses a successful test of writing for one second
    assert (status("/livez"), status("/readyz"), status(rating)) == (200, 503, 200)
    refused = httpx.post(f"{one.agency.url}/v1/jobs", json=request(services.url("faithful"), seed=9), timeout=30)
    assert (refused.status_code, refused.json()["code"]) == (503, "store-unavailable")
    resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (most, most))
    time.sleep(1.1)
    assert status("/readyz") == 200


def test_a_running_job_can_be_cancelled(serve, services):
    one = serve()
    asked = request(services.url("slow"))
    asked["target"]["limits"] = {"concurrency": 1, "timeout_s": 5}
    job = one.agency.post("/v1/jobs", asked)
    until = time.monotonic() + 20
    while one.agency.get(f"/v1/jobs/{job['id']}")["status"] != "running" and time.monotonic() < until:
        time.sleep(0.05)
    one.agency.post(f"/v1/jobs/{job['id']}/cancel", {})
    assert one.finished(job["id"], 15)["status"] == "cancelled"


def test_a_private_address_is_refused_unless_the_operator_allows_it(serve):
    one = serve(ASSAY_EGRESS_ALLOW="")
    with pytest.raises(ValueError, match="422"):
        one.agency.post("/v1/jobs", request("http://127.0.0.1:9"))


def test_a_secret_appears_in_no_answer_report_export_or_log(serve, services):
    secret = "sk-verysecret-8f2a7c31"
    one = serve()
    asked = request(services.url("unauthorised"))
    asked["target"]["secret"] = secret
    refused = one.finished(one.agency.post("/v1/jobs", asked)["id"])
    asked = request(services.url("faithful"))
    asked["target"]["secret"] = secret
    rated = one.finished(one.agency.post("/v1/jobs", asked)["id"])
    said = [str(refused), str(rated)]
    href = rated["rating"]["href"]
    said += [one.agency.text(path) for path in (href, f"{href}/report.html", f"{href}/report.md")]
    for job in (refused, rated):
        base = f"/v1/jobs/{job['id']}"
        said += [
            one.agency.text(f"{base}/{part}") for part in ("observations", "observations.csv", "observations.jsonl")
        ]
    said.append(one.log.read_text())
    database = b"".join(path.read_bytes() for path in one.data.glob("assay.db*"))
    assert not [text for text in said if secret in text]
    assert secret.encode() not in database


def test_a_second_process_is_refused_on_the_same_data_directory(serve):
    one = serve()
    second = run_command("serve", "--port", "1", "--data-dir", str(one.data), environment=os.environ)
    assert second.returncode == 64
    assert "another `assay serve` uses" in second.stderr
    assert "Traceback" not in second.stderr


def test_metrics_of_the_embedded_worker_are_exported_by_the_agency(shared_agency, services):
    job = shared_agency.agency.post("/v1/jobs", request(services.url("faithful"), seed=4711))
    shared_agency.finished(job["id"])
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{shared_agency.port}/metrics", timeout=10) as answer:
        numbers = answer.read().decode()
    assert 'assay_target_calls_total{outcome="answered",target="127.0.0.1:' in numbers
    assert "assay_dispatch_delay_seconds_count" in numbers
    assert "assay_webhook_backlog" in numbers


# Row 81 of docs/reliability.md: at c37b512 rotation, migration and backup were tested without load only.
def test_an_agency_restored_from_a_backup_made_during_a_job_resumes_the_job(serve, services):
    """Follow docs/operations.md: SQLite's online backup, and a copy of the key file, which opens the job's secret."""
    secret, asked = "sk-in-the-backup-51c2", request(services.url("slow"), seed=21)
    asked["target"]["secret"] = secret
    one, restored = serve(), serve()
    restored.stop()
    for file in restored.data.glob("assay.db*"):
        file.unlink()
    job = one.agency.post("/v1/jobs", asked)
    until = time.monotonic() + 120
    while one.agency.get(f"/v1/jobs/{job['id']}")["asked"] < 5 and time.monotonic() < until:
        time.sleep(0.05)
    files = (each.data / "assay.db" for each in (one, restored))
    with closing(sqlite3.connect(next(files))) as present, closing(sqlite3.connect(next(files))) as backup:
        present.backup(backup)
    shutil.copy(one.data / "secret.key", restored.data / "secret.key")
    restored.start()
    ended, again = one.finished(job["id"]), restored.finished(job["id"])
    assert (ended["attempt"], again["attempt"]) == (1, 2), "the job had begun when the backup was made"
    first, second = (each.agency.get(job["rating"]["href"]) for each, job in ((one, ended), (restored, again)))
    assert same_rating(first) == same_rating(second)
