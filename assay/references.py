"""References of an experiment to stored material, and the material that was found.

A job carries all its material: a worker looks nothing up, a replay needs no database, and later edits of a list do
not change a job. Therefore, before a job is stored, the service asks its method for the `References`,
looks each up by its kind, and returns what it `Found` to the method (`assay.experiment.Method.with_references`).
What an author made for the same tenant before is found in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

MaterialKind = Literal["sentences", "images"]
"""Kinds of corpora."""


@dataclass(frozen=True)
class CorpusItem:
    """A sentence or a picture, of a corpus or to be put into one.

    Attributes
    ----------
    text, group_term, attribute_term, counterpart : str or None
        The sentence, its two terms, and the same sentence about the other group. ``None`` for a picture.
    image, term : str or None
        Digest of a picture's image, and what it shows. ``None`` for a sentence.
    source : str
        ``written`` (by an author, as are pictures that were drawn), ``uploaded``, ``template`` or ``edited``.
    id : str
        Of the item; of one that an author has just made, the unit of its probe.
    prompt : str or None
        What an author was asked for.
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
    """Specifications that are not shipped, or in a version.

    Attributes
    ----------
    kind : str
        Kind of words that the method takes (`assay.catalog.specification.WORDS`).
    """

    names: tuple[str, ...]
    kind: str


@dataclass(frozen=True)
class NamedCorpus:
    """A corpus whose items are asked about.

    Attributes
    ----------
    name : str
        Its id, perhaps with a version: ``crp_1@4``.
    kind : str
        What it must hold: ``sentences`` or ``images``.
    field : str
        The method's field for items of this kind.
    most : int
        Items that a rating asks about at most.
    may_be_empty : bool
        Whether an author makes what is lacking.
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
        Column that decides which rows are wanted.
    values : tuple
        Its values in these rows.
    most : int
        Most rows; the seed picks a part of more.
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
    """Items that an author is asked for: they are kept in one corpus, and those kept before can be used again.

    Attributes
    ----------
    kind : str
        ``sentences`` or ``images``.
    name, attribute : str
        What they are about, and the attribute: a new corpus is named after them.
    terms : tuple of str
        Terms that they hold or show.
    words : StereotypeWords, optional
        The rules that sentences keep to. Without, a sentence is found again by its attribute term.
    specification : str or tuple of str, optional
        What the request calls these words.
    reuse : bool
        Whether items that the tenant has already are looked up.
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
    """References of an experiment.

    Attributes
    ----------
    corpus : NamedCorpus or None
        A corpus that is asked about.
    images : tuple of str
        Digests of images that the request names one by one; the tenant must be allowed to see them.
    image_field : str
        The method's field that holds them, each with its digest as ``image``.
    words : NamedWords or None
        Specifications.
    rows : NamedRows or None
        Rows of a table.
    authored : tuple of AuthoredItems
        What an author is asked for, one entry a corpus. It is known once the words are.
    """

    corpus: NamedCorpus | None = None
    images: tuple[str, ...] = ()
    image_field: str = "pictures"
    words: NamedWords | None = None
    rows: NamedRows | None = None
    authored: tuple[AuthoredItems, ...] = ()


NOTHING = References()
"""References of an experiment that holds everything it needs."""


# ---------------------------------------------------------------------------- found material
@dataclass(frozen=True)
class FoundWords:
    """A specification. `reference` is its name with its version."""

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
    """Material that was found; parts that were not looked up are left out.

    Attributes
    ----------
    corpus : FoundCorpus or None
        Of `References.corpus`.
    words : tuple of FoundWords
        Of `References.words`, in the order of its names.
    rows : tuple of mapping
        Of `References.rows`.
    trials : tuple of mapping
        Choices made already, where the target is an upload of answers: ``concept``, ``level``, ``chose_second``,
        ``trials``.
    authored : tuple of tuples of CorpusItem
        Of `References.authored`, entry by entry: what there is of each, the oldest first.
    """

    corpus: FoundCorpus | None = None
    words: tuple[FoundWords, ...] = ()
    rows: tuple[Mapping[str, Any], ...] = ()
    trials: tuple[Mapping[str, Any], ...] = ()
    authored: tuple[tuple[CorpusItem, ...], ...] = ()
