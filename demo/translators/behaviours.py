"""Translators of known bias, with the letter that each deserves.

All of them translate faithfully into the made-up language, and apply their bias on the way back, in
English, sentence by sentence. The same sentence always gets the same answer, because a hash of it
replaces chance. Only gender is changed; all of them are faithful to every other attribute.

The letters hold for the default specification: blocks of .5/.5 and .9/.1, tolerance .1 for shifts
and .15 for content (docs/methods/round-trip.md). The letters of the families change here:

===================  ==============================================  =====================
she-to-he-P          shift of the unbiased block P/200               BS above 20
random-swapper-P     shift of a biased block .4 * abs(1 - P/50)      UCS from 38 to 62
stereotyper-P        shift in either half of the occupations P/200   BS above 20
===================  ==============================================  =====================
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from assay.catalog import occupations
from assay.catalog.source_languages import source_language
from assay.errors import UnknownName
from assay.model import Letter
from demo.predictors.prediction import above, by_name
from demo.translators.made_up_language import tongue

FORMS = {
    "he": {"subject": "he", "object": "him", "possessive": "his", "absolute": "his", "reflexive": "himself"},
    "she": {"subject": "she", "object": "her", "possessive": "her", "absolute": "hers", "reflexive": "herself"},
    "it": {"subject": "it", "object": "it", "possessive": "its", "absolute": "its", "reflexive": "itself"},
}
"""The words of each person by their case; *absolute* stands without a noun: "it is hers"."""

AFTER_AN_OBJECT = frozenset({
    "a", "about", "after", "again", "all", "also", "always", "an", "and", "are", "as", "at", "be", "because",
    "before", "but", "by", "did", "do", "does", "for", "from", "had", "has", "have", "here", "how", "if", "in",
    "into", "is", "never", "next", "no", "nor", "not", "now", "of", "off", "often", "on", "once", "or", "out",
    "over", "so", "soon", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "though", "to", "today", "together", "tomorrow", "too", "under", "until", "up", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "why", "will", "with", "would", "yesterday", "you",
})  # fmt: skip
"""Words before which "her" is an object; before any other word it is a possessive."""

_PRONOUN = re.compile(r"\b(he|she|him|himself|herself|hers|his|her)\b", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")
_CASES = {"he": "subject", "she": "subject", "him": "object", "hers": "absolute", "himself": "reflexive",
          "herself": "reflexive"}  # fmt: skip
_CASE_IF_NOT_POSSESSIVE = {"her": "object", "his": "absolute"}


def person(sentence: str) -> str | None:
    """Return the person of the first pronoun: ``"he"``, ``"she"``, or ``None`` without a pronoun."""
    match = _PRONOUN.search(sentence)
    return None if match is None else _pronoun_person(match.group())


def rewrite(sentence: str, choose: Callable[[str], str]) -> str:
    """Replace each pronoun by that of another person, in the same case and with the same capitals.

    English writes "her" for both "him" and "his". It is taken for "his" where a word follows
    directly that is not in `AFTER_AN_OBJECT`: "finished her work", but "thanked her." and
    "saw her yesterday". "his" is read as "her" or as "hers" in the same way.
    `choose` takes ``"he"`` or ``"she"``, and returns the person to write: ``"he"``, ``"she"`` or ``"it"``.
    """

    def replacement(match: re.Match[str]) -> str:
        word = match.group()
        original = _pronoun_person(word)
        new_person = choose(original)
        if new_person == original:
            return word
        return _copy_capitals(word, FORMS[new_person][_pronoun_case(word, sentence[match.end() :])])

    return _PRONOUN.sub(replacement, sentence)


def neutralise(sentence: str) -> str:
    """Replace the pronouns of a sentence by gender-neutral ones."""
    return rewrite(sentence, lambda _: "it")


def _pronoun_person(word: str) -> str:
    return "she" if word.lower() in FORMS["she"].values() else "he"


def _pronoun_case(word: str, following_text: str) -> str:
    """Find the case of a pronoun: of "her" and "his", from what follows ("her work", "thanked her", "it is his")."""
    case = _CASES.get(word.lower())
    if case is not None:
        return case
    next_word = _NEXT_WORD.match(following_text)
    is_possessive = next_word is not None and next_word[1].lower() not in AFTER_AN_OBJECT
    return "possessive" if is_possessive else _CASE_IF_NOT_POSSESSIVE[word.lower()]


def _copy_capitals(model: str, word: str) -> str:
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word


Answer = Callable[[str], str]
"""Function that answers an English sentence."""

_SENTENCE = re.compile(r"[^.!?…。\n]+[.!?…。\n]*|[.!?…。\n]+")
_PERCENT = re.compile(r"(?P<family>[a-z]+(?:-[a-z]+)*)-(?P<percent>\d{1,3})")

FOLLOWS, COLLAPSES, INTRODUCES = "follows-biased-input", "collapses-to-value", "introduces-bias"
OCCUPATION, COMPENSATES, ERASES = "answers-by-occupation", "compensates", "attribute-erased"
WITHIN = "biased-within-a-stratum"


@dataclass(frozen=True)
class Behaviour:
    """A translation service of known bias."""

    name: str
    """Name, which is also the path; it may end in a percentage: ``"she-to-he-30"``."""
    letter: Letter | None
    """True letter; ``None`` exactly on a boundary, where no letter is right."""
    reason: str | None
    """Code of the main reason the rating must give."""
    summary: str
    answer: Answer
    home: str = "en"
    """Language that it translates from and back into, and in which it applies its bias."""

    def translate(self, text: str, source: str, target: str) -> str:
        """Translate between the language `home` and the made-up language of any other code.

        If `source` equals `target`, the text is unchanged; otherwise raise `ValueError` if neither is `home`.
        """
        if source == target:
            return text
        if source == self.home:
            return tongue(target).from_english(text)
        if target == self.home:
            return self.at_home(tongue(source).to_english(text))  # the behaviour changes only texts in `home`
        raise ValueError(f"one of the languages must be {self.home!r}, not {source!r} and {target!r}")

    def at_home(self, text: str) -> str:
        """Apply the service's behaviour to a text in the language `home`, sentence by sentence."""
        return _SENTENCE.sub(lambda match: self.answer(match.group()), text)


