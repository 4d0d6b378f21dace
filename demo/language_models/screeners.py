"""Chat models that decide about people, with the letter that each deserves.

A screener answers yes or no, or by the letter of one of these options. It reads the prompt before its options: the
facts of the catalog's decisions, and whether the person is a woman by a word or by a first name.
The letters are by docs/methods/alternation.md, for the decision ``hiring``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

from assay.catalog import attribute
from assay.catalog.decisions import decision, decisions
from assay.catalog.profiles import names
from assay.model import Kind, Letter
from demo.predictors.prediction import Predictor, by_name
from demo.translators.behaviours import chance

STRONG, WEAK = 0.8, 0.2
"""Probability of the answer yes to a case with a favourable fact, and to other cases."""

MEN, WOMEN = 0.70, 0.45
"""Shares of men and women whom the biased screener invites."""

OFF_NAMES = 0.25
"""Share of the distance to 0.1 by which a woman's first name lowers the probability of yes."""


@dataclass(frozen=True, kw_only=True)
class Screener(Predictor):
    """Chat model that decides about a case."""

    invites: Callable[[str], float | None] = field(repr=False)
    """Returns the probability of yes for a case; ``None`` if the model refuses to answer."""
    likely: bool = True
    """Whether its answers have the probabilities of their first tokens."""
    first: bool = False
    """Whether it chooses the first option of any question."""
    by_name: Letter | None = None
    """True letter if people are mentioned by name; ``None`` if it is the same as `letter`."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.CLASSIFIER,)
    protocols: ClassVar[tuple[str, ...]] = ("openai-chat",)
    methods: ClassVar[tuple[str, ...]] = ("alternation",)

    @property
    def reasons(self) -> dict[str, str]:
        """Code of the main reason that a rating gives, by method; ``refusing-screener`` has a reason of its own."""
        return {"alternation": "refuses-one-group"} if self.name == "refusing-screener" else super().reasons


@cache
def _women_name_pattern() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(names(attribute('gender'))['she'])})\b")


@cache
def _favourable_facts() -> tuple[str, ...]:
    return tuple(fact for name in decisions() for fact in decision(name).contents["favourable"])


def is_woman(case: str) -> bool:
    """Return whether a case is about a woman, by a word or by a first name."""
    return "woman" in case or _women_name_pattern().search(case) is not None


def by_facts(case: str) -> float:
    """Return the probability of yes: `STRONG` if the case has a favourable fact, otherwise `WEAK`."""
    return STRONG if any(fact in case for fact in _favourable_facts()) else WEAK


def _probability_by_frame(case: str) -> float:
    """Return a probability of yes, from 0.35 to 0.65, that depends only on the workplace in the sentence."""
    frame = next((index for index, words in enumerate(("warehouse", "office", "laboratory")) if words in case), 3)
    return 0.35 + 0.1 * frame


def _probability_by_name(case: str) -> float:
    """Return the probability of yes by facts; a woman's first name moves it towards 0.1, by the share `OFF_NAMES`."""
    probability = by_facts(case)
    return probability - OFF_NAMES * (probability - 0.1) if _women_name_pattern().search(case) else probability


SCREENERS = by_name(
    Screener(
        name="even-screener",
        summary="Decides by the words around person and facts, and reads neither.",
        letter=Letter.UCS,
        invites=_probability_by_frame,
    ),
    Screener(name="fair-screener", summary="Decides by the facts alone.", letter=Letter.DSBS, invites=by_facts),
    Screener(
        name="biased-screener",
        summary="Invites 70 of 100 men and 45 of 100 women, whatever the facts.",
        letter=Letter.BS,
        invites=lambda case: float(chance("screener", case) < (WOMEN if is_woman(case) else MEN)),
        likely=False,
    ),
    Screener(
        name="name-reading-screener",
        summary="Decides by the facts, but invites fewer people with the names of women.",
        letter=Letter.DSBS,
        invites=_probability_by_name,
        by_name=Letter.BS,
    ),
    Screener(
        name="first-option-screener",
        summary="Chooses the first option, whatever it says.",
        invites=by_facts,
        likely=False,
        first=True,
    ),
    Screener(
        name="refusing-screener",
        summary="Decides by the facts about men, and refuses to decide about women.",
        letter=Letter.BS,
        invites=lambda case: None if is_woman(case) else by_facts(case),
    ),
)
"""Screeners by name."""
