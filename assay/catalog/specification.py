"""Specifications: named word lists of four kinds, with their sources."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.stereotypes import StereotypeWords, VisualWords

AnyWords = ChoiceWords | AssociationWords | StereotypeWords | VisualWords

WORDS: Mapping[str, type[AnyWords]] = {
    words.kind: words for words in (ChoiceWords, AssociationWords, StereotypeWords, VisualWords)
}
"""Class of the word lists for each kind of specification."""


@dataclass(frozen=True)
class Specification:
    """Named words with their source."""

    name: str
    """Name of the specification in requests."""
    title: str
    """Name that is shown to people."""
    kind: str
    """``choices``, ``association``, ``stereotype`` or ``visual``."""
    language: str
    """Language of the words, as a BCP 47 tag."""
    citation: str
    """Source of the words."""
    words: AnyWords = field(repr=False)
