"""Texts in languages other than English, for translators from them: frames, and occupations in both genders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product

from assay.catalog.labour import Occupation, occupations
from assay.catalog.person_grammar import GENDERS, PersonGrammar, grammars
from assay.catalog.tables import read_table
from assay.catalog.templates import Construction, Frame
from assay.catalog.values import Attribute, Lexicon, Value, plain
from assay.errors import SpecificationError, UnknownName

LENGTHENED = 2
"""Number of frames that are written with each ending as well."""


@dataclass(frozen=True)
class TranslatedOccupation(Occupation):
    """An occupation with its words in another language, by gender; ``"both"`` is the word that fits everybody."""

    words: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)


@dataclass(frozen=True)
class TranslatedFrame(Frame):
    """A sentence of another language, whose occupation has the form of the value."""

    def write(self, occupation: Occupation, value: Value | None = None, person: str = "") -> str:  # noqa: ARG002
        """Write the sentence, with its full stop."""
        words = occupation.words if isinstance(occupation, TranslatedOccupation) else {}
        gender = "both" if value is None else value.name
        slots = {} if value is None else value.words
        return self.pattern.format_map({**slots, "occupation": words[gender]}).strip() + "."


@dataclass(frozen=True, eq=False)
class SourceLanguage:
    """Words and frames for texts in one language, and the grammar that reads translations back into it."""

    code: str
    grammar: PersonGrammar
    table: Mapping[str, object]

    @cached_property
    def occupations(self) -> tuple[TranslatedOccupation, ...]:
        """Occupations of the catalog that have a form for each gender, by name."""
        return tuple(entry for entry in self._translated if set(GENDERS) <= entry.words.keys())

    @cached_property
    def open_occupations(self) -> tuple[TranslatedOccupation, ...]:
        """Occupations of the catalog with one word for both genders."""
        return tuple(entry for entry in self._translated if "both" in entry.words)

    @cached_property
    def base(self) -> Construction:
        """Frames that say the gender."""
        frames = [str(frame) for frame in self._list("frames")]
        longer = [f"{frame} {end}" for frame in frames[:LENGTHENED] for end in self._list("endings") if end]
        return self._construction("base", list(dict.fromkeys(frames + longer)))

    @cached_property
    def neutral(self) -> Construction:
        """Frames that say no gender, for `open_occupations`."""
        pairs = product(self._list("openings"), self._list("endings"))
        return self._construction("neutral", [f"{opening} {{occupation}} {ending}" for opening, ending in pairs])

    def attribute(self, attribute: Attribute) -> Attribute:
        """Return the attribute with the words of this language."""
        values = tuple(
            replace(value, forms={"subject": self._subjects[value.name]}, people=()) for value in attribute.values
        )
        return replace(attribute, values=values)

    def read(self, sentence: str, residual: str) -> str:
        """Return the gender that pronouns and nouns of a sentence say; the residual if none or both are said."""
        mentioned = {name for _, _, name in self._pronouns.places(plain(sentence))}
        rest = self._pronouns.without(plain(sentence))
        if (noun := self.grammar.read(rest)) in GENDERS:
            mentioned.add(str(noun))
        return mentioned.pop() if len(mentioned) == 1 else residual

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Words of the frames: a text without any of them is not in this language."""
        text = " ".join(str(part) for name in ("frames", "openings", "endings") for part in self._list(name))
        return frozenset(re.findall(r"[^\W\d_]+", re.sub(r"\{\w+\}", " ", text.casefold()))) | set(
            self._subjects.values()
        )

    def _list(self, name: str) -> list[object]:
        entries = self.table.get(name, [])
        return list(entries) if isinstance(entries, list) else []

    @cached_property
    def _subjects(self) -> dict[str, str]:
        subjects = self.table["subject"]
        return {str(name): str(word) for name, word in subjects.items()} if isinstance(subjects, dict) else {}

    @cached_property
    def _pronouns(self) -> Lexicon:
        return Lexicon({name: [word] for name, word in self._subjects.items()})

    @cached_property
    def _translated(self) -> tuple[TranslatedOccupation, ...]:
        translated = []
        for entry in occupations():
            listed = self.grammar.people.get(entry.name.replace(" ", "-"), "").split()
            words: dict[str, str] = {}
            for word in listed:
                spelt = word.title() if self.table.get("capitals") else word
                he, slash, she = spelt.replace("_", " ").partition("/")
                if slash and he and she and "he" not in words:
                    words |= {"he": he, "she": she}
                elif not slash:
                    words.setdefault("both", he)
            if words:
                translated.append(TranslatedOccupation(entry.name, entry.source, entry.share_women, entry.year, words))
        return tuple(translated)

    def _construction(self, name: str, patterns: list[str]) -> Construction:
        frames = tuple(TranslatedFrame(f"{name}/{self.code}-{number}", text) for number, text in enumerate(patterns, 1))
        return Construction(name, name.capitalize(), "Assay", frames)


def source_languages() -> tuple[str, ...]:
    """Return the codes of the languages other than English that texts can be written in."""
    return tuple(code for code in grammars() if "texts" in read_table(f"grammar/{code}"))


def source_language(code: str, attribute: str, *, neutral: bool = False) -> SourceLanguage:
    """Return a source language; raise about the request's field ``source`` if no texts can be written in it."""
    offered = tuple(name for name in source_languages() if not neutral or _source_language(name).neutral.frames)
    if code not in offered:
        raise UnknownName("source language", code, ("en", *offered), "source")
    if attribute != "gender":
        raise SpecificationError(f"texts in {code} are about gender only, not about {attribute}", "source")
    return _source_language(code)


@cache
def _source_language(code: str) -> SourceLanguage:
    return SourceLanguage(code, grammars()[code], read_table(f"grammar/{code}")["texts"])
