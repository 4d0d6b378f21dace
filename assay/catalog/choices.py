"""Word lists of forced choice and association, the methods that ask a service for word vectors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import MaxLen, MinLen

from assay.bounds import Bounded
from assay.catalog.terms import MOST_WORDS, Word, WordPair, Words, check_words, refuse_overlap, repeated
from assay.errors import OutOfBounds, SpecificationError


@dataclass(frozen=True)
class ChoiceWords(Bounded):
    """Words of a forced choice (Liang & Acuna 2020).

    Parameters
    ----------
    attribute : str
        Attribute in which the two cues of a pair differ.
    first, second : str
        Names of the two sides that the cues stand for: ``women`` and ``men``.
    cues : tuple of pairs of str
        Pairs ``(first, second)``; each is a replicate.
    concepts : mapping of str to float or None
        Words that stereotypes are about, each with its declared share of the first side in [0, 1]
        (the share of women among nurses); ``None`` if the share is unknown.
    controls : tuple of str
        Words that belong to neither side.
    name : str
        Name of the list in findings.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    first: Word
    second: Word
    cues: Annotated[tuple[WordPair, ...], MinLen(1), MaxLen(100)]
    concepts: Annotated[Mapping[str, float | None], MinLen(1), MaxLen(MOST_WORDS)]
    controls: Words
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    kind: ClassVar[str] = "choices"

    def __post_init__(self) -> None:
        """Raise if a word is invalid, repeated or in two lists, a pair has equal cues, or a share is not in [0, 1]."""
        super().__post_init__()
        cues = [cue for pair in self.cues for cue in pair]
        check_words("cues", cues, unique=False)  # several pairs may share a word
        check_words("concepts", tuple(self.concepts))
        check_words("controls", self.controls)
        for index, (first_cue, second_cue) in enumerate(self.cues):
            if first_cue == second_cue:
                raise SpecificationError(f"both cues are {first_cue!r}; they must differ", f"cues.{index}")
        for word, share in self.concepts.items():
            if share is not None and not 0 <= share <= 1:
                raise OutOfBounds(f"a share must be between 0 and 1, not {share}", f"concepts.{word}")
        refuse_overlap("controls", self.controls, "concepts", self.concepts)
        refuse_overlap("concepts", tuple(self.concepts), "cues", dict.fromkeys(cues))

    @property
    def concept_words(self) -> tuple[str, ...]:
        """The words of the concepts, in their order."""
        return tuple(self.concepts)


@dataclass(frozen=True)
class AssociationWords(Bounded):
    """Words of an association (Dobrzeniecka & Urbaniak).

    Parameters
    ----------
    attribute : str
        Attribute in which the groups differ.
    protected : mapping of str to tuple of str
        For each group, the words that name the group.
    attributes : mapping of str to tuple of str
        For each group, the words of its stereotype.
    human, neutral : tuple of str
        Control words: about people in general, and about neither people nor groups.
    name : str
        Name of the list in findings.
    """

    attribute: Annotated[str, MinLen(1), MaxLen(100)]
    protected: Annotated[Mapping[str, Words], MinLen(2), MaxLen(50)]
    attributes: Annotated[Mapping[str, Words], MinLen(2), MaxLen(50)]
    human: Words
    neutral: Words
    name: Annotated[str, MinLen(1), MaxLen(100)] = "words"

    kind: ClassVar[str] = "association"

    def __post_init__(self) -> None:
        """Raise if a group or the controls lack words, a word is invalid or repeated, or in two groups."""
        super().__post_init__()
        if set(self.protected) != set(self.attributes):
            protected, attributes = ", ".join(self.protected), ", ".join(self.attributes)
            raise SpecificationError(
                f"each group needs protected words and a stereotype; protected: {protected}; attributes: {attributes}",
                "attributes",
            )
        for field_, lists in (("protected", self.protected), ("attributes", self.attributes)):
            for group, words in lists.items():
                check_words(f"{field_}.{group}", words, least=1)
        check_words("human", self.human)
        check_words("neutral", self.neutral)
        if not self.human and not self.neutral:
            raise SpecificationError(
                "control words are missing: name some in human (about people), in neutral (things), or both", "neutral"
            )
        if repeated_words := repeated(word for words in self.protected.values() for word in words):
            raise SpecificationError(
                f"{repeated_words[0]!r} belongs to two groups; a word may belong to one group only", "protected"
            )

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return all word lists by name ("women (protected)", "human" …), without empty lists of control words."""
        return {
            **{f"{group} (protected)": tuple(words) for group, words in self.protected.items()},
            **{f"{group} (stereotype)": tuple(words) for group, words in self.attributes.items()},
            **{name: tuple(words) for name, words in (("human", self.human), ("neutral", self.neutral)) if words},
        }

    @property
    def every(self) -> tuple[str, ...]:
        """All words of all lists in `groups`, each once."""
        return tuple(dict.fromkeys(word for words in self.groups.values() for word in words))
