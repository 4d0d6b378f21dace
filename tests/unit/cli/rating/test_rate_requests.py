"""Tests of requests that `assay rate` refuses before the first call."""

from pathlib import Path

import pytest

from assay.errors import OutOfBounds, SpecificationError, UnknownName
from cli.rating.rate import OutputOptions, rate_here
from cli.request.rating_options import RatingOptions
from store.core.settings import Settings

TARGET = '[target]\nprotocol = "libretranslate"\nbase_url = "http://127.0.0.1:1"\n'


def asked(**more) -> RatingOptions:
    return RatingOptions(**more)


def rate(one: RatingOptions, report: Path | None = None):
    return rate_here(one, Settings(), OutputOptions(report=report))


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
