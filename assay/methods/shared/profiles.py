"""Profiles: sentences or records in versions that differ only in the value of an attribute (he, she)."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain, product
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Ge, Le, MaxLen
from numpy.typing import NDArray

from assay.bounds import Bounded
from assay.catalog import attribute as attribute_named
from assay.catalog.decisions import Mention, decision, mentioned
from assay.catalog.profiles import contents, frames, people, write_profile
from assay.catalog.sentences.translated import ENGLISH, attributes_in, sentence_table
from assay.errors import OutOfBounds, SpecificationError, UnknownName
from assay.explain import listed
from assay.model import Integers, Record
from assay.references import HeldBack
from assay.statistics.intervals.crossed import LEAST_CLUSTERS

Cell = str | int | float | bool | None
Words = Mapping[str, tuple[str, ...]]

MOST_WORDS, LONGEST, MOST_VALUES, MOST_CHARACTERS = 500, 300, 50, 200_000_000
"""Maximum numbers: words of a list, characters of a word, values of an attribute, characters of all own texts."""

MOST_STRATA, LEAST_ROWS = 12, 30
"""Maximum number of strata of records, and minimum number of rows of a stratum."""

LEAST_PARSED = 0.9
"""Minimum share of a column's texts that are numbers or dates for the column to be split into two halves."""

ROW = "row"
"""Kind of cluster: records that are equal except in the protected column; such copies are not independent."""

FRAME = "frame"
"""Kind of cluster by frame (sentence with slots); if frames are few, it is ignored: effects hold for these only."""

COMPARED_DECISION = "hiring"
"""Decision of the catalog whose documents a comparing service gets, unless a request names others."""

JOINED = " / "
"""Separator of the people of a pair (one for each value) in the name of their cluster."""


