"""What a report needs of the method behind a rating: handed in, because nothing here knows a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.explain import Vocabulary
from assay.reports.view import BALANCED, Picture, Steps, Table

Part = Mapping[str, Any]
"""A component of the stored document, or its aggregation; what it holds is the method's own."""


NO_WORDS = Vocabulary()
"""The common words alone."""


def _nothing(_part: Part) -> Iterable[None]:
    return ()


def _answers(_part: Part) -> str:
    return "Answers"


@dataclass(frozen=True)
class Presentation:
    """How the ratings of one method are shown.

    The defaults are for a rating whose method is not installed: it is shown by the common fields alone.

    Attributes
    ----------
    steps : (str, str)
        What the service is shown in step 1 and in step 2.
    vocabulary : Vocabulary
        Sentences and phrases of the method's codes.
    tables, figures : callable
        Tables and figures of a part of the document; ``None`` among them is left out. Each is called for every
        component, and `tables` once more for the aggregation.
    counted : callable
        Plural of what a component counts as usable, unusable or failed.
    """

    steps: Steps = BALANCED
    vocabulary: Vocabulary = NO_WORDS
    tables: Callable[[Part], Iterable[Table | None]] = _nothing
    figures: Callable[[Part], Iterable[Picture | None]] = _nothing
    counted: Callable[[Part], str] = _answers
