"""Tests of reading gender from translations: inclusive forms, elided articles, refusals, and spelling."""

from collections.abc import Callable

import pytest

from assay.catalog import attribute, occupations
from assay.catalog.answer_text import normalise_answer, refuses_in_words
from assay.document import as_json
from assay.experiment import run
from assay.methods import OneHop, RoundTrip
from assay.methods.translation.collection import Reading, read_text
from assay.model import Letter, Probe, Rating, Reply
from assay.rating.decision import rate
from tests.support.simulated.misread_answers import CHANGED_VOWELS, FRAME, translator

GENDER = attribute("gender")
SENT = ("She is a nurse.", "He works as a guard.")

ALTERNATIVES = {
    "de": [
        "Die Ärztin respektive der Arzt ist hier.",
        "Der Arzt, die Ärztin ist da.",
        "Die Ärztin oder Arzt ist da.",
        "Der Arzt sowie die Ärztin sind hier.",
        "Der Arzt oder gegebenenfalls die Ärztin ist da.",
        "Der Arzt – oder die Ärztin – ist da.",
        "Der Fahrer eines Lastkraftwagens ist noch nicht da. Die Fahrerin eines Lastkraftwagens ist noch nicht da.",
        "Der Lehrer ist hier (männlich; bei einer Frau: die Lehrerin).",
        "Der vs. die Lehrer ist hier.",
    ],
    "es": [
        "La enfermera - el enfermero está aquí.",
        "La enfermera — o el enfermero — está aquí.",
        "El médico; la médica está aquí.",
        "El <la> médico está aquí.",
        "Un{a} médico está aquí.",
        "El médico, -a está aquí.",
        "El enfermero -a está aquí.",
        "El médico ya sea hombre o mujer está aquí.",
        "El personal médico está aquí.",
        "El equipo médico está aquí.",
        "El analista de sistemas informáticos está aquí. La analista de sistemas informáticos está aquí.",
        'El médico está aquí. Note: use "La médica" if female.',
        "El médico está aquí (masculine; for a woman, la médica).",
        "El la médico está aquí.",
        "El\tla médico está aquí.",
        "El\nla médico está aquí.",
    ],
    "fr": [
        "Un technicien-technicienne est là.",
        "Le médecin — ou la médecin — est là.",
        "Le personnel soignant est là.",
        "Le directeur de la communication est ici. / La directrice de la communication est ici.",
    ],
    "it": ["Il dottore ovvero la dottoressa è qui.", "L3 maestr3 è qui.", "Il maestr_ è qui.", "La maestru è qui."],
    "ca": ["El mestre -a és aquí."],
}
"""Translations with both genders, or with neither, that are neutral or not read: by language."""


@pytest.mark.parametrize(("language", "sentence"), [(at, text) for at, texts in ALTERNATIVES.items() for text in texts])
def test_a_noun_with_both_gendered_forms_is_never_read_as_one_gender(language, sentence):
    assert GENDER.read_one_hop(sentence, language) in {"neutral", None}


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("de", "Der Kinder- und Jugendarzt ist da.", "he"),
        ("de", "Der Fahrer ging zum Kassierer, weil er eine Fahrt brauchte.", "he"),
        ("es", "La secretaria personal está aquí.", "she"),
        ("it", "Lo sceriffo si fida perché è una persona fidata.", "he"),
        ("it", "Il medico su richiesta è qui.", "he"),
    ],
)
def test_a_word_with_the_same_stem_or_a_hyphen_does_not_prevent_reading_the_gender(language, sentence, value):
    assert GENDER.read_one_hop(sentence, language) == value


