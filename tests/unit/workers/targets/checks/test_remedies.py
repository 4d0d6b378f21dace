"""Remedies for failed tests of a service."""

from __future__ import annotations

import time

from assay.model import Failure, Kind, Translate
from workers.egress import Exchange
from workers.egress.connection import ReceivedResponse
from workers.targets.adapter import Target
from workers.targets.checks.remedies import remedy_for


def web_page(body: bytes) -> str:
    """Return the stated cause of a failure if a service answers with this web page."""
    target = Target("t", Kind.TRANSLATOR, "custom", "http://127.0.0.1:1", {})
    exchange = Exchange("POST", "http://127.0.0.1:1/", {}, b"", ReceivedResponse(200, (), body), 0.1)
    return remedy_for(Failure("garbage", "no JSON"), exchange, target, Translate("He.", "en", "es")).cause


def test_the_cause_quotes_the_title_of_a_web_page_sent_as_answer():
    assert 'with the title "Sign in"' in web_page(b'<html><title lang="en">Sign in</title>')


def test_the_title_of_a_web_page_with_many_unclosed_titles_is_found_in_linear_time():
    # at commit 06d1ba2, a page of 120 kB stopped every other request for 2 s, and 1 MB for two minutes
    began = time.process_time()
    assert "a web page instead of JSON" in web_page(b"<html>" + b"<title" * 30_000)
    assert time.process_time() - began < 1
