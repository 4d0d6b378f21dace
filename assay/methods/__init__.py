"""The methods of rating bias, one package each, and functions that look them up by name or kind of service.

To add a method: write its module, add its class to `AnyMethod`, give it a page under
`docs/methods/`, a demo service of known bias and a paper test. Third parties add theirs through
the entry-point group ``assay.methods`` (docs/extending.md).
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib.metadata import entry_points
from typing import Any, cast, get_args

from assay.catalog.shipped import is_of_a_package, specifications
from assay.document import Json, RatingDocument, read_rating
from assay.errors import SpecificationError, UnknownName
from assay.experiment import Method
from assay.methods.alternation.method import Alternation
from assay.methods.association.method import Association
from assay.methods.forced_choice.method import ForcedChoice
from assay.methods.free_text.method import FreeText
from assay.methods.outcomes.method import Outcomes
from assay.methods.questions.method import GroupQuestions
from assay.methods.stereotype_score.method import StereotypeScore
from assay.methods.stimulus_sampling.method import StimulusSampling
from assay.methods.translation.one_hop import OneHop
from assay.methods.translation.round_trip import RoundTrip
from assay.methods.visual_stereotype.method import VisualStereotype
from assay.model import FIRST, SECOND, Kind

AnyMethod = (
    RoundTrip
    | OneHop
    | Alternation
    | ForcedChoice
    | StimulusSampling
    | Association
    | StereotypeScore
    | VisualStereotype
    | Outcomes
    | FreeText
    | GroupQuestions
)
"""Union of the shipped methods; the field ``method`` of a request selects one of them."""

METHODS: tuple[type[AnyMethod], ...] = get_args(AnyMethod)
"""Classes of the methods of `AnyMethod`, in the order of the documentation."""

_SLOTS = tuple(re.compile(rf"(?<!\{{)\{{{name}\}}") for name in (FIRST, SECOND))
"""Patterns of the placeholders {first} and {second} for two documents; doubled braces are literal text."""

GROUP = "assay.methods"
"""Entry-point group in which installed packages offer a method's class."""


__all__ = [
    "METHODS",
    "Alternation",
    "AnyMethod",
    "Association",
    "ForcedChoice",
    "FreeText",
    "GroupQuestions",
    "OneHop",
    "Outcomes",
    "RoundTrip",
    "StereotypeScore",
    "StimulusSampling",
    "VisualStereotype",
    "check_kind",
    "compares",
    "every_method",
    "fit_to",
    "method_name",
    "method_of",
    "rating_of",
    "usual_method",
]


@cache
def every_method() -> tuple[type[AnyMethod], ...]:
    """List the methods of Assay, then those of installed packages; a package cannot replace a known name.

    Raise `TypeError` if a package offers something that is no method.
    """
    methods_by_name = {method_name(method): method for method in METHODS}
    for entry in entry_points(group=GROUP):
        method_class = entry.load()
        if missing := [name for name in PROMISED if not hasattr(method_class, name)]:
            raise TypeError(
                f"{entry.value} in the entry-point group {GROUP} is {method_class!r}; a method is a frozen dataclass "
                f"that also has {', '.join(missing)} (assay.experiment.Method)"
            )
        if not issubclass(method_class, Method):
            raise TypeError(f"{entry.value} in the entry-point group {GROUP} does not inherit assay.experiment.Method")
        methods_by_name.setdefault(method_name(method_class), cast("type[AnyMethod]", method_class))
    return tuple(methods_by_name.values())


PROMISED = ("__dataclass_fields__", "method", "kinds", "summary", "paper", "design", "expected_probes")
"""Attributes that every method's class must have."""


def method_name(method_class: type[AnyMethod]) -> str:
    """Return the name of a method in requests (the default of its ``method`` field)."""
    return str(method_class.method)


def method_of(document: Json) -> type[Method]:
    """Return the class of the method that made a rating, which renders its report; `Method` if it is not installed."""
    return next((method for method in every_method() if method_name(method) == document.get("method")), Method)


def rating_of(document: Json) -> RatingDocument:
    """Parse the JSON of a rating into the component and aggregation classes of its method."""
    method = method_of(document)
    return read_rating(document, method.COMPONENT, aggregation=method.AGGREGATION)


