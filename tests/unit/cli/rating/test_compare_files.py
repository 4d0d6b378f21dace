"""Tests of `assay compare`: its output for two ratings, and the files it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.errors import SpecificationError
from cli.rating.compare import compare_files

WORDS = {
    "attribute": "gender",
    "protected": {"woman": ["she", "her"], "man": ["he", "his"]},
    "attributes": {"woman": ["gentle", "pretty"], "man": ["strong", "loud"]},
    "human": ["[person]", "visitor"],
    "neutral": [],
}


def rating(gap: float) -> dict:
    """Return an association rating in which the distance of stereotypical pairs is smaller by `gap`."""
    rng = np.random.default_rng(3)
    raw = {
        word: {
            connection: {each: middle + rng.normal(0, 0.02) for each in words}
            for connection, middle, words in (
                ("associated", 0.7 - gap, WORDS["attributes"][group]),
                ("different", 0.7, WORDS["attributes"]["man" if group == "woman" else "woman"]),
                ("human", 0.7, WORDS["human"]),
            )
        }
        for group, listed in WORDS["protected"].items()
        for word in listed
    }
    return {
        "id": "rat_1",
        "method": "association",
        "attribute": "gender",
        "letter": "DSBS",
        "declared": gap > 0,
        "target": {"name": "vectors [v2]"},
        "experiment": {"words": WORDS, "residual": "per-connection", "prior": "paper"},
        "components": [{"raw": raw, "missing": {"queen": "missing-word"}}],
    }


@pytest.fixture
def file(tmp_path):
    def file(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return file


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(0.3, 0.0, "followed less"), (0.0, 0.3, "followed more"), (0.1, 0.1, "the interval includes zero")],
)
def test_assay_compare_states_whether_stereotypes_are_followed_more_or_less(file, capsys, before, after, said):
    compare_files(file("a.json", rating(before)), file("b.json", rating(after)), as_json=False)
    printed = capsys.readouterr().out
    assert said in " ".join(printed.split())
    assert ("inconclusive" in printed) == (0.0 in (before, after))
    for word in ("associated", "human", "she", "vectors [v2]", "queen", "89% HPDI"):
        assert word in printed


def test_assay_compare_names_a_hidden_effect_without_an_estimate(file, capsys):
    ratings = rating(0.3), rating(0.0)
    measured = {"estimate": 0.2, "low": 0.1, "high": 0.3}
    for document in ratings:
        document["components"][0]["hidden"] = [
            {"kind": "list", "name": "she (gentle)", "effect": {"why": "too few"}},
            {"kind": "list", "name": "he (loud)", "effect": measured},
        ]
    compare_files(
        *(file(f"{name}.json", document) for name, document in zip("ab", ratings, strict=True)), as_json=False
    )
    printed = capsys.readouterr().out
    assert printed.count("she (gentle): not measured") == printed.count("he (loud): 0.200 (0.100 to 0.300)") == 2


def test_the_json_output_of_compare_is_one_document(file, capsys):
    compare_files(file("a.json", rating(0.3)), file("b.json", rating(0.0)), as_json=True)
    assert json.loads(capsys.readouterr().out)["effect"]["mean"] == pytest.approx(-0.3, abs=0.1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "nested deeper"),
        ("3", "not a rating"),
        ("{}", "not a rating"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_file_that_is_not_a_rating_is_named_in_the_error(file, tmp_path, content, said):
    known = file("a.json", rating(0.3))
    other = tmp_path / "b.json"
    other.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(SpecificationError, match=rf"b\.json .*{said}"):
        compare_files(known, other, as_json=False)


def test_a_missing_rating_file_is_named_in_the_error(file, tmp_path):
    with pytest.raises(SpecificationError, match=r"none\.json cannot be read: No such file"):
        compare_files(tmp_path / "none.json", file("a.json", rating(0.3)), as_json=False)


def test_assay_compare_refuses_a_rating_whose_word_distances_are_no_numbers_or_out_of_range(file):
    for value in (float("nan"), 7.0, "near", None):
        garbled = rating(0.3)
        garbled["components"][0]["raw"]["she"]["human"]["visitor"] = value
        with pytest.raises(SpecificationError, match=r"finite|between 0 and 2|no number|not a number"):
            compare_files(file("a.json", rating(0.3)), file("b.json", garbled), as_json=False)
