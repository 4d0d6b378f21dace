"""Sentence constructions (frames for an occupation and a value), and splitting of texts into sentences."""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from string import Formatter

from assay.catalog.labour import Occupation
from assay.catalog.tables import read_table
from assay.catalog.values import Attribute, Value
from assay.errors import UnknownName

_OCCUPATION_SLOTS = frozenset({"occupation", "an_occupation"})
_NAME_SLOT = "name"


@dataclass(frozen=True)
class Frame:
    """A sentence with slots in braces, without full stop; named ``"base/3"`` if it is the third frame of ``base``."""

    name: str
    pattern: str

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """All slots, in the order of the sentence."""
        return tuple(slot for _, slot, _, _ in Formatter().parse(self.pattern) if slot)

    @cached_property
    def value_slots(self) -> tuple[str, ...]:
        """Lower-case names of the slots that are filled with a value's words (all but occupation and first name)."""
        return tuple(slot.lower() for slot in self.slots if slot not in _OCCUPATION_SLOTS and slot != _NAME_SLOT)

    @property
    def named(self) -> bool:
        """Whether the frame has a slot for a first name."""
        return _NAME_SLOT in self.slots

    def fits(self, attribute: Attribute) -> bool:
        """Return whether the frame mentions a value and every value of `attribute` can be put into it."""
        return bool(self.value_slots) and all(
            set(self.value_slots) <= value.forms.keys() and (bool(value.people) or not self.named)
            for value in attribute.values
        )

    def write(self, occupation: Occupation, value: Value | None = None, person: str = "") -> str:
        """Write the sentence, with its full stop.

        A frame without a value slot needs no `value`; `person` is the first name, for a `named` frame.
        """
        words = {"occupation": occupation.name, _NAME_SLOT: person}
        if "an_occupation" in self.slots:
            words["an_occupation"] = occupation.indefinite
        return self.pattern.format_map(words if value is None else {**value.words, **words}) + "."


@dataclass(frozen=True)
class Construction:
    """Frames that express the same relation between occupation and value."""

    name: str
    """Name of the construction in requests."""
    title: str
    """Name that is shown to people."""
    source: str
    """Source of the frames."""
    frames: tuple[Frame, ...]
    """All frames of the construction, whichever attribute they fit."""

    def frames_for(self, attribute: Attribute) -> tuple[Frame, ...]:
        """Return the frames that fit the values of `attribute`."""
        return tuple(frame for frame in self.frames if frame.fits(attribute))

    def supports(self, attribute: Attribute) -> bool:
        """Return whether sentences about `attribute` can be written in this construction."""
        return bool(self.frames_for(attribute))


def constructions() -> tuple[str, ...]:
    """Return the names of the constructions, the simplest first."""
    return tuple(read_table("constructions"))


def construction(name: str, field: str = "templates") -> Construction:
    """Return a construction by its name; raise `UnknownName` about the request's `field` if there is none."""
    if name not in constructions():
        raise UnknownName("construction", name, constructions(), field)
    return _read_construction(name)


@cache
def _read_construction(name: str) -> Construction:
    entry = read_table("constructions")[name]
    frames = tuple(Frame(f"{name}/{number}", pattern) for number, pattern in enumerate(entry["frames"], start=1))
    return Construction(name, entry["title"], entry["source"], frames)


_SENTENCE_END = re.compile(
    r"""
    (?: [!?…。｡！？．।॥؟۔]
      | (?<!\d)\. | \.(?!\d)                         # no full stop within a number: 2.5
    )
    (?! (?<=(?<!\w)[^\W\d_]\.) [^\W\d_] )          # nor between single letters: U.S.
    (?: \s*[.!?…。｡！？．।॥؟۔] )*                     # more marks, with blanks or without
    ["'”’»›)\]」』]*                                 # closing marks belong to the sentence
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"\w")


def split_sentences(text: str) -> tuple[str, ...]:
    """Split a text after each run of sentence marks (``. ! ? …`` and those of other scripts).

    A blank before the mark, which some engines write, stays with its sentence; no blank after the
    mark is needed. A full stop inside a number (2.5) or between single letters (U.S.) does not end
    a sentence; other abbreviations are not recognised.

    Sentences keep their marks, without surrounding blanks. A piece without a letter or digit is left
    out; a last piece without a final mark counts as a sentence.
    """
    pieces, start = [], 0
    for end_match in _SENTENCE_END.finditer(text):
        pieces.append(text[start : end_match.end()].strip())
        start = end_match.end()
    pieces.append(text[start:].strip())
    return tuple(piece for piece in pieces if _WORD.search(piece))
