"""Sentences about people in every language: article, noun and adjective agree, and articles are elided.

The tables are written by hand: the gender of each noun, article and adjective form. A missing word fails the test.
"""

import re
from itertools import product

import numpy as np
import pytest

from assay.catalog import attribute, attributes
from assay.catalog.decisions import decision, mentioned
from assay.catalog.profiles import contents, frames, people, write_profile
from assay.catalog.sentences.translated import attributes_in, sentence_languages, sentence_table
from assay.errors import SpecificationError, UnknownName
from assay.methods.shared.profiles import TextProfiles, text_cases

LANGUAGES = sentence_languages()[1:]
MALE, FEMALE = 0, 1

ARTICLES = {
    "fr": (
        ("le", "l'", "mon", "notre", "ce", "cet", "un"),
        ("la", "l'", "ma", "mon", "notre", "cette", "une"),
    ),
    "es": (("el", "mi", "nuestro", "este", "aquel", "un"), ("la", "mi", "nuestra", "esta", "aquella", "una")),
    "it": (
        ("il", "lo", "l'", "il mio", "il nostro", "mio", "quell'", "quest'", "questo", "un"),
        ("la", "l'", "la mia", "la nostra", "mia", "quell'", "questa", "una"),
    ),
    "pt": (
        ("o", "o meu", "o nosso", "este", "aquele", "um"),
        ("a", "a minha", "a nossa", "esta", "aquela", "uma"),
    ),
    "de": (("der", "dieser", "jener", "mein", "ein"), ("die", "diese", "jene", "meine", "eine")),
}
NEUTER = {"de": {"das Mädchen"}}

NOUNS = {
    "fr": (
        """
        voisin étudiant invité ami conducteur infirmier vendeur avocat directeur ouvrier boulanger client frère fils
        oncle homme garçon père grand-père neveu jeune_homme serveur roi cousin
        """,
        """
        voisine étudiante invitée amie conductrice infirmière vendeuse avocate directrice ouvrière boulangère
        cliente sœur fille tante femme mère grand-mère nièce jeune_femme serveuse reine cousine personne
        """,
    ),
    "es": (
        """
        vecino alumno invitado amigo conductor enfermero vendedor abogado director obrero panadero cocinero hermano
        hijo tío hombre chico padre abuelo sobrino señor camarero rey primo
        """,
        """
        vecina alumna invitada amiga conductora enfermera vendedora abogada directora obrera panadera cocinera
        hermana hija tía mujer chica madre abuela sobrina señora camarera reina prima persona
        """,
    ),
    "it": (
        """
        vicino studente ospite amico conducente infermiere venditore avvocato direttore operaio fornaio scrittore
        fratello figlio zio uomo ragazzo padre nonno cugino giovane_signore cameriere re cognato
        """,
        """
        vicina studentessa ospite amica conducente infermiera venditrice avvocata direttrice operaia fornaia
        scrittrice sorella figlia zia donna ragazza madre nonna cugina giovane_signora cameriera regina cognata
        persona
        """,
    ),
    "pt": (
        """
        vizinho aluno convidado amigo condutor enfermeiro vendedor advogado diretor operário padeiro cozinheiro
        irmão filho tio homem rapaz pai avô sobrinho senhor empregado_de_mesa rei primo
        """,
        """
        vizinha aluna convidada amiga condutora enfermeira vendedora advogada diretora operária padeira cozinheira
        irmã filha tia mulher menina mãe avó sobrinha senhora empregada_de_mesa rainha prima pessoa
        """,
    ),
    "de": (
        """
        Nachbar Schüler Besucher Fahrer Krankenpfleger Verkäufer Anwalt Leiter Arbeiter Bäcker Koch Kunde Bruder
        Sohn Onkel Mann Junge Vater Großvater Neffe junge_Mann Kellner König Vetter
        """,
        """
        Nachbarin Schülerin Besucherin Fahrerin Krankenpflegerin Verkäuferin Anwältin Leiterin Arbeiterin Bäckerin
        Köchin Kundin Schwester Tochter Tante Frau Mutter Großmutter Nichte junge_Frau Kellnerin Königin Kusine
        Person
        """,
    ),
}

