"""Parsing of numbers, vectors and classes in all forms that services use.

Row 115 of docs/reliability.md: ffe18d3c read the declared labels 1 and 2 as nothing, or refused them.
"""

import json
import math
import re

import pytest

from workers.targets.parsing.answer_parsing import (
    MOST_DIMENSIONS,
    MOST_LABELS,
    Misread,
    number_of,
    parse_classes,
    vector_of,
)

TWO = ("bad", "good")
THREE = ("bad", "so-so", "good")
SCORES = {"bad": 0.25, "good": 0.75}

NO_NUMBERS = [None, True, "1,5", "NaN", {}, [], [1, 2], [[1, 2]], [True], math.nan, math.inf, 10**400]
NO_NUMBERS += [1e308, -1e101, "1e200", [10**101]]


@pytest.mark.parametrize(("said", "number"), [(3, 3.0), (-0.5, -0.5), ([2], 2.0), ([[2.5]], 2.5), (0, 0.0)])
def test_number_is_parsed_from_a_json_answer(said, number):
    assert number_of(said) == number
    assert type(number_of(said)) is float


@pytest.mark.parametrize("said", NO_NUMBERS, ids=repr)
def test_answer_that_is_not_a_finite_number_is_refused(said):
    with pytest.raises(Misread):
        number_of(said)


def test_message_of_a_number_too_large_to_compute_with_states_the_limit():
    with pytest.raises(Misread, match=r"returned a number that is not finite or beyond ±1e\+30"):
        number_of(-1e308)
    assert (number_of(1e30), vector_of([-1e30])) == (1e30, [-1e30])


@pytest.mark.parametrize("said", [[1, 2.5], [[1, 2.5]], [[[1, 2.5]]]])
def test_vector_is_parsed_from_nested_json(said):
    assert vector_of(said) == [1.0, 2.5]


@pytest.mark.parametrize(
    "said",
    [
        [1, 10**400],
        [0.0] * (MOST_DIMENSIONS + 1),
        None,
        1.5,
        "0.1,0.2",
        [],
        [[]],
        {},
        [1, None],
        [1, "2"],
        [1, True],
        [1, [2]],
        [[1, 2], [3, 4]],
        [1, math.nan],
        [1, -1e308],
    ],
    ids=lambda said: repr(said)[:40],
)
def test_answer_that_is_not_a_vector_of_finite_numbers_is_refused(said):
    with pytest.raises(Misread):
        vector_of(said)


@pytest.mark.parametrize(
    ("said", "labels", "label", "scores"),
    [
        ("good", (), "good", None),
        ("good", TWO, "good", None),
        (1, (), "1", None),
        (1, TWO, "good", None),
        (1.0, TWO, "good", None),
        (1, ("0", "1"), "1", None),
        ([0.25, 0.75], TWO, None, SCORES),
        ([[0.25, 0.75]], TWO, None, SCORES),
        ([0.75], TWO, None, SCORES),
        (SCORES, (), None, SCORES),
        ([{"label": "good", "score": 0.75}, {"label": "bad", "score": 0.25}], (), None, SCORES),
        ([[{"label": "good", "score": 0.75}, {"label": "bad", "score": 0.25}]], TWO, None, SCORES),
        ({"labels": ["good", "bad"], "scores": [0.75, 0.25]}, (), None, SCORES),
        ({"label": "good", "scores": SCORES}, TWO, "good", SCORES),
        ({"label": 1, "scores": [0.25, 0.75]}, TWO, "good", SCORES),
        ({"label": "good", "score": 0.75}, (), "good", None),  # the scores of the other labels are unknown
        ({"label": None, "scores": SCORES}, (), None, SCORES),
        ({"scores": SCORES}, (), None, SCORES),
        ({"a": 0.9, "b": 0.8}, (), None, {"a": 0.9, "b": 0.8}),  # multi-label: the scores need not sum to 1
        ({"bad": -1e-9, "good": 1 + 1e-9}, (), None, {"bad": 0.0, "good": 1.0}),
    ],
    ids=repr,
)
def test_label_and_scores_are_parsed_from_a_classification(said, labels, label, scores):
    read = parse_classes(said, labels)
    assert read["label"] == label
    assert read["scores"] == (None if scores is None else pytest.approx(scores))


