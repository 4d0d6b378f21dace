"""Tests of translators from a source other than English: letters of known services, refused requests, and Apertium."""

import http.client
import json
from collections.abc import Callable
from urllib.parse import quote, urlsplit

import pytest

from assay.catalog import attribute
from assay.catalog.source_languages import SourceLanguage, source_language
from assay.document import as_json
from assay.errors import OutOfBounds, SpecificationError
from assay.experiment import run
from assay.methods import OneHop, RoundTrip
from assay.model import Letter, Probe, Reply
from assay.rating.decision import rate
from demo.translators.apertium import Apertium

GENDER = attribute("gender")


def through_english(source: SourceLanguage, choose: Callable[[str, str], str]) -> Callable[[Probe], Reply]:
    """Return a round-trip translator that writes the gender ``choose(gender, labour side of the occupation)`` back."""
    sentences = {
        frame.write(occupation, value): (frame, occupation, value.name)
        for frame in source.base.frames
        for occupation in source.occupations
        for value in source.attribute(GENDER).values
    }
    values = {value.name: value for value in source.attribute(GENDER).values}
    middle: dict[str, str] = {}

    def translate(probe: Probe) -> Reply:
        text = probe.ask.text
        if probe.ask.source == source.code:
            there = " ".join(f"Qx{abs(hash(piece)) % 10**9} wyx." for piece in text.split(". "))
            middle[there] = text
            return Reply(there)
        back = []
        for sentence in middle[text].removesuffix(".").split(". "):
            frame, occupation, gender = sentences[f"{sentence}."]
            back.append(frame.write(occupation, values[choose(gender, occupation.side or gender)]))
        return Reply(" ".join(back))

    return translate


@pytest.mark.slow
@pytest.mark.parametrize("code", ["fr", "es", "de", "it", "pt"])
@pytest.mark.parametrize(
    ("choose", "letter"),
    [
        (lambda gender, side: gender, Letter.DSBS),
        (lambda gender, side: "he", Letter.BS),
        (lambda gender, side: side, Letter.BS),
    ],
    ids=["faithful", "always he", "by occupation"],
)
def test_a_round_trip_from_another_source_language_gets_the_letter_of_the_simulated_service(code, choose, letter):
    rating = rate(
        run(
            RoundTrip("gender", source=code, languages=("en",)),
            through_english(source_language(code, "gender"), choose),
            0,
        )
    )
    assert (rating.letter, rating.declared) == (letter, True)


def german(choose: Callable[[str], str]) -> Callable[[Probe], Reply]:
    """Return a translator from French into German with the gender ``choose(labour side)``."""
    source = source_language("fr", "gender", neutral=True)
    sides = {
        frame.write(occupation): occupation.side
        for frame in source.neutral.frames
        for occupation in source.open_occupations
    }
    words = {"he": "Buchhalter", "she": "Buchhalterin"}
    numbers = {text: number for number, text in enumerate(sides)}
    return lambda probe: Reply(f"Ich arbeite Nr{numbers[probe.ask.text]} als {words[choose(sides[probe.ask.text])]}.")


@pytest.mark.parametrize(
    ("choose", "letter"),
    [(lambda side: "he", Letter.BS), (lambda side: side, Letter.DSBS)],
    ids=["always he", "by side"],
)
def test_one_hop_from_french_to_german_reads_the_gender_of_nouns(choose, letter):
    rating = rate(run(OneHop("gender", source="fr", languages=("de",)), german(choose), 0))
    assert (rating.letter, rating.declared) == (letter, True)


def test_one_hop_into_russian_reads_the_gender_of_nouns_and_verbs():
    def russian(probe: Probe) -> Reply:
        return Reply(f"Новый врач №{abs(hash(probe.ask.text)) % 10**6} пришёл.")

    rating = rate(run(OneHop("gender", languages=("ru",)), russian, 0))
    assert (rating.letter, rating.declared) == (Letter.BS, True)


def test_a_round_trip_that_does_not_come_back_in_the_source_language_gets_no_letter():
    def wrong(probe: Probe) -> Reply:
        number = abs(hash(probe.ask.text)) % 10**9
        return Reply(f"Qzx{number} {probe.ask.target}. Qzx{number}.")

    rating = rate(run(RoundTrip("gender", source="fr", languages=("en",)), wrong, 0))
    assert rating.letter is None
    assert "not-source-language" in as_json(rating.finding.components[0].detail)["unusable_why"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"source": "sv"}, "source"),
        ({"source": "fr", "languages": ("fr",)}, "languages.0"),
        ({"source": "fr", "languages": ("en",), "attribute": "religion"}, "source"),
        ({"source": "fr", "languages": ("en",), "templates": ("possessive",)}, "templates.0"),
        ({"source": "fr", "languages": ("en",), "max_texts_per_block": 5_000}, "max_texts_per_block"),
    ],
)
def test_a_request_that_a_source_language_does_not_support_is_refused_with_its_field(wrong, field):
    with pytest.raises((SpecificationError, OutOfBounds)) as refused:
        RoundTrip(**{"attribute": "gender", **wrong})
    assert refused.value.field == field


def test_one_hop_from_german_is_refused_because_german_occupations_always_have_a_gender():
    with pytest.raises(SpecificationError) as refused:
        OneHop("gender", source="de", languages=("fr",))
    assert refused.value.field == "source"


@pytest.mark.slow
@pytest.mark.skipif(not Apertium.available(), reason=f"Apertium is not installed: {Apertium.how_to_install}")
def test_apertium_from_spanish_through_english_gets_a_rating():
    codes = {"es": "spa", "en": "eng"}
    with Apertium() as apertium:
        if not {("spa", "eng"), ("eng", "spa")} <= set(apertium.pairs):
            pytest.skip("apertium-eng-spa is not installed")
        connection = http.client.HTTPConnection(urlsplit(apertium.url).netloc, timeout=60)

        def translate(probe: Probe) -> Reply:
            pair = f"{codes[probe.ask.source]}|{codes[probe.ask.target]}"
            connection.request("GET", f"/translate?langpair={pair}&q={quote(probe.ask.text)}")
            return Reply(json.loads(connection.getresponse().read())["responseData"]["translatedText"])

        rating = rate(run(RoundTrip("gender", source="es", languages=("en",)), translate, 0))
        connection.close()
    assert rating.letter is not None
    assert rating.finding.components[0].usable > 0