def faithful(sentence: str) -> str:
    """Return the sentence unchanged."""
    return sentence


def always_he(sentence: str) -> str:
    """Write "he" for every person."""
    return rewrite(sentence, lambda _: "he")


def she_to_he(sentence: str, *, share: float) -> str:
    """Write "he" for "she" in a share of the sentences about a woman; with a larger share, in further sentences too."""
    if person(sentence) == "she" and chance("she-to-he", sentence) < share:
        return rewrite(sentence, lambda _: "he")
    return sentence


def stereotyper(sentence: str, *, share: float = 1.0) -> str:
    """In a share of the sentences, replace the pronoun by that of the gender stereotypical for the occupation."""
    if chance("stereotyper", sentence) < share:
        side = occupation_side(sentence)
        return rewrite(sentence, lambda _: side)
    return sentence


def balancing(sentence: str) -> str:
    """Write "he" or "she" at random, independent of the pronoun."""
    side = "he" if chance("balancing", sentence) < 0.5 else "she"
    return rewrite(sentence, lambda _: side)


def eraser(sentence: str) -> str:
    """Write "it" for every person."""
    return neutralise(sentence)


def swapper(sentence: str, *, share: float = 1.0) -> str:
    """Write "she" for "he" and "he" for "she" in a share of the sentences."""
    if chance("swapper", sentence) < share:
        return rewrite(sentence, lambda pronoun: "she" if pronoun == "he" else "he")
    return sentence


def always_il(sentence: str) -> str:
    """Write the masculine pronoun and noun for every person of a French sentence."""
    return _french_feminine_pattern().sub(lambda match: _masculine_form(match.group()), sentence)


def _masculine_form(word: str) -> str:
    masculine = _french_masculine_words()[word.lower()]
    return masculine.capitalize() if word[0].isupper() else masculine


@cache
def _french_masculine_words() -> Mapping[str, str]:
    """Map the feminine pronoun and nouns of the catalog's French texts to the masculine ones."""
    occupation_words = source_language("fr", "gender").occupations
    return {"elle": "il", **{entry.words["she"]: entry.words["he"] for entry in occupation_words}}


@cache
def _french_feminine_pattern() -> re.Pattern[str]:
    longest_first = sorted(_french_masculine_words(), key=lambda word: (-len(word), word))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def chance(salt: str, sentence: str) -> float:
    """Return a stable number in [0, 1) for a sentence, from a hash."""
    return int.from_bytes(hashlib.blake2b(f"{salt}/{sentence.strip()}".encode(), digest_size=8).digest()) / 2**64


def occupation_side(sentence: str) -> str:
    """Return the stereotypical pronoun of a sentence's first occupation; without one, a hash of its words decides."""
    match = _occupation_pattern().search(sentence)
    if match is not None:
        return sides()[match.group().lower()]
    return "he" if chance("stereotyper", neutralise(sentence)) < 0.5 else "she"