def test_scores_of_a_classification_are_stored_in_the_declared_order_of_labels():
    assert list(parse_classes({"good": 0.75, "bad": 0.25}, TWO)["scores"]) == ["bad", "good"]


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        (None, ()),
        (True, TWO),
        (0.75, TWO),  # ambiguous: a probability or a label
        (2, TWO),
        (-1, TWO),
        ("", ()),
        ("x" * 201, ()),
        ("ugly", TWO),
        ([], TWO),
        ([0.25, 0.75], ()),  # the labels of these scores are unknown
        ([0.25, 0.5, 0.25], TWO),
        ([0.5, 0.5], THREE),
        ([0.25, None], TWO),
        ([0.25, "75 %"], TWO),
        ([0, True], TWO),
        ([-2.5, 3.5], TWO),  # logits are not probabilities
        ([math.nan, 1], TWO),
        ({"bad": 1.0}, THREE),
        ([{"label": "bad", "score": 0.9}], THREE),  # the probabilities of the others are unknown
        ({"bad": 0.5, "ugly": 0.5}, TWO),
        ({"bad": [0.5], "good": 0.5}, ()),
        ({}, ()),
        ({"label": None}, ()),
        ({"label": "good", "score": 0.7, "extra": 1}, ()),
        ([{"label": "a", "score": 0.5}, {"label": "a", "score": 0.5}], ()),
        ([{"label": "Good", "score": 0.1}, {"label": "good", "score": 0.8}, {"label": "bad", "score": 0.1}], TWO),
        ({"GOOD": 0.9, "good": 0.1}, TWO),  # two spellings of one label
        ({"1": 0.2, "1.0": 0.3, "2": 0.5}, ("1", "2")),
        ([{"label": "a", "score": 0.5}, {"label": "b"}], ()),
        ([{"label": None, "score": 0.5}], ()),
        ({f"l{place}": 0.0 for place in range(MOST_LABELS + 1)}, ()),
        (10**400, TWO),  # JSON allows integers that no float can hold
        (-(10**400), ()),
        ({"labels": [10**400, 1], "scores": [0.5, 0.5]}, ()),
    ],
    ids=lambda said: repr(said)[:60],
)
def test_answer_that_is_not_a_classification_is_refused(said, labels):
    with pytest.raises(Misread):
        parse_classes(said, labels)


VALUES = {
    "numbers": (("1", "2"), [(1, "1"), (2, "2"), (1.0, "1"), ("2", "2"), ("1.0", "1"), (" 2 ", "2")]),
    "signs": (("1", "-1"), [(1, "1"), (-1, "-1"), ("-1", "-1"), ("\u22121", "-1"), (-1.0, "-1")]),
    "truth values": (("true", "false"), [(True, "true"), (False, "false"), ("True", "true"), ("FALSE", "false")]),
    "truth values as numbers": (("0", "1"), [(True, "1"), (False, "0"), (0, "0"), (1, "1")]),
    "numbers as truth values": (("true", "false"), [(1, "true"), (0, "false")]),
    "indices": (("bad", "good"), [(0, "bad"), (1, "good"), (1.0, "good")]),
    "words": (("Bad", "Good"), [("good", "Good"), (" BAD. ", "Bad"), ("Ｇｏｏｄ", "Good")]),
    "case": (("a", "A"), [("a", "a"), ("A", "A")]),
    "none declared": ((), [(1, "1"), (True, "true"), (-1.0, "-1"), ("x", "x")]),
}


@pytest.mark.parametrize(
    ("labels", "said", "label"), [(labels, *case) for labels, cases in VALUES.values() for case in cases]
)
def test_a_declared_label_is_recognised_by_its_value_or_spelling(labels, said, label):
    assert parse_classes(said, labels)["label"] == label
    assert parse_classes({"label": said}, labels)["label"] == label


@pytest.mark.parametrize(
    ("labels", "said"),
    [(("1", "2"), 0), (("1", "2"), 3), (("1", "-1"), 0), (("true", "false"), 2), (("bad", "good"), 2), (TWO, True)],
)
def test_a_number_that_is_no_declared_label_is_refused_with_the_setting_in_which_to_declare_it(labels, said):
    with pytest.raises(Misread, match=r"none of the declared labels \(.*settings\.labels"):
        parse_classes(said, labels)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("1", "0"), [1]),
        (("1", "0"), [0.0]),
        (("1", "0"), ["1"]),
        (("1", "2"), [[1]]),
        (("true", "false"), [1]),
        (("0.5", "1"), [0.5]),
        (("1", "0"), [[0]]),
        (("1", "0"), [1.0]),
    ],
)
def test_a_list_of_one_number_is_not_read_if_it_is_one_label_and_the_probability_of_the_other(labels, said):
    with pytest.raises(Misread, match="a list of one label"):
        parse_classes(said, labels)


