"""Malformed bodies of every protocol: the outcome is always a text or a typed failure."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Any

import pytest

from assay.model import Kind, Reply, Translate
from workers.egress import CODES, CallFailed, Egress
from workers.targets.adapter import Limits, Target
from workers.targets.registry import connect

LOOPBACK = (ip_network("127.0.0.0/8"),)
SECRET = "sk-bodies-1f2e3d4c"
ONE, TWO = ["She came."], ["She came.", "He left."]


@dataclass(frozen=True)
class Speech:
    """A protocol with a valid answer to `texts` and a valid list of languages."""

    protocol: str
    texts: Sequence[str]
    answer: Any
    languages: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)


PAIR = ["Ella vino.", "Él se fue."]
PROTOCOL_OF_KIND = [{"code": "en", "targets": ["es"]}, {"code": "es", "targets": ["en"]}]
SPEECHES = {
    "libretranslate": Speech("libretranslate", ONE, {"translatedText": PAIR[0]}, PROTOCOL_OF_KIND),
    "libretranslate, several": Speech("libretranslate", TWO, {"translatedText": PAIR}, PROTOCOL_OF_KIND),
    "apertium": Speech(
        "apertium",
        ONE,
        {"responseData": {"translatedText": PAIR[0]}, "responseStatus": 200},
        {"responseData": [{"sourceLanguage": "eng", "targetLanguage": "spa"}], "responseStatus": 200},
    ),
    "deepl": Speech("deepl", TWO, {"translations": [{"text": text} for text in PAIR]}, [{"language": "EN"}]),
    "google v2": Speech(
        "google",
        TWO,
        {"data": {"translations": [{"translatedText": text} for text in PAIR]}},
        {"data": {"languages": [{"language": "en"}, {"language": "es"}]}},
    ),
    "google v3": Speech(
        "google",
        TWO,
        {"translations": [{"translatedText": text} for text in PAIR]},
        {"languages": [{"languageCode": "en"}]},
        {"version": "v3", "project": "p-1"},
    ),
    "azure 3.0": Speech(
        "azure", TWO, [{"translations": [{"text": text, "to": "es"}]} for text in PAIR], {"translation": {"en": {}}}
    ),
    "azure 2026-06-06": Speech(
        "azure",
        TWO,
        {"value": [{"translations": [{"text": text}]} for text in PAIR]},
        {"translation": {"en": {}}},
        {"api_version": "2026-06-06"},
    ),
    "openai-chat": Speech(
        "openai-chat",
        ONE,
        {"choices": [{"message": {"content": PAIR[0], "refusal": None}, "finish_reason": "stop"}]},
        settings={"model": "m"},
    ),
    "custom": Speech(
        "custom",
        ONE,
        {"out": {"said": PAIR[0]}},
        settings={"body": {"q": "{text}"}, "output": "out.said", "auth": "header", "path": "/do/{source}"},
    ),
    "custom, several": Speech(
        "custom",
        TWO,
        {"out": [{"said": text} for text in PAIR]},
        settings={"body": {"q": "{texts}"}, "output": "out[*].said", "batch": "array", "auth": "header"},
    ),
}

WRONG: Sequence[Any] = (
    None, True, 0, -1, 1.5, 10**30, "", "text", [], [None], ["a", "b", "c"], [[]], [[["deep"]]], {}, {"text": None},
    {"error": "no"}, {"0": "a"}, [{}], [{"text": 1}],
)  # fmt: skip
"""Wrong values that replace each part of a valid answer in turn."""


def mutations(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield variants of a JSON value: in each variant, one part is replaced by a wrong value or removed."""
    for path in _paths(value):
        for wrong in WRONG:
            yield f"{path} is {json.dumps(wrong)}", _with(value, path, wrong)
        if path:
            yield f"{path} is missing", _without(value, path)


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        for rest in _paths(one):
            yield (step, *rest)