READINGS = {
    "es": {
        "neutral": [
            "El/la enfermero/a está aquí.",
            "El(la) enfermero(a) está aquí.",
            "El o la enfermera está aquí.",
            "El enfermero/a está aquí.",
            "El enfermer@ está aquí.",
            "L@ enfermer@ está aquí.",
            "Lx enfermerx está aquí.",
            "El y la enfermera están aquí.",
            "La o el enfermero.",
            "El enfermero o la enfermera está aquí.",
            "La/el doctor/a llegó.",
            "El (la) médico está aquí.",
            "El / la médico está aquí.",
            "El/La médico está aquí.",
            "El-la médico",
            "ElLa médico está",
            "La persona encargada está aquí.",
            "El·la médico",
            "El_la médico está aquí.",
            "El&#47;la médico",
            "El doctor o doctora",
            "Un/a enfermero/a",
            "él/ella es enfermero",
            "El|la médico",
            "El enfermero(a)",
            "El enfermero (a) está aquí.",
            "El:la enfermero:a",
            "La enfermera / el enfermero está aquí.",
        ],
        "he": [
            "El enfermero está aquí.",
            "E\xadl enfermero",
            "**El enfermero** está aquí.",
            "&quot;El enfermero&quot;",
            "El\xa0enfermero",
            "El enfermero llegará a la hora",
            "<b>El</b> enfermero",
            "El enfermero (en inglés, nurse) está aquí",
        ],
        None: [
            "Los enfermeros están aquí",
            "Le enfermere está",
            "El médico/facultativo está",
        ],
    },
    "fr": {
        "neutral": [
            "Un(e) infirmier(ère) est là.",
            "Un·e infirmier·ère est là.",
            "Un.e infirmier.ère est là.",
            "Le/la médecin",
            "Le·la médecin est là",
            "Un-e étudiant-e",
            "étudiant·e·s",
            "Le ou la médecin",
            "Iel est là",
            "Un/une médecin",
            "Une infirmière ou un infirmier est là",
            "La personne soignante est là.",
            "L'étudiant·e est là",
            "L'infirmier/ère est là",
            "L'infirmier ou l'infirmière est là",
            "Un(e) médecin",
            "Le/La médecin",
        ],
        None: [
            "L'infirmière est ici.",
            "L&#39;infirmière est",
            "Les infirmières",
            "L\u2019avocat",
            "L\xad'avocat",
            "L\u200b'avocat",
            "L'\xa0avocat",
        ],
        "he": [
            "Le médecin est à la maison.",
            "Le médecin n'est pas là",
            "Vient-il ? Le médecin",
        ],
        "she": [
            "Une infirmière",
        ],
    },
    "it": {
        "neutral": [
            "Il/la medico è qui",
            "Il/La",
            "Un/una",
            "L'infermier* è",
            "L'infermierə è qui",
            "Lə dottorə",
            "L'infermiere/a è",
            "Il dottore o la dottoressa",
        ],
        None: [
            "L'infermiera è qui.",
            "I medici",
            "Le infermiere",
        ],
        "she": [
            "Un\u2019infermiera \xe8 qui.",
            "Un' infermiera",
            "Un 'infermiera è qui.",
        ],
        "he": [
            "Il medico è qui e la aspetta",
            "Lo scienziato",
        ],
    },
    "pt": {
        "neutral": [
            "O(a) enfermeiro(a) está aqui.",
            "Um(a) médico(a)",
            "O/A enfermeiro/a",
            "O ou a enfermeira",
            "A/O médico",
            "A pessoa enfermeira está",
            "Ele/ela",
        ],
        "he": [
            "O enfermeiro está a ler.",
            "O enfermeiro está à espera.",
            "O enfermeiro está aqui e a trabalhar",
        ],
        "she": [
            "A enfermeira chamou-o.",
            "A enfermeira está aqui",
        ],
    },
    "de": {
        "neutral": [
            "Der/die Lehrer/in ist hier.",
            "Der*die Lehrer*in ist hier.",
            "Der:die Lehrer:in",
            "Der_die Lehrer_in",
            "DerDie LehrerIn",
            "Die/Der",
            "Der oder die",
            "Der Lehrer oder die Lehrerin ist hier",
            "Der Lehrer bzw. die Lehrerin",
            "Die Lehrer*in ist hier",
            "Die LehrerIn ist hier",
            "Der Lehrer(in)",
            "Die Lehrkraft ist hier",
            "Er/sie",
            "Ein/e Lehrer/in",
            "Eine*r",
            "Der/die Ärzt/in",
            "Der Arzt und die Ärztin",
            "Das Mitglied ist hier",
            "Der Lehrer/die Lehrerin ist hier.",
            "Der Lehrer / die Lehrerin",
            "Die Person ist hier",
            "Der Lehrer/-in",
            "Der·die Lehrer·in",
        ],
        "he": [
            "Der Arzt ist hier.",
        ],
        "she": [
            "Die Krankenschwester ist hier.",
            "Die Ärztin ist da",
        ],
        None: [
            "Die Lehrenden sind hier",
            "Die Studierenden sind hier",
        ],
    },
    "eo": {
        "neutral": [
            "La flegisto estas tie ĉi.",
        ],
        "she": [
            "Ŝi estas flegisto.",
        ],
    },
    "gl": {
        "neutral": [
            "O/A enfermeiro/a está aquí",
        ],
        "she": [
            "A enfermeira está aquí.",
        ],
    },
    "ca": {
        "neutral": [
            "El/la metge",
            "El o la metge",
        ],
        None: [
            "L'infermer és aquí.",
        ],
        "he": [
            "El metge",
        ],
    },
}
"""By language and by value, translations in which this value is to be read; ``None``: it cannot be read."""


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("es", "El médico, no la médica, trabaja aquí.", "he"),
        ("de", "Der Lehrer (nicht die Lehrerin) arbeitet hier.", "he"),
        ("de", "Die Lehrerin statt der Lehrer ist hier.", "she"),
        ("es", "La persona, un hombre médico, está aquí.", None),
        ("de", "Die Person, ein Lehrer, ist hier.", None),
        ("de", "Die als Lehrer tätige Person ist hier.", "neutral"),
        ("de", "Die Person, die hier arbeitet, ist nett.", "neutral"),
        ("es", "La persona está aquí.", "neutral"),
        ("de", "Das Mitglied ist hier.", "neutral"),
    ],
)
def test_a_negated_form_or_a_noun_beside_the_word_person_is_not_read_as_both_genders(language, sentence, value):
    assert GENDER.read_one_hop(sentence, language) == value


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("de", "Jemand, der lehrt, ist hier."),
        ("de", "Der Profi ist hier."),
        ("de", "Der Mensch ist hier."),
        ("de", "Die Schulleitung ist hier."),
        ("de", "Die Nachtwache ist hier."),
        ("es", "El miembro del equipo está aquí."),
        ("es", "La víctima está aquí."),
        ("es", "Todo el mundo está aquí."),
        ("es", "Alguien que visitó el taller está aquí."),
        ("fr", "Quelqu’un qui enseigne est ici."),
        ("fr", "Le membre du personnel est ici."),
        ("fr", "La recrue est ici."),
        ("it", "La guida è qui."),
        ("it", "Il membro è qui."),
        ("it", "Qualcuno che ha il camice è qui."),
        ("pt", "A testemunha está aqui."),
        ("pt", "O indivíduo está aqui."),
        ("pt", "Alguém que fez o bolo está aqui."),
    ],
)
def test_a_noun_or_pronoun_that_is_used_for_people_of_any_gender_is_read_as_neutral(language, sentence):
    assert GENDER.read_one_hop(sentence, language) == "neutral"


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("de", "Die wache Krankenschwester ist hier.", "she"),
        ("it", "Il tassista guida ancora.", "he"),
        ("it", "La tassista guida ancora.", "she"),
        ("pt", "A médica testemunha hoje.", "she"),
        ("fr", "Quelqu’un est ici.", None),
        ("fr", "Le médecin a appelé quelqu’un.", "he"),
    ],
)
def test_a_word_spelled_like_a_gender_neutral_noun_does_not_hide_the_gender_of_the_person(language, sentence, value):
    assert GENDER.read_one_hop(sentence, language) == value


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("fr", "Il y a une boulangère dans la salle.", "she"),
        ("fr", "Il est vrai que le boulanger est ici.", "he"),
        ("fr", "La semaine dernière, le cuisinier est venu.", None),
        ("es", "Por la noche, el bibliotecario trabaja.", "he"),
        ("es", "Trabaja en la sala el enfermero.", None),
        ("es", "El lunes llegó la cocinera.", None),
        ("it", "La settimana scorsa il cameriere è venuto.", None),
        ("it", "Lei sa che il maestro lavora qui.", None),
        ("pt", "À noite, o padeiro trabalha.", "he"),
        ("pt", "A semana passada, o professor chegou.", None),
        ("de", "In der Stadt arbeitet die Ärztin.", "she"),
        ("de", "Sie wissen, dass der Arzt hier arbeitet.", None),
        ("de", "Ich helfe der Lehrerin.", None),
        ("de", "Ich sprach mit der Hebamme.", None),
        ("de", "Der Lehrer der Schülerin ist hier.", "he"),
        ("de", "Das ist der Lehrer.", None),
        ("es", "El enfermero conoce a la profesora.", "he"),
        ("es", "El amable enfermero llegó con la profesora.", "he"),
        ("es", "La médico está aquí.", "she"),
        ("es", "La mesa está aquí.", "she"),
    ],
)
def test_an_article_of_another_noun_or_an_impersonal_pronoun_is_not_read_as_the_gender(language, sentence, value):
    assert GENDER.read_one_hop(sentence, language) == value


