"""Inclusive forms of a language: both genders in one word, as in "El/la enfermero/a" or "Lehrer*in".

If the marks of both genders occur together, neither mark shows the gender of the person.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from unicodedata import combining, normalize

MOST_WORDS_BETWEEN = 4
"""Maximum number of words from an article to that of the same noun in the other gender."""

MOST_WORDS_APART = 12
"""Maximum number of words between two articles of one noun if a bracket or a sentence end is also between them."""

LONGEST_BETWEEN = 150
"""Maximum number of characters between two marks of gender (such as articles) that belong together."""

SHORTEST_STEM = 4
"""Minimum number of letters with which two nouns both begin if they are one noun in two genders."""

ENDING = 3
"""Maximum number of letters of the shorter noun after the stem that two nouns share: the "eur" of "directeur"."""

LETTER = r"[^\W\d_]"
_NO_MATCH = "(?!)"
"""Pattern that matches nothing, for an empty list of words."""

_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3})(?=\S)([^*_]+?)(?<=\S)\1(?![\w*_])")
_CAMEL_CASE = re.compile(r"(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])")
_DOT = re.compile(rf"(?<={LETTER})\.(?=[a-zß-öø-ÿ])")
_ABBREVIATION = re.compile(r"\b(bzw|resp)\.", re.IGNORECASE)
_SIGN_WITHIN = re.compile(rf"(?<={LETTER})(?:_|[^\w\s'().,;?@\[\]{{}}\"-])+(?={LETTER})")
_NEUTRAL_SPELLING = re.compile(
    rf"{LETTER}@|[əɜ]|[(\[][mwfhdx](?:\s?[/|,*:+]\s?[mwfhdx]){{1,3}}[)\]]|{LETTER}(?:\*|_|(?<={LETTER}{{3}})[34])(?!\w)|(?:(?<!\w)l|[aáeo]ri|[bcdfghjklmnñpqrstvwz])xs?(?!\w)"
)
"""Spellings that fit every gender: "amig@s", "amigə", "(m/w/d)", "amig*", "amigx"."""
_UNCLEAR = re.compile(
    rf"{LETTER}\s?/\s?-?{LETTER}|{LETTER}[(\[]|[(\[]-?{LETTER}{{1,5}}[)\]]|[\s,]-{LETTER}{{1,5}}(?!\w)"
)
"""Marks of unknown meaning within words: "a/b", "a(b", "(in)", ", -in"."""
_NEGATED = re.compile(r"(?<!\w)(?:not?|nicht|(?:an)?statt|non|pas|sino|nunca|não|nie|plut[oô]t|invece|rather)[\s,(]+\Z")
"""End of the text between two forms if the second form is negated: "el médico, no la médica"."""
_APPOSITION = re.compile(r"\s*,\s*(?:eine?|un[aeo]?|uma?)\s")
"""Beginning of an apposition that gives a gender to a noun of one gender for everybody: "die Person, ein Lehrer"."""
_BRACES = str.maketrans("{}<>", "()()")
_WORD = re.compile(rf"\W*({LETTER}+)")
_LONG_WORD = re.compile(rf"{LETTER}{{2,}}")
_CLAUSE_BREAK = re.compile(r"[.!?;:()\[\]/|\n]")
_CONNECTING_SIGN = r"\s*[/(\[|·•+&~–—][\s\W]*"


def marks_as_slashes(text: str) -> str:
    """Return a normalised text with every mark within a word as a slash: "Lehrer*in", "LehrerIn" → "Lehrer/in".

    Emphasis (``**word**``) is dropped, and all brackets are round or square ones.
    """
    plain_text = _EMPHASIS.sub(r"\2", text.translate(_BRACES))
    return _SIGN_WITHIN.sub("/", without_dots(_CAMEL_CASE.sub("/", plain_text)))


def without_dots(text: str) -> str:
    """Return a text with slashes for full stops within words ("étudiant/e"), and without the full stop of "bzw."."""
    return _DOT.sub("/", _ABBREVIATION.sub(r"\1", text))


def without_accents(text: str) -> str:
    """Return a text without accents in words of several letters: the genders of a noun may differ in an accent only.

    Words of one letter keep theirs: French "à" and "a" are different words.
    """
    return _LONG_WORD.sub(
        lambda match: "".join(char for char in normalize("NFD", match[0]) if not combining(char)), text
    )


def _is_same_noun(text: str, end: int, begin: int, other_end: int) -> bool:
    """Return whether one noun in two genders follows two articles: "der Arzt sowie die Ärztin".

    The articles end at `end` and `other_end`; the second begins at `begin`.
    """
    between = text[end:begin]
    if len(_LONG_WORD.findall(between)) > (MOST_WORDS_APART if _CLAUSE_BREAK.search(between) else MOST_WORDS_BETWEEN):
        return False  # too far apart; a bracket or sentence end in between allows more words
    matches = [_WORD.match(without_accents(text[start:])) for start in (end, other_end)]
    nouns = [match[1] for match in matches if match is not None]
    # the letters with which both nouns begin; what the shorter noun has beyond them is its ending
    stem_length = sum(1 for _ in takewhile(lambda letters: len({*letters}) == 1, zip(*nouns, strict=False)))
    return len(nouns) == len(matches) and stem_length >= max(SHORTEST_STEM, min(map(len, nouns)) - ENDING)


@dataclass(frozen=True)
class InclusiveForms:
    """Words and endings by which a language writes both genders at once."""

    either: Sequence[str] = ()
    """Words that join both genders with "or": "o" in "el o la"."""
    both: Sequence[str] = ()
    """Words that join both genders with "and": "y" in "el y la"."""
    endings: Sequence[str] = ()
    """Endings of the other gender that are added to a word: "a" in "enfermero/a"."""
    hyphened: Sequence[str] = ()
    """Endings that are added with a hyphen or an apostrophe."""
    persons: Sequence[str] = ()
    """Ends of nouns that have one grammatical gender for everybody: "persona", "Lehrkraft"."""
    epicene: Sequence[str] = ()
    """Nouns like `persons` that count only directly after an article, because other words are spelled like them."""
    plurals: Sequence[str] = ()
    """Verbs that show that an article is a plural, which has no gender."""

    def include_both(self, text: str, marks: Sequence[tuple[int, int, str]]) -> bool:
        """Return whether a sentence names both genders, or none on purpose.

        Parameters
        ----------
        text : str
            Result of `marks_as_slashes`, in lower case.
        marks : sequence of (int, int, str)
            Begin, end and value of the words that mark a value, in their order.
        """
        if (
            _NEUTRAL_SPELLING.search(text)
            or self._added_endings.search(text)
            or self._stem_pairs.search(without_accents(text))
        ):
            return True
        if not marks:
            return False
        (_, end, value), *other_marks = marks  # `end` and `value` are of the first mark
        for begin, other_end, other_value in other_marks:
            if other_value == value or begin - end > LONGEST_BETWEEN or _NEGATED.search(text[end:begin]):
                continue
            if self._joint_pattern.fullmatch(text[end:begin]) or _is_same_noun(text, end, begin, other_end):
                return True
        # "la persona" is said of everybody, unless another mark or an apposition (", un hombre") shows the gender
        if (noun_match := self.person_pattern.match(text, end)) is None:
            return False
        has_one_value = all(other_value == value for _, _, other_value in other_marks)
        return has_one_value and _APPOSITION.match(text, noun_match.end()) is None

    def unclear(self, text: str, end: int, other_begins: Sequence[int] = ()) -> bool:
        """Return whether it is unclear what the article that ends at `end` shows about the gender of the person.

        That is so if a word of the text has a mark of unknown meaning, if an "or" or a plural verb follows the noun,
        or if "and" joins a noun whose article begins at one of `other_begins`: "der Lehrer und die Klasse".
        """
        noun_and = rf"[\s(]+{LETTER}+[\s,()]+(?:{'|'.join(map(re.escape, self.both)) or _NO_MATCH})[\s(]+"
        if any(re.fullmatch(noun_and, text[end:begin]) for begin in other_begins):
            return True
        is_plural = bool(self.plurals) and self._plural_pattern.match(text, end) is not None
        return is_plural or _UNCLEAR.search(text) is not None or self._alternative_pattern.match(text, end) is not None

    @cached_property
    def _joint_pattern(self) -> re.Pattern[str]:
        """Pattern of a text that joins two marks of gender: "and", a sign ("el, la"), a few words with "or" or "/"."""
        word = rf"(?:[/\s(]+-?{LETTER}+(?:[-'/]{LETTER}+)*\)?)"  # " médico", "/-in"
        or_words, and_words = (
            rf"[\s,(]+(?:{'|'.join(map(re.escape, joins)) or _NO_MATCH})[\s(]+" for joins in (self.either, self.both)
        )
        either_gender = rf"{word}{{0,4}}?(?:{_CONNECTING_SIGN}|{or_words})"  # up to 4 words: "el médico bueno o la"
        signs_alone = r"[\W_]*[^\w\s][\W_]*"  # "el, la"
        versus = r"\s+(?:vs\.?|versus)\s+"  # "der vs. die"
        return re.compile(f"{either_gender}|{and_words}|{signs_alone}|{versus}")

    @cached_property
    def _added_endings(self) -> re.Pattern[str]:
        """Pattern of a word with the ending of the other gender: enfermero/a, un(e), lehrer/in/nen, étudiant-e-s."""
        ends, hyphen_ends = ("|".join(sorted(words, key=len, reverse=True)) for words in (self.endings, self.hyphened))
        if not ends:
            return re.compile(_NO_MATCH)
        # each may be followed by the ending of a plural in one of the languages: s, es, nen, n, x
        after_slash = rf"\s?/\s?-?(?:{ends})(?:[/-]+(?:s|es|nen|n|x))?"
        in_brackets = rf"\s?[(\[][-/]?(?:{ends})(?:[/-]*(?:s|es|nen|n|x))?[)\]](?:s|es|nen)?"
        after_hyphen = rf"[-'](?:{hyphen_ends})(?:[-']?(?:s|nen))?" if hyphen_ends else _NO_MATCH
        return re.compile(rf"(?<={LETTER})(?:{after_slash}|{in_brackets}|{after_hyphen})(?!{LETTER})")

    @cached_property
    def _stem_pairs(self) -> re.Pattern[str]:
        """Pattern of two joined words of one stem: enfermero o enfermera, Lehrer/Lehrerin."""
        joins = "|".join(map(re.escape, (*self.either, *self.both))) or _NO_MATCH
        connection = rf"(?:\s?[/(,]\s?|-|\s(?:{joins})\s)(?:{LETTER}{{1,4}}['\s])?"
        return re.compile(rf"(?<!{LETTER})({LETTER}{{3,}}){LETTER}{{0,6}}{connection}\1{LETTER}{{0,7}}(?!{LETTER})")

    @cached_property
    def person_pattern(self) -> re.Pattern[str]:
        """Pattern of what follows an article if its noun has one grammatical gender for everybody: "la persona"."""
        between = rf"\s+(?:als\s+{LETTER}+\s+)?(?:{LETTER}+\s+)?"  # "die als Lehrer tätige Person"
        persons, epicene = ("|".join(words) or _NO_MATCH for words in (self.persons, self.epicene))
        return re.compile(rf"(?:{between}{LETTER}*(?:{persons})|(?:\s+|(?<='))(?:{epicene}))(?!{LETTER})")

    @cached_property
    def _alternative_pattern(self) -> re.Pattern[str]:
        """Pattern of a further noun with "or" after an article: "(hombre o mujer)"; no shipped sentence has any."""
        joins = "|".join(map(re.escape, self.either)) or _NO_MATCH
        return re.compile(rf"(?:[\W_]+{LETTER}+){{1,5}}?[\W_]+(?:{joins})\W")

    @cached_property
    def _plural_pattern(self) -> re.Pattern[str]:
        """Pattern of a verb in the plural, up to two words after an article."""
        return re.compile(rf"\s+(?:{LETTER}+\s+){{0,2}}(?:{'|'.join(self.plurals)})(?!{LETTER})")
