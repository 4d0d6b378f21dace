"""What a report shows of one method; each module beside this one has that of a method."""

from __future__ import annotations

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
    """Return the function that makes a component's tables or figures one after another."""
    return lambda part: (make(part) for make in makers)


@dataclass(frozen=True, slots=True)
class Room:
    """Further questions that can be asked about a component with the words or rows of its experiment."""

    remaining: int | None
    """Number of further questions; ``None`` if only the field limits it."""
    field: str
    """Field of the experiment to increase so that they are asked; not used if no question is left."""
    material: str
    """Words, rows or trials to add so that more questions become possible."""


@dataclass(frozen=True, slots=True)
class MethodReport:
    """Tables, figures and words of a method's ratings.

    Every function gets a component of a rating as the type ``method.COMPONENT``. The document may be old: a table,
    figure or sentence whose data are missing is ``None`` or not made. Only `method` is required; a method without its
    own functions is reported by what all methods share.
    """

    method: type[Method]
    """Class of the method."""
    steps: Steps = BALANCED
    """Names of the input in step 1 and in step 2."""
    letters: Mapping[str, str] = field(default_factory=dict)
    """For each of ``UCS``, ``DSBS``, ``BS`` and ``inconclusive``, one sentence on what it says about a service."""
    in_words: Callable[[RatingDocument, Any], Iterable[str | None]] = field(default=lambda *_: ())
    """Writes sentences for readers who know no statistics: effects in the service's own unit, and what was tested. If
    there is no sentence, the report uses sentences that all methods share (`reports.in_words`)."""
    tables: Callable[[Any], Iterable[Table | None]] = field(default=lambda *_: ())
    """Makes the tables of a component, or of the aggregation."""
    figures: Callable[[Any], Iterable[Picture | None]] = field(default=lambda *_: ())
    """Makes the figures of a component."""
    room: Callable[[RatingDocument, Any], Room | None] = field(default=lambda *_: None)
    """Returns how many more questions about a component can be asked; ``None`` where that is not known."""
    title_of: Callable[[str], str] = str
    """Returns the title of a component for people: by default its name; some methods use the title of its words."""
    counted: Callable[[Any], str] = field(default=lambda _: "Answers")
    """Returns the plural noun for the items that a component counts as usable, unusable or failed."""
    unit: Callable[[RatingDocument, Any, HiddenDocument | None], Unit] | None = None
    """Returns the unit of a step's effect, or of a hidden effect; ``None``: effects have no unit but their size."""
    remark: Callable[[Any], str | None] = field(default=lambda _: None)
    """Writes a sentence that guards a declared letter against a misreading; ``None`` where none is needed."""
    decided: Callable[[RatingDocument, Any, DecidingEffect], Iterable[str]] = field(default=lambda *_: ())
    """Writes the counts behind the effect that decided the letter; nothing where the first two sentences of `in_words`
    are about it."""
    number: str = ""
    """Sentence that says what the number of an effect other than that of content counts; empty if the unit says it."""
    cases: type[CaseReader] = CaseReader
    """Reads the cases of the method's evidence."""
    advice: Callable[[RatingDocument, Any], str | None] = field(default=lambda *_: None)
    """Writes what to do about a declared letter; ``None`` where the advice of all methods fits."""
    ratable: str = ""
    """Plural noun for what can be rated instead of the method's words, such as "texts"; empty if nothing can be."""
