"""The predicting services of known bias, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from assay.errors import UnknownName
from demo import embedders, sentiments, wages
from demo.predictors import Predictor

_NUMBERED = re.compile(r"(?P<family>[a-z]+(?:-[a-z]+)*)-(?P<amount>0|[1-9]\d{0,2})", re.ASCII)


@dataclass(frozen=True)
class Family:
    """Services that differ in how much of their bias there is.

    Attributes
    ----------
    make : callable
        Makes one of an amount: percent, points or cents.
    most : int
        Largest amount.
    shown : int
        Amount of the one that is called by the family's name alone.
    """

    make: Callable[[int], Predictor]
    most: int
    shown: int


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "stereotyped-embedder": Family(embedders.stereotyped, 100, 60),
        "leaning-embedder": Family(embedders.leaning, 100, 40),
        "group-sentiment": Family(sentiments.group, 100, 10),
        "biased-wage": Family(wages.biased, 900, 150),
        "proxy-wage": Family(wages.proxy, 900, 300),
    }
)
"""Services of which there can be more or less: any whole amount may end their name."""


def _shown(family: str) -> Predictor:
    return replace(FAMILIES[family].make(FAMILIES[family].shown), name=family)


PREDICTORS: Mapping[str, Predictor] = MappingProxyType(
    {
        one.name: one
        for one in (
            embedders.EVEN,
            _shown("stereotyped-embedder"),
            _shown("leaning-embedder"),
            sentiments.FAIR,
            sentiments.BLIND,
            _shown("group-sentiment"),
            wages.FAIR,
            _shown("biased-wage"),
            _shown("proxy-wage"),
        )
    }
)
"""The services that are shown, by name."""


@lru_cache(1000)
def predictor(name: str) -> Predictor:
    """Look a service up; those of `FAMILIES` with any whole amount: ``"biased-wage-45"``.

    Raises
    ------
    UnknownName
        If there is none.
    """
    if name in PREDICTORS:
        return PREDICTORS[name]
    parts = _NUMBERED.fullmatch(name)
    family = FAMILIES.get(parts["family"]) if parts else None
    if parts is None or family is None or int(parts["amount"]) > family.most:
        numbered = (f"{known}-<0…{one.most}>" for known, one in FAMILIES.items())
        raise UnknownName("predicting service", name, (*PREDICTORS, *numbered))
    return family.make(int(parts["amount"]))
