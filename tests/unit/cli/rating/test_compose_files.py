"""Tests of `assay compose` with letters and rating files: its output and its errors."""

from __future__ import annotations

import json

import pytest

from assay.composition.compatibility import Incompatible
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from cli.exits import Exit
from cli.rating.compose import compose_named


def rating(letter="DSBS", name="T", keeps=(95, 95), **changes):
    """Return a round-trip rating in which `keeps` of 100 "he" and of 100 "she" came back unchanged."""
    (he, she), sure = keeps, {each: float(each == letter) for each in ("BS", "DSBS", "UCS")}
    counts = {"he": {"he": he, "she": 100 - he, "other": 0}, "she": {"he": 100 - she, "she": she, "other": 0}}
    component = {
        "name": "es",
        "letter": letter,
        "declared": True,
        "transitions": counts,
    }
    blocks = {"unbiased": [{"he": 0.5, "she": 0.5}], "biased": [{"he": 0.9, "she": 0.1}, {"he": 0.1, "she": 0.9}]}
    return {
        "letter": letter,
        "declared": True,
        "probabilities": sure,
        "method": "round-trip",
        "attribute": "gender",
        "confidence": 0.95,
        "delta": 0.1,
        "experiment": blocks,
        "target": {"name": name, "kind": "translator"},
        "components": [component],
    } | changes


@pytest.fixture
def file(tmp_path):
    def file(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return file


def composed(capsys, *named, table="published", as_json=True):
    code = compose_named(named, table=table, as_json=as_json)
    printed = capsys.readouterr().out
    return code, json.loads(printed) if as_json else " ".join(printed.split())


@pytest.mark.parametrize(
    ("letters", "code"),
    [("BS UCS", Exit.UCS), ("dsbs bs", Exit.BS), ("UCS DSBS", Exit.DSBS), ("BS BS", Exit.INCONCLUSIVE)],
)
def test_the_exit_code_of_compose_is_that_of_the_composed_letter(capsys, letters, code):
    exit_code, found = composed(capsys, *letters.split())
    assert exit_code == code
    assert Exit.of_rating(found["letter"], declared=found["letter"] is not None) == code


def test_assay_compose_prints_the_letters_by_both_composition_tables_and_the_table_cells_they_come_from(capsys):
    _, printed = composed(capsys, "UCS", "DSBS", as_json=False)
    for words in (
        "UCS * DSBS inferred: DSBS",
        "published (Srivastava & Rossi 2018, Table 2) DSBS",
        "revised UCS",
        "Row UCS, column DSBS",
    ):
        assert words in printed
    code, found = composed(capsys, "UCS", "DSBS", table="revised")
    assert (code, found["letter"], found["provenance"]) == (Exit.UCS, "UCS", "inferred")


def test_transition_matrices_determine_the_letter_of_a_chain_if_the_composition_table_allows_several(file, capsys):
    files = [file(f"{place}.json", rating("BS", f"[S{place}]", keeps=(100, 20))) for place in (1, 2)]
    code, found = composed(capsys, *files)
    assert (code, found["letter"], found["settled_by"]) == (Exit.BS, "BS", "matrices")
    assert found["tables"]["published"]["letter"] is None
    _, printed = composed(capsys, *files, as_json=False)
    assert "[S1] (BS) * [S2] (BS) inferred: BS" in printed
    assert "matrices BS" in printed


def test_a_chain_of_two_services_that_swap_pronouns_is_predicted_to_keep_pronouns(file, capsys):
    swaps = [file(f"{place}.json", rating("DSBS", keeps=(1, 1))) for place in (1, 2)]
    _, found = composed(capsys, *swaps)
    kept = found["predicted"]["components"][0]["transitions"]["she"]["she"]
    assert kept > 0.95


def test_assay_compose_accepts_a_mixture_of_letters_and_rating_files(file, capsys):
    code, found = composed(capsys, "BS", file("a.json", rating("UCS")))
    assert (code, found["predicted"]) == (Exit.UCS, None)


def test_assay_compose_prints_the_notes_about_an_inconclusive_link_and_about_tables_that_differ(file, capsys):
    files = [file("a.json", rating("BS", declared=False)), file("b.json", rating("DSBS"))]
    _, found = composed(capsys, *files)
    _, printed = composed(capsys, *files, as_json=False)
    assert "link-inconclusive" in {note["code"] for note in found["notes"]}
    assert all(" ".join(note["text"].split()) in printed for note in found["notes"])


def test_an_invalid_chain_is_refused(file):
    with pytest.raises(OutOfBounds, match="2 to 20"):
        compose_named(["BS"], table="published", as_json=True)
    with pytest.raises(UnknownName, match="published, revised"):
        compose_named(["BS", "BS"], table="other", as_json=True)
    race = file("race.json", rating(attribute="race"))
    with pytest.raises(Incompatible, match="link 2 was rated for race"):
        compose_named([file("gender.json", rating()), race], table="published", as_json=True)
    vectors = file("vectors.json", rating(target={"name": "E", "kind": "embedder"}))
    with pytest.raises(Incompatible, match="single words"):
        compose_named([file("gender.json", rating()), vectors], table="published", as_json=True)


@pytest.mark.parametrize(
    "damage",
    [
        {"letter": "A"},
        {"target": {"kind": "oracle"}},
        {"target": None},
        {"probabilities": {"BS": 1.0}},
        {"probabilities": {"BS": 2.0, "DSBS": 0.0, "UCS": 0.0}},
        {"components": [{"name": "es", "letter": "BS", "transitions": {"he": {}}}]},
        {"components": 3},
    ],
)
def test_damaged_rating_file_raises_a_specification_error(file, damage):
    files = [file("a.json", rating()), file("b.json", rating(**damage))]
    with pytest.raises(SpecificationError):
        compose_named(files, table="published", as_json=True)


def test_a_missing_rating_file_is_named_in_the_error(tmp_path):
    with pytest.raises(SpecificationError, match=r"none\.json cannot be read"):
        compose_named(["BS", str(tmp_path / "none.json")], table="published", as_json=True)
