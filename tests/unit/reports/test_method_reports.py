"""Tests of the list of method reports: every method has one, and packages add theirs for other methods only."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from assay.methods import METHODS, RoundTrip, method_name
from reports.method_report import MethodReport
from reports.methods import REPORTS, installed_reports, report_of
from reports.reading import read


@pytest.fixture(autouse=True)
def _entry_points_are_read_anew():
    installed_reports.cache_clear()
    yield
    installed_reports.cache_clear()


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package with one entry in the group of method reports."""

    def installed(program: str) -> None:
        (tmp_path / "their_method_report.py").write_text(program)
        folder = tmp_path / "their_method_report-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: their-method-report\nVersion: 1\n")
        (folder / "entry_points.txt").write_text("[assay.method_reports]\ntheirs = their_method_report:REPORT\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "their_method_report", raising=False)  # that of another test

    return installed


def test_every_method_has_exactly_one_report_class_in_the_order_of_the_methods():
    assert tuple(report.method for report in REPORTS) == METHODS


@pytest.mark.parametrize("method", METHODS, ids=method_name)
def test_a_rating_is_reported_by_the_report_class_of_its_method(method):
    assert report_of({"method": method_name(method)}).method is method


@pytest.mark.parametrize("document", [{}, {"method": None}, {"method": "not-installed"}, {"method": ["round-trip"]}])
def test_a_rating_of_no_installed_method_has_the_report_that_all_methods_share(document):
    report = report_of(document)
    assert replace(report, method=RoundTrip) not in REPORTS
    assert not report.letters
    assert list(report.tables(None)) == list(report.figures(None)) == []
    assert read(document).in_words


def test_an_entry_point_that_is_no_method_report_is_refused(install):
    install("REPORT = 7\n")
    with pytest.raises(TypeError, match=r"assay\.method_reports is 7; it must be a MethodReport"):
        report_of({"method": "round-trip"})


def test_a_package_cannot_replace_the_report_of_a_method_of_assay(install):
    install(
        "from assay.methods import RoundTrip\n"
        "from reports.method_report import MethodReport\n"
        "REPORT = MethodReport(RoundTrip, letters={'BS': 'All is well.'})\n"
    )
    report = report_of({"method": "round-trip"})
    assert isinstance(report, MethodReport)
    assert report.letters["BS"] != "All is well."
