"""Types of visual-stereotype's own part of a rating document."""

from dataclasses import dataclass

from assay.document import NO_ENTRIES, NO_ITEMS, Shares, always
from assay.methods.shared.detail import NO_SOURCE, CaseDocument, Source, TermsComponent


@dataclass(frozen=True)
class ImageDocument(CaseDocument):
    """A picture, and the answer about it."""

    says: str | None = always(None)


@dataclass(frozen=True)
class PictureComponent(TermsComponent):
    """A list of terms, scored by labels of pictures; `orders` counts answers that changed with the labels' order."""

    scale: str | None = always(None)
    images_asked: int | None = None
    images_seen: int | None = None
    images: tuple[ImageDocument, ...] = NO_ITEMS
    named: Shares = NO_ENTRIES
    orders: Shares = NO_ENTRIES
    drawing: Source = NO_SOURCE
