"""Types of visual-stereotype's own part of a rating document."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.document import Shares
from assay.methods.shared.detail import NO_SOURCE, CaseDocument, Source, TermsComponent


@dataclass(frozen=True)
class PictureComponent(TermsComponent):
    """A list of terms, scored by the labels of pictures."""

    scale: str | None = None
    images_asked: int | None = None
    images: tuple[CaseDocument, ...] = ()
    named: Shares = field(default_factory=dict)
    orders: Shares = field(default_factory=dict)
    drawing: Source = NO_SOURCE
