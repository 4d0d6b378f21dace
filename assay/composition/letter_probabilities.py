"""Probabilities of a chain's letters, inferred from the letter probabilities of its services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import isfinite

from assay.composition.chain import BS, DSBS, UCS, TableName, compose_chain, entries_of
from assay.errors import BadDistribution, SpecificationError
from assay.model import Letter, Probabilities

Word = tuple[Letter, ...]
"""A chain of known letters."""

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
        """Probability of one letter, as a lower bound."""
        return float(getattr(self, letter.value))


def combine(probabilities: Sequence[Probabilities], table: TableName = "published") -> ChainProbabilities:
    """Infer the probabilities of a chain's letter from those of its services.

    ``P(c) = sum P(a) P(b) ... [c = a * b * ...]``, if the services were rated independently of each
    other. `compose_chain` infers the letter of each combination of letters. If the table allows more
    than one letter, the probability of the combination counts as "must be measured" and is not divided
    among letters. For two services that is the combination ``BS * BS``. The 3^n combinations are not
    listed: combinations with the same continuation are merged (`ALIKE`), in O(n).

    Raises
    ------
    SpecificationError
        If the chain is empty.
    BadDistribution
        If a service's probabilities are not a distribution.
    UnknownName
        If there is no such table.
    """
    entries_of(table)
    if not probabilities:
        raise SpecificationError("a chain needs at least one service; none was given", "chain")
    mass: dict[Word, float] = {(): 1.0}
    for service in probabilities:
        _check(service)
        grown: dict[Word, float] = {}
        for (word, weight), letter in product(mass.items(), Letter):
            longer = _shortened((*word, letter), table)
            grown[longer] = grown.get(longer, 0.0) + weight * service.of(letter)
        mass = grown
    of_letter = dict.fromkeys(Letter, 0.0)
    silent = contradicted = 0.0
    for word, weight in mass.items():
        answer = compose_chain(word, table)
        if answer.letter is not None:
            of_letter[answer.letter] += weight
            continue
        silent += weight
        contradicted += weight if answer.contradiction else 0.0
    return ChainProbabilities(table, of_letter[BS], of_letter[DSBS], of_letter[UCS], silent, contradicted)


def _shortened(word: Word, table: TableName) -> Word:
    """Replace a chain by the shortest chain that has the same result in every context."""
    for start, stop in combinations(range(len(word) + 1), 2):
        shorter = ALIKE[table].get(word[start:stop])
        if shorter is not None:
            return _shortened((*word[:start], *shorter, *word[stop:]), table)
    return word


def _check(letters: Probabilities) -> None:
    shares = (letters.BS, letters.DSBS, letters.UCS)
    if not all(isfinite(share) and 0 <= share <= 1 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise BadDistribution(f"the probabilities of BS, DSBS and UCS must sum to one, not {shares}")
