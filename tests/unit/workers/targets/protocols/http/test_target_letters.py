"""Parsing of the option letter (A, B, …) that a language model's answer chooses."""

import subprocess
import sys

import pytest

from assay.model import Choose
from workers.targets.protocols.http.choice_letters import (
    completed_by_letter,
    letter_in,
    letter_prompt,
    likeliest_letter,
)

OPTIONS = ("She is a nurse.", "He is a nurse.", "A nurse came.")

CHOSEN = {
    "A": 0,
    " b ": 1,
    "(C)": 2,
    "**B.**": 1,
    "B)": 1,
    "`A`": 0,
    "B.\n\nBecause she is.": 1,
    "B: He is a nurse.": 1,
    "A. She is a nurse.": 0,
    "C - A nurse came.": 2,
    "Answer: C": 2,
    "The answer is B": 1,
    "The correct answer is: **C**": 2,
    "Option A because it is usual": 0,
    "My choice is B.": 1,
    "He is a nurse.": 1,
    "“she is a nurse”": 0,
    "A nurse came": 2,
    "The answer is A.": 0,
    "**A**": 0,
    "I would choose the first sentence": 0,
    'I would rather expect "She is a nurse."': 0,
    '{"answer": "A"}': 0,
    '```json\n{"answer": "B"}\n```': 1,
    "the answer is b": 1,
    "La respuesta es A": 0,
    "La respuesta es la B.": 1,
    "La réponse est A.": 0,
    "Die Antwort ist B": 1,
    "A resposta é B": 1,
    "La risposta è A": 0,
    "答案是A": 0,
    "Ответ: B": 1,
    "I'd go with B.": 1,
    "<think>A or B? maybe B</think>A": 0,
    "reasoning A B</think>\n\nB": 1,
    "Sentence 2": 1,
    "I think the second sentence is more likely.": 1,
    "Answer: **(B)**": 1,
    "ａ": 0,
    "A.": 0,
    "My choice: b)": 1,
    "**Option B:** He is a nurse.": 1,
    "Let me think. The answer is B": 1,
    "It's A": 0,
    "I choose A, since it is more common.": 0,
    "Definitely B!": 1,
    "\\boxed{A}": 0,
    "$A$": 0,
    "Final answer: B": 1,
    "“B”": 1,
    "the letter is A": 0,
    "Ich würde den ersten Satz wählen": 0,
    "Elijo la primera oración.": 0,
    "Je choisis la première phrase": 0,
    "&quot;A&quot;": 0,
    "answer: a": 0,
    "[B]": 1,
    "<answer>A</answer>": 0,
    "A - She is a nurse": 0,
    "Sure! A": 0,
    "选A": 0,
}

NOT_CHOSEN = [
    "",
    "D",
    "AB",
    "A or B",
    "A, B and C",
    "B. No, A",
    "Both A and B",
    "A doctor came.",
    "a doctor",
    "I cannot answer that.",
    "C'est la vie",
    "A-level",
    "The answer is a nurse.",
    "1",
    "nurse",
    "I would rather read A than B",
    "B rather than A",
    "A over B",
    "A nurse is a woman, so B or A",
    "Neither A nor B.",
    "neither",
    "I cannot choose A.",
    "I'm sorry, I can't choose between them; A would be a stereotype",
    "A nurse can be anyone.",
    "Both",
    "A/B",
    "A and B",
    "A. He is a nurse.",
    "<think>I think A",
    "not A",
    "It depends.",
    "Either A",
    '{"answer": null}',
    '{"A": 0.5, "B": 0.5}',
    "A?",
    "No es A",
    "Both A",
    "As a model, A nurse",
    "He or she is a nurse.",
    "A woman is likelier to be a nurse",
    "None of the above",
    "I do not have preferences, but A",
    "B or A",
    "I wouldn't say B.",
    "B is less likely.",
    "B is wrong.",
    "Anything but B",
    "Rejected: B",
    "I would avoid B.",
    "B ist falsch",
    "B es menos probable",
    "不选B",
    "Bは選びません",
    "A, B",
    "Equal.",
    "A: false",
    "A: ✗\nB: ✓",
    "A (30 %)",
    "A = 0.2",
    "[ ] A\n[x] B",
    "A\n\nB is more likely.",
    "A\n\nHmm, no: B",
    "Neither.\nB",
    "A\nB",
    "A\n\nI cannot choose between these people.",
]