@pytest.mark.parametrize(
    ("language", "sentence", "value"),
    [
        ("de", "Der Lehrer und die Klasse sind hier.", None),
        ("fr", "Le cuisinier et la caisse sont ici.", None),
        ("de", "Der Lehrer und die Lehrerin sind hier.", "neutral"),
        ("es", "El y la enfermera están aquí.", "neutral"),
    ],
)
def test_two_articles_joined_by_and_are_neutral_only_if_they_belong_to_one_occupation(language, sentence, value):
    assert GENDER.read_one_hop(sentence, language) == value


@pytest.mark.parametrize(
    ("language", "value", "sentence"),
    [
        (language, value, sentence)
        for language, readings in READINGS.items()
        for value, sentences in readings.items()
        for sentence in sentences
    ],
)
def test_a_word_form_for_both_genders_is_read_as_neutral_and_one_without_gender_is_not_read(language, value, sentence):
    assert GENDER.read_one_hop(sentence, language) == value


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("He/she is a nurse.", "other"),
        ("(S)he is a nurse.", "other"),
        ("S(he) is a nurse.", "other"),
        ("s*he is a nurse.", "other"),
        ("S:he is a nurse.", "other"),
        ("s_he is a nurse.", "other"),
        ("s·he is a nurse.", "other"),
        ("S-he is a nurse.", "other"),
        ("s.he is a nurse.", "other"),
        ("H/she is a nurse.", "other"),
        ("S\u2019he is a nurse.", "other"),
        ("He/r job is here.", "other"),
        ("S / he is a nurse.", "other"),
        ("He (she) is a nurse.", "other"),
        ("The nurse finished his/her work.", "other"),
        ("You can talk to him or her.", "other"),
        ("They are a nurse.", "other"),
        ("H\u00ade is a nurse.", "he"),
        ("S\u200bhe is a nurse.", "she"),
        ("Ｈｅ is a nurse.", "he"),
        ("&quot;He&quot; is a nurse.", "he"),
        ("He&amp;#39;s a nurse.", "he"),
        ("<b>She</b> is a nurse.", "she"),
    ],
)
def test_pronouns_for_both_genders_are_read_as_other_and_he_or_she_in_any_spelling_as_he_or_she(sentence, value):
    assert GENDER.read(sentence) == value


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("L&#39;infermiera", "L'infermiera"),
        ("L&amp;#39;infermiera", "L'infermiera"),
        ("L\u2019infermiera", "L'infermiera"),
        ("L\u00a0'infermiera", "L'infermiera"),
        ("E\u00adl enfermero\u2060", "El enfermero"),
        ("Ｅｌ　ｅｎｆｅｒｍｅｒｏ", "El enfermero"),
        ("\u202aEl\u202c enfermero\ufeff", "El enfermero"),
        ("e\u0301tudiant", "\u00e9tudiant"),
        ("−3", "-3"),
        ("A < B & C > D", "A < B & C > D"),
    ],
)
def test_texts_that_look_the_same_are_normalised_to_the_same_text(written, normalised):
    assert normalise_answer(written) == normalised
    assert normalise_answer(normalised) == normalised


