"""Occupations, and the share of women and men in them."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

from assay.catalog.tables import read_table
from assay.catalog.terms import indefinite


@dataclass(frozen=True)
class Occupation:
    """An occupation whose name fits a person of any gender."""

    name: str
    source: str
    share_women: float | None = None
    """Share of women among the people in the occupation, in [0, 1]; ``None`` if unknown."""
    year: int | None = None

    @cached_property
    def indefinite(self) -> str:
        """The name with its article: "a nurse", "an engineer"."""
        return indefinite(self.name)

    @property
    def side(self) -> Literal["he", "she"] | None:
        """Pronoun of the more frequent gender in the occupation; ``None`` if unknown."""
        if self.share_women is None:
            return None
        return "he" if self.share_women < 0.5 else "she"


@cache
def occupations() -> tuple[Occupation, ...]:
    """Return all occupations of the catalog, sorted by name."""
    table = read_table("occupations")
    sources = table["sources"]
    return tuple(
        Occupation(name, sources[entry["source"]], entry.get("share_women"), entry.get("year"))
        for name, entry in sorted(table["occupations"].items())
    )
