"""References of an experiment to stored material (words, corpora, table rows), and the material that was found.

A job contains all its material: a worker looks nothing up, a replay needs no database, and later edits of a list do
not change a job. Therefore, before a job is stored, the service asks its method for its `References`, looks each of
them up by its kind, and passes the `Found` material to the method (`assay.experiment.Method.with_references`).
Items that an author made earlier for the same tenant are found in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MaterialKind = Literal["sentences", "images"]
"""Kinds of corpora."""


@dataclass(frozen=True)
class CorpusItem:
    """A sentence or a picture that is in a corpus or will be added to one.

    Attributes
    ----------
    text, group_term, attribute_term, counterpart : str or None
        The sentence, its two terms, and the same sentence about the other group. ``None`` for a picture.
    image, term : str or None
        Digest of a picture's image, and the term that it shows. ``None`` for a sentence.
    source : str
        ``written`` (a sentence or picture made by an author), ``uploaded``, ``template`` or ``edited``.
    id : str
        Id of the item; for an item that an author has just made, the unit of its probe.
    prompt : str or None
        Prompt that was sent to the author.
    """

    text: str | None = None
    group_term: str | None = None
    attribute_term: str | None = None
    counterpart: str | None = None
    image: str | None = None
    term: str | None = None
    source: str = "written"
    id: str = ""
    prompt: str | None = None


# ---------------------------------------------------------------------------- references
@dataclass(frozen=True)
class NamedWords:
    """Names of specifications to look up: those that are not shipped, or that include a version.

    Attributes
    ----------
    kind : str
        Kind of words that the method takes (`assay.catalog.specification.WORDS`).
    """

    names: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class NamedCorpus:
    """Name of a corpus whose items the target is asked about.

    Attributes
    ----------
    name : str
        Id of the corpus, optionally with a version: ``crp_1@4``.
    kind : str
        Kind of items that it must hold: ``sentences`` or ``images``.
    field : str
        The method's field for items of this kind; `given` is the number of items already in it.
    most : int
        Maximum number of items that a rating asks about.
    may_be_empty : bool
        Whether the corpus may be empty, because an author makes the items.
    """

    name: str
    kind: MaterialKind
    field: str
    given: int = 0
    most: int = 10_000
    may_be_empty: bool = False


@dataclass(frozen=True)
class NamedRows:
    """Rows of an uploaded table.

    Attributes
    ----------
    column : str
        Column by which rows are selected.
    values : tuple
        Values of this column in the selected rows.
    most : int
        Maximum number of rows; if there are more, the seed picks a part of them.
    field : str
        The method's field that names the upload.
    """

    upload: str
    column: str
    values: tuple[str | int | float | bool | None, ...]
    most: int
    field: str


@dataclass(frozen=True)
class AuthoredItems:
    """Items to request from an author. They are stored in one corpus, and items stored earlier can be used again.

    Attributes
    ----------
    kind : str
        ``sentences`` or ``images``.
    name, attribute : str
        Name of the words that the items are about, and the attribute; a new corpus is named after both.
    terms : tuple of str
        Terms that the items contain or show.
    words : StereotypeWords, optional
        The rules that sentences follow. Without rules, stored items are looked up by their terms.
    specification : str or tuple of str, optional
        Name of these words in the request.
    reuse : bool
        Whether the tenant's stored items are looked up.
    """

    kind: MaterialKind
    name: str
    attribute: str
    terms: tuple[str, ...]
    words: Any = None
    specification: str | tuple[str, ...] | None = None
    reuse: bool = True


@dataclass(frozen=True)
class References:
    """References of an experiment to stored material.

    Attributes
    ----------
    corpus : NamedCorpus or None
        Corpus whose items the target is asked about.
    images : tuple of str
        Digests of images that the request names one by one; the tenant must be allowed to see them.
    image_field : str
        The method's field that holds these images, each with its digest as ``image``.
    words : NamedWords or None
        Specifications of words.
    rows : NamedRows or None
        Rows of a table.
    authored : tuple of AuthoredItems
        Items to request from an author, one entry per corpus; only known after the words were found.
    """

    corpus: NamedCorpus | None = None
    images: tuple[str, ...] = ()
    image_field: str = "pictures"
    words: NamedWords | None = None
    rows: NamedRows | None = None
    authored: tuple[AuthoredItems, ...] = ()


NOTHING = References()
"""References of an experiment that needs no stored material."""


# ---------------------------------------------------------------------------- found material
@dataclass(frozen=True)
class FoundWords:
    """A specification that was found. `reference` is its name with its version."""

    reference: str
    words: Any


@dataclass(frozen=True)
class FoundCorpus:
    """A corpus that was found, with the words and the name of the specification that its sentences follow."""

    reference: str
    items: tuple[CorpusItem, ...]
    words: Any = None
    specification: str | None = None


@dataclass(frozen=True)
class Found:
    """Material that was found; parts that were not looked up are empty.

    Attributes
    ----------
    corpus : FoundCorpus or None
        Corpus for `References.corpus`.
    words : tuple of FoundWords
        Specifications for `References.words`, in the order of its names.
    rows : tuple of mapping
        Rows for `References.rows`.
    trials : tuple of mapping
        Recorded choices, if the target is an upload of answers: ``concept``, ``level``, ``chose_second``,
        ``trials``.
    authored : tuple of tuples of CorpusItem
        Stored items for each entry of `References.authored`, the oldest first.
    """

    corpus: FoundCorpus | None = None
    words: tuple[FoundWords, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    trials: tuple[Mapping[str, Any], ...] = ()
    authored: tuple[tuple[CorpusItem, ...], ...] = ()
