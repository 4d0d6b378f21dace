"""Tests that grammar which shows nothing of a person is no vote: cases, nouns of a fixed gender, plurals, and order."""

import pytest

from assay.catalog import attribute
from assay.catalog.person_grammar import grammars
from assay.catalog.source_languages import source_language
from assay.experiment import run
from assay.methods import RoundTrip
from assay.methods.translation.collection import Reading, read_text
from assay.model import Probe, Reply
from assay.rating.decision import rate

GENDER = attribute("gender")


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("Die Firma habe den Arzt entlassen.", None),
        ("Die Polizei habe den Glaser gesucht.", None),
        ("Der Betrieb habe die Ärztin entlassen.", None),
        ("Das Büro des Kochs ist hier.", None),
        ("Das Büro der Köchin ist hier.", None),
        ("Das Haus des Glasers ist hier.", None),
        ("Das Haus der Glaserin ist hier.", None),
        ("Ich helfe dem Glaser.", None),
        ("Ich helfe der Glaserin.", None),
        ("Ich vertraue der Hebamme.", None),
        ("Der Hebamme geht es gut.", None),
        ("Ich half der Angestellten.", None),
        ("Ich half dem Angestellten.", None),
        ("Wir trafen die Lehrer.", None),
        ("Wir trafen die Lehrerin.", "she"),
        ("Das Modell ist hier.", None),
    ],
)
def test_a_german_article_in_another_case_or_number_is_not_read_as_the_gender(sentence, value):
    assert GENDER.read_one_hop(sentence, "de") == value


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("Der Glaser ist hier.", "he"),
        ("Die Glaserin ist hier.", "she"),
        ("Heute ist der Glaser hier.", "he"),
        ("Heute ist die Glaserin hier.", "she"),
        ("„Der Lotse ist hier.“", "he"),
        ("Die Hebamme ist hier.", "she"),
        ("Der Angestellte ist hier.", "he"),
        ("Die Angestellte ist hier.", "she"),
        ("Der Leiter der Schule ist hier.", "he"),
        ("Die Leiterin des Büros ist hier.", "she"),
        ("DER ARZT DES HAUSES IST HIER.", "he"),
        ("Das Zimmermädchen ist hier.", "she"),
        ("Die Mutter ist hier.", "she"),
        ("Der Vater ist hier.", "he"),
    ],
)
def test_a_german_article_that_agrees_with_its_noun_is_read_as_the_gender(sentence, value):
    assert GENDER.read_one_hop(sentence, "de") == value


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("Ein Arzt", "he"),
        ("Ein Arzt ist hier.", "he"),
        ("EIN ARZT.", "he"),
        ("„Ein guter Arzt.“", "he"),
        ("Ein Arzt (männlich)", "he"),
        ("Ein Arzt rief die Schwester an.", "he"),
        ("Ein Bäcker rief die Frau.", "he"),
        ("Eine Ärztin", "she"),
        ("Sie ist ein Genie.", "she"),
        ("Sie ist ein Profi.", "she"),
        ("Ein Arzt / eine Ärztin", "neutral"),
        ("Ein Krankenpfleger oder eine Krankenschwester kam.", "neutral"),
        ("Ein Arzt, wenn männlich, eine Ärztin, wenn weiblich", "neutral"),
        ("Ein Kind rief die Ärztin.", None),
        ("Ein Messer lag dort.", None),
        ("Ein Mann oder eine Frau kam.", None),
        ("Ein Koffer gehört der Ärztin.", None),
    ],
)
def test_german_ein_marks_a_man_if_a_noun_for_a_man_follows_and_is_otherwise_no_vote(sentence, value):
    """ "Ein Arzt" was lost while "Eine Ärztin" counted, and both together were a vote for her."""
    assert GENDER.read_one_hop(sentence, "de") == value


FIXED = {
    "ca": ["La víctima és aquí.", "El geni és aquí.", "El membre és aquí."],
    "de": [
        "Die Koryphäe ist hier.",
        "Die Waise ist hier.",
        "Die Bedienung ist hier.",
        "Der Säugling ist hier.",
        "Der Promi ist hier.",
        "Der Wachdienst ist hier.",
        "Das Opfer ist hier.",
        "Das Model ist hier.",
        "Das Pflegepersonal ist hier.",
    ],
    "es": [
        "El genio está aquí.",
        "Llamé al genio.",
        "Este personaje está aquí.",
        "«EL ÍDOLO ESTÁ AQUÍ.»",
        "La autoridad está aquí.",
        "**La estrella** está aquí.",
        "Una celebridad está aquí.",
        "Aquella víctima está aquí.",
    ],
    "fr": [
        "Le mannequin est ici.",
        "Ce mannequin est ici.",
        "« Un être humain est ici. »",
        "Le bourreau est ici.",
        "La star est ici.",
        "Cette victime est ici.",
        "Une autorité est ici.",
        "La main-d’œuvre est ici.",
    ],
    "gl": ["A vítima está aquí.", "O xenio está aquí."],
    "it": [
        "Il genio è qui.",
        "Il personaggio è qui.",
        "La stella è qui.",
        "Un’autorità è qui.",
        "La controfigura è qui.",
    ],
    "pt": [
        "O gênio está aqui.",
        "O cônjuge está aqui.",
        "Um ídolo está aqui.",
        "A estrela está aqui.",
        "A autoridade está aqui.",
        "A PERSONAGEM ESTÁ AQUI.",
    ],
}
"""By language, sentences about a person with a noun whose grammatical gender is the same for women and men."""