@dataclass(frozen=True)
class Case:
    """One profile: a sentence or record in a version for each value of the attribute, and facts about it."""

    name: str
    """Name of the profile, unique in its experiment."""
    versions: tuple[str | Record, ...]
    """The sentences or records that are sent, one for each value of the attribute."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """Cluster of the profile by kind, such as its person, frame and content, which other profiles can share."""
    side: str | None = None
    """List from which the content comes, a key of `TextProfiles.contents`; ``None`` for a record."""
    original: int | None = None
    """Index of the value that the record had in its table; ``None`` for a sentence."""
    opponent: str | None = None
    """Document with which the sentences are compared, if the service compares two."""
    truth: Cell = None
    """True outcome of the record, if the table has a column of true outcomes."""


# ---------------------------------------------------------------------------- sentences
@dataclass(frozen=True)
class TextProfiles(Bounded):
    """Frames, people and contents of sentences; fields that are left out come from the catalog.

    Parameters
    ----------
    frames : tuple of str
        Sentences with the slots ``{person}`` (or ``{Person}`` at the beginning) and ``{content}``.
    people : mapping of str to tuple of str
        People to mention, for each value of the attribute: the first entries of all lists form a pair, and so on.
    contents : mapping of str to tuple of str
        Words for ``{content}``: two lists, one for each side.
    most : int
        Maximum number of profiles; each is asked about once with each value.
    held_back : tuple of str
        Those of the frames and contents that the agency held back until this rating; the agency fills them in.
    decision : str, optional
        Decision of the catalog, such as ``hiring``, whose frames and facts are the cases of a model that decides.
    mention : str, optional
        How people are mentioned: ``explicit`` ("a 34-year-old woman") or ``name`` (names only). Left out: the catalog's
        nouns and names; for a `decision`, ``explicit``.
    language : str
        Language of the catalog's frames, people and contents, such as ``en`` or ``fr``; not every attribute and
        decision has words in each.
    pairs : bool
        Whether the service compares two documents: each sentence is compared with a fixed other one, in both orders.
        Assay sets it for a target whose settings send {first} and {second}. Without frames, contents and a decision,
        the documents are those of the decision ``hiring``.
    """

    frames: Annotated[tuple[str, ...], MaxLen(100)] = ()
    people: Words = field(default_factory=dict)
    contents: Words = field(default_factory=dict)
    most: Annotated[int, Ge(10), Le(20_000)] = 4000
    held_back: Annotated[tuple[str, ...], MaxLen(100)] = ()
    decision: Annotated[str, MaxLen(100)] | None = None
    mention: Mention | None = None
    language: Annotated[str, MaxLen(20)] = ENGLISH
    pairs: bool = False

    def filled_in(self, attribute: str) -> Self:
        """Return a copy in which the catalog's texts take the place of missing fields.

        Raise `SpecificationError`, which names the field, if a field is still missing or is invalid.
        """
        mention = self.mention or (None if self.decision is None else "explicit")  # how texts mention a value
        needs_documents = self.pairs and not (self.frames or self.contents)  # pairs to compare, and none are given
        decision_name = self.decision or (COMPARED_DECISION if needs_documents else None)  # such as hiring
        language = self.language
        if language != ENGLISH:
            sentence_table(language)  # raises an error for an unknown language
        decision_texts = None if decision_name is None else decision(decision_name, "texts.decision", language)
        words_by_value: Mapping[str, Sequence[str]] = self.people
        if not words_by_value and mention is None:
            words_by_value = people(attribute_named(attribute), language)
        elif not words_by_value and mention is not None:
            words_by_value = mentioned(attribute_named(attribute), mention, language)
        if not words_by_value:
            raise SpecificationError(_no_people_message(attribute, language), "texts.people")
        words_by_side = self.contents or (contents(language) if decision_texts is None else decision_texts.contents)
        profiles = replace(
            self,
            decision=decision_name,
            frames=self.frames or (frames(language) if decision_texts is None else decision_texts.frames),
            people={value: tuple(words) for value, words in words_by_value.items()},
            contents={side: tuple(words) for side, words in words_by_side.items()},
        )
        check_profiles(profiles)
        return profiles

    def with_held_back(self, material: HeldBack) -> Self:
        """Return a copy with `material` in place of earlier held-back texts; a requester's own texts stay alone."""
        earlier_material = frozenset(self.held_back)

        def without_earlier(texts: Iterable[str]) -> tuple[str, ...]:
            return tuple(text for text in texts if text not in earlier_material)

        words_by_side = {side: without_earlier(words) for side, words in self.contents.items()}
        profiles = replace(self, frames=without_earlier(self.frames), contents=words_by_side, held_back=())
        if profiles.frames != frames() or profiles.contents != contents():  # they are a requester's own
            return profiles
        return replace(
            profiles,
            frames=(*profiles.frames, *material.frames),
            contents={side: (*words, *material.contents.get(side, ())) for side, words in words_by_side.items()},
            held_back=(*material.frames, *(word for words in material.contents.values() for word in words)),
        )

    def for_pairs(self) -> Self:
        """Return a copy for a service that compares two documents, without the shipped sentences about feelings."""
        is_shipped = self.frames == frames(self.language) and self.contents == contents(self.language)
        if is_shipped and not self.pairs:  # with `pairs`, `filled_in` adds documents to compare and no feelings
            return replace(self, pairs=True, frames=(), contents={})
        return replace(self, pairs=True)

    def expected(self) -> int:
        """Count the profiles that `text_cases` writes: all combinations, at most `most`."""
        people_per_value = len(next(iter(self.people.values())))  # equal for all values, see `check_profiles`
        return min(self.most, people_per_value * sum(len(words) for words in self.contents.values()) * len(self.frames))


def _no_people_message(attribute: str, language: str) -> str:
    if language == ENGLISH:
        return f"the catalog has no people for {attribute}; name some"
    return f"{attribute} has no words in {language}; {listed(attributes_in(language))} have, or name people of your own"


