"""Real sentiment lexicons, served beside the demo services: VADER, TextBlob and AFINN (extra ``real``).

As regressors they answer in their own unit. As classifiers they need the probability of ``positive``,
which none of them returns: VADER's compound and TextBlob's polarity p, in [-1, 1], become (p + 1)/2;
AFINN's sum s, without bounds, becomes 1/(1 + exp(-s/2)). This conversion is ours, not the authors'.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress

from assay.errors import UnknownName
from demo.predictors.prediction import TextScorer

VADER = "VADER's compound score: Hutto & Gilbert (2014), vaderSentiment."
TEXTBLOB = "TextBlob's polarity, by the lexicon of De Smedt & Daelemans (2012), Pattern."
AFINN = "The sum of the valences of AFINN's words: Nielsen (2011)."


class NotInstalled(RuntimeError):
    """The library of a real system is not installed."""


def from_polarity(polarity: float) -> float:
    """Convert a polarity in [-1, 1] to a probability."""
    return (min(1.0, max(-1.0, polarity)) + 1) / 2


def from_valences(valences: float) -> float:
    """Convert a sum of valences to a probability."""
    with suppress(OverflowError):
        return 1 / (1 + math.exp(-valences / 2))
    return 0.0


def vader() -> TextScorer:
    """Load VADER."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # type: ignore[import-untyped]

    analyser = SentimentIntensityAnalyzer()
    return TextScorer(
        name="vader",
        summary=VADER,
        number=lambda text: float(analyser.polarity_scores(text)["compound"]),
        positive=from_polarity,
    )


def textblob() -> TextScorer:
    """Load TextBlob's default analyser, which needs no corpora."""
    from textblob import TextBlob  # type: ignore[import-untyped]

    return TextScorer(
        name="textblob",
        summary=TEXTBLOB,
        number=lambda text: float(TextBlob(text).sentiment.polarity),
        positive=from_polarity,
    )


def afinn() -> TextScorer:
    """Load AFINN's English words."""
    with warnings.catch_warnings():
        # afinn's source has the invalid escape '\w'; Python 3.11 warns with the second class
        for kind in (SyntaxWarning, DeprecationWarning):
            warnings.simplefilter("ignore", kind)
        from afinn import Afinn  # type: ignore[import-untyped]

    words = Afinn()
    return TextScorer(name="afinn", summary=AFINN, number=lambda text: float(words.score(text)), positive=from_valences)


LEXICONS: Mapping[str, Callable[[], TextScorer]] = {"vader": vader, "textblob": textblob, "afinn": afinn}
"""Loaders of the lexicons, by name."""


def load(name: str) -> TextScorer:
    """Load a lexicon as a demo service; raise `UnknownName`, or `NotInstalled` if its library is missing."""
    if name not in LEXICONS:
        raise UnknownName("lexicon", name, LEXICONS)
    try:
        return LEXICONS[name]()
    except ModuleNotFoundError as missing:
        raise NotInstalled(f"{name} needs {missing.name}, which is not installed; install the extra 'real'") from None
