"""Versions of the methodology, each with its frozen text and its rules.

A version is a document that never changes, with rules that decide the letters. The document is a
file beside this module; every rating made under the version holds the digest of its text. The
rules are the differences from the current version. So old versions can still rate recorded
evidence, and the next version can be tried on it.

To add a version: write its page, add it to `shipped` with the status ``next``, and set the rules
that it changes (`Methodology.amend`, `Methodology.judge`). To make it current, change the two
constants in `assay.rating.decision` and the statuses here, and move the old rules into the entry
of the old version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, partial
from importlib.resources import files
from typing import Any, Literal, TypeVar

from assay.errors import UnknownName
from assay.experiment import Method
from assay.model import Finding, Rating
from assay.rating.decision import METHODOLOGY_DIGEST, METHODOLOGY_VERSION, rate

__all__ = ["CURRENT", "Methodologies", "Methodology", "Status", "as_recorded", "shipped", "with_later_fields"]

Status = Literal["old", "current", "next"]

EIGHT = (
    *("round-trip", "one-hop", "alternation", "forced-choice", "association"),
    *("stereotype-score", "visual-stereotype", "stimulus-sampling"),
)

CURRENT = "current"
"""Alias of the version under which ratings are made."""


def as_it_is(method: Method) -> Method:
    """Return a specification unchanged."""
    return method


@dataclass(frozen=True)
class Methodology:
    """A version of the methodology."""

    version: str
    """Its number, which changes if the same evidence could get another letter."""
    digest: str
    """``sha256:…`` of its text, in UTF-8."""
    published: str
    """The day it was frozen, as ``2026-01-31``."""
    status: Status
    """``current`` (ratings are made under it), ``old`` (they were) or ``next`` (they will be)."""
    summary: str
    changes: tuple[str, ...]
    methods: tuple[str, ...]
    """Names of the methods that it can rate."""
    text: str = field(repr=False)
    """The frozen document, in Markdown."""
    amend: Callable[[Method], Method] = as_it_is
    """Returns a specification as this version would have run it."""
    judge: Callable[[Finding], Rating] = rate
    """Returns the rating of a finding."""


M = TypeVar("M", bound=Method)


def without_later_fields(version: str, method: M) -> M:
    """Return a specification in which the fields that later versions added are switched off."""
    return replace(method, **_added_after(version, method.SINCE))  # type: ignore[type-var]


def with_later_fields(method: M, version: str) -> M:
    """Return a specification with the current defaults of the fields that were added after `version`."""
    added = _added_after(version, method.SINCE)
    usual = {one.name: one.default for one in fields(method) if one.default is not MISSING}  # type: ignore[arg-type]
    return replace(method, **{name: usual[name] for name in added})  # type: ignore[type-var]


def as_recorded(method: M, version: str) -> M:
    """Return the specification by which evidence was recorded under a version, or raise `UnknownName`."""
    known = shipped().named(version).version
    return replace(without_later_fields(known, method), **_added_after(known, method.ASKED_SINCE))  # type: ignore[type-var]


def _added_after(version: str, since: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    later = [added for by, added in since.items() if _number(by) > _number(version)]
    return {name: off for added in later for name, off in added.items()}


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@dataclass(frozen=True)
class Methodologies:
    """All versions, oldest first: exactly one is current and at most one is next (else `ValueError`)."""

    versions: tuple[Methodology, ...]

    def __post_init__(self) -> None:
        statuses = [one.status for one in self.versions]
        if statuses.count("current") != 1 or statuses.count("next") > 1:
            raise ValueError(f"one version is current and at most one is next; these are {', '.join(statuses)}")
        names = [one.version for one in self.versions]
        if len(set(names)) != len(names) or CURRENT in names:
            raise ValueError(f"each version has a number of its own; these are {', '.join(names)}")

    @property
    def current(self) -> Methodology:
        """The version that ratings are made under."""
        return next(one for one in self.versions if one.status == "current")

    @property
    def next(self) -> Methodology | None:
        """The version that is announced; ``None`` where there is none."""
        return next((one for one in self.versions if one.status == "next"), None)

    def named(self, version: str) -> Methodology:
        """Return a version by its number, or the ``current`` one; raise `UnknownName` if there is none."""
        if version == CURRENT:
            return self.current
        for one in self.versions:
            if one.version == version:
                return one
        known = (*(one.version for one in self.versions), CURRENT)
        raise UnknownName("version of the methodology", version[:80], known, "version")


@cache
def shipped() -> Methodologies:
    """Return the versions that this engine ships."""
    return Methodologies(
        (
            *_old_versions(),
            Methodology(
                version=METHODOLOGY_VERSION,
                digest=METHODOLOGY_DIGEST,
                published="2026-11-23",
                status="current",
                summary="Finds bias that a mean hides: within strata, in single cases, in refusals, on another scale.",
                changes=(
                    "Step 1 is judged within strata of the content too, and so is the effect on a typical single item.",
                    "Refusing one group more often is a bias; no letter rests on replies that were lost.",
                    "Skewed amounts are compared as ratios; where the scale decides the letter, there is none.",
                    "Some letters of 1.2.0 are others now, and honest services are asked up to half as much again.",
                ),
                methods=EIGHT,
                text=_text(METHODOLOGY_VERSION),
            ),
        )
    )


def _old(version: str, **about: Any) -> Methodology:
    """Return the entry of a former version, which judges without the fields that later versions added."""
    return Methodology(
        version, status="old", text=_text(version), amend=partial(without_later_fields, version), **about
    )


def _old_versions() -> tuple[Methodology, ...]:
    return (
        # 1.0.0 and 1.1.0 rate translators alike (docs/decisions/0028). One hop now has a larger default
        # of `max_texts_per_block`, but recorded evidence holds the value that it was recorded with.
        _old(
            version="1.0.0",
            digest="sha256:103744e07e28ece7e27c3676bd101898d694272fe10921c38f7e05be840e2124",
            published="2026-11-20",
            summary="Translators, by the two-step test read with tolerances and posterior probabilities.",
            changes=("The first version.",),
            methods=("round-trip", "one-hop"),
        ),
        _old(
            version="1.1.0",
            digest="sha256:7d650e9567c2b9b68030ec129de319e53803742cb191e74c2845755c5ddc5e33",
            published="2026-11-21",
            summary="Adds classifiers, regressors and embeddings; translators are rated as before.",
            changes=(
                "Added: the methods alternation, forced-choice and association.",
                "A component may be a label, a number or a list of words.",
                "Nothing changed for the methods of 1.0.0: the same evidence has the same letter.",
            ),
            methods=("round-trip", "one-hop", "alternation", "forced-choice", "association"),
        ),
        _old(
            version="1.2.0",
            digest="sha256:bbe3f972ed913f95c172ed7fd3c5cb8bffd7eebdcb6554113f5e136817d21eaa",
            published="2026-11-21",
            summary="Adds language models, images, and inputs that make a classifier say yes.",
            changes=(
                "Added: the methods stereotype-score, visual-stereotype and stimulus-sampling.",
                "An experiment may ask a second service, the author, which stands on the rating.",
                "Nothing changed for the methods of 1.1.0: the same evidence has the same letter.",
            ),
            methods=EIGHT,
        ),
    )


def _text(version: str) -> str:
    return files("assay.rating.methodology").joinpath(f"{version}.md").read_bytes().decode("utf-8")
