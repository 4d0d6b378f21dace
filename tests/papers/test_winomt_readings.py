"""WinoMT (Stanovsky, Smith & Zettlemoyer 2019): our readings of recorded translations against human labels."""

import csv
import gzip

import pytest

from assay.catalog import attribute
from tools.papers.shared_data import Shared

WINOMT = Shared().folder / "data" / "winomt"
GENDERS = {"M": "he", "F": "she"}

pytestmark = pytest.mark.skipif(not WINOMT.exists(), reason="the data of WinoMT is not on this machine")


def rows(name: str) -> list[dict[str, str]]:
    with gzip.open(WINOMT / name, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("language", "name"),
    [("de", "human.aws.de"), ("fr", "human.fr"), ("es", "human.google.es"), ("ru", "human.google.ru")],
)
def test_the_gender_read_in_a_translation_equals_the_human_label_in_98_percent_of_winomt(language, name):
    """Rows whose label is "N" or missing are left out: there the annotators found no gender."""
    with gzip.open(WINOMT / "en.txt.gz", "rt", encoding="utf-8") as file:
        people = [line.rstrip("\n").split("\t")[3].lower() for line in file]
    labelled = [row for row in rows(f"{name}.csv.gz") if row["Gender? [M/F/N]"] in GENDERS]
    readings = [
        (
            GENDERS[row["Gender? [M/F/N]"]],
            attribute("gender").read_one_hop(row["Sentence"], language, people[int(row["Index"])]),
        )
        for row in labelled
    ]
    read = [(label, value) for label, value in readings if value is not None]
    assert len(read) >= 0.6 * len(readings)
    assert sum(label == value for label, value in read) >= 0.98 * len(read)
