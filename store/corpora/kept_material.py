"""Reuse of material that an author generated for a tenant before, which saves calls to the author."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from assay.methods import AnyMethod
from assay.references import AuthoredItems, CorpusItem, Found
from store.corpora.items import MOST_ITEMS, authored_before, sentences_of_rules
from store.corpora.materials import corpus_item
from store.corpora.rules import rules_for


def with_kept(c: Connection, tenant: str, method: AnyMethod) -> AnyMethod:
    """Add the tenant's stored material to an experiment that lets an author generate such material."""
    kept = kept_for(c, tenant, method.references().authored)
    return method.with_references(Found(authored=kept)) if any(kept) else method


def kept_for(c: Connection, tenant: str, wanted: Sequence[AuthoredItems]) -> tuple[tuple[CorpusItem, ...], ...]:
    """Read stored material for each request to an author; empty where reuse is disabled."""
    return tuple(_kept(c, tenant, each) if each.reuse else () for each in wanted)


def _kept(c: Connection, tenant: str, wanted: AuthoredItems) -> tuple[CorpusItem, ...]:
    if wanted.words is None:
        rows = authored_before(c, tenant, wanted.kind, wanted.terms, MOST_ITEMS)
    else:
        rules, _ = rules_for(c, tenant, wanted.words, wanted.specification)
        rows = sentences_of_rules(c, tenant, rules.digest, "", MOST_ITEMS, own=True)
    return tuple(map(corpus_item, rows))
