"""Malformed spreadsheets end in one line that names what is wrong and where: in the reader and in `assay audit`."""

import io
import os

import pytest

from assay.errors import SpecificationError
from assay.references import NamedDecisions
from cli.rating.audit import read_and_count
from store.formats import CSV, PARQUET
from store.formats.decision_rows import read_decisions
from tests.support.commands import run_command
from tests.support.malformed_spreadsheets import CASES, CSV_FILES, GOOD, HEADER, people

NAMED = NamedDecisions(("sex", "hired"), "score", "", "weight", (), ())
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("ASSAY_", "GITHUB_"))}


def reading(content, media_type):
    return read_decisions(io.BytesIO(content), media_type, ["sex", "hired"], score="score", weight="weight")


def test_the_valid_files_from_which_malformed_ones_are_made_can_be_read():
    assert reading((HEADER + GOOD).encode(), CSV)["rows"] == 2
    assert reading(people(), PARQUET)["rows"] == 2


@pytest.mark.parametrize(("media_type", "build", "line"), CASES)
def test_a_malformed_spreadsheet_is_refused_with_one_line_that_says_what_is_wrong(media_type, build, line, tmp_path):
    content = build()
    with pytest.raises(SpecificationError) as refused:
        reading(content, media_type)
    assert line in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    file = tmp_path / ("people.parquet" if media_type == PARQUET else "people.csv")
    file.write_bytes(content)
    with pytest.raises(SpecificationError) as of_command:
        read_and_count(file, NAMED)
    assert str(of_command.value) == f"{file.name}: {refused.value}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nothing", "two equal names", "a word in a column of scores", "UTF-16 that is cut"])
def test_assay_audit_prints_one_line_without_a_traceback_for_a_malformed_spreadsheet(name, tmp_path):
    build, line = CSV_FILES[name]
    file = tmp_path / "people.csv"
    file.write_bytes(build())
    columns = ("--by", "sex", "--decision", "hired", "--favourable", "yes", "--score", "score", "--weight", "weight")
    run = run_command("audit", str(file), *columns, environment=CLEAN)
    assert run.returncode not in {0, 1}
    assert line in " ".join(run.stderr.split())
    assert "Traceback" not in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
