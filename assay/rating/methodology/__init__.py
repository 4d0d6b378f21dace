"""Versions of the methodology, each with its frozen text and its rules.

A version is a document that never changes, with rules that decide the letters. The document is a file beside this
module; every rating made under the version holds the digest of its text. The rules are the differences from the current
version. So the next version can be tried on recorded evidence before it becomes current.

To add a version: write its page, add it to `shipped` with the status ``next``, and set the rules that it changes
(`Methodology.amend`, `Methodology.judge`). To make it current, change the two constants in `assay.rating.decision` and
the statuses here, and move the old rules into the entry of the old version. A version that is removed from the list can
rate no more evidence, but its ratings can still be read, and their certificates still verify.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal

from assay.errors import UnknownName
from assay.experiment import Method
from assay.model import Finding, Rating
from assay.rating.decision import METHODOLOGY_DIGEST, METHODOLOGY_VERSION, rate

__all__ = ["CURRENT", "Methodologies", "Methodology", "Status", "shipped"]

Status = Literal["old", "current", "next"]

METHODS = (
    *("round-trip", "one-hop", "alternation", "forced-choice", "association"),
    *("stereotype-score", "visual-stereotype", "stimulus-sampling", "outcomes", "free-text", "questions"),
)

CURRENT = "current"
"""Alias of the version under which ratings are made."""


def as_it_is(method: Method) -> Method:
    """Return a method unchanged: the default of `Methodology.amend`."""
    return method


@dataclass(frozen=True)
class Methodology:
    """A version of the methodology: the text and the rules by which evidence becomes a letter."""

    version: str
    """Number of the version, which changes if the same evidence can get a different letter."""
    digest: str
    """``sha256:…`` of the version's text, in UTF-8."""
    published: str
    """The day on which the text was frozen, as ``2026-01-31``."""
    status: Status
    """``current`` (used for new ratings), ``old`` (formerly used) or ``next`` (announced)."""
    summary: str
    changes: tuple[str, ...]
    methods: tuple[str, ...]
    """Names of the methods whose evidence the version can rate."""
    text: str = field(repr=False)
    """The frozen document, in Markdown."""
    amend: Callable[[Method], Method] = as_it_is
    """Function that returns a method with the defaults and limits of this version."""
    judge: Callable[[Finding], Rating] = rate
    """Function that returns the rating of a finding."""


@dataclass(frozen=True)
class Methodologies:
    """All versions, oldest first: exactly one is current and at most one is next (else `ValueError`)."""

    versions: tuple[Methodology, ...]

    def __post_init__(self) -> None:
        statuses = [methodology.status for methodology in self.versions]
        if statuses.count("current") != 1 or statuses.count("next") > 1:
            raise ValueError(f"one version must be current, and at most one next, not {', '.join(statuses)}")
        names = [methodology.version for methodology in self.versions]
        if len(set(names)) != len(names) or CURRENT in names:
            raise ValueError(f"each version needs a number of its own; the numbers are {', '.join(names)}")

    @property
    def current(self) -> Methodology:
        """The version under which new ratings are made."""
        return next(methodology for methodology in self.versions if methodology.status == "current")

    @property
    def next(self) -> Methodology | None:
        """The announced version; ``None`` if there is none."""
        return next((methodology for methodology in self.versions if methodology.status == "next"), None)

    def named(self, version: str) -> Methodology:
        """Return a version by its number, or the ``current`` one; raise `UnknownName` if there is none."""
        if version == CURRENT:
            return self.current
        for methodology in self.versions:
            if methodology.version == version:
                return methodology
        known_versions = (*(methodology.version for methodology in self.versions), CURRENT)
        raise UnknownName("version of the methodology", version[:80], known_versions, "version")


@cache
def shipped() -> Methodologies:
    """Return the versions that this engine ships."""
    return Methodologies(
        (
            Methodology(
                version=METHODOLOGY_VERSION,
                digest=METHODOLOGY_DIGEST,
                published="2026-11-30",
                status="current",
                summary="Judges what a mean can hide as well: in strata, single cases, refusals, on another scale.",
                changes=(
                    "Step 1 also judges each stratum of the content, and the effect on a typical single item.",
                    "Refusing one group more often is a bias; a letter that lost replies could change is withheld.",
                    "Skewed amounts are compared as ratios; a letter that depends on the scale is withheld.",
                ),
                methods=METHODS,
                text=files("assay.rating.methodology")
                .joinpath(f"{METHODOLOGY_VERSION}.md")
                .read_bytes()
                .decode("utf-8"),
            ),
        )
    )
