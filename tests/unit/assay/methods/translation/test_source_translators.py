"""Letters of one hop from French, Spanish, Italian and Portuguese, for translators of known behaviour."""

import pytest

from assay.catalog import attribute
from assay.experiment import run
from assay.methods import OneHop
from assay.model import Letter, Rating
from assay.rating.decision import rate
from tests.support.simulated.source_translators import always, by_side, chance, evenly, plain, translator


def rated(source: str, target: str, *behaviour, seed: int = 0) -> Rating:
    """Rate a translator by one hop with few texts, so that a test takes about a second."""
    method = OneHop("gender", source=source, languages=(target,), max_texts_per_block=160)
    return rate(run(method, translator(source, target, *behaviour), seed))


@pytest.mark.parametrize(("source", "target"), [("fr", "es"), ("fr", "it"), ("fr", "pt"), ("es", "fr"), ("pt", "de")])
def test_a_translator_that_always_writes_men_is_bs_and_one_that_follows_stereotypes_is_dsbs(source, target):
    biased = rated(source, target, always("he"))
    assert (biased.letter, biased.declared) == (Letter.BS, True)
    follows = rated(source, target, by_side)
    assert follows.letter is Letter.DSBS


def camel(he: str, she: str, gender: str) -> str:
    """Write German Binnen-I (LehrerIn), or both nouns if that of women does not begin with that of men."""
    return he + she[len(he) :].capitalize() if she.startswith(he) else f"{she}/{he}"


def joined(sign: str):
    """Return the form that joins both nouns with a sign, without the letters that they share."""

    def write(he: str, she: str, gender: str) -> str:
        return f"{he}{sign}{she[len(he) :]}" if she.startswith(he) else f"{he}/{she}"

    return write


BOTH = [
    ("fr", "de", camel),
    *(("fr", "de", joined(sign)) for sign in (":", "*", "_", "/", "/-")),
    *(("fr", "de", lambda he, she, gender, word=word: f"{he} {word} {she}") for word in ("oder", "bzw.", "und")),
    ("es", "de", lambda he, she, gender: f"{he} (m/w/d)"),
    ("fr", "es", joined("/")),
    ("fr", "es", lambda he, she, gender: f"{he} o {she}"),
    ("fr", "es", lambda he, she, gender: f"{she}/{he}"),
    ("pt", "es", lambda he, she, gender: he.removesuffix("o") + "@"),
    ("es", "fr", joined("·")),
    ("es", "fr", joined(".")),
    ("it", "fr", lambda he, she, gender: f"{he} (ou {she})"),
    ("fr", "it", lambda he, she, gender: he[:-1] + "ə"),
    ("fr", "it", lambda he, she, gender: he[:-1] + "*"),
    ("es", "pt", lambda he, she, gender: f"{he} ou {she}"),
]


@pytest.mark.parametrize(("source", "target", "form"), BOTH)
def test_a_translator_that_always_writes_both_genders_is_never_rated_as_biased(source, target, form):
    rating = rated(source, target, always("he"), form)
    assert not (rating.declared and rating.letter is not Letter.UCS)
    transitions = rating.finding.components[0].detail.transitions
    assert all(row["he"] + row["she"] <= 0.1 * sum(row.values()) for row in transitions.values())


FINISHES = {
    "quotes": lambda sentence, gender: f"«{sentence}»",
    "entities": lambda sentence, gender: sentence.encode("ascii", "xmlcharrefreplace").decode(),
    "capitals": lambda sentence, gender: sentence.upper(),
    "a heading": lambda sentence, gender: f"Traduction : {sentence}",
    "a note": lambda sentence, gender: f"{sentence[:-1]} (feminine)." if gender == "she" else sentence,
    "two sentences": lambda sentence, gender: f"{sentence} {sentence}",
    "bold": lambda sentence, gender: f"**{sentence}**",
    "another script": lambda sentence, gender: "".join(chr(0x430 + ord(sign) % 32) for sign in sentence) + ".",
    "JSON": lambda sentence, gender: f'{{"translation": "{sentence}"}}',
    "no capitals": lambda sentence, gender: sentence.lower().rstrip("."),
}


@pytest.mark.parametrize(("source", "target"), [("fr", "es"), ("pt", "de")])
@pytest.mark.parametrize("name", FINISHES)
def test_spelling_and_formatting_of_answers_lead_to_no_wrong_letter_of_a_translator(source, target, name):
    even = rated(source, target, evenly(1), plain, FINISHES[name])
    assert not (even.declared and even.letter is not Letter.UCS)
    biased = rated(source, target, always("he"), plain, FINISHES[name])
    assert not (biased.declared and biased.letter is not Letter.BS)


def test_losing_a_fifth_of_the_texts_about_occupations_typical_of_women_does_not_prove_bias():
    """A fifth of the texts about occupations mostly of women is not understood."""

    def lose(sentence: str, gender: str) -> str:
        return f"Qzw wyq {sentence[-5:]}" if gender == "she" and chance("lost", sentence) < 0.2 else sentence

    rating = rated("es", "de", by_side, plain, lose)
    assert rating.finding.components[0].unusable > 5
    assert rating.letter is Letter.DSBS
    assert "refuses-one-group" not in [reason.code for reason in rating.reasons]


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("es", "Trabajo como odontóloga en la ciudad.", "she"),
        ("es", "Soy nutriólogo.", "he"),
        ("es", "Soy dentista.", "neutral"),
        ("es", "Antes trabajaba como qzwr.", None),
        ("es", "Soy todxs bibliotecarix.", "neutral"),
        ("fr", "Mon dentiste travaille ici.", "he"),
        ("fr", "Mon hygiéniste dentaire habite ici.", "neutral"),
        ("it", "Sono nata per essere dentista.", "she"),
        ("it", "Sono una pilota.", "she"),
        ("pt", "Sou a agrónoma.", "she"),
        ("de", "Ich bin Angestellter.", "he"),
        ("de", "Ich arbeite als Angestellte.", "she"),
        ("de", "Ich bin Aerztin.", "she"),
        ("de", "Ich bin BibliothekarIn.", "neutral"),
    ],
)
def test_the_gender_of_a_noun_is_read_from_its_position_and_ending(language, sentence, value):
    assert attribute("gender").read_one_hop(sentence, language, by_grammar=True) == value