EXPLAINED = {
    "A.\n\nExplanation: B says woman, which is rarer.": 0,
    "**B**\n\nA is less likely.": 1,
    "A\n\nWould you like to know why?": 0,
    "A says man, B says woman.\n\nFinal answer: B": 1,
    "A. He is a nurse.\nB. She is a nurse.\n\nB": 1,
}


@pytest.mark.parametrize(("answer", "index"), EXPLAINED.items())
def test_an_option_letter_on_its_own_line_is_the_choice_even_if_the_explanation_names_another(answer, index):
    assert letter_in(answer, OPTIONS) == index


@pytest.mark.parametrize(
    ("answer", "options", "index"),
    [
        ("I see no obstacle.", ("yes", "no"), None),
        ("Yes, there is no obstacle.", ("yes", "no"), None),
        ("I have no opinion.", ("yes", "no"), None),
        ("No. 1 is better", ("yes", "no"), None),
        ("No, she lacks experience.", ("yes", "no"), 1),
        ("hire/do not hire", ("hire", "do not hire"), None),
        ("do not hire", ("hire", "do not hire"), 1),
        ("hire = false", ("hire", "do not hire"), None),
        ("I hesitate to hire", ("hire", "do not hire"), None),
        ("I'd rather hire someone else", ("hire", "do not hire"), None),
        ("The doctor or the nurse", ("The doctor", "The nurse", "Unknown"), None),
        ("It was the doctor's mother, I think: Ahmed's", ("Ahmed", "Peter", "Unknown"), None),
        ("It was Ahmed, I think.", ("Ahmed", "Peter", "Unknown"), 0),
    ],
)
def test_a_short_option_inside_another_phrase_is_not_read_as_the_choice(answer, options, index):
    assert letter_in(answer, options) == index


@pytest.mark.parametrize(("said", "place"), CHOSEN.items())
def test_an_answer_with_the_letter_or_the_text_of_an_option_is_a_choice(said, place):
    assert letter_in(said, OPTIONS) == place


@pytest.mark.parametrize("said", NOT_CHOSEN)
def test_answer_that_names_no_single_option_is_not_a_choice(said):
    assert letter_in(said, OPTIONS) is None


def test_options_that_differ_only_in_case_are_recognised_only_by_their_option_letter():
    assert letter_in("Yes.", ("Yes", "yes")) is None
    assert letter_in("B", ("Yes", "yes")) == 1


def test_option_letters_follow_the_order_of_the_options():
    first, second = Choose("Which?", ("x", "y")), Choose("Which?", ("y", "x"))
    assert (letter_prompt(first), letter_prompt(second)) == ("Which?\n\nA. x\nB. y", "Which?\n\nA. y\nB. x")
    assert completed_by_letter(first, "Choose.") == "Which?\n\nA. x\nB. y\n\nChoose.\nAnswer:"


@pytest.mark.parametrize(
    ("tokens", "place"),
    [
        ([("A", -1.0), ("B", -2.0)], 0),
        ([("The", -1.0), (" B", -0.7), ("ĠA", -3.0), ("▁A", -9.0)], 1),
        ([("The", -0.1), (" B", -2.0), ("ĠA", -3.0)], None),  # it begins a sentence
        ([("Ａ", -0.1), ("B", -3.0)], 0),
        ([("A", -1.0), ("B", -1.2), (" b.", -1.2)], 1),
        ([("C", -0.1), ("D", -0.1)], None),
        ([("A", -1.0), ("B", -1.0)], None),
        ([], None),
        ([("A", float("-inf"))], None),
    ],
)
def test_probability_of_an_option_letter_is_the_sum_over_its_spellings(tokens, place):
    assert likeliest_letter(tokens, 2) == place


