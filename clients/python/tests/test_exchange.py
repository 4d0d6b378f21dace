"""Retries, pauses, errors, paging and waiting."""

from __future__ import annotations

import httpx
import pytest

from assay_client import JobFailed, Patience, ProblemError, StillRunning, UnexpectedAnswer, Unreachable, waiting
from assay_client.exchange import Ended, Pause, resume

PROBLEM = {"Content-Type": "application/problem+json"}
BODY = {"target": {"id": "tgt_1"}, "experiment": {"method": "round-trip", "attribute": "gender"}}
JOB = {"id": "job_1", "status": "running", "rating": None, "error": None}
DONE = {**JOB, "status": "succeeded", "rating": {"id": "rat_1", "letter": "UCS"}}


def busy(said, status=429, after="3"):
    return said(
        status, {"code": "rate-limited", "title": "Too many", "status": status}, {**PROBLEM, "Retry-After": after}
    )


@pytest.mark.parametrize("status", [429, 503])
def test_a_get_request_is_repeated_after_the_time_in_retry_after(ask, scripted, said, status):
    scripted.answers = [busy(said, status), busy(said, status, "5"), said(body={"id": "rat_1"})]
    pauses: list[float] = []
    assert ask(scripted.url, lambda client: client.get_rating("rat_1"), pauses) == {"id": "rat_1"}
    assert pauses == [3.0, 5.0]


def test_without_retry_after_pauses_double_until_no_retries_are_left(ask, scripted, said):
    scripted.answers = [said(503, {"code": "not-ready"}, PROBLEM)]
    pauses: list[float] = []
    with pytest.raises(ProblemError, match="not-ready"):
        ask(scripted.url, lambda client: client.get_info(), pauses, patience=Patience(retries=3, first_pause_s=0.5))
    assert pauses == [0.5, 1.0, 2.0]
    assert len(scripted.heard) == 4


def test_a_retry_after_above_the_maximum_pause_raises_the_problem_error(ask, scripted, said):
    scripted.answers = [busy(said, after="3600")]
    pauses: list[float] = []
    with pytest.raises(ProblemError) as refused:
        ask(scripted.url, lambda client: client.get_info(), pauses)
    assert (refused.value.retry_after_s, pauses) == (3600.0, [])


def test_a_post_without_an_idempotency_key_is_sent_once(ask, scripted, said):
    scripted.answers = [busy(said)]
    with pytest.raises(ProblemError):
        ask(scripted.url, lambda client: client.request_rating(BODY))
    assert len(scripted.heard) == 1


def test_a_post_with_an_idempotency_key_is_repeated_with_the_same_key(ask, scripted, said):
    scripted.answers = [busy(said), said(0), said(202, JOB)]
    job = ask(scripted.url, lambda client: client.request_rating(BODY, idempotency_key="mine"), [])
    assert job == JOB
    assert [one.headers["Idempotency-Key"] for one in scripted.heard] == ["mine"] * 3
    assert len({one.body for one in scripted.heard}) == 1


def test_a_post_is_repeated_while_the_first_attempt_is_still_processed(ask, scripted, said):
    in_flight = said(409, {"code": "idempotency-in-flight"}, {**PROBLEM, "Retry-After": "1"})
    scripted.answers = [in_flight, said(202, JOB)]
    assert ask(scripted.url, lambda client: client.request_rating(BODY, idempotency_key="mine"), []) == JOB


@pytest.mark.parametrize("status", [400, 404, 409, 422, 500, 502])
def test_permanent_refusals_are_not_retried(ask, scripted, said, status):
    scripted.answers = [said(status, {"code": "not-found"}, PROBLEM)]
    with pytest.raises(ProblemError):
        ask(scripted.url, lambda client: client.get_rating("rat_1"))
    assert len(scripted.heard) == 1


