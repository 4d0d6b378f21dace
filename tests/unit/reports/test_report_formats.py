"""Tests of the list of report formats."""

from __future__ import annotations

import pytest

from assay.errors import UnknownName
from reports.formats import FORMATS, Format, format_named, installed_formats
from tests.support.reports import render


def test_the_list_of_report_formats_names_each_format_once():
    names = [one.name for one in FORMATS]
    assert names == ["json", "markdown", "terminal", "html"]
    assert len({one.suffix for one in FORMATS}) == len(FORMATS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_every_format_writes_every_document(name, any_sample):
    written = render(name, any_sample)
    assert written.endswith("\n")
    assert "NaN" not in written
    assert "Infinity" not in written


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_every_format_is_written_for_a_malformed_document(name, broken):
    assert render(name, broken).encode()


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_every_format_of_a_rating_with_hostile_text_is_valid_utf_8(name, poisoned):
    assert render(name, poisoned("DSBS with two components")).encode()


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_rendering_does_not_change_the_document(name, sample):
    document = sample("undeclared")
    render(name, document)
    assert document == sample("undeclared")


@pytest.mark.parametrize("name", ["markdown", "terminal", "html"])
def test_markdown_terminal_and_html_reports_list_missing_measurements_with_their_reasons(name, sample):
    written = render(name, sample("unmeasured"))
    assert "inconclusive: no letter can be given" in written
    assert "ot measured" in written
    assert "HTTP status 503" in " ".join(written.split())


@pytest.mark.parametrize("name", ["markdown", "terminal", "html"])
def test_an_undeclared_letter_is_never_shown_as_declared(name, sample):
    written = render(name, sample("undeclared"))
    assert "inconclusive (leaning DSBS)" in written
    assert "DSBS — data-sensitive" not in written


def test_an_unknown_format_is_refused_with_the_known_formats():
    with pytest.raises(UnknownName, match="json, markdown, terminal, html"):
        render("pdf", {})


@pytest.fixture(autouse=True)
def _entry_points_are_read_anew():
    installed_formats.cache_clear()
    yield
    installed_formats.cache_clear()


def test_an_installed_package_adds_a_format(tmp_path, monkeypatch):
    (tmp_path / "their_report.py").write_text(
        "from reports.formats import Format\n"
        "FORMAT = Format('letter', 'text/plain', '.letter', lambda d: d['letter'])\n"
    )
    installed = tmp_path / "their_report-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: their-report\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[assay.reports]\nletter = their_report:FORMAT\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert render("letter", {"letter": "BS"}) == "BS"
    assert [*installed_formats()][-1] == "letter"
    assert isinstance(format_named("letter"), Format)


def test_an_entry_point_that_is_no_format_is_refused(tmp_path, monkeypatch):
    (tmp_path / "no_report.py").write_text("FORMAT = 7\n")
    installed = tmp_path / "no_report-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: no-report\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[assay.reports]\nseven = no_report:FORMAT\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TypeError, match="must be a Format"):
        installed_formats()


AUTHOR = {"name": "Quill", "kind": "language-model", "url": "https://quill.example/v1", "digest": "sha256:0"}


@pytest.mark.parametrize("name", ["markdown", "terminal", "html"])
def test_reports_for_people_name_the_author_service_and_the_hosts_called(name, sample):
    document = sample("undeclared") | {"author": AUTHOR, "hosts": ["api.example", "quill.example"]}
    written = " ".join(render(name, document).replace("│", " ").replace("\\", "").split())
    for said in ("Author", "Quill (https://quill.example/v1)", "Hosts asked", "api.example, quill.example"):
        assert said in written


@pytest.mark.parametrize("missing", [{}, {"author": None, "hosts": []}])
@pytest.mark.parametrize("name", ["markdown", "terminal", "html"])
def test_a_rating_without_author_and_hosts_has_no_rows_for_them(name, missing, sample):
    written = render(name, sample("undeclared") | missing)
    assert "Author" not in written
    assert "Hosts asked" not in written


@pytest.mark.parametrize("name", ["markdown", "terminal", "html"])
def test_a_long_list_of_the_experiment_shows_its_length_and_first_entries(name, sample):
    sentences = [{"text": f"Sentence {number}."} for number in range(10_000)]
    document = sample("undeclared")
    short = len(render(name, document))
    document["experiment"] = document["experiment"] | {"sentences": sentences}
    written = render(name, document)
    assert "10,000 in all, the first:" in " ".join(written.replace("│", " ").split())
    assert "Sentence 4" in written
    assert "Sentence 9999" not in written
    assert len(written) < short + 2000
