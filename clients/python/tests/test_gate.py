"""The gate: ratings that pass, fail or do neither, and exit codes."""

from __future__ import annotations

import io
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from assay_client.gate import Bar, Exit, main

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RATING = {
    "id": "rat_1", "letter": "DSBS", "declared": True, "attribute": "gender", "method": "round-trip",
    "rated_at": "2026-02-01T00:00:00.000Z", "expires_at": "2026-05-02T00:00:00.000Z", "withdrawn": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("letter", "at_least", "ends"),
    [
        ("UCS", "UCS", Exit.PASSED), ("DSBS", "UCS", Exit.BELOW), ("BS", "UCS", Exit.BELOW),
        ("UCS", "DSBS", Exit.PASSED), ("DSBS", "DSBS", Exit.PASSED), ("BS", "DSBS", Exit.BELOW),
        ("UCS", "BS", Exit.PASSED), ("DSBS", "BS", Exit.PASSED), ("BS", "BS", Exit.PASSED),
    ],
)  # fmt: skip
def test_the_gate_passes_a_letter_that_is_at_least_as_good_as_required(letter, at_least, ends):
    assert Bar(at_least).judge({**RATING, "letter": letter}, NOW).exit is ends


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"withdrawn": {"at": "…", "reason": "wrong target"}}, "withdrawn (wrong target)"),
        ({"letter": None, "declared": False}, "no letter could be given"),
        ({"declared": False}, "inconclusive (leaning DSBS)"),
        ({"expires_at": "2026-03-01T00:00:00.000Z"}, "expired on 2026-03-01"),
        ({"rated_at": "2025-12-01T00:00:00.000Z"}, "90.0 days old, more than 30"),
    ],
)
def test_a_withdrawn_inconclusive_expired_or_old_rating_gives_an_exit_code_of_its_own(change, why):
    judgement = Bar("UCS", max_age_days=30).judge({**RATING, **change}, NOW)
    assert judgement.exit is Exit.UNSETTLED
    assert why in judgement.message


def test_a_rating_of_exactly_the_maximum_age_passes():
    assert Bar("DSBS", max_age_days=28).judge(RATING, NOW).exit is Exit.PASSED


def test_a_maximum_age_of_many_millions_of_years_is_no_limit():
    assert Bar("DSBS", max_age_days=1e10).judge(RATING, NOW).exit is Exit.PASSED


