"""Quoted error messages of a service: the useful part, on one line, without keys and invisible characters.

Row 79 of docs/reliability.md: at c37b512 a service's own message was never shown, only "HTTP status 400".
"""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from workers.egress.failures import MAX_QUOTED_CHARACTERS, Quoter, spellings

SECRET = 'sk+live/9f3b7c21=d"e&4a5b'


def said(body: object, secret: str | None = SECRET) -> str:
    written = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Quoter(secret).quote(written)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ({"error": {"message": "no model is called m-7", "type": "invalid_request"}}, "no model is called m-7"),
        ({"detail": "text too long"}, "text too long"),
        ({"detail": [{"loc": ["body", "q"], "msg": "field required"}]}, "field required"),
        ({"error": "es is not supported"}, "es is not supported"),
        ({"errors": ["first", "second"]}, "first"),
        ({"message": "", "detail": "the second name"}, "the second name"),
        ("upstream is down", "upstream is down"),
        ({"unknown": "members"}, "{'unknown': 'members'}"),
        ('a "quoted" word', "a 'quoted' word"),
    ],
)
def test_the_useful_part_of_an_error_body_is_quoted(body, shown):
    assert said(body) == f'; it said: "{shown}"'


@pytest.mark.parametrize("body", [b"", b"  \n", b"<!doctype html><title>502</title>", b"\xff\xfe\xfa"])
def test_nothing_is_quoted_from_an_empty_body_or_a_web_page(body):
    assert said(body) == ""


FORMS = {
    "plain": SECRET,
    "bearer": f"Bearer {SECRET}",
    "in another case": SECRET.upper(),
    "URL": quote(SECRET, safe=""),
    "form": quote_plus(SECRET),
    "JSON": json.dumps(SECRET),
    "JSON in JSON": json.dumps(json.dumps(SECRET)),
    "HTML": html.escape(SECRET),
    "hexadecimal": SECRET.encode().hex(),
    "Base64": base64.b64encode(SECRET.encode()).decode(),
    "Base64 for URLs": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "basic authentication": base64.b64encode(f":{SECRET}".encode()).decode(),
    "basic authentication with a user": base64.b64encode(f"somebody:{SECRET}".encode()).decode(),
    "invisible characters inside": "\u200b".join(SECRET),
    "line ends inside": "\n".join(SECRET),
    "its first half": SECRET[:13],
    "its second half": SECRET[10:],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_key_is_masked_in_every_encoding(form):
    shown = said({"error": f"not allowed: {FORMS[form]} is unknown here"})
    assert shown.startswith('; it said: "not allowed: ')
    assert "***" in shown
    assert "is unknown here" in shown
    left = "".join(char for char in shown.lower() if char.isalnum())
    for spelled in (*spellings(SECRET), SECRET[:13], SECRET[10:]):
        bare = "".join(char for char in spelled.lower() if char.isalnum())
        assert all(bare[start : start + 8] not in left for start in range(max(1, len(bare) - 7)))


def test_user_and_password_of_basic_authentication_are_masked():
    secret = base64.b64encode(b"somebody:hunter2").decode()
    for sent in (secret, f"Basic {secret}"):
        shown = said(f"user somebody, password hunter2, header {sent}", sent)
        assert "hunter2" not in shown
        assert secret not in shown
        assert "password ***" in shown


@pytest.mark.parametrize("secret", ["a", "abc", "a-b", "?!"])
def test_responses_are_not_quoted_if_the_key_is_too_short_to_redact(secret):
    assert said("the key a-b is unknown", secret) == ""


def test_a_key_is_masked_before_a_long_message_is_cut():
    for before in range(MAX_QUOTED_CHARACTERS - 40, MAX_QUOTED_CHARACTERS + 1):
        shown = said("x " * (before // 2) + SECRET)
        assert not any(SECRET[start : start + 8] in shown for start in range(len(SECRET) - 7))


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07alert", "red alert"),
        ("a\u202eb\u2066c\u200fd\u200ee\u061cf", "abcdef"),
        ("one\r\ntwo\tthree\u2028four", "one two three four"),
        ("a\x00b\x7fc\x9bd\u200be\ufefff\u00ad\U000e0041", "abcdef"),
        ("\ud800half", "half"),
        (
            "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
            "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
        ),
    ],
)
def test_control_and_bidirectional_characters_are_removed(sent, shown):
    assert said({"error": sent}) == f'; it said: "{shown}"'


def test_a_long_message_is_cut():
    shown = Quoter().clean("word " * 10_000)
    assert len(shown) == MAX_QUOTED_CHARACTERS == 300
    assert shown.endswith("…")


def test_very_large_and_deeply_nested_bodies_do_not_break_the_quotation():
    assert said("[" * 500_000)
    assert said(b"\x00" * 1_000_000) == ""
    assert len(said({"error": SECRET * 30_000})) < 50
