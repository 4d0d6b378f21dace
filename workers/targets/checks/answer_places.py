"""Search the JSON body of a response for the value that is probably the answer, by types and names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from assay.document import JsonObject
from assay.model import Kind
from workers.targets.checks.translator import numbers_in
from workers.targets.parsing.written_numbers import numbers_by_form, plain_number

MOST_PATHS = 3
"""Maximum number of suggested expressions for the answer."""

MOST_NODES = 2000
"""Maximum number of values of a body that are searched."""

_LABEL_NAMES = ("label", "class", "category", "name", "tag")
_SCORE_NAMES = ("score", "probability", "confidence", "prob", "value")
"""Names under which a class's label and its probability may be written, the likeliest first."""

_ANSWER_NAME = re.compile(
    r"score|prob|confiden|positiv|negativ|sentiment|predict|result|label|class|translat|text|output|answer|embedding"
    r"|vector|rating|stars|percent",
    re.IGNORECASE,
)
_METADATA = re.compile(
    r"(?i)(id|status|state|code|model|version|type|object|created|index|lang(uage)?|ok|success|errors?|usage|meta(data)?"
    r"|role|(finish|stop|done)_?reason"
    r"|(.*_)?(ms|seconds|at|id|count|total|tokens|version)|(took|time|latency|duration|elapsed|detected).*)"
)
_PATH_STEP = re.compile(r"[^\W\d]\w*")
_STREAM_START = re.compile(rb"\s*(?:data|event|id|retry)?:")
_EVENT_DATA = re.compile(rb"^data: ?(.+)$", re.MULTILINE)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def json_in(body: bytes) -> Any:
    """Parse a body as JSON; return ``None`` if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def settings_that_read(body: bytes, kind: Kind, other_bodies: Sequence[bytes] = ()) -> JsonObject:
    """Return settings of the protocol `custom` that extract the likely answer from a body; empty if none is likely.

    `other_bodies` are the answers to other questions; a value that is the same in all of them is an unlikely answer.
    """
    if _STREAM_START.match(body) and (events := _EVENT_DATA.findall(body)):  # a stream of server-sent events
        other_events = [event for other in other_bodies for event in _EVENT_DATA.findall(other) if json_in(event)]
        likeliest_paths = [path for event in events for path in islice(answer_paths(event, kind, other_events), 1)]
        return {"response": "events", "output": max(likeliest_paths, key=likeliest_paths.count, default="@")}
    if body and json_in(body) is None:
        return {"response": "text"}
    paths, values = list(answer_paths(body, kind, other_bodies)), dict(values_in(json_in(body)))
    settings: JsonObject = {}
    may_be_label = bool(paths) and _METADATA.fullmatch(last_name(paths[0])) is None  # a text named "id" is no label
    is_likely_label = may_be_label and _percentage(values.get(paths[0])) is None  # nor is "87%"
    if kind is Kind.CLASSIFIER and not is_likely_label:
        number_paths = [
            path
            for path in answer_paths(body, Kind.REGRESSOR, other_bodies)
            if not isinstance(values[path], str) or _percentage(values[path]) is not None
        ]
        if number_paths:  # the likeliest number is taken for the probability of the label "yes"
            percentage = _percentage(values[number_paths[0]])
            is_percentage = percentage is not None or values[number_paths[0]] > 1
            scale = {"scale": [0, 100]} if is_percentage else {}
            settings = {"labels": ["no", "yes"], "number": "probability", **scale}
            paths = number_paths
    if kind is Kind.REGRESSOR and paths:
        likeliest_value = values[paths[0]]
        if isinstance(likeliest_value, str) and plain_number(likeliest_value) is None:
            settings = {"number": next(iter(numbers_by_form(likeliest_value)))}
    return settings | ({"output": paths[0]} if paths else {})


def answer_paths(body: bytes, kind: Kind, other_bodies: Sequence[bytes] = ()) -> Iterator[str]:
    """Yield JMESPath expressions for values that may be the answer, the likeliest first, at most `MOST_PATHS`.

    A translation is recognised by the number in the sentence that was sent; otherwise the type and the name decide.
    Values that are the same in all `other_bodies`, the answers to other questions, come last; for a classifier, whose
    answers may be alike, only such values without a usual name come last.
    """
    values = list(values_in(json_in(body)))
    names_in = {path: _PATH_STEP.findall(path) for path, _ in values}
    candidates = [(path, value) for path, value in values if _fits_kind(value, kind)]
    candidates = [(path, value) for path, value in candidates if not {"error", "errors"}.intersection(names_in[path])]
    constants = constants_in(body, other_bodies)
    if kind in {Kind.CLASSIFIER, Kind.IMAGE_CLASSIFIER}:
        constants = {path: value for path, value in constants.items() if not _ANSWER_NAME.search(last_name(path))}
        candidates = [(_class_expression(path, value), value) for path, value in candidates]
    else:  # labels may have a name of metadata, as in {"type": "toxic"}; other answers do not
        candidates = [(path, value) for path, value in candidates if not any(map(_METADATA.fullmatch, names_in[path]))]
    if kind is Kind.TRANSLATOR:
        candidates = [(path, value) for path, value in candidates if numbers_in(value)] or candidates
    ranking = sorted(candidates, key=lambda candidate: (candidate[0] in constants, _rank(*candidate)))
    yield from list(dict.fromkeys(path for path, _ in ranking))[:MOST_PATHS]


def constants_in(body: bytes, other_bodies: Sequence[bytes]) -> dict[str, object]:
    """Return a body's values, by JMESPath expression, that all `other_bodies` have too; empty without other bodies."""
    others = [dict(values_in(json_in(other_body))) for other_body in other_bodies]
    values = dict(values_in(json_in(body))) if others else {}
    return {path: value for path, value in values.items() if all(other.get(path) == value for other in others)}


