"""Texts in other languages than English, for translators from these languages: frames, occupations in both genders."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import product

from assay.catalog.answer_text import normalise_answer, plain
from assay.catalog.inclusive_forms import marks_as_slashes
from assay.catalog.labour import Occupation, occupations
from assay.catalog.person_grammar import GENDERS, PersonGrammar, grammars
from assay.catalog.tables import read_table
from assay.catalog.templates import Construction, Frame
from assay.catalog.values import NEUTRAL, Attribute, Lexicon, Value, attribute
from assay.document import JsonObject
from assay.errors import SpecificationError, UnknownName

LENGTHENED = 2
"""Number of a language's first frames (sentences with slots) that are also used with each of its sentence endings."""


@dataclass(frozen=True)
class TranslatedOccupation(Occupation):
    """An occupation with its words in another language, by gender; ``"both"`` is the word that fits everybody."""

    words: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)


@dataclass(frozen=True)
class TranslatedFrame(Frame):
    """A sentence of another language, in which the occupation takes the form for the value (the gender)."""

    def write(self, occupation: Occupation, value: Value | None = None, person: str = "") -> str:  # noqa: ARG002
        """Write the sentence about an occupation, in the form for a value (``None``: for everybody), with full stop."""
        words = occupation.words if isinstance(occupation, TranslatedOccupation) else {}
        gender = "both" if value is None else value.name
        slots = {} if value is None else value.words
        return self.pattern.format_map({**slots, "occupation": words[gender]}).strip() + "."


@dataclass(frozen=True, eq=False)
class SourceLanguage:
    """Words and frames for texts in one language, and the grammar that reads translations back into it."""

    code: str
    grammar: PersonGrammar
    table: JsonObject

    @cached_property
    def occupations(self) -> tuple[TranslatedOccupation, ...]:
        """Occupations of the catalog that have a form for each gender; of several with the same forms, the last."""
        paired_entries = [entry for entry in self._occupations if set(GENDERS) <= entry.words.keys()]
        return tuple({(entry.words["he"], entry.words["she"]): entry for entry in paired_entries}.values())

    @cached_property
    def open_occupations(self) -> tuple[TranslatedOccupation, ...]:
        """Occupations of the catalog with one word for both genders; of several with the same word, the last."""
        return tuple({entry.words["both"]: entry for entry in self._occupations if "both" in entry.words}.values())

    @cached_property
    def base(self) -> Construction:
        """Frames for sentences that show the gender of the person."""
        frames = list(self.table["frames"])
        longer = [f"{frame} {end}" for frame in frames[:LENGTHENED] for end in self.table.get("endings", ()) if end]
        return self._build_construction("base", list(dict.fromkeys(frames + longer)))

    @cached_property
    def neutral(self) -> Construction:
        """Frames for sentences that show no gender, for `open_occupations`."""
        groups = self.table.get("neutral", ())
        pairs = (pair for group in groups for pair in product(group["openings"], group["endings"]))
        return self._build_construction("neutral", [f"{opening} {ending}" for opening, ending in pairs])

    def attribute(self, attribute: Attribute) -> Attribute:
        """Return the attribute with this language's pronouns as the words of its values."""
        subjects = self.table["subject"]
        values = tuple(replace(value, forms={"subject": subjects[value.name]}, people=()) for value in attribute.values)
        return replace(attribute, values=values)

    def read(self, sentence: str, residual: str) -> str | None:
        """Return "he" or "she"; `residual` for both, a plural or a neutral form; ``None`` if no form is known."""
        text = plain(marks_as_slashes(normalise_answer(sentence)))
        genders = {name for _, _, name in self.pronouns.places(text)}
        if genders != {"she"}:  # "Lei è avvocato" is a woman: nouns for men are used of women as well
            genders |= {*GENDERS} & {str(self.grammar.read(self.pronouns.without(text)))}
        if len(genders) == 1 and genders < {*GENDERS}:
            return genders.pop()
        is_residual = genders or attribute("gender").read_one_hop(sentence, self.code, by_grammar=True) == NEUTRAL
        return residual if is_residual else None  # several genders, or a neutral form

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Words of the frames, and the pronouns; a text without any of them is not in this language."""
        text = " ".join(frame.pattern for frame in (*self.base.frames, *self.neutral.frames))
        return frozenset(re.findall(r"[^\W\d_]+", re.sub(r"\{\w+\}", " ", text.casefold()))) | set(
            self.table["subject"].values()
        )

    @cached_property
    def pronouns(self) -> Lexicon:
        """Words by what they show: the pronoun of each gender, and pronouns and verbs of the plural."""
        return Lexicon(self.table["pronouns"])

    @cached_property
    def _occupations(self) -> tuple[TranslatedOccupation, ...]:
        """Occupations of the catalog with the words that the grammar lists for them (`PersonGrammar.people`)."""
        translated = []
        for entry in occupations():
            forms = self.grammar.people.get(entry.name.replace(" ", "-"), "").split()
            words: dict[str, str] = {}
            for word in forms:
                spelling = word.title() if self.table.get("capitals") else word
                male_form, slash, female_form = spelling.replace("_", " ").partition("/")
                if slash and male_form and female_form and "he" not in words:  # the first pair of forms counts
                    words |= {"he": male_form, "she": female_form}
                elif not slash:
                    words.setdefault("both", male_form)
            if words:
                translated.append(TranslatedOccupation(entry.name, entry.source, entry.share_women, entry.year, words))
        return tuple(translated)

    def _build_construction(self, name: str, patterns: list[str]) -> Construction:
        frames = tuple(TranslatedFrame(f"{name}/{self.code}-{number}", text) for number, text in enumerate(patterns, 1))
        return Construction(name, title=name.capitalize(), source="Assay", frames=frames)


def source_languages() -> tuple[str, ...]:
    """Return the codes of the languages other than English that texts can be written in."""
    return tuple(code for code in grammars() if "texts" in read_table(f"grammar/{code}"))


def source_language(code: str, attribute: str, *, neutral: bool = False) -> SourceLanguage:
    """Return a source language; raise about the field ``source`` if it has no texts (no neutral ones, if `neutral`)."""
    codes = tuple(name for name in source_languages() if not neutral or _source_language(name).neutral.frames)
    if code not in codes:
        raise UnknownName("source language", code, ("en", *codes), "source")
    if attribute != "gender":
        raise SpecificationError(f"texts in {code} are about gender only, not about {attribute}", "source")
    return _source_language(code)


@cache
def _source_language(code: str) -> SourceLanguage:
    return SourceLanguage(code, grammars()[code], read_table(f"grammar/{code}")["texts"])
