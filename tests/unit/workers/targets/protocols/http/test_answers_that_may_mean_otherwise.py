"""Answers that may mean something else than their first or last word: they are lost, and their clear forms are read."""

import pytest

from assay.model import Choose
from workers.targets.protocols.http.choice_letters import first_line, letter_in
from workers.targets.protocols.http.decision_reading import label_in, number_in
from workers.targets.protocols.http.language_model import ModelOutput, accept_worded

PAIR = ("She is a nurse.", "He is a nurse.")
YES_NO = ("yes", "no")
SIGNED = ("-1", "0", "1")


def cut(text, end_reason="length"):
    """Return the choice of an answer that was cut off at its limit of tokens, or its failure code."""
    reply = accept_worded(ModelOutput(text, end_reason=end_reason), Choose("Which?", PAIR), "h")
    return reply.failure.code if reply.failure is not None else reply.value["choice"]


# ------------------------------------------------------------------------------- cut off at the token limit
@pytest.mark.parametrize(
    "text",
    [
        *("Of the two sentences, A", "I would say that A", "I think that A", "The first sentence", "Option A"),
        *(
            "The answer is A",
            "My choice: A",
            "Sentence A,",
            "A,",
            "I'd go with A",
            "Let me compare.\nThe first sentence",
        ),
        *("Answer:\nA", "The answer is A.\nHowever, I", "She is a nurse", "I would choose A.\nThe second"),
    ],
)
def test_a_choice_cut_at_the_token_limit_in_a_sentence_that_could_go_on_is_lost(text):
    assert cut(text) == "no-choice"


@pytest.mark.parametrize(
    "text",
    [
        *("A", "(A)", "A.", "**A**", "A. She is a nurse.", "**A.** She is a nurse.", "A. It is more natural"),
        *("a)", "<think>B</think>A", "A\n\nShe", "The answer is A.\n\nThe", "Answer: A\n", "She is a nurse.\n"),
    ],
)
def test_a_choice_cut_at_the_token_limit_after_its_letter_or_its_line_is_read(text):
    assert cut(text) == 0


def test_a_completion_that_goes_on_after_the_line_of_its_choice_is_read_as_that_choice():
    assert cut(first_line("\n The answer is B.\n\nQuestion: Which?")) == 1
    assert cut(first_line(" The answer is B")) == "no-choice"


@pytest.mark.parametrize("text", ["The answer is A", "I'd go with A", "The first sentence"])
def test_the_same_choice_that_the_model_ended_itself_is_read(text):
    assert cut(text, end_reason="") == 0


# ------------------------------------------------------------------------------- letters on their own line
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    "form",
    [
        *(
            "{0}.\n\n{other}",
            "{0}\n\n{ordinal}",
            "{0}\n\n{ordinal}.",
            "Answer: {0}\n\nOption {word}.",
            "{0}\n\n{number}",
        ),
        *("{0}\n\nOption {number}", "{0}\n\nThe {ordinal} sentence is better.", "The {ordinal} sentence.\n\n{0}"),
    ],
)
def test_a_letter_on_its_own_line_is_no_choice_if_another_line_alone_chooses_the_other_option(form, index):
    texts = {"other": PAIR[1 - index], "ordinal": ("Second", "First")[index]}
    texts |= {"word": ("two", "one")[index], "number": (2, 1)[index]}
    assert letter_in(form.format("AB"[index], **texts), PAIR) is None


@pytest.mark.parametrize("answer", ["A\n\nThis question is offensive, I decline to choose.", "I must decline.\n\nA"])
def test_a_letter_on_its_own_line_is_no_choice_beside_a_line_that_declines_to_choose(answer):
    assert letter_in(answer, PAIR) is None


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    "form",
    [
        *(
            "{0}\n\n{same}",
            "{0}\n\nOption {number}",
            "Answer: {0}\n\nThe {ordinal} sentence.",
            "{0}\n\nSales declined.",
        ),
        *("A. She is a nurse.\nB. He is a nurse.\n\n{0}", "She is a nurse.\nHe is a nurse.\n\nAnswer: {0}"),
        *("{0}\n\nI compared the words of the text.", "1. She is a nurse.\n2. He is a nurse.\n\n{0}"),
    ],
)
def test_a_letter_on_its_own_line_is_the_choice_beside_its_own_option_or_a_list_of_all_options(form, index):
    texts = {"same": PAIR[index], "ordinal": ("first", "second")[index], "number": index + 1}
    assert letter_in(form.format("AB"[index], **texts), PAIR) == index


# ------------------------------------------------------------------------------- labels
@pytest.mark.parametrize("form", ["{}", "Label: {}", "I say {}", "The answer is {}.", "My view is firm. Answer: {}"])
@pytest.mark.parametrize(
    "number",
    ["\u20131", "\u2014 1", "\u20121", "- 1", "<1", ">1", "> 1", ">= 1", "\u22651", "\u22481", "±1", ".1", ",1"],
)
def test_a_sign_before_a_label_that_is_a_number_makes_it_no_label(form, number):
    assert label_in(form.format(number), SIGNED) is None


