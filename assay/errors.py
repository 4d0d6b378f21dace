"""Exceptions of Assay, as a tree.

::

    AssayError
    ├── SpecificationError (also ValueError)   an error of the caller -> HTTP 422, exit code 64
    │   ├── UnknownName                        no method, attribute, language ... has this name
    │   ├── OutOfBounds                        a number outside its valid range
    │   └── BadDistribution                    shares that are not a distribution over the values
    ├── EvidenceError                          a result, not a crash -> the job ends *inconclusive*
    │   ├── TooFewObservations                 nothing, or too little, to compute from
    │   ├── ZeroVariance                       every value is the same, so there is no spread to compare with
    │   └── NoTransition                       the answer is the same at every level, so it changes at no finite point
    ├── RecordError                            a recording that does not belong to the experiment
    │   └── RecordIncomplete                   a replay needs a reply that was never recorded
    └── CertificateError                       not the document that was signed or sealed -> exit code 65

A failed call to a target is not here: it is a ``Reply`` with a ``Failure``.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class AssayError(Exception):
    """Base class of Assay's errors."""

    code = "assay-error"


class SpecificationError(AssayError, ValueError):
    """The request cannot be carried out as it was written.

    It is also a `ValueError`, so that validation layers locate it in the request. `field` is the name of the field to
    correct, with dots if it is nested (``"unbiased.0"``).
    """

    code = "bad-specification"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class UnknownName(SpecificationError):
    """No method, attribute, language or word list has this name."""

    code = "unknown-name"

    def __init__(self, kind: str, name: str, names: Iterable[str], field: str | None = None) -> None:
        self.kind, self.name, self.known = kind, name, tuple(names)
        super().__init__(f"no {kind} is called {name!r}{known_names(name, self.known)}", field)


MOST_KNOWN = 20
"""Maximum number of known names in a message."""


def known_names(name: str, candidates: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known name, and up to `MOST_KNOWN` known names.

    A known name can have an explanation, ``es (Spanish)``, which is searched too.
    >>> known_names("gendre", ["age", "gender"])
    "; did you mean 'gender'? Known: age, gender"
    """
    names = tuple(candidates)
    # `es (Spanish)` has the spellings "es" and "spanish"; reversed, so that the first of names with equal spelling wins
    by_spelling = {
        part.strip(" )").casefold(): full_name for full_name in reversed(names) for part in full_name.split("(")
    }
    near_names = get_close_matches(name[:100].casefold(), by_spelling, n=1, cutoff=0.7)  # [:100] bounds the time
    suggestion = "; known: "
    if near_names:
        nearest_name, _, _ = by_spelling[near_names[0]].partition(" (")
        suggestion = f"; did you mean {nearest_name!r}? Known: "
    remainder = f" and {len(names) - MOST_KNOWN} more" if len(names) > MOST_KNOWN else ""
    return f"{suggestion}{', '.join(names[:MOST_KNOWN])}{remainder}" if names else ""


class OutOfBounds(SpecificationError):
    """A number is outside its valid range."""

    code = "out-of-bounds"


class BadDistribution(SpecificationError):
    """Shares that are not a distribution over the attribute's values."""

    code = "bad-distribution"


class EvidenceError(AssayError):
    """The requested number cannot be computed from the evidence."""

    code = "no-evidence"


class TooFewObservations(EvidenceError):
    """There are no observations, or too few, to compute from."""

    code = "too-few-observations"


class ZeroVariance(EvidenceError):
    """Every value is the same, so that there is no spread to compare with."""

    code = "zero-variance"


class NoTransition(EvidenceError):
    """The answer is the same at every level, so there is no finite point at which it changes."""

    code = "no-transition"


class RecordError(AssayError):
    """A recording does not belong to the experiment it is replayed for."""

    code = "record-mismatch"


class RecordIncomplete(RecordError):
    """A replay needs a reply that was never recorded."""

    code = "record-incomplete"

    def __init__(self, unit: str) -> None:
        super().__init__(f"the recording holds no reply for {unit!r}; it is cut short or belongs to another experiment")
        self.unit = unit


class CertificateError(AssayError):
    """The document is not the one that was signed or sealed: it was altered or cut short, or has another signer."""

    code = "certificate-invalid"