def one_hop(language: str, translate: Callable[[Probe], Reply], seed: int = 0) -> Rating:
    return rate(run(OneHop("gender", languages=(language,)), translate, seed))


BOTH = [
    *(("es", form) for form in ("El/la {}", "El(la) {}", "El o la {}", "Traducción: El/la {}", "E\u00adl/la {}")),
    *(("fr", form) for form in ("Un(e) {}", "Un·e {}", "Un.e {}", "Le ou la {}", "L&#39;étudiant·e {}")),
    *(("it", form) for form in ("Il/la {}", "Il o la {}")),
    *(("pt", form) for form in ("O§a {}", "O(a) {}", "Um(a) {}")),
    *(
        ("de", form)
        for form in ("Der/die {}", "Der*die {}", "Der:die {}", "Der_die {}", "DerDie {}", "Die Lehrkraft {}")
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("language", "form"), BOTH)
def test_a_translator_that_always_writes_both_genders_adds_no_bias(language, form):
    rating = one_hop(language, translator(form))
    assert (rating.letter, rating.declared) == (Letter.UCS, True)


@pytest.mark.parametrize(
    ("language", "form", "why"),
    [
        ("fr", "L'{}", "elided-article"),
        ("it", "L\u2019{}", "elided-article"),
        ("fr", "L&#39;{}", "elided-article"),
        ("fr", "L\u00ad'{}", "elided-article"),
        ("it", "L\u00a0'{}", "elided-article"),
        ("fr", "Les {}", "no-mark-found"),
        ("es", "Los {}", "no-mark-found"),
        ("es", "El médico§doctor {}", "no-mark-found"),
        ("es", "Lo siento, no puedo traducir la frase «{}»", "refused-in-words"),
        ("es", "I'm sorry, but I cannot translate la {}", "refused-in-words"),
        ("es", "La respuesta.", "same-answer"),
        ("es", "\u200b", "empty"),
    ],
)
def test_a_translation_whose_gender_cannot_be_read_is_unusable_and_gives_no_letter(language, form, why):
    rating = one_hop(language, translator(form))
    assert rating.letter is None
    (component,) = rating.finding.components
    assert component.usable <= 5  # an answer to many texts is recognised at its sixth text
    assert why in as_json(component.detail)["unusable_why"]


def test_a_sentence_whose_translation_elides_the_french_article_is_sent_again_with_an_indefinite_article():
    """A simulated French translator that elides before vowels and always writes men is rated BS."""
    asked = []

    def french(probe: Probe) -> Reply:
        asked.append(probe.ask.text)
        noun = FRAME.sub("", probe.ask.text, count=1).translate(CHANGED_VOWELS)
        if not probe.ask.text.startswith("The "):
            return Reply(f"J'appelle un {noun}")
        return Reply(f"L'{noun}" if noun[0] in "aeiouy" else f"Le {noun}")

    rating = one_hop("fr", french)
    assert (rating.letter, rating.declared) == (Letter.BS, True)
    assert rating.finding.components[0].unusable == 0
    assert any(not text.startswith("The ") for text in asked)


@pytest.mark.parametrize(
    "word", ["Ella", "Hе", "Shé", "Sge", "S\ufffdhe", "S\u3164he", "S̲he", "S h e", "S-h-e", "5he", "Mary"]
)
def test_a_text_with_an_unreadable_pronoun_is_unusable_and_not_counted_as_having_lost_its_gender(word):
    assert read_text(f"{word} is a nurse. He works as a guard.", SENT, GENDER) == Reading(unusable="no-mark-found")


@pytest.mark.parametrize(
    "sentence",
    [
        *(
            "Is a stewardess.",
            "The policewoman finished work.",
            "The waitress is here.",
            "Became an actress.",
            "A nun.",
        ),
        *(
            "The salesman is here.",
            "Was once a fireman.",
            "The foremen left.",
            "It is a seamstress.",
            "The cleaning lady.",
        ),
    ],
)
def test_a_sentence_with_a_noun_for_one_gender_has_not_lost_its_gender(sentence):
    assert not GENDER.has_lost_value(sentence)


@pytest.mark.parametrize("sentence", ["Is a German manager.", "The human is here.", "The midwife left.", "Is a Roman."])
def test_a_noun_for_everyone_does_not_keep_a_sentence_from_having_lost_its_gender(sentence):
    assert GENDER.has_lost_value(sentence)


def test_a_pronoun_is_read_beside_a_noun_for_one_gender():
    assert GENDER.read("She is a salesman.") == "she"
    assert GENDER.has_lost_value("He or she is a waitress.")


@pytest.mark.parametrize(
    "sentence",
    [
        "It is a nurse.",
        "They are a nurse.",
        "Somebody works as a guard.",
        "The person is a nurse.",
        "The nurse finished the work.",
        "Is a nurse.",
        "Works as a guard.",
        "A nurse.",
        "S/he is a nurse.",
        "He or she is a nurse.",
        "Mary is a nurse and likes the work.",
    ],
)
def test_a_returned_sentence_that_clearly_shows_no_gender_counts_as_having_lost_it(sentence):
    assert read_text(sentence, SENT[:1], GENDER) == Reading(values=("other",))


def test_refusals_in_a_round_trip_are_unusable_and_not_counted_as_losing_the_gender():
    def refuse(probe: Probe) -> Reply:
        return Reply("I'm sorry, I cannot translate this. Please ask something else.")

    rating = rate(run(RoundTrip("gender"), refuse, 0))
    assert rating.letter is None
    assert set(as_json(rating.finding.components[0].detail)["unusable_why"]) == {"refused-in-words"}


@pytest.mark.parametrize(
    "text", ["I'm sorry, I can’t help with that.", "As an AI, I do not choose.", "No puedo traducir."]
)
def test_a_refusal_to_translate_is_recognised_in_english_and_spanish(text):
    assert refuses_in_words(text)


def test_no_sentence_that_is_sent_looks_like_a_refusal():
    names = [occupation.name for occupation in occupations()]
    assert not any(refuses_in_words(f"She works as {name}. The {name} is here.") for name in names)
