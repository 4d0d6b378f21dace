"""`MethodReport`: the tables, figures and sentences of one method; the modules in `reports.methods` define them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.document import HiddenDocument, RatingDocument
from assay.experiment import Method
from assay.rating.document import DecidingEffect
from reports.cases import CaseReader
from reports.units import Unit
from reports.view import BALANCED, Picture, Steps, Table

Part = TypeVar("Part")
Piece = TypeVar("Piece", Table | None, Picture | None)


def in_order(*makers: Callable[[Part], Piece]) -> Callable[[Part], Iterable[Piece]]:
    """Return a function that calls each of the `makers` for a component and yields their tables or figures."""
    return lambda part: (make(part) for make in makers)


@dataclass(frozen=True, slots=True)
class Room:
    """Number of further questions about a component that its material (words or rows) allows, and how to allow more."""

    remaining: int | None
    """Number of further questions; ``None`` if only the value of `field` limits it."""
    field: str
    """Field of the experiment that must be increased to ask more questions; not used if `remaining` is 0."""
    material: str
    """Phrase for what to add (words, rows or trials) so that more questions become possible."""


@dataclass(frozen=True, slots=True)
class MethodReport:
    """Functions that make the tables, figures and sentences of a method's ratings.

    Every function gets a component of a rating, parsed as ``method.COMPONENT``. The document may be old: a table,
    figure or sentence whose data are missing is ``None`` or left out. Only `method` is required: the defaults report
    the data that all methods have.
    """

    method: type[Method]
    """Class of the method."""
    steps: Steps = BALANCED
    """Names of the input in step 1 and in step 2."""
    letters: Mapping[str, str] = field(default_factory=dict)
    """For each of ``UCS``, ``DSBS``, ``BS`` and ``inconclusive``, a sentence on what the result means for a service."""
    in_words: Callable[[RatingDocument, Any], Iterable[str | None]] = field(default=lambda *_: ())
    """Writes sentences for readers who know no statistics: effects in the service's own unit, and what was tested. If
    there is no sentence, the report uses sentences that all methods share (`reports.in_words`)."""
    tables: Callable[[Any], Iterable[Table | None]] = field(default=lambda *_: ())
    """Makes the tables of a component, or of the aggregation, which is read as a component."""
    figures: Callable[[Any], Iterable[Picture | None]] = field(default=lambda *_: ())
    """Makes the figures of a component."""
    room: Callable[[RatingDocument, Any], Room | None] = field(default=lambda *_: None)
    """Returns how many more questions about a component can be asked; ``None`` if it is not known."""
    title_of: Callable[[str], str] = str
    """Returns the title of a component for people: by default its name; some methods use the title of its words."""
    counted: Callable[[Any], str] = field(default=lambda _: "Answers")
    """Returns the plural noun for the items that a component counts as usable, unusable or failed."""
    unit: Callable[[RatingDocument, Any, HiddenDocument | None], Unit] | None = None
    """Returns the unit of a step's effect, or of a hidden effect; ``None``: effects are shown as plain numbers."""
    remark: Callable[[Any], str | None] = field(default=lambda _: None)
    """Returns a sentence that prevents a misreading of a declared letter; ``None`` if none is needed."""
    decided: Callable[[RatingDocument, Any, DecidingEffect], Iterable[str]] = field(default=lambda *_: ())
    """Yields sentences with the counts from which the deciding effect follows; none if the first two sentences of
    `in_words` are about it."""
    number: str = ""
    """Sentence that explains the number of an effect (except one of content); empty if the unit explains it."""
    cases: type[CaseReader] = CaseReader
    """Class that groups the method's recorded observations into cases and judges each case."""
    groups: Mapping[str | None, str] = field(default_factory=dict)
    """Titles of the rows of `transitions` if no value is sent, but sentences about groups; else empty."""
    advice: Callable[[RatingDocument, Any], str | None] = field(default=lambda *_: None)
    """Returns a sentence of advice on a declared letter; ``None`` if the advice of all methods fits."""
    unusable: str = "came back unreadable"
    """Phrase for the items that are counted as unusable."""
    ratable: str = ""
    """Plural noun for material that can be rated in place of the method's words, such as "texts"; empty if none can."""
