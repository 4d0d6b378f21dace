"""Items (sentences or pictures) about terms: usable items, their order, and counts of the items that an author made."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Annotated, ClassVar, Generic, Protocol, TypeVar

from annotated_types import Ge, Le

from assay.bounds import Bounded
from assay.document import JsonObject
from assay.experiment import BUDGET
from assay.model import Reply


class _TermItem(Protocol):
    @property
    def term(self) -> str: ...


T = TypeVar("T")
I = TypeVar("I", bound=_TermItem)  # noqa: E741 - I for item: a pair or a picture


@dataclass(frozen=True)
class SortedItems(Generic[T]):
    """Usable items, each once and in their order, and the number of refused items by reason."""

    items: tuple[T, ...]
    refused: Mapping[str, int]


def sort_into_rounds(items: Iterable[I], alternate: Callable[[I], Hashable] = lambda _: None) -> list[list[I]]:
    """Sort items into rounds; each round has an item of every term that has items left.

    So the first rounds treat all terms alike. Within a term, items with different values of `alternate` take turns.
    """
    items_by_term: dict[str, dict[Hashable, list[I]]] = {}  # by term and value of `alternate`
    for item in items:
        items_by_term.setdefault(item.term, {}).setdefault(alternate(item), []).append(item)
    turns_by_term = [_transpose(list(by_value.values())) for by_value in items_by_term.values()]
    return _transpose([list(chain.from_iterable(turns)) for turns in turns_by_term])


def limit_rounds(rounds: list[list[T]], limit: int) -> list[list[T]]:
    """Return the first rounds, with at most `limit` items in all; the first round is never dropped."""
    totals = accumulate(map(len, rounds))
    return [round_ for round_, total in zip(rounds, totals, strict=True) if total <= limit or round_ is rounds[0]]


def _transpose(queues: list[list[T]]) -> list[list[T]]:
    """Transpose lists of unequal lengths: the first items of all lists, then the second ones, and so on."""
    return [[queue[turn] for queue in queues if turn < len(queue)] for turn in range(max(map(len, queues), default=0))]


@dataclass(frozen=True)
class Authoring(Bounded):
    """Request for items to an author.

    Parameters
    ----------
    per_term : int
        Number of items that each term should have; existing items count.
    tries : int
        Number of times that an item is asked for before it is given up.
    reuse : bool
        Whether the caller's stored items for the same words are used first, so that nobody pays twice.
    """

    per_term: Annotated[int, Ge(1), Le(200)] = 10
    tries: Annotated[int, Ge(1), Le(10)] = 3
    reuse: bool = True


@dataclass
class AuthorCounts(Generic[T]):
    """The items that an author made, each with its probe's id (`Probe.unit`), and counts of items and prompts.

    `wanted` is the number of missing items; `asked` counts the prompts sent; `refused` the unusable items, by reason;
    `failed` the prompts without an answer, by the failure's code; `unasked` the prompts that the budget did not allow.
    """

    verb: ClassVar[str]
    """Participle that names the number of made items in JSON: ``written`` or ``drawn``."""

    items: list[T] = field(default_factory=list)
    wanted: int = 0
    asked: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unasked: int = 0

    def count_prompt(self, reply: Reply) -> bool:
        """Count a prompt to the author by its reply; return whether it was answered."""
        code = None if reply.failure is None else reply.failure.code
        if code == BUDGET:
            self.unasked += 1
            return False
        self.asked += 1
        if code is not None:
            self.failed[code] += 1
        return code is None

    def as_json(self) -> JsonObject:
        """Return the counts as JSON."""
        counts = {name: getattr(self, name) for name in ("wanted", "asked", "unasked")}
        return {**counts, self.verb: len(self.items), "refused": dict(self.refused), "failed": dict(self.failed)}
