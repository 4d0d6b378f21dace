"""Specifications: named words with their provenance, of four kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.stereotypes import StereotypeWords, VisualWords

AnyWords = ChoiceWords | AssociationWords | StereotypeWords | VisualWords

WORDS: Mapping[str, type[AnyWords]] = {
    words.kind: words for words in (ChoiceWords, AssociationWords, StereotypeWords, VisualWords)
}
"""The words of each kind of specification."""


@dataclass(frozen=True)
class Specification:
    """A named list of words with its provenance.

    Attributes
    ----------
    name, title : str
        Its name in requests and its name for people.
    kind : str
        ``choices``, ``association``, ``stereotype`` or ``visual``.
    language : str
        Of the words, as BCP 47 has it.
    citation : str
        Where the words come from.
    words : ChoiceWords, AssociationWords, StereotypeWords or VisualWords
        The words.
    """

    name: str
    title: str
    kind: str
    language: str
    citation: str
    words: AnyWords = field(repr=False)
