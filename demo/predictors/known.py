"""The predicting services of known bias, by name."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from assay.catalog import attribute, attributes
from assay.catalog.profiles import people
from assay.errors import UnknownName
from demo.images import viewers
from demo.language_models import models
from demo.language_models.answerers import ANSWERERS
from demo.language_models.screeners import SCREENERS
from demo.predictors import embedders, rankers, sentiment, wages
from demo.predictors.prediction import Predictor, by_name

_NUMBERED = re.compile(r"(?P<family>[a-z]+(?:-[a-z]+)*)-(?P<amount>0|[1-9]\d{0,2})", re.ASCII)


@dataclass(frozen=True)
class Family:
    """Services that differ only in the amount of their bias: maker of a service, largest amount, example amount."""

    make: Callable[[int], Predictor]
    most: int
    example_amount: int


FAMILIES: Mapping[str, Family] = {
    "stereotyped-embedder": Family(embedders.stereotyped, 100, 60),
    "leaning-embedder": Family(embedders.leaning, 100, 40),
    "group-sentiment": Family(sentiment.group, 100, 10),
    "biased-wage": Family(wages.biased, 900, 150),
    "proxy-wage": Family(wages.proxy, 900, 300),
    "stereotyped-model": Family(models.stereotyped, 900, 150),
    "leaning-model": Family(models.leaning, 900, 150),
    "stereotyped-viewer": Family(viewers.stereotyped, 900, 150),
    "leaning-viewer": Family(viewers.leaning, 900, 150),
    "sloppy-writer": Family(models.sloppy_writer, 100, 30),
    "curt-writer": Family(models.curt, 90, 40),
}
"""Families by name; a service is named after its family and the amount of its bias: ``biased-wage-45``."""

SENTIMENT = "-sentiment"
"""End of a family's name, after an attribute: sentiment scorers with a bias by this attribute (``age-sentiment``)."""


def _family_named(name: str) -> Family | None:
    """Return a family of `FAMILIES`, or that of scorers for an attribute ("religion-sentiment"); else ``None``."""
    attribute_name = name.removesuffix(SENTIMENT)
    if name.endswith(SENTIMENT) and attribute_name in attributes() and people(attribute(attribute_name)):
        return Family(partial(sentiment.attribute_scorer, attribute_name=attribute_name), most=100, example_amount=10)
    return FAMILIES.get(name)


def _example(family: str) -> Predictor:
    return replace(FAMILIES[family].make(FAMILIES[family].example_amount), name=family)


PREDICTORS: Mapping[str, Predictor] = by_name(
    embedders.EVEN,
    _example("stereotyped-embedder"),
    _example("leaning-embedder"),
    sentiment.FAIR,
    sentiment.BLIND,
    _example("group-sentiment"),
    wages.FAIR,
    _example("biased-wage"),
    _example("proxy-wage"),
    rankers.FAIR,
    rankers.PARTIAL,
    models.EVEN,
    _example("stereotyped-model"),
    _example("leaning-model"),
)
"""Services that need no author, by name."""

VIEWERS = by_name(viewers.EVEN, _example("stereotyped-viewer"), _example("leaning-viewer"))
"""Image classifiers by name; an author has to draw their pictures first."""

HELPERS: Mapping[str, Predictor] = by_name(
    *(unfit.model for unfit in models.UNFIT),
    _example("sloppy-writer"),
    _example("curt-writer"),
    viewers.PAINTER,
    viewers.LINKING,
    viewers.SCRIBBLER,
    rankers.POSITIONAL,
)
"""Other services by name: faulty language models, writers, authors, and a ranker that follows the position."""


SERVICES: Mapping[str, Predictor] = {**PREDICTORS, **VIEWERS, **SCREENERS, **ANSWERERS, **HELPERS}
"""All services by name."""


@lru_cache(1000)
def predictor(name: str) -> Predictor:
    """Return a service by its name; names of `FAMILIES` may end in any whole amount: ``"biased-wage-45"``.

    Raise `UnknownName` if no service has this name.
    """
    if name in SERVICES:
        return SERVICES[name]
    match = _NUMBERED.fullmatch(name)
    family = _family_named(match["family"]) if match else None
    if match is None or family is None or int(match["amount"]) > family.most:
        patterns = [f"{stem}-<0…{family.most}>" for stem, family in FAMILIES.items()]
        patterns.append(f"<attribute>{SENTIMENT}-<0…100>")
        raise UnknownName("predicting service", name, (*PREDICTORS, *VIEWERS, *HELPERS, *patterns))
    return family.make(int(match["amount"]))
