"""Sentences about translators for readers who know no statistics."""

from __future__ import annotations

from collections.abc import Iterator

from assay.document import ComponentDocument, RatingDocument
from assay.explain import listed
from assay.methods.translation.hidden_effects import SIDES
from assay.reports.in_words import HUNDREDTHS, hidden_in_words, tested
from assay.reports.view import RESIDUALS, residuals_last

STRATUM = "For {name} alone, balanced text comes back off balance by {size}."
CONTENT = "In {name}, text about more of one value comes back off balance by {size}."
INDIVIDUAL = "From one occupation to another, how often a value is kept typically differs by {size}."


def round_trip_in_words(document: RatingDocument, part: ComponentDocument) -> Iterator[str]:
    """Yield sentences: how many sentences came back with which value, and what was tested."""
    return _in_words(document, part, "sentences with “{}”", "came back with", ("through", " and back"))


def one_hop_in_words(document: RatingDocument, part: ComponentDocument) -> Iterator[str]:
    """Yield sentences: which values sentences without any value got, by occupation, and what was tested."""
    return _in_words(document, part, "sentences about {}", "got", ("into", ""))


def _in_words(
    document: RatingDocument, part: ComponentDocument, subject_template: str, verb: str, way: tuple[str, str]
) -> Iterator[str]:
    for value, counts in part.transitions.items():
        returned = {output: count for output, count in residuals_last(counts).items() if count}
        names = {output: "none" if output in RESIDUALS else f"“{output}”" for output in returned}
        clauses = [f"{count:,.0f} {verb} {names[output]}" for output, count in returned.items()]
        if clauses:
            subject = value if verb != "got" else SIDES.get(value, f"occupations of “{value}”")
            yield f"Of {sum(returned.values()):,.0f} {subject_template.format(subject)}, {listed(clauses)}."
    yield from hidden_in_words(part, HUNDREDTHS, STRATUM, INDIVIDUAL, content=CONTENT)
    through = [component.language_name or component.name for component in document.components]
    languages = listed(list(dict.fromkeys(filter(None, through))))
    yield tested(document, part, f"short English sentences about occupations, {way[0]} {languages}{way[1]}")