@pytest.mark.parametrize(
    ("labels", "said", "second"),
    [(("0", "1"), [1], 1), (("0", "1"), [0], 0), (("1", "0"), [0.7], 0.7), (("1", "0"), {"scores": [1]}, 1)],
)
def test_a_list_of_one_number_is_the_probability_of_the_second_label_if_no_label_contradicts(labels, said, second):
    assert parse_classes(said, labels)["scores"] == pytest.approx({labels[0]: 1 - second, labels[1]: second})


@pytest.mark.parametrize("said", [{"label": "good", "score": 0.75}, [{"label": "GOOD", "score": 0.75}], {"good": 0.75}])
def test_the_score_of_one_of_two_labels_determines_the_score_of_the_other(said):
    assert parse_classes(said, TWO) == {"label": None, "scores": {"bad": 0.25, "good": 0.75}}


@pytest.mark.parametrize(
    "said",
    [
        {"label": "favourable", "score": 0.9},
        [{"label": "favourable", "score": 0.9}],
        {"favourable": 0.9},
        {"label": "unsure", "score": 0.5},
        {"labels": ["favourable"], "scores": [0.9]},
        {"label": "LABEL_1", "score": 0.75},
    ],
    ids=repr,
)
def test_the_score_of_an_undeclared_label_alone_is_no_score_of_the_declared_labels(said):
    with pytest.raises(Misread, match="none of the declared labels"):
        parse_classes(said, TWO)


@pytest.mark.parametrize(
    ("text", "number"), [("35.7", 35.7), (" -3 ", -3), ("\u22123", -3), ("1.2e3", 1200), ("５", 5)]
)
def test_a_plain_number_sent_as_text_is_read(text, number):
    assert number_of(text) == number


@pytest.mark.parametrize(
    ("text", "form", "number"),
    [
        ("35.7 %", "decimal-point", 35.7),
        ("$1,200", "decimal-point", 1200),
        ("1'234.5", "decimal-point", 1234.5),
        ("USD 1,200.50", "decimal-point", 1200.5),
        ("1.234", "decimal-point", 1.234),
        ("-$5", "decimal-point", -5),
        ("30 years", "decimal-point", 30),
        ("1.234,5", "decimal-comma", 1234.5),
        ("1 234,5 €", "decimal-comma", 1234.5),
        ("1\u202f234,5\u00a0€", "decimal-comma", 1234.5),
        ("1.234", "decimal-comma", 1234),
        ("35,7 %", "decimal-comma", 35.7),
    ],
)
def test_a_number_sent_as_text_is_read_in_the_declared_format(text, form, number):
    assert number_of(text, form) == number


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("35.7 %", ["decimal-point"]),
        ("1.234,5", ["decimal-comma"]),
        ("1.234", ["decimal-point", "decimal-comma"]),
        ("$1,200", ["decimal-point", "decimal-comma"]),
    ],
)
def test_a_number_in_another_format_is_refused_with_its_text_and_the_setting_that_reads_it(text, settings):
    with pytest.raises(Misread) as refused:
        number_of(text)
    assert text in str(refused.value)
    assert [name for name in ("decimal-point", "decimal-comma") if f'"{name}"' in str(refused.value)] == settings


@pytest.mark.parametrize("text", ["about 30", "between 3 and 5", "twelve", "3k", "5 million", "3-5", "3/4", ">5", "~3"])
@pytest.mark.parametrize("form", [None, "decimal-point", "decimal-comma"])
def test_a_text_that_is_not_a_single_number_is_refused_and_quoted(text, form):
    with pytest.raises(Misread, match=re.escape(f'"{text}"')):
        number_of(text, form)


@pytest.mark.parametrize(
    "answer", ["!favourable", "! favourable", '"!favourable"', {"label": "!favourable", "score": 0.9}]
)
def test_a_label_after_an_exclamation_mark_which_negates_it_is_refused(answer):
    with pytest.raises(Misread, match="none of the declared labels"):
        parse_classes(answer, ("favourable", "unfavourable"))


def test_equal_labels_of_several_replies_share_one_string_in_memory():
    # at commit 06d1ba2, 800 replies with 1,000 long labels took 300 MB of a worker; they take 95 MB
    one, other = (parse_classes(json.loads('{"positive": 0.25, "negative": 0.75}'))["scores"] for _ in range(2))
    assert [id(label) for label in one] == [id(label) for label in other]


@pytest.mark.parametrize("answer", [{"label": "good", "score": 0.4}, {"label": "good", "scores": {"bad": 0.6}}])
def test_a_label_that_contradicts_its_score_is_kept_beside_the_probabilities_of_both_labels(answer):
    assert parse_classes(answer, TWO) == {"label": "good", "scores": {"bad": 0.6, "good": 0.4}}
