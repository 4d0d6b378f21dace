"""Real systems that tests rate: lexicons, models trained on public tables, and word vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from demo.predictors.prediction import Predictor
from tests.support.real_systems import adult, census, lexicons, ngram, word_vectors

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
"""Folder of public data, beside the checkout."""

TRAINED: Mapping[str, Callable[[Path], Predictor]] = MappingProxyType(
    {
        "census-wage": census.load,
        "adult-income": adult.load,
        "google-news": word_vectors.load,
        ngram.NAME: lambda _: ngram.load(),
    }
)
"""Loaders of the systems that need a folder of public data, by name."""


def load(name: str, data: Path = DATA) -> Predictor:
    """Load a real system; models are trained, which takes seconds.

    Raises
    ------
    DataAbsent
        If the system's data are not in the folder `data`.
    UnknownName, NotInstalled
        As `lexicons.load`.
    """
    return TRAINED[name](data) if name in TRAINED else lexicons.load(name)
