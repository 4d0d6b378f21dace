"""State of the three steps, which is all stored: a corpus, and its specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from web.corpora.review import corpus_of
from web.frame import Visit

KINDS = {"language-model": "stereotype", "image-classifier": "visual"}
"""Kind of specification for each kind of service."""


@dataclass(frozen=True)
class Begun:
    """A described bias with its corpus.

    Attributes
    ----------
    corpus : dict
        The corpus.
    specification : str
        Name and version of its words.
    words : dict
        The words. Sentences carry a copy in their corpus; pictures are about the specification in the address.
    """

    corpus: dict[str, Any]
    specification: str
    words: dict[str, Any]

    @property
    def kind(self) -> str:
        """Kind of the service to test."""
        return "language-model" if self.corpus["kind"] == "sentences" else "image-classifier"

    def path(self, step: str) -> str:
        """Return the address of a step."""
        return f"/own-words/{self.corpus['id']}/{step}"

    @property
    def query(self) -> dict[str, str]:
        """Parameters that every address of these steps carries."""
        return {} if self.corpus["kind"] == "sentences" else {"words": self.specification}


async def begun(visit: Visit) -> Begun:
    """Return the described bias that the address names."""
    corpus = await corpus_of(visit)
    if corpus["kind"] == "sentences":
        return Begun(corpus, corpus["specification"] or "", corpus["words"] or {})
    name, _, version = visit.query("words").partition("@")
    if not name:
        return Begun(corpus, "", {})
    path = f"/v1/specifications/{name}"
    found = await visit.api.get(f"{path}/versions/{version}" if version else path)
    return Begun(corpus, f"{found['name']}@{found['version']}", found["words"])