@pytest.fixture
def pauses(monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr("assay_client.gate.time.sleep", slept.append)
    return slept


def gate(url, *more):
    return main(["--url", url, "--target-url", "http://127.0.0.1:5000", "--attribute", "gender", *more])


@pytest.mark.parametrize(
    ("status", "body", "ends", "line"),
    [
        (404, {"code": "no-rating"}, 3, "unrated: no rating of the service for 'gender' is yours"),
        (
            404,
            {"code": "no-rating", "errors": [{"parameter": "attribute", "detail": "no attribute 'gendre'"}]},
            3,
            "; no attribute 'gendre'",
        ),
        (409, {"code": "ambiguous-rating", "candidates": [{"method": "b"}, {"method": "a"}]}, 64, "--method: a, b"),
        (
            409,
            {"code": "ambiguous-rating", "candidates": [{"method": "a", "model": "n"}, {"method": "a", "model": "m"}]},
            64,
            "--model: m, n",
        ),
        (401, {"code": "key-missing", "title": "A key is needed"}, 64, "A key is needed"),
        (
            404,
            {"code": "not-found", "errors": [{"parameter": "attribute", "detail": "unknown"}]},
            64,
            "attribute: unknown",
        ),
        (409, {"code": "ambiguous-rating"}, 69, "no rating"),
        (404, b"<html>", 64, "404 http-error"),
        (404, {"errors": 1}, 69, "no rating"),
        (400, {"title": "Invalid", "errors": {"target_url": ["bad"]}}, 64, "400 http-error: Invalid"),
        (422, {"title": "Invalid", "errors": ["bad"]}, 64, "422 http-error: Invalid"),
        (404, {"code": "no-rating", "errors": ["bad"]}, 3, "unrated"),
        (200, b"[" * 100_000, 69, "no rating"),
        (404, b"[" * 100_000, 69, "no rating"),
        (500, {"code": "internal-error"}, 69, "internal-error"),
        (200, b"<html>", 69, "is it the address of an agency?"),
        (200, [], 69, "no rating"),
        (200, {"hello": "world"}, 69, "no rating"),
        (200, {**RATING, "expires_at": "soon"}, 69, "no rating"),
        (200, {**RATING, "expires_at": "9999-01-01T00:00:00Z", "letter": "A"}, 69, "no rating"),
    ],
)
def test_the_gate_command_ends_with_an_exit_code_and_one_line(scripted, said, capsys, status, body, ends, line):
    scripted.answers = [said(status, body)]
    assert gate(scripted.url) == ends
    shown = capsys.readouterr()
    assert line in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_a_passing_rating_is_printed_on_standard_output(scripted, said, capsys):
    scripted.answers = [said(200, {**RATING, "expires_at": "9999-01-01T00:00:00Z"})]
    assert gate(scripted.url, "--method", "round-trip") == 0
    assert "at least DSBS, as required" in capsys.readouterr().out
    assert scripted.heard[0].path == (
        "/v1/ratings/latest?target_url=http%3A%2F%2F127.0.0.1%3A5000&attribute=gender&method=round-trip&whose=mine"
    )


@pytest.mark.parametrize(("options", "whose"), [((), "mine"), (("--whose", "address"), "address")])
def test_the_gate_uses_only_the_callers_ratings_unless_option_whose_is_address(scripted, said, capsys, options, whose):
    scripted.answers = [said(404, {"code": "no-rating"})]
    assert gate(scripted.url, *options) == 3
    assert scripted.heard[0].path.endswith(f"&whose={whose}")
    assert ("--whose address" in capsys.readouterr().err) == (whose == "mine")


def test_the_gate_prints_who_requested_the_rating_and_that_the_host_owner_objects(scripted, said, capsys):
    facts = {"standing": {"requester": "other"}, "reply": {"objects": True}}
    scripted.answers = [said(200, {**RATING, "expires_at": "9999-01-01T00:00:00Z", **facts})]
    assert gate(scripted.url, "--whose", "address") == 0
    assert "requested by a third party, the host's owner objects" in capsys.readouterr().out


def test_the_gate_prints_the_settings_of_the_rating_that_are_not_the_defaults_of_its_method(scripted, said, capsys):
    chosen = {"choices": ["delta 3 instead of 0.1", "strata null instead of []"]}
    scripted.answers = [said(200, {**RATING, "expires_at": "9999-01-01T00:00:00Z", **chosen})]
    assert gate(scripted.url) == 0
    assert ", with delta 3 instead of 0.1, strata null instead of []; at least DSBS" in capsys.readouterr().out


def test_the_key_is_read_from_a_file_and_an_empty_file_means_no_key(scripted, said, tmp_path):
    scripted.answers = [said(404, {"code": "no-rating"})]
    key = tmp_path / "key"
    for written, sent in (("assay_a\n", "Bearer assay_a"), ("\n", None)):
        key.write_text(written)
        assert gate(scripted.url, "--key-file", str(key)) == 3
        assert scripted.heard[-1].headers["Authorization"] == sent


@pytest.mark.parametrize(
    "more",
    [
        ["--at-least", "A"],
        ["--max-age-days", "-1"],
        ["--max-age-days", "nan"],
        ["--key-file", "/nowhere/key"],
        ["--key-file", "-"],
        ["--url", "ftp://x"],
        ["--url", "http://"],
        ["--url", "http://x:port"],
    ],
)
def test_malformed_options_end_with_code_64_and_one_line(capsys, monkeypatch, more):
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines"))
    try:
        ended = gate("http://127.0.0.1:9", *more)
    except SystemExit as end:
        ended = end.code
    assert ended == 64
    assert capsys.readouterr().err.count("\n") == 1


def test_the_gate_ends_with_code_69_if_no_agency_answers(scripted, said, capsys, pauses):
    scripted.answers = [said(0)]
    assert gate(scripted.url) == 69
    assert f"no answer from {scripted.url}" in capsys.readouterr().err
    assert len(scripted.heard) == 3
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_agency_is_asked_again_after_the_time_in_retry_after(scripted, said, status, pauses):
    busy = said(status, {"code": "busy"}, {"Retry-After": "3"})
    scripted.answers = [busy, said(0), said(200, {**RATING, "expires_at": "9999-01-01T00:00:00Z"})]
    assert gate(scripted.url) == 0
    assert pauses == [3.0, 1.0]


def test_the_gate_ends_with_code_69_if_a_busy_agency_asks_for_a_long_pause(scripted, said, pauses):
    scripted.answers = [said(429, {"code": "busy"}, {"Retry-After": "3600"})]
    assert gate(scripted.url) == 69
    assert (len(scripted.heard), pauses) == (1, [])


@pytest.mark.parametrize(("arguments", "code"), [(["gate", "--help"], 0), (["--help"], 0), ([], 64), (["rate"], 64)])
def test_the_package_can_be_run_as_a_command(arguments, code):
    asked = [sys.executable, "-m", "assay_client", *arguments]
    ended = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert "gate" in (ended.stderr if code else ended.stdout)
