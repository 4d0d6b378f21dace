"""Tests of the references in methods, and of the stored words, rows and corpora that are inserted for them."""

from __future__ import annotations

import pytest

from assay.catalog.choices import ChoiceWords
from assay.catalog.stereotypes import StereotypeWords
from assay.errors import SpecificationError, UnknownName
from assay.experiment import Method
from assay.methods import (
    Alternation,
    Association,
    ForcedChoice,
    OneHop,
    RoundTrip,
    StereotypeScore,
    StimulusSampling,
    VisualStereotype,
    fit_to,
)
from assay.methods.shared.profiles import RecordProfiles
from assay.methods.shared.terms.sentence_generation import Writing, reusable
from assay.methods.shared.terms.sentences import Sentence
from assay.methods.visual_stereotype.image_generation import Drawing, draw_prompt
from assay.references import NOTHING, CorpusItem, LoadedCorpus, LoadedMaterial, LoadedWords, NamedRows, NamedWords

CHOICES = ChoiceWords("gender", "he", "she", (("he", "she"),), {"nurse": None}, ("table",), name="mine")
WORDS = StereotypeWords(
    "gender",
    "men",
    "women",
    (("man", "woman"), ("he", "she")),
    first_terms=("math", "chess"),
    second_terms=("art", "lace"),
    neutral=("tea", "rain"),
    name="tiny",
)
SENTENCES = ("The man likes math.", "The woman likes math.", "He talks about chess.", "It rains.")


def items(*texts: str) -> tuple[CorpusItem, ...]:
    return tuple(CorpusItem(text, id=f"itm_{place}") for place, text in enumerate(texts))


@pytest.mark.parametrize(
    "method",
    [
        RoundTrip("gender"),
        OneHop("gender"),
        Alternation("gender"),
        StimulusSampling("gender"),
        ForcedChoice(),
        Association(),
        StereotypeScore(),
        VisualStereotype(),
    ],
    ids=lambda one: one.method,
)
def test_a_method_with_shipped_words_needs_no_stored_material(method: Method):
    assert method.references() == NOTHING
    assert method.with_references(LoadedMaterial()) == method
    assert not method.needs_author


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (ForcedChoice(specification="mine"), "choices"),
        (Association(specification="mine"), "association"),
        (StereotypeScore(specification="mine"), "stereotype"),
        (VisualStereotype(specification="mine"), "visual"),
    ],
    ids=lambda one: getattr(one, "method", ""),
)
def test_a_method_names_the_stored_word_list_it_needs_and_is_refused_for_a_service_until_it_is_loaded(method, kind):
    assert method.references().words == NamedWords(("mine",), kind)
    with pytest.raises(UnknownName, match="'mine'"):
        fit_to(method, next(iter(method.kinds)))


def test_a_stored_word_list_and_uploaded_choices_are_loaded_into_a_method_together():
    row = {"concept": "nurse", "level": 0.5, "chose_second": 1, "trials": 2}
    method = ForcedChoice(specification="mine").with_references(
        LoadedMaterial(words=(LoadedWords("mine@3", CHOICES),), trials=(row,))
    )
    assert (method.specification, method.words, method.attribute) == ("mine@3", CHOICES, "gender")
    assert [one.concept for one in method.trials] == ["nurse"]
    assert method.references() == NOTHING


def test_the_loaded_rows_of_an_upload_replace_its_id_in_the_method():
    records = RecordProfiles("sex", ("f", "m"), upload="upl_1", most=20)
    method = Alternation("sex", records=records)
    assert method.references().rows == NamedRows("upl_1", "sex", ("f", "m"), 20, "records")
    filled = method.with_references(LoadedMaterial(rows=({"sex": "f", "age": 3}, {"sex": "m", "age": 4})))
    assert filled.references() == NOTHING
    assert filled.records is not None
    assert (filled.records.upload, len(filled.records.rows)) == (None, 2)


@pytest.mark.parametrize("named", [False, True])
def test_a_corpus_supplies_its_words_if_the_experiment_names_none(named):
    own = {"words": (WORDS,)} if named else {}
    corpus = LoadedCorpus(
        "crp_1@7", items(*SENTENCES), StereotypeWords(**{**vars(WORDS), "name": "theirs"}), "theirs@2"
    )
    method = StereotypeScore(corpus="crp_1", **own).with_references(LoadedMaterial(corpus))
    assert [one.text for one in method.sentences] == list(SENTENCES)
    assert method.corpus == "crp_1@7"
    assert [one.name for one in method.known_words] == ["tiny" if named else "theirs"]
    assert method.specification == (None if named else "theirs@2")


def test_sentences_that_a_model_wrote_earlier_are_reused_for_terms_without_sentences():
    method = StereotypeScore(words=(WORDS,), sentences=(Sentence("A woman likes chess."),), writing=Writing(per_term=1))
    (wanted,) = method.references().authored
    assert (wanted.kind, wanted.words, wanted.reuse) == ("sentences", WORDS, True)
    filled = method.with_references(LoadedMaterial(authored=(items(*SENTENCES),)))
    assert [one.text for one in filled.sentences] == ["A woman likes chess.", "The man likes math."]
    assert not StereotypeScore(words=(WORDS,), writing=Writing(reuse=False)).references().authored[0].reuse
    assert not StereotypeScore(words=(WORDS,), writing=Writing(), corpus="crp_1").references().authored[0].reuse


def test_sentences_that_differ_in_case_or_quotation_marks_count_once():
    own = [Sentence("The man likes math.")]
    others = [Sentence("THE MAN  likes math."), Sentence("He likes math."), Sentence("She likes math.")]
    assert [one.text for one in reusable(WORDS, own, others, 2)] == ["He likes math."]


def test_stored_pictures_are_reused_only_for_the_prompt_they_were_drawn_from():
    method = VisualStereotype(drawing=Drawing(per_term=1))
    term = method.references().authored[0].terms[0]
    drawn = tuple(
        CorpusItem(image=f"sha256:{place:064d}", term=term, id=f"itm_{place}", prompt=draw_prompt(term, family))
        for place, family in enumerate(("face", "portrait", "portrait"))
    )
    (picture,) = method.with_references(LoadedMaterial(authored=(drawn,))).pictures
    assert (picture.id, picture.source) == ("itm_1", "drawn")


def test_a_corpus_without_usable_pictures_is_named_in_the_error():
    corpus = LoadedCorpus("crp_1@1", (CorpusItem(image="sha256:" + "0" * 64, term="giraffe"),))
    with pytest.raises(SpecificationError, match="no picture belongs to a term") as refused:
        VisualStereotype(corpus="crp_1").with_references(LoadedMaterial(corpus))
    assert refused.value.field == "corpus"


def test_only_a_round_trip_needs_both_directions_of_a_language_pair():
    there, back = [("en", "es"), ("en", "de")], [("es", "en"), ("de", "en")]
    assert RoundTrip("gender", languages=("es", "de")).language_pairs() == there + back
    assert OneHop("gender", languages=("es", "de")).language_pairs() == there
    assert Alternation("gender").language_pairs() == ()
