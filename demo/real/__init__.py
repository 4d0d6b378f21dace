"""Real systems behind the demo's interfaces, to be rated as anybody's service is.

They need the extra ``real`` and, some of them, public data from a folder. Each module imports what it
needs when it is asked for a system and not before; nothing here opens a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from assay.errors import UnknownName
from demo.predictors.prediction import Predictor
from demo.real import adult, census, lexicons, ngram, word_vectors

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
"""Where public data are looked for by default: beside the checkout."""


class NotInstalled(RuntimeError):
    """A real system's library is not there."""


@dataclass(frozen=True)
class Real:
    """A real system.

    Attributes
    ----------
    name, summary : str
        Its path, and what it is, in one sentence.
    load : callable
        Makes the service; gets the folder of data.
    """

    name: str
    summary: str
    load: Callable[[Path], Predictor] = field(repr=False)


REAL: Mapping[str, Real] = MappingProxyType(
    {
        one.name: one
        for one in (
            Real("vader", lexicons.VADER, lambda _: lexicons.vader()),
            Real("textblob", lexicons.TEXTBLOB, lambda _: lexicons.textblob()),
            Real("afinn", lexicons.AFINN, lambda _: lexicons.afinn()),
            Real("census-wage", census.SUMMARY, census.load),
            Real("adult-income", adult.SUMMARY, adult.load),
            Real("google-news", word_vectors.SUMMARY, word_vectors.load),
            Real(ngram.NAME, ngram.SUMMARY, lambda _: ngram.load()),
        )
    }
)
"""The real systems, by name."""


def load(name: str, data: Path = DATA) -> Predictor:
    """Load a real system; models are trained, which takes seconds.

    Parameters
    ----------
    name : str
        One of `REAL`.
    data : Path
        Folder of public data, with ``kdd_census``, ``adult`` and ``embeddings``.

    Raises
    ------
    UnknownName
        If there is none of that name.
    NotInstalled
        If its library is not there.
    DataAbsent
        If its data are not there.
    """
    if name not in REAL:
        raise UnknownName("real system", name, REAL)
    try:
        return REAL[name].load(data)
    except ModuleNotFoundError as missing:
        raise NotInstalled(f"{name} needs {missing.name}, which is not installed; the extra 'real' brings it") from None