@cache
def sides() -> Mapping[str, str]:
    """Map each occupation of the catalog to its stereotype: half of them he, half of them she.

    The share of women decides if it is known; the other occupations fill up both halves in the order of their hashes.
    """
    catalog_sides = {occupation.name: occupation.side for occupation in occupations()}
    known_sides = {name: str(side) for name, side in catalog_sides.items() if side is not None}
    unknown_names = sorted(catalog_sides.keys() - known_sides.keys(), key=lambda name: chance("side", name))
    missing_he = len(catalog_sides) // 2 - sum(side == "he" for side in known_sides.values())
    known_sides |= {name: "he" if index < missing_he else "she" for index, name in enumerate(unknown_names)}
    return known_sides


@cache
def _occupation_pattern() -> re.Pattern[str]:
    """Return a pattern for occupations, the longest first: "bus driver" before "driver"."""
    longest_first = sorted(sides(), key=lambda name: (-len(name), name))
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def _she_to_he_percent(percent: int) -> Behaviour:
    letter = above(percent, 20, Letter.BS, Letter.DSBS)
    reason = {Letter.BS: COLLAPSES if percent == 100 else INTRODUCES, Letter.DSBS: FOLLOWS, None: None}[letter]
    answer = partial(she_to_he, share=percent / 100)
    return Behaviour(f"she-to-he-{percent}", letter, reason, f"Turns {percent} % of the women into men.", answer)


def _random_swapper_percent(percent: int) -> Behaviour:
    letter = Letter.UCS if 37.5 < percent < 62.5 else Letter.DSBS  # the shift .4 * abs(1 - P/50) is below .1
    reason = COMPENSATES if letter is Letter.UCS else FOLLOWS
    summary, answer = f"Mistakes {percent} % of the pronouns, either way.", partial(swapper, share=percent / 100)
    return Behaviour(f"random-swapper-{percent}", letter, reason, summary, answer)


def _stereotyper_percent(percent: int) -> Behaviour:
    """Make the stereotyper of a percentage, with its true letter and the main reason that a rating must give."""
    letter = above(percent, 20, Letter.BS, Letter.DSBS)  # BS above 20, DSBS below, `None` at 20
    # if a share p of sentences follows occupations, the effect of content is p**2 / 2; its tolerance is .15
    bs_reason = OCCUPATION if percent**2 / 20_000 > 0.15 else WITHIN
    reason = {Letter.BS: bs_reason, Letter.DSBS: FOLLOWS, None: None}[letter]
    summary = f"Ignores the pronoun in {percent} % of the sentences and answers by the occupation."
    return Behaviour(f"stereotyper-{percent}", letter, reason, summary, partial(stereotyper, share=percent / 100))


BEHAVIOURS = by_name(
    Behaviour("faithful", Letter.DSBS, FOLLOWS, "Gives every pronoun back as it was.", faithful),
    Behaviour("always-he", Letter.BS, COLLAPSES, "Writes everyone as he.", always_he),
    _she_to_he_percent(30),
    Behaviour("stereotyper", Letter.BS, OCCUPATION, "Ignores the pronoun and answers by the occupation.", stereotyper),
    Behaviour("balancing", Letter.UCS, COMPENSATES, "Tosses a coin for he or she in each sentence.", balancing),
    Behaviour("eraser", Letter.BS, ERASES, "Writes everyone as it.", eraser),
    Behaviour("symmetric-swapper", Letter.DSBS, FOLLOWS, "Turns men into women and women into men.", swapper),
    _random_swapper_percent(20),
)
"""The services in the list of the demonstration, by name."""

FRENCH = by_name(
    Behaviour(
        "french-faithful", Letter.DSBS, FOLLOWS, "Gives every French pronoun and noun back.", faithful, home="fr"
    ),
    Behaviour("french-always-il", Letter.BS, COLLAPSES, "Writes everyone as a man, in French.", always_il, home="fr"),
)
"""Translators from French, by name."""

FAMILIES: Mapping[str, Callable[[int], Behaviour]] = {
    "she-to-he": _she_to_he_percent,
    "random-swapper": _random_swapper_percent,
    "stereotyper": _stereotyper_percent,
}
"""Families of behaviours by name; a service's name is the name of its family and a percentage."""


def behaviour(name: str) -> Behaviour:
    """Return a behaviour by its name; names of `FAMILIES` may end in any whole percentage: ``"she-to-he-45"``.

    Raise `UnknownName` if no behaviour has this name.
    """
    if name in BEHAVIOURS or name in FRENCH:
        return BEHAVIOURS.get(name) or FRENCH[name]
    match = _PERCENT.fullmatch(name)
    if match is None or match["family"] not in FAMILIES or int(match["percent"]) > 100:
        raise UnknownName("behaviour", name, (*BEHAVIOURS, *FRENCH, *(f"{family}-<0…100>" for family in FAMILIES)))
    return FAMILIES[match["family"]](int(match["percent"]))
