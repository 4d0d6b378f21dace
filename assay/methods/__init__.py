"""How to look for bias, one module each, and the one list of them.

To add a method: write its module, add it to `METHODS` and `AnyMethod`, give it a page under
`docs/methods/`, a demo service of known bias and a paper test. Third parties add theirs through
the entry-point group ``assay.methods``.
"""

from __future__ import annotations

from assay.catalog.shipped import specifications
from assay.errors import SpecificationError, UnknownName
from assay.methods.alternation import Alternation
from assay.methods.association import Association
from assay.methods.forced_choice import ForcedChoice
from assay.methods.one_hop import OneHop
from assay.methods.round_trip import RoundTrip
from assay.model import Kind

AnyMethod = RoundTrip | OneHop | Alternation | ForcedChoice | Association
"""Every specification the API accepts, told apart by its ``method`` field."""

METHODS: tuple[type[AnyMethod], ...] = (RoundTrip, OneHop, Alternation, ForcedChoice, Association)
"""The same as a list, in the order of the documentation."""


__all__ = [
    "METHODS",
    "Alternation",
    "AnyMethod",
    "Association",
    "ForcedChoice",
    "OneHop",
    "RoundTrip",
    "check_kind",
    "fit_to",
    "method_name",
    "usual_method",
]


def method_name(kind: type[AnyMethod]) -> str:
    """Name a method as requests do (the default of its ``method`` field)."""
    return str(kind.method)


def usual_method(kind: Kind) -> str | None:
    """Name the method to rate a kind of service with where none is asked for."""
    return next((method_name(each) for each in METHODS if kind in each.kinds), None)


def check_kind(method: AnyMethod, kind: Kind) -> None:
    """Refuse a kind of service that a method cannot rate.

    Raises
    ------
    SpecificationError
        Naming the kinds it can; the field is the target's.
    """
    if kind not in method.kinds:
        can = " or a ".join(sorted(method.kinds))
        raise SpecificationError(f"{method.method} rates a {can}, and this target is a {kind}", "kind")


def fit_to(method: AnyMethod, kind: Kind) -> AnyMethod:
    """Fit a method to the kind of service it is to rate.

    Raises
    ------
    SpecificationError
        If it cannot rate that kind so, or its words are not there; the field is the experiment's.
    """
    words = getattr(method, "words", ())
    if words is None:  # nobody has filled in the caller's own
        named = str(getattr(method, "specification", ""))
        raise UnknownName("specification", named, tuple(specifications()), "specification")
    return method.for_kind(kind) if isinstance(method, Alternation | ForcedChoice) else method