def check_profiles(profiles: TextProfiles) -> None:
    """Raise an error that names the field to correct if no profiles can be written from the fields."""
    if not 2 <= len(profiles.people) <= MOST_VALUES:  # every pair is compared
        raise SpecificationError(
            f"people of 2 to {MOST_VALUES} values can be compared, not of {len(profiles.people)}", "texts.people"
        )
    if len({len(words) for words in profiles.people.values()}) > 1:
        sizes = ", ".join(f"{name} {len(words)}" for name, words in profiles.people.items())
        raise SpecificationError(f"each value needs the same number of people, in pairs; got {sizes}", "texts.people")
    if len(profiles.contents) != 2:
        raise SpecificationError(f"contents must have two sides, not {len(profiles.contents)}", "texts.contents")
    check_frames(profiles.frames, "texts.frames")
    for field_name, words_by_name in (("people", profiles.people), ("contents", profiles.contents)):
        for name, words in words_by_name.items():
            _check_words(f"texts.{field_name}.{name}", name, words)
    person, content = (max(chain(*words.values()), key=len) for words in (profiles.people, profiles.contents))
    longest = max((len(write_profile(frame, person, content)) for frame in profiles.frames), default=0)
    if (characters := profiles.expected() * len(profiles.people) * longest) > MOST_CHARACTERS:
        reason = f"the texts would have {characters:,} of at most {MOST_CHARACTERS:,} characters: lower texts.most"
        raise OutOfBounds(reason, "texts.frames")


def check_frames(frames: Sequence[str], field_name: str) -> None:
    """Raise `SpecificationError`, naming the entry of `field_name`, if a frame has no slot for person or content."""
    for index, frame in enumerate(frames):
        if "{content}" not in frame or not ("{person}" in frame or "{Person}" in frame):
            raise SpecificationError(
                f"the frame {frame!r} must hold {{person}} or {{Person}}, and {{content}}", f"{field_name}.{index}"
            )


def _check_words(field_name: str, name: str, words: tuple[str, ...]) -> None:
    if not words:
        raise SpecificationError(f"{name} has no words", field_name)
    if len(words) > MOST_WORDS or any(len(word) > LONGEST for word in words):
        raise OutOfBounds(f"at most {MOST_WORDS} words of at most {LONGEST} characters", field_name)
    if len(set(words)) < len(words):
        raise SpecificationError(f"{name} names a word twice", field_name)


def text_cases(profiles: TextProfiles, rng: np.random.Generator) -> tuple[Case, ...]:
    """Write profiles in rounds: in each, every pair of people gets a content from each side (list of contents).

    So the first profiles are balanced, whatever their number: each pair occurs equally often with both sides, each
    content in different frames, and the influence of people and frames cancels between the sides. After a pair has
    occurred with every content, it occurs with them again in another frame, until all frames are used.
    """
    words_by_side = dict(profiles.contents)
    pair_order = rng.permutation(len(next(iter(profiles.people.values()))))
    word_orders = {side: [rng.permutation(len(words)) for _ in pair_order] for side, words in words_by_side.items()}
    frame_order = rng.permutation(len(profiles.frames))
    cases: list[Case] = []
    for cycle, round_ in product(range(len(frame_order)), range(max(map(len, words_by_side.values())))):
        if len(cases) >= profiles.most:
            break
        for position, pair_index in enumerate(pair_order):
            frame_index = int(frame_order[(position + round_ + cycle) % len(frame_order)])
            for side, words in words_by_side.items():
                if round_ < len(words):  # a side can have fewer words than the other
                    word_index = int(word_orders[side][position][round_])
                    cases.append(_text_case(profiles, side, pair=int(pair_index), word=word_index, frame=frame_index))
    cases = cases[: profiles.most]
    return _add_opponents(profiles, cases, rng) if profiles.pairs else tuple(cases)


