"""Shortened experiments for lists of jobs and ratings.

An experiment can hold megabytes of sentences, pictures, trials or rows. Lists leave them out; the job or the rating
itself has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MAX_LISTED = 100
"""Maximum number of entries of a list or object that stays in a shortened experiment."""

MAX_SUMMARISED = 8
"""Maximum number of entries of a list or object in a summary."""


@dataclass(frozen=True)
class ShortExperiment:
    """An experiment without its long parts; `left_out` has their sizes by their paths (``records.rows``)."""

    experiment: dict[str, Any]
    left_out: Mapping[str, int]


def shorten(experiment: Mapping[str, Any], max_entries: int = MAX_LISTED) -> ShortExperiment:
    """Leave out all parts with more than `max_entries` entries, at any depth."""
    left_out: dict[str, int] = {}
    return ShortExperiment(_short(experiment, (), left_out, max_entries), left_out)


def listed(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rating's document with a shortened experiment; unchanged if the experiment is short."""
    experiment = document.get("experiment")
    short = shorten(experiment) if isinstance(experiment, Mapping) else None
    if short is None or not short.left_out:
        return dict(document)
    return {**document, "experiment": short.experiment, "left_out": dict(short.left_out)}


def _short(part: Any, path: tuple[str, ...], left_out: dict[str, int], max_entries: int) -> Any:
    # list entries have no names to list in `left_out`, so they are shortened but never removed
    if isinstance(part, list):
        return [_short(entry, (*path, str(number)), left_out, max_entries) for number, entry in enumerate(part)]
    if not isinstance(part, Mapping):
        return part
    short = {}
    for name, entry in part.items():
        if isinstance(entry, list | Mapping) and len(entry) > max_entries:
            left_out[".".join((*path, name))] = len(entry)
        else:
            short[name] = _short(entry, (*path, name), left_out, max_entries)
    return short
