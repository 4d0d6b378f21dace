"""State of a test in the user's own words, between its three steps: a stored corpus and its specification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from web.corpora.review import corpus_of
from web.frame import Visit, segment

KINDS = {"language-model": "stereotype", "image-classifier": "visual"}
"""Kind of specification for each kind of service."""


@dataclass(frozen=True)
class Begun:
    """The user's test: the words that describe the bias, and their corpus.

    Attributes
    ----------
    corpus : dict
        The corpus.
    specification : str
        Name and version of the specification with the words.
    words : dict
        The words: for sentences, the copy in the corpus; for pictures, the specification in the address.
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
        """Parameters in the address of every step."""
        return {} if self.corpus["kind"] == "sentences" else {"words": self.specification}


async def begun(visit: Visit) -> Begun:
    """Return the user's test at this address: its corpus, and the words that describe the bias."""
    corpus = await corpus_of(visit)
    if corpus["kind"] == "sentences":
        return Begun(corpus, corpus["specification"] or "", corpus["words"] or {})
    name, _, version = visit.query("words").partition("@")
    if not name:
        return Begun(corpus, "", {})
    path = f"/v1/specifications/{segment(name)}"
    specification = await visit.api.get(f"{path}/versions/{segment(version)}" if version else path)
    return Begun(corpus, f"{specification['name']}@{specification['version']}", specification["words"])