def _add_opponents(profiles: TextProfiles, cases: Sequence[Case], rng: np.random.Generator) -> tuple[Case, ...]:
    """Set `Case.opponent`, the document with which a comparing service compares the case.

    Half of the opponents are the same document about a person of the same pair; the others have another content, of
    either side, about a person of another pair. Both kinds mention each value equally often. Cases with equal frame
    and content get the same kind of opponent, so that their outputs differ by their persons only.
    """
    person_count = len(next(iter(profiles.people.values())))
    kinds = list(product((True, False), profiles.people))  # same document or not, value of the opponent's person
    words_by_side = [(side, word) for side, words in profiles.contents.items() for word in words]
    ranks: dict[tuple[str | None, str, str], int] = {}  # by side, frame and word; the kind is `rank % len(kinds)`
    other_words: dict[tuple[str | None, str, str], str] = {}  # the content of opponents that are another document
    for side, words in profiles.contents.items():
        frames_and_words = list(product(profiles.frames, words))
        for rank, index in enumerate(rng.permutation(len(frames_and_words)).tolist()):
            frame, word = frames_and_words[index]
            contents = [(other_side, other_word) for other_side, other_word in words_by_side if other_word != word]
            needs_same_side = rank // len(kinds) % 2 == 0  # alternates within each kind
            fitting_words = [other for other_side, other in contents if (other_side == side) == needs_same_side]
            candidates = fitting_words or [other for _, other in contents]
            ranks[side, frame, word] = rank
            other_words[side, frame, word] = candidates[int(rng.integers(len(candidates)))]
    few_texts = len(ranks) < 2 * len(kinds)  # then the pairs of people take turns too, so that every kind occurs
    with_opponents = []
    for case in cases:
        pair = int(case.name.partition("/")[0])  # index of the people, with which `_text_case` begins the name
        frame, word = case.clusters["frame"], case.clusters["content"]
        key = (case.side, frame, word)
        is_same_document, value = kinds[(ranks[key] + (pair if few_texts else 0)) % len(kinds)]
        person = profiles.people[value][pair if is_same_document else (pair + 1) % person_count]
        opponent = write_profile(frame, person, word if is_same_document else other_words[key])
        with_opponents.append(replace(case, opponent=opponent))
    return tuple(with_opponents)


def _text_case(profiles: TextProfiles, side: str, *, pair: int, word: int, frame: int) -> Case:
    """Return the case of the people, the word and the frame (sentence pattern) with these indices."""
    persons = [people_of_value[pair] for people_of_value in profiles.people.values()]
    frame_text, content = profiles.frames[frame], profiles.contents[side][word]
    return Case(
        name=f"{pair}/{side}-{word}/{frame}",
        versions=tuple(write_profile(frame_text, person, content) for person in persons),
        clusters={"person": JOINED.join(persons), "frame": frame_text, "content": content},
        side=side,
    )


# ---------------------------------------------------------------------------- records
@dataclass(frozen=True)
class RecordProfiles(Bounded):
    """Rows of a table whose protected column is alternated.

    Parameters
    ----------
    column : str
        The protected column.
    values : tuple
        Values of that column; rows with another value are left out.
    rows : tuple of mapping
        The rows, as objects with the same columns.
    upload : str, optional
        Digest of an uploaded table, instead of `rows`.
    cluster : str, optional
        Column with the cluster of each row, such as a household or a firm, because rows of one cluster are not
        independent. The column is not sent. Left out: rows are independent.
    leave_out : tuple of str
        Columns that are not sent, such as the true outcome.
    most : int
        Maximum number of rows; of more rows, a random sample is used.
    """

    column: Annotated[str, MaxLen(200)]
    values: Annotated[tuple[Cell, ...], MaxLen(MOST_VALUES)]
    rows: Annotated[tuple[Mapping[str, Cell], ...], MaxLen(20_000)] = ()
    upload: Annotated[str, MaxLen(100)] | None = None
    cluster: Annotated[str, MaxLen(200)] | None = None
    leave_out: Annotated[tuple[str, ...], MaxLen(1000)] = ()
    most: Annotated[int, Ge(10), Le(20_000)] = 8000

    def __post_init__(self) -> None:
        """Raise an error if the rows or values do not allow alternation."""
        super().__post_init__()
        if min(len({*self.values}), len({*map(str, self.values)})) < max(2, len(self.values)):  # 1 and "1" look alike
            raise SpecificationError("at least two different values are needed, each named once", "records.values")
        if self.rows and self.upload is not None:
            raise SpecificationError("give rows or an upload, not both", "records.rows")
        if not self.rows and self.upload is None:
            raise SpecificationError("there are no rows to ask about: give rows, or an upload", "records.rows")
        if self.rows:
            self._check_rows()

    def _check_rows(self) -> None:
        columns = tuple(self.rows[0])
        for name, field_ in ((self.column, "column"), (self.cluster, "cluster")):
            if name is not None and name not in columns:
                raise UnknownName("column", name, columns, f"records.{field_}")
        for index, row in enumerate(self.rows):
            if set(row) != set(columns):
                raise SpecificationError("every row must have the same columns as the first", f"records.rows.{index}")
            if any(isinstance(cell, float) and not math.isfinite(cell) for cell in row.values()):
                raise SpecificationError("a cell is NaN or infinite; send null instead", f"records.rows.{index}")

    def expected(self) -> int:
        """Count the profiles; if the rows are not known yet, return `most`."""
        return min(self.most, len(self.rows)) if self.rows else self.most


