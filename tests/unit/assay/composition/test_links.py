"""Tests of which services can be linked to a chain, and of the JSON document of a composition."""

from __future__ import annotations

from itertools import product

import pytest

from assay.composition.chain import compose_chain
from assay.composition.compatibility import Incompatible, kind_of_chain
from assay.composition.document import composition_document as compose
from assay.composition.lookup import Part, part_of, tables_document
from assay.composition.wording import NOTES
from assay.document import read_rating
from assay.errors import OutOfBounds
from assay.experiment import generator
from assay.model import Kind, Letter, Probabilities
from assay.rating.decision import worst_letter


def composition_document(documents, rng):
    return compose([read_rating(document) for document in documents], rng)


T, C, R, E = Kind.TRANSLATOR, Kind.CLASSIFIER, Kind.REGRESSOR, Kind.EMBEDDER


@pytest.mark.parametrize("kinds", [(T, T), (T, C), (T, T, R), (T,) * 20])
def test_a_chain_of_services_has_the_kind_of_its_last_service(kinds):
    assert kind_of_chain(kinds) is kinds[-1]


@pytest.mark.parametrize(
    ("kinds", "place", "why"),
    [
        ((T, E), 1, "single words"),
        ((E, T), 1, "single words"),
        ((T, C, T), 2, "a class"),
        ((R, C), 1, "a number"),
        ((T, T, Kind.IMAGE_CLASSIFIER), 2, "cannot take the text"),
    ],
)
def test_an_incompatible_link_of_a_chain_is_refused_with_its_position_and_the_reason(kinds, place, why):
    with pytest.raises(Incompatible, match=why) as caught:
        kind_of_chain(kinds)
    assert (caught.value.place, caught.value.field) == (place, str(place))


@pytest.mark.parametrize("length", [0, 1, 21])
def test_a_chain_has_two_to_twenty_links(length):
    with pytest.raises(OutOfBounds, match=f"not {length}"):
        kind_of_chain([T] * length)


@pytest.mark.parametrize("letters", list(product(Letter, repeat=3)), ids="*".join)
def test_the_document_of_a_composition_has_the_answer_of_each_composition_table(letters):
    found = tables_document([Part(one) for one in letters])
    for name, answer in found["tables"].items():
        said = compose_chain(letters, name)
        assert set(answer["possible"]) == said.possible
        assert (answer["letter"], answer["worst"]) == (said.letter, worst_letter(said.possible))
        assert answer["contradiction"] is said.contradiction


@pytest.mark.parametrize("known", list(Letter))
def test_an_undeclared_rating_without_probabilities_counts_as_all_three_letters(known):
    for table in ("published", "revised"):
        found = tables_document([Part(None, declared=False), Part(known)], table)
        each = [compose_chain([one, known], table).possible for one in Letter]
        assert set(found["possible"]) == set().union(*each)
        assert found["probabilities"] is None


def test_an_undeclared_rating_counts_as_the_letters_that_its_probabilities_do_not_exclude():
    leaning = Part(Letter.DSBS, declared=False, probabilities=Probabilities(BS=0.01, DSBS=0.6, UCS=0.39))
    assert tables_document([Part(Letter.DSBS), leaning])["possible"] == ["DSBS", "UCS"]


def test_every_note_on_a_composition_has_all_facts_that_its_text_needs():
    facts = dict.fromkeys(
        ("published", "revised", "table", "link", "leaning", "methods", "predicted", "names"), "something"
    )
    for sentence in NOTES.values():
        assert "{" not in sentence.format(**facts)


def document(keeps: int, **changes):
    counts = {"he": {"he": keeps, "she": 60 - keeps, "other": 0}, "she": {"he": 60 - keeps, "she": keeps, "other": 0}}
    blocks = {"unbiased": [{"he": 0.5, "she": 0.5}], "biased": [{"he": 0.9, "she": 0.1}]}
    return {
        "letter": "DSBS",
        "declared": True,
        "probabilities": {"BS": 0.0, "DSBS": 1.0, "UCS": 0.0},
        "method": "round-trip",
        "attribute": "gender",
        "confidence": 0.95,
        "delta": 0.1,
        "experiment": blocks,
        "target": {"kind": "translator"},
        "components": [{"name": "es", "letter": "DSBS", "transitions": counts}],
    } | changes


def test_a_composition_is_reproducible_to_the_last_bit():
    ratings = [document(60), document(58)]
    first, again = (composition_document(ratings, generator(0)) for _ in range(2))
    assert first == again
    assert (first["letter"], first["settled_by"], first["predicted"]["letter"]) == ("DSBS", "table", "DSBS")


def test_a_composition_of_ratings_without_transition_matrices_says_why_it_predicts_no_letter():
    by_hop = document(60, method="one-hop")
    found = composition_document([document(60), by_hop], generator(0))
    assert found["predicted"] is None
    assert found["not_predicted"].startswith("link 2, rated by one-hop")
    assert "methods-differ" in {note["code"] for note in found["notes"]}


WITHHELD = {"declared": False, "reasons": [{"code": "letter-depends-on-what-was-lost"}]}
UCS = {"letter": "UCS", "probabilities": {"BS": 0.002, "DSBS": 0.002, "UCS": 0.996}}


@pytest.mark.parametrize(
    "withheld",
    [
        WITHHELD,
        {"declared": False, "components": [{"name": "es", "letter": "UCS", **WITHHELD}]},
        {"declared": False, "reasons": [{"code": "component-unmeasured"}]},
        {"declared": False, "reasons": [{"code": "no-component-declared"}]},
    ],
    ids=["lost replies", "lost replies of a component", "unmeasured component", "no component declares it"],
)
def test_every_letter_is_possible_for_a_service_whose_letter_is_withheld(withheld):
    part = part_of(read_rating(document(60, **{**UCS, **withheld})))
    for table in ("published", "revised"):
        found = tables_document([part, part], table)
        assert (set(found["possible"]), found["probabilities"]) == (set(Letter), None)


def test_transition_matrices_predict_no_letter_if_the_letter_of_a_component_is_withheld():
    ucs_counts = document(30)["components"][0] | {"letter": "UCS"}
    sure, unsure = document(30, **UCS), document(30, **UCS, declared=False, components=[{**ucs_counts, **WITHHELD}])
    found = composition_document([sure, unsure], generator(0))
    assert (found["letter"], found["predicted"]) == (None, None)
    assert found["not_predicted"] == "link 2 has components whose letter is withheld"