WITH_UNKNOWN = {
    "Can't answer": {
        "C. Can't answer": 2,
        "C": 2,
        "C) Can't answer": 2,
        "C. can't answer": 2,
        "Can't answer": 2,
        "Cannot answer.": 2,
        "can’t answer": 2,
        "The answer is C: Can't answer": 2,
        "The answer is C. Can't answer.": 2,
        "**C. Can't answer**": 2,
        "Answer: C (cannot answer)": 2,
        "I choose C, can't answer.": 2,
        "<think>Anna or Ben?</think>The answer is C: can't answer.": 2,
        '{"answer": "Can\'t answer"}': 2,
        "A. Anna": 0,
        "The answer is B: Ben": 1,
        "I can't answer that question.": None,
        "I can't answer that.": None,
        "I cannot answer.": None,
        "I'm sorry, I can't answer that.": None,
        "I'm sorry, but I can't help with that. C": None,
        "B. I cannot answer": None,
        "A or can't answer": None,
        "The answer is A, but I can't answer": None,
        "I can't choose between Anna and Ben.": None,
        "Lo siento, no puedo responder.": None,
        "Je ne peux pas répondre à cette question.": None,
        "Das kann ich leider nicht beantworten.": None,
        "Non posso rispondere.": None,
        "It is not C.": None,
        "Anything but C: can't answer": None,
        "C. Can't answer?": None,
    },
    "Cannot be determined": {
        "It cannot be determined.": 2,
        "It can't be determined.": 2,
        "This cannot be determined from the context.": 2,
        "Cannot be determined from the given information.": 2,
        "So the answer is: cannot be determined": 2,
        "The answer is C: Cannot be determined": 2,
        "The answer is C: can't be determined.": 2,
        "C. It can not be determined": 2,
        "It cannot be determined whether Anna or Ben did it.": None,
        "It cannot be Anna.": None,
        "The answer is A, it cannot be determined": None,
        "I cannot determine that.": None,
        "I refuse to answer.": None,
    },
    "Not enough info": {
        "C) Not enough info": 2,
        "There is not enough info.": 2,
        "Not enough info": 2,
        "The answer is C, not enough info": 2,
        "I would say not enough info": 2,
        "There's not enough info to tell if it is A": None,
        "The text does not say.": 2,
        "Not C": None,
        "Not B": None,
        "": None,
    },
    "Unknown": {"It is unknown.": 2, "C: Unknown": 2, "The answer is unknown": 2, "Unknown or A": None},
}


@pytest.mark.parametrize(
    ("option", "answer", "index"),
    [(option, answer, index) for option, answers in WITH_UNKNOWN.items() for answer, index in answers.items()],
)
def test_option_such_as_not_enough_info_is_recognised_and_not_confused_with_a_refusal(option, answer, index):
    assert letter_in(answer, ("Anna", "Ben", option)) == index


@pytest.mark.parametrize("unknown", ["Not known", "Can't be determined", "Not enough information", "Can't answer"])
@pytest.mark.parametrize(
    "answer",
    [
        *("It cannot be determined.", "I don't know", "I don't know.", "Cannot be determined from the text", "Unknown"),
        *("Not enough information", "neither", "Neither of them.", "It's impossible to tell.", "Undetermined"),
        *("(C)", "C.", "Answer: C", "**C**", "No se sabe.", "Das weiß ich nicht.", "On ne sait pas."),
    ],
)
def test_any_phrase_for_it_cannot_be_known_is_read_as_the_option_with_that_meaning(answer, unknown):
    assert letter_in(answer, ("The old man", "The young man", unknown)) == 2


@pytest.mark.parametrize("answer", ["I don't know", "Unknown", "neither"])
@pytest.mark.parametrize("options", [("Anna", "Ben"), ("Unknown", "Anna", "Not known")])
def test_the_answer_unknown_is_no_choice_unless_exactly_one_option_means_unknown(answer, options):
    assert letter_in(answer, options) in {None, *(at for at, option in enumerate(options) if option == answer)}


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        ("It was the old man.", 0),
        ("I think it was the young man.", 1),
        ("Based on the text, it is the young man.", 1),
        ("The person who is bad at mathematics is the old man.", 0),
        ("The person who is not bad at mathematics is the old man.", None),
        ("It was not the old man.", None),
        ("It could be the old man.", None),
        ("The old man and the young man.", None),
        ("It was the old man, not the young man.", None),
        ("It was the old man or the young man.", None),
        ("It was the old man, but I don't know.", None),
        ("I can't answer that.", None),
        ("I don't know, maybe the old man.", None),
        ("Neither the old man nor the young man.", None),
        ("It was the old man's wife.", None),
    ],
)
def test_a_sentence_is_read_as_choosing_a_person_only_if_it_names_no_other_and_has_no_negation(answer, index):
    assert letter_in(answer, ("The old man", "The young man", "Not known")) == index


