"""Tests of `assay side-by-side`: table 1 of Srivastava & Rossi (2018) from rating documents."""

from __future__ import annotations

import json

import pytest

from assay.document import read_rating
from assay.errors import SpecificationError
from assay.experiment import run
from assay.methods import RoundTrip
from assay.model import Reply
from assay.rating.side_by_side import side_by_side_document as table_of
from cli.rating.compare import show_side_by_side
from store.ratings.experiment_json import dump_method
from tests.support.reports import document_of
from tools.papers import printed

SURE = {"BS": {"BS": 1.0, "DSBS": 0.0, "UCS": 0.0}, "DSBS": {"BS": 0.0, "DSBS": 1.0, "UCS": 0.0}}
SURE["UCS"] = {"BS": 0.0, "DSBS": 0.0, "UCS": 1.0}


HUGE = {"name": "es", "letter": "BS", "declared": True, "probabilities": {"BS": 10**400, "DSBS": 0.0, "UCS": 0.0}}
"""Part of a rating with a probability that no float can hold."""


def side_by_side_document(documents, *options, **named):
    return table_of([read_rating(document) for document in documents], *options, **named)


def rating(name, letters, **changes):
    """Return a rating with these letters by component; ``None`` means that the component was not measured."""
    parts = [
        {"name": part, "letter": letter, "declared": letter is not None, "probabilities": SURE.get(letter)}
        for part, letter in letters.items()
    ]
    about = {"id": f"rat_{name}", "method": "round-trip", "attribute": "gender", "confidence": 0.95}
    return {**about, "target": {"name": name}, "components": parts, **changes}


def letters(cells):
    return [None if cell is None else cell["letter"] for cell in cells]


@pytest.fixture
def google_and_yandex():
    """The two services of table 1, with the letters that the paper prints."""
    return [
        rating(name, {language: pair[place] for language, pair in printed.TABLE_1.items()})
        for place, name in enumerate(("Google", "Yandex"))
    ]


def test_side_by_side_reproduces_table_1_of_srivastava_and_rossi_and_its_two_rows_of_overall_letters(google_and_yandex):
    found = side_by_side_document(google_and_yandex, printed.WITHOUT)
    assert {row["part"]: tuple(letters(row["cells"])) for row in found["rows"]} == printed.TABLE_1
    assert [row["part"] for row in found["rows"]] == list(printed.TABLE_1)
    assert tuple(letters(found["overall"])) == printed.OVERALL
    assert tuple(letters(found["without"]["overall"])) == printed.OVERALL_WITHOUT
    assert all(cell["declared"] for cell in found["overall"])


def test_the_overall_letter_by_vote_is_the_most_frequent_letter(google_and_yandex):
    found = side_by_side_document(google_and_yandex, aggregation="vote")
    assert letters(found["overall"]) == ["DSBS", "DSBS"]
    assert found["without"] is None


def test_side_by_side_leaves_the_cell_empty_if_a_service_was_not_rated_in_a_component():
    column = [rating("A", {"es": "BS"}), rating("B", {"fr": "UCS"}), rating("C", {"es": "DSBS", "fr": None})]
    found = side_by_side_document(column)
    assert {row["part"]: letters(row["cells"]) for row in found["rows"]} == {
        "es": ["BS", None, "DSBS"],
        "fr": [None, "UCS", None],
    }
    assert [(cell["letter"], cell["declared"]) for cell in found["overall"]] == [
        ("BS", True),
        ("UCS", True),
        ("DSBS", False),
    ]


def test_the_overall_letter_of_eight_slightly_uncertain_components_is_not_declared():
    part = {"letter": "UCS", "declared": True, "probabilities": {"BS": 0.02, "DSBS": 0.02, "UCS": 0.96}}
    parts = [{**part, "name": name} for name in printed.TABLE_1]
    found = side_by_side_document([rating("A", {}, components=parts), rating("B", {"es": "UCS"})])
    assert found["overall"] == [{"letter": "UCS", "declared": False}, {"letter": "UCS", "declared": True}]


def test_bias_without_a_named_effect_counts_as_bs_in_the_overall_letter():
    unlocated = {"name": "es", "letter": "BS", "declared": False}
    unlocated["probabilities"] = {"BS": 0.1, "DSBS": 0.0, "UCS": 0.4, "unlocated": 0.5}
    services = [rating(name, {}, components=[unlocated, unlocated | {"name": "fr"}]) for name in ("first", "second")]
    assert side_by_side_document(services)["overall"] == [{"letter": "BS", "declared": False}] * 2


