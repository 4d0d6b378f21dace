"""Tests of the JSON report."""

from __future__ import annotations

import json

from assay.canonical import rating_digest
from tests.support.reports import render


def _sorted_as_a_database_would(value):
    if isinstance(value, dict):
        return {key: _sorted_as_a_database_would(value[key]) for key in sorted(value, key=lambda key: (len(key), key))}
    return [_sorted_as_a_database_would(one) for one in value] if isinstance(value, list) else value


def test_the_json_report_is_the_document_with_an_explanation_in_words(any_sample):
    shown = json.loads(render("json", any_sample))
    assert len(shown.pop("in_words")) > 100
    assert shown == any_sample
    assert rating_digest(any_sample | {"in_words": "other"}) == rating_digest(any_sample)


def test_the_order_of_keys_in_the_json_report_does_not_depend_on_the_database(any_sample):
    assert render("json", _sorted_as_a_database_would(any_sample)) == render("json", any_sample)


def test_the_json_report_begins_with_id_and_letter_and_lists_the_output_other_last(sample):
    written = json.loads(render("json", sample("BS eraser")))
    assert list(written)[:5] == ["id", "letter", "declared", "probabilities", "in_words"]
    assert list(written["probabilities"]) == ["BS", "DSBS", "UCS"]
    assert list(written["components"][0]["transitions"]["he"]) == ["he", "she", "other"]


def test_nan_and_infinity_become_null():
    shown = json.loads(render("json", {"delta": float("nan"), "seed": [float("-inf")]}))
    assert (shown["delta"], shown["seed"]) == (None, [None])


def test_the_json_report_escapes_invisible_characters_without_loss(poisoned):
    document = poisoned("BS eraser")
    written = render("json", document)
    assert not any(hidden in written for hidden in "\u202e\x00\x1b\ud800")
    assert {key: value for key, value in json.loads(written).items() if key != "in_words"} == document


def test_the_author_and_the_hosts_are_listed_with_the_target(sample):
    document = sample("undeclared") | {"author": {"name": "Quill"}, "hosts": ["quill.example"]}
    keys = list(json.loads(render("json", document)))
    assert keys[keys.index("target") :][:3] == ["target", "author", "hosts"]
