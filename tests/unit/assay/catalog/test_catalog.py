"""Tests of every entry of the catalog: attributes, occupations, constructions and languages."""

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from assay.catalog import (
    attribute,
    attributes,
    check_language,
    construction,
    constructions,
    languages,
    occupations,
)
from assay.catalog.tables import read_table
from assay.catalog.terms import indefinite
from assay.catalog.values import NEUTRAL, UNREADABLE
from assay.errors import UnknownName
from assay.methods import RoundTrip

ALL = [attribute(name) for name in attributes()]
WRITABLE = [
    (named, construction(name)) for named in ALL for name in constructions() if construction(name).supports(named)
]
GENDERED = re.compile(r"(man|woman|men|women|ess|\b(actor|waiter|nun|monk|priest|lord|lady)|trix|boy|girl|maid|wife)$")


def name_of(thing):
    return thing.name


@pytest.mark.parametrize(
    "spoken",
    [
        *(
            "a nurse",
            "an engineer",
            "an usher",
            "an uninvited guest",
            "an unimportant man",
            "an eel",
            "an hour",
            "an heir",
        ),
        *("a user", "a unicorn", "a European", "a one-legged man", "a ewe", "a horoscope", "a hero", "an honest man"),
        *("an MBA", "an X-ray technician", "an x-ray", "a UFO", "an FBI agent", "a CEO", "a NASA engineer", "an A"),
    ],
)
def test_the_article_a_or_an_follows_the_pronunciation_of_the_noun(spoken):
    assert indefinite(spoken.split(" ", 1)[1]) == spoken


