"""Tests of the Markdown report."""

from __future__ import annotations

import re

from reports.formats.markdown import escape
from tests.support.reports import render


def _cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def _tables(written: str):
    lines = written.splitlines()
    for place, line in enumerate(lines):
        if re.fullmatch(r"\|( -+:? \|)+", line):
            rows = []
            for row in lines[place - 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(row)
            yield rows


def test_every_row_of_a_table_has_as_many_cells_as_its_head(any_sample):
    tables = list(_tables(render("markdown", any_sample)))
    assert tables
    for rows in tables:
        assert len({_cells(row) for row in rows}) == 1
        assert len(rows) > 2


def test_hostile_text_breaks_no_table_and_creates_no_markup(poisoned):
    written = render("markdown", poisoned("DSBS with two components"))
    for rows in _tables(written):
        assert len({_cells(row) for row in rows}) == 1
    assert not re.search(r"(?<!\\)<script", written)
    assert not re.search(r"(?<!\\)\[x", written)
    assert "\n# head" not in written
    assert "\x1b" not in written


def test_special_characters_of_markdown_are_escaped():
    assert escape("a|b *c* [d](e) <f> `g`") == r"a\|b \*c\* \[d\](e) \<f\> \`g\`"
    assert escape("1. first") == r"1\. first"
    assert escape("- item") == r"\- item"
    assert escape("https://a.example") == r"https\://a.example"
    assert escape("1.0.0 and 0.5 - fine") == "1.0.0 and 0.5 - fine"


def test_the_markdown_report_holds_every_component_in_full(sample):
    document = sample("40 components")
    written = render("markdown", document)
    assert written.count("**Effects with 95 % intervals**") == 40
    assert written.count("**Looks at the evidence**") == 40