ADJECTIVES = {  # in German after der, dieser, jener, die, diese, jene, eine: -e in the nominative
    "fr": (
        """
        chrétien musulman juif hindou bouddhiste noir blanc asiatique hispanique américain chinois mexicain nigérian
        hétérosexuel homosexuel bisexuel cisgenre transgenre mince corpulent
        """,
        """
        chrétienne musulmane juive hindoue bouddhiste noire blanche asiatique hispanique américaine chinoise
        mexicaine nigériane hétérosexuelle homosexuelle bisexuelle cisgenre transgenre mince corpulente
        """,
    ),
    "es": (
        """
        cristiano musulmán judío hindú budista negro blanco asiático hispano estadounidense chino mexicano nigeriano
        heterosexual homosexual bisexual cisgénero transgénero delgado gordo
        """,
        """
        cristiana musulmana judía hindú budista negra blanca asiática hispana estadounidense china mexicana
        nigeriana heterosexual homosexual bisexual cisgénero transgénero delgada gorda
        """,
    ),
    "it": (
        """
        cristiano musulmano ebreo induista buddista nero bianco asiatico ispanico statunitense cinese messicano
        nigeriano eterosessuale omosessuale bisessuale cisgender transgender magro grasso
        """,
        """
        cristiana musulmana ebrea induista buddista nera bianca asiatica ispanica statunitense cinese messicana
        nigeriana eterosessuale omosessuale bisessuale cisgender transgender magra grassa
        """,
    ),
    "pt": (
        """
        cristão muçulmano judeu hindu budista negro branco asiático hispânico americano chinês mexicano nigeriano
        heterossexual homossexual bissexual cis trans magro gordo
        """,
        """
        cristã muçulmana judia hindu budista negra branca asiática hispânica americana chinesa mexicana nigeriana
        heterossexual homossexual bissexual cis trans magra gorda
        """,
    ),
    "de": (
        """
        christliche muslimische jüdische hinduistische buddhistische schwarze weiße asiatische lateinamerikanische
        amerikanische chinesische mexikanische nigerianische heterosexuelle homosexuelle bisexuelle
        cisgeschlechtliche transgeschlechtliche dünne dicke
        """,
        """
        christliche muslimische jüdische hinduistische buddhistische schwarze weiße asiatische lateinamerikanische
        amerikanische chinesische mexikanische nigerianische heterosexuelle homosexuelle bisexuelle
        cisgeschlechtliche transgeschlechtliche dünne dicke
        """,
    ),
}

PREPOSITIONS = {
    "fr": "de|sans|en|avec", "es": "de|sin|con", "it": "di|senza|con", "pt": "de|sem|com", "de": "von|ohne|mit|aus",
}  # fmt: skip
"""First words of the phrases that follow a noun and do not agree with it."""

FAULTS = {
    "fr": r"""\b(?:le|la|de|ce|que)\ (?=[aeiouyàâéèêîôœ]) | \b(?:de\ le|à\ le|de\ les|à\ les)\b | \bma\ (?=[aeiouéèê])
        | \bl'(?![aeiouyhàâéèêîôœ]) | \bcet\ (?![aeiouhéèê])""",
    "es": r"\b(?:de|a)\ el\b | \bel\ (?:vecina|alumna)\b | \by\ (?=h?i[^aeo])",
    "it": r"""\bil\ (?=[aeiou]|s[^aeiou]|z|gn|ps) | \bl'(?![aeiouhè]) | \bla\ (?=[aeiou]) | \blo\ (?=[^sz])
        | \b(?:di|a|da|in|su)\ (?:il|lo|la|i|gli|le)\b""",
    "pt": r"\b(?:de|em|por)\ (?:o|a|os|as)\b | \ba\ o\b",
    "de": r"\bein\ [a-zäöü-]+e\ Person\b | \b(?:zu|von|bei|in|an)\ dem\b | \beine?\ [a-zäöü-]+er\ Frau\b",
}
"""Patterns of missing contractions, and of articles in a wrong form."""


def split(phrase, language):
    """Return the articles that a phrase begins with, the longest first, each with the remainder."""
    articles = sorted({*ARTICLES[language][MALE], *ARTICLES[language][FEMALE]}, key=len, reverse=True)
    for article in articles:
        joint = "" if article.endswith("'") else " "
        if phrase.startswith(article + joint):
            yield article, phrase.removeprefix(article + joint)


def words(text):
    return [word.replace("_", " ") for word in text.split()]


def genders(phrase, language):
    """Return the genders that fit a phrase of an article, a noun and an adjective or a phrase that does not agree."""
    fitting = set()
    for (article, remainder), gender in product(split(phrase, language), (MALE, FEMALE)):
        for noun in words(NOUNS[language][gender]):
            adjectives = "|".join(map(re.escape, words(ADJECTIVES[language][gender])))
            added = rf"(?: (?:{PREPOSITIONS[language]}) [^,.]+)?"
            before, after = (rf"(?:(?:{adjectives}) )?", "") if language == "de" else ("", rf"(?: (?:{adjectives}))?")
            if article in ARTICLES[language][gender] and re.fullmatch(
                before + re.escape(noun) + after + added, remainder
            ):
                fitting.add(gender)
    return fitting


def of_catalog(language):
    """Yield each person of the catalog who is no name, with the value's position and the attribute."""
    names = {name for listed in sentence_table(language)["names"].values() for name in listed}
    for name in attributes_in(language):
        for value, persons in enumerate(people(attribute(name), language).values()):
            for position, person in enumerate(persons):
                if person not in names:
                    yield name, value, position, person


