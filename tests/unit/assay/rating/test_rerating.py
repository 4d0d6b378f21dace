"""Tests of re-rating: the same rules reproduce the rating, other rules change it, altered evidence is refused."""

from dataclasses import replace

import pytest

from assay.document import as_json
from assay.errors import RecordIncomplete
from assay.experiment import Session, generator
from assay.methods import RoundTrip, rating_of
from assay.model import Letter, Reply
from assay.rating.decision import rate
from assay.rating.methodology import shipped
from assay.rating.rerating import EvidenceAltered, MethodologyRemoved, MethodUnknownThen
from assay.rating.rerating import rerate as rerate_rating
from tests.support.reports import document_of

SEED = 7


def rerate(document, method, record, methodology):
    return as_json(rerate_rating(rating_of(document), method, record, methodology))


def translate(probe) -> Reply:
    """Simulate a translator that puts "x" before each word on the way out and writes "he" for all on the way back."""
    words = probe.ask.text.split(" ")
    if probe.ask.source == "en":
        return Reply(" ".join(f"x{word}" for word in words))
    said = {"she": "he", "She": "He", "her": "his", "Her": "His", "herself": "himself"}
    return Reply(" ".join(said.get(word.removeprefix("x"), word.removeprefix("x")) for word in words))


def rated(method):
    """Run an experiment; return its rating document and its record (all observations)."""
    session, record = Session(method.design(generator(SEED))), []
    while session.finding is None:
        record += session.unrecorded
        for probe in session.missing:
            record += session.accept(probe, translate(probe))
        session.advance()
    document = document_of(
        session.finding,
        experiment={"method": method.method},
        target={"name": "He"},
        seed=SEED,
        calls=session.asked,
        failed_calls=session.failed,
        evidence_digest=session.evidence.head(),
    )
    return document | {"id": "rat_1"}, record


METHOD = RoundTrip("gender")
DOCUMENT, RECORD = rated(METHOD)
NEXT = replace(
    shipped().current,
    version="2.0.0",
    digest="sha256:2",
    status="next",
    amend=lambda method: replace(method, delta=0.6),
)


def test_the_simulated_translator_of_these_tests_is_rated_bs():
    assert (DOCUMENT["letter"], DOCUMENT["declared"]) == ("BS", True)


def test_rerating_under_the_methodology_version_of_the_rating_gives_the_same_document():
    again = rerate(DOCUMENT, METHOD, RECORD, shipped().current)
    source = again.pop("rerated_from")
    assert again == {name: value for name, value in DOCUMENT.items() if name != "id"}
    assert source == {"rating": "rat_1", "methodology": DOCUMENT["methodology"]}


def test_rerating_a_rating_of_a_removed_version_is_refused_with_a_note_that_its_certificate_stays_valid():
    removed = DOCUMENT | {"methodology": {"version": "1.2.0", "digest": "sha256:12"}}
    with pytest.raises(
        MethodologyRemoved, match=r"made under methodology 1\.2\.0.* only the rules of 1\.3\.0"
    ) as refused:
        rerate(removed, METHOD, RECORD, shipped().current)
    assert "certificate stay valid" in str(refused.value)
    assert refused.value.version == "1.2.0"


def test_rerating_a_reversed_record_gives_the_same_letter():
    assert rerate(DOCUMENT, METHOD, RECORD[::-1], shipped().current)["letter"] == "BS"


def test_rerating_under_another_methodology_version_gives_another_letter_and_leaves_the_rating_unchanged():
    before = dict(DOCUMENT)
    again = rerate(DOCUMENT, METHOD, RECORD, NEXT)
    assert (again["letter"], again["delta"]) == ("UCS", 0.6)
    assert again["methodology"] == {"version": "2.0.0", "digest": "sha256:2"}
    assert before == DOCUMENT


def test_a_methodology_version_can_replace_the_rule_that_decides_the_letter():
    stricter = replace(
        NEXT, amend=lambda method: method, judge=lambda finding: replace(rate(finding), letter=Letter.UCS)
    )
    again = rerate(DOCUMENT, METHOD, RECORD, stricter)
    assert (again["letter"], again["methodology"]["version"]) == ("UCS", "2.0.0")


def test_rerating_under_a_methodology_version_that_lacks_the_method_is_refused():
    limited = replace(NEXT, methods=("association",))
    with pytest.raises(MethodUnknownThen, match="only association") as refused:
        rerate(DOCUMENT, METHOD, RECORD, limited)
    assert refused.value.field == "version"


def test_an_altered_reply_is_detected_by_the_digest():
    back = next(one for one in RECORD if one.probe.ask.source == "es")
    other = replace(back, reply=Reply(back.reply.value.replace("He ", "She ")))
    altered = [other if one is back else one for one in RECORD]
    with pytest.raises(EvidenceAltered) as refused:
        rerate(DOCUMENT, METHOD, altered, shipped().current)
    assert refused.value.sealed == DOCUMENT["evidence_digest"]
    assert refused.value.found != refused.value.sealed


def test_a_missing_reply_is_refused_as_an_incomplete_record():
    with pytest.raises(RecordIncomplete):
        rerate(DOCUMENT, METHOD, RECORD[1:], shipped().current)


def test_rerating_under_a_methodology_with_more_questions_uses_the_recorded_replies_and_adds_a_reason():
    broader = replace(NEXT, amend=lambda method: replace(method, languages=("es", "de")))
    again = rerate(DOCUMENT, METHOD, RECORD, broader)
    assert "budget-exhausted" in {one["code"] for part in again["components"] for one in part["reasons"]}
    assert (again["calls"], again["letter"]) == (DOCUMENT["calls"], "BS")


def test_rerating_keeps_the_reasons_that_the_worker_added():
    reason = {"code": "scraped-not-reproducible", "text": "…", "facts": {"protocol": "x"}, "component": None}
    again = rerate(DOCUMENT | {"reasons": [*DOCUMENT["reasons"], reason]}, METHOD, RECORD, NEXT)
    assert "scraped-not-reproducible" in [one["code"] for one in again["reasons"]]
