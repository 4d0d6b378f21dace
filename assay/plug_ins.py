"""Objects that installed packages offer in an entry-point group (docs/extending.md)."""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import TypeVar

T = TypeVar("T")


def plug_ins(group: str, kind: type[T]) -> Iterator[T]:
    """Yield the objects of installed packages in an entry-point group; raise `TypeError` if an object is no `kind`."""
    for entry in entry_points(group=group):
        plug_in = entry.load()
        if not isinstance(plug_in, kind):
            raise TypeError(
                f"{entry.value} in the entry-point group {group} is {plug_in!r}; it must be a {kind.__name__}"
            )
        yield plug_in
