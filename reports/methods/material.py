"""Tables about the profiles and lists of words of several methods, and the number of questions that remain."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.catalog.shipped import is_shipped, specifications
from assay.document import RatingDocument, read_json
from assay.explain import listed
from assay.methods.shared.detail import ProfilesComponent, WordsComponent
from reports import cells
from reports.method_report import Room
from reports.view import NOT_MEASURED, Table

NAMED = 12
"""Maximum number of missing words named in a table; the JSON has all of them."""


@dataclass(frozen=True)
class TextsGiven:
    """Field ``texts`` of a rating's experiment: people, contents and frames."""

    people: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    contents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    frames: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecordsGiven:
    """Field ``records`` of a rating's experiment: its rows."""

    rows: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ProfilesExperiment:
    """The fields of an experiment that hold its material: ``texts`` or ``records``."""

    texts: TextsGiven | None = None
    records: RecordsGiven | None = None


def title_of_words(name: str) -> str:
    """Return the title of the shipped specification of words with this name; any other name is returned unchanged."""
    return specifications()[name].title if is_shipped(name) else name


def profiles_table(part: ProfilesComponent) -> Table:
    """Return a table: numbers of profiles (texts or records) and of clusters, standard deviation of the output."""
    rows: list[tuple[str, float | None]] = [
        ("asked about", part.profiles.asked),
        ("answered in full", part.profiles.whole),
        *((f"clusters: {kind}", number) for kind, number in part.clusters.items()),
        ("standard deviation of the output", part.scale),
    ]
    table_rows = tuple((title, cells.number(value)) for title, value in rows if value is not None)
    return Table("Profiles", ("Profiles", "Number"), table_rows)


def coverage_table(part: WordsComponent) -> Table:
    """Return a table with a row for each list of words: how many words could be used, and which were missing."""
    rows = []
    for name, counts in part.coverage.items():
        if counts.found is not None and counts.words is not None:
            missing = counts.missing
            remainder = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
            rows.append((name, f"{counts.found} of {counts.words}", (", ".join(missing[:NAMED]) + remainder) or "none"))
    return Table("Words that could be used", ("List", "Found", "Missing"), tuple(rows))


def looks_table(aggregation: ProfilesComponent) -> Table | None:
    """Return a table with all components' likeliest letters at each look (interim analysis); ``None`` without looks."""
    rows = []
    for look in aggregation.looks:
        letters = {name: letter for name, letter in look.letters.items() if letter is not None}
        labels = [letter if len(look.letters) == 1 else f"{name}: {letter}" for name, letter in letters.items()]
        rows.append((str(look.profiles or cells.ABSENT), listed(labels) or NOT_MEASURED))
    return Table("Looks at the evidence", ("Profiles", "Likeliest"), tuple(rows)) if rows else None


def profiles_room(document: RatingDocument, part: ProfilesComponent, field: str) -> Room | None:
    """Return how many more questions the same words or rows allow if `field` is increased; ``None`` if unknown."""
    experiment, profiles_asked = read_json(ProfilesExperiment, document.experiment), part.profiles.asked
    texts, records = experiment.texts, experiment.records
    if profiles_asked is None or (texts is None and records is None):
        return None
    if records is not None:
        available = len(records.rows)
        field, material = "records.most", "records.rows"
    elif texts is not None:
        persons = min(map(len, texts.people.values()), default=0)  # for each value
        contents = sum(map(len, texts.contents.values()))
        # the effect varies between people and words: more sentences with the same people and words hardly help
        is_exhausted = part.clusters.get("person", 0) >= persons and part.clusters.get("content", 0) >= contents
        available = 0 if is_exhausted else persons * contents * len(texts.frames)
        material = "texts.people and texts.contents"
    return Room(max(0, available - profiles_asked) * len(part.values), field, material)  # a question for each value


def sides(part: WordsComponent) -> tuple[str, str]:
    """Return the names of the two sides (cues, groups or labels) that a component compares."""
    return part.sides.first or "first cue", part.sides.second or "second cue"
