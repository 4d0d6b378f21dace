"""Composition tables: the letter of two services called one after the other (Srivastava & Rossi 2018, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from assay.errors import UnknownName
from assay.model import Letter

BS, DSBS, UCS = Letter.BS, Letter.DSBS, Letter.UCS

Letters = frozenset[Letter]
"""Set of possible letters of a service; exactly one of them is right."""

TableName = Literal["published", "revised"]

INFERRED: Literal["inferred"] = "inferred"
"""Provenance of every statement about a composite that was not called."""

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
"""Both tables by name; the published one gives the headline."""


def compose(first: Letter, second: Letter, table: TableName = "published") -> Letters:
    """Return the letters that a table gives for two services; raise `UnknownName` if there is no such table."""
    return entries_of(table)[first, second]


def entries_of(table: str) -> Mapping[tuple[Letter, Letter], Letters]:
    """Return a table by its name; raise `UnknownName` if there is no such table."""
    for name, entries in TABLES.items():
        if name == table:
            return entries
    raise UnknownName("composition table", table, TABLES, "table")
