"""Protected attributes: their values, word forms, and recognition of words that mention a value."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import Self

from assay.catalog.answer_text import normalise_answer, plain
from assay.catalog.inclusive_forms import InclusiveForms, marks_as_slashes
from assay.catalog.person_grammar import PersonGrammar, grammars
from assay.catalog.tables import read_table, tables_in
from assay.catalog.terms import GAP
from assay.errors import OutOfBounds, SpecificationError, UnknownName


class Lexicon:
    """Words and phrases, each of which refers to one name, such as the name of a value.

    Only whole words match, in upper or lower case and with any apostrophes: ``he`` matches in "He’s" and not in
    "the". Of overlapping phrases only the longest matches: "South African" is not also "African".
    A word that ends in an apostrophe (``l'``) also matches before a letter. No word may belong to two names.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._name_of = {_lookup_key(word): name for name, listed_words in words.items() for word in listed_words}
        if len(self._name_of) != sum(map(len, words.values())):
            raise ValueError(f"a word occurs twice in the lexicon of {', '.join(words)}")

    def __len__(self) -> int:
        """Return the number of words and phrases."""
        return len(self._name_of)

    def mentions(self, text: str) -> Iterator[str]:
        """Yield the name that each matching word in `text` refers to, in order."""
        for _, _, name in self.places(plain(text)):
            yield name

    def places(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the begin and the end of each matching word in a lower-case text, and the name that it stands for."""
        for match in self._pattern.finditer(text):
            yield match.start(), match.end(), self._name_of[_lookup_key(match.group())]

    def without(self, text: str) -> str:
        """Replace the matching words in a text, which must be in lower case, by blanks."""
        return self._pattern.sub(" ", text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self._name_of, key=lambda word: (-len(word), word))
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(_word_pattern, longest_first))})")


def _lookup_key(word: str) -> str:
    """Return the lookup form of a phrase: its words, separated by single blanks."""
    return re.sub(GAP, " ", plain(word))


def _word_pattern(word: str) -> str:
    """Return a pattern for a phrase that does not match at the beginning of a longer word."""
    spaced_pattern = GAP.join(map(re.escape, word.split(" ")))
    return spaced_pattern + r"(?!\w)" if word[-1].isalnum() else spaced_pattern


_DAMAGED_WORD = re.compile(
    r"[\ufffc\ufffd\u115f\u1160\u17b4\u2800\u0300-\u036f]|[a-z][^\W\d_a-zß-ʯ]|[^\W\d_a-zß-ʯ][a-z]"
)
"""Words, in lower case, with invisible or replaced characters, or with Latin letters beside those of another script."""

USUAL = ("gender", "race", "religion", "place-of-worship")
"""Attributes that a suite tests by default; the others are tested only if a request names them."""

AND = "-and-"
"""Separator of the names of attributes in the name of an intersection: ``gender-and-race``."""

MOST_CELLS = 16
"""Maximum number of cells (combinations of values) of an intersection: every pair of cells is compared."""

NEUTRAL = "neutral"
"""Result of `Attribute.read_one_hop` for a form that fits every value: a neutral pronoun, or both genders at once."""

UNREADABLE = frozenset({"elided", "plural", "indefinite", "oblique", "neuter", "by-noun"})
"""Names, in the lexicons of `one_hop`, of articles and pronouns that do not show the value of the person."""


@dataclass(frozen=True)
class Value:
    """One value of an attribute, with its word forms."""

    name: str
    """Name of the value, such as ``"he"`` or ``"muslim"``."""
    forms: Mapping[str, str]
    """The word for each slot of a sentence: ``{"subject": "he", "object": "him", …}``."""
    people: tuple[str, ...] = ()
    """Names of people with the value; empty if names do not indicate the value."""
    nouns: tuple[str, ...] = ()
    """Phrases for people with the value in a sentence, paired by position with those of the other values."""

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The word for each slot, and the capitalised word for each capitalised slot."""
        return dict(self.forms) | {slot.capitalize(): word[:1].upper() + word[1:] for slot, word in self.forms.items()}


@dataclass(frozen=True, eq=False)
class Attribute:
    """A protected attribute. There is one object per attribute; compare with ``is``."""

    name: str
    """Name of the attribute in requests."""
    title: str
    """Name that is shown to people."""
    source: str
    """Source of the values and words."""
    values: tuple[Value, ...]
    """The attribute's values without the residual, in the order of every table."""
    residual: str
    """Result for a sentence that mentions no value, or several."""
    lexicons: Mapping[str, Lexicon]
    """By language, the words that mention a value; for reading the output of a service."""
    one_hop: Mapping[str, Lexicon]
    """By language, the articles and pronouns that mark a value, to read translations of sentences without a value."""
    inclusive: Mapping[str, InclusiveForms] = field(default_factory=dict)
    """By language, the forms that name every value at once."""
    persons: tuple[str, ...] = ()
    """Patterns of phrases for people, with a slot for a form of the value; they replace those of the profiles."""
    without_value: Sequence[str] = ()
    """Patterns of English sentences that surely mention no value; if empty, any sentence may mention none."""
    without: Mapping[str, str] = field(default_factory=dict)
    """For each method that cannot test the attribute, the reason, by the method's name."""
    parts: tuple[Self, ...] = ()
    """For an intersection, the attributes whose values are combined; otherwise empty."""
    grammar: Mapping[str, PersonGrammar] = field(default_factory=dict)
    """By language, how nouns, adjectives and verbs show the value of a person."""

    @cached_property
    def value_names(self) -> tuple[str, ...]:
        """Names of the values that a sentence can have."""
        return tuple(value.name for value in self.values)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The possible outputs: names of the values and, last, the residual (no single value)."""
        return (*self.value_names, self.residual)

    @property
    def one_hop_languages(self) -> tuple[str, ...]:
        """Languages that `read_one_hop` can read: by articles and pronouns, or by a grammar."""
        return tuple(dict.fromkeys((*self.one_hop, *self.grammar)))

    def read(self, sentence: str, language: str = "en") -> str:
        """Return the value that a sentence mentions (once or more often); the residual if it mentions none or several.

        The sentence may have any case and any apostrophes. Raise `UnknownName` if there is no lexicon for the
        language, whose region or script is ignored.
        """
        lexicon = _find_lexicon(self.lexicons, self.name, language)
        values = set(lexicon.mentions(marks_as_slashes(normalise_answer(sentence))))
        return values.pop() if len(values) == 1 else self.residual

    def has_lost_value(self, sentence: str) -> bool:
        """Return whether a sentence without a single value lost it: it names several, or surely none ("It is here").

        False if it may name a value in a way that is not read: by a name, or a misspelled or foreign pronoun.
        """
        if not self.without_value:
            return True  # without patterns, nothing shows how the sentence fails to mention a value
        text = normalise_answer(sentence)
        if _DAMAGED_WORD.search(text.casefold()):
            return False  # the damaged word may be the value
        has_value_word = any(self.lexicons["en"].mentions(marks_as_slashes(text)))
        return has_value_word or any(re.search(pattern, text.casefold()) for pattern in self.without_value)

    def read_one_hop(
        self, sentence: str, language: str, person: str | None = None, *, by_grammar: bool = False
    ) -> str | None:
        """Return the value that the first article or pronoun of a translated sentence marks.

        Only the first article or pronoun counts: later ones may belong to another noun. If a later one marks
        another value and belongs to a listed noun for a person, and the first does not, the sentence cannot be read.
        The ending of a noun is not read, so "L'infirmière" cannot be read. In a language without such articles, and
        for a `person` (an English noun, to whom the sentence's pronoun refers), or `by_grammar`, the language's
        grammar is read: nouns, articles, adjectives and verbs.

        The result is a value's name, ``"neutral"`` for an article or pronoun that fits every value and for a form with
        both genders (`InclusiveForms`), or ``None`` if the sentence has no article or pronoun that the lexicon knows,
        or if its article or a form in it does not show the value. Raise `UnknownName` if the language is not one of
        `one_hop_languages`.
        """
        code = language.partition("-")[0].lower()
        if code in self.grammar and (person is not None or code not in self.one_hop):
            return self.grammar[code].read(sentence, person)
        lexicon = _find_lexicon(self.one_hop, self.name, language)
        inclusive_forms = self.inclusive.get(code, InclusiveForms())
        text = plain(marks_as_slashes(normalise_answer(sentence)))
        marks = [mark for mark in lexicon.places(text) if mark[-1] != "skipped"]  # `UNREADABLE` ones as well
        begin, end, value = next(iter(marks), (0, 0, ""))  # of the first article or pronoun
        if value == "by-noun" and self.grammar[code].noun_genders(text[end:], listed=True) == {"he"}:
            value, marks[0] = "he", (begin, end, "he")  # "Ein Arzt" is a man, "Ein Kind" shows nothing
        value_marks = [(start, end, name) for start, end, name in marks if name in {*self.value_names, "neuter"}]
        if inclusive_forms.include_both(text, value_marks):
            return NEUTRAL
        if by_grammar and code in self.grammar:
            return self.grammar[code].read(text)
        if not marks:
            return None
        # "El la médico": the sentence begins with both, and nothing joins them
        has_unjoined = any(
            name != value and text[end:start].isspace() and not text[:begin].strip() for start, _, name in value_marks
        )
        # "La persona, un hombre": the article is that of the noun and says nothing of the gender
        agrees_with_noun = value in self.value_names and inclusive_forms.person_pattern.match(text, end) is not None
        other_begins = [start for start, _, name in value_marks if name != value]
        is_unclear = has_unjoined or agrees_with_noun or inclusive_forms.unclear(text, end, other_begins)
        if code in self.grammar:
            genders_after, cases = self.grammar[code].noun_genders, self.grammar[code].cases
            genders = genders_after(text[end:])  # of the noun after the first article
            # "Por la noche, el médico": a later article is the person's; "Ich helfe der Ärztin": it is a dative
            later_texts = (text[mark_end:] for _, mark_end, name in marks if name not in {value, "by-noun"})
            belongs_elsewhere = not genders and any(map(genders_after, later_texts))
            is_unclear |= belongs_elsewhere or (value == "he" and genders == {"she"})
            if text[begin:end] in cases:  # "die Lehrer" is a plural, "Ich helfe der Angestellten" a dative
                is_dative = value == "he" and genders <= {None} and any(map(str.isalpha, text[:begin]))
                is_unclear |= is_dative or (value == "she" and genders == {"he"})
        return None if is_unclear or value in UNREADABLE else value

    def elides(self, sentence: str, language: str) -> bool:
        """Return whether the first article of a translated sentence is elided ("L'"), so that it shows no value."""
        lexicon = self.one_hop.get(language.partition("-")[0].lower())
        return lexicon is not None and next(lexicon.mentions(sentence), None) == "elided"


def attributes() -> tuple[str, ...]:
    """Return the names of the attributes that can be tested: the usual attributes, then the others by name."""
    return tuple(dict.fromkeys((*USUAL, *tables_in("attributes"))))


def attribute(name: str, field: str = "attribute") -> Attribute:
    """Return an attribute by its name; raise `UnknownName` about the request's `field` if there is none.

    Names that are joined by `AND` are an intersection (``gender-and-race``): its values are the combinations of the
    values of its parts.
    """
    names = tuple(name.split(AND))
    if unknown_names := [part for part in names if part not in attributes()]:
        raise UnknownName("attribute", unknown_names[0], attributes(), field)
    if len(set(names)) < len(names):
        raise SpecificationError(f"the intersection {name} names an attribute twice", field)
    return _read_attribute(name) if len(names) == 1 else _combine_attributes(names, field)


@cache
def _read_attribute(name: str) -> Attribute:
    """Read an attribute from its file in the catalog."""
    table = read_table(f"attributes/{name}")
    return Attribute(
        name=name,
        title=table["title"],
        source=table["source"],
        values=tuple(
            Value(entry["name"], entry.get("forms", {}), tuple(entry.get("names", ())), tuple(entry.get("nouns", ())))
            for entry in table["values"]
        ),
        residual=table["residual"],
        lexicons={language: Lexicon(words) for language, words in table.get("lexicon", {}).items()},
        one_hop={language: Lexicon(words) for language, words in table.get("one_hop", {}).items()},
        grammar=grammars() if table.get("grammar") else {},
        inclusive={language: InclusiveForms(**forms) for language, forms in table.get("inclusive", {}).items()},
        persons=tuple(table.get("persons", ())),
        without_value=table.get("without_value", ()),
        without=table.get("without", {}),
    )


@cache
def _combine_attributes(names: tuple[str, ...], field: str) -> Attribute:
    """Combine attributes: each combination of their values is one value, written with the words of all parts."""
    parts = tuple(map(_read_attribute, names))
    cells = tuple(product(*(part.values for part in parts)))  # each has a value of every part
    if len(cells) > MOST_CELLS:
        raise OutOfBounds(f"{len(cells)} combinations of values; at most {MOST_CELLS} can be compared", field)
    persons = read_table("profiles")["intersections"]  # nouns for people, by gender
    # only values of gender have a pronoun; without gender, the empty name is in no `forms`
    gender_slot = "subject" if any("subject" in value.forms for part in parts for value in part.values) else ""
    values = []
    for cell in cells:
        adjectives = [value.forms["adjective"] for value in cell if "adjective" in value.forms]
        clauses = [value.forms["clause"] for value in cell if "clause" in value.forms]
        gender = next((value.name for value in cell if gender_slot in value.forms), "anyone")
        if len(adjectives) + len(clauses) + bool(gender_slot) != len(cell):  # each part needs one word in the phrase
            raise SpecificationError(f"the values of {AND.join(names)} have no words that can be combined", field)
        before_noun = "".join(f"{adjective} " for adjective in adjectives)
        phrases = tuple(" ".join([noun.replace("{adjectives} ", before_noun), *clauses]) for noun in persons[gender])
        values.append(Value(", ".join(value.name for value in cell), forms={}, nouns=phrases))
    return Attribute(
        name=AND.join(names),
        title=", ".join((parts[0].title, *(part.title.lower() for part in parts[1:]))),
        source="; ".join(dict.fromkeys(part.source for part in parts)),
        values=tuple(values),
        residual=parts[0].residual,
        lexicons={},
        one_hop={},
        parts=parts,
    )


def _find_lexicon(lexicons: Mapping[str, Lexicon], attribute: str, language: str) -> Lexicon:
    """Look up the lexicon of a language; the region of the tag is ignored."""
    try:
        return lexicons[language.partition("-")[0].lower()]
    except KeyError:
        raise UnknownName(f"lexicon language of {attribute}", language, tuple(lexicons), "languages") from None
