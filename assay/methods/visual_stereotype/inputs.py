"""Pictures to be asked about, each of a generation term (P4).

A picture is named by the digest of its image, which is kept elsewhere: an experiment never holds the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from assay.bounds import Bounded
from assay.catalog.stereotypes import Role, VisualWords
from assay.catalog.terms import folded
from assay.errors import SpecificationError
from assay.methods.shared.term_items import Sorted

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""Form of the name of an image."""


@dataclass(frozen=True)
class Picture(Bounded):
    """A picture to be asked about, as somebody keeps it.

    Parameters
    ----------
    image : str
        Digest of the kept image: ``sha256:…``.
    term : str
        What it is of, as the specification writes it, but in any case and with blanks for hyphens.
    source : str
        Where it comes from: ``drawn``, ``uploaded`` ...
    id : str
        Names it where it is kept.
    """

    image: Annotated[str, MinLen(71), MaxLen(71)]
    term: Annotated[str, MinLen(1), MaxLen(100)]
    source: Annotated[str, MaxLen(50)] = "uploaded"
    id: Annotated[str, MaxLen(300)] = ""

    def __post_init__(self) -> None:
        """Raise if the image is not a digest."""
        super().__post_init__()
        if not DIGEST.fullmatch(self.image):
            raise SpecificationError(
                f"an image is named by its digest, sha256: and 64 hexadecimal digits, not {self.image[:80]!r}", "image"
            )


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture that is of use: its digest, its term as the specification writes it, and the label tied to that."""

    image: str
    term: str
    role: Role
    source: str = ""
    id: str = ""


def sort(pictures: Iterable[Picture], words: VisualWords) -> Sorted[Shown]:
    """Find the term of each picture; count those that are of no use by reason.

    The reasons are ``other-term`` (the specification has no such term) and ``same-picture`` (the image is there
    already).
    """
    terms = {folded(term): (term, role) for term, role in words.roles.items()}
    shown: dict[str, Shown] = {}
    refused: Counter[str] = Counter()
    for picture in pictures:
        found = terms.get(folded(picture.term))
        if found is None:
            refused["other-term"] += 1
        elif picture.image in shown:
            refused["same-picture"] += 1
        else:
            shown[picture.image] = Shown(picture.image, *found, picture.source, picture.id)
    return Sorted(tuple(shown.values()), dict(refused))
