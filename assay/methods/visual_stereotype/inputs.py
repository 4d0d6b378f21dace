"""Pictures to ask about; each shows one generation term (Jiang et al.), such as a plumber or a nurse.

A picture is identified by the digest of its image, which is stored elsewhere: an experiment never holds the file.
"""

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
from assay.methods.shared.terms.items import SortedItems
from assay.references import CorpusItem

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""Pattern of an image's digest, which identifies the image."""


@dataclass(frozen=True)
class Picture(Bounded):
    """A picture to ask about, as given or stored.

    Parameters
    ----------
    image : str
        Digest of the stored image: ``sha256:…``.
    term : str
        Generation term of the picture, as in the specification; upper case and hyphens make no difference.
    source : str
        Where it comes from: ``drawn``, ``uploaded`` ...
    id : str
        Identifier of the picture where it is stored.
    """

    image: Annotated[str, MinLen(71), MaxLen(71)]  # "sha256:" and 64 digits
    term: Annotated[str, MinLen(1), MaxLen(100)]
    source: Annotated[str, MaxLen(50)] = "uploaded"
    id: Annotated[str, MaxLen(300)] = ""

    def __post_init__(self) -> None:
        """Raise an error if `image` is not a digest."""
        super().__post_init__()
        if not DIGEST.fullmatch(self.image):
            raise SpecificationError(
                f"an image must be given as sha256: and 64 hexadecimal digits, not {self.image[:80]!r}", "image"
            )


@dataclass(frozen=True, slots=True)
class UsablePicture:
    """A usable picture: digest, term in the specification's spelling, and label (`role`) of the term's stereotype."""

    image: str
    term: str
    role: Role
    source: str = ""
    id: str = ""


def sort(pictures: Iterable[Picture], words: VisualWords) -> SortedItems[UsablePicture]:
    """Return the usable pictures with their terms, and the number of unusable ones by reason.

    The reasons are ``other-term`` (the specification has no such term) and ``same-picture`` (an earlier picture has
    the same image).
    """
    terms = {folded(term): (term, role) for term, role in words.roles.items()}
    usable: dict[str, UsablePicture] = {}
    refusals: Counter[str] = Counter()
    for picture in pictures:
        term_and_role = terms.get(folded(picture.term))
        if term_and_role is None:
            refusals["other-term"] += 1
        elif picture.image in usable:
            refusals["same-picture"] += 1
        else:
            usable[picture.image] = UsablePicture(picture.image, *term_and_role, picture.source, picture.id)
    return SortedItems(tuple(usable.values()), dict(refusals))


def picture_of(item: CorpusItem) -> Picture:
    """Convert an item of a corpus to a picture; the method finds its term in its own word lists."""
    source = "drawn" if item.source == "written" else item.source
    return Picture(item.image or "", item.term or "?", source, item.id)  # a term may not be empty; "?" is no term
