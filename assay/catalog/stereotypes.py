"""Word lists of stereotypes: terms that a stereotype links to one of two groups or labels, and neutral terms."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import MaxLen, MinLen

from assay.bounds import Bounded
from assay.catalog.terms import Word, WordPair, Words, refuse_shared, spelt
from assay.errors import SpecificationError

Role = Literal["first", "second", "neutral"]
"""Side of a term: the group or label that the stereotype links it to, or neutral."""

LISTS: Mapping[Role, str] = {"first": "first_terms", "second": "second_terms", "neutral": "neutral"}
"""Name of the field that holds the terms of each role."""

TIED: tuple[Role, ...] = ("first", "second")
"""Roles of the terms that the stereotype links to a group or a label."""

SLOTS = frozenset({"group", "Group", "the_group", "The_group"})
"""Slots of a frame for the group; ``the_group`` and ``The_group`` put "the" before a common noun."""

ATTRIBUTE_SLOTS = frozenset({"attribute", "an_attribute"})


class TermLists(Bounded):
    """Base class of words with three lists of terms: of a first group or label, of a second one, and of neither."""

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """The three lists of terms, by the name of their field."""
        return {field: getattr(self, field) for field in LISTS.values()}

    @property
    def roles(self) -> dict[str, Role]:
        """Role of each term, by term: to which group the stereotype links it ("first", "second"), or "neutral"."""
        return {term: role for role in LISTS for term in self.terms(role)}

    def terms(self, role: Role) -> tuple[str, ...]:
        """Return the terms that the stereotype links to the "first" or to the "second" group, or the "neutral" ones."""
        return self.lists[LISTS[role]]

    def refuse_neutral_only(self, message: str) -> None:
        """Raise `SpecificationError`, with the given message, if all terms are neutral."""
        if not self.terms("first") and not self.terms("second"):
            raise SpecificationError(message, "first_terms")


@dataclass(frozen=True)
class StereotypeWords(TermLists):
    """Words of a stereotype score (Jiang et al.).

    Terms become parts of sentences, so they are normalised: composed letters, single blanks, no blanks at the ends.

    Parameters
    ----------
    attribute : str
        Attribute in which the two groups differ.
    first, second : str
        Names of the groups: ``men`` and ``women``.
    pairs : tuple of pairs of str
        Group terms ``(first, second)``. Each term is in one pair; the counterpart of a sentence has the other term
        of the pair in its place.
    first_terms, second_terms : tuple of str
        Attribute terms that the stereotype links to the first and to the second group.
    neutral : tuple of str
        Attribute terms that the stereotype links to neither. Without them step 1 cannot be measured.
    telling : tuple of str
        Other words that reveal the group (him, herself). A sentence with such a word is refused, because its
        counterpart would name both groups.
    frames : tuple of str
        Sentences with ``{group}`` or ``{the_group}`` (``{Group}``, ``{The_group}`` at the beginning) and
        ``{attribute}`` or ``{an_attribute}``. If empty, frames for any word are used.
    name : str
        Name of the list in findings.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    first: Word
    second: Word
    pairs: Annotated[tuple[WordPair, ...], MinLen(1), MaxLen(200)]
    first_terms: Words = ()
    second_terms: Words = ()
    neutral: Words = ()
    telling: Words = ()
    frames: Annotated[tuple[Annotated[str, MaxLen(300)], ...], MaxLen(100)] = ()
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    kind: ClassVar[str] = "stereotype"

    def __post_init__(self) -> None:
        """Normalise the terms; raise if a word occurs twice, all terms are neutral, or a frame (sentence) is wrong."""
        super().__post_init__()
        object.__setattr__(self, "pairs", tuple((spelt(first), spelt(second)) for first, second in self.pairs))
        for field in ("first_terms", "second_terms", "neutral", "telling"):  # telling: other words that show the group
            object.__setattr__(self, field, tuple(map(spelt, getattr(self, field))))
        group_terms = tuple(term for pair in self.pairs for term in pair)
        refuse_shared({"pairs": group_terms, **self.lists, "telling": self.telling})
        self.refuse_neutral_only(
            "no word is tied to a group; name at least one word that the stereotype ties to one of the two groups"
        )
        for index, frame in enumerate(self.frames):
            check_frame(frame, f"frames.{index}")


@dataclass(frozen=True)
class VisualWords(TermLists):
    """Words of a visual stereotype score (Jiang et al.).

    Parameters
    ----------
    attribute : str
        Attribute in which the two labels differ.
    first, second : str
        The two target concepts, as they are shown to the service: ``man`` and ``woman``.
    first_terms, second_terms : tuple of str
        Generation terms (subjects of pictures) that the stereotype links to the first and to the second label.
    neutral : tuple of str
        Generation terms that the stereotype links to neither. Without them step 1 cannot be measured.
    first_names, second_names : tuple of str
        Other words for the first and for the second concept in a written answer: ``boy``, ``he``; labels always count.
    name : str
        Name of the list in findings.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    first: Word
    second: Word
    first_terms: Words = ()
    second_terms: Words = ()
    neutral: Words = ()
    first_names: Words = ()
    second_names: Words = ()
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    kind: ClassVar[str] = "visual"

    def __post_init__(self) -> None:
        """Raise if a term occurs twice, if a label or name occurs twice, or if all terms are neutral."""
        super().__post_init__()
        refuse_shared(self.lists)
        # apart from the terms: labels and names are read in answers, where no term is looked for
        names = {"first_names": self.first_names, "second_names": self.second_names}
        refuse_shared({"first": (self.first,), "second": (self.second,), **names})
        self.refuse_neutral_only(
            "no picture is tied to a label; name at least one term that the stereotype ties to one of the two labels"
        )

    @property
    def labels(self) -> tuple[str, str]:
        """Both labels, ``(first, second)``: T1 and T2 of Jiang et al."""
        return self.first, self.second


def check_frame(frame: str, field: str) -> None:
    """Raise `SpecificationError` about `field` unless a frame has two slots: of the group, of the attribute."""
    slots = {*re.findall(r"\{(\w+)\}", frame)}  # slots with a format or conversion, such as {group!r}, do not count
    if (frame.count("{"), frame.count("}"), len(SLOTS & slots), len(ATTRIBUTE_SLOTS & slots)) != (2, 2, 1, 1):
        raise SpecificationError(
            f"the frame {frame!r} must hold {{group}} or {{the_group}} once, {{attribute}} or {{an_attribute}} once, "
            "and no other braces",
            field,
        )