def record_cases(
    profiles: RecordProfiles, rng: np.random.Generator, *, merge_copies: bool = True, truth: str = ""
) -> tuple[Case, ...]:
    """Make cases from the rows whose value is one of those tested: at most `profiles.most`, in random order.

    If `merge_copies`, rows equal but for the protected column are a cluster. Column `truth` (outcomes) is not sent.
    """
    index_by_value = {value: index for index, value in enumerate(profiles.values)}
    row_numbers = [number for number, row in enumerate(profiles.rows) if row[profiles.column] in index_by_value]
    unsent_columns = {*profiles.leave_out, *(name for name in (truth or None, profiles.cluster) if name is not None)}
    cases = []
    for position in rng.permutation(len(row_numbers))[: profiles.most].tolist():
        row_number = row_numbers[position]
        row = profiles.rows[row_number]
        versions = tuple(_replace_value(row, profiles.column, value, unsent_columns) for value in profiles.values)
        clusters = {ROW: repr(versions[0])} if merge_copies else {}  # equal for such rows
        if profiles.cluster is not None:
            clusters[profiles.cluster] = str(row[profiles.cluster])
        original = index_by_value[row[profiles.column]]
        cases.append(Case(f"row-{row_number}", versions, clusters, original=original, truth=row.get(truth)))
    return tuple(cases)


def numbered_clusters(cases: Sequence[Case]) -> dict[str, Integers]:
    """Return, by kind (person, …), the index of each case's cluster, shape (cases,); frames only if five or more."""
    ids_by_kind = {
        kind: np.unique([case.clusters[kind] for case in cases], return_inverse=True)[1] for kind in cases[0].clusters
    }
    return {kind: ids for kind, ids in ids_by_kind.items() if kind != FRAME or ids.max() + 1 >= LEAST_CLUSTERS}


def like_those_asked(kinds: Iterable[str]) -> str:
    """Return a text on what an effect holds for, by kinds of cluster: "any person and frame like those asked about"."""
    return f"any {listed(tuple(kinds)) or 'row'} like those asked about"


def record_strata(
    profiles: RecordProfiles, cases: Sequence[Case], names: tuple[str, ...]
) -> tuple[dict[str, NDArray[np.str_]], tuple[str, ...]]:
    """Return the stratum of each record in each used column, and the columns with strata that are not used.

    A stratum is a category, or the lower or upper half of numbers; an empty text stands for no stratum. `names` are the
    columns to use; empty: the first columns with at most `MOST_STRATA` strata (of `LEAST_ROWS` rows each) in all. Raise
    `UnknownName` if a column is not sent to the service.
    """
    # the versions of a record differ in the protected column alone, so the first stands for all
    rows = [dict(case.versions[0]) for case in cases if not isinstance(case.versions[0], str)]
    sent_columns = [name for name in rows[0] if name != profiles.column] if rows else []
    unknown_names = [name for name in names if name not in sent_columns]
    if unknown_names:
        raise UnknownName("column", unknown_names[0], sent_columns, "strata")
    stratum_of_row: dict[str, NDArray[np.str_]] = {}
    strata_count = 0
    unused_columns = []
    for column in (*names, *(other for other in sent_columns if other not in names)):
        column_strata = _row_strata([row[column] for row in rows])
        new_count = len({*column_strata.tolist()} - {""})
        if new_count < 2:
            continue
        if strata_count + new_count <= MOST_STRATA and (not names or column in names):
            stratum_of_row[column] = column_strata
            strata_count += new_count
        else:
            unused_columns.append(column)
    return stratum_of_row, tuple(unused_columns)