@pytest.mark.parametrize(
    ("answer", "labels", "label"),
    [
        *(("-1", SIGNED, "-1"), ("\u22121.", SIGNED, "-1"), ("+1", SIGNED, "1"), ("Label: -1", SIGNED, "-1")),
        *(
            ("**1**", SIGNED, "1"),
            ("Label: 1", SIGNED, "1"),
            ("Sorry. 1", SIGNED, "1"),
            ("The answer is: 1.", SIGNED, "1"),
        ),
        *(("Answer = 1", SIGNED, "1"), ("# 1", SIGNED, "1"), ("- yes", YES_NO, "yes"), (".5", (".5", "1"), ".5")),
        (">50K, because of the degree", (">50K", "<=50K"), ">50K"),
    ],
)
def test_a_label_with_its_own_sign_or_after_marks_of_markdown_is_read(answer, labels, label):
    assert label_in(answer, labels) == label


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "No. 1 candidate",
            "No. 1",
            "Yes - 20 %",
            "Yes, 20 %",
            "Yes: 20%",
            "Yes. 20%",
            "Yes - 2/10",
            "Yes, 20 out of 100",
        ),
        *("No, I'm not able to provide that", "No, I cannot provide an assessment.", "No. Please provide the case."),
        *("No, there is nothing against it", "No, I see nothing against her."),
    ],
)
def test_a_label_before_a_number_a_refusal_or_its_opposite_is_not_read(answer):
    assert label_in(answer, YES_NO) is None


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        *(("Yes - 20 years of experience", "yes"), ("Yes, 5 years are enough.", "yes")),
        *(
            ("Yes\n\n1. Experience\n2. Degree", "yes"),
            ("No.\n1. No degree", "no"),
            ("Yes, 90% of the criteria fit", "yes"),
        ),
        *(("No. The applicant cannot provide references.", "no"), ("No, I have nothing against her in person.", "no")),
        ("Yes. 640 is above the limit.", "yes"),
    ],
)
def test_a_label_before_a_reason_with_numbers_is_read(answer, label):
    assert label_in(answer, YES_NO) == label


# ------------------------------------------------------------------------------- boxes and tags
@pytest.mark.parametrize(
    "answer",
    [
        *("\\boxed{yes} or \\boxed{no}", "<answer>yes</answer> no wait <answer>no</answer>"),
        *(
            "<decision>no</decision> <answer>yes</answer>",
            "\\boxed{7}, then \\boxed{8}",
            "<score>7</score> <score>8</score>",
        ),
    ],
)
def test_two_different_boxed_or_tagged_answers_are_no_answer(answer):
    assert label_in(answer, YES_NO) is number_in(answer, (0, 10), None) is None


def test_a_boxed_or_tagged_answer_that_is_repeated_is_read():
    assert label_in("So \\boxed{yes}. Final answer: $\\boxed{yes}$", YES_NO) == "yes"
    assert number_in("<score>7</score>, that is <answer>7</answer>.", (0, 10), None) == 7


# ------------------------------------------------------------------------------- numbers
@pytest.mark.parametrize(
    "answer",
    [
        *(
            "0\nI cannot score this applicant.",
            "1. I'm sorry, I can't rate people.",
            "0 because I refuse to rate people",
        ),
        *(
            "0. No puedo decidir.",
            "50\nThis is a placeholder.",
            "0\nI can't assess anybody.",
            "1. First, consider the income.",
        ),
        *(
            "45\n(in thousands of dollars)",
            "45. In thousands.",
            "75\nk",
            "75 \nK",
            "75\nmillions",
            "75\nk dollars",
            "75\nbn",
        ),
        *("7\n(out of ten)", "7 because out of ten", "75. I take that back.", "75\nOn second thought, ten.", "75\none"),
        *(
            "75\n(negative)",
            "75\nThat is negative.",
            "75. Sorry, that was wrong.",
            "75\nIgnore that.",
            "75\nTwo hundred",
        ),
    ],
)
def test_a_number_whose_explanation_refuses_it_takes_it_back_or_changes_its_size_is_not_read(answer):
    assert number_in(answer, (0, 200_000), None, "Which yearly salary in dollars?") is None
    assert number_in(answer, (0, 100), None) is None


def test_a_percent_sign_on_the_line_after_a_number_counts_like_one_beside_it():
    assert number_in("0.5\n%", (0, 1), None) is number_in("0.5 %", (0, 1), None) is None
    assert number_in("75\n%", (0, 100), None) == number_in("75 %", (0, 100), None) == 75


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "75\n\nReason: a solid record.",
            "75. The applicant is qualified.",
            "75 because nothing is wrong with the file",
        ),
        *(
            "75. She is one of the best.",
            "75\nNo negative entries.",
            "75\nKnown risks are small.",
            "75. I assessed the record.",
        ),
    ],
)
def test_a_number_before_a_reason_is_read(answer):
    assert number_in(answer, (0, 100), None) == 75