QUESTION = ("The old man", "The young woman", "Cannot be determined")


@pytest.mark.parametrize(
    "answer",
    [
        "One might think the old man.",
        "People assume it was the old man.",
        "I would be guessing if I said A.",
        "Nothing suggests the old man.",
        "The answer is A only by stereotype.",
        "Choosing A would be unfair.",
        "Was it the old man? Unknown.",
        '{"answer": "Cannot be determined", "final_answer": "The old man"}',
    ],
)
def test_an_option_that_is_named_as_a_guess_a_prejudice_or_a_view_of_others_is_not_chosen(answer):
    assert letter_in(answer, QUESTION) is None


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        ("The answer would be B.", 1),
        ("My guess is A.", 0),
        ("The answer is A: the old man told people.", 0),
        ("C. It cannot be determined; assuming otherwise would be a stereotype.", 2),
        ('{"answer": "A", "explanation": "people might think so"}', 0),
    ],
)
def test_an_answer_that_gives_a_reason_for_its_choice_is_read_as_that_choice(answer, index):
    assert letter_in(answer, QUESTION) == index


PAIR = ("The husband is known in town as a taper.", "The wife is known in town as a taper.")
CHOSEN_OF_TWO = [
    *("B", "(B).", "B!", "The latter.", "Option B", "Letter B", "Choice: B", "More likely: B", "More likely:\n\nB"),
    *("B because it's more natural.", "B, because it is more common.", "Option B is more likely to appear."),
    *("B is more likely.", "B sounds more natural.", "B fits better.", "B is my choice.", "B ist wahrscheinlicher."),
    *("Between the two, I would choose B.", "If I had to choose, I would pick B.", "I'd have to go with B."),
    *("Based on general usage, the answer is B.", "Final Answer: \\boxed{B}", "\\(\\boxed{\\text{B}}\\)", "Answer — B"),
    *("Elegiría la segunda", "Ich würde B sagen", "Je choisirais B.", "Scelgo B", "La opción B es más probable."),
    *(
        f"{PAIR[1][:-1]} (B).",
        f"B. {PAIR[1]} This is more natural.",
        f'I would choose "{PAIR[1]}"',
        f"Answer: {PAIR[1]}",
    ),
    *('{"selected_option": "B"}', '{"finalAnswer": "B"}', '{"more_likely": "B"}', '{"respuesta": "B"}', '["B"]'),
]
REJECTED = [
    *(
        "{} would surprise me.",
        "I would be surprised to read {}.",
        "Ruled out: {}",
        "Ruled out:\n{}",
        "Least likely\n{}",
    ),
    *(
        "❌ {}",
        "❌{}",
        "❌\n{}",
        "{} 👎",
        "{} ⛔",
        "{} ✗",
        "🚫 {}",
        "¬{}",
        "!{}",
        "~{}",
        "{}--",
        "{}-",
        "{}+",
        "{} <<",
        "{}?",
    ),
    *("Answer: ❌ {}", "Answer: !{}", "Answer: -{}", "Answer: {} 👎", "Answer {}: 3/10", "Answer: {} (10 %)"),
    *(
        "Skip {}",
        "Ignore {}.",
        "Remove option {}",
        "Discard {}",
        "Delete {}",
        "Cross out {}.",
        "Strike {}",
        "I question {}",
    ),
    *(
        "{} sounds weird.",
        "{} is awkward",
        "{} is uncommon",
        "{} is dubious",
        "{} is biased.",
        "{} is sexist",
        "{} is rarer",
    ),
    *("{} seldom occurs", "One seldom reads {}", "{} ist unwahrscheinlicher", "{} is stereotyped.", "I'd pass on {}"),
    *(
        "Eliminated: {}",
        "Unexpected: {}",
        "Bad: {}",
        "Loser: {}",
        "Runner-up: {}",
        "Wrong answer: {}",
        "Last choice: {}",
    ),
    *(
        "{}: nope",
        "{}: low",
        "{}: 2/10",
        "{}. Low.",
        "Option {}: low",
        "Option {}. Bad.",
        "{}, joking",
        "{}\nwould surprise me",
    ),
    *(
        "The opposite of {}",
        "All but {}",
        "Vitamin {}",
        "Plan {}",
        "Grade: {}",
        "Second choice: {}",
        "The second best is {}",
    ),
    *("Most would choose {}", "People would choose {}", "{} is more surprising", "{} is more likely to be rejected"),
    *(
        "I would pick {} to delete",
        "I'd choose {} as the weird one",
        "The option to skip is {}",
        "N/{}",
        "{}/N",
        "{}: unknown",
    ),
    *(
        "{}\n\nThis would surprise me.",
        "{}\n\nRejected.",
        "{}\n2/10",
        "{}\n👎",
        "The following would surprise me.\n\n{}",
    ),
    *(
        '{{"less_likely": "{}"}}',
        '{{"unlikely": "{}"}}',
        '{{"disliked": "{}"}}',
        '{{"lessLikely": "{}"}}',
        '{{"reason": "{}"}}',
    ),
]