def usual_method(kind: Kind) -> str | None:
    """Return the name of the default method for a kind of service; ``None`` if no method can rate it."""
    return next((method_name(method) for method in every_method() if kind in method.kinds), None)


def check_kind(method: AnyMethod, kind: Kind) -> None:
    """Raise `SpecificationError` that names the field ``kind`` if a method cannot rate services of this kind."""
    if kind not in method.kinds:
        rated_kinds = " or a ".join(sorted(method.kinds))
        raise SpecificationError(f"{method.method} rates a {rated_kinds}, and this target is a {kind}", "kind")


CHOSEN = frozenset(
    {
        *("attribute", "languages", "specification", "texts_per_block", "max_texts_per_block", "profiles", "samples"),
        *("draws", "half_samples", "per_term", "most_per_term", "stop_early"),
    }
)
"""Fields of methods that name an attribute or word list, or set a sample size; they hold no words and no limits."""


def is_default(method: AnyMethod, kind: Kind) -> bool:
    """Return whether all fields but names and sample sizes (`CHOSEN`) are defaults; ``False`` if any has no default."""
    required = {field.name for field in fields(method) if field.default is MISSING and field.default_factory is MISSING}
    if not required <= CHOSEN:  # a method of a plug-in, whose requester must say what to ask
        return False
    return _with_defaults(method, CHOSEN, kind) == method


def choices(experiment: Json) -> list[str]:
    """Return the limits and plain settings of an experiment that are no defaults: ``delta 3.0 instead of 0.1``."""
    method = next((method for method in every_method() if method_name(method) == experiment.get("method")), None)
    # a field with the default None may have been filled in to fit the kind of service
    defaults = {field.name: field.default for field in (fields(method) if method else ()) if field.default is not None}
    return [
        f"{name} {json.dumps(experiment[name])} instead of {json.dumps(default, default=str)}"
        for name, default in defaults.items()
        if name in experiment.keys() - CHOSEN and default is not MISSING and experiment[name] != default
        if experiment[name] is None or isinstance(experiment[name], str | int | float)
    ]


def asks_a_public_list(method: AnyMethod, kind: Kind) -> bool:
    """Return whether a method uses only a shipped, public list of words, to which a service could be tuned."""
    if not isinstance(method, Association | ForcedChoice) or (isinstance(method, ForcedChoice) and method.trials):
        return False  # the words of recorded trials are the requester's own
    default_method = _with_defaults(method, {"attribute", "specification"}, kind)
    return isinstance(default_method, Association | ForcedChoice) and default_method.words == method.words


def _with_defaults(method: AnyMethod, kept: Collection[str], kind: Kind) -> AnyMethod | None:
    """Return a copy with defaults in all fields but `kept`; ``None`` if that is invalid or words are a plug-in's."""
    words = getattr(method, "words", None)
    if words and any(map(is_of_a_package, words if isinstance(words, tuple) else (words,))):
        return None
    kept_fields = {field.name: getattr(method, field.name) for field in fields(method) if field.name in kept}
    try:
        return fit_to(type(method)(**kept_fields), kind)
    except SpecificationError:  # the method has no defaults, such as records; or the specification is a tenant's own
        return None


def compares(settings: Mapping[str, Any]) -> bool:
    """Return whether a target's request template or decision prompt has slots for two documents: {first}, {second}."""
    decision = settings.get("decision")
    prompt = decision.get("prompt") if isinstance(decision, Mapping) else None
    text = json.dumps([prompt, *(settings.get(name) for name in ("body", "path", "query"))], default=str)
    return all(slot.search(text) for slot in _SLOTS)


def fit_to(method: AnyMethod, kind: Kind, settings: Mapping[str, Any] | None = None) -> AnyMethod:
    """Return a method adapted to a kind of service, and to a service whose `settings` send two documents.

    Raise `SpecificationError` if the method cannot rate that kind with these fields, or its words or pictures are not
    known.
    """
    words = method.references().words
    if words is not None:  # specifications still named here were added by a tenant; only Assay's API can look them up
        raise UnknownName("specification", ", ".join(words.names), tuple(specifications()), field="specification")
    return (method.for_pairs() if compares(settings or {}) else method).for_kind(kind)
