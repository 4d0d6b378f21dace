"""Inference of the letter of services called one after the other, from their letters.

Srivastava & Rossi (2018), section 5: the letter of a composite is *inferred* from the letters of its
parts by a table, without a single call. Two tables are kept side by side (`tables`); a chain is read
in every way in which it can be bracketed, because the printed table is not associative (`chain`);
where letters are uncertain, so is the answer (`weighed`).
"""

from __future__ import annotations

from assay.composition.chain import Bracketing, ChainAnswer, Entry, compose_chain
from assay.composition.letter_probabilities import ChainProbabilities, combine
from assay.composition.tables import INFERRED, TABLE_2, TABLES, TableName, compose

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
