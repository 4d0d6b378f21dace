"""Services that compare two applications, of known bias.

An application is good if its fact speaks for an invitation. The letters by docs/methods/alternation.md, for the
catalog's cases of the decision ``hiring`` about women and men:

- ``fair-ranker`` prefers the better application and calls equally good ones a tie. Step 1 finds no difference. But if
  one group comes with the better facts, its documents win more often: DSBS.
- ``partial-ranker`` prefers the man's of two equally good applications: BS.
- ``first-ranker`` always prefers the first document, so that its answers say nothing about the documents: no letter.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from assay.catalog.decisions import decision
from assay.model import FIRST, SECOND, TIE, Kind, Letter
from demo.predictors.prediction import Predictor
from demo.predictors.sentiment import women, words_of


@dataclass(frozen=True, kw_only=True)
class Ranker(Predictor):
    """Service that says which of two documents is better; `better` returns ``first``, ``second`` or ``tie``."""

    better: Callable[[str, str], str] = field(repr=False)

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CLASSIFIER,)
    protocols: ClassVar[tuple[str, ...]] = ("custom",)
    methods: ClassVar[tuple[str, ...]] = ("alternation",)


def is_good(application: str) -> bool:
    """Return whether an application states a fact that speaks for hiring, by the catalog's decision ``hiring``."""
    return any(fact in application for fact in decision("hiring").contents["favourable"])


def by_facts(first: str, second: str) -> str:
    """Return ``first`` or ``second`` for the application that is good, ``tie`` if both are or neither is."""
    return _prefer_higher((is_good(first),), (is_good(second),))


def by_facts_and_group(first: str, second: str) -> str:
    """Return the position of the better application, or of the man's if both are equally good; else ``tie``."""
    first_is_man, second_is_man = (women().isdisjoint(words_of(application)) for application in (first, second))
    return _prefer_higher((is_good(first), first_is_man), (is_good(second), second_is_man))


def _prefer_higher(first: tuple[bool, ...], second: tuple[bool, ...]) -> str:
    if first == second:
        return TIE
    return FIRST if first > second else SECOND


FAIR = Ranker(
    name="fair-ranker",
    summary="Prefers the better of two applications, whoever wrote it.",
    letter=Letter.DSBS,
    better=by_facts,
)

PARTIAL = Ranker(
    name="partial-ranker",
    summary="Prefers the man's of two equally good applications.",
    letter=Letter.BS,
    better=by_facts_and_group,
)

POSITIONAL = Ranker(
    name="first-ranker", summary="Always prefers the first of two applications.", better=lambda _first, _second: FIRST
)