def _percentage(value: object) -> float | None:
    """Return the number of a text such as "87%"; ``None`` for anything else."""
    is_percentage = isinstance(value, str) and value.strip().endswith("%")
    return next(iter(numbers_by_form(str(value)).values()), None) if is_percentage else None


def _rank(path: str, value: object) -> tuple[bool, bool, bool]:
    """Return a sort key by which texts, names of metadata and other unlikely names come last."""
    name = last_name(path)
    return isinstance(value, str), _METADATA.fullmatch(name) is not None, _ANSWER_NAME.search(name) is None


def last_name(path: str) -> str:
    """Return the last member name in an expression; empty if the expression has no name."""
    return str(["", *_PATH_STEP.findall(path)][-1])


def _key_in(value: object, keys: tuple[str, ...], value_type: type) -> str | None:
    """Return the first of `keys` under which an object has a value of a type; ``None`` if there is none."""
    return next((key for key in keys if isinstance(value, Mapping) and isinstance(value.get(key), value_type)), None)


def _class_expression(path: str, value: object) -> str:
    """Return a JMESPath expression that converts the classes at a path (`value`) to a form that Assay can parse."""
    if not isinstance(value, list):
        return path
    base, first_class = path.removeprefix("@"), value[0]
    label_name, score_name = _key_in(first_class, _LABEL_NAMES, str), _key_in(first_class, _SCORE_NAMES, float)
    if len(value) == 1 and first_class[score_name] < 1:
        return f"{base}[0].{label_name}"  # only the likeliest class: the probabilities of other classes are unknown
    is_usual = (label_name, score_name) == ("label", "score")
    return path if is_usual else f"{base}[].{{label: {label_name}, score: {score_name}}}"


def values_in(document: object) -> Iterator[tuple[str, Any]]:
    """Yield (JMESPath expression, value) of the values in a document, outermost first; of a list, two elements only."""
    waiting, visited_count = [("", document)], 0
    while waiting and visited_count < MOST_NODES:
        path, value = waiting.pop(0)
        visited_count += 1
        yield path or "@", value
        if isinstance(value, Mapping):
            for name, member in value.items():
                step = name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)
                waiting.append((f"{path}.{step}" if path else step, member))
        elif isinstance(value, list):
            # later elements are usually like the first two
            waiting += [(f"{path}[{index}]", element) for index, element in enumerate(value[:2])]


def _fits_kind(value: Any, kind: Kind) -> bool:
    """Whether a service of this kind could answer with a value of this form."""
    match kind:
        case Kind.REGRESSOR:
            return _is_number(value) or (isinstance(value, str) and bool(numbers_by_form(value)))
        case Kind.EMBEDDER:
            return isinstance(value, list) and len(value) > 1 and all(map(_is_number, value))
        case Kind.CLASSIFIER | Kind.IMAGE_CLASSIFIER:
            return isinstance(value, str) or _is_score_map(value) or _is_class_list(value)
        case _:
            return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_score_map(value: object) -> bool:
    """Return whether an object has several members, all of them scores: fractions, unlike counts and other integers."""
    return isinstance(value, Mapping) and len(value) > 1 and all(isinstance(score, float) for score in value.values())


def _is_class_list(value: object) -> bool:
    """Return whether the first element of a list has a label and its score."""
    entry = value[0] if isinstance(value, list) and value else None
    return _key_in(entry, _LABEL_NAMES, str) is not None and _key_in(entry, _SCORE_NAMES, float) is not None