def _with(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    if not path:
        return wrong
    made = copy.deepcopy(value)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = wrong
    return made


def _without(value: Any, path: tuple[Any, ...]) -> Any:
    made = copy.deepcopy(value)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return made


def ask(villain, tools, speech, bodies, *, languages=False):
    """Send a question once per body; return the outcome of each."""
    answers = itertools.cycle(bodies)  # some protocols request the list of languages twice
    service = villain(lambda heard: tools.raw(next(answers), content_type="application/json"))
    target = Target("T", Kind.TRANSLATOR, speech.protocol, service.url, speech.settings, SECRET, Limits(timeout_s=10))

    async def go():
        outcomes = []
        async with Egress(LOOPBACK) as egress:
            adapter = connect(target, egress)
            for _ in bodies:
                try:
                    if languages:
                        outcomes.append(await adapter.languages())
                    else:
                        outcomes.append(await adapter.answer([Translate(text, "en", "es") for text in speech.texts]))
                except CallFailed as failed:
                    outcomes.append(failed)
        return outcomes

    outcomes = asyncio.run(go())
    assert SECRET not in repr(outcomes)
    return outcomes


def known(code: str) -> bool:
    return code in CODES or code.removeprefix("http-").isdigit()


def is_typed(outcome: Any, count: int) -> bool:
    """Return whether an outcome is typed: a failure with a known code, or a text or failure for each question."""
    if isinstance(outcome, CallFailed):
        return known(outcome.code)
    return len(outcome) == count and all(
        isinstance(reply, Reply) and (isinstance(reply.value, str) if reply.ok else known(reply.failure.code))
        for reply in outcome
    )


@pytest.mark.parametrize("speech", SPEECHES.values(), ids=SPEECHES)
def test_any_mutated_answer_becomes_a_text_or_a_typed_failure(villain, tools, speech):
    made = [("sound", speech.answer), *mutations(speech.answer)]
    outcomes = ask(villain, tools, speech, [json.dumps(body).encode() for _, body in made])
    assert [reply.value for reply in outcomes[0]] == PAIR[: len(speech.texts)]
    untyped = [
        what for (what, _), outcome in zip(made, outcomes, strict=True) if not is_typed(outcome, len(speech.texts))
    ]
    assert untyped == []


TELLING = {name: speech for name, speech in SPEECHES.items() if speech.languages}


@pytest.mark.parametrize("speech", TELLING.values(), ids=TELLING)
def test_any_mutated_list_of_languages_is_parsed_or_becomes_a_typed_failure(villain, tools, speech):
    made = [speech.languages, speech.languages, *(body for _, body in mutations(speech.languages))]
    outcomes = ask(villain, tools, speech, [json.dumps(body).encode() for body in made], languages=True)
    assert not isinstance(outcomes[0], CallFailed)
    for outcome in outcomes:
        if isinstance(outcome, CallFailed):
            assert known(outcome.code)
        else:
            assert all(isinstance(one, str) for pair in outcome for one in pair)


FOREIGN = {
    "nothing": (b"", "bad-json"),
    "half": (b'{"translatedText": "Ella', "bad-json"),
    "two values": (b"{}{}", "bad-json"),
    "NaN": (b'{"translatedText": "x", "score": NaN}', "bad-json"),
    "Infinity": (b'{"translatedText": "x", "score": Infinity}', "bad-json"),
    "a number like infinity": (b'{"translatedText": "x", "score": 1e999}', "bad-json"),
    "a number like minus infinity": (b'{"translatedText": "x", "score": -1e999}', "bad-json"),
    "an integer of 5,000 digits": (b'{"translatedText": "x", "id": 1' + b"0" * 5000 + b"}", "bad-json"),
    "100,000 arrays": (b'{"translatedText": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "bad-json"),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "bad-json"),
    "100,000 beginnings": (b"[" * 100_000, "bad-json"),
    "Latin-1": ('{"translatedText": "Él vino."}'.encode("latin-1"), "bad-json"),
    "overlong UTF-8": (b'{"translatedText": "\xc0\xaf"}', "bad-json"),
    "single quotes": (b"{'translatedText': 'x'}", "bad-json"),
    "a comment": (b'{"translatedText": "x"} // ok', "bad-json"),
    "a line break in a text": (b'{"translatedText": "a\nb"}', "bad-json"),
    "a page": (b"<!doctype html><title>Sign in</title>", "garbage"),
    "a page behind blanks": (b"\n\n  <html>", "garbage"),
    "null": (b"null", "wrong-shape"),
    "a number": (b"7", "wrong-shape"),
    "a text": (b'"Ella vino."', "wrong-shape"),
    "a list": (b'["Ella vino."]', "wrong-shape"),
    "too many": (b'{"translatedText": ["a", "b"]}', "wrong-count"),
    "too few": (b'{"translatedText": []}', "wrong-count"),
    "a list in a list": (b'{"translatedText": [["a"]]}', "wrong-shape"),
    "a list of nothing": (b'{"translatedText": [null]}', "wrong-shape"),
    "five megabytes": (b'{"translatedText": "' + b"x" * 5_000_000 + b'"}', "too-large"),
}


@pytest.mark.parametrize(("body", "code"), FOREIGN.values(), ids=FOREIGN)
def test_a_malformed_body_becomes_a_failure_with_the_expected_code(villain, tools, body, code):
    (outcome,) = ask(villain, tools, SPEECHES["libretranslate"], [body])
    assert isinstance(outcome, CallFailed)
    assert outcome.code == code


STRANGE = {
    "a mark before it": (b'\xef\xbb\xbf{"translatedText": "Ella"}', "Ella"),
    "UTF-16": ('{"translatedText": "Él"}'.encode("utf-16"), "Él"),
    "half a surrogate pair": (b'{"translatedText": "a\\ud800b"}', "a\ud800b"),
    "half a surrogate pair, not escaped": (b'{"translatedText": "a\xed\xa0\x80b"}', "a\ud800b"),
    "a whole surrogate pair": (b'{"translatedText": "\\ud83d\\ude00 ella"}', "😀 ella"),
    "NUL": (b'{"translatedText": "a\\u0000b"}', "a\0b"),
    "control characters": (b'{"translatedText": "\\u001b[31mElla\\u0007"}', "\x1b[31mElla\x07"),
    "right-to-left marks": (b'{"translatedText": "\xe2\x80\xaeElla\\u202c \\u2066"}', "\u202eElla\u202c \u2066"),
    "the same key twice": (b'{"translatedText": "Ella", "translatedText": "El"}', "El"),
    "a key in escapes": (b'{"\\u0074ranslatedText": "Ella"}', "Ella"),
    "markup": (b'{"translatedText": "<script>alert(1)</script>"}', "<script>alert(1)</script>"),
    "nothing": (b'{"translatedText": ""}', ""),
}  # fmt: skip


@pytest.mark.parametrize(("body", "text"), STRANGE.values(), ids=STRANGE)
def test_an_unusual_text_is_recorded_unchanged(villain, tools, body, text):
    ((reply,),) = ask(villain, tools, SPEECHES["libretranslate"], [body])
    assert reply == Reply(text)


MOST = 10_000 + 10 * len(ONE[0])


@pytest.mark.parametrize(("length", "ok"), [(MOST, True), (MOST + 1, False), (1_000_000, False)])
def test_a_translation_above_the_maximum_length_is_a_failed_reply(villain, tools, length, ok):
    ((reply,),) = ask(
        villain, tools, SPEECHES["libretranslate"], [json.dumps({"translatedText": "x" * length}).encode()]
    )
    assert reply.ok is ok
    assert ok or reply.failure.code == "too-large"


@pytest.mark.parametrize("around", ["{}", "Bearer {}", '{{"api_key": "{}"}}'])
def test_an_answer_that_contains_the_key_is_not_recorded(villain, tools, around):
    body = json.dumps({"translatedText": ["Ella vino.", around.format(SECRET)]}).encode()
    ((sound, echo),) = ask(villain, tools, SPEECHES["libretranslate, several"], [body])
    assert sound == Reply("Ella vino.")
    assert echo.failure.code == "wrong-shape"
    assert SECRET not in repr(echo)


MISFITS = {
    "a text that holds a number": ("contains(a, `1`)", {"a": "x"}),
    "a number too large to round": ("floor(sum(a))", {"a": [1e308, 1e308]}),
    "a step of nothing": ("a[::0]", {"a": ["x"]}),
    "a text above a number": ("a > b && 'x'", {"a": "x", "b": 1}),
    "the length of a number": ("length(a)", {"a": 1}),
    "sorted by this and that": ("sort_by(a, &b)[0].b", {"a": [{"b": "x"}, {"b": 1}]}),
    "joined numbers": ("join(' ', a)", {"a": [1, 2]}),
}


@pytest.mark.parametrize(("output", "answer"), MISFITS.values(), ids=MISFITS)
def test_an_answer_that_the_output_expression_does_not_match_is_a_failure_with_a_code(villain, tools, output, answer):
    speech = Speech("custom", ONE, answer, settings={"body": {"q": "{text}"}, "output": output, "auth": "header"})
    (outcome,) = ask(villain, tools, speech, [json.dumps(answer).encode()])
    assert isinstance(outcome, CallFailed)
    assert outcome.code == "wrong-shape"


@pytest.mark.parametrize("place", ["path", "query", "form", "json"])
def test_a_text_with_half_a_surrogate_pair_can_be_sent_in_path_query_form_and_json(villain, tools, place):
    settings = {
        "path": {"path": "/do/{text}", "method": "GET"},
        "query": {"query": {"q": "{text}"}, "method": "GET"},
        "form": {"body": {"q": "{text}"}, "encoding": "form"},
        "json": {"body": {"q": "{text}"}},
    }[place]
    speech = Speech("custom", ["a\ud800b"], None, settings={**settings, "output": "out", "auth": "header"})
    (outcome,) = ask(villain, tools, speech, [b'{"out": "Ella"}'])
    assert outcome == [Reply("Ella")]


def test_a_plain_text_answer_is_read_without_byte_order_mark_and_with_invalid_bytes_replaced(villain, tools):
    settings = {"body": {"q": "{text}"}, "response": "text", "auth": "header"}
    bodies = ["\ufeff Ella vino. ".encode(), b"\xc9l vino."]
    outcomes = ask(villain, tools, Speech("custom", ONE, None, settings=settings), bodies)
    assert [replies[0].value for replies in outcomes] == ["Ella vino.", "\ufffdl vino."]