@pytest.mark.parametrize(("language", "sentence"), [(code, text) for code, texts in FIXED.items() for text in texts])
def test_a_noun_whose_grammatical_gender_is_fixed_is_read_as_neutral(language, sentence):
    assert GENDER.read_one_hop(sentence, language) == "neutral"


@pytest.mark.parametrize(
    ("language", "he", "she"),
    [
        ("es", "El agente está aquí.", "La agente está aquí."),
        ("es", "El líder está aquí.", "La líder está aquí."),
        ("es", "El modelo está aquí.", "La modelo está aquí."),
        ("es", "El testigo está aquí.", "La testigo está aquí."),
        ("es", "El chef estrella está aquí.", "La cocinera estrella está aquí."),
        ("es", "El médico miembro del equipo está aquí.", "La médica miembro del equipo está aquí."),
        ("fr", "Le guide est ici.", "La guide est ici."),
        ("it", "Il pilota è qui.", "La pilota è qui."),
        ("pt", "O modelo está aqui.", "A modelo está aqui."),
    ],
)
def test_the_article_of_a_noun_that_is_used_with_both_articles_shows_the_gender(language, he, she):
    assert (GENDER.read_one_hop(he, language), GENDER.read_one_hop(she, language)) == ("he", "she")


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("es", "El genio, una mujer, está aquí."), ("es", "La víctima, un hombre, está aquí.")],
)
def test_the_gender_is_not_read_if_a_noun_of_fixed_gender_is_followed_by_a_noun_of_the_other_gender(language, sentence):
    assert GENDER.read_one_hop(sentence, language) is None


@pytest.mark.parametrize(
    ("language", "nouns"),
    [
        (
            "es",
            "psiquiatra pediatra modelo líder sobrecargo escolta centinela persona víctima genio una_víctima un_genio",
        ),
        ("pt", "psiquiatra pediatra modelo líder espia sentinela pessoa vítima gênio uma_vítima um_gênio"),
        ("it", "stratega spia sentinella soprano persona vittima genio una_vittima un_genio"),
        ("fr", "capitaine leader trader parent mannequin sentinelle personne célébrité un_mannequin une_célébrité"),
        ("de", "Person Opfer Talent Teenager Mannequin Admin"),
    ],
)
def test_a_noun_used_for_both_genders_in_an_i_am_sentence_is_read_as_neutral_whatever_its_ending(language, nouns):
    i_am = {"es": "Soy", "pt": "Sou", "it": "Sono", "fr": "Je suis", "de": "Ich bin"}[language]
    sentences = [f"{i_am} {noun.replace('_', ' ')}." for noun in nouns.split()]
    readings = {text: GENDER.read_one_hop(text, language, by_grammar=True) for text in sentences}
    assert readings == dict.fromkeys(sentences, "neutral")


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("es", "Soy el modelo.", "he"),
        ("es", "Soy la modelo.", "she"),
        ("it", "Sono poetessa.", "she"),
        ("it", "Sono scrittore.", "he"),
        ("fr", "Je suis un capitaine.", "he"),
        ("fr", "Je suis une capitaine.", "she"),
        ("de", "Ich arbeite als Tagesmutter.", "she"),
        ("de", "Ich arbeite als Kinderkrankenschwester.", "she"),
        ("de", "Ich arbeite als Kinderkrankenpfleger.", "he"),
        ("de", "Ich bin leider Imkerin.", "she"),
        ("de", "Ich bin leider Imker.", "he"),
        ("de", "Ich bin leider hier.", None),
        ("de", "Ich bin Harlekin.", None),
    ],
)
def test_an_article_or_a_clear_ending_after_i_am_shows_the_gender(language, sentence, value):
    assert GENDER.read_one_hop(sentence, language, by_grammar=True) == value


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("ru", "Персона пришла."),
        ("ru", "Человек пришёл."),
        ("uk", "Людина прийшла."),
        ("uk", "Кумир прийшов."),
        ("pl", "Osoba przyszła."),
        ("pl", "Człowiek przyszedł."),
        ("cs", "Osoba přišla."),
        ("cs", "Člověk přišel."),
        ("he", "הדמות הגיעה."),
        ("he", "האדם הגיע."),
        ("ar", "وصلت الشخصية."),
        ("ar", "وصل الشخص."),
        ("hi", "हस्ती आ रही है।"),
        ("hi", "व्यक्ति यहाँ काम करता है।"),
    ],
)
def test_a_verb_that_agrees_with_a_noun_of_a_fixed_gender_shows_no_gender(language, sentence):
    assert grammars()[language].read(sentence) is None