def test_a_problem_error_has_the_fields_of_the_problem_document(ask, scripted, said):
    problem = {
        "type": "http://127.0.0.1/problems/bad-specification", "title": "It makes no sense", "status": 422,
        "detail": "no attribute is called 'gendre'", "code": "bad-specification", "instance": "/v1/jobs",
        "request_id": "req_1", "errors": [{"pointer": "/experiment/attribute", "detail": "unknown"}],
    }  # fmt: skip
    scripted.answers = [said(422, problem, PROBLEM)]
    with pytest.raises(ProblemError) as refused:
        ask(scripted.url, lambda client: client.rate({"id": "tgt_1"}, {"method": "round-trip", "attribute": "gendre"}))
    error = refused.value
    assert (error.status, error.code, error.title, error.detail) == (
        422, "bad-specification", "It makes no sense", "no attribute is called 'gendre'",
    )  # fmt: skip
    assert (error.instance, error.request_id, error.errors) == ("/v1/jobs", "req_1", problem["errors"])
    assert "/experiment/attribute" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        *(b"<html>bad gateway</html>", b"[]", b"\xff", b"[" * 100_000),
        *(b'{"errors": {"url": ["bad"]}}', b'{"errors": ["bad"]}', b'{"errors": 1}', b'{"errors": "bad"}'),
    ],
)
def test_a_refusal_without_a_problem_document_is_reported_with_its_status(ask, scripted, said, body):
    scripted.answers = [said(502, body, {"Content-Type": "text/html"})]
    with pytest.raises(ProblemError, match="502 http-error"):
        ask(scripted.url, lambda client: client.get_info())


def test_an_answer_that_is_not_json_raises_unexpected_answer(ask, scripted, said):
    scripted.answers = [said(200, b"<html>welcome</html>", {"Content-Type": "text/html"})]
    with pytest.raises(UnexpectedAnswer, match="address of an agency"):
        ask(scripted.url, lambda client: client.get_info())


def test_a_service_that_never_answers_raises_unreachable_after_the_retries(ask, scripted, said):
    scripted.answers = [said(0)]
    with pytest.raises(Unreachable, match="GET /v1/info"):
        ask(scripted.url, lambda client: client.get_info(), [], patience=Patience(retries=2))
    assert len(scripted.heard) == 3


def test_a_header_with_a_line_break_raises_value_error(ask, scripted, said):
    scripted.answers = [said(202, JOB)]
    with pytest.raises(ValueError, match="cannot be sent"):
        ask(scripted.url, lambda client: client.request_rating(BODY, idempotency_key="a\nX-Other: b"))
    assert scripted.heard == []


def test_rate_requests_a_rating_waits_for_it_and_returns_it(ask, scripted, said):
    scripted.answers = [
        said(202, {**JOB, "status": "queued"}),
        said(200, JOB, {"Retry-After": "1"}),
        said(200, DONE),
        said(200, {"id": "rat_1", "letter": "UCS"}),
    ]
    pauses: list[float] = []
    rating = ask(scripted.url, lambda client: client.rate(BODY["target"], BODY["experiment"], seed=3), pauses)
    assert rating["letter"] == "UCS"
    assert [(one.method, one.path) for one in scripted.heard] == [
        ("POST", "/v1/jobs"), ("GET", "/v1/jobs/job_1"), ("GET", "/v1/jobs/job_1"), ("GET", "/v1/ratings/rat_1"),
    ]  # fmt: skip
    assert [one.headers["Prefer"] for one in scripted.heard[1:3]] == ["wait=30"] * 2
    assert len(scripted.heard[0].headers["Idempotency-Key"]) > 20
    assert len(pauses) <= 1


def polled(answers, timeout_s=None):
    """Wait for a job with a simulated clock; return the requests and the length of each pause."""
    now, steps = [100.0], []
    flow = waiting.finished_job("job_1", timeout_s, Patience(), lambda: now[0])
    step = resume(flow, None)
    for body, headers, took_s in answers:
        steps.append(step.headers["Prefer"])
        now[0] += took_s
        step = resume(flow, httpx.Response(200, json=body, headers=headers))
        if isinstance(step, Pause):
            steps.append(step.seconds)
            now[0] += step.seconds
            step = resume(flow, None)
    return steps, step