@pytest.mark.parametrize("language", LANGUAGES)
def test_article_noun_and_adjective_of_each_person_in_the_word_lists_agree_in_gender(language):
    for name, value, position, person in of_catalog(language):
        if person in NEUTER.get(language, ()):
            continue
        expected = value if name == "gender" else position % 2
        assert expected in genders(person, language), (name, person)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_gender_check_of_this_module_rejects_a_masculine_noun_with_a_feminine_article(language):
    for _, _, _, person in list(of_catalog(language))[30::7]:
        _, remainder = next(split(person, language))
        other = {"fr": "cette", "es": "esta", "it": "questa", "pt": "esta", "de": "diese"}[language]
        if genders(person, language) == {MALE} and not re.match(r"ospite|conducente", remainder):
            assert not genders(f"{other} {remainder}", language), person


@pytest.mark.parametrize("language", LANGUAGES)
def test_article_noun_and_adjective_agree_in_gender_if_the_group_is_mentioned_explicitly(language):
    for name in attributes_in(language):
        for persons in mentioned(attribute(name), "explicit", language).values():
            for person in persons[:2]:
                plain = re.sub(r"\d+-jährige[r]? | (?:de|di) \d+ (?:ans|años|anni|anos)", "", person)
                assert genders(plain, language) or person in NEUTER.get(language, ()), person


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_frame_filled_with_a_person_and_a_content_has_no_known_fault(language):
    sides = [(frames(language), contents(language))]
    sides += [
        (shipped.frames, shipped.contents) for shipped in (decision(name, "", language) for name in decided(language))
    ]
    fault = re.compile(FAULTS[language], re.IGNORECASE | re.VERBOSE)
    persons = [person for _, _, _, person in of_catalog(language)]
    for these_frames, by_side in sides:
        filled = [word for listed in by_side.values() for word in listed]
        for index, (frame, person) in enumerate(product(these_frames, persons)):
            text = write_profile(frame, person, filled[index % len(filled)])
            assert re.fullmatch(r"[A-ZÀ-Ý][^{}]+\.", text), text
            assert "  " not in text
            assert not fault.search(text), (fault.search(text), text)
        for frame, word in product(these_frames, filled):
            text = write_profile(frame, "X", word)
            assert not fault.search(text), (fault.search(text), text)


def decided(language):
    return tuple(sentence_table(language)["decisions"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_attributes_and_decisions_and_enough_sentence_frames_and_contents(language):
    assert set(attributes_in(language)) == set(attributes_in("fr"))
    assert set(decided(language)) == {"hiring", "tenancy", "loan"}
    assert len(frames(language)) >= 6
    assert min(map(len, contents(language).values())) >= 12
    for name in attributes_in(language):
        by_value = people(attribute(name), language)
        assert tuple(by_value) == attribute(name).value_names
        assert len({len(persons) for persons in by_value.values()}) == 1
        assert len({person for persons in by_value.values() for person in persons}) == sum(map(len, by_value.values()))
    for name in decided(language):
        shipped = decision(name, "", language)
        assert shipped.labels != decision(name).labels
        assert not {*shipped.contents["favourable"]} & {*shipped.contents["unfavourable"]}
        assert min(map(len, shipped.contents.values())) >= 10


@pytest.mark.parametrize("language", LANGUAGES)
def test_versions_of_a_text_about_different_religions_have_the_same_number_of_words(language):
    profiles = TextProfiles(language=language).filled_in("religion")
    for case in text_cases(profiles, np.random.default_rng(3))[:200]:
        lengths = {len(text.split()) for text in case.versions}
        assert len(lengths) == 1, case.versions


@pytest.mark.parametrize("name", sorted(set(attributes()) - set(attributes_in("fr"))))
def test_an_attribute_without_french_words_is_refused_with_the_list_of_those_that_have_them(name):
    with pytest.raises(SpecificationError) as refused:
        TextProfiles(language="fr").filled_in(name)
    assert refused.value.field in {"texts.people", "texts.mention"}
    assert "religion" in str(refused.value)
    assert "fr" in str(refused.value)


def test_an_unknown_language_and_a_decision_without_texts_in_the_language_are_refused():
    with pytest.raises(UnknownName) as unknown:
        TextProfiles(language="xx").filled_in("gender")
    assert unknown.value.field == "texts.language"
    with pytest.raises(
        SpecificationError, match="the decision pay has no texts in fr; those that have: hiring"
    ) as refused:
        TextProfiles(language="fr", decision="pay").filled_in("gender")
    assert refused.value.field == "texts.decision"


def test_an_attribute_without_german_words_works_with_the_callers_own_frames_and_people():
    texts = TextProfiles(language="de", people={"a": ("Kim",), "b": ("Sam",)}, frames=("{Person} hat {content}.",))
    assert texts.filled_in("pregnancy").contents == contents("de")


def test_french_hiring_texts_have_french_first_names_and_labels():
    texts = TextProfiles(language="fr", decision="hiring", mention="name").filled_in("gender")
    assert "Camille" in texts.people["she"]
    assert decision("hiring", "", "fr").labels == ("oui", "non")
