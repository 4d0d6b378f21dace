"""Tests of requests that `assay rate` refuses before the first call."""

from pathlib import Path

import pytest

from assay.errors import OutOfBounds, SpecificationError, UnknownName
from cli.rating.rate import OutputOptions, rate_here
from cli.request.rating_options import RatingOptions
from cli.request.request import read_request
from store.core.settings import Settings
from store.ratings.experiment_json import parse_method

TARGET = '[target]\nprotocol = "libretranslate"\nbase_url = "http://127.0.0.1:1"\n'


def asked(**more) -> RatingOptions:
    return RatingOptions(**more)


def rate(one: RatingOptions, report: Path | None = None, export: Path | None = None):
    return rate_here(one, Settings(), OutputOptions(report=report, export=export))


@pytest.mark.parametrize(
    ("written", "error", "named"),
    [
        ("sead = 3\n" + TARGET, UnknownName, "sead"),
        (TARGET + 'adress = "x"\n', UnknownName, "adress"),
        ("target = 3\n", SpecificationError, "target"),
        (TARGET + "settings = 3\n", SpecificationError, "settings"),
        ('experiment = "all"\n' + TARGET, SpecificationError, "experiment"),
        ("seed = -1\n" + TARGET, OutOfBounds, "seed"),
        ("seed = 1.5\n" + TARGET, OutOfBounds, "seed"),
        ("seed = true\n" + TARGET, OutOfBounds, "seed"),
        ("max_calls = 0\n" + TARGET, OutOfBounds, "max_calls"),
        ("deadline_s = 100000\n" + TARGET, OutOfBounds, "deadline_s"),
        (TARGET + 'kind = ["translator"]\n', SpecificationError, "target.kind must be a text"),
        (TARGET + "name = 5\n", SpecificationError, "target.name must be a text, not 5"),
        (TARGET + "name = 2024-10-21\n", SpecificationError, "contains a date"),
        (TARGET + '[judge]\nkind = ["a"]\n', SpecificationError, "judge.kind must be a text"),
    ],
)
def test_an_invalid_request_file_is_refused_and_its_entry_is_named(tmp_path, written, error, named):
    file = tmp_path / "service.toml"
    file.write_text(written)
    with pytest.raises(error, match=named):
        rate(asked(file=file))


def test_a_missing_request_file_is_named_in_the_error(tmp_path):
    with pytest.raises(SpecificationError, match=r"service\.toml cannot be read"):
        rate(asked(file=tmp_path / "service.toml"))


def test_a_maximum_of_zero_calls_is_refused_and_not_ignored():
    with pytest.raises(OutOfBounds, match="max_calls"):
        rate(asked(protocol="libretranslate", url="http://127.0.0.1:1", max_calls=0))


def test_an_unwritable_report_path_is_refused_before_the_rating(tmp_path):
    with pytest.raises(SpecificationError, match="does not exist"):
        rate(asked(protocol="libretranslate", url="http://127.0.0.1:1"), report=tmp_path / "none" / "report.html")


@pytest.mark.parametrize("field", ["name", "kind", "protocol", "base_url", "secret"])
def test_the_option_set_refuses_a_value_of_the_target_that_must_be_a_text(field):
    with pytest.raises(SpecificationError, match=f"target.{field} must be a text"):
        rate(asked(protocol="libretranslate", url="http://127.0.0.1:1", fields=[f"target.{field}=2024-10-21"]))


@pytest.mark.parametrize("name", ["report", "export"])
def test_a_folder_in_place_of_a_report_or_an_export_is_refused_before_the_rating(tmp_path, name):
    folder = tmp_path / "report.html"
    folder.mkdir()
    with pytest.raises(SpecificationError, match=f"report.html is a folder; name a file for the {name}"):
        rate(asked(protocol="libretranslate", url="http://127.0.0.1:1"), **{name: folder})


def test_templates_all_is_refused_if_no_template_supports_the_combination_of_several_attributes():
    def experiment(*attributes: str) -> dict:
        return read_request(asked(protocol="libretranslate", templates=["all"], attribute=[*attributes]))["experiment"]

    assert "base" in experiment("gender")["templates"]
    with pytest.raises(SpecificationError, match="templates must name at least one"):
        parse_method(experiment("gender", "religion"))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("records=5", "records must be an object"),
        ("records.values=5", "records.values must be a list"),
        ('records.values="f"', "records.values must be a list"),
        ('records.most="x"', "records.most a whole number"),
        ("records.most=1.5", "records.most a whole number"),
    ],
)
def test_an_invalid_selection_of_uploaded_records_is_refused(tmp_path, field, message):
    file = tmp_path / "people.csv"
    file.write_text("sex,age\nf,1\nm,2\n")
    options = asked(kind="regressor", protocol="custom", attribute=["sex"], upload=file, fields=[field])
    with pytest.raises(SpecificationError, match=message):
        read_request(options)
