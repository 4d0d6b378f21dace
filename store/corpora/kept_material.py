"""What an author made for a tenant before, put into an experiment that would have it made again.

Whether there is any does not change what was asked for: it saves calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from assay.methods import AnyMethod
from assay.references import AuthoredItems, CorpusItem, Found
from store.corpora.items import MOST_ITEMS, authored_before, of_the_same_rules
from store.corpora.materials import corpus_item
from store.corpora.rules import rules_for


def with_kept(c: Connection, tenant: str, method: AnyMethod) -> AnyMethod:
    """Put in what the tenant has already of what an author is asked for."""
    kept = kept_for(c, tenant, method.references().authored)
    return method.with_references(Found(authored=kept)) if any(kept) else method


def kept_for(c: Connection, tenant: str, wanted: Sequence[AuthoredItems]) -> tuple[tuple[CorpusItem, ...], ...]:
    """Read what the tenant's own corpora hold of each entry; nothing of those that are to be made anew."""
    return tuple(_kept(c, tenant, each) if each.reuse else () for each in wanted)


def _kept(c: Connection, tenant: str, wanted: AuthoredItems) -> tuple[CorpusItem, ...]:
    if wanted.words is None:
        rows = authored_before(c, tenant, wanted.kind, wanted.terms, MOST_ITEMS)
    else:
        rules, _ = rules_for(c, tenant, wanted.words, wanted.specification)
        rows = of_the_same_rules(c, tenant, rules.digest, "", MOST_ITEMS, own=True)
    return tuple(map(corpus_item, rows))
