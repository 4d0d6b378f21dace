"""Server-sent events: in chunks of any size, and across broken connections."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_client import Event, Patience, ProblemError, Unreachable
from assay_client.call import Call, as_nothing
from assay_client.events import EventStream

STREAM = {"Content-Type": "text/event-stream"}


def written(number, kind, **data):
    document = {"job": "job_1", "type": kind, "at": "2026-01-02T03:04:05Z", "data": data}
    return f"event: {kind}\ndata: {json.dumps(document, ensure_ascii=False)}\nid: {number}\n\n".encode()


def event(number, kind, **data):
    return Event(str(number), kind, "2026-01-02T03:04:05Z", data)


WHOLE = b": hello\n\n" + written(1, "queued") + written(2, "stage", said="a\u2028ü b") + written(3, "succeeded")
READ = [event(1, "queued"), event(2, "stage", said="a\u2028ü b"), event(3, "succeeded")]


@given(st.lists(st.integers(0, len(WHOLE)), max_size=20), st.booleans())
def test_events_are_parsed_equally_however_the_stream_is_split_into_chunks(cuts, with_cr):
    whole = WHOLE.replace(b"\n", b"\r\n") if with_cr else WHOLE
    places = [0, *sorted(cuts), len(whole)]
    stream = EventStream(Call("GET", "/v1/jobs/job_1/events", as_nothing), Patience())
    read = [one for begin, end in pairwise(places) for one in stream.read(whole[begin:end])]
    assert read == READ
    assert stream.ended


def test_a_broken_stream_resumes_after_the_last_event(ask, scripted, said):
    scripted.answers = [
        said(200, written(1, "queued") + b"event: st", STREAM),
        said(0),
        said(200, written(2, "stage") + written(3, "succeeded"), STREAM),
    ]
    pauses: list[float] = []
    read = ask(scripted.url, lambda client: client.follow_job("job_1"), pauses)
    assert [one.id for one in read] == ["1", "2", "3"]
    assert [one.headers["Last-Event-ID"] for one in scripted.heard] == [None, "1", "1"]
    assert pauses == [0.5, 1.0]


def test_an_event_stream_ends_when_the_service_answers_204(ask, scripted, said):
    scripted.answers = [said(204)]
    assert ask(scripted.url, lambda client: client.follow_job("job_1", last_event_id="9")) == []
    assert scripted.heard[0].headers["Last-Event-ID"] == "9"


def test_an_event_stream_is_requested_again_after_503(ask, scripted, said):
    scripted.answers = [said(503, {"code": "not-ready"}, {"Retry-After": "4"}), said(200, WHOLE, STREAM)]
    pauses: list[float] = []
    assert ask(scripted.url, lambda client: client.follow_job("job_1"), pauses) == READ
    assert pauses == [4.0]


def test_a_refused_stream_raises_a_problem_error(ask, scripted, said):
    scripted.answers = [said(404, {"code": "not-found", "title": "Nothing is here"})]
    with pytest.raises(ProblemError, match="not-found"):
        ask(scripted.url, lambda client: client.follow_job("job_1"))


def test_a_stream_that_repeatedly_breaks_without_events_raises_unreachable(ask, scripted, said):
    scripted.answers = [said(200, b"", STREAM)]
    with pytest.raises(Unreachable, match="closed before the job had ended"):
        ask(scripted.url, lambda client: client.follow_job("job_1"), [], patience=Patience(retries=2))
    assert len(scripted.heard) == 3
