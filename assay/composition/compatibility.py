"""Compatibility of services in a chain, and the kind of the chain.

The output of a service must be an input of the next service. Only translators and language models return a text, which
other services accept; a language model can only begin a chain. A class or a number ends a chain. An embedder cannot be
part of a chain: its rating is about single words and not about texts of another service.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.errors import OutOfBounds, SpecificationError
from assay.model import Kind

MIN_LINKS, MAX_LINKS = 2, 20
"""Minimum and maximum number of services in a chain."""

GIVES: Mapping[Kind, str] = {
    Kind.TRANSLATOR: "a text",
    Kind.LANGUAGE_MODEL: "a text",
    Kind.CLASSIFIER: "a class",
    Kind.REGRESSOR: "a number",
    Kind.EMBEDDER: "vectors",
    Kind.IMAGE_CLASSIFIER: "a class",
    Kind.DECISION_TOOL: "recorded decisions",
}
"""Description of the output of each kind; only a text is an input of other services."""

ENDS = frozenset({Kind.TRANSLATOR, Kind.CLASSIFIER, Kind.REGRESSOR})
"""Kinds that accept a text of another service."""


class Incompatible(SpecificationError):
    """A service of a chain cannot follow the service before it."""

    code = "incompatible"

    def __init__(self, index: int, message: str) -> None:
        super().__init__(message, str(index))
        self.place = index


def check_length(length: int) -> None:
    """Raise `OutOfBounds` if a chain has too few or too many services."""
    if not MIN_LINKS <= length <= MAX_LINKS:
        raise OutOfBounds(f"a chain has {MIN_LINKS} to {MAX_LINKS} services, not {length}")


def kind_of_chain(kinds: Sequence[Kind]) -> Kind:
    """Return the kind of a chain of services: that of its last service; `kinds` are those of the services in order.

    Raise `OutOfBounds` if there are too few or too many services, `Incompatible` if two neighbours do not fit.
    """
    check_length(len(kinds))
    for index, (first, second) in enumerate(pairwise(kinds), start=1):
        if Kind.EMBEDDER in {first, second}:
            reason = "an embedder cannot be in a chain, because it is rated by single words"
        elif GIVES[first] != "a text":
            reason = f"the {first} before it returns {GIVES[first]}, which no service can take as its input"
        elif second not in ENDS:
            reason = f"a {second} cannot take the text of another service as its input"
        else:
            continue  # the two fit
        accepting_kinds = ", ".join(sorted(ENDS))  # kinds that accept a text
        raise Incompatible(
            index,
            f"link {index + 1} ({second}) cannot follow link {index} ({first}): {reason}; "
            f"use translators, followed by one of {accepting_kinds}",
        )
    return kinds[-1]
