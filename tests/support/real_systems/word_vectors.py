"""Real word vectors: the 13,013 words of GoogleNews that are in the data folder, behind an endpoint.

A text is looked up unchanged, in lower case, and with underscores for spaces (``high_school``). If it is not found, a
text of several words gets the mean of its words' vectors; four words that GoogleNews left out of its vocabulary are
skipped. If any other word is unknown, the text is unknown and has no vector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from demo.predictors.prediction import Embedder
from tests.support.real_systems.tables import needed

SUMMARY = "13,013 word vectors of GoogleNews (word2vec, 300 dimensions): Mikolov et al. (2013)."

FILE = "gnews_wefe_13013x300.npz"
LEFT_OUT = frozenset({"a", "and", "of", "to"})
"""Frequent words that GoogleNews left out of its vocabulary."""


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors by word.

    Attributes
    ----------
    places : mapping of str to int
        The row of each word.
    vectors : ndarray of float32, shape (words, dims)
    """

    places: Mapping[str, int]
    vectors: NDArray[np.float32]

    @classmethod
    def read(cls, path: Path) -> WordVectors:
        """Read an ``.npz`` of ``vectors`` and ``words``, a JSON list."""
        with np.load(path, allow_pickle=False) as held:
            words = json.loads(str(held["words"]))
            return cls({word: place for place, word in enumerate(words)}, np.asarray(held["vectors"], np.float32))

    def of(self, text: str) -> NDArray[np.float32] | None:
        """Return the vector of a text; ``None`` if it is unknown."""
        words = text.split()
        for spelling in (text, text.lower(), "_".join(words), "_".join(words).lower()):
            if spelling in self.places:
                return np.asarray(self.vectors[self.places[spelling]])
        told = [word for word in words if word.lower() not in LEFT_OUT]
        if len(words) < 2 or not told:
            return None
        found = [self.of(word) for word in told]
        known = [vector for vector in found if vector is not None]
        return np.mean(known, axis=0, dtype=np.float32) if len(known) == len(found) else None


def load(data: Path) -> Embedder:
    """Read the vectors."""
    words = WordVectors.read(needed(data / "embeddings" / FILE))

    def embed(text: str, model: str) -> list[float] | None:
        del model  # unused: there is only one model
        vector = words.of(text)
        return None if vector is None else [float(number) for number in vector]

    return Embedder(name="google-news", summary=SUMMARY, embed=embed)
