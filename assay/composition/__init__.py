"""Inferred letter of a chain, which is a sequence of services called one after the other.

Srivastava & Rossi (2018), section 5: the letter of a composite is *inferred* from the letters of its
parts by a table, without a single call. There are two tables (`tables`). A chain is evaluated in
every possible bracketing, because the printed table is not associative (`chain`). If letters are
uncertain, the result is a probability of each letter (`letter_probabilities`).
"""

from __future__ import annotations

from assay.composition.chain import (
    INFERRED,
    TABLE_2,
    TABLES,
    Bracketing,
    ChainAnswer,
    Entry,
    TableName,
    compose,
    compose_chain,
)
from assay.composition.letter_probabilities import ChainProbabilities, combine

__all__ = [
    "INFERRED",
    "TABLES",
    "TABLE_2",
    "Bracketing",
    "ChainAnswer",
    "ChainProbabilities",
    "Entry",
    "TableName",
    "combine",
    "compose",
    "compose_chain",
]