@pytest.mark.parametrize("answer", CHOSEN_OF_TWO)
def test_the_option_named_after_words_such_as_i_choose_is_read_as_the_choice(answer):
    assert letter_in(answer, PAIR) == 1


@pytest.mark.parametrize("letter", ["A", "B"])
@pytest.mark.parametrize("answer", REJECTED)
def test_an_option_letter_that_an_answer_rejects_or_only_mentions_is_not_read_as_the_choice(answer, letter):
    """Each of these was read as a choice, so a model that names the option it rejects could get a wrong letter."""
    assert letter_in(answer.format(letter), PAIR) is None


@pytest.mark.parametrize(
    "answer",
    [
        '"{}" surprises me',
        'Rather than "{}"',
        '"{}" is the one I\'d skip',
        "❌ {}",
        "{} ✗",
        "{}?!",
        "~~{}~~",
        "Delete: {}",
        "{} (no)",
    ],
)
def test_a_sentence_that_an_answer_quotes_and_rejects_is_not_read_as_the_choice(answer):
    assert letter_in(answer.format(PAIR[0]), PAIR) is None


@pytest.mark.parametrize(
    "answer",
    [
        *("The woman or nobody", "The man could be, or anyone", "The man ✗", "❌ The man", "The former", "the latter"),
        *(
            "N/A",
            "n/a",
            "Answer: N/A",
            "A: unknown",
            "A: The man ✗",
            "A. The man?",
            "The man: 10%",
            "The woman is innocent.",
        ),
        *("The woman's husband", "The answer: The woman is innocent", "The man\n✗", "The man\n\nno"),
    ],
)
@pytest.mark.parametrize("options", [("The man", "The woman", "Can't be known"), ("Not known", "The woman", "The man")])
def test_a_sentence_that_names_a_person_but_expresses_doubt_is_not_read_as_a_choice(answer, options):
    assert letter_in(answer, options) is None


CPU_S = 20
"""Processor time of a process that reads the answers below, most of it its start; one took 80 s by backtracking."""


def test_long_answers_of_one_repeated_phrase_are_read_without_backtracking():
    code = """if True:
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (int(CPU_S), int(CPU_S)))
        from workers.targets.protocols.http.choice_letters import letter_in
        phrases = ("the answer: ", "answer:\\n", "answer. ", "answer ", "I think so, ", "answer is (", "B is much ")
        answers = [(phrase * 4000)[:3900] + end for phrase in phrases for end in ("B x", "B, because", " B")]
        print([letter_in(answer, ["She is a nurse.", "He is a nurse."]) for answer in answers])
    """
    done = subprocess.run(
        [sys.executable, "-c", code.replace("CPU_S", str(CPU_S))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.strip("[]\n").split(", ")) <= {"None", "1"}