def _row_strata(cells: list[Cell]) -> NDArray[np.str_]:
    """Return each cell's stratum: its category, or the lower or upper half of the numbers; "" for a small stratum."""
    labels = ["nothing" if cell in (None, "") else str(cell) for cell in cells]
    large_categories = sum(count >= LEAST_ROWS for count in Counter(labels).values())
    if not 2 <= large_categories <= MOST_STRATA or not any(isinstance(cell, str) for cell in cells):
        labels = _split_at_median(cells, labels)  # no suitable categories, or numbers alone
    sizes = Counter(labels)
    return np.array([name if sizes[name] >= LEAST_ROWS else "" for name in labels])


def _split_at_median(cells: list[Cell], labels: list[str]) -> list[str]:
    """Label cells of numbers or dates by their half ("up to 40", "above 40"); return `labels` for other columns."""
    filled_indices = [index for index, cell in enumerate(cells) if cell is not None and cell != ""]
    is_text = any(isinstance(cells[index], str) for index in filled_indices)
    read_cell = _best_reader([labels[index] for index in filled_indices]) if is_text else _read_number
    read_numbers = {index: read_cell(cells[index]) for index in filled_indices}
    numbers = {index: number for index, number in read_numbers.items() if number is not None}
    required_share = LEAST_PARSED if is_text else 1
    if len({*numbers.values()}) <= 2 or len(numbers) < required_share * len(filled_indices):
        return labels  # two numbers are two categories already
    middle = float(np.median([*numbers.values()]))
    if middle == max(numbers.values()):  # then no number is above it, as for hours capped at 40
        middle = max(number for number in numbers.values() if number < middle)
    limit = f"{middle:.6g}"
    if is_text:  # a date is read as a number of days, which tells a person nothing, so the limit is a cell's own text
        _, limit_index = max((number, index) for index, number in numbers.items() if number <= middle)
        limit = labels[limit_index]
    halves = list(labels)
    for index, number in numbers.items():
        halves[index] = f"above {limit}" if number > middle else f"up to {limit}"
    return halves


def _read_number(cell: Cell) -> float | None:
    """Parse a number or a text as a finite number; ``None`` for any other cell."""
    with suppress(ValueError, OverflowError):  # an integer can be too large for a float
        if cell is not None and not isinstance(cell, bool) and math.isfinite(number := float(cell)):
            return number
    return None


def _read_amount(cell: Cell, *, decimal: str) -> float | None:
    """Parse a number with a unit, such as $1,234 or 35,5 kg; ``None`` for any other cell."""
    thousands_mark = "," if decimal == "." else r"\."
    integer = rf"[1-9]\d{{0,2}}(?:{thousands_mark}\d{{3}})+|\d+"
    match = re.fullmatch(rf"[$€£¥]?\s?(-?(?:{integer})(?:\{decimal}\d+)?)\s?(?:%|[^\W\d]{{0,6}}|[$€£¥])", str(cell))
    return None if match is None else float(re.sub(thousands_mark, "", match[1]).replace(decimal, "."))


def _read_day(cell: Cell, *, date_format: str) -> float | None:
    """Parse a date, with or without a time after it, as a number of days; ``None`` for any other cell."""
    with suppress(ValueError):
        day = re.split(r"T\d| \d\d?:", str(cell), maxsplit=1)[0]
        return float(datetime.strptime(day, date_format).toordinal())  # noqa: DTZ007  only days are compared
    return None


READERS: tuple[Callable[[Cell], float | None], ...] = (
    _read_number,
    *(partial(_read_amount, decimal=point) for point in ".,"),
    *(
        partial(_read_day, date_format=date_format)
        for date_format in ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d %B %Y")
    ),
)
"""Functions that parse numbers, amounts and dates in different formats; `_best_reader` chooses one for a column."""


def _best_reader(texts: Sequence[str]) -> Callable[[Cell], float | None]:
    """Return the function of `READERS` that parses most of the first 100 different texts of a column."""
    sample = list(dict.fromkeys(texts))[:100]
    return max(READERS, key=lambda read: sum(read(text) is not None for text in sample))


def _replace_value(row: Mapping[str, Any], column: str, value: Cell, unsent_columns: set[str]) -> Record:
    return tuple((name, value if name == column else cell) for name, cell in row.items() if name not in unsent_columns)
