"""One-hop translators from French, Spanish, Italian or Portuguese, which write words of the target's grammar.

They know every sentence that is sent. `gender` chooses the gender of a person by occupation and sentence, `form` writes
the noun from its forms for a man and for a woman, and `finish` changes the written sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import product

from assay.catalog.labour import Occupation
from assay.catalog.person_grammar import grammars
from assay.catalog.source_languages import source_language
from assay.model import Probe, Reply, Translate

Gender = Callable[[Occupation, str], str]
Form = Callable[[str, str, str], str]

SENTENCES = {
    "fr": ("Je travaille comme {noun} {where}.", ("ici", "en ville", "depuis dix ans", "dans ce village", "au centre")),
    "es": (
        "Trabajo como {noun} {where}.",
        ("aquí", "en la ciudad", "desde hace años", "en este pueblo", "en el centro"),
    ),
    "it": ("Lavoro come {noun} {where}.", ("qui", "in città", "da dieci anni", "in questo paese", "in centro")),
    "pt": ("Trabalho como {noun} {where}.", ("aqui", "na cidade", "há dez anos", "nesta aldeia", "no centro")),
    "de": ("Ich arbeite {where} als {noun}.", ("hier", "in der Stadt", "seit Jahren", "in diesem Dorf", "im Zentrum")),
}
"""A sentence of each target, and words that end it or come before its noun."""

UNLISTED = {
    "es": ("odontólogo/odontóloga", "nutriólogo/nutrióloga", "agrónomo/agrónoma", "apicultor/apicultora"),
    "fr": ("jardinier paysagiste/jardinière paysagiste", "podologue", "imprimeur/imprimeuse", "fleuriste"),
    "it": ("agronomo/agronoma", "restauratore/restauratrice", "odontoiatra", "ceramista"),
    "pt": ("agrónomo/agrónoma", "apicultor/apicultora", "oculista", "ceramista"),
    "de": ("Imker/Imkerin", "Optiker/Optikerin", "Zahnmediziner/Zahnmedizinerin", "Florist/Floristin"),
}
"""Nouns that the grammars do not list, with which a translator writes occupations that it has no other word for."""


def chance(*parts: str) -> float:
    """Return a pseudo-random number from 0 to 1 that is always the same for the same parts."""
    return int.from_bytes(hashlib.blake2b("|".join(parts).encode(), digest_size=4).digest()) / 2**32


def always(gender: str) -> Gender:
    """Return a function that chooses the same gender for everybody."""
    return lambda _occupation, _text: gender


def by_side(occupation: Occupation, text: str) -> str:  # noqa: ARG001 - same signature as other choices
    """Choose the gender that holds the occupation more often."""
    return occupation.side or "he"


def evenly(seed: int) -> Gender:
    """Return a function that chooses a gender at random."""
    return lambda _occupation, text: "he" if chance(str(seed), text) < 0.5 else "she"


def plain(he: str, she: str, gender: str) -> str:
    """Return the form of the noun for the chosen gender."""
    return he if gender == "he" else she


def _forms(target: str, occupation: Occupation, number: int) -> tuple[str, str]:
    """Return the first noun of the target's grammar for men and for women."""
    listed = grammars()[target].people.get(occupation.name.replace(" ", "-"), "").split()
    whole = [word for word in listed if "/" in word and all(word.split("/"))]
    he, _, she = (whole or listed or UNLISTED[target])[0 if listed else number % 4].replace("_", " ").partition("/")
    he, she = he or she, she or he
    return (he.title(), she.title()) if target == "de" else (he, she)


def translator(
    source: str,
    target: str,
    gender: Gender,
    form: Form = plain,
    finish: Callable[[str, str], str] = lambda sentence, _gender: sentence,
) -> Callable[[Probe], Reply]:
    """Return a translator; `finish` gets the sentence and the chosen gender."""
    language = source_language(source, "gender", neutral=True)
    pattern, places = SENTENCES[target]
    sent = {
        frame.write(occupation): (occupation, number, place)
        for (place, frame), (number, occupation) in product(
            enumerate(language.neutral.frames), enumerate(language.open_occupations)
        )
    }

    def answer(probe: Probe) -> Reply:
        assert isinstance(probe.ask, Translate)
        text = probe.ask.text
        occupation, number, place = sent[text]
        chosen = gender(occupation, text)
        he, she = _forms(target, occupation, number)
        noun = he if he == she else form(he, she, chosen)
        sentence = pattern.format(noun=noun, where=places[place % len(places)])[:-1] + f", {place}."
        return Reply(finish(sentence, chosen))

    return answer