def test_importing_the_catalog_reads_no_file():
    program = (
        "import sys, assay.catalog\n"
        "from assay.catalog.tables import read_table\n"
        "assert read_table.cache_info().currsize == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).resolve().parents[4])


def test_every_attribute_of_the_catalog_has_a_toml_file_and_every_file_an_attribute():
    found = {entry.name.removesuffix(".toml") for entry in files("assay.catalog").joinpath("attributes").iterdir()}
    assert found == set(attributes())


@pytest.mark.parametrize("named", ALL, ids=name_of)
class TestEveryAttribute:
    def test_an_attribute_has_a_title_a_source_and_distinct_values(self, named):
        assert named.title
        assert named.source
        assert len(set(named.value_names)) == len(named.values) >= 2
        assert named.outputs == (*named.value_names, "other")

    def test_every_value_of_an_attribute_has_words_for_the_same_placeholders_of_sentences(self, named):
        assert len({frozenset(value.forms) for value in named.values}) == 1
        assert all(word for value in named.values for word in value.forms.values())

    def test_every_lexicon_word_is_read_as_the_value_that_lists_it(self, named):
        for language, words in read_table(f"attributes/{named.name}").get("lexicon", {}).items():
            assert set(named.value_names) <= set(words) <= set(named.outputs)
            for value, its in words.items():
                assert {named.read(f"So, {word}!", language) for word in its} == {value}

    def test_every_word_form_of_a_value_is_read_as_that_value(self, named):
        for value in named.values:
            assert {named.read(word) for word in value.words.values()} <= {value.name}

    def test_every_article_or_pronoun_of_a_one_hop_lexicon_is_read_as_the_value_that_lists_it(self, named):
        for language, words in read_table(f"attributes/{named.name}").get("one_hop", {}).items():
            assert language in languages()
            assert set(words) <= {*named.value_names, NEUTRAL, "skipped", *UNREADABLE}
            for value, its in words.items():
                read = {named.read_one_hop(f"{mark}xyz" if mark[-1] == "'" else mark, language) for mark in its}
                assert read == {None if value in {"skipped", *UNREADABLE} else value}

    def test_the_base_set_of_sentence_templates_supports_exactly_the_attributes_that_round_trip_can_test(self, named):
        assert construction("base").supports(named) == bool(named.lexicons) == ("round-trip" not in named.without)

    def test_no_occupation_is_mistaken_for_a_value_of_an_attribute(self, named):
        read = {named.read(f"{one.name} {one.indefinite}") for one in occupations()} if named.lexicons else {"other"}
        assert read == {"other"}


def test_he_and_she_have_at_least_thirty_first_names_each_and_share_none():
    he, she = attribute("gender").values
    assert len(set(he.people)) == len(he.people) >= 30
    assert len(set(she.people)) == len(she.people) >= 30
    assert not set(he.people) & set(she.people)


def test_one_hop_reads_the_romance_languages_german_and_esperanto():
    assert set(attribute("gender").one_hop_languages) >= {"es", "ca", "gl", "pt", "it", "fr", "de", "eo"}


def test_only_gender_has_languages_for_the_one_hop_method():
    assert [named.name for named in ALL if named.one_hop_languages] == ["gender"]


class TestOccupations:
    def test_there_are_at_least_230_occupations_without_duplicates(self):
        names = [one.name.casefold() for one in occupations()]
        assert len(set(names)) == len(names) >= 230
        assert sum(one.share_women is not None for one in occupations()) >= 100

    def test_occupations_are_one_or_two_gender_neutral_words(self):
        names = [one.name for one in occupations()]
        assert [name for name in names if not re.fullmatch(r"[a-z]+( [a-z]+)?", name)] == []
        assert [name for name in names if GENDERED.search(name)] == []

    def test_occupations_have_a_source_and_the_year_of_their_share_of_women(self):
        for one in occupations():
            assert one.source
            assert (one.share_women is None) == (one.year is None) == (one.side is None)
            if one.share_women is not None:
                assert 0 <= one.share_women <= 1
                assert 1990 <= one.year <= 2030

    def test_occupations_take_an_before_a_vowel_sound(self):
        but_a = {"urologist"}  # spelt with a vowel, but begins with the sound of "you"
        for one in occupations():
            article = "an" if one.name[0] in "aeiou" and one.name not in but_a else "a"
            assert one.indefinite == f"{article} {one.name}"

    def test_at_least_forty_occupations_are_typical_of_women_and_forty_of_men(self):
        sides = [one.side for one in occupations()]
        assert min(sides.count("he"), sides.count("she")) >= 40

    def test_nurse_is_typical_of_women_carpenter_of_men_and_novelist_of_neither(self):
        side = {one.name: one.side for one in occupations()}
        assert (side["nurse"], side["carpenter"], side["novelist"]) == ("she", "he", None)


@pytest.mark.parametrize("built", [construction(name) for name in constructions()], ids=name_of)
class TestEveryConstruction:
    def test_a_set_of_sentence_templates_has_a_title_a_source_and_distinct_templates(self, built):
        assert built.title
        assert built.source
        patterns = [frame.pattern for frame in built.frames]
        assert len(set(patterns)) == len(patterns) >= 6

    def test_a_sentence_template_has_one_occupation_and_at_most_one_attribute_value_and_one_name(self, built):
        for frame in built.frames:
            assert sum(slot in ("occupation", "an_occupation") for slot in frame.slots) == 1
            assert len(frame.value_slots) == (not built.name.startswith("neutral"))
            assert frame.slots.count("name") == (built.name == "named-person")
            assert not re.search(r"[.!?…]|\s\s|^\s|\s$", frame.pattern)
            assert frame.pattern[0] == "{" or frame.pattern[0].isupper()

    def test_every_sentence_template_is_usable_for_some_attribute_unless_it_is_neutral(self, built):
        usable = {frame.name for named in ALL for frame in built.frames_for(named)}
        assert usable == (set() if built.name.startswith("neutral") else {frame.name for frame in built.frames})


@pytest.mark.parametrize(("named", "built"), WRITABLE, ids=lambda each: each.name)
class TestEveryAttributeInEveryConstruction:
    def test_a_set_of_sentence_templates_makes_at_least_2000_distinct_sentences_for_each_attribute(self, named, built):
        frames = built.frames_for(named)
        assert len(frames) >= 6
        assert len(frames) * len(occupations()) >= 1300
        written = {
            frame.write(one, value, "Kim") for frame in frames for one in occupations() for value in named.values
        }
        assert len(written) == len(frames) * len(occupations()) * len(named.values) >= 2000

    def test_a_sentence_written_for_a_value_is_read_as_that_value(self, named, built):
        for frame in built.frames_for(named):
            for value in named.values:
                for person in value.people[:3] or ("",):
                    sentence = frame.write(occupations()[0], value, person)
                    assert named.read(sentence) == value.name
                    assert re.fullmatch(r"[A-Z][^.!?{}]+\.", sentence)


@pytest.mark.parametrize("named", [named for named in ALL if named.lexicons], ids=name_of)
def test_neutral_sentences_mention_no_value_of_an_attribute(named):
    for frame in construction("neutral").frames:
        for one in occupations():
            assert named.read(frame.write(one)) == "other"


def test_the_first_frame_writes_the_sentences_of_the_paper_such_as_she_is_a_florist():
    he, she = attribute("gender").values
    florist, gardener = (next(one for one in occupations() if one.name == name) for name in ("florist", "gardener"))
    first = construction("base").frames[0]
    assert (first.write(florist, she), first.write(gardener, he)) == ("She is a florist.", "He is a gardener.")


class TestLanguages:
    def test_language_codes_are_those_of_iso_639_1(self):
        short = {code: name for code, name in languages().items() if len(code) == 2}
        assert len(short) == len(set(short.values())) == 183
        assert all(re.fullmatch("[a-z]{2,3}", code) and name for code, name in languages().items())

    @pytest.mark.parametrize("code", ["fil", "yue", "hbs", "ast"])
    def test_languages_without_a_two_letter_code_have_a_three_letter_code(self, code):
        assert check_language(f"{code.upper()}-Latn", "languages.0") == code
        assert RoundTrip("gender", languages=(code,)).language_pairs() == [("en", code), (code, "en")]

    def test_no_language_has_two_codes(self):
        assert len(set(languages().values())) == len(languages())

    def test_the_table_of_languages_is_read_only(self):
        with pytest.raises(TypeError):
            languages()["xx"] = "Nonsense"

    @pytest.mark.parametrize(
        ("tag", "code"), [("es", "es"), ("pt-BR", "pt"), ("zh-Hant", "zh"), ("ES", "es"), ("sr-Latn-RS", "sr")]
    )
    def test_language_tags_may_have_a_script_or_a_region(self, tag, code):
        assert check_language(tag, "languages.0") == code

    @pytest.mark.parametrize("tag", ["", "e", "xx", "spa", "es_ES", "es-", "-es", "Spanish", "es BR", "es\n", "еs"])
    def test_unknown_languages_are_refused_with_the_field_and_the_known_languages(self, tag):
        with pytest.raises(UnknownName, match=r"es \(Spanish\)") as refused:
            check_language(tag, "languages.2")
        assert refused.value.field == "languages.2"
        assert refused.value.name == tag


@pytest.mark.parametrize(
    ("look_up", "field"), [(attribute, "attribute"), (construction, "templates")], ids=["attribute", "construction"]
)
def test_an_unknown_attribute_or_sentence_construction_is_refused_with_its_field_and_the_known_names(look_up, field):
    with pytest.raises(UnknownName) as refused:
        look_up("sex")
    assert refused.value.field == field
    assert refused.value.known
    with pytest.raises(UnknownName) as refused:
        look_up("sex", "elsewhere.3")
    assert refused.value.field == "elsewhere.3"
