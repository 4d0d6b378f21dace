"""References of an experiment to stored material (words, corpora, table rows), and the material loaded for them.

A job contains all its material: a worker looks nothing up, a replay needs no database, and later edits of a list do
not change a job. Therefore, before a job is stored, the service asks its method for its `References`, looks each of
them up by its kind, and passes the `LoadedMaterial` to the method (`assay.experiment.Method.with_references`).
Items that an author made earlier for the same tenant are found in the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

MaterialKind = Literal["sentences", "images"]
"""Kinds of corpora."""


@dataclass(frozen=True)
class CorpusItem:
    """A sentence or a picture that is in a corpus or will be added to one."""

    text: str | None = None
    """The sentence; ``None`` for a picture."""
    group_term: str | None = None
    """Word for a group of people in the sentence."""
    attribute_term: str | None = None
    """Word in the sentence that a stereotype ties to a group."""
    counterpart: str | None = None
    """The same sentence about the other group."""
    image: str | None = None
    """Digest of a picture's image; ``None`` for a sentence."""
    term: str | None = None
    """The term that the picture shows."""
    source: str = "written"
    """``written`` (a sentence or picture made by an author), ``uploaded``, ``template`` or ``edited``."""
    id: str = ""
    """Id of the item; for an item that an author has just made, the unit of its probe."""
    prompt: str | None = None
    """Prompt that was sent to the author."""


@dataclass(frozen=True)
class NamedWords:
    """Names of word lists (specifications) to load: those not shipped with Assay, or with a version in the name."""

    names: tuple[str, ...]
    kind: str
    """Kind of words that the method takes (`assay.catalog.specification.WORDS`)."""


@dataclass(frozen=True)
class NamedCorpus:
    """Name of a corpus whose items the target is asked about."""

    name: str
    """Id of the corpus, optionally with a version: ``crp_1@4``."""
    kind: MaterialKind
    """Kind of items that it must hold: ``sentences`` or ``images``."""
    field: str
    """The method's field for items of this kind; `items_given` is the number of items already in it."""
    items_given: int = 0
    max_items: int = 10_000
    """Maximum number of items that a rating asks about."""
    may_be_empty: bool = False
    """Whether an empty corpus is allowed, because an author will write its items."""


@dataclass(frozen=True)
class NamedRows:
    """Rows of an uploaded table that must be loaded: those in which `column` has one of the `values`."""

    upload: str
    column: str
    """Column by which rows are selected."""
    values: tuple[str | int | float | bool | None, ...]
    """Values of `column` in the selected rows."""
    max_rows: int
    """Maximum number of rows; if there are more, the seed picks a part of them."""
    field: str
    """The method's field that names the upload."""


@dataclass(frozen=True)
class NamedDecisions:
    """Columns of an uploaded file of decisions; people with equal values in them are counted together."""

    columns: tuple[str, ...]
    """Columns whose values are texts."""
    score: str = ""
    """Column of scores (numbers); empty if there is none."""
    cluster: str = ""
    """Column that names each person's cluster: people of one cluster are not independent."""
    weight: str = ""
    """Column of positive weights."""
    unknown: tuple[str, ...] = ()
    """Values that mean "not known", also of a score."""
    cuts: tuple[float, ...] = ()
    """Scores, such as a threshold, at which people below and above must be counted separately."""


@dataclass(frozen=True)
class AuthoredItems:
    """Items to request from an author. They are stored in one corpus, and items stored earlier can be used again."""

    kind: MaterialKind
    """``sentences`` or ``images``."""
    name: str
    """Name of the words that the items are about; a new corpus is named after it and the attribute."""
    attribute: str
    """Attribute whose groups the items are about."""
    terms: tuple[str, ...]
    """Terms that the items contain or show."""
    words: Any = None
    """The word lists and rules that sentences follow; if ``None``, stored items are looked up by their terms."""
    specification: str | tuple[str, ...] | None = None
    """Name, in the request, of the specification that holds `words`."""
    reuse: bool = True
    """Whether items that the tenant stored earlier are looked up and used again."""


@dataclass(frozen=True)
class References:
    """Stored material that an experiment refers to, which must be loaded before the job is stored."""

    corpus: NamedCorpus | None = None
    """Corpus whose items the target is asked about."""
    images: tuple[str, ...] = ()
    """Digests of images that the request names one by one; the tenant must be allowed to see them."""
    image_field: str = "pictures"
    """The method's field that holds the images of `images`, each with its digest as ``image``."""
    words: NamedWords | None = None
    """Names of specifications of words to look up."""
    rows: NamedRows | None = None
    """Rows of an uploaded table to look up."""
    decisions: NamedDecisions | None = None
    """Columns of an uploaded file of decisions, which is the target of the rating."""
    authored: tuple[AuthoredItems, ...] = ()
    """Items to request from an author, one entry per corpus; only known after the words were found."""


NOTHING = References()
"""References of an experiment that needs no stored material."""


@dataclass(frozen=True)
class HeldBack:
    """Frames and words that an agency keeps unpublished until a rating has used them."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    frames: tuple[str, ...] = ()
    """Sentences for classifiers, as in the field ``texts.frames`` of methods that ask about texts."""
    contents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words for the slot ``{content}``, by side of the content, such as ``pleasant``."""
    statements: tuple[str, ...] = ()
    """Sentences for translators, as the frames of the construction ``base``."""


@dataclass(frozen=True)
class LoadedWords:
    """A loaded specification. `reference` is its name with its version."""

    reference: str
    words: Any


@dataclass(frozen=True)
class LoadedCorpus:
    """A loaded corpus, with the words and the name of the specification that its sentences follow."""

    reference: str
    items: tuple[CorpusItem, ...]
    words: Any = None
    specification: str | None = None


@dataclass(frozen=True)
class LoadedMaterial:
    """Material loaded for `References`; parts that were not referred to are empty."""

    corpus: LoadedCorpus | None = None
    """Corpus for `References.corpus`."""
    words: tuple[LoadedWords, ...] = ()
    """Specifications for `References.words`, in the order of its names."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """Rows for `References.rows`."""
    trials: tuple[Mapping[str, Any], ...] = ()
    """Recorded choices, if the target is an upload of answers: ``concept``, ``level``, ``chose_second``, ``trials``."""
    decisions: Mapping[str, Any] | None = None
    """The counted file for `References.decisions`, as JSON (`store.formats.decision_rows`)."""
    authored: tuple[tuple[CorpusItem, ...], ...] = ()
    """Stored items for each entry of `References.authored`, the oldest first."""
