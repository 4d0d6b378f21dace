"""Words of a visual stereotype: two labels, and what pictures are of (P4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import MaxLen, MinLen

from assay.bounds import check_bounds
from assay.catalog.choices import Word, Words, check_words
from assay.catalog.stereotypes import Role
from assay.catalog.terms import folded
from assay.errors import SpecificationError


@dataclass(frozen=True)
class VisualWords:
    """What a visual stereotype score is about (P4).

    Parameters
    ----------
    attribute : str
        What the two labels differ in.
    first, second : str
        The two target concepts, as the service is shown them: ``man`` and ``woman``.
    first_terms, second_terms : tuple of str
        Generation terms, which pictures are of, that the stereotype ties to either label.
    neutral : tuple of str
        Generation terms that it ties to neither. Without them step 1 cannot be measured.
    first_names, second_names : tuple of str
        Other words by which an answer in words names either concept: ``boy``, ``he``. The labels themselves always do.
    name : str
        What findings call it.
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

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Refuse lists that no stereotype can be measured with."""
        check_bounds(self)
        terms = {"first_terms": self.first_terms, "second_terms": self.second_terms, "neutral": self.neutral}
        names = {
            "first": (self.first,),
            "second": (self.second,),
            "first_names": self.first_names,
            "second_names": self.second_names,
        }
        for lists in (terms, names):
            _refuse_shared(lists)
        if not self.first_terms and not self.second_terms:
            raise SpecificationError("a term that the stereotype ties to a label is needed", "first_terms")

    @property
    def labels(self) -> tuple[str, str]:
        """Both labels, T1 and T2."""
        return self.first, self.second

    @property
    def roles(self) -> Mapping[str, Role]:
        """Every generation term with the label it is tied to, the neutral ones last."""
        lists: tuple[tuple[Role, Words], ...] = (
            ("first", self.first_terms),
            ("second", self.second_terms),
            ("neutral", self.neutral),
        )
        return {term: role for role, listed in lists for term in listed}

    def terms(self, role: Role) -> tuple[str, ...]:
        """Give the generation terms of one list."""
        return {"first": self.first_terms, "second": self.second_terms, "neutral": self.neutral}[role]


def _refuse_shared(lists: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a word that stands twice in one list, or in two of them, however it is written."""
    owner: dict[str, str] = {}
    for where, listed in lists.items():
        keys = tuple(map(folded, listed))
        check_words(where, keys)
        for word, as_written in zip(keys, listed, strict=True):
            if word in owner:
                raise SpecificationError(
                    f"{as_written!r} is among the {owner[word]} and the {where}; it can be one of them", where
                )
            owner[word] = where
