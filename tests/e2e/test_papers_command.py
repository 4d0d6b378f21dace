"""`make papers`: one page with the numbers of the five papers' tables and figures, as printed and as computed here."""

from __future__ import annotations

import html
import re
import sys

import pytest

from tests.support.commands import run_program
from tests.support.markdown_blocks import ROOT
from tools.papers import p2, p5, printed
from tools.papers.exhibits import Line
from tools.papers.shared_data import Shared

needs_data = pytest.mark.skipif(
    not (Shared().folder / "data" / "kdd_census").exists(), reason="the shared data are not beside the project"
)


def papers(*arguments: str):
    return run_program([sys.executable, "-m", "tools.papers", *arguments], ROOT)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("papers") / "papers.html"
    done = papers("--output", str(file))
    assert done.returncode == 0, done.stderr
    assert f"{file}: " in done.stdout
    return file.read_text(encoding="utf-8")


def cells(page: str, first: str) -> list[str]:
    """Return the cells of the page's first table row that has this row header."""
    row = next(one for one in re.findall(r"<tr>(.*?)</tr>", page) if f">{html.escape(first)}</th>" in one)
    return [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]


@needs_data
def test_the_page_of_papers_loads_no_other_file(page):
    assert page.lower().startswith("<!doctype html>")
    assert not re.search(r"<script|<iframe|<img|<link|src=|@import|url\(|https?://(?!www\.w3\.org)", page)


@needs_data
def test_the_page_shows_results_for_each_paper_and_a_posterior_for_each_table_of_the_second_paper(page):
    for name in p2.EIGHTEEN:
        assert f"posterior of {name}" in page
    for key in ("P1", "P2", "P3", "P4", "P5"):
        assert f'id="{key}-0"' in page


@needs_data
@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("MAC, biased", ["0.859", "0.861", "+0.002"]),
        ("women, own", ["900", "888", "-12"]),
        ("score of the model", ["0.5509", "0.5509", "+0.0000"]),
        ("UCS before DSBS", ["DSBS", "DSBS", "none"]),
        ("PSE of lawyer", ["men's side", "men's side", "none"]),
    ],
)
def test_each_row_of_the_papers_page_shows_the_printed_number_our_number_and_their_difference(page, first, expected):
    assert cells(page, first)[1:4] == expected


@needs_data
def test_the_papers_page_lists_tables_and_figures_that_are_not_reproduced_with_their_reasons(page):
    absent = page[page.index('id="absent"') :]
    assert "Google Translate and Yandex Translate" in absent
    assert "soft debiased" in absent


def test_the_papers_command_without_its_data_folder_ends_with_one_error_line(tmp_path):
    done = papers("--data", str(tmp_path), "--output", str(tmp_path / "papers.html"))
    assert done.returncode == 64
    assert done.stderr == f"the papers' data are not in {tmp_path}; give their folder with --data\n"
    assert not (tmp_path / "papers.html").exists()


def test_papers_without_data_show_the_reason_instead_of_results(tmp_path):
    (tmp_path / "data").mkdir()
    done = papers("--data", str(tmp_path), "--output", str(tmp_path / "papers.html"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "papers.html").read_text(encoding="utf-8")
    assert "kdd_census is not in" in page
    assert cells(page, "BS before UCS")[1:4] == ["UCS", "UCS", "none"]


@pytest.mark.parametrize(
    ("printed_value", "ours", "difference"),
    [(0.859, 0.861, "+0.002"), ("BS", "BS", "none"), ("BS", "UCS", "differs"), (0.5, None, "–")],
)
def test_each_line_of_the_papers_page_states_our_value_less_the_printed_value(printed_value, ours, difference):
    assert Line("", printed_value, ours).difference == difference


def test_the_letters_of_a_rated_translator_form_a_column_of_table_1(services):
    rating = p5.rate_translator("libretranslate", services.url("always-he"), ["es", "fr"])
    assert p5.column(rating) == {"es": "BS", "fr": "BS"}
    assert p5.overall(p5.column(rating)) == printed.OVERALL[0]