BACK = {
    "es": {
        "other": [
            "Es dentista.",
            "Él/ella es médico.",
            "Es médico(a).",
            "Es médic@.",
            "Es médicx.",
            "Es un genio.",
            "Es una estrella.",
            "Él es enfermera.",
        ],
        "he": ["Es médico.", "Es el médico.", "ÉL ES MÉDICO.", "Él es una estrella."],
        "she": ["Es médica.", "Es la médica.", "«Ella es médica.»", "Ella es un genio.", "Ella es médico."],
        None: ["Es qzwr.", "Trabaja aquí.", "Elle es médique."],
    },
    "fr": {
        "other": ["Est dentiste.", "C'est un mannequin.", "Il ou elle est infirmier.", "Iel est infirmier·ère."],
        "he": ["C'est un infirmier.", "Il est une star."],
        "she": ["C'est une infirmière.", "Elle est un mannequin.", "Elle est professeur."],
        None: ["Est qzwr."],
    },
    "de": {
        "other": ["Sie sind Ärzte.", "Sie sind Ärztin.", "Sie arbeiten als Arzt.", "Er/sie ist Arzt.", "Ist Ärzt*in."],
        "he": ["Ist Arzt.", "Er ist Lehrkraft."],
        "she": ["Ist Ärztin.", "Sie ist ein Genie."],
        None: ["Ist qzwr."],
    },
    "it": {
        "other": ["È dentista.", "È una guida.", "È un genio.", "Loro sono infermieri.", "È infermiere/a."],
        "he": ["È infermiere.", "Lui è una guida."],
        "she": ["È infermiera.", "Lei è avvocato."],
        None: ["È qzwr."],
    },
    "pt": {
        "other": ["É dentista.", "É uma pessoa.", "Ele/ela é enfermeiro.", "É enfermeiro(a)."],
        "he": ["É enfermeiro.", "Ele é uma estrela."],
        "she": ["É enfermeira.", "Ela é um gênio."],
        None: ["É qzwr.", "Elu é enfermeire."],
    },
}
"""By source language and by value, sentences that came back; ``None``: the gender may be in an unknown word."""


@pytest.mark.parametrize(
    ("code", "value", "sentence"),
    [(code, value, text) for code, rows in BACK.items() for value, texts in rows.items() for text in texts],
)
def test_a_returned_sentence_without_a_gender_is_unusable_unless_it_shows_that_it_lost_it(code, value, sentence):
    reading = read_text(sentence, [sentence], GENDER, source_language(code, "gender"))
    assert reading == (Reading(unusable="no-mark-found") if value is None else Reading(values=(value,)))


ENGLISH_TEXT = ("He is a nurse.", "She works as a guard.")
FRENCH_TEXT = ("Il est infirmier.", "Elle est avocate.")


@pytest.mark.parametrize(
    ("sent", "returned", "values"),
    [
        (ENGLISH_TEXT, "She works as a guard. He is a nurse.", None),
        (ENGLISH_TEXT, "He works as a guard. She is a nurse.", None),
        (ENGLISH_TEXT, "She's a guard. He works as a nurse.", None),
        (ENGLISH_TEXT, "He is a nurse. He is a nurse.", None),
        (ENGLISH_TEXT, "He is a nurse. She works as a guard.", ("he", "she")),
        (ENGLISH_TEXT, "She is a nurse. He works as a guard.", ("she", "he")),
        (ENGLISH_TEXT, "He works as a nurse. She is a guard.", ("he", "she")),
        (ENGLISH_TEXT, "She is a sister. He is a watchman.", ("she", "he")),
        (FRENCH_TEXT, "Elle est avocate. Il est infirmier.", None),
        (FRENCH_TEXT, "Il est avocat. Elle est infirmière.", None),
        (FRENCH_TEXT, "Elle est infirmière. Il est avocat.", ("she", "he")),
    ],
)
def test_a_text_whose_sentences_came_back_in_another_order_is_unusable(sent, returned, values):
    source = None if sent is ENGLISH_TEXT else source_language("fr", "gender")
    reading = read_text(returned, sent, GENDER, source)
    assert reading == (Reading(unusable="sentence-order") if values is None else Reading(values=values))


def test_a_translator_that_reverses_the_sentences_of_texts_gets_no_letter():
    def reverse(probe: Probe) -> Reply:
        if probe.ask.source == "en":
            return Reply("".join(chr(ord(sign) + 0x400) if sign.isalpha() else sign for sign in probe.ask.text))
        text = "".join(chr(ord(sign) - 0x400) if sign.isalpha() else sign for sign in probe.ask.text)
        return Reply(" ".join(f"{sentence}." for sentence in reversed(text.removesuffix(".").split(". "))))

    rating = rate(run(RoundTrip("gender"), reverse, 0))
    assert rating.letter is None
    assert set(rating.finding.components[0].detail.unusable_why) == {"sentence-order"}