@pytest.mark.parametrize("aggregation", ["worst", "vote"])
@pytest.mark.parametrize("code", ["letter-depends-on-what-was-lost", "letter-depends-on-scale", "may-be-chance"])
def test_the_overall_letter_is_not_declared_if_the_letter_of_a_part_is_withheld(code, aggregation):
    sure = {"name": "es", "letter": "UCS", "declared": True, "probabilities": SURE["UCS"]}
    withheld = {**sure, "name": "fr", "declared": False, "reasons": [{"code": code}]}
    services = [rating("A", {}, components=[sure, withheld]), rating("B", {"es": "UCS"})]
    found = side_by_side_document(services, ["fr"], aggregation=aggregation)
    assert found["overall"] == [{"letter": "UCS", "declared": False}, {"letter": "UCS", "declared": True}]
    assert found["without"]["overall"] == [{"letter": "UCS", "declared": True}] * 2


def test_the_overall_letter_bs_is_declared_only_if_the_parts_whose_letter_is_not_withheld_suffice_for_it():
    withheld = {"name": "fr", "letter": "BS", "declared": False, "probabilities": SURE["BS"]}
    withheld["reasons"] = [{"code": "may-be-chance"}]
    others = [
        {"name": "es", "letter": letter, "declared": True, "probabilities": SURE[letter]} for letter in ("UCS", "BS")
    ]
    found = side_by_side_document([rating("A", {}, components=[withheld, other]) for other in others])
    assert found["overall"] == [{"letter": "BS", "declared": False}, {"letter": "BS", "declared": True}]


def test_the_overall_letter_of_a_rated_translator_equals_the_letter_of_its_rating():
    documents = []
    for name, share in (("faithful", 0), ("always he", 1)):
        method = RoundTrip("gender", languages=("es", "fr"))

        def answer(probe, share=share):
            text = probe.ask.text[::-1]
            return Reply(text.replace("She ", "He ") if share and probe.ask.target == "en" else text)

        finding = run(method, answer, 0)
        documents.append(document_of(finding, experiment=dump_method(method), target={"name": name}))
    found = side_by_side_document(documents)
    assert letters(found["overall"]) == [one["letter"] for one in documents] == ["DSBS", "BS"]
    assert [cell["declared"] for cell in found["overall"]] == [one["declared"] for one in documents]


@pytest.mark.parametrize(
    ("ratings", "without", "message"),
    [
        ([rating("A", {"es": "BS"})], (), "at least two ratings"),
        ([rating("A", {"es": "BS"}), rating("B", {"es": "BS"}, method="one-hop")], (), "different methods"),
        ([rating("A", {"es": "BS"}), rating("B", {"es": "BS"}, attribute="race")], (), "different attributes"),
        ([rating("A", {"es": "BS"}), rating("B", {})], (), "B is not a complete rating"),
        ([rating("A", {"es": "BS"}), rating("B", {"es": "BS"})], ("tr",), "no rating has a part tr"),
        (
            [rating("A", {"es": "BS"}), rating("B", {}, components=[HUGE])],
            (),
            "B is not a complete rating: a part lacks",
        ),
    ],
)
def test_ratings_that_cannot_be_shown_side_by_side_are_refused(ratings, without, message):
    with pytest.raises(SpecificationError, match=message):
        side_by_side_document(ratings, without)


@pytest.fixture
def files(google_and_yandex, tmp_path):
    paths = [tmp_path / f"{place}.json" for place in range(2)]
    for path, one in zip(paths, google_and_yandex, strict=True):
        path.write_text(json.dumps(one))
    return paths


def test_the_side_by_side_command_prints_overall_letters_with_and_without_the_excluded_languages(files, capsys):
    show_side_by_side(files, ["tr", "hi"], vote=False, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["Part", "Google", "Yandex"]
    assert ["hi", "UCS", "BS"] in lines
    assert ["Overall", "(worst)", "BS", "BS"] in lines
    assert ["Overall", "without", "hi,", "tr", "BS", "DSBS"] in lines


def test_the_side_by_side_command_with_json_prints_the_comparison_document(files, capsys):
    show_side_by_side(files, [], vote=True, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found == side_by_side_document([json.loads(one.read_text()) for one in files], aggregation="vote")
