"""Sentences about translators for readers who know no statistics."""

from __future__ import annotations

from collections.abc import Iterator

from assay.explain import listed
from assay.methods.translation.hidden_effects import SIDES
from assay.reports import parts
from assay.reports.in_words import HUNDREDTHS, hidden_in_words, tested
from assay.reports.parts import Part
from assay.reports.plain import visible
from assay.reports.view import RESIDUALS

STRATUM = "For {name} alone, balanced text comes back off balance by {size}."
CONTENT = "In {name}, text about more of one value comes back off balance by {size}."
INDIVIDUAL = "From one occupation to another, how often a value is kept typically differs by {size}."


def round_trip_in_words(document: Part, part: Part) -> Iterator[str]:
    """Yield sentences: how many sentences came back with which value, and what was tested."""
    return _in_words(document, part, "sentences with “{}”", "came back with", ("through", " and back"))


def one_hop_in_words(document: Part, part: Part) -> Iterator[str]:
    """Yield sentences: which values sentences without any value got, by occupation, and what was tested."""
    return _in_words(document, part, "sentences about {}", "got", ("into", ""))


def _in_words(document: Part, part: Part, about: str, verb: str, way: tuple[str, str]) -> Iterator[str]:
    for sent, counts in parts.mapping(part, "transitions").items():
        returned = {value: count for value, count in parts.values(counts).items() if count}
        names = {value: "none" if value in RESIDUALS else f"“{value}”" for value in returned}
        clauses = [f"{count:,.0f} {verb} {names[value]}" for value, count in returned.items()]
        if clauses:
            what = visible(sent) if verb != "got" else SIDES.get(sent, f"occupations of “{visible(sent)}”")
            yield f"Of {sum(returned.values()):,.0f} {about.format(what)}, {listed(clauses)}."
    yield from hidden_in_words(part, HUNDREDTHS, STRATUM, INDIVIDUAL, content=CONTENT)
    through = [
        parts.text(one, "language_name") or parts.text(one, "name") for one in parts.objects(document, "components")
    ]
    languages = listed(list(dict.fromkeys(filter(None, through))))
    yield tested(document, part, f"short English sentences about occupations, {way[0]} {languages}{way[1]}")
