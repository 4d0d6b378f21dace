"""An experiment as lists show it: without what it holds by the thousand.

A job carries its sentences, pictures, trials or rows with it, up to megabytes of them. Whoever reads a page of jobs
or of ratings looks for one of them, and reads that one whole by its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_LISTED = 100
"""Entries of a list or of an object in an experiment that is shown in lists too."""


@dataclass(frozen=True)
class Abridged:
    """An experiment without what is long in it.

    Attributes
    ----------
    experiment : dict
        The rest.
    left_out : mapping of str to int
        What is missing, by its place (``records.rows``), and how many entries it has.
    """

    experiment: dict[str, Any]
    left_out: Mapping[str, int]


def abridge(experiment: Mapping[str, Any]) -> Abridged:
    """Leave out what has more than `MOST_LISTED` entries, however deep in objects it is."""
    left_out: dict[str, int] = {}
    return Abridged(_short(experiment, (), left_out), left_out)


def listed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Abridge a rating's document for a list; one that holds nothing long stays as it is, to the last key."""
    experiment = document.get("experiment")
    short = abridge(experiment) if isinstance(experiment, Mapping) else None
    if short is None or not short.left_out:
        return dict(document)
    return {**document, "experiment": short.experiment, "left_out": dict(short.left_out)}


def _short(part: Any, place: tuple[str, ...], left_out: dict[str, int]) -> Any:
    if isinstance(part, list):  # its entries have no names to be missed by, so that none is left out whole
        return [_short(each, (*place, str(number)), left_out) for number, each in enumerate(part)]
    if not isinstance(part, Mapping):
        return part
    kept = {}
    for name, each in part.items():
        if isinstance(each, list | Mapping) and len(each) > MOST_LISTED:
            left_out[".".join((*place, name))] = len(each)
        else:
            kept[name] = _short(each, (*place, name), left_out)
    return kept
