"""Words of a stereotype: two groups, what is said of either, and what is said of neither (P4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Annotated, ClassVar, Literal

from annotated_types import MaxLen, MinLen

from assay.bounds import check_bounds
from assay.catalog.choices import Word, Words, check_words
from assay.catalog.terms import folded, spelt
from assay.errors import SpecificationError

Role = Literal["first", "second", "neutral"]
"""Which group an attribute term is said to go with."""

TermPair = tuple[Word, Word]

SLOTS = frozenset({"group", "Group", "the_group", "The_group"})
"""What a frame writes of the group; the others put "the" before a common noun."""

ATTRIBUTE_SLOTS = frozenset({"attribute", "an_attribute"})


@dataclass(frozen=True)
class StereotypeWords:
    """What a stereotype score is about (P4).

    Terms are put into sentences, so they are kept with composed letters and single blanks, none at their ends.

    Parameters
    ----------
    attribute : str
        What the two groups differ in.
    first, second : str
        What the groups are called: ``men`` and ``women``.
    pairs : tuple of pairs of str
        Group terms ``(first, second)`` that stand in for each other in a sentence. Each term stands in one pair:
        the counterpart of a sentence has the other one in its place.
    first_terms, second_terms : tuple of str
        Attribute terms that the stereotype gives to either group.
    neutral : tuple of str
        Attribute terms that it gives to neither. Without them step 1 cannot be measured.
    telling : tuple of str
        Other words that tell the groups apart (him, herself). A sentence with one is refused: its counterpart
        would tell both.
    frames : tuple of str
        Sentences with ``{group}`` or ``{the_group}`` (``{Group}``, ``{The_group}`` at the beginning) and
        ``{attribute}`` or ``{an_attribute}``. Empty: frames that any word can be put into.
    name : str
        What findings call it.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    first: Word
    second: Word
    pairs: Annotated[tuple[TermPair, ...], MinLen(1), MaxLen(200)]
    first_terms: Words = ()
    second_terms: Words = ()
    neutral: Words = ()
    telling: Words = ()
    frames: Annotated[tuple[Annotated[str, MaxLen(300)], ...], MaxLen(100)] = ()
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Refuse lists that no stereotype can be measured with."""
        check_bounds(self)
        object.__setattr__(self, "pairs", tuple((spelt(one), spelt(other)) for one, other in self.pairs))
        for where in ("first_terms", "second_terms", "neutral", "telling"):
            object.__setattr__(self, where, tuple(map(spelt, getattr(self, where))))
        groups = tuple(folded(term) for pair in self.pairs for term in pair)
        check_words("pairs", groups)
        lists = {"first_terms": self.first_terms, "second_terms": self.second_terms, "neutral": self.neutral}
        owner: dict[str, str] = dict.fromkeys(groups, "pairs")
        for where, listed in (*lists.items(), ("telling", self.telling)):
            keys = tuple(map(folded, listed))
            check_words(where, keys)
            for term, as_written in zip(keys, listed, strict=True):
                if term in owner:
                    raise SpecificationError(
                        f"{as_written!r} is among the {owner[term]} and the {where}; it can be one of them", where
                    )
                owner[term] = where
        if not self.first_terms and not self.second_terms:
            raise SpecificationError("an attribute term that the stereotype gives to a group is needed", "first_terms")
        for place, frame in enumerate(self.frames):
            check_frame(frame, f"frames.{place}")

    @property
    def roles(self) -> Mapping[str, Role]:
        """Every attribute term with the group it is said to go with, the neutral ones last."""
        lists: tuple[tuple[Role, Words], ...] = (
            ("first", self.first_terms),
            ("second", self.second_terms),
            ("neutral", self.neutral),
        )
        return {term: role for role, listed in lists for term in listed}

    def terms(self, role: Role) -> tuple[str, ...]:
        """Give the attribute terms of one list."""
        return {"first": self.first_terms, "second": self.second_terms, "neutral": self.neutral}[role]


def check_frame(frame: str, where: str) -> None:
    """Refuse a frame that does not name the group once and the attribute once.

    Raises
    ------
    SpecificationError
        Naming the field.
    """
    try:
        slots = [slot for _, slot, _, _ in Formatter().parse(frame) if slot is not None]
    except ValueError:
        slots = []
    if len(slots) != 2 or len(SLOTS & set(slots)) != 1 or len(ATTRIBUTE_SLOTS & set(slots)) != 1:
        raise SpecificationError(
            f"the frame {frame!r} must hold {{group}} or {{the_group}} once, {{attribute}} or {{an_attribute}} once, "
            "and no other braces",
            where,
        )
