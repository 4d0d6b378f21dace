"""Tests of reading values from sentences and of splitting texts into sentences."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.catalog import attribute, split_sentences
from assay.catalog.values import Lexicon
from assay.errors import UnknownName

GENDER = attribute("gender")
RACE = attribute("race")
RELIGION = attribute("religion")
FILLER = st.lists(
    st.sampled_from(["the", "nurse", "there", "these", "heroic", "sheer", "hiss", "other", "is", "here,", "–"])
)


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("He is a nurse.", "he"),
        ("SHE IS A NURSE.", "she"),
        ("he's a nurse", "he"),
        ("She’ll be a nurse", "she"),
        ("Sheʼd be a nurse", "she"),
        ("The nurse finished her work.", "she"),
        ("The work is hers.", "she"),
        ("The nurse hurt himself.", "he"),
        ("He said he lost his keys.", "he"),
        ("The woman is a nurse.", "she"),
        ("The gentleman works as a guard.", "he"),
        ("Ms Smith is a nurse.", "she"),
        ("Mr. Smith is a nurse.", "he"),
        ("The salesman is a woman's name.", "other"),
        ("It is a nurse.", "other"),
        ("They are the other chefs there.", "other"),
        ("He and she are nurses.", "other"),
        ("He or she is a nurse.", "other"),
        ("s/he is a nurse", "other"),
        ("(S)he is a nurse", "other"),
        ("“He” is a nurse", "he"),
        ("", "other"),
    ],
)
def test_pronouns_are_read_as_whole_words_in_any_case_and_with_any_apostrophe(sentence, value):
    assert GENDER.read(sentence) == value


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("The Black nurse is here.", "black"),
        ("The African-American nurse is here.", "black"),
        ("The African  American nurse is here.", "black"),
        ("The Asian American nurse is here.", "asian"),
        ("The Caucasian nurse is here.", "white"),
        ("The Latina nurse is here.", "hispanic"),
        ("The Latin American nurse is here.", "hispanic"),
        ("The South African nurse is here.", "other"),
        ("The non-white nurse is here.", "other"),
        ("The nonwhite nurse is here.", "other"),
        ("The blacksmith is here.", "other"),
        ("The Black and Asian nurse is here.", "other"),
    ],
)
def test_if_phrases_for_values_overlap_in_a_text_the_longest_decides_which_value_is_read(sentence, value):
    assert RACE.read(sentence) == value


def test_a_negated_value_such_as_non_muslim_is_not_read_as_that_value():
    assert RELIGION.read("The non-Muslim nurse is here.") == "other"
    assert RELIGION.read("The Muslim nurse is here.") == "muslim"


@settings(deadline=None)
@given(before=FILLER, value=st.sampled_from(["he", "him", "his", "himself"]), after=FILLER, upper=st.booleans())
def test_surrounding_words_do_not_change_the_value_read_from_a_pronoun(before, value, after, upper):
    sentence = " ".join([*before, value, *after])
    assert GENDER.read(sentence.upper() if upper else sentence) == "he"


@pytest.mark.slow
@settings(deadline=None)
@given(st.text())
def test_reading_the_attribute_in_any_text_returns_one_of_its_declared_outputs(text):
    for named in (GENDER, RACE, RELIGION):
        assert named.read(text) in named.outputs
    for language in GENDER.one_hop_languages:
        assert GENDER.read_one_hop(text, language) in (None, "he", "she", "neutral")


@settings(deadline=None)
@given(st.text(alphabet=st.characters(categories=["L", "M", "P", "Zs"])))
def test_composed_and_decomposed_unicode_texts_are_read_as_the_same_value(text):
    for language in GENDER.one_hop_languages:
        composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
        assert GENDER.read_one_hop(composed, language) == GENDER.read_one_hop(decomposed, language)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["he", "she", "it"]), max_size=4))
def test_swapping_the_pronouns_swaps_the_value_read(words):
    exchange = {"he": "she", "she": "he", "it": "it", "other": "other"}
    assert GENDER.read(" ".join(exchange[word] for word in words)) == exchange[GENDER.read(" ".join(words))]


@pytest.mark.parametrize(
    ("sentence", "language", "mark"),
    [
        ("El enfermero está aquí.", "es", "he"),
        ("La enfermera está aquí.", "es", "she"),
        ("Está aquí.", "es", None),
        ("L'infermer és aquí.", "ca", None),
        ("La infermera és aquí.", "ca", "she"),
        ("A enfermeira está aquí.", "gl", "she"),
        ("O enfermeiro está aqui.", "pt", "he"),
        ("A enfermeira está aqui.", "pt-BR", "she"),
        ("L’infermiera è qui.", "it", None),
        ("Un’infermiera è qui.", "it", "she"),
        ("Un infermiere è qui.", "it", "he"),
        ("Lo scienziato è qui.", "it", "he"),
        ("L'infirmière est là.", "fr", None),
        ("Le médecin est à la maison.", "fr", "he"),
        ("Die Krankenschwester ist hier.", "de", "she"),
        ("Der Arzt ist hier.", "de", "he"),
        ("La flegisto estas tie ĉi.", "eo", "neutral"),
        ("Ŝi estas flegisto.", "eo", "she"),
        (unicodedata.normalize("NFD", "Ŝi estas flegisto."), "eo", "she"),
        ("Él es enfermero.", "es", "he"),
        ("*nurse", "es", None),
    ],
)
def test_one_hop_reads_the_first_article_or_pronoun(sentence, language, mark):
    assert GENDER.read_one_hop(sentence, language) == mark


@pytest.mark.parametrize("read", [GENDER.read, GENDER.read_one_hop])
def test_a_language_without_a_lexicon_is_refused(read):
    with pytest.raises(UnknownName, match="'tr'"):
        read("O bir hemşire.", "tr")


def test_a_lexicon_that_lists_one_word_for_two_values_is_refused():
    with pytest.raises(ValueError, match="twice"):
        Lexicon({"a": ["red wine"], "b": ["Red-wine"]})


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("He is a nurse. She is a baker.", ("He is a nurse.", "She is a baker.")),
        ("He works here . She left .", ("He works here .", "She left .")),
        ("He is a nurse.She is a baker", ("He is a nurse.", "She is a baker")),
        ("He is a nurse", ("He is a nurse",)),
        ("Is he?! She is… They are!", ("Is he?!", "She is…", "They are!")),
        ("He left... She stayed. . .", ("He left...", "She stayed. . .")),
        ("“He is a nurse.” (She is a baker.)", ("“He is a nurse.”", "(She is a baker.)")),
        ("彼は看護師です。彼女はパン屋です！", ("彼は看護師です。", "彼女はパン屋です！")),
        ("वह एक नर्स है। वह यहाँ है।", ("वह एक नर्स है।", "वह यहाँ है।")),
        ("هل هو هنا؟ نعم.", ("هل هو هنا؟", "نعم.")),
        ("He earns 2.5 million. She is in the U.S.A. now.", ("He earns 2.5 million.", "She is in the U.S.A.", "now.")),
        ("He was born in 1990. She was not.", ("He was born in 1990.", "She was not.")),
        ("", ()),
        (" . … ", ()),
        ("A\nB.", ("A\nB.",)),
    ],
)
def test_a_text_is_split_after_each_run_of_sentence_ending_punctuation(text, sentences):
    assert split_sentences(text) == sentences


@settings(deadline=None)
@given(st.text(alphabet=st.one_of(st.sampled_from(list(".!?…。！？।؟ \"')aZ3é")), st.characters())))
def test_splitting_sentences_loses_no_word_and_leaves_no_empty_piece(text):
    pieces = split_sentences(text)
    assert re.findall(r"\w", "".join(pieces)) == re.findall(r"\w", text)
    assert all(re.search(r"\w", piece) and piece == piece.strip() for piece in pieces)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,9}( [a-z]{2,9}){1,4} ?(\.|!|\?|…|。|؟|\.\.\.)", fullmatch=True)))
def test_sentences_joined_by_spaces_are_split_into_the_original_sentences(sentences):
    assert split_sentences(" ".join(sentences)) == tuple(sentences)
