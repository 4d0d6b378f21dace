"""Words for methods that ask for vectors: cues, concepts, stereotypes and the controls beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import MaxLen, MinLen

from assay.bounds import check_bounds
from assay.errors import OutOfBounds, SpecificationError

if TYPE_CHECKING:  # which is written with the words of this module
    from assay.catalog.stereotypes import StereotypeWords
    from assay.catalog.visuals import VisualWords

MOST_WORDS, LONGEST = 2_000, 100
"""Words of a list, and characters of a word."""

Word = Annotated[str, MinLen(1), MaxLen(LONGEST)]
Words = Annotated[tuple[Word, ...], MaxLen(MOST_WORDS)]
CuePair = tuple[Word, Word]


@dataclass(frozen=True)
class ChoiceWords:
    """What a forced choice is about (P1).

    Parameters
    ----------
    attribute : str
        What the two cues of a pair differ in.
    first, second : str
        What the cues of each side stand for: ``women`` and ``men``.
    cues : tuple of pairs of str
        Pairs ``(first, second)``; each is a replicate.
    concepts : mapping of str to float or None
        Words that stereotypes are about, each with its declared share of the first side in [0, 1]
        (the share of women among nurses); ``None`` where none is known.
    controls : tuple of str
        Words that belong to neither side.
    name : str
        What findings call it.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    first: Word
    second: Word
    cues: Annotated[tuple[CuePair, ...], MinLen(1), MaxLen(100)]
    concepts: Annotated[Mapping[str, float | None], MinLen(1), MaxLen(MOST_WORDS)]
    controls: Words
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Refuse lists that no choice can be made from."""
        check_bounds(self)
        cues = [cue for pair in self.cues for cue in pair]
        check_words("cues", cues, unique=False)
        check_words("concepts", tuple(self.concepts))
        check_words("controls", self.controls)
        for place, (one, other) in enumerate(self.cues):
            if one == other:
                raise SpecificationError(f"both cues are {one!r}; they must differ", f"cues.{place}")
        for word, share in self.concepts.items():
            if share is not None and not 0 <= share <= 1:
                raise OutOfBounds(f"a share lies between 0 and 1, not at {share}", f"concepts.{word}")
        refuse_overlap("controls", self.controls, "concepts", self.concepts)
        refuse_overlap("concepts", tuple(self.concepts), "cues", dict.fromkeys(cues))

    @property
    def concept_words(self) -> tuple[str, ...]:
        """The concepts, in their order."""
        return tuple(self.concepts)


@dataclass(frozen=True)
class AssociationWords:
    """What an association is about (P2).

    Parameters
    ----------
    attribute : str
        What the groups differ in.
    protected : mapping of str to tuple of str
        By group, the words that name it.
    attributes : mapping of str to tuple of str
        By group, the words of its stereotype.
    human, neutral : tuple of str
        Control words: about people, and about nothing in particular.
    name : str
        What findings call it.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    protected: Annotated[Mapping[str, Words], MinLen(2), MaxLen(50)]
    attributes: Annotated[Mapping[str, Words], MinLen(2), MaxLen(50)]
    human: Words
    neutral: Words
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        """Refuse lists that no association can be measured with."""
        check_bounds(self)
        if set(self.protected) != set(self.attributes):
            groups, others = ", ".join(self.protected), ", ".join(self.attributes)
            raise SpecificationError(
                f"each group needs protected words and a stereotype; protected: {groups}; attributes: {others}",
                "attributes",
            )
        for field_, lists in (("protected", self.protected), ("attributes", self.attributes)):
            for group, listed in lists.items():
                check_words(f"{field_}.{group}", listed, least=1)
        check_words("human", self.human)
        check_words("neutral", self.neutral)
        if not self.human and not self.neutral:
            raise SpecificationError("control words are needed: human, neutral or both", "neutral")
        protected = [word for listed in self.protected.values() for word in listed]
        if twice := sorted({word for word in protected if protected.count(word) > 1}):
            raise SpecificationError(f"{twice[0]!r} names two groups; a protected word names one", "protected")

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Every list by a name that says what it is, empty ones left out."""
        return {
            **{f"{group} (protected)": tuple(listed) for group, listed in self.protected.items()},
            **{f"{group} (stereotype)": tuple(listed) for group, listed in self.attributes.items()},
            **{name: tuple(listed) for name, listed in (("human", self.human), ("neutral", self.neutral)) if listed},
        }

    @property
    def every(self) -> tuple[str, ...]:
        """All words, each once."""
        return tuple(dict.fromkeys(word for listed in self.groups.values() for word in listed))


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
    words: ChoiceWords | AssociationWords | StereotypeWords | VisualWords = field(repr=False)


def check_words(where: str, words: Sequence[str], *, least: int = 0, unique: bool = True) -> None:
    """Refuse a list of words that is too short or long, or names a word twice.

    Raises
    ------
    SpecificationError
        Naming the list.
    """
    if len(words) < least:
        raise SpecificationError(f"{where} has no words", where)
    if len(words) > MOST_WORDS or any(not 0 < len(word.strip()) <= LONGEST for word in words):
        raise OutOfBounds(f"at most {MOST_WORDS} words, none empty or of more than {LONGEST} characters", where)
    if unique and (twice := sorted({word for word in words if list(words).count(word) > 1})):
        raise SpecificationError(f"{where} names {twice[0]!r} twice", where)


def refuse_overlap(where: str, words: Sequence[str], other: str, others: Mapping[str, object]) -> None:
    """Refuse words that stand in two lists which are compared."""
    if shared := [word for word in words if word in others]:
        raise SpecificationError(f"{shared[0]!r} is among the {where} and the {other}; it can be one of them", where)
