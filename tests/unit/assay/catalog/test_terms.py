"""Tests of the search for terms in texts: a pattern with grouped terms finds the same as a plain alternation."""

from __future__ import annotations

import random
import re

import pytest

from assay.catalog import terms
from assay.catalog.terms import GAP, any_of, marks

LETTERS = "abAB kKiIıİsſßé-.'"


def one_by_one(listed, flags):
    """Return the ungrouped pattern: all terms as alternatives, the longest first."""
    longest_first = sorted(listed, key=lambda term: (-len(term), term))
    written = "|".join(GAP.join(map(re.escape, re.split(GAP, term))) for term in longest_first)
    return re.compile(rf"(?<!\w)(?<![{marks()}])(?:{written})(?![\w{marks()}])", flags)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_a_regular_expression_that_groups_its_terms_finds_the_same_terms_as_one_that_does_not(flags, monkeypatch):
    monkeypatch.setattr(terms, "MAX_UNGROUPED_TERMS", 3)
    rng = random.Random(1)

    def word(most):
        return "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, most))).strip(" -")

    seen = 0
    for _ in range(300):
        listed = {one for one in (word(6) for _ in range(30)) if one}
        text = " ".join(word(5) for _ in range(20))
        found = [match.span() for match in any_of(listed, flags).finditer(text)]
        assert found == [match.span() for match in one_by_one(listed, flags).finditer(text)], (listed, text)
        seen += len(found)
    assert seen > 100


def test_the_regular_expression_for_6000_terms_has_only_small_groups_of_alternatives():
    # guards against a search of 33 s for 1,000 sentences and 6,000 terms: the time grew with the product of both
    rng = random.Random(2)
    listed = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(8)) for _ in range(6000)]
    pattern = any_of(listed).pattern
    assert max(len(group.split("|")) for group in re.findall(r"\(\?:([a-z|]+)\)", pattern)) <= terms.MAX_UNGROUPED_TERMS
