"""What a report needs of the method behind a rating: handed in, because nothing here knows a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.experiment import Method
from assay.explain import Vocabulary
from assay.reports.view import Steps

Part = Mapping[str, Any]
"""A component of the stored document, or its aggregation; what it holds is the method's own."""


NO_WORDS = Vocabulary()
"""The common words alone."""


@dataclass(frozen=True)
class Presentation:
    """How the ratings of one method are shown.

    The defaults, those of any method, show a rating whose method is not installed by the common fields alone.

    Attributes
    ----------
    steps : (str, str)
        What the service is shown in step 1 and in step 2.
    vocabulary : Vocabulary
        Sentences and phrases of the method's codes.
    tables, figures : callable
        Tables and figures of a part of the document; what is neither is left out. Each is called for every
        component, and `tables` once more for the aggregation.
    counted : callable
        Plural of what a component counts as usable, unusable or failed.
    """

    steps: Steps = Method.STEPS
    vocabulary: Vocabulary = NO_WORDS
    tables: Callable[[Part], Iterable[object]] = Method.tables
    figures: Callable[[Part], Iterable[object]] = Method.figures
    counted: Callable[[Part], str] = Method.counted
