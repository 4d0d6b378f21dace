"""Composition tables (Srivastava & Rossi 2018, section 5), and letters of a chain of services over all bracketings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import isfinite
from typing import Literal

from assay.errors import BadDistribution, SpecificationError, UnknownName
from assay.model import Letter, Probabilities
from assay.rating.decision import WORST_FIRST

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

Letters = frozenset[Letter]
"""Set of letters, of which a service has exactly one: its possible letters."""

TableName = Literal["published", "revised"]

INFERRED: Literal["inferred"] = "inferred"
"""Provenance of statements about a composite service: inferred from its parts, not measured by calling it."""

# Srivastava & Rossi (2018), Table 2.  Row: first service.  Column: second service.
TABLE_2: Mapping[tuple[Letter, Letter], Letters] = {
    (BS, BS): frozenset({BS, UCS, DSBS}),
    (BS, UCS): frozenset({UCS}),
    (BS, DSBS): frozenset({BS}),
    (UCS, BS): frozenset({BS}),
    (UCS, UCS): frozenset({UCS}),
    (UCS, DSBS): frozenset({DSBS}),
    (DSBS, BS): frozenset({BS}),
    (DSBS, UCS): frozenset({UCS}),
    (DSBS, DSBS): frozenset({DSBS}),
}

# Table 2 with one corrected cell: a DSBS after a UCS gets only unbiased input, so the composite is UCS
# (docs/methods/composition.md).
CORRECTED: Mapping[tuple[Letter, Letter], Letters] = {**TABLE_2, (UCS, DSBS): frozenset({UCS})}

TABLES: Mapping[TableName, Mapping[tuple[Letter, Letter], Letters]] = {"published": TABLE_2, "revised": CORRECTED}
"""The two composition tables by name: as printed in the paper, and with one corrected cell."""


def compose(first: Letter, second: Letter, table: TableName = "published") -> Letters:
    """Return a table's possible letters for a chain of two services; raise `UnknownName` if there is no such table."""
    return entries_of(table)[first, second]


def entries_of(table: str) -> Mapping[tuple[Letter, Letter], Letters]:
    """Return the entries of a composition table by its name; raise `UnknownName` if there is no such table."""
    for name, entries in TABLES.items():
        if name == table:
            return entries
    raise UnknownName("composition table", table, TABLES, "table")


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell of a table: the possible letters of a composite of `first` and `second`."""

    first: Letter
    second: Letter
    possible: Letters


@dataclass(frozen=True, slots=True)
class Step:
    """One step in the evaluation of a chain: two neighbouring parts, and the possible letters of both together."""

    first: str
    second: str
    entries: tuple[Entry, ...]
    possible: Letters


@dataclass(frozen=True, slots=True)
class Bracketing:
    """One order in which the services of a chain can be combined, two at a time, and the resulting possible letters."""

    written: str
    """The letters with brackets, such as ``"(BS * UCS) * DSBS"``; for a single service, its letter alone."""
    steps: tuple[Step, ...]
    """Evaluation steps in their order; empty for a single service."""
    possible: Letters
    """Possible letters of the chain under this bracketing."""


@dataclass(frozen=True)
class ChainAnswer:
    """Possible letters of a chain of services, inferred from a composition table."""

    letters: tuple[Letter, ...]
    table: TableName
    possible: Letters
    """Letters that every bracketing allows; if there is none, letters that at least one bracketing allows."""
    contradiction: bool
    """Whether the table contradicts itself: its bracketings of this chain have no letter in common."""
    bracketings: tuple[Bracketing, ...]
    """One example for each different set of possible letters; the first is evaluated from the left."""

    @property
    def letter(self) -> Letter | None:
        """The inferred letter if only one is possible, else ``None``."""
        return next(iter(self.possible)) if len(self.possible) == 1 else None


def compose_chain(letters: Sequence[Letter], table: TableName = "published") -> ChainAnswer:
    """Infer the possible letters of a chain of services from their letters.

    The answer is the set of letters that all bracketings (orders of evaluation) allow. There are too many to
    list. So the different *answers* (at most seven) of the bracketings of each interval of the chain
    are computed, from the shortest interval to the longest. The result is exact, in O(n^3).
    Raise `SpecificationError` if the chain is empty, `UnknownName` if there is no such table.
    """
    entries_of(table)  # raises `UnknownName`
    if not letters:
        raise SpecificationError("a chain needs at least one service; none was given", "chain")
    chain = tuple(letters)
    by_interval: dict[tuple[int, int], dict[Letters, Bracketing]] = {}  # by (start, stop), then possible letters
    for index, letter in enumerate(chain):
        single = Bracketing(letter.value, steps=(), possible=frozenset({letter}))
        by_interval[index, index + 1] = {single.possible: single}
    for length in range(2, len(chain) + 1):
        for start in range(len(chain) - length + 1):
            stop = start + length
            bracketings: dict[Letters, Bracketing] = {}
            for split in range(stop - 1, start, -1):  # descending, so that bracketings from the left come first
                for left, right in product(by_interval[start, split].values(), by_interval[split, stop].values()):
                    possible = _compose_sets(left.possible, right.possible, table)
                    if possible not in bracketings:
                        bracketings[possible] = _join(left, right, table)
            by_interval[start, stop] = bracketings
    of_chain = tuple(by_interval[0, len(chain)].values())
    common_letters = frozenset(Letter).intersection(*(bracketing.possible for bracketing in of_chain))
    possible = common_letters or frozenset[Letter]().union(*(bracketing.possible for bracketing in of_chain))
    return ChainAnswer(chain, table, possible, contradiction=not common_letters, bracketings=of_chain)


@cache
def _compose_sets(first: Letters, second: Letters, table: TableName) -> Letters:
    return frozenset[Letter]().union(*(compose(*letters, table) for letters in product(first, second)))


def _join(first: Bracketing, second: Bracketing, table: TableName) -> Bracketing:
    """Compose two neighbouring parts of a chain, and record the cells of the table that were looked up."""
    letter_pairs = product(_in_order(first.possible), _in_order(second.possible))
    entries = tuple(Entry(*letters, compose(*letters, table)) for letters in letter_pairs)
    step = Step(_bracket(first), _bracket(second), entries, _compose_sets(first.possible, second.possible, table))
    return Bracketing(f"{step.first} * {step.second}", (*first.steps, *second.steps, step), step.possible)


def _bracket(bracketing: Bracketing) -> str:
    return f"({bracketing.written})" if bracketing.steps else bracketing.written


def _in_order(letters: Letters) -> tuple[Letter, ...]:
    """Sort letters, worst first."""
    return tuple(letter for letter in WORST_FIRST if letter in letters)


Word = tuple[Letter, ...]
"""Letters of a chain of which each service's letter is known."""

