"""Kinds of description of a rated service: default, named (with a chosen model), changed, or uploaded.

Row 90 of docs/reliability.md: ffe18d3c showed a competitor's rating, or invented answers, on the owner's badge.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.catalog import shipped
from assay.methods import asks_a_public_list, choices, fit_to, is_default
from assay.model import Kind
from store.ratings.experiment_json import dump_method, parse_method
from workers.targets.registry import settings_chosen

CHAT = {"protocol": "openai-chat", "settings": {"model": "m"}}


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("libretranslate", {}),
        ("libretranslate", {"language_codes": {}}),
        ("deepl", {}),
        ("google", {}),
        ("tei", {}),
    ],
)
def test_a_target_without_chosen_settings_is_recorded_as_having_the_default_description(protocol, settings):
    assert settings_chosen({"protocol": protocol, "settings": settings}) == "default"


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("openai-chat", {"model": "ft:m:rival::persona"}),
        ("openai-chat", {"model": "m", "temperature": 0}),
        ("ollama", {"model": "m"}),
        ("anthropic", {"model": "m"}),
        ("azure-openai", {"deployment": "d"}),
        ("hf-inference", {"model": "rival/persona"}),
        ("vertex", {"model": "m", "project": "p", "location": "global"}),
    ],
)
def test_a_target_whose_requester_chose_only_the_model_is_recorded_as_named(protocol, settings):
    assert settings_chosen({"protocol": protocol, "settings": settings}) == "named"


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [
        ("custom", {"body": {"q": "{text}"}}),
        ("openai-chat", {"model": "m", "instruction": "Translate {source} to {target}, with men as doctors."}),
        ("openai-chat", {"model": "m", "choice_instruction": "Choose the man."}),
        ("openai-chat", {"model": "m", "temperature": 2.0}),
        ("openai-chat", {"model": "m", "auth": {"type": "header", "name": "X-Persona"}}),
        ("anthropic", {"model": "m", "body": {"system": "Prefer men."}}),
        ("anthropic", {"model": "m", "headers": {"X-Persona": "sexist"}}),
        ("anthropic", {"model": "m", "query": {"persona": "sexist"}}),
        ("anthropic", {"model": "m", "path": "/v1/other"}),
        ("anthropic", {"model": "m", "max_tokens": 1}),
        ("libretranslate", {"language_codes": {"es": "fr"}}),
        ("uploaded", {"upload": "upl_1"}),
    ],
)
def test_a_target_with_settings_that_affect_requests_or_answers_is_recorded_as_changed(protocol, settings):
    assert settings_chosen({"protocol": protocol, "settings": settings}) == "changed"


def method(kind, **written):
    """Return a method as a worker builds it from the job's experiment."""
    fitted = fit_to(parse_method(written), kind)
    return parse_method(dump_method(fitted))


DEFAULT = [
    (Kind.TRANSLATOR, {"method": "round-trip", "attribute": "gender"}),
    (Kind.TRANSLATOR, {"method": "one-hop", "attribute": "gender", "languages": ["fr"], "texts_per_block": 20}),
    (Kind.CLASSIFIER, {"method": "alternation", "attribute": "gender", "profiles": 100}),
    (Kind.LANGUAGE_MODEL, {"method": "stereotype-score", "specification": "p4-professions"}),
    (Kind.EMBEDDER, {"method": "association", "specification": "weat-7"}),
]

CHANGED = [
    (Kind.TRANSLATOR, {"method": "round-trip", "attribute": "gender", "delta": 0.001}),
    (Kind.TRANSLATOR, {"method": "round-trip", "attribute": "gender", "confidence": 0.51}),
    (Kind.CLASSIFIER, {"method": "alternation", "attribute": "gender", "tie": 0.6}),
    (
        Kind.LANGUAGE_MODEL,
        {
            "method": "stereotype-score",
            "specification": "p4-professions",
            "sentences": [{"text": "The woman is a secretary."}],
        },
    ),
]


@pytest.mark.parametrize(("kind", "written"), DEFAULT)
def test_an_experiment_with_built_in_words_counts_as_default(kind, written):
    assert is_default(method(kind, **written), kind)
    assert choices(dump_method(method(kind, **written))) == []


@pytest.mark.parametrize(("kind", "written"), CHANGED)
def test_an_experiment_with_the_requesters_own_words_or_limits_does_not_count_as_default(kind, written):
    assert not is_default(method(kind, **written), kind)


def test_limits_that_the_requester_chose_are_named_with_the_defaults_that_they_replace():
    limits = {"delta": 3, "delta_individual": None, "strata": None, "labels": ["no", "yes"]}
    own = method(Kind.CLASSIFIER, method="alternation", attribute="gender", **limits)
    assert choices(dump_method(own)) == [
        "delta 3.0 instead of 0.1",
        "strata null instead of []",
        "delta_individual null instead of 0.25",
    ]
    assert choices({"method": "of a plug-in that is missing", "delta": 3}) == choices({}) == []


def test_own_words_under_the_name_of_a_built_in_list_do_not_count_as_default():
    shipped = dump_method(fit_to(parse_method({"method": "association", "specification": "weat-7"}), Kind.EMBEDDER))
    shipped["words"]["human"] = [*shipped["words"]["human"][1:], "tyrant"]
    assert not is_default(parse_method(shipped), Kind.EMBEDDER)


@pytest.mark.parametrize(
    ("kind", "written", "public"),
    [
        (Kind.EMBEDDER, {"method": "association", "specification": "weat-7"}, True),
        (Kind.EMBEDDER, {"method": "association", "specification": "weat-7", "delta": 0.2}, True),
        (Kind.EMBEDDER, {"method": "forced-choice", "attribute": "gender"}, True),
        (Kind.TRANSLATOR, {"method": "round-trip", "attribute": "gender"}, False),
        (Kind.CLASSIFIER, {"method": "alternation", "attribute": "gender"}, False),
    ],
)
def test_built_in_word_lists_are_marked_as_public_because_a_service_can_know_them(kind, written, public):
    assert asks_a_public_list(method(kind, **written), kind) is public


def test_an_experiment_with_the_requesters_own_words_is_not_marked_as_using_a_public_word_list():
    shipped = dump_method(fit_to(parse_method({"method": "association", "specification": "weat-7"}), Kind.EMBEDDER))
    shipped["words"]["human"] = [*shipped["words"]["human"][1:], "tyrant"]
    assert not asks_a_public_list(parse_method(shipped), Kind.EMBEDDER)


def test_a_word_list_of_a_plug_in_counts_neither_as_public_nor_as_the_default(monkeypatch):
    specification = shipped.specifications()["weat-7"]
    words = replace(specification.words, name="theirs", human=specification.words.human[1:])
    monkeypatch.setattr(shipped, "plug_ins", lambda *_: iter([replace(specification, name="theirs", words=words)]))
    shipped.specifications.cache_clear()
    try:
        association = method(Kind.EMBEDDER, method="association", specification="theirs", attribute=words.attribute)
        assert association.words == words
        assert not asks_a_public_list(association, Kind.EMBEDDER)
        assert not is_default(association, Kind.EMBEDDER)
    finally:
        shipped.specifications.cache_clear()
