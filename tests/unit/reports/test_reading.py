"""Tests of the reader of rating documents that all formats share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.document import ReasonDocument
from assay.model import Letter
from reports import tables
from reports.figures.canvas import clip
from reports.methods import report_of
from reports.plain import visible
from reports.reading import _reason_view, facts_of
from tests.support.reports import read


def test_an_empty_document_is_read_as_an_unmeasured_rating():
    rating = read({})
    assert rating.verdict.headline == "inconclusive: no letter can be given"
    assert rating.components == ()
    assert rating.target == "unnamed service"


def test_a_stored_reason_without_a_text_gets_a_text_from_its_code_and_facts():
    reason = {"code": "introduces-bias", "facts": {"from": "she", "to": "he", "shifted": 24, "sent": 40}}
    said = read({"method": "round-trip", "reasons": [reason]}).reasons[0]
    assert said.text == "The service introduces bias: 24 of 40 sentences with “she” came back as “he”."


def test_a_reason_with_an_unknown_code_is_shown_by_its_code():
    said = read({"reasons": [{"code": "made-up"}]}).reasons[0]
    assert (said.code, said.text) == ("made-up", "made up")


def test_a_rating_whose_method_is_not_installed_is_shown_by_its_common_fields():
    reasons = [{"code": "not-enough-evidence"}, {"code": "introduces-bias"}]
    rating = read({"method": "gone", "reasons": reasons, "components": [{"pairs": [{"shift": 1}], "usable": 3}]})
    assert [one.text for one in rating.reasons] == [
        "The evidence is not enough to declare a letter.",
        "introduces bias",
    ]
    assert (rating.components[0].sheets, rating.components[0].pictures) == ((), ())
    assert rating.components[0].counted == "Answers"


def test_a_stored_rating_with_an_unknown_letter_is_read_as_a_rating_without_a_letter():
    assert read({"letter": "A+", "declared": True}).verdict.letter is None


def test_of_two_equally_probable_letters_under_another_tolerance_the_worse_is_shown():
    component = {"sensitivity": {"0.05": {"BS": 0.4, "DSBS": 0.4, "UCS": 0.2}}}
    assert read({"components": [component]}).components[0].sensitivity["0.05"].letter is Letter.BS


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "not measured"), (0.0, "0.000"), (0.0004, "<0.001"), (0.9996, ">0.999"), (1.0, "1.000"), (0.1234, "0.123")],
)
def test_a_probability_is_written_as_0_or_1_only_if_it_is_exactly_0_or_1(value, written):
    assert tables.decimal(value) == written


def test_a_rating_that_is_undeclared_because_of_an_unmeasured_component_says_so(sample):
    document = sample("100 components")
    assert document["declared"] is False
    assert document["probabilities"]["DSBS"] >= 0.95
    assert "still not declared" in tables.confidence_note(read(document))


def test_reports_make_hidden_characters_visible_except_joiners_that_a_script_needs():
    assert visible("a\u202eb\x00c") == "a⟨U+202E⟩b⟨U+0000⟩c"
    assert visible("می\u200cخواهم") == "می\u200cخواهم"
    assert visible(" two\r\n lines\t") == "two lines"


def test_names_are_clipped_by_their_width_in_which_wide_characters_count_twice():
    names = ("abcde", "日本語", "e\u0301abc", "می\u200cخ")
    assert [clip(name, 4) for name in names] == ["abc…", "日…", "e\u0301abc", "می\u200cخ"]


@pytest.mark.parametrize(
    ("author", "shown"),
    [
        ({"name": "Quill", "url": "https://quill.example"}, "Quill (https://quill.example)"),
        ({"name": "Quill", "url": None}, "Quill"),
        ({"url": "https://quill.example"}, "https://quill.example"),
        ({}, None),
        ("Quill", None),
        (None, None),
    ],
)
def test_an_author_is_shown_with_its_name_and_address_as_far_as_known(author, shown):
    assert read({"author": author}).provenance.get("Author") == shown


@pytest.mark.parametrize(
    ("languages", "shown"),
    [
        ([str(n) for n in range(60)], ", ".join(map(str, range(60)))),
        ([str(n) for n in range(61)], "61 in all, the first: 0, 1, 2, 3, 4, …"),
        ({str(n): n for n in range(61)}, "61 in all, the first: 0: 0; 1: 1; 2: 2; 3: 3; 4: 4; …"),
        ([None] * 61, None),
    ],
)
def test_a_report_shortens_a_long_list_of_languages_to_its_first_entries(languages, shown):
    assert facts_of({"languages": languages}).get("languages") == shown


def test_a_reason_names_a_word_list_by_its_title():
    report = replace(report_of({"method": "round-trip"}), title_of=lambda name: f"Title of {name}")
    reason = ReasonDocument("odd", component="p4-words", text="For “p4-words”, it is odd.")
    assert _reason_view(reason, report, None).text == "For “Title of p4-words”, it is odd."