def test_a_long_poll_that_ends_without_result_is_repeated_without_a_pause():
    assert polled([(JOB, {"Retry-After": "1"}, 30), (DONE, {}, 3)]) == (["wait=30", "wait=30"], Ended(DONE))


def test_the_client_pauses_before_the_next_long_poll_if_the_service_answers_early():
    steps, ended = polled([(JOB, {"Retry-After": "7"}, 2), (JOB, {}, 0.25), (DONE, {}, 0)])
    assert steps == ["wait=30", 5.0, "wait=30", 0.75, "wait=30"]
    assert ended == Ended(DONE)


def test_polls_of_a_job_and_pauses_between_them_do_not_exceed_the_timeout():
    with pytest.raises(StillRunning):
        polled([(JOB, {}, 30), (JOB, {"Retry-After": "60"}, 5), (JOB, {}, 0)], timeout_s=45)
    steps, _ = polled([(JOB, {}, 30), (JOB, {"Retry-After": "60"}, 5), (DONE, {}, 0)], timeout_s=45)
    assert steps == ["wait=30", "wait=15", 10.0, "wait=0"]


def test_a_failed_job_raises_job_failed_with_its_reason(ask, scripted, said):
    why = {"code": "target_refused", "title": "Refused", "detail": "the secret is wrong"}
    scripted.answers = [said(202, {**JOB, "status": "failed", "error": why})]
    with pytest.raises(JobFailed, match="the secret is wrong") as failed:
        ask(scripted.url, lambda client: client.rate(BODY["target"], BODY["experiment"]))
    assert (failed.value.code, failed.value.job["id"]) == ("target_refused", "job_1")


def test_waiting_beyond_the_timeout_raises_still_running(ask, scripted, said):
    scripted.answers = [said(200, JOB, {"Retry-After": "1"})]
    with pytest.raises(StillRunning, match="job_1 is still running"):
        ask(scripted.url, lambda client: client.wait_for_job("job_1", timeout_s=0))


def test_paging_sends_the_cursor_and_the_key_only_to_the_agency(ask, scripted, said):
    elsewhere = {"Link": '<http://elsewhere.example/v1/jobs?limit=1&cursor=a%3D%2Bb>; rel="next"'}
    scripted.answers = [said(200, {"items": [1], "next_cursor": "a=+b"}, elsewhere), said(200, {"items": [2]})]
    assert ask(scripted.url, lambda client: client.iter_jobs(limit=1), key="assay_x") == [1, 2]
    assert [one.path for one in scripted.heard] == ["/v1/jobs?limit=1", "/v1/jobs?limit=1&cursor=a%3D%2Bb"]
    assert {one.headers["Authorization"] for one in scripted.heard} == {"Bearer assay_x"}


def test_files_are_returned_as_bytes_svg_badges_as_text_and_deletions_as_none(ask, scripted, said):
    raw = "a,\u2028\r\n".encode()
    scripted.answers = [said(200, raw, {"Content-Type": "text/csv"})]
    assert ask(scripted.url, lambda client: client.download_evidence_csv("rat_1")) == raw
    scripted.answers = [said(200, "<svg>ü</svg>".encode(), {"Content-Type": "image/svg+xml; charset=utf-8"})]
    assert ask(scripted.url, lambda client: client.get_rating_badge_svg("rat_1")) == "<svg>ü</svg>"
    scripted.answers = [said(204)]
    assert ask(scripted.url, lambda client: client.remove_target("tgt_1")) is None


def test_request_returns_the_answer_with_status_and_headers(ask, scripted, said):
    scripted.answers = [said(201, {"id": 1}, {"Location": "/v1/targets/1"})]
    answer = ask(scripted.url, lambda client: client.request("post", "/v1/targets", json={"name": "x"}))
    assert (answer.status_code, answer.headers["Location"], answer.json()) == (201, "/v1/targets/1", {"id": 1})
