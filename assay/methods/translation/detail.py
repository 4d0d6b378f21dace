"""Type of a translator's own part of a rating document."""

from __future__ import annotations

from dataclasses import dataclass

from assay.document import ComponentDocument, always


@dataclass(frozen=True)
class TranslationComponent(ComponentDocument):
    """A middle language with a template, or a target language. `step_1_p` is the p-value of step 1."""

    step_1_p: float | None = always(None)
