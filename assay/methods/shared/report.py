"""Tables that several methods have in their reports."""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalog.shipped import is_shipped, specifications
from assay.experiment import Room
from assay.explain import listed
from assay.reports import cells, parts
from assay.reports.parts import Part
from assay.reports.plain import visible
from assay.reports.view import NOT_MEASURED, Table

NAMED = 12
"""Maximum number of missing words named in a table; the JSON has all of them."""


def title_of_words(name: str) -> str:
    """Return the title of words that Assay ships, or the name of other words."""
    return specifications()[name].title if is_shipped(name) else name


def profiles_table(part: Part) -> Table:
    """Show the number of profiles and clusters, and the unit of effects."""
    held = parts.mapping(part, "profiles")
    rows = [("asked about", parts.number(held, "asked")), ("answered in full", parts.number(held, "whole"))]
    rows += [(f"clusters: {visible(kind)}", many) for kind, many in parts.numbers(part.get("clusters")).items()]
    rows += [("standard deviation of the output", parts.number(part, "scale"))]
    written = tuple((title, cells.number(value)) for title, value in rows if value is not None)
    return Table("Profiles", ("Profiles", "Number"), written)


def coverage_table(part: Part) -> Table:
    """Show which words could be used."""
    rows = []
    for name, one in parts.mapping(part, "coverage").items():
        held = one if isinstance(one, Mapping) else {}
        found, words = parts.count(held, "found"), parts.count(held, "words")
        if found is not None and words is not None:
            missing = parts.texts(held, "missing")
            more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
            rows.append((visible(name), f"{found} of {words}", ", ".join(missing[:NAMED]) + more or "none"))
    return Table("Words that could be used", ("List", "Found", "Missing"), tuple(rows))


def looks_table(aggregation: Part) -> Table | None:
    """Show the letters at each look of a design that judges all components together."""
    rows = []
    for look in parts.objects(aggregation, "looks"):
        letters = parts.mapping(look, "letters")
        said = [f"{visible(name)}: {letter}" for name, letter in letters.items() if isinstance(letter, str)]
        alone = [str(letter) for letter in letters.values() if letter is not None] if len(letters) == 1 else said
        rows.append((str(parts.count(look, "profiles") or cells.ABSENT), listed(alone) or NOT_MEASURED))
    return Table("Looks at the evidence", ("Profiles", "Likeliest"), tuple(rows)) if rows else None


def profiles_room(document: Part, part: Part, field: str) -> Room | None:
    """Return how many more questions about the given words or rows a larger value of `field` would ask."""
    experiment = parts.mapping(document, "experiment")
    asked, values = parts.count(parts.mapping(part, "profiles"), "asked"), len(parts.texts(part, "values"))
    texts, records = parts.mapping(experiment, "texts"), parts.mapping(experiment, "records")
    if asked is None or not (texts or records):
        return None
    if records:
        rows = records.get("rows")
        every, field, material = len(rows) if isinstance(rows, list | tuple) else 0, "records.most", "records.rows"
    else:
        people, contents = (
            [len(words) for words in parts.mapping(texts, key).values() if isinstance(words, list | tuple)]
            for key in ("people", "contents")
        )
        seen, pairs = parts.numbers(part.get("clusters")), min(people, default=0)
        # the effect varies between people and words: more sentences with the same people and words hardly help
        exhausted = seen.get("person", 0) >= pairs and seen.get("content", 0) >= sum(contents)
        every = 0 if exhausted else pairs * sum(contents) * len(parts.texts(texts, "frames"))
        material = "texts.people and texts.contents"
    return Room(max(0, every - asked) * values, field, material)


def sides(part: Part) -> tuple[str, str]:
    """Return the names of the two sides of cues, groups or labels."""
    held = parts.mapping(part, "sides")
    return parts.text(held, "first") or "first cue", parts.text(held, "second") or "second cue"