# Parts of chains that can be replaced by shorter parts without a change of the result, so that long chains need few
# combinations. docs/decisions/0021 proves each replacement for chains of any length.
ALIKE: Mapping[TableName, Mapping[Word, Word]] = {
    "published": {
        (DSBS, BS): (BS,),
        (DSBS, DSBS): (DSBS,),
        (DSBS, UCS): (UCS,),
        (UCS, UCS): (UCS,),
        (BS, BS, BS): (BS, BS),
        (UCS, BS, BS): (BS, BS),
        (UCS, BS, UCS): (BS, UCS),
        (BS, BS, UCS, BS): (BS, UCS, BS),
    },
    "revised": {
        (BS, DSBS): (BS,),
        (DSBS, BS): (BS,),
        (DSBS, DSBS): (DSBS,),
        (DSBS, UCS): (UCS,),
        (UCS, DSBS): (UCS,),
        (UCS, UCS): (UCS,),
        (BS, BS, BS): (BS, BS),
        (BS, BS, UCS): (BS, UCS),
        (BS, UCS, BS, BS): (UCS, BS, BS),
        (BS, UCS, BS, UCS): (UCS, BS, UCS),
    },
}


@dataclass(frozen=True, slots=True)
class ChainProbabilities:
    """Probability of each inferred letter and of "must be measured"; they sum to one.

    `BS`, `DSBS` and `UCS` are the probabilities of the combinations of letters for which the table gives that letter
    alone.
    """

    table: TableName
    BS: float
    DSBS: float
    UCS: float
    must_be_measured: float
    """Probability that the table gives no single letter. For two services it is ``P(BS) P(BS)``."""
    contradicted: float
    """The part of `must_be_measured` for which the table contradicts itself."""

    def of(self, letter: Letter) -> float:
        """Return the probability that the table allows only this letter: a lower bound of the letter's probability."""
        return float(getattr(self, letter.value))


def combine(probabilities: Sequence[Probabilities], table: TableName = "published") -> ChainProbabilities:
    """Infer the probabilities of a chain's letter from those of its services.

    By the law of total probability, ``P(c) = sum P(a) P(b) ... [c = a * b * ...]``, if the services were
    rated independently of each other. `compose_chain` infers the letter of each combination of letters. If
    the table allows more than one letter, the probability of the combination counts as "must be measured"
    and is not divided among letters. For two services that is the combination ``BS * BS``. The 3^n
    combinations are not listed: those that have the same results in any longer chain are merged (`ALIKE`), in O(n).
    Raise `SpecificationError` if the chain is empty, `BadDistribution` if a service's probabilities are not a
    distribution, and `UnknownName` if there is no such table.
    """
    entries_of(table)  # raises `UnknownName`
    if not probabilities:
        raise SpecificationError("a chain needs at least one service; none was given", "chain")
    weights: dict[Word, float] = {(): 1.0}  # probability of each chain of letters so far, shortened by `ALIKE`
    for service in probabilities:
        p_letters = (service.BS, service.DSBS, service.UCS)
        if not all(isfinite(p) and 0 <= p <= 1 for p in p_letters) or abs(sum(p_letters) - 1) > 1e-6:
            raise BadDistribution(f"the probabilities of BS, DSBS and UCS must sum to one, not {p_letters}")
        longer_weights: dict[Word, float] = {}
        for (word, weight), letter in product(weights.items(), Letter):
            longer_word = _shorten((*word, letter), table)
            longer_weights[longer_word] = longer_weights.get(longer_word, 0.0) + weight * service.of(letter)
        weights = longer_weights
    p_by_letter = dict.fromkeys(Letter, 0.0)
    p_no_letter = p_contradiction = 0.0
    for word, weight in weights.items():
        answer = compose_chain(word, table)
        if answer.letter is not None:
            p_by_letter[answer.letter] += weight
            continue
        p_no_letter += weight
        p_contradiction += weight if answer.contradiction else 0.0
    return ChainProbabilities(table, p_by_letter[BS], p_by_letter[DSBS], p_by_letter[UCS], p_no_letter, p_contradiction)


def _shorten(word: Word, table: TableName) -> Word:
    """Replace a chain (its letters) by the shortest one with the same result, whatever stands before and after it."""
    for start, stop in combinations(range(len(word) + 1), 2):
        shorter = ALIKE[table].get(word[start:stop])
        if shorter is not None:
            return _shorten((*word[:start], *shorter, *word[stop:]), table)
    return word
