"""The languages a text goes through in a chain of translators, on the way out and on the way back.

Every link but the last has a path: ``en, es, en`` takes an English text to Spanish and back,
``en, es`` leaves it in Spanish. The last link goes on to the language that is asked for.

A test translates out of the first language and then back into it, and wants to see each link once.
So a path that returns to where it began is gone through on the way out only; one that does not
has to be gone back. ``*`` stands for the language that is asked for beside the first: ``en, *, en``
is Spanish and back for a test in Spanish, and French and back for one in French.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.errors import SpecificationError

Path = Sequence[str]

ASKED = "*"
"""Stands in a path for the language that is asked for beside the first."""

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hop:
    """One translation on the way: by which link (from 0), from and into which language."""

    link: int
    source: str
    target: str


class NoWay(Exception):
    """A chain does not lead from one language to the other; the message says where it does."""


def check_path(path: Path, field: str) -> None:
    """Refuse a path that leads nowhere.

    Raises
    ------
    SpecificationError
        Naming `field`, or the language in it.
    """
    if len(path) < 2:
        raise SpecificationError(
            f"{field} has to name the languages that a text goes through, such as en, es, en (there and back)", field
        )
    for place, code in enumerate(path):
        if code == ASKED and place in {0, len(path) - 1}:
            raise SpecificationError(f"{field} can have * between two languages only", f"{field}.{place}")
        if code != ASKED and not _CODE.fullmatch(code):
            raise SpecificationError(f"{field} names {code[:40]!r}, which is no code of a language", f"{field}.{place}")
        if place and code == path[place - 1]:
            raise SpecificationError(f"{field} goes from {code} to {code}; leave one of them out", f"{field}.{place}")


def hops(paths: Sequence[Path], source: str, target: str) -> tuple[Hop, ...]:
    """List the translations that take a text from one language to another.

    Parameters
    ----------
    paths : sequence of sequence of str
        Of every link but the last, each beginning where the one before ends.
    source, target : str
        What is asked for; one of them is where the first path begins.

    Raises
    ------
    NoWay
        If neither is, or if the last link had nothing to do.
    """
    home, turn, last = paths[0][0], paths[-1][-1], len(paths)
    if source == home and target not in {home, turn}:
        return (*_out(_for(paths, target)), Hop(last, turn, target))
    if target == home and source not in {home, turn}:
        return (Hop(last, source, turn), *_back(_for(paths, source)))
    raise NoWay(
        f"the chain translates from {home} by way of {turn} into a third language, and back; "
        f"it was asked to translate {source} to {target}"
    )


def through(paths: Sequence[Path]) -> tuple[Hop, ...]:
    """List the translations on the way out before the last link, whatever language is asked for."""
    return tuple(_out(paths))


def _for(paths: Sequence[Path], asked: str) -> list[list[str]]:
    return [[asked if code == ASKED else code for code in path] for path in paths]


def _out(paths: Sequence[Path]) -> Iterator[Hop]:
    for link, path in enumerate(paths):
        for source, target in pairwise(path):
            yield Hop(link, source, target)


def _back(paths: Sequence[Path]) -> Iterator[Hop]:
    for link, path in reversed(tuple(enumerate(paths))):
        if path[0] != path[-1]:
            for source, target in pairwise(reversed(path)):
                yield Hop(link, source, target)
