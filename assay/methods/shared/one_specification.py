"""Base class of methods that use one specification of words, given by its name or in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from assay.bounds import Bounded
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.shipped import is_shipped, shipped_words, specifications
from assay.errors import SpecificationError, UnknownName
from assay.experiment import Method
from assay.references import NOTHING, Found, NamedWords, References

W = TypeVar("W", AssociationWords, ChoiceWords)


def refuse_other_attribute(requested: str, attributes: Sequence[str]) -> str:
    """Return the attribute that words are about (``several`` for many); refuse a request for another attribute."""
    attribute = attributes[0] if len(attributes) == 1 else "several"
    if requested not in {"", attribute}:
        raise SpecificationError(
            f"these words are about {', '.join(attributes)}, not about {requested}; leave one of the two out",
            "attribute",
        )
    return attribute


class OneSpecification(Bounded, Method, Generic[W]):
    """Base class of methods with one specification; each method declares the fields itself."""

    specification: str | None
    words: W | None

    words_type: ClassVar[type[Any]]
    """Type of the words."""

    def __post_init__(self) -> None:
        """Look the words up, unless they are the caller's own: Assay's API fills those in."""
        super().__post_init__()
        words = self.words
        if words is None and is_shipped(self.specification):
            words = shipped_words(self.words_type, self.specification, self.attribute or "gender")
        if words is not None:
            object.__setattr__(self, "attribute", refuse_other_attribute(self.attribute, [words.attribute]))
            object.__setattr__(self, "words", words)

    @property
    def known_words(self) -> W:
        """The words; raises `UnknownName` if they are the caller's own and were not filled in yet."""
        if self.words is None:
            raise UnknownName("specification", str(self.specification), tuple(specifications()), "specification")
        return self.words

    def references(self) -> References:
        """Return the reference to the specification, unless its words are known (shipped or given in full)."""
        if self.words is not None:
            return NOTHING
        return References(words=NamedWords((str(self.specification),), str(self.specification_kind)))

    def with_references(self, found: Found) -> Self:
        """Return the method with the words that were looked up, and with the reference to their version."""
        if not found.words:
            return self
        changed: Self = replace(cast("Any", self), words=found.words[0].words, specification=found.words[0].reference)
        return changed
