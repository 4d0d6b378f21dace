"""Tests of the report for a terminal."""

from __future__ import annotations

import re

import pytest
from rich.cells import cell_len as width

from reports.formats import terminal
from tests.support.reports import render_terminal

ANSI = re.compile(r"\x1b\[[\d;]*m")


@pytest.mark.parametrize("columns", [60, 80, 88, 100])
def test_no_line_is_wider_than_the_requested_width(columns, any_sample):
    assert max(width(line) for line in render_terminal(any_sample, columns=columns).splitlines()) <= columns


def test_hostile_text_widens_no_line_and_has_no_control_characters(poisoned):
    written = render_terminal(poisoned("DSBS with two components"))
    assert max(map(width, written.splitlines())) <= 88
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", written)


def test_wide_characters_do_not_misalign_the_borders(sample):
    document = sample("DSBS with two components")
    document["components"][0]["language_name"] = "日本語の訳"
    boxed = [line for line in render_terminal(document).splitlines() if line.startswith(("│", "┌"))]
    first = boxed[: next(place for place, line in enumerate(boxed) if place and line.startswith("┌"))]
    assert len({width(line) for line in first}) == 1


@pytest.mark.slow
def test_colour_in_the_terminal_report_adds_no_information(any_sample):
    plain, coloured = render_terminal(any_sample), render_terminal(any_sample, colour=True)
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    assert ANSI.sub("", coloured) == plain


def test_declared_letter_has_a_solid_frame_and_undeclared_letter_a_dashed_one(sample):
    assert render_terminal(sample("BS eraser")).startswith("┏━")
    assert render_terminal(sample("undeclared")).startswith("┌╌")


def test_only_the_deciding_components_are_shown_in_full(sample):
    written = render_terminal(sample("40 components"))
    assert written.count("Looks at the evidence") == 3
    assert "are in the HTML, Markdown and JSON reports" in written
    for one in sample("40 components")["components"]:
        assert one["language_name"] in written


def test_number_and_percent_sign_are_not_split_over_two_lines():
    assert list(terminal.wrap("it is 95 % sure", 8)) == ["it is", "95 %", "sure"]


def test_a_long_word_is_broken_without_loss():
    assert "".join(terminal.wrap("a" * 95, 30)) == "a" * 95
