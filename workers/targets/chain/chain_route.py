"""Route of a text through the languages of a chain of translators, out and back.

Every link but the last has a path: ``en, es, en`` translates an English text to Spanish and back, ``en, es`` to
Spanish only. The last link translates into the requested language.

A round trip translates from the first language and back into it, and uses each link once. So a path that ends in
its first language is used on the way out only; any other path is reversed on the way back. ``*`` stands for the
requested language: ``en, *, en`` is ``en, es, en`` for an experiment in Spanish.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.errors import SpecificationError
from workers.egress import CallFailed

Path = Sequence[str]

REQUESTED_LANGUAGE = "*"
"""Placeholder in a path for the requested language."""

_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Hop:
    """One translation: index of the link (from 0), source and target language."""

    link: int
    source: str
    target: str


def check_path(path: Path, field: str) -> None:
    """Raise a `SpecificationError` for an invalid path; the error names `field`, or a language in it (``field.2``)."""
    if len(path) < 2:
        message = f"{field} must list the languages of a text in their order, such as en, es, en (there and back)"
        raise SpecificationError(message, field)
    for index, code in enumerate(path):
        if code == REQUESTED_LANGUAGE and index in {0, len(path) - 1}:
            raise SpecificationError(f"in {field}, * is allowed only between two languages", f"{field}.{index}")
        if code != REQUESTED_LANGUAGE and not _CODE.fullmatch(code):
            raise SpecificationError(f"{field} names {code[:40]!r}, which is not a language code", f"{field}.{index}")
        if index and code == path[index - 1]:
            raise SpecificationError(f"{field} goes from {code} to {code}; leave one of them out", f"{field}.{index}")


def hops(paths: Sequence[Path], source: str, target: str) -> tuple[Hop, ...]:
    """Return the translations that lead from `source` to `target` through the links of a chain.

    `paths` are those of every link but the last; each begins with the last language of the path before. Raise
    `CallFailed` ``unsupported`` unless `source` or `target` is the first language of all paths, and the other is
    neither that nor the last language of all paths.
    """
    first_language, turning_language = paths[0][0], paths[-1][-1]
    last_link = len(paths)  # it has no path: it translates from `turning_language` and, on the way back, into it
    if source == first_language and target not in {first_language, turning_language}:
        return (*_hops_out(_with_requested(paths, target)), Hop(last_link, turning_language, target))
    if target == first_language and source not in {first_language, turning_language}:
        return (Hop(last_link, source, turning_language), *_hops_back(_with_requested(paths, source)))
    raise CallFailed(
        "unsupported",
        f"the chain translates from {first_language} by way of {turning_language} into a third language, and back; "
        f"it was asked to translate {source} to {target}",
    )


def hops_on_way_out(paths: Sequence[Path]) -> tuple[Hop, ...]:
    """Return the translations on the way out through every link but the last; ``*`` stays in them as a placeholder."""
    return tuple(_hops_out(paths))


def _with_requested(paths: Sequence[Path], language: str) -> list[list[str]]:
    """Return the paths with the requested language in place of ``*``."""
    return [[language if code == REQUESTED_LANGUAGE else code for code in path] for path in paths]


def _hops_out(paths: Sequence[Path]) -> Iterator[Hop]:
    for link, path in enumerate(paths):
        for source, target in pairwise(path):
            yield Hop(link, source, target)


def _hops_back(paths: Sequence[Path]) -> Iterator[Hop]:
    for link, path in reversed(tuple(enumerate(paths))):
        if path[0] != path[-1]:  # a path that ends where it begins is used on the way out only
            for source, target in pairwise(reversed(path)):
                yield Hop(link, source, target)
