"""Gender of a person in a sentence of a language other than English, read from nouns, articles, adjectives and verbs.

The rules are data: one file a language in ``assay/catalog/grammar`` (docs/extending.md). Nouns, articles, adjectives
and verbs each give a reading of the gender. If two readings conflict, or there is none, there is no result.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property

from assay.catalog.answer_text import plain
from assay.catalog.tables import read_table, tables_in

GENDERS = ("he", "she")

BOTH = "both"
"""Result for verbs of both genders in one clause, which contradict each other."""

MOST_BEFORE = 2
"""Maximum number of words from a determiner to its noun, with one adjective between them."""

_WORD = re.compile(r"[^\s.,;:!?()\[\]\"“”„«»…।؟،؛/|*–—-]+")
_CLAUSE_END = re.compile(r"[.,;:!?()…।؟،؛–—]")
_BOTH_FORMS = re.compile(r"[^\W\d_]\s?[/(*_·:][-\s]?[^\W\d_]|[^\W\d_]\s-[^\W\d_]{1,4}\b")
_ARABIC_MARKS = re.compile(r"[\u064b-\u0652\u0640\u0591-\u05c7]")


@dataclass(frozen=True)
class Noun:
    """A form of a noun for a person; `gender` is ``None`` if it fits both."""

    gender: str | None
    person: str
    """English noun that it translates."""
    base: bool
    """Whether it is the dictionary form, in which a noun is the subject of a sentence."""
    paired: bool
    """Whether the noun has one form for men and another for women."""


@dataclass(frozen=True)
class Word:
    """A word of a sentence, in lower case, with its begin and end."""

    text: str
    begin: int
    end: int


@dataclass(frozen=True)
class PersonGrammar:
    """Rules by which the gender of a person is read from a sentence of one language."""

    people: Mapping[str, str]
    """Words for each English noun, separated by blanks: ``"enfermero/enfermera"`` (he and she), ``"dentista"`` (both),
    ``"fontanero/"`` (only he), ``"/comadrona"`` (only she). An underscore is a blank.
    """
    inflections: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """For each gender, endings of nouns with all endings that replace them; the first ending that fits counts."""
    determiners: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words before a noun that show its gender, by gender."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Pattern of an adjective before the noun, by gender."""
    predicates: Mapping[str, str] = field(default_factory=dict)
    """Pattern of a verb or adjective that is said of the subject, by gender."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """Pattern, by gender, of a determiner with a noun of both genders that show it only together: German cases."""
    pronouns: Mapping[str, str] = field(default_factory=dict)
    """Pattern of pronouns that conflict with a noun of the other gender. Where a noun for men is used of women as well,
    no pronoun conflicts with it.
    """
    endings: Mapping[str, str] = field(default_factory=dict)
    """Pattern of nouns for persons that `people` does not list, by gender; ``"both"`` fits everybody."""
    slots: Sequence[str] = ()
    """Words before a noun without an article ("Soy dentista"). `endings` are read only after them, with or without an
    article. In such a language, a noun that fits both genders leaves the gender open if nothing else shows it."""
    prefixes: Sequence[str] = ()
    """Particles that are written together with a noun."""
    blocked_by: Sequence[str] = ()
    """Words with which a verb does not show a person's gender: the Hindi ergative, and nouns such as "персона"."""
    clause: Sequence[str] = ()
    """Words that begin another clause."""
    forms_open: bool = False
    """Whether a noun that fits both genders leaves the gender open (Dutch), because nothing else would show it."""
    cases: Sequence[str] = ()
    """Articles that belong to the other gender in another case or number: "mit der Lehrerin", "die Lehrer"."""
    referring: str = ""
    """Pattern of sentences whose feminine pronoun makes a masculine noun a woman, if no other woman is named."""
    speaker: Mapping[str, str] = field(default_factory=dict)
    """Pattern of first-person verbs that show the speaker's gender beside a noun for men: "Я работала учителем"."""
    field_words: str = ""
    """Pattern of words after which a noun names a field of work and no person: "in accounting"."""

    def read(self, sentence: str, person: str | None = None) -> str | None:
        """Return the gender that a sentence gives to a person.

        Parameters
        ----------
        sentence : str
            One sentence of this language.
        person : str, optional
            English noun of the person, to whom the sentence's pronoun refers; left out, the first person is read.

        Returns
        -------
        str or None
            ``"he"``, ``"she"``, ``"neutral"`` if the form fits both in a language where nothing else shows the gender,
            or ``None`` if nothing was understood or two readings conflict.
        """
        text = _simplify(sentence)
        if person is None and _BOTH_FORMS.search(text):
            return None
        words = [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]
        spans = list(self._find_nouns(words, person))  # first index, last index and meanings of each noun
        if person is None and spans:  # "врач или врачиха": other nouns for the same person count as well
            _, _, first_nouns = spans[0]
            persons = {noun.person for noun in first_nouns}
            spans = [(start, end, nouns) for start, end, nouns in spans if persons & {noun.person for noun in nouns}]
        speaker_genders = {gender for gender, pattern in self.speaker.items() if re.search(rf"\b(?:{pattern})\b", text)}
        genders = [self._read_noun(text, words, *span, spoken=bool(self.slots) and person is None) for span in spans]
        if genders:
            if speaker_genders and set(genders) != speaker_genders:  # the verb decides, unless a noun is for women
                return speaker_genders.pop() if len(speaker_genders) == 1 and "she" not in genders else None
            if len(set(genders)) > 1:  # the nouns contradict each other
                return None
            if not self._is_contradicted(text, genders[0]):
                return genders[0]
            names_a_woman = any(noun.gender == "she" for *_, nouns in self._find_nouns(words, None) for noun in nouns)
            pronoun_decides = self.referring and not names_a_woman and person and re.fullmatch(self.referring, text)
            return "she" if pronoun_decides and genders[0] == "he" else None
        if person is not None:
            return None
        return self._read_unlisted(text, words)

    def noun_genders(self, text: str, *, listed: bool = False) -> set[str | None]:
        """Return the genders of the first noun: a listed one or, unless `listed`, the first word, by its ending."""
        clause = _CLAUSE_END.split(_simplify(text), maxsplit=1)[0]
        words = [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(clause)]
        start, _, nouns = next(self._find_nouns(words, None), (MOST_BEFORE, 0, ()))  # none: as if it came later
        if self.cases and not listed and start >= MOST_BEFORE:
            return {self._ending_gender(word.text) for word in words[:1]} - {None}
        return {noun.gender for noun in nouns} if start < MOST_BEFORE else set()

    def _is_contradicted(self, text: str, gender: str | None) -> bool:
        """Return whether the sentence has `pronouns`, and none of them has the `gender` of the noun."""
        genders = {name for name, pattern in self.pronouns.items() if re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text)}
        return gender in GENDERS and bool(genders) and gender not in genders

    def _find_nouns(self, words: Sequence[Word], person: str | None) -> Iterator[tuple[int, int, Sequence[Noun]]]:
        """Yield first index, last index and meanings of each noun in `words`; only of nouns for `person`, if given."""
        index = 0
        while index < len(words):
            for length in range(self._longest_form, 0, -1):  # the longest phrase first
                phrase = " ".join(word.text for word in words[index : index + length])
                nouns = self._look_up_noun(phrase) if index + length <= len(words) else ()
                if nouns:
                    fitting_nouns = [noun for noun in nouns if person is None or noun.person == person]
                    if fitting_nouns and not self._names_field_of_work(words, index):
                        yield index, index + length - 1, fitting_nouns
                    index += length - 1
                    break
            index += 1

    def _names_field_of_work(self, words: Sequence[Word], index: int) -> bool:
        """Return whether the noun at `index` names a field of work, because one of `field_words` precedes it."""
        return bool(self.field_words and index and re.fullmatch(self.field_words, words[index - 1].text))

    def _look_up_noun(self, phrase: str) -> Sequence[Noun]:
        """Return the possible meanings of a phrase as a noun, with one of `prefixes` or without; empty if none."""
        if nouns := self._nouns_by_form.get(phrase, ()):
            return nouns
        for prefix in self.prefixes:
            if phrase.startswith(prefix) and (nouns := self._nouns_by_form.get(phrase.removeprefix(prefix), ())):
                return nouns
        return ()

    def _read_noun(
        self, text: str, words: Sequence[Word], start: int, end: int, nouns: Sequence[Noun], *, spoken: bool
    ) -> str | None:
        """Return a noun's gender by its meanings (`nouns`), article and verb; `spoken`: it may name the speaker."""
        genders = {noun.gender for noun in nouns}
        gender = genders.pop() if len(genders) == 1 else None
        determiner_gender = self._determiner_gender(text, words, start)
        if gender is None and start and self.phrases:
            phrase = f"{words[start - 1].text} {words[start].text}"
            determiner_gender = _gender_by_pattern(self.phrases, phrase) or determiner_gender  # "der Kranken"
        readings = {reading for reading in (gender, determiner_gender) if reading}
        is_paired = any(noun.paired for noun in nouns)  # with one form for men and another for women
        if len(readings) > 1:  # noun and article differ; a noun with one form means a woman: "la juez", "un ama"
            return None if is_paired else "she"
        is_base = any(noun.base for noun in nouns)  # the dictionary form, which a subject has
        # the subject comes first, or is "I" and the noun says what I am
        is_subject = is_base and (start <= MOST_BEFORE or (spoken and not determiner_gender))
        predicate_gender = self._predicate_gender(text, words, start, end) if is_subject else None
        if predicate_gender == BOTH:
            return None
        if predicate_gender:
            if readings and predicate_gender not in readings:  # a noun with a single form is also used of others
                return predicate_gender if gender and not determiner_gender and not is_paired else None
            return predicate_gender
        if readings:
            return readings.pop()
        fits_both = any(noun.gender is None for noun in nouns)
        return "neutral" if fits_both and (self.forms_open or (spoken and is_base)) else None

    def _determiner_gender(self, text: str, words: Sequence[Word], start: int) -> str | None:
        """Return the gender of the determiner or adjective before a noun; ``None`` if neither shows one."""
        for index in range(start - 1, max(-1, start - 1 - MOST_BEFORE), -1):  # from the noun backwards
            word = words[index]
            # what stands before the end of a clause or another noun does not belong to this noun
            if _CLAUSE_END.search(text[word.end : words[start].begin]) or self._look_up_noun(word.text):
                return None
            # the adjective (`attributes`) stands directly before the noun, the determiner may stand before both
            if index == start - 1 and (gender := _gender_by_pattern(self.attributes, word.text)):
                return gender
            if word.text in self._gender_of:
                return self._gender_of[word.text]
        return None

    def _predicate_gender(self, text: str, words: Sequence[Word], first_index: int, last_index: int) -> str | None:
        """Return the gender of the verbs of the subject's clause, `BOTH` if they differ, ``None`` if they show none."""
        noun_begin = words[first_index].begin
        clause_words = [word for word in words[:first_index] if not _CLAUSE_END.search(text[word.end : noun_begin])]
        for word in words[last_index + 1 :]:
            between = text[words[last_index].end : word.begin]
            starts_new_subject = self._look_up_noun(word.text) and not _gender_by_pattern(self.predicates, word.text)
            begins_clause = word.text in self.clause or _CLAUSE_END.search(between)
            if starts_new_subject or begins_clause:
                break
            if word.text in self.blocked_by:  # the verb does not agree with this subject, so it does not show a gender
                return None
            clause_words.append(word)
        genders = {gender for word in clause_words if (gender := _gender_by_pattern(self.predicates, word.text))}
        return BOTH if len(genders) > 1 else next(iter(genders), None)

    def _read_unlisted(self, text: str, words: Sequence[Word]) -> str | None:
        """Return the gender that a sentence with an unlisted noun shows, by its ending and by the verb, or ``None``."""
        if any(word.text in self.blocked_by for word in words):
            return None
        noun_indices = [index for index in range(len(words)) if self._is_noun_place(words, index)]
        genders_at = [(index, gender) for index in noun_indices if (gender := self._ending_gender(words[index].text))]
        if len({gender for _, gender in genders_at}) > 1:
            return None
        if genders_at:
            index, gender = genders_at[0]
            # a noun with an ending for women also has a form for men: it is `paired`
            noun = Noun(gender if gender in GENDERS else None, person="", base=True, paired=gender == "she")
            return self._read_noun(text, words, index, index, [noun], spoken=bool(self.slots))
        genders = {gender for word in words if (gender := _gender_by_pattern(self.predicates, word.text))}
        return genders.pop() if len(genders) == 1 else None

    def _is_noun_place(self, words: Sequence[Word], index: int) -> bool:
        """Return whether the word at `index` may name a person; in languages with `slots` ("am"), only after a slot."""
        if self._names_field_of_work(words, index):
            return False
        if not self.slots:
            return True
        before = [word.text for word in words[max(0, index - 2) : index]]
        if before and before[-1] in self._gender_of and before[-1] not in self.slots:  # the article of the noun
            before.pop()
        return bool(before) and before[-1] in self.slots and words[index].text not in {*self.slots, *self._gender_of}

    def _ending_gender(self, word: str) -> str | None:
        """Return the gender ("he", "she", "both") of a noun by its ending; ``None`` for verbs, or if unclear."""
        if _gender_by_pattern(self.predicates, word):
            return None
        genders = [gender for gender, endings in self.endings.items() if re.search(rf"(?:{endings})$", word)]
        return "both" if "both" in genders else genders[0] if len(genders) == 1 else None

    @cached_property
    def _gender_of(self) -> Mapping[str, str | None]:
        """The gender of each determiner, by the word; ``None`` if it goes with nouns of both genders."""
        genders: dict[str, str | None] = {}
        for name, determiners in self.determiners.items():
            for word in determiners:
                genders[word] = None if word in genders or name not in GENDERS else name
        return genders

    @cached_property
    def _nouns_by_form(self) -> Mapping[str, Sequence[Noun]]:
        """Nouns by each of their forms; for a form that is a dictionary form, only the nouns with that base form."""
        nouns_by_form: dict[str, list[Noun]] = {}
        for person, entries in self.people.items():
            for entry in entries.split():  # such as "enfermero/enfermera", or "dentista" for both genders
                male, slash, female = entry.partition("/")
                words_with_gender = [(male, "he"), (female, "she")] if slash else [(male, None)]
                for word, gender in words_with_gender:
                    for position, form in enumerate(self._inflect(word.replace("_", " "), gender)):
                        paired = bool(slash and male and female)
                        noun = Noun(gender, person.replace("-", " "), base=position == 0, paired=paired)
                        nouns_by_form.setdefault(_simplify(form), []).append(noun)
        return {form: [noun for noun in nouns if noun.base] or nouns for form, nouns in nouns_by_form.items()}

    @cached_property
    def _longest_form(self) -> int:
        return max(form.count(" ") for form in self._nouns_by_form) + 1

    def _inflect(self, word: str, gender: str | None) -> Sequence[str]:
        """Return a word's forms, the dictionary form first; without rules for its gender, those for men apply."""
        if not word:
            return ()
        for ending, replacements in self.inflections.get(gender or "both", self.inflections.get("he", ())):
            if word.endswith(ending):
                stem = word.removesuffix(ending)
                forms = (stem + replacement.strip("-") for replacement in replacements.split())  # "-": no ending
                return tuple(dict.fromkeys((word, *forms)))
        return (word,)


def _simplify(text: str) -> str:
    """Return a text in lower case and NFC, with a blank after apostrophes, without Arabic and Hebrew vowel marks."""
    return _ARABIC_MARKS.sub("", plain(text).replace("ё", "е").replace("' ", "'").replace("'", "' "))


def _gender_by_pattern(patterns: Mapping[str, str], word: str) -> str | None:
    """Return the only gender whose pattern fits a whole word; ``None`` if no pattern fits, or several do."""
    genders = [gender for gender, pattern in patterns.items() if re.fullmatch(pattern, word)]
    return genders[0] if len(genders) == 1 else None


@cache
def grammars() -> Mapping[str, PersonGrammar]:
    """Return the grammar of every language that has a file, by the language's code."""
    rules = {field.name for field in fields(PersonGrammar)}  # a file also has texts (`source_languages`)
    tables = {language: read_table(f"grammar/{language}") for language in tables_in("grammar")}
    return {
        language: PersonGrammar(**{name: rule for name, rule in table.items() if name in rules})
        for language, table in tables.items()
    }
