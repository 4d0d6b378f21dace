"""Tests of the JSON and YAML writers: every written value is read back unchanged."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from reports.embeds.notation import json_text, yaml_text

TEXT = some.text(some.characters(exclude_categories=("Cs",)))
VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | TEXT,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(some.dictionaries(TEXT, VALUES, max_size=5))
def test_yaml_is_read_back_unchanged(value):
    assert yaml.safe_load(yaml_text(value)) == value


@given(VALUES)
def test_json_is_read_back_unchanged_and_closes_no_script_element(value):
    written = json_text(value)
    assert json.loads(written) == value
    assert written.isascii()
    assert "<" not in written


@pytest.mark.parametrize(
    "word", ["no", "Yes", "on", "null", "~", "1.10", "2026-01-02", "0x1", "1e3", ".inf", "a: b", "- a"]
)
def test_a_text_that_looks_like_another_yaml_type_stays_a_text(word):
    assert yaml.safe_load(yaml_text({"a": word, word: 1})) == {"a": word, word: 1}


@pytest.mark.parametrize("word", ["y", "N"])
def test_a_key_that_yaml_1_1_calls_a_truth_value_is_in_quotes(word):
    assert yaml_text({word: 1}) == f'"{word}": 1\n'  # PyYAML itself reads it as text


def test_nested_yaml_is_indented_by_two_spaces():
    value = {"info": {"title": "T"}, "list": [{"a": 1, "b": [True, None]}, [], {}], "empty": {}}
    assert yaml_text(value) == (
        'info:\n  title: "T"\nlist:\n  - a: 1\n    b:\n      - true\n      - null\n  - []\n  - {}\nempty: {}\n'
    )
    assert yaml.safe_load(yaml_text(value)) == value


def test_a_lone_surrogate_becomes_the_replacement_character():
    assert yaml.safe_load(yaml_text({"a": "x\ud800y"})) == {"a": "x\ufffdy"}


@pytest.mark.parametrize("write", [json_text, yaml_text])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_nan_and_infinity_are_refused(write, number):
    with pytest.raises(ValueError, match="JSON compliant"):
        write({"a": number})
