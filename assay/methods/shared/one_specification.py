"""Base class of methods that use one specification of words, given by its name or in full."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, cast

from annotated_types import Gt, Lt, MaxLen

from assay.bounds import Bounded
from assay.catalog.choices import AssociationWords, ChoiceWords
from assay.catalog.shipped import is_shipped, shipped_words, specifications
from assay.errors import SpecificationError, UnknownName
from assay.experiment import Method
from assay.references import NOTHING, LoadedMaterial, NamedWords, References

W = TypeVar("W", AssociationWords, ChoiceWords)


def refuse_other_attribute(requested_attribute: str, attributes: Sequence[str]) -> str:
    """Return the attribute of the words, or ``several``; raise an error if the request names another attribute."""
    attribute = attributes[0] if len(attributes) == 1 else "several"
    if requested_attribute not in {"", attribute}:
        raise SpecificationError(
            f"these words are about {', '.join(attributes)}, not about {requested_attribute}; leave one of the two out",
            "attribute",
        )
    return attribute


@dataclass(frozen=True)
class OneSpecification(Bounded, Method, Generic[W]):
    """Base class of methods that use a single specification: lists of words with a name.

    Parameters
    ----------
    attribute : str
        Attribute in which the groups or cues differ. Empty: the attribute of the specification, or gender.
    specification : str, optional
        Name of lists of words, from the catalog or the caller's own.
    words : optional
        The words themselves; they take precedence over `specification`.
    confidence : float
        Probability from which a letter is declared.
    aggregation : str
        How several components become one letter: ``worst`` or ``vote``.
    """

    attribute: Annotated[str, MaxLen(100)] = ""
    method: str = ""
    specification: Annotated[str, MaxLen(100)] | None = None
    words: W | None = None
    delta: Annotated[float, Gt(0), Lt(1)] = 0.05
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95
    aggregation: Literal["worst", "vote"] = "worst"
    strata: bool = True

    words_type: ClassVar[type[Any]]
    """Class of the word lists (`words`) that the method uses."""

    def __post_init__(self) -> None:
        """Look up shipped words by name; Assay's API fills in words of the caller's own specification later."""
        super().__post_init__()
        words = self.words
        if words is None and is_shipped(self.specification):
            words = shipped_words(self.words_type, self.specification, self.attribute or "gender")
        if words is not None:
            object.__setattr__(self, "attribute", refuse_other_attribute(self.attribute, [words.attribute]))
            object.__setattr__(self, "words", words)

    @property
    def known_words(self) -> W:
        """The word lists; raises `UnknownName` if Assay's API has not filled in the caller's own specification yet."""
        if self.words is None:
            raise UnknownName("specification", str(self.specification), tuple(specifications()), field="specification")
        return self.words

    def references(self) -> References:
        """Return the name of a specification that Assay's API must look up; nothing if the words are known."""
        if self.words is not None:
            return NOTHING
        return References(words=NamedWords((str(self.specification),), str(self.specification_kind)))

    def with_references(self, material: LoadedMaterial) -> Self:
        """Return a copy with the words that the API looked up, and with the id of their version as specification."""
        if not material.words:
            return self
        method: Self = replace(
            cast("Any", self), words=material.words[0].words, specification=material.words[0].reference
        )
        return method
