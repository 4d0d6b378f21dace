"""Expressions of `custom`: a subset of JMESPath with bounded time and memory (reliability row 64)."""

import contextlib
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import SpecificationError
from workers.targets.protocols.custom.expressions import MAX_STEPS, Expression, ExpressionTooLong
from workers.targets.protocols.custom.settings import CustomSettings

REPLY = {"data": [{"index": 1, "vector": [3.0]}, {"index": 0, "vector": [1.0]}], "text": "hola", "scores": {"a": 0.25}}


@pytest.mark.parametrize(
    ("text", "result"),
    {
        "text": "hola",
        "data[0].vector": [3.0],
        "data[].index": [1, 0],
        "data[::-1].index": [0, 1],
        "data[?index == `0`].vector | [0]": [1.0],
        "data[?contains('a literal longer than ten', 'long')].index": [1, 0],
        "sort_by(data, &index)[].vector[]": [1.0, 3.0],
        "max_by(data, &index).vector": [3.0],
        "scores.a || text": 0.25,
        "{label: text, scores: scores}": {"label": "hola", "scores": {"a": 0.25}},
        "data[].[index, vector]": [[1, [3.0]], [0, [1.0]]],
        "join(', ', keys(scores))": "a",
    }.items(),
)
def test_common_output_expressions_give_their_expected_results(text, result):
    assert Expression(text).search(REPLY) == result


# Row 64 of docs/reliability.md: at c37b512 an expression of 242 characters used 290 MB, and one of 267 held a
# worker's slot for ever.
@pytest.mark.parametrize(
    ("text", "named"),
    {
        "|".join(["[@,@]"] * 40): "several",
        "[[@,@],@]": "several",
        "{a: @, b: {c: @}}": "several",
        "[a,b,c,d,e]": "5 entries",
        "to_string(@)": "to_string()",
        "map(&a, @)": "map()",
        "merge(@, @)": "merge()",
        "to_array(@)": "to_array()",
        "data[*].not_null(`[1, 1, 1]`)": "literal list",
        "data[*].not_null('a text of many characters')": "25 characters",
        "join(text, keys(scores))": "join()",
        "data[": "not a JMESPath expression",
        "(" * 499: "not a JMESPath expression",
    }.items(),
)
def test_an_output_expression_whose_result_could_grow_without_limit_is_refused_naming_the_cause(text, named):
    with pytest.raises(SpecificationError, match="output") as refused:
        CustomSettings(body={"q": "{text}"}, output=text)
    assert named in str(refused.value)
    assert refused.value.field == "output"


@pytest.mark.slow
def test_an_output_expression_is_stopped_after_a_maximum_number_of_steps():
    zeros = [0] * MAX_STEPS
    with pytest.raises(ExpressionTooLong):
        Expression("[?@ == `1`]").search(zeros)


PARTS = st.sampled_from(
    [
        "@",
        "a",
        "a[]",
        "a[*]",
        "a[?b]",
        "[]",
        "[*]",
        "*",
        "[0]",
        "sort_by(@, &b)",
        "max_by(a, &b)",
        "values(@)",
        "[@, a]",
        "{x: @, y: a}",
        "join('0123456789', @)",
        "reverse(@)",
        "not_null(a, @)",
        "[?@ == a]",
        "a || @",
        "keys(@)",
    ]
)
WIDE = {"a": [{"b": n, "a": [n, n]} for n in range(2000)], "b": ["x"] * 2000}


@pytest.mark.slow
@given(st.lists(PARTS, min_size=1, max_size=40))
def test_an_accepted_output_expression_uses_at_most_20_mb_of_memory(parts):
    text = " | ".join(parts)
    try:
        expression = Expression(text)
    except SpecificationError:
        return
    tracemalloc.start()
    with contextlib.suppress(ExpressionTooLong, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        expression.search(WIDE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
